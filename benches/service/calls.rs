//! What `call_tool` adds to a call.

use std::process::Command;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::root;
use crate::session::Session;
use crate::spread;
use crate::toolscout;

const N_CALLS: usize = 3_000;

/// The same calls by turns: directly, and through toolscout.
pub(crate) fn overhead() {
    let home = tempfile::tempdir().unwrap();
    let server = root("tests/upstream/server.py");
    let entry = json!({ "command": "python3", "args": [server, "echo"] });
    let config = home.path().join("mcp.json");
    std::fs::write(&config, json!({ "mcpServers": { "hall": entry } }).to_string()).unwrap();
    let mut build = toolscout();
    build.env("TOOLSCOUT_HOME", home.path()).args(["--quiet", "index", "build", "--model"]);
    assert!(build.args(["stand-in", "--from"]).arg(&config).status().unwrap().success());
    let mut serve = toolscout();
    serve.env("TOOLSCOUT_HOME", home.path()).args(["--quiet", "serve", "--config"]).arg(&config);

    let mut through = Session::open(&mut serve);
    let mut direct = Session::open(Command::new("python3").arg(&server).arg("echo"));
    let words = json!({ "words": "a call of usual length, as an agent makes it" });
    let to_direct = json!({ "name": "echo", "arguments": words });
    let arguments = json!({ "name": "hall__echo", "arguments": words });
    let to_through = json!({ "name": "call_tool", "arguments": arguments });
    let (mut direct_times, mut through_times) = (Vec::new(), Vec::new());
    for n in 0..N_CALLS + 100 {
        let one = timed(&mut direct, &to_direct);
        let other = timed(&mut through, &to_through);
        if n >= 100 {
            direct_times.push(one);
            through_times.push(other);
        }
    }
    let middle = |times: &[Duration]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let added = middle(&through_times).saturating_sub(middle(&direct_times));
    println!("a call of a stdio server, directly:   {}", spread(direct_times));
    println!("the same through `call_tool`:         {}", spread(through_times));
    println!("difference of the medians:            {added:.3?}");
}

fn timed(session: &mut Session, params: &Value) -> Duration {
    let start = Instant::now();
    session.ask("tools/call", params);
    start.elapsed()
}

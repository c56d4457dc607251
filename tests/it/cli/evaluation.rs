//! `toolscout eval` on requests and catalogues of one's own.

use std::process::Command;

use serde_json::{Value, json};

use super::TOWN;
use super::ranking::real_index;
use crate::support::World;
use crate::support::sample;
use crate::support::shared;
use crate::support::stderr_of;
use crate::support::stdout_of;

/// The town's letters and songs, a label that is not there, and a request that
/// nothing fulfils.
const REQUESTS: &str = r#"{"id":"letter","request":{"server":"Letters and parcels","tool":"Send a letter to a person"},"gold":[{"server":"post","tool":"send_letter"}]}
{"id":"song","request":{"tool":"Play a song"},"gold":[{"server":"atlas","tool":"town_distance"},{"server":null,"tool":"play_song","any_of":["jukebox"]}],"judged":[{"server":"jukebox","tool":"play_song","grade":2},{"server":"jukebox","tool":"stop_song","grade":1}]}

{"id":"gone","request":{"tool":"fly"},"gold":[{"server":"post","tool":"fly"}]}
{"id":"none","request":{"tool":"brew coffee"},"gold":[]}"#;

fn town() -> World {
    let world = World::empty();
    world.write("town.json", TOWN);
    world.write("requests.jsonl", REQUESTS);
    world
}

fn eval(world: &World, rest: &str) -> Command {
    let mut command = world.command("eval run --model stand-in --requests");
    command.arg(world.home().join("requests.jsonl"));
    command.arg("--catalog").arg(world.home().join("town.json")).args(rest.split_whitespace());
    command
}

fn run_of<'a>(results: &'a Value, arm: &str) -> &'a Value {
    results["runs"].as_array().unwrap().iter().find(|run| run["arm"] == arm).unwrap()
}

#[test]
fn own_requests_give_the_figures_that_are_documented() {
    let world = town();
    let outcomes = world.home().join("outcomes.jsonl");
    let mut command = eval(&world, "--json --outcomes");
    let results: Value = serde_json::from_str(&stdout_of(command.arg(&outcomes), 0)).unwrap();
    for key in ["commit", "toolscout", "model", "index", "seed"] {
        assert!(results.get(key).is_some(), "{key}");
    }
    assert_eq!(results["runs"].as_array().unwrap().len(), toolscout::evaluate::ARMS.len());
    let scout = run_of(&results, "scout");
    assert_eq!((&scout["set"], &scout["pool"]), (&json!("requests"), &json!("5")));
    assert_eq!((&scout["n"], &scout["skipped"]), (&json!(2), &json!(1)));
    for rate in ["top1", "top3", "top5", "top10", "mrr"] {
        assert_eq!(scout[rate], json!(1.0), "{rate}: {scout}");
    }
    let low = scout["ci95"]["top1"][0].as_f64().unwrap();
    assert!((low - 0.342).abs() < 1e-3, "{low}");
    assert_eq!(scout["abstain"]["n"], json!(1));
    assert_eq!(scout["abstain"]["removed"]["n"], json!(2));
    assert!(scout["abstain"]["auc"].is_number() && scout["latency_ms"]["p50"].is_number());
    let tokens = &scout["tokens"];
    let all = tokens["all_schemas"].as_f64().unwrap();
    let saved = 1.0 - tokens["reply_mean"].as_f64().unwrap() / all;
    assert!((tokens["saved"].as_f64().unwrap() - saved).abs() < 1e-9, "{tokens}");
    // What the user said is not known here, and all schemas rank nothing.
    for (arm, skipped) in [("query-only", 4), ("all-schemas", 4)] {
        let run = run_of(&results, arm);
        assert_eq!((&run["n"], &run["skipped"]), (&json!(0), &json!(skipped)), "{run}");
        assert!(run.get("top1").is_none(), "{run}");
    }
    let lines = std::fs::read_to_string(outcomes).unwrap();
    let scouts: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|one: &Value| one["arm"] == "scout")
        .collect();
    let kinds: Vec<(&str, &str)> = scouts
        .iter()
        .map(|one| (one["id"].as_str().unwrap(), one["answerable"].as_str().unwrap()))
        .collect();
    let expected = [
        ("letter", "yes"),
        ("letter", "removed"),
        ("song", "yes"),
        ("song", "removed"),
        ("none", "no"),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn labels_decide_what_is_right() {
    let world = town();
    let n = |labels: &str| {
        let mut command = eval(&world, &format!("--json --arm bm25 --labels {labels}"));
        let results: Value = serde_json::from_str(&stdout_of(&mut command, 0)).unwrap();
        results["runs"][0]["ndcg10"].as_f64().unwrap()
    };
    // The original labels call the distance right too, and it is not found.
    assert!((n("judged") - 1.0).abs() < 1e-9);
    assert!(n("original") < 0.99);
}

#[test]
fn a_gate_lists_what_is_missed() {
    let world = town();
    let gate = |text: &str| {
        let path = world.write("gate.toml", text);
        let mut command = eval(&world, "--arm scout --gate");
        command.arg(path);
        command
    };
    stdout_of(&mut gate("[[require]]\narm = \"scout\"\ntop1 = 1.0\nn = 2\n"), 0);
    let text = "[[require]]\ntop1 = 1.0\nn = 3\nsaved = 0.999\n[[require]]\nset = \"other\"\n";
    let stderr = stderr_of(&mut gate(text), 1);
    for part in [
        "figures missed: 3",
        "requests@5 scout: n is 2.0000, at least 3 is required",
        "saved is",
        "other@* *: there is no run",
    ] {
        assert!(stderr.contains(part), "{part} is not in\n{stderr}");
    }
    let stderr = stderr_of(&mut gate("[[require]]\ntop2 = 1.0\n"), 1);
    assert!(stderr.contains("gate.toml") && stderr.contains("top2"), "{stderr}");
}

#[test]
fn bad_input_is_named() {
    let world = town();
    for (line, code, part) in [
        ("eval run --set nothing", 1, "there is no data set `nothing`; there are apibank-single"),
        ("eval run --arm best", 1, "there is no arm `best`"),
        ("eval run --set etom --pool 48", 1, "there is no pool in these sets `48`"),
        ("eval run --set etom --arm bm25", 1, "toolscout eval fetch etom"),
        ("eval run --requests r.jsonl", 2, "--catalog"),
        ("eval calibrate --keep 2", 2, "use a number from 0"),
        ("eval fetch nothing", 1, "there is no data set `nothing`"),
    ] {
        let stderr = stderr_of(&mut world.command(line), code);
        assert!(stderr.contains(part), "{line}: {stderr}");
    }
    world.write("requests.jsonl", "{\"id\":\"a\",\"request\":{\"tool\":\"x\"}}\n{\"id\":1}");
    let stderr = stderr_of(&mut eval(&world, ""), 1);
    assert!(stderr.contains("requests.jsonl`, line 2"), "{stderr}");
}

#[test]
fn the_raw_file_of_api_bank_gives_the_papers_cases() {
    let Some(data) = shared("data") else {
        return;
    };
    let world = World::empty();
    let line = "eval run --model stand-in --arm bm25 --json --pool 48 --set apibank-single";
    let mut command = world.command(line);
    let stdout = stdout_of(command.args(["--set", "apibank-multi", "--data"]).arg(data), 0);
    let results: Value = serde_json::from_str(&stdout).unwrap();
    let n = |run: usize| results["runs"][run]["n"].as_u64().unwrap();
    assert_eq!((n(0), n(1)), (208, 186));
    assert_eq!(results["runs"][0]["skipped"], json!(0));
}

#[test]
fn what_no_tool_does_is_not_answered() {
    let world = real_index(&sample());
    let line = "route --json --server bakery --tool";
    let ask = |tool: &str, code: i32, rest: &str| -> Value {
        let mut command = world.command(line);
        let stdout = stdout_of(command.arg(tool).args(rest.split_whitespace()), code);
        serde_json::from_str(&stdout).unwrap()
    };
    let reply = ask("bake a sourdough loaf", 3, "");
    let request = &reply["requests"][0];
    assert_eq!((&request["abstained"], &reply["matches"]), (&json!(true), &json!([])));
    assert!(request["confidence"].as_f64().unwrap() < 0.02, "{request}");
    assert_eq!(request["nearest"].as_array().unwrap().len(), 3);
    let reply = ask("bake a sourdough loaf", 0, "--floor 0");
    assert_eq!(reply["requests"][0]["abstained"], json!(false));
    assert_eq!(reply["matches"].as_array().unwrap().len(), 3);
    // A calibration of this catalogue that is broken is named.
    world.write("built/confidence.toml", "model = 1");
    let mut command = world.command(line);
    let stderr = stderr_of(command.arg("bake"), 1);
    assert!(stderr.contains("confidence.toml"), "{stderr}");
}

#[test]
fn own_requests_calibrate_an_index() {
    let world = real_index(&sample());
    let mut requests = String::new();
    for (n, (server, tool, owner, name)) in [
        ("GitHub", "create an issue", "github", "create_issue"),
        ("Email", "send a new e-mail to a person", "mail", "send_email"),
        ("Weather", "get the weather forecast", "weather", "get_forecast"),
        ("Maps", "plan a route between two places", "maps", "routes.directions"),
    ]
    .iter()
    .enumerate()
    {
        let gold = json!([{"server": owner, "tool": name}]);
        let row =
            json!({"id": n.to_string(), "request": {"server": server, "tool": tool}, "gold": gold});
        requests.push_str(&format!("{row}\n"));
    }
    let path = world.write("requests.jsonl", requests);
    let mut command = world.command("eval calibrate --write --json --keep 0.9 --requests");
    let stdout = stdout_of(command.arg(path).arg("--catalog").arg(sample()), 0);
    let fit: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&fit["n"], &fit["is_whole"]), (&json!(8), &json!(false)));
    let kept = std::fs::read_to_string(world.index().join("confidence.toml")).unwrap();
    assert!(kept.contains("[confidence]") && kept.contains("floor = "), "{kept}");
    let mut command = world.command("route --json --server GitHub --tool");
    let reply: Value = serde_json::from_str(&stdout_of(command.arg("create an issue"), 0)).unwrap();
    assert!(reply["requests"][0]["confidence"].is_number(), "{reply}");
}

//! The commands on the shell: what they print where, and how they end.

mod build;
mod clients;
mod evaluation;
mod languages;
mod models;
mod names;
mod ranking;
mod reply;
mod route;
mod schemas;
mod sources;
mod usage;

use serde_json::Value;

use crate::support::World;
use crate::support::run;

/// Three servers whose tools share no words.
const TOWN: &str = r#"{"servers":[
{"name":"post","description":"Letters and parcels","summary":"Sends mail to people","tools":[
{"name":"send_letter","description":"Send a letter to a person","input_schema":{"type":"object","properties":{"to":{"type":"string"}}},"annotations":{"readOnlyHint":false}},
{"name":"trackParcel","description":"Where is my parcel"}]},
{"name":"atlas","description":"Maps of the country","tools":[
{"name":"town_distance","description":"Distance between two towns","input_schema":{"type":"object"}}]},
{"name":"jukebox","description":"Music on demand","tools":[
{"name":"play_song","description":"Play a song"},
{"name":"stop_song","description":"Stop what is played"}]}]}"#;

/// Names of the matches, best first.
fn names(reply: &Value) -> Vec<&str> {
    let matches = reply["matches"].as_array().unwrap();
    matches.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// Runs with these arguments, must exit with `code` and say all of `expected`
/// on stderr and nothing on stdout.
#[track_caller]
fn check_failure(world: &World, arguments: &[&str], code: i32, expected: &[&str]) {
    let output = run(world.command("").args(arguments));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{stderr}");
    for text in expected {
        assert!(stderr.contains(text), "{arguments:?}: {text:?} is not in\n{stderr}");
    }
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout, "", "{arguments:?}");
}

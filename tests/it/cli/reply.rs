//! `route --json`: the documented shape, and what stands on which stream.

use std::process::Stdio;

use serde_json::Value;

use super::{TOWN, names};
use crate::support::World;
use crate::support::run;
use crate::support::stdout_of;

/// Keys that must, and keys that may stand in an object.
#[track_caller]
fn check_keys(object: &Value, must: &[&str], may: &[&str]) {
    let object = object.as_object().unwrap();
    for key in must {
        assert!(object.contains_key(*key), "{key} is not in {object:?}");
    }
    for key in object.keys() {
        let is_known = must.contains(&key.as_str()) || may.contains(&key.as_str());
        assert!(is_known, "{key} is not documented: {object:?}");
    }
}

/// The shape of DESIGN, section 1; the scores must obey the formula.
#[track_caller]
pub(super) fn check_shape(reply: &Value) {
    check_keys(reply, &["requests", "matches", "omitted"], &["next_cursor"]);
    assert!(reply["omitted"].is_u64());
    for request in reply["requests"].as_array().unwrap() {
        check_keys(request, &["server", "tool", "abstained"], &["confidence", "nearest", "note"]);
        assert!(request["abstained"].is_boolean());
        assert!(request["server"].is_string() || request["server"].is_null());
        assert!(request["tool"].is_string() || request["tool"].is_null());
    }
    for (n, one) in reply["matches"].as_array().unwrap().iter().enumerate() {
        let must = [
            "request",
            "rank",
            "name",
            "server",
            "tool",
            "score",
            "dense_score",
            "server_score",
            "tool_score",
            "description",
            "input_schema",
        ];
        check_keys(one, &must, &["annotations", "shortened"]);
        assert_eq!(one["rank"], n + 1);
        assert_eq!(one["request"], 0);
        for key in ["name", "server", "tool", "description"] {
            assert!(one[key].is_string(), "{key} of {one}");
        }
        check_scores(one);
    }
}

/// `dense_score` is `(s_server · s_tool) · max(s_server, s_tool)`, in [0, 1].
#[track_caller]
fn check_scores(one: &Value) {
    let score = |key: &str| one[key].as_f64().unwrap();
    let (tool, dense) = (score("tool_score"), score("dense_score"));
    let expected = match one["server_score"].as_f64() {
        Some(server) => server * tool * server.max(tool),
        None => tool,
    };
    assert!((dense - expected).abs() < 1e-6, "{one}");
    for score in [tool, dense, score("score")] {
        assert!((0.0..=1.0).contains(&score), "{one}");
    }
}

#[test]
fn the_reply_has_the_documented_shape() {
    let world = World::of_sample();
    for line in [
        "route --server mail --tool send -k 20",
        "route --tool send -k 20",
        "route --server mail -k 20",
        "route send -k 20",
        "route --server mail --tool send -k 20 --ranking mcp-zero",
    ] {
        let reply = world.json(line);
        check_shape(&reply);
        assert!(!names(&reply).is_empty(), "{line}");
    }
}

#[test]
fn the_order_follows_the_score_and_in_the_paper_that_is_the_formula() {
    let world = World::of_sample();
    for line in [
        "route --server mail --tool send -k 20",
        "route --server weather --tool forecast -k 20 --ranking mcp-zero",
    ] {
        let reply = world.json(line);
        let matches = reply["matches"].as_array().unwrap();
        let scores: Vec<f64> = matches.iter().map(|one| one["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        // More than four digits: nothing was rounded on the way.
        let long = |score: &f64| score.to_string().len() > 7;
        assert!(scores.iter().filter(|score| long(score)).count() > 3, "{scores:?}");
        if line.contains("mcp-zero") {
            for one in matches {
                assert_eq!(one["score"], one["dense_score"]);
            }
        }
    }
}

#[test]
fn the_exposed_name_leads_back_to_server_and_tool() {
    let world = World::of_sample();
    let reply = world.json("route --server maps --tool places -k 20");
    let one = reply["matches"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["tool"] == "places.search")
        .unwrap()
        .clone();
    assert_eq!(one["server"], "maps");
    assert_eq!(one["name"], "maps__places_search");
}

#[test]
fn an_index_without_tools_matches_nothing() {
    let world = World::of(r#"{"servers":[{"name":"bare","description":"no tools"}]}"#);
    let output = run(&mut world.command("route anything --json"));
    assert_eq!(output.status.code(), Some(3));
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    check_shape(&reply);
    assert_eq!(reply["matches"], serde_json::json!([]));
    for arguments in [&["--server", "bare"][..], &["--tool", "x"]] {
        stdout_of(world.command("route").args(arguments), 3);
    }
    let everything_excluded = World::of(TOWN);
    let all = everything_excluded.json("route song -k 20");
    let mut command = everything_excluded.command("route song");
    for name in names(&all) {
        command.args(["--exclude", name]);
    }
    stdout_of(&mut command, 3);
}

#[test]
fn json_on_stdout_survives_warnings_and_logs() {
    let world = World::of(TOWN);
    world.build(&TOWN.replace("jukebox", "gramophone"));
    let surface = world.live().join("surface.json");
    std::fs::write(surface, "{}").unwrap();
    let output = run(&mut world.command("route song -k 20 --json --log trace"));
    assert_eq!(output.status.code(), Some(0));
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(names(&reply).contains(&"jukebox__play_song"), "{reply}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("warning: "), "{stderr}");
    assert!(stderr.contains("answering from generation 1"), "{stderr}");
}

#[test]
fn quiet_leaves_only_data() {
    let world = World::empty();
    let source = world.write("source.json", TOWN);
    let output = run(world.command("index build --quiet --model stand-in --from").arg(source));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(!output.stdout.is_empty());
}

/// More than a pipe holds, so that the writer must notice.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let properties: Vec<String> =
        (0..4_000).map(|n| format!(r#""property_number_{n}":{{"type":"string"}}"#)).collect();
    let world = World::of(&format!(
        r#"{{"servers":[{{"name":"s","tools":[{{"name":"song","input_schema":{{"properties":{{{}}}}}}}]}}]}}"#,
        properties.join(",")
    ));
    for line in ["route song --json", "route song --detail schema"] {
        let mut child = world
            .command(line)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{line}");
    }
}

//! `route`: forms of requests, options, and the reasons of `--explain`.

use serde_json::Value;

use super::{TOWN, check_failure, names};
use crate::support::World;
use crate::support::run_with;
use crate::support::stderr_of;
use crate::support::stdout_of;

/// Routes one request text, given as an argument and on stdin, and compares
/// each request as `server | tool` and the best match of each.
#[track_caller]
fn check(world: &World, text: &str, requests: &[&str], best: &[&str]) {
    let as_argument = stdout_of(world.command("route --json").arg(text), 0);
    let on_stdin = run_with(&mut world.command("route - --json"), text);
    assert_eq!(String::from_utf8(on_stdin.stdout).unwrap(), as_argument);
    check_reply(&as_argument, requests, best);
}

#[track_caller]
fn check_reply(stdout: &str, requests: &[&str], best: &[&str]) {
    let reply: Value = serde_json::from_str(stdout).unwrap();
    let understood: Vec<String> = reply["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or("∅").to_owned();
            format!("{} | {}", text("server"), text("tool"))
        })
        .collect();
    assert_eq!(understood, requests);
    let firsts: Vec<&str> = reply["matches"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["rank"] == 1)
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(firsts, best);
}

#[test]
fn every_form_of_request_is_answered() {
    let world = World::of(TOWN);
    let letter = ["Post office | send a letter"];
    let best = ["post__send_letter"];
    for text in [
        "<tool_assistant>\nserver: Post office\ntool: send a letter\n</tool_assistant>",
        "I lack one.\r\n  <Tool_Assistant type=\"x\">\r\n  - TOOL：send a letter\r\n  - Server : Post office\r\n  </TOOL_ASSISTANT >",
        "```xml\n<tool_assistant>\nserver: Post office\ntask: send a letter\n```",
        r#"{"tool_assistant": {"tool": "send a letter", "server": "Post office"}}"#,
        "<tool_assistant><server>Post office</server><tool>send a letter</tool></tool_assistant>",
        "server: Post office\ntool: send a letter",
    ] {
        check(&world, text, &letter, &best);
    }
    check(&world, "play a song", &["play a song | play a song"], &["jukebox__play_song"]);
    let plain_block = "<tool_assistant>\ntool: distance of towns\n</tool_assistant>";
    check(&world, plain_block, &["∅ | distance of towns"], &["atlas__town_distance"]);
}

#[test]
fn fields_may_come_as_flags() {
    let world = World::of(TOWN);
    for (arguments, request, best) in [
        (
            &["--server", "music", "--tool", "play a song"][..],
            "music | play a song",
            "jukebox__play_song",
        ),
        (&["--tool", "play a song"], "∅ | play a song", "jukebox__play_song"),
        (&["--server", "any", "--tool", "two towns"], "∅ | two towns", "atlas__town_distance"),
        (&["--server", "maps of the country"], "maps of the country | ∅", "atlas__town_distance"),
    ] {
        let stdout = stdout_of(world.command("route --json").args(arguments), 0);
        check_reply(&stdout, &[request], &[best]);
    }
}

#[test]
fn several_blocks_are_answered_in_order_and_a_bad_one_is_noted() {
    let world = World::of(TOWN);
    let text = "<tool_assistant>\nserver: maps\ntool: distance between towns\n</tool_assistant>\n\
        then <tool_assistant>\nplease\n</tool_assistant> and\n\
        <tool_assistant>\nserver: mail\ntool: send a letter\n</tool_assistant>";
    let requests = ["maps | distance between towns", "mail | send a letter"];
    check(&world, text, &requests, &["atlas__town_distance", "post__send_letter"]);
    let shown = stdout_of(world.command("route").arg(text), 0);
    assert!(shown.contains("request 1") && shown.contains("request 2"), "{shown}");
    assert!(shown.contains("note: block 2 has no `server:` or `tool:` line"), "{shown}");
}

#[test]
fn a_text_without_a_request_is_bad_usage_and_shows_the_form() {
    let world = World::of(TOWN);
    let form = "<tool_assistant>\nserver: platform\ntool: operation + target\n</tool_assistant>";
    for arguments in [
        &["route"][..],
        &["route", ""],
        &["route", " \u{200B}\n"],
        &["route", "-"],
        &["route", "--tool", " "],
        &["route", "--server", "none"],
        &["route", "<tool_assistant></tool_assistant>"],
        &["route", "<tool_assistant>\nserver:\ntool:  \n</tool_assistant>"],
        &["route", "Use `<tool_assistant>` when you need a tool."],
        &["route", "ok </tool_assistant>", "--json"],
    ] {
        check_failure(&world, arguments, 2, &[form]);
    }
}

#[test]
fn words_that_say_nothing_are_bad_usage_too() {
    let world = World::of(TOWN);
    check_failure(&world, &["route", "--tool", "!?"], 2, &["!?", "ask in words"]);
}

#[test]
fn k_says_how_many_at_most() {
    let world = World::of(TOWN);
    let names_for = |k: &str| {
        let reply = world.json(&format!("route song -k {k}"));
        names(&reply).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let all = names_for("20");
    assert_eq!(all.len(), 5);
    assert_eq!(names_for("1"), all[..1]);
    assert_eq!(names_for("4"), all[..4]);
    assert_eq!(names(&world.json("route song")).len(), 3);
}

#[test]
fn excluded_names_are_not_offered_again() {
    let world = World::of(TOWN);
    let all = world.json("route song -k 5");
    let all = names(&all);
    let rest = world.json(&format!(
        "route song -k 3 --exclude {} --exclude {} --exclude no__such",
        all[0], all[1]
    ));
    assert_eq!(names(&rest), all[2..]);
    assert_eq!(rest["matches"][0]["rank"], 1);
}

#[test]
fn detail_decides_how_much_is_shown() {
    let world = World::of(TOWN);
    let shown = |line: &str| {
        let reply = world.json(line);
        let one = reply["matches"][0].as_object().unwrap();
        ["description", "input_schema", "annotations"].map(|key| one.contains_key(key))
    };
    assert_eq!(shown("route letter -k 1 --detail names"), [false; 3]);
    assert_eq!(shown("route letter -k 1 --detail summary"), [true, false, false]);
    assert_eq!(shown("route letter -k 1 --detail schema"), [true; 3]);
    assert_eq!(shown("route letter -k 1"), [true; 3]);
    let table = stdout_of(&mut world.command("route letter -k 1"), 0);
    assert!(table.contains("Send a letter to a person"), "{table}");
    assert!(!table.contains("\"properties\""), "{table}");
    let with_schema = stdout_of(&mut world.command("route letter -k 1 --detail schema"), 0);
    let schema = r#"{"type":"object","properties":{"to":{"type":"string"}}}"#;
    assert!(with_schema.contains(schema), "{with_schema}");
}

#[test]
fn a_tool_without_a_schema_gets_an_open_object() {
    let world = World::of(TOWN);
    let reply = world.json("route --tool parcel -k 1");
    assert_eq!(names(&reply), ["post__trackParcel"]);
    assert_eq!(reply["matches"][0]["input_schema"], serde_json::json!({"type": "object"}));
}

/// Eight servers that fit the platform better than the owner of the tool.
fn crowd() -> String {
    let near = |n: usize| {
        format!(
            r#"{{"name":"music{n}","description":"Music music","tools":[{{"name":"tune{n}","description":"Tune number {n}"}}]}}"#
        )
    };
    let mut servers: Vec<String> = (1..=8).map(near).collect();
    servers.push(
        r#"{"name":"garage","description":"Cars","tools":[{"name":"inflate_tyre","description":"Inflate a tyre"}]}"#
            .to_owned(),
    );
    format!(r#"{{"servers":[{}]}}"#, servers.join(","))
}

#[test]
fn explain_says_why_each_server_was_looked_at() {
    let world = World::of(&crowd());
    let line = "route --server music --explain --tool";
    let stdout = stdout_of(world.command(line).args(["inflate a tyre", "--json"]), 0);
    let reply: Value = serde_json::from_str(&stdout).unwrap();
    let explained = &reply["explain"][0];
    assert_eq!(explained["server_text"], "music");
    assert_eq!(explained["tool_text"], "inflate a tyre");
    let pool = explained["pool"].as_array().unwrap();
    for (n, pooled) in pool.iter().take(5).enumerate() {
        assert!(pooled["server"].as_str().unwrap().starts_with("music"));
        assert_eq!(pooled["reason"], format!("server {} by s_server", n + 1));
        assert!(pooled["server_score"].as_f64().unwrap() > 0.5);
    }
    let owner = pool.iter().find(|one| one["server"] == "garage").unwrap();
    assert_eq!(owner["reason"], "owns tool 1 by s_tool, `inflate_tyre`");
    let table = stdout_of(world.command(line).arg("inflate a tyre"), 0);
    for text in [
        "s_server",
        "s_tool",
        "dense = (s_server · s_tool) · max(s_server, s_tool)",
        "server 1 by s_server",
        "owns tool 1 by s_tool, `inflate_tyre`",
    ] {
        assert!(table.contains(text), "{text} is not in\n{table}");
    }
}

#[test]
fn the_paper_looks_at_five_servers_only() {
    let world = World::of(&crowd());
    let line = "route --ranking mcp-zero --explain -k 20 --server music --tool tyre";
    let reply = world.json(line);
    let pool = reply["explain"][0]["pool"].as_array().unwrap();
    assert_eq!(pool.len(), 5);
    assert!(!names(&reply).contains(&"garage__inflate_tyre"));
    let scout = world.json(&line.replace("mcp-zero", "scout"));
    assert!(names(&scout).contains(&"garage__inflate_tyre"));
}

#[test]
fn explain_without_a_platform_says_that_all_tools_were_ranked() {
    let world = World::of(TOWN);
    let table = stdout_of(&mut world.command("route --tool song --explain"), 0);
    assert!(table.contains("all tools ranked by s_tool and words"), "{table}");
    let reply = world.json("route --tool song --explain");
    assert_eq!(reply["explain"][0]["pool"], serde_json::json!([]));
}

#[test]
fn the_paper_needs_an_index_built_for_it() {
    let world = World::empty();
    let source = world.write("source.json", TOWN);
    stdout_of(world.command("index build --model stand-in --from").arg(source), 0);
    stdout_of(&mut world.command("route song"), 0);
    let arguments = ["route", "--ranking", "mcp-zero", "--tool", "song"];
    let cure = "toolscout index build --paper";
    check_failure(&world, &arguments, 1, &["mcp-zero", cure]);
}

#[test]
fn without_an_index_the_cure_is_named() {
    let world = World::empty();
    let dir = world.index().display().to_string();
    for arguments in
        [&["route", "song"][..], &["index", "inspect"], &["index", "verify"], &["index", "update"]]
    {
        check_failure(&world, arguments, 1, &[&dir, "toolscout index build"]);
    }
}

#[test]
fn the_index_is_the_flag_else_the_environment_else_the_default() {
    let world = World::of(TOWN);
    let other = World::of_sample();
    let best = |command: &mut std::process::Command| {
        let stdout = stdout_of(command.args(["route", "play a song", "--json", "-k", "1"]), 0);
        let reply: Value = serde_json::from_str(&stdout).unwrap();
        names(&reply)[0].to_owned()
    };
    assert!(best(&mut world.command("")).starts_with("jukebox"));
    let flag = best(world.command("--index").arg(other.index()));
    assert!(!flag.starts_with("jukebox"), "{flag}");
    let stderr = stderr_of(world.command("route song").env_remove("TOOLSCOUT_INDEX"), 1);
    let default = world.home().join("index").join("default");
    assert!(stderr.contains(&default.display().to_string()), "{stderr}");
}

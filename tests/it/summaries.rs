//! Summaries by a language model: asked once, checked, and never needed.

use serde_json::Value;
use serde_json::json;

use crate::remote::stub::{Act, Stub};
use crate::support::{World, run};

const SUMMARY: &str = "Sends letters and parcels by post and follows where they are.";

fn catalog(description: &str) -> String {
    json!({"servers": [{"name": "post", "description": description, "summary": "Mail.", "tools": [
        {"name": "send_letter", "description": "Send a letter"}
    ]}]})
    .to_string()
}

fn says(content: &str) -> Act {
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": content}}]});
    Act::Say(200, "", answer.to_string())
}

fn good() -> Act {
    says(&json!({ "summary": SUMMARY }).to_string())
}

/// Builds with summaries from the stub; the summary on disk, and what was said.
fn build(world: &World, stub: &Stub, key: Option<&str>) -> (Value, String) {
    let line = format!(
        "index build --model stand-in --summarize {} --summarize-model writer {} --from",
        stub.url(),
        if key.is_some() { "--summarize-key-env WRITER_KEY" } else { "" }
    );
    let mut command = world.command(&line);
    command.arg(world.home().join("source.json"));
    if let Some(key) = key {
        command.env("WRITER_KEY", key);
    }
    let output = run(&mut command);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let catalog = std::fs::read_to_string(world.live().join("catalog.jsonl")).unwrap();
    let server: Value = serde_json::from_str(catalog.lines().next().unwrap()).unwrap();
    (server["summary"].clone(), said)
}

#[test]
fn a_model_is_asked_once_and_shown_what_is_known() {
    let world = World::empty();
    world.write("source.json", catalog("Letters and parcels"));
    let stub = Stub::new([good()]);
    let (summary, said) = build(&world, &stub, Some("sk-writer-0123456789"));
    assert_eq!(summary, SUMMARY);
    assert!(said.contains("1 new summary, 0 known summaries"), "{said}");
    let seen = stub.take_seen();
    assert_eq!(seen[0].first_line, "POST /v1/chat/completions HTTP/1.1");
    assert!(seen[0].headers.to_lowercase().contains("authorization: bearer sk-writer-0123456789"));
    assert_eq!(
        (&seen[0].body["model"], &seen[0].body["temperature"]),
        (&json!("writer"), &json!(0))
    );
    let question: Value =
        serde_json::from_str(seen[0].body["messages"][1]["content"].as_str().unwrap()).unwrap();
    let expected = json!({
        "name": "post", "description": "Letters and parcels", "notes": "Mail.", "n_tools": 1,
        "tools": [{"name": "send_letter", "description": "Send a letter"}],
    });
    assert_eq!(question, expected);

    // The same again, by an update too: known. Another text: another question.
    let update = run(&mut world.command("index update"));
    let said = String::from_utf8(update.stderr).unwrap();
    assert!(said.contains("0 new summaries, 1 known summary"), "{said}");
    assert!(stub.take_seen().is_empty());
    world.write("source.json", catalog("Parcels alone"));
    stub.plan(good());
    assert_eq!(build(&world, &stub, Some("sk-writer-0123456789")).0, SUMMARY);
    assert_eq!(stub.take_seen().len(), 1);
}

#[track_caller]
fn check_failure(act: Act, expected: &str) {
    let world = World::empty();
    world.write("source.json", catalog("Letters"));
    let stub = Stub::new([act]);
    let (summary, said) = build(&world, &stub, None);
    assert_eq!(summary, "Mail.");
    let expected = format!("1 server without a new summary: {expected}");
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn a_failure_keeps_the_text_and_is_counted() {
    check_failure(
        says("I cannot do that."),
        "the answer holds no JSON object with a text `summary`",
    );
    check_failure(says(r#"{"summary": "Mail."}"#), "the summary has 5 characters, not 20 to 1200");
    check_failure(Act::Say(200, "", "{}".to_owned()), "`127.0.0.1:");
    check_failure(Act::Say(404, "", "no such model".to_owned()), "`127.0.0.1:");
    check_failure(Act::Flood, "the answer of `127.0.0.1:");
}

#[test]
fn a_key_goes_to_no_host_that_nobody_here_named() {
    let world = World::empty();
    world.write("source.json", catalog("Letters"));
    let stub = Stub::new([good()]);
    build(&world, &stub, Some("sk-writer-0123456789"));
    std::fs::remove_file(world.home().join("index/cache/trusted-hosts")).unwrap();
    let output = run(world.command("index update").env("WRITER_KEY", "sk-writer-0123456789"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("asks to send the key in `WRITER_KEY` to `http://127.0.0.1:"), "{said}");
    assert_eq!(stub.take_seen().len(), 1);
}

//! From the command to the tokens on disk, and all that goes wrong on the way.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{Inn, assert_no_secrets, browse, failure, field};
use crate::support::stdout_of;

#[test]
fn a_login_keeps_tokens_that_index_and_serve_use() {
    let inn = Inn::open("");
    let reason = inn.reason();
    let metadata = "http://127.0.0.1:PORT/.well-known/oauth-protected-resource/mcp";
    let expected =
        format!("it needs a login, as described at {metadata}; run `toolscout login web`");
    assert_eq!(reason, expected);

    let mut login = inn.login("--log debug");
    let address = login.address();
    assert!(field(&address, "redirect_uri").starts_with("http://127.0.0.1:"), "{address}");
    assert_eq!(field(&address, "scope"), "tools");
    assert_eq!(browse(&address), 200);
    let (code, said) = login.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("logged in to `web`"), "{said}");
    assert_no_secrets(&said);
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(inn.tokens()), mode(inn.token_file())), (0o700, 0o600));

    let index = inn.build();
    assert_eq!((&index["rejected"], &index["tools"]), (&json!([]), &json!(2)), "{index}");
    let output = inn.calls(3, "--log debug");
    assert_eq!(super::results(&output), ["done x"; 3], "{output:?}");
    assert_no_secrets(&String::from_utf8_lossy(&output.stderr));
    assert_eq!(inn.logged("token "), ["authorization_code good"]);
    for (path, bytes) in crate::support::snapshot(inn.world.home()) {
        let is_secret = path.starts_with(inn.tokens()) || path == inn.log;
        if !is_secret {
            assert_no_secrets(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn an_answer_with_a_wrong_state_changes_nothing() {
    let inn = Inn::open("");
    let mut login = inn.login("");
    let address = login.address();
    let callback = field(&address, "redirect_uri");
    assert_eq!(browse(&format!("{callback}?code=stolen&state=guessed")), 400);
    assert_eq!(browse(&format!("{callback}?error=access_denied&state=")), 400);
    assert_eq!(browse(&format!("{callback}?code=stolen")), 400);
    assert_eq!(browse(&callback.replace("/callback", "/favicon.ico")), 404);
    assert_eq!(browse(&address), 200);
    let (code, said) = login.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("wrong `state`"), "{said}");
    assert_eq!(inn.logged("token "), ["authorization_code good"]);
}

#[test]
fn an_answer_of_another_authorization_server_buys_nothing() {
    let inn = Inn::open("");
    let mut login = inn.login("");
    let address = login.address();
    let (callback, state) = (field(&address, "redirect_uri"), field(&address, "state"));
    browse(&format!("{callback}?code=c&state={state}&iss=https%3A%2F%2Fother.example.com"));
    let (code, said) = login.end();
    assert_eq!(code, Some(1));
    assert!(said.contains("gives no token") && said.contains("issuer mismatch"), "{said}");
    assert_eq!(inn.logged("token "), [""; 0]);
}

#[track_caller]
fn check_refused(habits: &str, expected: &str) {
    let inn = Inn::open(habits);
    let mut login = inn.login("--log debug");
    browse(&login.address());
    let (code, said) = login.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(expected), "{said}");
    assert_no_secrets(&said);
    let n_files = crate::support::snapshot(&inn.world.home().join("tokens"));
    assert!(n_files.is_empty(), "{n_files:?}");
}

#[test]
fn a_refusal_is_said_without_what_steers_a_terminal() {
    let expected = "error: not logged in to `web`: the authorization server refuses the login: access_denied: not [31m today";
    check_refused("deny", expected);
    check_refused("no-token", "the authorization server gives no token: ");
    check_refused("empty", "the authorization server gives no token: ");
    check_refused("mac", "the authorization server gives no token: it is of type `mac`");
}

#[track_caller]
fn check_impossible(habits: &str, expected: &str) {
    let inn = Inn::open(habits);
    let said = failure(&mut inn.command("login web --no-browser --log error --config"));
    let said = said.replace(&inn.port, "PORT");
    assert_eq!(said, format!("error: not logged in to `web`: {expected}\n"));
    assert_eq!(inn.logged("authorize"), [""; 0]);
}

#[test]
fn where_no_login_is_possible_it_is_said_why() {
    check_impossible(
        "no-metadata",
        "`http://127.0.0.1:PORT/mcp` does not say where to log in (it has no OAuth metadata); give a token as a header of its entry",
    );
    check_impossible(
        "no-registration",
        "the authorization server does not take this program as a client: it registers no clients by itself",
    );
    check_impossible("odd-page", "the page to log in at `file:///bin/sh` is no https address");
    check_impossible(
        "private",
        "it cannot be found out where to log in: Protected resource metadata at http://127.0.0.1:PORT/.well-known/oauth-protected-resource/mcp names authorization servers http://192.168.7.7, but none published usable metadata",
    );
}

#[test]
fn nobody_is_waited_for_without_end() {
    let inn = Inn::open("");
    let said = failure(&mut inn.command("login web --no-browser --timeout 300ms --config"));
    let expected = "nobody has logged in within 300ms; run the command again, or give more time with `--timeout`";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_server_that_has_no_login_is_not_logged_in_to() {
    let inn = Inn::open("");
    inn.configure(&json!({
        "web": {"url": inn.url("/mcp")},
        "local": {"command": "true"},
        "pw": {"url": "http://me:pw@127.0.0.1/mcp"},
        "own": {"url": inn.url("/mcp"), "headers": {"authorization": "Bearer own"}},
    }));
    for (name, expected) in [
        ("web2", "no server `web2` that is called is known; those that are: `own`, `pw`, `web`"),
        (
            "local",
            "`local` is a program that is started; only servers that are called have a login",
        ),
        ("own", "the entry of `own` has an `Authorization` header; remove it to log in"),
        ("pw", "its address holds a user or password, so no login is used"),
    ] {
        let said = failure(&mut inn.command(&format!("login {name} --no-browser --config")));
        assert!(said.contains(expected), "{said}");
    }
    let said = failure(&mut inn.world.command("login web --no-browser"));
    assert!(said.contains("name its configuration with `--config`"), "{said}");
}

#[test]
fn a_logout_forgets_the_tokens() {
    let inn = Inn::open("");
    inn.log_in();
    inn.build();
    // The index knows the configuration by now.
    let out = || stdout_of(&mut inn.world.command("logout web"), 0);
    assert_eq!(out(), "the tokens of `web` are removed; they may be valid there for a while\n");
    assert!(inn.reason().starts_with("it needs a login, as described at"));
    assert_eq!(out(), "there are no tokens of `web`\n");
}

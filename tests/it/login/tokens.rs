//! Tokens that are there: sent, renewed, refused, and kept from others.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use super::{Inn, assert_no_secrets, results};

#[test]
fn an_expired_token_is_renewed_and_the_new_one_kept() {
    let inn = Inn::open("short");
    inn.log_in();
    inn.tell("/habit?-short");
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(inn.build()["tools"], 2);
    assert_eq!(inn.logged("token "), ["authorization_code good", "refresh_token good"]);
    // None of the requests went out with the old one.
    let sent = inn.logged("/mcp ");
    assert!(sent.iter().all(|line| line.ends_with(" Bearer access-2-secret")), "{sent:?}");
    assert_eq!(inn.build()["tools"], 2);
    assert_eq!(inn.logged("token ").len(), 2);
}

#[test]
fn calls_whose_token_is_refused_share_one_renewal() {
    let inn = Inn::open("slow");
    inn.log_in();
    inn.build();
    inn.tell("/revoke");
    let n_before = inn.logged("token ").len();
    let output = inn.calls(8, "--log debug");
    assert_eq!(results(&output), ["done x"; 8], "{output:?}");
    assert_eq!(inn.logged("token ")[n_before..], ["refresh_token good"]);
    assert_no_secrets(&String::from_utf8_lossy(&output.stderr));
}

#[test]
fn processes_that_renew_at_once_share_it_too() {
    let inn = Inn::open("slow");
    inn.log_in();
    inn.build();
    inn.tell("/revoke");
    let n_before = inn.logged("token ").len();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| inn.calls(1, ""))).collect();
        for call in calls {
            let output = call.join().unwrap();
            assert_eq!(results(&output), ["done x"], "{output:?}");
        }
    });
    assert_eq!(inn.logged("token ")[n_before..], ["refresh_token good"]);
}

#[test]
fn a_login_that_is_over_is_tried_once_and_names_the_command() {
    let inn = Inn::open("");
    inn.log_in();
    inn.tell("/revoke");
    inn.tell("/habit?no-refresh");
    let reason = inn.reason();
    let over = "it needs a login; the authorization server no longer renews the token; run `toolscout login web`";
    assert_eq!(reason, over);
    assert_eq!(inn.logged("token "), ["authorization_code good", "refresh_token bad"]);
    // It is known now, and nobody is asked again in vain.
    let reason = inn.reason();
    let known = "it needs a login; its token is no longer valid, and nothing renews it; run `toolscout login web`";
    assert_eq!(reason, known);
    assert_eq!(inn.logged("token ").len(), 2);
    inn.tell("/habit?-no-refresh");
    inn.log_in();
    assert_eq!(inn.build()["tools"], 2);
}

#[track_caller]
fn check_failed_renewal(habit: &str, expected: &str, n_asked: usize) {
    let inn = Inn::open("");
    inn.log_in();
    inn.tell("/revoke");
    inn.tell(&format!("/habit?{habit}"));
    let reason = inn.reason();
    assert!(reason.contains(expected), "{reason}");
    // What may pass by itself asks for nobody.
    let passes = habit == "broken";
    assert_ne!(reason.ends_with("; run `toolscout login web`"), passes, "{reason}");
    assert_no_secrets(&reason);
    assert_eq!(inn.logged("token ").len(), 1 + n_asked);
    // Nothing is lost.
    inn.tell(&format!("/habit?-{habit}"));
    if n_asked == 0 {
        assert_eq!(inn.build()["tools"], 2);
    }
}

#[test]
fn a_renewal_that_fails_says_why() {
    let broken = "its token cannot be renewed now: the authorization server gives no token: ";
    check_failed_renewal("broken", broken, 1);
    check_failed_renewal("moved", "sends to another authorization server", 0);
    check_failed_renewal("useless", "it refuses the token that it got", 1);
}

#[test]
fn a_token_that_is_still_good_does_where_it_cannot_be_renewed_yet() {
    let inn = Inn::open("minute");
    inn.log_in();
    inn.build();
    // Half of its life of 40 s is over; that is when it is to be renewed.
    let file = inn.token_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let mut grant: Value = serde_json::from_str(&text).unwrap();
    let received_at = grant["token"]["received_at"].as_u64().unwrap();
    grant["token"]["received_at"] = json!(received_at - 21);
    std::fs::write(&file, grant.to_string()).unwrap();
    inn.tell("/habit?broken");
    assert_eq!(results(&inn.calls(1, "")), ["done x"]);
    assert_eq!(inn.logged("token ")[1..], ["refresh_token good"]);
    inn.tell("/habit?-broken");
}

#[test]
fn a_token_goes_to_its_server_alone() {
    let inn = Inn::open("");
    inn.log_in();
    inn.configure(&json!({
        "other": {"url": inn.url("/open")},
        "own": {"url": inn.url("/open?own"), "headers": {"authorization": "Bearer own"}},
        "query": {"url": inn.url("/mcp?x=1")},
        "mine": {"url": inn.url("/mcp"), "headers": {"AUTHORIZATION": "Bearer mine"}},
    }));
    let index = inn.build();
    let rejected = &index["rejected"][0];
    assert_eq!(rejected["server"], "mine", "{index}");
    assert!(!rejected["reason"].as_str().unwrap().contains("toolscout login"), "{rejected}");
    assert_eq!(inn.logged("/open initialize "), ["None"]);
    // A query makes no other server.
    assert_eq!(inn.logged("/mcp?x=1 initialize "), ["Bearer access-1-secret"]);
    assert_eq!(inn.logged("/open?own initialize "), ["Bearer own"]);
    assert_eq!(inn.logged("/mcp initialize "), ["Bearer mine"]);
}

#[test]
fn what_a_server_says_of_a_token_is_masked() {
    let inn = Inn::open("");
    inn.log_in();
    inn.build();
    inn.tell("/habit?echo");
    assert_eq!(inn.reason(), r#"it answers HTTP 403: {"message": "Bearer *** may not"}"#);
    let output = inn.calls(1, "--log debug");
    assert_no_secrets(&format!("{output:?}"));
}

#[test]
fn tokens_that_others_can_read_are_not_used() {
    let inn = Inn::open("");
    inn.log_in();
    let file = inn.token_file();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let reason = inn.reason();
    let file = file.display();
    let expected = format!(
        "it needs a login; `{file}` is open to others (mode 644), who may know the tokens; run `chmod 600 {file}` and log in again; run `toolscout login web`"
    );
    assert_eq!(reason, expected);
    assert_eq!(inn.logged("/mcp initialize"), [""; 0]);
    inn.log_in();
    assert_eq!(inn.build()["tools"], 2);
}

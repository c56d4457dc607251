//! One document: limits, repeats, redirects, what has not changed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolscout::fetch::{Answer, FetchError, Fetcher, Limits, PrivateHosts, Url, Validators};

use super::stub::{Reply, Stub};

type Pauses = Arc<Mutex<Vec<Duration>>>;

fn limits(pauses: &Pauses) -> Limits {
    let noted = Arc::clone(pauses);
    Limits {
        whole: Duration::from_millis(300),
        body_bytes: 100_000,
        pause: Box::new(move |pause| noted.lock().unwrap().push(pause)),
        ..Limits::default()
    }
}

fn get(url: &str, private: PrivateHosts) -> (Result<Answer, FetchError>, Vec<f32>) {
    let (url, pauses) = (Url::parse(url).unwrap(), Pauses::default());
    let answer = Fetcher::new(&url, private, limits(&pauses)).get(&url, &Validators::default());
    let pauses = pauses.lock().unwrap().iter().map(Duration::as_secs_f32).collect();
    (answer, pauses)
}

/// Gives the replies in turn, the last one again and again.
fn script(replies: impl IntoIterator<Item = Reply>) -> Stub {
    let (replies, turn) = (replies.into_iter().collect::<Vec<_>>(), AtomicUsize::new(0));
    Stub::new(move |_| {
        let turn = turn.fetch_add(1, Ordering::SeqCst);
        replies[turn.min(replies.len() - 1)].clone()
    })
}

#[track_caller]
fn check_body(answer: Result<Answer, FetchError>, expected: &str) {
    match answer.unwrap() {
        Answer::Document { body, .. } => assert_eq!(String::from_utf8_lossy(&body), expected),
        Answer::Unchanged => unreachable!("nothing was known"),
    }
}

#[test]
fn what_is_busy_is_asked_again_and_when_it_says() {
    let say = |status, header: &str| Reply::Say(status, header.to_owned(), "wait".to_owned());
    let stub = script([
        say(429, "Retry-After: 7\r\n"),
        say(503, "Retry-After: 100000\r\n"),
        Reply::HangUp,
        Reply::json(&"[]"),
    ]);
    let (answer, pauses) = get(&stub.url("/x"), PrivateHosts::Refused);
    check_body(answer, "[]");
    assert_eq!(pauses, [7.0, 60.0, 2.0]);
    let seen = stub.take_seen();
    assert!(seen[0].headers.contains("user-agent: toolscout/"), "{}", seen[0].headers);
}

#[test]
fn an_error_names_the_url_without_its_secrets_and_the_cure() {
    let big = "x".repeat(100_001);
    for (reply, n_seen, expected) in [
        (Reply::status(500), 4, "answers with HTTP 500, try 4: no; try again later"),
        (Reply::status(404), 1, "refuses with HTTP 404: no; check the address"),
        (Reply::Say(404, String::new(), "<html>".into()), 1, "an HTML page"),
        (Reply::Say(404, String::new(), "no key=hunter2".into()), 1, ": no …; check"),
        (Reply::Wait(Duration::from_secs(2)), 4, "within 0.3 s, try 4; try again later, or allow"),
        (Reply::HangUp, 4, "ended the connection"),
        (Reply::Flood, 1, "larger than 100000 bytes"),
        (Reply::json(&big), 1, "larger than 100000 bytes"),
        (Reply::redirect("/x"), 6, "redirects more than 5 times"),
        (Reply::redirect("ftp://example.com/hunter2"), 1, "no address of HTTP"),
    ] {
        let stub = script([reply]);
        let error = get(&stub.url("/x?key=hunter2"), PrivateHosts::Refused).0.unwrap_err();
        let message = format!("{error}");
        assert!(message.contains(expected), "{message}");
        assert!(message.contains(&format!("`{}", stub.url("/x?…"))), "{message}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        assert_eq!(stub.take_seen().len(), n_seen, "{message}");
    }
}

#[test]
fn nobody_there_is_an_error_at_once() {
    let (answer, pauses) = get("http://127.0.0.1:1/x", PrivateHosts::Refused);
    let message = answer.unwrap_err().to_string();
    assert!(message.starts_with("cannot reach `http://127.0.0.1:1/x`"), "{message}");
    assert!(pauses.is_empty());
}

#[test]
fn a_redirect_stays_on_the_typed_host_unless_more_is_allowed() {
    let inside = script([Reply::json(&"{}")]);
    let same = script([Reply::redirect(&inside.url("/there"))]);
    check_body(get(&same.url("/x"), PrivateHosts::Refused).0, "{}");
    assert_eq!(inside.take_seen()[0].target, "/there");

    let other = format!("http://localhost:{}/there?token=hunter2", inside.port());
    let away = script([Reply::redirect(&other)]);
    let error = get(&away.url("/x"), PrivateHosts::Refused).0.unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, FetchError::PrivateAddress { .. }), "{message}");
    assert!(message.contains("`localhost`") && message.contains("--allow-private"), "{message}");
    assert!(!message.contains("hunter2"), "{message}");
    assert!(inside.take_seen().is_empty());
    check_body(get(&away.url("/x"), PrivateHosts::Allowed).0, "{}");
}

#[test]
fn a_document_that_has_not_changed_is_not_sent_again() {
    let stub = Stub::new(|seen| match seen.headers.contains("if-none-match: \"v1\"\r\n") {
        true => Reply::Say(304, String::new(), String::new()),
        false => Reply::Say(200, "ETag: \"v1\"\r\nLast-Modified: x\r\n".into(), "{}".into()),
    });
    let url = Url::parse(&stub.url("/x")).unwrap();
    let fetcher = Fetcher::new(&url, PrivateHosts::Refused, limits(&Pauses::default()));
    let Answer::Document { validators, .. } = fetcher.get(&url, &Validators::default()).unwrap()
    else {
        unreachable!("nothing was known");
    };
    assert_eq!(validators.etag.as_deref(), Some("\"v1\""));
    assert_eq!(fetcher.get(&url, &validators).unwrap(), Answer::Unchanged);
    assert!(stub.take_seen()[1].headers.contains("if-modified-since: x\r\n"));
}

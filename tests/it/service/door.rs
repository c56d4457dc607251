//! Who is let in.

use serde_json::json;

use super::client::Client;
use super::client::body;
use super::client::exchange;
use super::client::get;
use super::client::status;
use super::process::Service;
use crate::calls::built;
use crate::live::entry;
use crate::support::stderr_of;

const TOKEN: &str = "t0ken-of-the-door";

#[test]
fn only_the_token_opens() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let service = Service::with(&town, "--token-env DOOR", &[("DOOR", TOKEN)]);
    for headers in [
        "",
        "Authorization: Bearer wrong\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Basic t0ken-of-the-door\r\n",
        "Authorization: t0ken-of-the-door\r\n",
    ] {
        let client = Client::stateless(&service.address, headers);
        let (message, more) = client.message("tools/list", &json!({}));
        for answer in [client.post(&message, &more), get(&service.address, "/metrics", headers)] {
            assert_eq!(status(&answer), 401, "{headers:?}");
            assert!(answer.contains("\r\nwww-authenticate: Bearer\r\n"), "{answer}");
            assert_eq!(body(&answer), "a valid bearer token is needed");
        }
    }
    let with = format!("Authorization: Bearer {TOKEN}\r\n");
    let client = Client::stateless(&service.address, &with);
    assert!(!client.call("a__echo", &json!({})).0);
    assert_eq!(status(&get(&service.address, "/metrics", &with)), 200);
    // Whoever looks after the process needs none.
    assert_eq!(status(&get(&service.address, "/healthz", "")), 200);
    assert!(service.log().contains("a request without a valid token is refused"));
}

#[test]
fn foreign_hosts_and_web_pages_are_refused() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let flags = "--allow-host tools.example --allow-origin https://app.example:443";
    let service = Service::with(&town, flags, &[]);
    let (_, port) = service.address.rsplit_once(':').unwrap();
    let own = format!("Host: localhost:{port}\r\n");
    for (headers, expected) in [
        (own.clone(), 200),
        ("Host: tools.example\r\n".to_owned(), 200),
        (format!("{own}Origin: http://localhost:3000\r\n"), 200),
        (format!("{own}Origin: https://app.example\r\n"), 200),
        ("Host: evil.example\r\n".to_owned(), 403),
        (format!("Host: localhost.evil.example:{port}\r\n"), 403),
        (format!("{own}Origin: https://evil.example\r\n"), 403),
        (format!("{own}Origin: null\r\n"), 403),
    ] {
        let client = Client::stateless(&service.address, &headers);
        let (message, more) = client.message("tools/list", &json!({}));
        assert_eq!(status(&client.post(&message, &more)), expected, "{headers}");
    }
    for (path, headers, expected) in [
        ("/metrics", own.clone(), 200),
        ("/metrics", "Host: evil.example\r\n".to_owned(), 403),
        ("/metrics", format!("{own}Origin: https://evil.example\r\n"), 403),
        ("/readyz", format!("{own}Origin: https://evil.example\r\n"), 403),
    ] {
        assert_eq!(status(&get(&service.address, path, &headers)), expected, "{path} {headers}");
    }
}

#[test]
fn a_page_that_is_let_in_can_read_the_answer_and_no_other() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let flags = "--allow-origin https://app.example --token-env DOOR";
    let service = Service::with(&town, flags, &[("DOOR", TOKEN)]);
    let preflight = |origin: &str| {
        let head = format!(
            "OPTIONS /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,mcp-session-id\r\n\r\n",
            service.address
        );
        exchange(&service.address, head.as_bytes()).to_lowercase()
    };
    for origin in ["https://app.example", "http://localhost:6274"] {
        // The browser asks without the token.
        let answer = preflight(origin);
        assert_eq!(status(&answer), 200, "{answer}");
        for line in [
            &format!("access-control-allow-origin: {origin}"),
            "access-control-allow-headers: authorization,mcp-session-id",
            "access-control-allow-methods: get,post,delete",
        ] {
            assert!(answer.contains(line), "{line} is not in {answer}");
        }
        let headers = format!("Origin: {origin}\r\nAuthorization: Bearer {TOKEN}\r\n");
        for (headers, expected) in [(headers, 200), (format!("Origin: {origin}\r\n"), 401)] {
            let client = Client::stateless(&service.address, &headers);
            let (message, more) = client.message("tools/list", &json!({}));
            let answer = client.post(&message, &more);
            assert_eq!(status(&answer), expected);
            assert!(answer.contains(&format!("access-control-allow-origin: {origin}")), "{answer}");
            let exposed = "access-control-expose-headers: mcp-session-id,www-authenticate";
            assert!(answer.contains(exposed), "{answer}");
        }
    }
    assert!(!preflight("https://evil.example").contains("access-control-allow-origin"));
}

#[test]
fn an_address_for_others_needs_a_token() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let line = "serve --model stand-in --http 0.0.0.0:0";
    let said = stderr_of(&mut town.world.command(line), 1);
    let expected = "0.0.0.0:0 can be reached from other machines, so clients need a token: add \
                    `--token-env VAR` or `--tenants FILE`, or listen at 127.0.0.1";
    assert!(said.contains(expected), "{said}");
    let line = "serve --model stand-in --http 127.0.0.1:0 --token-env NOT_THERE";
    let said = stderr_of(&mut town.world.command(line), 1);
    assert!(said.contains("`NOT_THERE` of `--token-env` holds no token; set it"), "{said}");
}

#[test]
fn tricks_with_paths_lead_nowhere() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let service = Service::of(&town);
    for path in ["/", "//mcp", "/MCP", "/mcp/", "/mcp/../metrics", "/%6dcp", "/metrics/../mcp"] {
        assert_eq!(status(&get(&service.address, path, "")), 404, "{path}");
    }
    let client = Client::stateless(&service.address, "");
    let long = "x".repeat(100_000);
    for name in ["../a__echo", "a/echo", "a/../a__echo", "a__echo\0", "a__../echo", "", &long] {
        let (is_failure, text) = client.call(name, &json!({}));
        assert!(is_failure && text.len() < 400, "{name:?}: {text}");
    }
    assert!(town.logged("start ").is_empty());
}

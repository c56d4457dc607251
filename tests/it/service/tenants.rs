//! Each token opens its own servers, and tells nothing of others.

use std::io::Write;

use serde_json::Value;
use serde_json::json;

use super::client::Client;
use super::client::connect;
use super::client::get;
use super::client::status;
use super::process::Service;
use crate::calls::built;
use crate::live::Town;
use crate::live::entry;
use crate::support::sha256;
use crate::support::stderr_of;

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Three servers, and who may use them.
fn town() -> Town {
    let town = built(&json!({
        "public": entry("echo,pid", ""),
        "payroll": entry("salaries,echo", ""),
        "vault": entry("unseal", ""),
    }));
    let [all, part, strict] = ["all", "part", "strict"].map(|token| sha256(token.as_bytes()));
    let text = format!(
        "[[tenant]]\nname = \"all\"\ntoken_sha256 = \"{all}\"\nservers = [\"*\"]\n\
         [[tenant]]\nname = \"part\"\ntoken_sha256 = \"{part}\"\nservers = [\"public\"]\n\
         deny = [\"public/pid\", \"vault\"]\n\
         [[tenant]]\nname = \"strict\"\ntoken_sha256 = \"{strict}\"\nservers = [\"public\"]\n\
         read_only = true\n"
    );
    town.world.write("tenants.toml", text);
    town
}

fn serve(town: &Town) -> Service {
    let file = town.world.home().join("tenants.toml");
    let service = Service::with(town, &format!("--tenants {}", file.display()), &[]);
    let (address, headers) = (&service.address, bearer("all"));
    crate::calls::until("the model", || status(&get(address, "/readyz", &headers)) == 200);
    service
}

#[test]
fn what_others_have_is_nowhere_to_be_seen() {
    let town = town();
    let service = serve(&town);
    let all = Client::with_session(&service.address, &bearer("all"));
    let part = Client::with_session(&service.address, &bearer("part"));
    let stateless = Client::stateless(&service.address, &bearer("part"));
    assert!(all.found("Does salaries.").contains(&"payroll__salaries".to_owned()));
    for client in [&part, &stateless] {
        for wanted in ["Does salaries.", "unseal the vault", "payroll", "Does pid."] {
            for name in client.found(wanted) {
                assert_eq!(name, "public__echo", "{wanted}");
            }
        }
        // By its very name, by platform, and on any page.
        for arguments in [
            json!({ "server": "payroll", "tool": "salaries" }),
            json!({ "server": "vault" }),
            json!({ "tool": "Does salaries.", "top_k": 20, "exclude": ["public__echo"] }),
        ] {
            let text = client.discover(&arguments).to_string();
            for secret in ["payroll__", "vault__", "salaries__", "Does unseal", "public__pid"] {
                assert!(!text.contains(secret), "{arguments}: {text}");
            }
        }
        for method in ["tools/list", "prompts/list", "server/discover"] {
            let text = client.line(method, &json!({}));
            assert!(!text.contains("payroll") && !text.contains("vault"), "{method}: {text}");
        }
    }
    // The counts of instructions are of what is theirs: a server, a tool.
    let told = stateless.rpc("server/discover", &json!({}))["result"]["instructions"].to_string();
    let whole = Client::stateless(&service.address, &bearer("all"));
    let whole = whole.rpc("server/discover", &json!({}))["result"]["instructions"].to_string();
    assert!(told.contains("public") && !told.contains('5'), "{told}");
    assert!(whole.contains("payroll") && whole.contains("vault"), "{whole}");
}

#[test]
fn what_others_have_is_answered_as_what_nobody_has() {
    let town = town();
    let service = serve(&town);
    let client = Client::stateless(&service.address, &bearer("part"));
    let words = |name: &str| {
        let (is_failure, text) = client.call(name, &json!({}));
        assert!(is_failure, "{name}");
        text.replace(name, "NAME")
    };
    let unknown = words("nobody__nothing");
    // Not allowed, and not allowed and denied as well.
    for name in ["payroll__salaries", "payroll__echo", "vault__unseal"] {
        assert_eq!(words(name), unknown, "{name}");
    }
    assert_eq!(words("public__pid"), "`NAME` is not called: it is denied here");
    assert!(!client.call("public__echo", &json!({})).0);
    let strict = Client::stateless(&service.address, &bearer("strict"));
    let (is_failure, text) = strict.call("public__echo", &json!({}));
    assert!(is_failure && text.contains("annotated as read-only"), "{text}");
    assert!(strict.found("Does echo.").is_empty());
    // One server was needed, and one was started.
    assert_eq!(town.logged("start ").len(), 1);
}

#[test]
fn sessions_cursors_and_metrics_are_their_owners() {
    let town = town();
    let service = serve(&town);
    let all = Client::with_session(&service.address, &bearer("all"));
    let mut thief = Client::stateless(&service.address, &bearer("part"));
    thief.session = all.session.clone();
    let (message, more) = thief.message("tools/list", &json!({}));
    assert_eq!(status(&thief.post(&message, &more)), 404);
    let deletion = thief.request("DELETE", "", "");
    assert_eq!(status(&super::client::exchange(&service.address, deletion.as_bytes())), 404);
    assert!(!all.call("public__echo", &json!({})).0);

    let small = json!({ "tool": "echo", "top_k": 20, "detail": "schema", "max_bytes": 700 });
    let page = all.discover(&small);
    let cursor = page["result"]["structuredContent"]["next_cursor"].clone();
    if let Value::String(cursor) = cursor {
        thief.session = None;
        let mut more = small;
        more["cursor"] = json!(cursor);
        let text = thief.discover(&more).to_string();
        assert!(!text.contains("payroll__") && !text.contains("vault__"), "{text}");
    }
    assert_eq!(status(&get(&service.address, "/metrics", &bearer("part"))), 403);
    assert_eq!(status(&get(&service.address, "/metrics", &bearer("all"))), 200);
}

#[test]
fn a_file_that_is_wrong_is_named_with_its_cure() {
    let town = built(&json!({ "a": entry("echo", "") }));
    let hash = sha256(b"x");
    let tenant = |name: &str, hash: &str, rest: &str| {
        format!("[[tenant]]\nname = \"{name}\"\ntoken_sha256 = \"{hash}\"\n{rest}\n")
    };
    let servers = "servers = [\"*\"]";
    for (text, expected) in [
        ("tenant = ".to_owned(), "tenants.toml"),
        ("tenant = []\n".to_owned(), "it names no tenant; add a `[[tenant]]`"),
        (tenant("a", &hash, ""), "servers"),
        (tenant("a", &hash, "servers = []\nrights = 1"), "rights"),
        (tenant("a", "secret-token", servers), "64 hexadecimal digits"),
        (tenant("a", &sha256(b""), servers), "the hash of an empty token"),
        (tenant("a", &hash, "servers = [\"/x\"]"), "is no pattern"),
        (tenant("a", &hash, servers) + &tenant("b", &hash, servers), "give each its own"),
        (tenant("a", &hash, servers) + &tenant("a", &sha256(b"y"), servers), "is there twice"),
    ] {
        let file = town.world.write("tenants.toml", &text);
        let line =
            format!("serve --model stand-in --http 127.0.0.1:0 --tenants {}", file.display());
        let said = stderr_of(&mut town.world.command(&line), 1);
        assert!(said.contains("tenants.toml") && said.contains(expected), "{text}\n{said}");
        assert!(!said.contains("secret-token"), "{said}");
    }
}

#[test]
fn a_tenant_with_too_many_requests_leaves_room_for_others() {
    let town = town();
    let service = serve(&town);
    let part = Client::stateless(&service.address, &bearer("part"));
    let request = part.request("POST", "0123456789", "");
    let unfinished = request.strip_suffix("89").unwrap();
    // As many as may be, of which each is still read.
    let held: Vec<_> = (0..768)
        .map(|_| {
            let mut stream = connect(&service.address);
            stream.write_all(unfinished.as_bytes()).unwrap();
            stream
        })
        .collect();
    let listed = |client: &Client| {
        let (message, more) = client.message("tools/list", &json!({}));
        status(&client.post(&message, &more))
    };
    crate::calls::until("the bound", || listed(&part) == 429);
    assert_eq!(listed(&Client::stateless(&service.address, &bearer("all"))), 200);
    drop(held);
    crate::calls::until("room", || listed(&part) == 200);
}

//! What may be shown of a command line or an address.
//!
//! Owns the guess at what is secret. It rather hides too much: the place to
//! read a value is the file it stands in.

/// Stands for what is hidden.
const HIDDEN: &str = "***";

/// A name with one of these in it has a value that nobody should see.
const SECRET_WORDS: [&str; 12] = [
    "key",
    "token",
    "secret",
    "pass",
    "pwd",
    "auth",
    "credential",
    "bearer",
    "cookie",
    "session",
    "private",
    "dsn",
];

/// Short flags after which programs take a key, a password, a token, a user or a header.
const SECRET_FLAGS: [&str; 6] = ["-H", "-P", "-k", "-p", "-t", "-u"];

/// How keys of well-known services begin.
const KEY_STARTS: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "eyJ",
    "hf_",
    "ntn_",
];

/// Shorter words are no keys.
const MIN_KEY_CHARS: usize = 20;

/// The words of a command line, each masked where it may be secret.
pub(crate) fn arguments<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut before = "";
    let mut shown = Vec::new();
    for word in words {
        let is_long = before.starts_with('-') && !before.contains('=') && is_secret(before);
        let follows_secret = is_long || SECRET_FLAGS.contains(&before);
        let sets_variable = ["-e", "--env"].contains(&before);
        shown.push(match word.split_once('=') {
            _ if follows_secret && !is_reference(word) => HIDDEN.to_owned(),
            Some((name, _)) if sets_variable => format!("{name}={HIDDEN}"),
            Some(("--env", set)) => {
                let (name, value) = set.split_once('=').unwrap_or((set, ""));
                format!("--env={name}{}", if value.is_empty() { "" } else { "=***" })
            }
            _ => argument(word),
        });
        before = word;
    }
    shown
}

fn argument(word: &str) -> String {
    let word = &*without_defaults(word);
    if word.contains("://") {
        return address(word);
    }
    // ASCII only, so that positions are those of the word itself.
    let lower = word.to_ascii_lowercase();
    let starts = SECRET_WORDS.iter().filter_map(|secret| lower.find(secret)).min();
    let value = starts.and_then(|start| Some(start + lower[start..].find(['=', ':'])? + 1));
    match value {
        Some(at) if at < word.len() => format!("{}{HIDDEN}", &word[..at]),
        _ if is_key(word) => HIDDEN.to_owned(),
        _ => word.to_owned(),
    }
}

/// An address without user, query, and parts of the path that look like keys.
pub(crate) fn address(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (rest, query) = rest.split_at(end);
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = match host.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => host.to_owned(),
    };
    let path: Vec<&str> =
        path.split('/').map(|part| if is_key(part) { HIDDEN } else { part }).collect();
    let query = match query.chars().next() {
        Some('#') if query[1..].starts_with('/') => query.to_owned(),
        Some(mark) => format!("{mark}{HIDDEN}"),
        None => String::new(),
    };
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    format!("{scheme}{host}{}{query}", path.join("/"))
}

/// Whether a word is a variable and nothing else, be it with a default.
fn is_reference(word: &str) -> bool {
    word.starts_with("${") && word.find('}') == Some(word.len() - 1) && !word.contains(":-")
}

/// `${NAME:-value}` → `${NAME:-***}`.
fn without_defaults(word: &str) -> String {
    let (mut shown, mut rest) = (String::new(), word);
    while let Some(start) = rest.find("${") {
        let (before, reference) = rest.split_at(start);
        let end = reference.find('}').map_or(reference.len(), |end| end + 1);
        let (reference, after) = reference.split_at(end);
        shown.push_str(before);
        match reference.split_once(":-") {
            Some((name, _)) => shown.push_str(&format!("{name}:-{HIDDEN}}}")),
            None => shown.push_str(reference),
        }
        rest = after;
    }
    shown + rest
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a word looks like a key: known by its start, or long and mixed.
fn is_key(word: &str) -> bool {
    let known = KEY_STARTS.iter().any(|start| word.starts_with(start));
    let n_chars = word.chars().count();
    let only = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+=~".contains(c));
    let has = |class: fn(&char) -> bool| word.chars().any(|c| class(&c));
    let mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let is_hex = n_chars >= 32 && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let is_random = has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
    known && n_chars >= 8 || n_chars >= MIN_KEY_CHARS && only && mixed && (is_random || is_hex)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_can_be_shown(text: String, marks in "[-=:/@?#\u{130}\u{212a}a-z{}$ ]{0,20}") {
            for text in [text, marks.clone(), format!("--token{marks}"), format!("x://{marks}")] {
                let _shown = arguments([text.as_str(), text.as_str()].into_iter());
                let _shown = address(&text);
            }
        }
    }

    #[test]
    fn what_may_be_secret_is_hidden_and_the_rest_is_not() {
        for (line, shown) in [
            (
                "npx -y @scope/server-files@2025.7.10 ./data",
                "npx -y @scope/server-files@2025.7.10 ./data",
            ),
            ("x --api-key abc --port 80", "x --api-key *** --port 80"),
            ("x --api-key ${KEY}", "x --api-key ${KEY}"),
            ("x --token=abc API_KEY=abc", "x --token=*** API_KEY=***"),
            ("x --api-key ${KEY:-abc}", "x --api-key ***"),
            ("x --at ${AT:-abc}/${B:-d:-e} a:-b", "x --at ${AT:-***}/${B:-***} a:-b"),
            ("x -k abc -p pw -H X-Api:abc -y b", "x -k *** -p *** -H *** -y b"),
            (
                "docker run -e NAME -e OTHER=abc --env B=c img",
                "docker run -e NAME -e OTHER=*** --env B=*** img",
            ),
            ("docker run --env=NAME --env=B=abc img", "docker run --env=NAME --env=B=*** img"),
            ("x --header Authorization:abc", "x --header Authorization:***"),
            (r#"x {"apiKey":"abc"}"#, r#"x {"apiKey":***"#),
            ("x postgres://me:pw@host/db?x=1", "x postgres://***@host/db?***"),
            ("x ghp_abcdefgh", "x ***"),
            ("x aB3dE6gH9jK2mN5pQ8sT", "x ***"),
            (
                "x type=bind,src=/a,dst=/b /Users/me/Desktop",
                "x type=bind,src=/a,dst=/b /Users/me/Desktop",
            ),
        ] {
            assert_eq!(arguments(line.split(' ')).join(" "), shown);
        }
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://a.example/mcp?api_key=x&b=1", "https://a.example/mcp?***"),
            (
                "https://u:p@a.example:8080/aB3dE6gH9jK2mN5pQ8sT/mcp",
                "https://***@a.example:8080/***/mcp",
            ),
            ("https://a.example/0123456789abcdef0123456789abcdef/sse", "https://a.example/***/sse"),
            ("http://127.0.0.1:${PORT}/mcp#//x", "http://127.0.0.1:${PORT}/mcp#//x"),
            ("${URL}", "${URL}"),
        ] {
            assert_eq!(address(url), shown);
        }
    }
}

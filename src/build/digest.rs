//! The texts that are embedded for a server and a tool.
//!
//! Deterministic and short: what stands first counts most, and a model reads
//! only some hundred words.

use crate::catalog::Server;
use crate::catalog::Tool;
use crate::catalog::words;

/// Characters of purpose and of tool names in a digest; together about half
/// of what a 512-token model reads.
const PURPOSE_CHARS: usize = 400;
const TOOL_NAMES_CHARS: usize = 800;

/// Name, purpose and tool names of a server, so that a server without a good
/// description still has a text.
#[must_use]
pub fn digest(server: &Server) -> String {
    let mut text = words(&server.name);
    let purpose = if server.summary.is_empty() { &server.description } else { &server.summary };
    if !purpose.is_empty() {
        text.push_str(". ");
        text.push_str(&first_chars(purpose, PURPOSE_CHARS));
    }
    let mut n_chars = 0;
    for (n, tool) in server.tools.iter().enumerate() {
        let name = words(&tool.name);
        n_chars += name.chars().count() + 2;
        if n_chars > TOOL_NAMES_CHARS {
            break;
        }
        text.push_str(if n == 0 { ". Tools: " } else { ", " });
        text.push_str(&name);
    }
    text
}

/// Name (split into words), description and parameter names of a tool.
#[must_use]
pub fn tool_text(tool: &Tool) -> String {
    let mut text = words(&tool.name);
    if let Some(title) = tool.title.as_deref().filter(|title| words(title) != text) {
        text = format!("{text} ({title})");
    }
    if !tool.description.is_empty() {
        text.push_str(": ");
        text.push_str(&tool.description);
    }
    let mut parameters = tool.parameter_names();
    // An object has no order: equal schemas must give equal texts.
    parameters.sort_unstable();
    if !parameters.is_empty() {
        let parameters: Vec<String> = parameters.iter().map(|name| words(name)).collect();
        text.push_str(". Parameters: ");
        text.push_str(&parameters.join(", "));
    }
    text
}

fn first_chars(text: &str, n: usize) -> String {
    text.chars().take(n).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in [
            ("createIssue", "create Issue"),
            ("create_issue", "create issue"),
            ("places.search-now", "places search now"),
            ("getHTTPResponse2", "get HTTP Response2"),
            ("__x__", "x"),
            ("天気予報", "天気予報"),
        ] {
            assert_eq!(words(name), expected);
        }
    }

    #[test]
    fn a_tool_is_name_description_parameters() {
        let tool = Tool {
            name: "create_issue".to_owned(),
            description: "Open an issue".to_owned(),
            input_schema: RawValue::from_string(r#"{"properties":{"repoName":{}}}"#.into()).ok(),
            ..Tool::default()
        };
        assert_eq!(tool_text(&tool), "create issue: Open an issue. Parameters: repo Name");
        let bare = Tool { name: "x".to_owned(), ..Tool::default() };
        assert_eq!(tool_text(&bare), "x");
    }

    #[test]
    fn a_digest_of_many_tools_stays_short() {
        let tools = (0..500).map(|n| Tool { name: format!("tool_{n}"), ..Tool::default() });
        let server = Server { name: "big".into(), tools: tools.collect(), ..Server::default() };
        let digest = digest(&server);
        assert!(digest.starts_with("big. Tools: tool 0, tool 1"), "{digest}");
        assert!(digest.chars().count() < 900);
    }
}

//! The nouns → a file in the catalogue format, which [`super::read`] reads.

use serde::Serialize;

use crate::catalog::RawJson;
use crate::catalog::Server;
use crate::catalog::Tool;

#[derive(Serialize)]
struct CatalogFile<'a> {
    servers: Vec<ServerEntry<'a>>,
}

#[derive(Serialize)]
struct ServerEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    tools: Vec<ToolEntry<'a>>,
}

#[derive(Serialize)]
struct ToolEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<&'a RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a RawJson>,
}

/// Servers as a file in the catalogue format; schemas stay token for token.
///
/// # Errors
/// Fails when a schema cannot be written, which no imported one does.
pub fn export<'a>(
    servers: impl IntoIterator<Item = &'a Server>,
) -> Result<String, serde_json::Error> {
    let servers = servers.into_iter().map(ServerEntry::new).collect();
    serde_json::to_string(&CatalogFile { servers })
}

impl<'a> ServerEntry<'a> {
    fn new(server: &'a Server) -> Self {
        Self {
            name: &server.name,
            description: &server.description,
            summary: &server.summary,
            url: server.url.as_deref(),
            tools: server.tools.iter().map(ToolEntry::new).collect(),
        }
    }
}

impl<'a> ToolEntry<'a> {
    fn new(tool: &'a Tool) -> Self {
        Self {
            name: &tool.name,
            title: tool.title.as_deref(),
            description: &tool.description,
            input_schema: tool.input_schema.as_ref(),
            output_schema: tool.output_schema.as_ref(),
            annotations: tool.annotations.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::parse;

    #[test]
    fn what_is_exported_is_imported_again() {
        let text = r#"{"servers":[{"name":"a","summary":"s","url":"https://a.example","tools":[
            {"name":"t","title":"T","description":"d","input_schema":{"b":1.0,"a":[1e2]},
             "output_schema":true,"annotations":{"readOnlyHint":true}},{"name":"u"}]},{"name":"b"}]}"#;
        let first = parse("x", text, None).unwrap().servers;
        let exported = export(&first).unwrap();
        let again = parse("x", &exported, None).unwrap();
        assert_eq!((again.rejected, again.warnings), (Vec::new(), Vec::<String>::new()));
        assert_eq!(export(&again.servers).unwrap(), exported);
        let schema = again.servers[0].tools[0].input_schema.as_ref().unwrap();
        assert_eq!(schema.get(), r#"{"b":1.0,"a":[1e2]}"#);
    }
}

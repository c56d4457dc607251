//! JSON with comments, edited in place.
//!
//! Owns the way to the servers in it. White space, comments and the order of
//! everything else are those of the owner.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstInputValue;
use jsonc_parser::cst::CstNode;
use jsonc_parser::cst::CstObject;
use jsonc_parser::cst::CstObjectProp;
use jsonc_parser::cst::CstRootNode;

use crate::clients::ClientsError;
use crate::clients::Result;
use crate::clients::document::Document;
use crate::clients::layout;
use crate::clients::layout::Field;
use crate::sources::client_config::Client;

/// A JSON document.
#[derive(Debug)]
pub(crate) struct Json {
    root: CstRootNode,
    way: &'static [&'static str],
}

/// What clients read: JSON, comments, and a comma too many.
const RULES: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

impl Document for Json {
    fn parse(client: Client, path: &Path, text: &str) -> Result<Self> {
        let root = CstRootNode::parse(text, &RULES).map_err(|error| ClientsError::Syntax {
            path: path.to_owned(),
            line: error.line_display(),
            column: error.column_display(),
            problem: error.kind().to_string().to_lowercase(),
        })?;
        let ways = layout::ways(client, path);
        let known = ways.iter().find(|way| root.object_value().is_some_and(|top| leads(&top, way)));
        let way = known.or(ways.last()).copied().unwrap_or_default();
        check(&root, way, path)?;
        Ok(Self { root, way })
    }

    fn text(&self) -> String {
        self.root.to_string()
    }

    fn names(&self) -> Vec<String> {
        let properties = self.servers().map(|servers| servers.properties()).unwrap_or_default();
        properties.iter().filter_map(CstObjectProp::decoded_name).collect()
    }

    fn field(&self, name: &str, key: &str) -> Option<Field> {
        let value = self.server(name)?.get(key)?.value()?;
        if let Some(text) = text_of(&value) {
            return Some(Field::Text(text));
        }
        if value.as_boolean_lit().is_some_and(|flag| flag.value()) {
            return Some(Field::On);
        }
        let texts: Option<Vec<String>> = value.as_array()?.elements().iter().map(text_of).collect();
        texts.map(Field::Texts)
    }

    fn set(&mut self, name: &str, key: &str, field: &Field) {
        let server = self.server_or_new(name);
        set(&server, key, value_of(field));
    }

    fn variable(&self, name: &str, key: &str, variable: &str) -> Option<String> {
        let value = self.server(name)?.object_value(key)?.get(variable)?.value()?;
        text_of(&value)
    }

    fn set_variable(&mut self, name: &str, key: &str, (variable, value): (&str, Option<&str>)) {
        let server = self.server_or_new(name);
        match value {
            Some(value) => set(&server.object_value_or_set(key), variable, value.into()),
            None => {
                if let Some(old) = server.object_value(key).and_then(|all| all.get(variable)) {
                    old.remove();
                }
            }
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(property) = self.servers().and_then(|servers| servers.get(name)) {
            property.remove();
        }
    }

    fn copy(&self, name: &str, to: &mut Self) {
        if let Some(value) = self.servers().and_then(|servers| servers.get(name)?.value()) {
            set(&to.servers_or_new(), name, as_written(&value));
        }
    }

    fn copy_beside(&self, key: &str, to: &mut Self) {
        let outer = &self.way[..self.way.len().saturating_sub(1)];
        let beside = self.root.object_value().and_then(|top| walk(top, outer));
        if let Some(value) = beside.and_then(|beside| beside.get(key)?.value()) {
            set(&to.object_or_new(outer), key, as_written(&value));
        }
    }

    fn list(&self, outer: &str, inner: &str) -> Option<Vec<String>> {
        let list = self.root.object_value()?.object_value(outer)?.array_value(inner)?;
        Some(list.elements().iter().filter_map(text_of).collect())
    }
}

impl Json {
    fn servers(&self) -> Option<CstObject> {
        walk(self.root.object_value()?, self.way)
    }

    fn server(&self, name: &str) -> Option<CstObject> {
        self.servers()?.object_value(name)
    }

    fn servers_or_new(&self) -> CstObject {
        self.object_or_new(self.way)
    }

    fn server_or_new(&self, name: &str) -> CstObject {
        self.servers_or_new().object_value_or_set(name)
    }

    fn object_or_new(&self, way: &[&str]) -> CstObject {
        // `check` has seen to it that nothing else is replaced by an object.
        way.iter()
            .fold(self.root.object_value_or_set(), |object, key| object.object_value_or_set(key))
    }
}

fn leads(top: &CstObject, way: &[&str]) -> bool {
    let Some((last, outer)) = way.split_last() else {
        return false;
    };
    walk(top.clone(), outer).is_some_and(|object| object.get(last).is_some())
}

fn walk(top: CstObject, way: &[&str]) -> Option<CstObject> {
    way.iter().try_fold(top, |object, key| object.object_value(key))
}

/// What is on the way must be an object, and there only once.
fn check(root: &CstRootNode, way: &[&str], path: &Path) -> Result<()> {
    let no_object =
        |key: &str| ClientsError::NotAnObject { path: path.to_owned(), key: key.to_owned() };
    let Some(value) = root.value() else {
        return Ok(());
    };
    let mut object = value.as_object().ok_or_else(|| no_object("the document"))?;
    for key in way {
        once(&object, path, |name| name == *key)?;
        let Some(property) = object.get(key) else {
            return Ok(());
        };
        object = property.object_value().ok_or_else(|| no_object(key))?;
    }
    once(&object, path, |_| true)
}

fn once(object: &CstObject, path: &Path, matters: impl Fn(&str) -> bool) -> Result<()> {
    let mut names: Vec<String> = Vec::new();
    for name in object.properties().iter().filter_map(CstObjectProp::decoded_name) {
        if matters(&name) && names.contains(&name) {
            return Err(ClientsError::Twice { path: path.to_owned(), key: name });
        }
        names.push(name);
    }
    Ok(())
}

fn set(object: &CstObject, key: &str, value: CstInputValue) {
    match object.get(key) {
        Some(property) => property.set_value(value),
        None => {
            object.append(key, value);
        }
    }
}

fn text_of(value: &CstNode) -> Option<String> {
    value.as_string_lit()?.decoded_value().ok()
}

fn value_of(field: &Field) -> CstInputValue {
    match field {
        Field::Text(text) => text.as_str().into(),
        Field::Texts(texts) => texts.clone().into(),
        Field::On => true.into(),
    }
}

/// The parser prints a number as it is given, and so any other value.
fn as_written(value: &CstNode) -> CstInputValue {
    CstInputValue::Number(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::document::entry;
    use crate::clients::document::put;
    use crate::clients::entry::Entry;

    fn wanted() -> Entry {
        let args = vec!["serve".to_owned(), "--index".to_owned(), "/i \"x\"".to_owned()];
        Entry { command: "/bin/toolscout".to_owned(), args, home: Some("/h".to_owned()) }
    }

    fn parsed(client: Client, text: &str) -> Result<Json> {
        Json::parse(client, Path::new("x.json"), text)
    }

    #[track_caller]
    fn check_put(client: Client, text: &str, expected: &str) {
        let mut json = parsed(client, text).unwrap();
        let wanted = Entry { home: None, args: vec!["serve".to_owned()], ..wanted() };
        put(&mut json, client, "toolscout", &wanted);
        assert_eq!(json.text(), expected);
        let mut again = parsed(client, &json.text()).unwrap();
        assert_eq!(entry(&again, client, "toolscout"), Some(wanted.clone()));
        put(&mut again, client, "toolscout", &wanted);
        assert_eq!(again.text(), expected, "twice");
    }

    #[test]
    fn an_entry_is_added_and_all_else_stays() {
        check_put(
            Client::Cursor,
            "",
            "{\n  \"mcpServers\": {\n    \"toolscout\": {\n      \"command\": \"/bin/toolscout\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n",
        );
        check_put(
            Client::VsCode,
            "// mine\n{\n\t\"a\": 1.50, // one\n\n\t\"servers\": {\n\t\t// clock\n\t\t\"c\": {\"url\": \"x\"} // last\n\t}\n}",
            "// mine\n{\n\t\"a\": 1.50, // one\n\n\t\"servers\": {\n\t\t// clock\n\t\t\"c\": {\"url\": \"x\"}, // last\n\t\t\"toolscout\": {\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"/bin/toolscout\",\n\t\t\t\"args\": [\"serve\"]\n\t\t}\n\t}\n}",
        );
        check_put(
            Client::Zed,
            "{\r\n  \"context_servers\": {\r\n    \"a\": {},\r\n  },\r\n}\r\n",
            "{\r\n  \"context_servers\": {\r\n    \"a\": {},\r\n    \"toolscout\": {\r\n      \"source\": \"custom\",\r\n      \"command\": \"/bin/toolscout\",\r\n      \"args\": [\"serve\"]\r\n    },\r\n  },\r\n}\r\n",
        );
        check_put(
            Client::OpenCode,
            "{\"mcp\":{}}",
            "{\"mcp\":{\n    \"toolscout\": {\n      \"type\": \"local\",\n      \"command\": [\"/bin/toolscout\", \"serve\"],\n      \"enabled\": true\n    }\n  }}",
        );
    }

    #[test]
    fn what_the_owner_added_to_the_entry_stays() {
        let text = r#"{"mcpServers": {"toolscout": {
  "command": "toolscout", "disabled": true, "args": ["serve"], // mine
  "env": {"A": "1"}
}}}"#;
        let mut json = parsed(Client::Kiro, text).unwrap();
        put(&mut json, Client::Kiro, "toolscout", &wanted());
        let edited = json.text();
        for kept in ["\"disabled\": true", "// mine", "\"A\": \"1\"", r#""/i \"x\"""#] {
            assert!(edited.contains(kept), "{kept} is not in\n{edited}");
        }
        assert_eq!(entry(&json, Client::Kiro, "toolscout"), Some(wanted()));
        put(&mut json, Client::Kiro, "toolscout", &Entry { home: None, ..wanted() });
        assert_eq!(entry(&json, Client::Kiro, "toolscout").unwrap().home, None);
        assert!(json.text().contains("\"A\": \"1\""), "{}", json.text());
    }

    #[test]
    fn a_server_moves_as_it_is_written() {
        let odd = "{ \"url\": \"\\u0061\", /* c */ \"n\": 1e05, \"x\": [ null ,{}] }";
        let text = format!("{{\"mcpServers\": {{\"ö\\\"\": {odd}, \"b\": {{}}}}}}");
        let mut json = parsed(Client::Cursor, &text).unwrap();
        let mut moved = parsed(Client::Cursor, "").unwrap();
        json.copy("ö\"", &mut moved);
        json.remove("ö\"");
        assert_eq!(json.names(), ["b"]);
        assert!(moved.text().contains(odd), "{}", moved.text());
        let moved = parsed(Client::Cursor, &moved.text()).unwrap();
        moved.copy("ö\"", &mut json);
        assert!(json.text().contains(odd), "{}", json.text());
        assert_eq!(json.names(), ["b", "ö\""]);
    }

    #[test]
    fn what_stands_beside_goes_along_and_nested_servers_are_found() {
        let text = r#"{"mcp": {"inputs": [{"id": "k"}], "servers": {"a": {}}}}"#;
        let json = parsed(Client::VsCode, text).unwrap();
        let mut moved = Json::parse(Client::VsCode, Path::new("settings.json"), "").unwrap();
        json.copy_beside("inputs", &mut moved);
        json.copy("a", &mut moved);
        assert_eq!(moved.names(), ["a"]);
        assert!(moved.text().contains(r#"[{"id": "k"}]"#), "{}", moved.text());
        let gemini = parsed(Client::Gemini, r#"{"mcp": {"allowed": ["a", 1]}}"#).unwrap();
        assert_eq!(gemini.list("mcp", "allowed"), Some(vec!["a".to_owned()]));
    }

    #[test]
    fn broken_files_are_refused_without_a_word_of_theirs() {
        for (text, expected) in [
            ("{\"mcpServers\": {\n  \"hidden\": \n}}", "line 3, column 1"),
            ("{\"a\": 'hidden'}", "line 1, column 7"),
            ("\"mcpServers\": {}", "line 1, column 13"),
            ("[]", "`the document`"),
            ("{\"mcpServers\": null}", "`mcpServers` in"),
            ("{\"mcpServers\": {}, \"mcpServers\": {}}", "`mcpServers` stands twice"),
            ("{\"mcpServers\": {\"a\": 1, \"a\": 2}}", "`a` stands twice"),
        ] {
            let error = parsed(Client::Cursor, text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("hidden"), "{text}: {error}");
        }
    }
}

//! One server or one tool, as every format spells it.
//!
//! Owns the rules that do not depend on the format: what makes a record unfit,
//! and what is taken over with a warning. Schemas are kept raw, never opened.

use serde_json::value::RawValue;

use crate::catalog::RawJson;
use crate::catalog::Server;
use crate::catalog::Tool;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::fields::NoObject;
use crate::sources::fields::NoText;
use crate::sources::fields::elements;
use crate::sources::fields::string;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::findings::shown;
use crate::sources::records::Place;

/// A longer text says nothing more to a ranking, and drowns a reader.
pub(crate) const MAX_TEXT_BYTES: usize = 16_384;

/// How a format gives the schema of a tool's arguments.
pub(crate) type SchemaOf = fn(&Fields<'_>, &mut Notes) -> Option<RawJson>;

const SERVER_NAME: &[&str] = &["name", "server_name"];
const SERVER_DESCRIPTION: &[&str] = &["description", "server_description"];
const SERVER_SUMMARY: &[&str] = &["summary", "server_summary"];
const TOOL_NAME: &[&str] = &["name", "tool_name"];
const TOOL_DESCRIPTION: &[&str] = &["description", "tool_description"];
const INPUT_SCHEMA: &[&str] = &["input_schema", "inputSchema"];
const OUTPUT_SCHEMA: &[&str] = &["output_schema", "outputSchema"];

/// A longer name would fill a reply by itself; MCP allows 128 characters.
const MAX_NAME_BYTES: usize = 1_024;

/// Why a record can be no server or no tool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error(transparent)]
    NoObject(#[from] NoObject),
    #[error("it has no name")]
    NoName,
    #[error("its name is empty")]
    EmptyName,
    #[error("its name has {0} bytes, at most {MAX_NAME_BYTES} are taken")]
    LongName(usize),
    #[error("its name is {0}")]
    BadName(#[from] NoText),
}

/// Takes over one server with all its tools, or rejects it.
pub(crate) fn server(json: &RawValue, place: Place, schema_of: SchemaOf, found: &mut Findings) {
    let fields = match Fields::of(json) {
        Ok(fields) => fields,
        Err(unfit) => return found.reject_server(place, unfit),
    };
    let mut notes = Notes::default();
    let tools_json = tool_list(&fields, &mut notes);
    let name = match server_name(&fields) {
        Ok(name) => name,
        Err(unfit) => return found.reject_server(place, with_tools(&unfit, tools_json.len())),
    };
    let description = text(&fields, SERVER_DESCRIPTION, &mut notes);
    let summary = text(&fields, SERVER_SUMMARY, &mut notes);
    let url = url(&fields, &mut notes);
    found.warn_server(&name, notes);
    let owner = Owner { server: &name, record: Place::Document };
    let tools = tools(&tools_json, owner, schema_of, found);
    found.servers.push(Server { name, description, summary, url, tools, entry: None });
}

/// The name of a server, as every format but Toucan's spells it.
///
/// # Errors
/// When there is none that could be used.
pub(crate) fn server_name(fields: &Fields<'_>) -> Result<String, Unfit> {
    name(fields, SERVER_NAME)
}

/// Why a server is left out, and what goes with it.
pub(crate) fn with_tools(unfit: &Unfit, n_tools: usize) -> String {
    match n_tools {
        0 => unfit.to_string(),
        1 => format!("{unfit}; its tool is lost with it"),
        n => format!("{unfit}; its {n} tools are lost with it"),
    }
}

/// The tools of a server as written, with a note if they are no list.
pub(crate) fn tool_list<'a>(fields: &Fields<'a>, notes: &mut Notes) -> Vec<&'a RawValue> {
    let Some(json) = fields.get("tools") else {
        return Vec::new();
    };
    elements(json).unwrap_or_else(|| {
        notes.add(format!("`tools` is {}, not an array: read as no tools", Kind::of(json)));
        Vec::new()
    })
}

/// Whose tools are read, and from where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    /// Name of the server.
    pub(crate) server: &'a str,
    /// Where the list stands; the document unless a line must be named.
    pub(crate) record: Place,
}

impl Owner<'_> {
    fn place_of(self, index: usize) -> String {
        let position = Place::Position(index + 1);
        match self.record {
            Place::Document => position.to_string(),
            record => format!("{record}, {position}"),
        }
    }
}

/// The tools of a list; an unfit one is rejected and costs no other.
pub(crate) fn tools(
    list: &[&RawValue],
    owner: Owner<'_>,
    schema_of: SchemaOf,
    found: &mut Findings,
) -> Vec<Tool> {
    tools_by(list, owner, found, |json, notes| tool(json, schema_of, notes))
}

fn tools_by(
    list: &[&RawValue],
    owner: Owner<'_>,
    found: &mut Findings,
    read: impl Fn(&RawValue, &mut Notes) -> Result<Tool, Unfit>,
) -> Vec<Tool> {
    let mut tools = Vec::with_capacity(list.len());
    for (index, json) in list.iter().enumerate() {
        let mut notes = Notes::default();
        match read(json, &mut notes) {
            Ok(tool) => {
                found.warn_tool(owner.server, &tool.name, notes);
                tools.push(tool);
            }
            Err(unfit) => found.reject_tool(owner.server, owner.place_of(index), unfit),
        }
    }
    tools
}

/// The tools of a list that may hold bare names in place of objects.
pub(crate) fn named_tools(
    list: &[&RawValue],
    owner: Owner<'_>,
    schema_of: SchemaOf,
    found: &mut Findings,
) -> Vec<Tool> {
    tools_by(list, owner, found, |json, notes| match Kind::of(json) {
        Kind::String => Ok(Tool { name: fit_name(string(json)?)?, ..Tool::default() }),
        _ => tool(json, schema_of, notes),
    })
}

fn tool(json: &RawValue, schema_of: SchemaOf, notes: &mut Notes) -> Result<Tool, Unfit> {
    let fields = Fields::of(json)?;
    let annotations = annotations(&fields, notes);
    Ok(Tool {
        name: name(&fields, TOOL_NAME)?,
        title: title(&fields, annotations, notes),
        description: text(&fields, TOOL_DESCRIPTION, notes),
        input_schema: schema_of(&fields, notes),
        output_schema: schema(&fields, OUTPUT_SCHEMA, notes),
        annotations: annotations.map(ToOwned::to_owned),
    })
}

/// The name untouched, since a call needs it to the letter.
fn name(fields: &Fields<'_>, keys: &[&str]) -> Result<String, Unfit> {
    let (_, json) = fields.first(keys).ok_or(Unfit::NoName)?;
    fit_name(string(json)?)
}

/// A name, unless it is empty or longer than any reply could bear.
///
/// # Errors
/// When it is one of these.
pub(crate) fn fit_name(name: String) -> Result<String, Unfit> {
    match name.len() {
        0 => Err(Unfit::EmptyName),
        n if n > MAX_NAME_BYTES => Err(Unfit::LongName(n)),
        _ => Ok(name),
    }
}

fn title(fields: &Fields<'_>, annotations: Option<&RawValue>, notes: &mut Notes) -> Option<String> {
    let own = text(fields, &["title"], notes);
    let title = match annotations.map(Fields::of) {
        Some(Ok(hints)) if own.is_empty() => text(&hints, &["title"], notes),
        _ => own,
    };
    (!title.is_empty()).then_some(title)
}

fn url(fields: &Fields<'_>, notes: &mut Notes) -> Option<String> {
    match string(fields.get("url")?) {
        Ok(url) => Some(url),
        Err(problem) => {
            notes.add(format!("`url` is {problem}: left out"));
            None
        }
    }
}

/// The first of several texts that is there, cleaned, and cut if very long.
pub(crate) fn text(fields: &Fields<'_>, keys: &[&str], notes: &mut Notes) -> String {
    let Some((key, json)) = fields.first(keys) else {
        return String::new();
    };
    match string(json) {
        Ok(text) => cut(notes.clean(&text), key, notes),
        Err(problem) => {
            notes.add(format!("`{key}` is {problem}: read as empty"));
            String::new()
        }
    }
}

/// The first of several texts that says anything.
pub(crate) fn first_text(fields: &Fields<'_>, keys: &[&str], notes: &mut Notes) -> String {
    let texts = keys.iter().map(|key| text(fields, &[key], notes));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

fn cut(mut text: String, key: &str, notes: &mut Notes) -> String {
    if text.len() > MAX_TEXT_BYTES {
        let n_bytes = text.len();
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        notes.add(format!("`{key}` cut from {n_bytes} to {} bytes", text.len()));
    }
    text
}

/// The schema of the arguments, where a tool has it as JSON Schema.
pub(crate) fn declared_schema(fields: &Fields<'_>, notes: &mut Notes) -> Option<RawJson> {
    let schema = schema(fields, INPUT_SCHEMA, notes)?;
    if let Some(oddity) = odd_root(&schema) {
        notes.add(format!("{oddity}: kept as it is"));
    }
    Some(schema)
}

/// The protocol wants arguments to be an object; some servers differ.
fn odd_root(schema: &RawValue) -> Option<String> {
    let fields = Fields::of(schema).ok()?;
    let Some(root_type) = fields.get("type") else {
        let (keyword, _) = fields.first(&["anyOf", "oneOf", "allOf", "$ref"])?;
        return Some(format!("its input schema has `{keyword}` in place of a type"));
    };
    let types = elements(root_type).unwrap_or_else(|| vec![root_type]);
    let takes_object = types.iter().any(|name| name.get() == r#""object""#);
    (!takes_object).then(|| format!("its input schema is of type {}", shown(root_type.get())))
}

/// A schema is an object or a boolean; nothing else could be handed on.
fn schema(fields: &Fields<'_>, keys: &[&str], notes: &mut Notes) -> Option<RawJson> {
    let (key, json) = fields.first(keys)?;
    match Kind::of(json) {
        Kind::Object | Kind::Boolean => Some(json.to_owned()),
        kind => {
            notes.add(format!("`{key}` is {kind}, not a schema: left out"));
            None
        }
    }
}

fn annotations<'a>(fields: &Fields<'a>, notes: &mut Notes) -> Option<&'a RawValue> {
    let json = fields.get("annotations")?;
    let kind = Kind::of(json);
    if kind != Kind::Object {
        notes.add(format!("`annotations` is {kind}, not an object: left out"));
        return None;
    }
    Some(json)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    fn read(json: &str) -> Findings {
        let mut found = Findings { source: "s".to_owned(), ..Findings::default() };
        server(raw(json), Place::Position(4), declared_schema, &mut found);
        found
    }

    fn read_tools(tools: &str) -> (Vec<Tool>, Findings) {
        let mut found = read(&format!(r#"{{"name":"S","tools":{tools}}}"#));
        (std::mem::take(&mut found.servers[0].tools), found)
    }

    fn check_tool(tool: &str, warnings: &[&str]) -> Tool {
        let (mut tools, found) = read_tools(&format!("[{tool}]"));
        assert_eq!(found.warnings, warnings, "{tool}");
        assert_eq!(found.rejected, [], "{tool}");
        tools.pop().unwrap()
    }

    #[test]
    fn a_tool_without_a_usable_name_is_rejected_by_position() {
        let odd = r#"[{"name":"a"}, {"name":7}, {"name":""}, {}, "x", {"name":"\ud800"}, {"name":" b\t"}]"#;
        let (tools, found) = read_tools(odd);
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["a", " b\t"]);
        let rejects: Vec<_> = found
            .rejected
            .iter()
            .map(|r| (r.tool.as_deref().unwrap(), r.reason.as_str()))
            .collect();
        assert_eq!(
            rejects[..4],
            [
                ("position 2", "its name is a number, not a string"),
                ("position 3", "its name is empty"),
                ("position 4", "it has no name"),
                ("position 5", "it is a string, not an object"),
            ]
        );
        assert!(rejects[4].1.starts_with("its name is not valid text: "), "{}", rejects[4].1);
    }

    #[test]
    fn an_odd_description_counts_as_empty() {
        for (description, warnings) in [
            ("", vec![]),
            (r#","description":null"#, vec![]),
            (r#","description":"""#, vec![]),
            (
                r#","description":42"#,
                vec![
                    "server `S`, tool `t`: `description` is a number, not a string: read as empty",
                ],
            ),
        ] {
            assert_eq!(
                check_tool(&format!(r#"{{"name":"t"{description}}}"#), &warnings).description,
                ""
            );
        }
    }

    #[test]
    fn hidden_characters_are_removed_with_one_warning() {
        let tool = check_tool(
            r#"{"name":"t","title":"T\u200b","description":"a\u202eb \u001b[31mred\r\nc"}"#,
            &["server `S`, tool `t`: 3 invisible or control characters removed from its text"],
        );
        assert_eq!(tool.title.unwrap(), "T");
        assert_eq!(tool.description, "ab [31mred\nc");
    }

    #[test]
    fn a_very_long_description_is_cut_between_characters() {
        let long = "é".repeat(10_000) + "x";
        let warning = "server `S`, tool `t`: `description` cut from 20002 to 16383 bytes";
        let tool = check_tool(&format!(r#"{{"name":"t","description":"a{long}"}}"#), &[warning]);
        assert_eq!(tool.description.len(), 16_383);
    }

    #[test]
    fn a_title_may_hide_in_the_annotations() {
        let tool = check_tool(r#"{"name":"t","annotations":{ "title":"Zip" }}"#, &[]);
        assert_eq!(tool.title.unwrap(), "Zip");
        assert_eq!(tool.annotations.unwrap().get(), r#"{ "title":"Zip" }"#);
        let both = check_tool(r#"{"name":"t","title":"Own","annotations":{"title":"Zip"}}"#, &[]);
        assert_eq!(both.title.unwrap(), "Own");
    }

    #[test]
    fn only_objects_and_booleans_are_schemas() {
        let schema = |json: &str, warnings: &[&str]| {
            check_tool(&format!(r#"{{"name":"t"{json}}}"#), warnings)
                .input_schema
                .map(|schema| schema.get().to_owned())
        };
        assert_eq!(schema("", &[]), None);
        assert_eq!(schema(r#","inputSchema":null"#, &[]), None);
        assert_eq!(schema(r#","inputSchema":true"#, &[]).unwrap(), "true");
        assert_eq!(schema(r#","input_schema":{ }"#, &[]).unwrap(), "{ }");
        let warning = "server `S`, tool `t`: `inputSchema` is a string, not a schema: left out";
        assert_eq!(schema(r#","inputSchema":"x""#, &[warning]), None);
    }

    #[test]
    fn a_schema_that_is_not_of_an_object_is_kept_and_flagged() {
        for (schema, warning) in [
            (r#"{ "type": "string" }"#, r#"its input schema is of type "string": kept as it is"#),
            (r#"{"anyOf":[]}"#, "its input schema has `anyOf` in place of a type: kept as it is"),
        ] {
            let warning = format!("server `S`, tool `t`: {warning}");
            let tool =
                check_tool(&format!(r#"{{"name":"t","inputSchema":{schema}}}"#), &[&warning]);
            assert_eq!(tool.input_schema.unwrap().get(), schema);
        }
        for schema in
            [r#"{"type":["object","null"]}"#, r#"{"properties":{},"anyOf":[],"type":"object"}"#]
        {
            check_tool(&format!(r#"{{"name":"t","inputSchema":{schema}}}"#), &[]);
        }
    }

    #[test]
    fn a_server_without_a_name_says_what_is_lost_with_it() {
        for (json, reason) in [
            (r#"{"tools":[{},{}]}"#, "it has no name; its 2 tools are lost with it"),
            (r#"{"name":""}"#, "its name is empty"),
            ("7", "it is a number, not an object"),
        ] {
            let found = read(json);
            assert_eq!(found.rejected[0].server, "position 4");
            assert_eq!(found.rejected[0].reason, reason);
            assert!(found.servers.is_empty());
        }
    }

    #[test]
    fn odd_fields_of_a_server_cost_only_themselves() {
        let found = read(r#"{"name":"S","description":[],"summary":null,"url":1,"tools":{"a":1}}"#);
        assert_eq!(
            found.warnings,
            [
                "server `S`: `tools` is an object, not an array: read as no tools",
                "server `S`: `description` is an array, not a string: read as empty",
                "server `S`: `url` is a number, not a string: left out",
            ]
        );
        assert_eq!(found.servers.len(), 1);
    }

    fn json_value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            any::<i64>().prop_map(|n| n.to_string()),
            Just("1.0e5".to_owned()),
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
            Just(r#""\ud800""#.to_owned()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = "[a-c$]{0,2}".prop_map(|key| format!("{key:?}"));
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|v| format!("[{}]", v.join(" , "))),
                prop::collection::vec((key, inner), 0..4).prop_map(|fields| {
                    let fields: Vec<_> = fields.iter().map(|(k, v)| format!("{k} :{v}")).collect();
                    format!("{{ {} }}", fields.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_record_costs_its_neighbours(odd in json_value(), name in json_value(), schema in json_value()) {
            let tools = format!(
                r#"[{{"name":"first"}}, {odd}, {{"name":{name},"description":{odd},"inputSchema":{schema}}}, {{"name":"last"}}]"#
            );
            let (tools, found) = read_tools(&tools);
            prop_assert_eq!(&tools.first().unwrap().name, "first");
            prop_assert_eq!(&tools.last().unwrap().name, "last");
            prop_assert_eq!(tools.len() + found.rejected.len(), 4);
        }

        #[test]
        fn raw_json_is_kept_to_the_byte(inner in json_value()) {
            let schema = format!(r#"{{"x" :  {inner} }}"#);
            let json = format!(r#"{{"name":"t", "inputSchema" : {schema} , "annotations":{schema},"outputSchema":{schema}}}"#);
            let (tools, _) = read_tools(&format!("[{json}]"));
            for kept in [&tools[0].input_schema, &tools[0].output_schema, &tools[0].annotations] {
                prop_assert_eq!(kept.as_ref().unwrap().get(), schema.as_str());
            }
        }
    }
}

//! Docker's catalogue: `server.yaml` with `tools.json`, or one map `registry`.
//!
//! Owns how the format is recognised and how its argument lists become a
//! schema. Sees JSON only: YAML is turned into it at the door.

use serde_json::Map;
use serde_json::Value;
use serde_json::value::RawValue;
use serde_json::value::to_raw_value;

use crate::catalog::RawJson;
use crate::catalog::Server;
use crate::sources::arguments::Arguments;
use crate::sources::entry::Owner;
use crate::sources::entry::Unfit;
use crate::sources::entry::declared_schema;
use crate::sources::entry::first_text;
use crate::sources::entry::fit_name;
use crate::sources::entry::named_tools;
use crate::sources::entry::server_name;
use crate::sources::entry::tool_list;
use crate::sources::entry::with_tools;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::fields::NoObject;
use crate::sources::fields::elements;
use crate::sources::fields::string;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::findings::shown;
use crate::sources::records::Place;
use crate::sources::records::Record;
use crate::sources::shape::Shape;

/// What a server is to Docker.
const KINDS: [&str; 3] = ["server", "remote", "poci"];

/// Longer type words are prose.
const MAX_TYPE_BYTES: usize = 256;

/// Whether a record is a catalogue or a server of Docker's for sure.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    match fields.object("registry") {
        Some(registry) => registry.objects().any(|server| is_entry(&server)),
        None => fields.get("name").is_some() && is_server(fields),
    }
}

/// Whether a record can be read as one.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    fields.object("registry").is_some() || server_name(fields).is_ok()
}

/// In a catalogue the name is the key.
fn is_entry(fields: &Fields<'_>) -> bool {
    is_server(fields)
        || fields.first(&["description", "title", "image", "remote"]).is_some()
            && fields.get("command").is_none()
}

fn is_server(fields: &Fields<'_>) -> bool {
    let kind = fields.get("type").and_then(|json| string(json).ok());
    kind.is_some_and(|kind| KINDS.contains(&kind.as_str()))
        && fields.first(&["about", "image", "remote", "source", "description"]).is_some()
}

/// Reads every catalogue and every server among the records.
pub(crate) fn import(records: &[Record<'_>], found: &mut Findings) {
    for record in records {
        let Some(fields) = found.object(record) else { continue };
        match fields.object("registry") {
            Some(registry) => import_catalogue(&registry, found),
            None => import_server(record.json, record.place, None, found),
        }
    }
}

fn import_catalogue(registry: &Fields<'_>, found: &mut Findings) {
    for (name, json) in registry.iter() {
        match (fit_name(name.to_owned()), Fields::of(json)) {
            (Ok(name), Ok(fields)) => add(name, &fields, None, found),
            (Ok(name), Err(unfit)) => found.reject_server(shown(&name), unfit),
            (Err(unfit), _) => found.reject_server("a server of the catalogue", unfit),
        }
    }
}

/// Reads the servers of a `server.yaml` with the `tools.json` beside it.
pub(crate) fn import_pair(records: &[Record<'_>], tools_json: &str, found: &mut Findings) {
    let tools = serde_json::from_str::<&RawValue>(tools_json.trim_start_matches('\u{FEFF}'));
    if let Err(problem) = &tools {
        found.warnings.push(format!("`tools.json` is not JSON, {problem}: read as no tools"));
    }
    for record in records {
        import_server(record.json, record.place, tools.as_deref().ok(), found);
    }
}

fn import_server(
    json: &RawValue,
    place: Place,
    tools_json: Option<&RawValue>,
    found: &mut Findings,
) {
    let n_tools = tools_json.and_then(elements).map_or(0, |tools| tools.len());
    match named(json) {
        Ok((name, fields)) => add(name, &fields, tools_json, found),
        Err(unfit) => found.reject_server(place, with_tools(&unfit, n_tools)),
    }
}

fn named(json: &RawValue) -> Result<(String, Fields<'_>), Unfit> {
    let fields = Fields::of(json)?;
    Ok((server_name(&fields)?, fields))
}

fn add(name: String, fields: &Fields<'_>, tools_json: Option<&RawValue>, found: &mut Findings) {
    let mut notes = Notes::default();
    let about = fields.object("about");
    let about = about.as_ref().unwrap_or(fields);
    let mut description = first_text(about, &["description", "title"], &mut notes);
    if description.is_empty() {
        description = first_text(fields, &["description", "title"], &mut notes);
    }
    let url_of =
        |fields: &Fields<'_>| string(fields.first(&["project", "upstream", "readme"])?.1).ok();
    let url = fields.object("source").and_then(|source| url_of(&source)).or_else(|| url_of(fields));
    let mut list = tool_list(fields, &mut notes);
    if let Some(json) = tools_json {
        list.extend(elements(json).unwrap_or_else(|| {
            let kind = Kind::of(json);
            notes.add(format!("its `tools.json` is {kind}, not an array: read as no tools"));
            Vec::new()
        }));
    }
    found.warn_server(&name, notes);
    let owner = Owner { server: &name, record: Place::Document };
    let tools = named_tools(&list, owner, schema, found);
    found.list(Server { name, description, summary: String::new(), url, tools, entry: None });
}

/// The schema of a tool: as it is, or from a list of arguments.
fn schema(fields: &Fields<'_>, notes: &mut Notes) -> Option<RawJson> {
    if let Some(schema) = declared_schema(fields, notes) {
        return Some(schema);
    }
    let json = fields.get("arguments")?;
    let Some(list) = elements(json) else {
        notes.add(format!("`arguments` is {}, not an array: left out", Kind::of(json)));
        return None;
    };
    let mut arguments = Arguments::default();
    for (index, json) in list.iter().enumerate() {
        match argument(json, notes) {
            Ok((name, schema, required)) => {
                arguments.add(&name, schema);
                if required {
                    arguments.require(&name);
                }
            }
            Err(problem) => notes.add(format!("argument {} is left out: {problem}", index + 1)),
        }
    }
    Some(arguments.to_json())
}

/// Name, schema, and whether a call must give it, which few lists tell.
fn argument(json: &RawValue, notes: &mut Notes) -> Result<(String, RawJson, bool), Unfit> {
    let fields = Fields::of(json)?;
    let name = server_name(&fields)?;
    let kind = fields.get("type").and_then(|json| string(json).ok()).unwrap_or_default();
    let mut schema = match kind.len() {
        0..MAX_TYPE_BYTES => Shape::parse(&kind).0.to_schema(),
        _ => Map::new(),
    };
    if let Some(items) = fields.object("items").and(fields.get("items")) {
        match serde_json::from_str::<Value>(items.get()) {
            Ok(items) => drop(schema.insert("items".to_owned(), items)),
            Err(problem) => notes.add(format!("`items` of `{}`: {problem}", shown(&name))),
        }
    }
    let description = first_text(&fields, &["desc", "description"], notes);
    if !description.is_empty() {
        schema.insert("description".to_owned(), Value::String(description));
    }
    let required = fields.get("required").is_some_and(|json| json.get() == "true");
    let schema = to_raw_value(&schema).map_err(NoObject::Keys)?;
    Ok((name, schema, required))
}

#[cfg(test)]
mod tests {
    use crate::sources::Format;
    use crate::sources::Import;
    use crate::sources::SourceError;
    use crate::sources::parse;
    use crate::sources::read;
    use crate::sources::shared;

    fn import(text: &str) -> Import {
        let import = parse("x.yaml", text, None).unwrap();
        assert_eq!(import.format, Format::Docker, "{text}");
        import
    }

    #[test]
    fn a_catalogue_names_its_servers_by_key() {
        let import = import(
            "registry:\n  clock:\n    description: Tells the time.\n    title: Clock\n    type: server\n    \
             image: x/clock\n    upstream: https://a.example\n    tools:\n      - name: now\n      - name: zones\n  \
             7: {type: server, image: x}\n  odd: 5\n",
        );
        let server = &import.servers[0];
        assert_eq!(
            (server.name.as_str(), server.description.as_str()),
            ("clock", "Tells the time.")
        );
        assert_eq!(server.url.as_deref(), Some("https://a.example"));
        assert_eq!(
            server.tools.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
            ["now", "zones"]
        );
        assert_eq!(import.servers[1].name, "7");
        assert_eq!(import.rejected[0].server, "odd");
    }

    #[test]
    fn a_list_of_arguments_becomes_a_schema() {
        let tool = |arguments: &str| {
            let text = format!(
                r#"{{"name":"s","type":"server","image":"x","tools":[{{"name":"t","arguments":{arguments}}}]}}"#
            );
            let import = import(&text);
            let schema = import.servers[0].tools[0].input_schema.as_ref();
            (schema.map_or_else(String::new, |schema| schema.get().to_owned()), import.warnings)
        };
        let (schema, warnings) = tool(
            r#"[{"name":"q","type":"string","desc":"What","required":true},
                {"name":"tags","type":"array","items":{"type":"string"},"optional":true},{"name":"x"}]"#,
        );
        assert_eq!(
            schema,
            r#"{"type":"object","properties":{"q":{"type":"string","description":"What"},"tags":{"type":"array","items":{"type":"string"}},"x":{}},"required":["q"]}"#
        );
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(tool("[]").0, r#"{"type":"object","properties":{}}"#);
        let (schema, warnings) = tool(r#"[7,{"name":"q"}]"#);
        assert_eq!(schema, r#"{"type":"object","properties":{"q":{}}}"#);
        let warning = "server `s`, tool `t`: argument 1 is left out: it is a number, not an object";
        assert_eq!(warnings, [warning]);
        assert_eq!(tool("3").0, "");
    }

    #[test]
    fn a_single_server_may_stand_alone() {
        let Some(path) = shared("data/raw/docker/servers/time/server.yaml") else {
            return;
        };
        let import = read(&path, None).unwrap();
        assert_eq!(import.servers[0].name, "time");
        assert_eq!(import.servers[0].description, "Time and timezone conversion capabilities");
        let url = "https://github.com/modelcontextprotocol/servers";
        assert_eq!(import.servers[0].url.as_deref(), Some(url));
    }

    #[test]
    fn a_template_is_named_as_broken_yaml() {
        let error =
            parse("x.yaml", "registry:\n  {{.Name}}:\n    type: server\n", None).unwrap_err();
        assert!(matches!(error, SourceError::NotYaml { line: 2, .. }), "{error:?}");
    }
}

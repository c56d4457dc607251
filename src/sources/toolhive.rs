//! ToolHive's registry: maps of servers by name, later a list under `data`.
//!
//! Owns how both are recognised. The list holds entries of the official
//! registry, and is read as such.

use crate::catalog::Server;
use crate::sources::entry::Owner;
use crate::sources::entry::declared_schema;
use crate::sources::entry::first_text;
use crate::sources::entry::fit_name;
use crate::sources::entry::named_tools;
use crate::sources::entry::server_name;
use crate::sources::fields::Fields;
use crate::sources::fields::string;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::findings::shown;
use crate::sources::publisher;
use crate::sources::records::Place;
use crate::sources::records::Record;
use crate::sources::registry;
use crate::sources::tally::Remark;

/// The two maps of the older format.
const MAPS: [&str; 2] = ["servers", "remote_servers"];

/// Whether a record is a registry or an entry of ToolHive's for sure.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    let data = fields.object("data");
    data.is_some_and(|data| data.list("servers").is_some())
        || maps(fields).any(|map| map.objects().any(|server| is_entry(&server)))
        || (fields.get("name").is_some() && is_entry(fields))
}

/// Whether a record can be read as one.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    recognises(fields) || maps(fields).next().is_some() || server_name(fields).is_ok()
}

fn maps<'a>(fields: &Fields<'a>) -> impl Iterator<Item = Fields<'a>> {
    MAPS.into_iter().filter_map(|key| fields.object(key)).collect::<Vec<_>>().into_iter()
}

fn is_entry(fields: &Fields<'_>) -> bool {
    fields.get("tier").is_some()
        && fields.first(&["transport", "image", "url", "repository_url"]).is_some()
}

/// Reads every registry and every entry among the records.
pub(crate) fn import(records: &[Record<'_>], found: &mut Findings) {
    for record in records {
        if let Some(fields) = found.object(record) {
            import_record(&fields, record.place, found);
        }
    }
}

fn import_record(fields: &Fields<'_>, place: Place, found: &mut Findings) {
    if let Some(servers) = fields.object("data").and_then(|data| data.list("servers")) {
        return registry::import_list(&servers, found);
    }
    if maps(fields).next().is_none() {
        return match server_name(fields) {
            Ok(name) => add(name, fields, found),
            Err(unfit) => found.reject_server(place, unfit),
        };
    }
    for map in maps(fields) {
        for (name, json) in map.iter() {
            match (fit_name(name.to_owned()), Fields::of(json)) {
                (Ok(name), Ok(fields)) => add(name, &fields, found),
                (Ok(name), Err(unfit)) => found.reject_server(shown(&name), unfit),
                (Err(unfit), _) => found.reject_server("a server of the registry", unfit),
            }
        }
    }
}

fn add(name: String, fields: &Fields<'_>, found: &mut Findings) {
    let text_of = |fields: &Fields<'_>, key| string(fields.get(key)?).ok();
    match text_of(fields, "status").map(|status| status.to_lowercase()).as_deref() {
        Some("deleted") => return found.tally.add(Remark::Deleted, &name),
        Some("deprecated") => found.tally.add(Remark::Deprecated, &name),
        _ => {}
    }
    let mut notes = Notes::default();
    let description = first_text(fields, &["description", "title"], &mut notes);
    found.warn_server(&name, notes);
    let homepage = || text_of(&fields.object("custom_metadata")?, "homepage");
    let url = text_of(fields, "repository_url").or_else(homepage);
    let owner = Owner { server: &name, record: Place::Document };
    let tools = named_tools(&publisher::listed(fields), owner, declared_schema, found);
    found.list(Server { name, description, summary: String::new(), url, tools, entry: None });
}

#[cfg(test)]
mod tests {
    use crate::sources::Format;
    use crate::sources::parse;
    use crate::sources::read;
    use crate::sources::shared;

    #[test]
    fn both_maps_are_read_and_tools_may_be_names_or_whole() {
        let text = r#"{"servers":{"a":{"tier":"Official","image":"x","status":"Active","tools":["t","u"],
              "tool_definitions":[{"name":"t","description":"T","inputSchema":{ }}]},
             "b":7,"gone":{"tier":"x","image":"y","status":"Deleted"}},
            "remote_servers":{"r":{"tier":"Community","url":"https://r.example","status":"Deprecated",
              "tools":["x",3],"custom_metadata":{"homepage":"https://h.example"}}}}"#;
        let import = parse("x.json", text, None).unwrap();
        assert_eq!(import.format, Format::ToolHive);
        let tools: Vec<_> = import.servers[0].tools.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(tools, ["t", "u"]);
        assert_eq!(import.servers[0].tools[0].input_schema.as_ref().unwrap().get(), "{ }");
        assert_eq!(import.servers[1].url.as_deref(), Some("https://h.example"));
        assert_eq!(import.rejected[0].server, "b");
        assert_eq!(import.rejected[1].tool.as_deref(), Some("position 2"));
        assert_eq!(
            import.warnings,
            [
                "1 server is deleted there: left out (`gone`)",
                "1 server is deprecated there: kept (`r`)",
            ]
        );
    }

    #[test]
    fn the_published_registries_load_whole() {
        for (file, n_servers, n_tools) in [
            ("registry.json", 102, 1652),
            ("upstream-registry.json", 12, 200),
            ("registry-with-remote-servers.json", 2, 2),
            ("github.spec.yaml", 1, 90),
            ("gitlab.spec.yaml", 1, 83),
        ] {
            let Some(path) = shared(&format!("data/raw/toolhive/{file}")) else {
                return;
            };
            let import = read(&path, None).unwrap();
            assert_eq!(import.format, Format::ToolHive, "{file}");
            let found: usize = import.servers.iter().map(|server| server.tools.len()).sum();
            assert_eq!((import.servers.len(), found), (n_servers, n_tools), "{file}");
            assert_eq!(import.rejected, [], "{file}");
        }
    }
}

//! The official MCP registry: saved answers of its API, `server.json`, its seed.
//!
//! Owns the envelopes that the API has worn (v0 flat and wrapped, v0.1), and
//! which of several versions of a server counts. Knows no network: a cursor in
//! a saved page is not followed.

mod facts;
mod version;

pub(crate) use crate::sources::registry::facts::facts;
pub(crate) use crate::sources::registry::facts::time;

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::catalog::Server;
use crate::sources::entry::Owner;
use crate::sources::entry::declared_schema;
use crate::sources::entry::first_text;
use crate::sources::entry::named_tools;
use crate::sources::entry::server_name;
use crate::sources::fields::Fields;
use crate::sources::fields::string;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::publisher;
use crate::sources::records::Place;
use crate::sources::records::Record;
use crate::sources::registry::version::Version;
use crate::sources::tally::Remark;

/// Where the registry says of a server what its publisher does not.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

/// The same, in the answers of August 2025.
const OFFICIAL_EARLY: &str = "x-io.modelcontextprotocol.registry";

/// So many servers of a page are looked at to recognise it.
const N_LOOKED_AT: usize = 32;

/// Whether a record is a page or a server of a registry for sure.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    let is_entry = |fields: &Fields<'_>| inner(fields).is_some() || is_server(fields);
    match fields.list("servers") {
        Some(servers) if servers.is_empty() => is_empty_page(fields),
        Some(servers) => servers
            .iter()
            .take(N_LOOKED_AT)
            .any(|json| Fields::of(json).is_ok_and(|fields| is_entry(&fields))),
        None => is_entry(fields),
    }
}

/// Whether a record can be read as a page or a server of a registry.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    recognises(fields) || fields.list("servers").is_some() || server_name(fields).is_ok()
}

fn is_empty_page(fields: &Fields<'_>) -> bool {
    let metadata = fields.object("metadata");
    let paged =
        |metadata: Fields<'_>| metadata.first(&["count", "nextCursor", "next_cursor"]).is_some();
    fields.get("total_count").is_some() || metadata.is_some_and(paged)
}

/// The server in its envelope.
fn inner<'a>(fields: &Fields<'a>) -> Option<Fields<'a>> {
    if fields.get("name").is_some() { None } else { fields.object("server") }
}

/// A `server.json`: it says how to get a server and lists no tools.
fn is_server(fields: &Fields<'_>) -> bool {
    let has_list = |key| fields.list(key).is_some();
    let has_schema =
        || text_of(fields, "$schema").is_some_and(|url| url.contains("/server.schema.json"));
    let has_source = || {
        let repository = fields.object("repository");
        repository.is_some_and(|repository| repository.get("source").is_some())
            && fields.get("version").is_some()
    };
    fields.get("tools").is_none()
        && (fields.object("version_detail").is_some()
            || has_list("packages")
            || has_list("remotes")
            || has_schema()
            || has_source())
}

fn text_of(fields: &Fields<'_>, key: &str) -> Option<String> {
    string(fields.get(key)?).ok()
}

/// Reads every page and every server among the records.
pub(crate) fn import(records: &[Record<'_>], found: &mut Findings) {
    let mut entries = Entries::default();
    for record in records {
        let servers = Fields::of(record.json).ok().and_then(|fields| fields.list("servers"));
        match servers {
            Some(servers) => entries.read_all(&servers, found),
            None => entries.read(record.json, record.place, found),
        }
    }
    entries.close(found);
}

/// Reads a list of servers, each with or without envelope.
pub(crate) fn import_list(servers: &[&RawValue], found: &mut Findings) {
    let mut entries = Entries::default();
    entries.read_all(servers, found);
    entries.close(found);
}

/// Servers until all versions of them are known.
#[derive(Default)]
struct Entries(Vec<(Server, Version)>);

impl Entries {
    fn read_all(&mut self, servers: &[&RawValue], found: &mut Findings) {
        for (index, json) in servers.iter().enumerate() {
            self.read(json, Place::Position(index + 1), found);
        }
    }

    fn read(&mut self, json: &RawValue, place: Place, found: &mut Findings) {
        let outer = match Fields::of(json) {
            Ok(fields) => fields,
            Err(unfit) => return found.reject_server(place, unfit),
        };
        let inner = inner(&outer);
        let fields = inner.as_ref().unwrap_or(&outer);
        let name = match server_name(fields) {
            Ok(name) => name,
            Err(unfit) => return found.reject_server(place, unfit),
        };
        match status(&outer, fields).as_deref() {
            Some("deleted") => return found.tally.add(Remark::Deleted, &name),
            Some("deprecated") => found.tally.add(Remark::Deprecated, &name),
            _ => {}
        }
        let version = version(&outer, fields);
        self.0.push((server(name, fields, found), version));
    }

    /// Of each name the latest version; equal ones are servers of their own.
    fn close(self, found: &mut Findings) {
        let mut latest: HashMap<String, Version> = HashMap::new();
        for (server, version) in &self.0 {
            let best = latest.entry(server.name.clone()).or_insert_with(|| version.clone());
            if version > best {
                best.clone_from(version);
            }
        }
        for (server, version) in self.0 {
            if latest.get(&server.name).is_some_and(|best| version < *best) {
                found.tally.add(Remark::Superseded, &server.name);
            } else {
                found.list(server);
            }
        }
    }
}

fn server(name: String, fields: &Fields<'_>, found: &mut Findings) -> Server {
    let mut notes = Notes::default();
    let description = first_text(fields, &["description", "title"], &mut notes);
    let repository = fields.object("repository");
    let url = repository.map(|repository| first_text(&repository, &["url"], &mut notes));
    let website = first_text(fields, &["websiteUrl", "website_url", "homepage"], &mut notes);
    let url = url.into_iter().chain([website]).find(|url| !url.is_empty());
    found.warn_server(&name, notes);
    let list = publisher::tools(fields);
    let owner = Owner { server: &name, record: Place::Document };
    let tools = named_tools(&list, owner, declared_schema, found);
    Server { name, description, summary: String::new(), url, tools, entry: None }
}

/// What the registry says, or else the publisher; in lower case.
fn status(outer: &Fields<'_>, fields: &Fields<'_>) -> Option<String> {
    let official = official(outer).into_iter().chain(official(fields));
    let status = official.into_iter().find_map(|meta| text_of(&meta, "status"));
    let status = status.or_else(|| text_of(outer, "status")).or_else(|| text_of(fields, "status"));
    status.or_else(|| publisher::status(fields)).map(|status| status.to_lowercase())
}

fn version(outer: &Fields<'_>, fields: &Fields<'_>) -> Version {
    let version = Version::parse(number(fields).as_deref().unwrap_or_default());
    if is_latest(outer, fields) == Some(true) { version.marked_latest() } else { version }
}

/// The version as written.
fn number(fields: &Fields<'_>) -> Option<String> {
    let detail = fields.object("version_detail");
    text_of(fields, "version").or_else(|| text_of(&detail?, "version"))
}

fn is_latest(outer: &Fields<'_>, fields: &Fields<'_>) -> Option<bool> {
    let says_latest = |meta: &Fields<'_>| {
        let (_, json) = meta.first(&["isLatest", "is_latest"])?;
        Some(json.get() == "true")
    };
    let metas = official(outer).into_iter().chain(official(fields));
    metas.chain(fields.object("version_detail")).find_map(|meta| says_latest(&meta))
}

/// What the registry itself says beside or within a server.
fn official<'a>(fields: &Fields<'a>) -> Option<Fields<'a>> {
    let in_meta = fields.object("_meta").and_then(|meta| meta.object(OFFICIAL));
    in_meta.or_else(|| fields.object(OFFICIAL_EARLY))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serde_json::json;

    use crate::sources::Format;
    use crate::sources::Import;
    use crate::sources::parse;
    use crate::sources::read;
    use crate::sources::shared;

    #[expect(clippy::needless_pass_by_value, reason = "reads better at the calls")]
    fn import(document: Value) -> Import {
        let import = parse("x.json", document.to_string(), None).unwrap();
        assert_eq!(import.format, Format::Registry, "{document}");
        import
    }

    fn names(import: &Import) -> Vec<&str> {
        import.servers.iter().map(|server| server.name.as_str()).collect()
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads better at the calls")]
    fn entry(name: &str, version: &str, official: Value) -> Value {
        json!({
            "server": {"name": name, "description": version, "version": version},
            "_meta": {"io.modelcontextprotocol.registry/official": official},
        })
    }

    #[test]
    fn every_envelope_of_the_api_holds_the_same_server() {
        let server = json!({"name": "org.example/clock", "description": "Time.", "version": "1.0.0",
            "repository": {"url": "https://a.example/clock", "source": "github"}});
        let mut flat = server.clone();
        flat["version_detail"] = json!({"version": "1.0.0", "is_latest": true});
        let early =
            json!({"server": server, "x-io.modelcontextprotocol.registry": {"is_latest": true}});
        for document in [
            json!({"servers": [flat], "next": "u", "total_count": 1}),
            json!({"servers": [early], "metadata": {"next_cursor": "x", "count": 1}}),
            json!({"servers": [{"server": server, "_meta": {}}], "metadata": {"nextCursor": "x"}}),
            json!({"server": server, "_meta": {}}),
            json!([flat]),
            server,
        ] {
            let import = import(document);
            assert_eq!(names(&import), ["org.example/clock"]);
            assert_eq!(import.servers[0].description, "Time.");
            assert_eq!(import.servers[0].url.as_deref(), Some("https://a.example/clock"));
            assert_eq!(
                import.warnings,
                ["1 server without known tools: found as servers until tools are learnt \
                  (`org.example/clock`)"]
            );
        }
        let empty = import(json!({"servers": [], "metadata": {"count": 0}}));
        assert_eq!(empty.warnings, ["it lists no server"]);
    }

    #[test]
    fn only_the_latest_version_of_a_server_counts() {
        let document = json!({"servers": [
            entry("a", "1.10.0", json!({})),
            entry("a", "1.9.0", json!({})),
            entry("b", "2.0.0", json!({"isLatest": false})),
            entry("b", "1.0.1", json!({"isLatest": true})),
            entry("c", "1.0.0", json!({"isLatest": false})),
        ]});
        let import = import(document);
        assert_eq!(names(&import), ["a", "b", "c"]);
        let kept: Vec<_> = import.servers.iter().map(|s| s.description.as_str()).collect();
        assert_eq!(kept, ["1.10.0", "1.0.1", "1.0.0"]);
        assert_eq!(import.warnings[0], "2 earlier versions of listed servers: left out (`a`, `b`)");
    }

    #[test]
    fn what_is_deleted_goes_and_what_is_deprecated_stays() {
        let document = json!({"servers": [
            entry("gone", "1.0.0", json!({"status": "deleted", "isLatest": true})),
            entry("old", "1.0.0", json!({"status": "deprecated"})),
            entry("back", "1.1.0", json!({"status": "deleted", "isLatest": true})),
            entry("back", "1.0.0", json!({"status": "active", "isLatest": false})),
            {"server": {"name": "early", "status": "deleted", "version": "1", "packages": []}},
        ]});
        let import = import(document);
        assert_eq!(names(&import), ["old", "back"]);
        assert_eq!(
            import.warnings[..2],
            [
                "3 servers are deleted there: left out (`gone`, `back`, `early`)".to_owned(),
                "1 server is deprecated there: kept (`old`)".to_owned(),
            ]
        );
    }

    #[test]
    fn an_odd_entry_costs_no_other() {
        let document = json!({"servers": [
            7, {"server": {"name": ""}}, {"server": {"name": 5}}, entry("a", "1", json!({})),
            {"server": {"name": "b", "description": null, "repository": [], "_meta": 3}},
        ]});
        let import = import(document);
        assert_eq!(names(&import), ["a", "b"]);
        let reasons: Vec<_> =
            import.rejected.iter().map(|r| (r.server.as_str(), r.reason.as_str())).collect();
        assert_eq!(
            reasons,
            [
                ("position 1", "it is a number, not an object"),
                ("position 2", "its name is empty"),
                ("position 3", "its name is a number, not a string"),
            ]
        );
    }

    #[test]
    fn saved_pages_of_the_registry_load_whole() {
        for (file, n_servers, n_rejected) in [
            ("v0-servers-response.npm.json", 100, 0),
            ("seed_2025_05_16.first25.json", 24, 1),
            ("publisher-server.json", 1, 0),
        ] {
            let Some(path) = shared(&format!("data/raw/official-registry/{file}")) else {
                return;
            };
            let import = read(&path, None).unwrap();
            assert_eq!(import.format, Format::Registry, "{file}");
            assert_eq!(import.servers.len(), n_servers, "{file}");
            assert_eq!((import.rejected.len(), import.warnings.len()), (n_rejected, 1), "{file}");
        }
    }
}

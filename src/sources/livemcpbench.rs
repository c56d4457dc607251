//! LiveMCPBench's list of servers with how each is started and what it offers.
//!
//! Owns how the format is recognised. A server is named as in the list; what
//! it calls itself stands one level below, where its tools are.

use serde_json::value::RawValue;

use crate::catalog::Server;
use crate::sources::entry::Owner;
use crate::sources::entry::Unfit;
use crate::sources::entry::declared_schema;
use crate::sources::entry::first_text;
use crate::sources::entry::server_name;
use crate::sources::entry::tools;
use crate::sources::entry::with_tools;
use crate::sources::fields::Fields;
use crate::sources::fields::string;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::records::Place;
use crate::sources::records::Record;

/// Whether a record is a server of this format for sure.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    fields.get("name").is_some()
        && (inner_servers(fields).next().is_some() || has_config(fields))
        && fields.list("tools").is_none()
}

/// Whether a record can be read as one.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    server_name(fields).is_ok()
}

fn has_config(fields: &Fields<'_>) -> bool {
    fields.object("config").is_some_and(|config| config.object("mcpServers").is_some())
}

/// What the server calls itself, with the list of tools it then gave.
fn inner_servers<'a>(fields: &Fields<'a>) -> impl Iterator<Item = Fields<'a>> {
    let tools = fields.object("tools");
    tools
        .into_iter()
        .flat_map(|tools| tools.objects())
        .filter(|inner| inner.list("tools").is_some())
}

/// Reads every record as one server.
pub(crate) fn import(records: &[Record<'_>], found: &mut Findings) {
    for record in records {
        let Some(fields) = found.object(record) else { continue };
        let list: Vec<_> =
            inner_servers(&fields).filter_map(|inner| inner.list("tools")).flatten().collect();
        if let Err(unfit) = import_server(&fields, &list, found) {
            found.reject_server(record.place, with_tools(&unfit, list.len()));
        }
    }
}

fn import_server(
    fields: &Fields<'_>,
    list: &[&RawValue],
    found: &mut Findings,
) -> Result<(), Unfit> {
    let name = server_name(fields)?;
    let mut notes = Notes::default();
    let description = first_text(fields, &["description"], &mut notes);
    found.warn_server(&name, notes);
    let url = fields.get("web").and_then(|json| string(json).ok());
    let owner = Owner { server: &name, record: Place::Document };
    let tools = tools(list, owner, declared_schema, found);
    found.list(Server { name, description, summary: String::new(), url, tools, entry: None });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::sources::Format;
    use crate::sources::parse;
    use crate::sources::read;
    use crate::sources::shared;

    #[test]
    fn tools_stand_below_the_inner_server() {
        let text = r#"[{"name":"Clock","description":"Time.","web":"https://a.example","config":{"mcpServers":{"c":{}}},
             "tools":{"c":{"server_name":"c","tools":[{"name":"now","inputSchema":{ },"annotations":null}]}}},
            {"tools":{"d":{"tools":[{"name":"lost"}]}}},{"name":"Bare","config":{"mcpServers":{}}}]"#;
        let import = parse("x.json", text, None).unwrap();
        assert_eq!(import.format, Format::LiveMcpBench);
        let clock = &import.servers[0];
        assert_eq!(
            (clock.name.as_str(), clock.url.as_deref()),
            ("Clock", Some("https://a.example"))
        );
        assert_eq!(clock.tools[0].input_schema.as_ref().unwrap().get(), "{ }");
        assert_eq!(import.servers[1].name, "Bare");
        assert_eq!(import.rejected[0].server, "position 2");
        assert_eq!(import.rejected[0].reason, "it has no name; its tool is lost with it");
    }

    #[test]
    fn the_published_lists_load_whole() {
        for (file, n_servers, n_tools) in [("tools.first6.json", 6, 57), ("all_config.json", 5, 0)]
        {
            let Some(path) = shared(&format!("data/raw/livemcpbench/{file}")) else {
                return;
            };
            let import = read(&path, None).unwrap();
            assert_eq!(import.format, Format::LiveMcpBench, "{file}");
            let found: usize = import.servers.iter().map(|server| server.tools.len()).sum();
            assert_eq!((import.servers.len(), found), (n_servers, n_tools), "{file}");
            assert_eq!(import.rejected, [], "{file}");
        }
    }
}

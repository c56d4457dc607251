//! Toucan's labelled dumps of Smithery: one file a server.
//!
//! Owns which of the two tool lists counts: what the live server answered, or
//! else what its page showed, which has no schemas.

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

/// A heading of the crawled pages that was taken for a tool.
const NO_TOOL: &str = "Optional Settings";

/// Whether a record is a dump of this format for sure.
pub(crate) fn recognises(fields: &Fields<'_>) -> bool {
    let parts = ["server_info_crawled", "remote_server_response"];
    fields.object("metadata").is_some_and(|metadata| metadata.first(&parts).is_some())
}

/// Whether a record can be read as one.
pub(crate) fn accepts(fields: &Fields<'_>) -> bool {
    fields.object("metadata").is_some()
}

/// Reads every record as one server.
pub(crate) fn import(records: &[Record<'_>], found: &mut Findings) {
    for record in records {
        let Some(fields) = found.object(record) else { continue };
        let Some(metadata) = fields.object("metadata") else {
            found.reject_server(record.place, "it has no `metadata`");
            continue;
        };
        let list = tool_list(&metadata);
        if let Err(unfit) = import_server(&fields, &metadata, &list, found) {
            found.reject_server(record.place, with_tools(&unfit, list.len()));
        }
    }
}

fn tool_list<'a>(metadata: &Fields<'a>) -> Vec<&'a RawValue> {
    let list = |part| metadata.object(part).and_then(|part: Fields<'a>| part.list("tools"));
    let live = list("remote_server_response").filter(|tools| !tools.is_empty());
    live.or_else(|| list("server_info_crawled")).unwrap_or_default()
}

fn import_server(
    fields: &Fields<'_>,
    metadata: &Fields<'_>,
    list: &[&RawValue],
    found: &mut Findings,
) -> Result<(), Unfit> {
    let crawled = metadata.object("server_info_crawled");
    let crawled = crawled.as_ref();
    let name = server_name(metadata).or_else(|unfit| crawled.map_or(Err(unfit), server_name))?;
    let mut notes = Notes::default();
    let description = crawled.map(|crawled| first_text(crawled, &["overview"], &mut notes));
    let labels = fields.object("labels");
    let summary = labels.map(|labels| first_text(&labels, &["analysis"], &mut notes));
    found.warn_server(&name, notes);
    let address = |key| string(crawled?.get(key)?).ok().filter(|url| url.starts_with("http"));
    let url = address("repository_url").or_else(|| address("homepage"));
    let owner = Owner { server: &name, record: Place::Document };
    let mut tools = tools(list, owner, declared_schema, found);
    if tools.iter().any(|tool| tool.name == NO_TOOL) {
        tools.retain(|tool| tool.name != NO_TOOL);
        let reason = "it is a heading of the page that was read, not a tool";
        found.reject_tool(&name, NO_TOOL.to_owned(), reason);
    }
    let description = description.unwrap_or_default();
    found.list(Server {
        name,
        description,
        summary: summary.unwrap_or_default(),
        url,
        tools,
        entry: None,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::sources::Format;
    use crate::sources::parse;

    #[test]
    fn the_live_list_counts_and_else_the_page() {
        let dump = |live: &str| {
            format!(
                r#"{{"labels":{{"analysis":"Long."}},"metadata":{{"server_name":"S","remote_server_response":{live},
                "server_info_crawled":{{"overview":"Short.","repository_url":"N/A","homepage":"https://h.example",
                "tools":[{{"name":"page"}},{{"name":"Optional Settings"}}]}}}}}}"#
            )
        };
        for (live, tools, n_rejected) in [
            (r#"{"is_success":true,"tools":[{"name":"live","input_schema":{}}]}"#, "live", 0),
            (r#"{"is_success":false,"tools":[]}"#, "page", 1),
            ("null", "page", 1),
        ] {
            let import = parse("x.json", dump(live), None).unwrap();
            assert_eq!(import.format, Format::Toucan);
            let server = &import.servers[0];
            assert_eq!((server.name.as_str(), server.description.as_str()), ("S", "Short."));
            assert_eq!(
                (server.summary.as_str(), server.url.as_deref()),
                ("Long.", Some("https://h.example"))
            );
            assert_eq!((server.tools.len(), server.tools[0].name.as_str()), (1, tools), "{live}");
            assert_eq!(import.rejected.len(), n_rejected, "{live}");
        }
        let nameless =
            parse("x.json", r#"{"metadata":{"server_info_crawled":{"tools":[{}]}}}"#, None);
        assert_eq!(
            nameless.unwrap().rejected[0].reason,
            "it has no name; its tool is lost with it"
        );
    }
}

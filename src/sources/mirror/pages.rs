//! The pages of a registry, from the first to the one without a cursor.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::fetch::Answer;
use crate::fetch::Fetcher;
use crate::fetch::Url;
use crate::fetch::Validators;
use crate::sources::describe_keys;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::fields::string;
use crate::sources::mirror::MirrorError;
use crate::sources::mirror::entries::Entries;
use crate::sources::registry;

/// Entries of one page; the registry allows no more.
const PAGE: &str = "100";

/// A registry has thousands of servers, not millions.
const MAX_PAGES: usize = 10_000;

/// How far a URL is known to be what it is asked as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// By its path, by its format, or by the last time.
    Sure,
    /// It is being found out.
    Guess,
}

/// One walk through a registry.
pub(super) struct Run<'a> {
    pub(super) fetcher: &'a Fetcher,
    pub(super) endpoint: Url,
    /// Only what was changed since then.
    pub(super) since: Option<String>,
    /// Whether this is a registry for sure.
    pub(super) certainty: Certainty,
}

impl Run<'_> {
    /// Applies every entry of every page; returns how many pages there were.
    pub(super) fn follow(&self, entries: &mut Entries) -> Result<usize, MirrorError> {
        let mut cursor: Option<String> = None;
        let mut pages_of: HashMap<String, usize> = HashMap::new();
        for page in 1..=MAX_PAGES {
            let body = self.read(page, cursor.as_deref())?;
            let servers = self.servers(page, &body)?;
            servers.list.iter().for_each(|json| entries.apply(json));
            let url = self.endpoint.shown();
            tracing::info!("page {page} of `{url}`: {} entries", servers.list.len());
            let Some(next) = servers.next else { return Ok(page) };
            if let Some(earlier) = pages_of.insert(next.clone(), page) {
                return Err(MirrorError::CursorRepeats { url, page, earlier });
            }
            cursor = Some(next);
        }
        Err(MirrorError::TooManyPages { url: self.endpoint.shown(), limit: MAX_PAGES })
    }

    fn read(&self, page: usize, cursor: Option<&str>) -> Result<Vec<u8>, MirrorError> {
        let mut parameters = vec![("limit", PAGE)];
        parameters.extend(cursor.map(|cursor| ("cursor", cursor)));
        parameters.extend(self.since.as_deref().map(|since| ("updated_since", since)));
        parameters.push(("version", "latest"));
        let url = self.endpoint.with_query(&parameters);
        match self.fetcher.get(&url, &Validators::default()) {
            Ok(Answer::Document { body, .. }) => Ok(body),
            Ok(Answer::Unchanged) => Ok(Vec::new()),
            Err(source) => {
                let (url, source) = (self.endpoint.shown(), Box::new(source));
                Err(MirrorError::Page { page, url, source })
            }
        }
    }

    fn servers<'a>(&self, page: usize, body: &'a [u8]) -> Result<Servers<'a>, MirrorError> {
        servers(body, self.certainty).map_err(|found| MirrorError::NotAPage {
            page,
            url: self.endpoint.shown(),
            found,
        })
    }
}

/// What a page holds.
struct Servers<'a> {
    list: Vec<&'a RawValue>,
    next: Option<String>,
}

/// A page, or what there is instead of one.
fn servers(body: &[u8], certainty: Certainty) -> Result<Servers<'_>, String> {
    if is_html(body) {
        return Err("an HTML page".to_owned());
    }
    let json: &RawValue = serde_json::from_slice(body)
        .map_err(|error| format!("{} bytes that are not JSON ({error})", body.len()))?;
    let fields = Fields::of(json).map_err(|_| Kind::of(json).to_string())?;
    let list = fields.list("servers");
    // An empty list is `null` where the registry is written in Go.
    let is_null = fields.iter().any(|(key, json)| key == "servers" && Kind::of(json) == Kind::Null);
    let list = match list {
        Some(list) => list,
        None if is_null => Vec::new(),
        None => return Err(describe_keys(&fields)),
    };
    if certainty == Certainty::Guess && !is_null && !registry::recognises(&fields) {
        return Err("a list of other servers than a registry's".to_owned());
    }
    let metadata = fields.object("metadata");
    let next = metadata.and_then(|metadata| metadata.first(&["nextCursor", "next_cursor"]));
    let next = match next.map(|(_, json)| string(json)) {
        Some(Ok(cursor)) => Some(cursor).filter(|cursor| !cursor.is_empty()),
        Some(Err(problem)) => return Err(format!("a page whose cursor is {problem}")),
        None => None,
    };
    Ok(Servers { list, next })
}

/// Whether someone answers with a page for people.
pub(super) fn is_html(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    body.starts_with(b"<")
}

#[cfg(test)]
mod tests {
    use super::Certainty::{Guess, Sure};
    use super::*;

    #[test]
    fn a_cursor_may_be_absent_null_or_empty_at_the_end() {
        for (metadata, expected) in [
            ("{}", None),
            ("null", None),
            (r#"{"nextCursor":null}"#, None),
            (r#"{"nextCursor":""}"#, None),
            (r#"{"nextCursor":"a b"}"#, Some("a b")),
            (r#"{"next_cursor":"c"}"#, Some("c")),
        ] {
            let body = format!(r#"{{"servers":[],"metadata":{metadata}}}"#);
            let page = servers(body.as_bytes(), Sure).unwrap();
            assert_eq!(page.next.as_deref(), expected, "{metadata}");
        }
        assert!(servers(br#"{"servers":null}"#, Sure).unwrap().next.is_none());
    }

    #[test]
    fn what_is_no_page_is_described() {
        for (body, certainty, expected) in [
            (" <!doctype html>", Sure, "an HTML page"),
            ("", Sure, "0 bytes that are not JSON"),
            ("[1]", Sure, "an array"),
            (r#"{"error":"x"}"#, Sure, "an object with keys error"),
            (r#"{"servers":[],"metadata":{"nextCursor":7}}"#, Sure, "a page whose cursor is a nu"),
            (r#"{"servers":[{"name":"a","tools":[]}]}"#, Guess, "a list of other servers"),
        ] {
            let found = servers(body.as_bytes(), certainty).err().unwrap();
            assert!(found.starts_with(expected), "{body}: {found}");
        }
    }
}

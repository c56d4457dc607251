//! All the tools of one server, page by page, as it sends them.
//!
//! Owns where a list ends: with the last page, with a cursor that comes again,
//! or with a limit. What a tool is, it does not know.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Limits;
use super::connect;
use super::error::UpstreamError;
use super::guardian::Guardian;
use super::params::Params;
use super::session::Session;
use super::target::Target;

/// Pages of one list; no honest one has more.
const MAX_PAGES: usize = 1_000;

/// A list takes no longer than so many pages that each take all their time.
const MAX_SLOW_PAGES: u32 = 10;

/// Bytes of one list.
const MAX_BYTES: usize = 256 << 20;

/// What a server says of itself and its tools.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Its answer to `initialize` or `server/discover`, as it came.
    pub hello: Box<RawValue>,
    /// The version that was spoken.
    pub version: String,
    /// Its answers to `tools/list` as they came, in order.
    pub pages: Vec<Box<RawValue>>,
    /// What is odd about the list as a whole.
    pub warnings: Vec<String>,
}

/// Starts or calls a server, lists its tools, and ends it.
pub(super) async fn of(
    target: &Target,
    guardian: Option<Arc<Guardian>>,
    limits: Limits,
) -> Result<Listing, UpstreamError> {
    let session = connect::to(target, guardian, None, limits.start).await?;
    let listing = of_session(&session, limits.page).await;
    session.end().await;
    listing
}

/// Lists the tools of a server that is there; `limit` holds for each page.
pub(super) async fn of_session(
    session: &Session,
    limit: Duration,
) -> Result<Listing, UpstreamError> {
    let whole = limit * MAX_SLOW_PAGES;
    let listed = tokio::time::timeout(whole, pages(session, limit)).await.unwrap_or_else(|_| {
        let (method, stderr) = ("all of tools/list".to_owned(), String::new());
        Err(UpstreamError::NoAnswer { method, after: whole, stderr })
    });
    let (pages, warnings) = listed?;
    let (hello, version) = (session.hello.clone(), session.version().to_owned());
    Ok(Listing { hello, version, pages, warnings })
}

async fn pages(
    session: &Session,
    limit: Duration,
) -> Result<(Vec<Box<RawValue>>, Vec<String>), UpstreamError> {
    let (mut pages, mut seen, mut n_bytes) = (Vec::new(), HashSet::new(), 0);
    let mut params = Params::default();
    loop {
        let page = session.request("tools/list", params, limit).await?;
        n_bytes += page.get().len();
        let cursor = next_cursor(&page);
        pages.push(page);
        let Some(cursor) = cursor else {
            return Ok((pages, Vec::new()));
        };
        let n_pages = pages.len();
        let warning = if !seen.insert(cursor.get().to_owned()) {
            format!(
                "page {n_pages} of its tools names a cursor that was there before; the list ends here"
            )
        } else if n_pages == MAX_PAGES || n_bytes > MAX_BYTES {
            format!(
                "its list of tools goes on after {n_pages} pages, {} MB; it is cut here",
                n_bytes >> 20
            )
        } else {
            // Byte for byte as it came: it is theirs.
            params = Params::default().with_raw("cursor", cursor);
            continue;
        };
        return Ok((pages, vec![warning]));
    }
}

/// The cursor of the next page, if there is one.
fn next_cursor(page: &RawValue) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cursor {
        next_cursor: Option<Box<RawValue>>,
    }
    let cursor: Cursor = serde_json::from_str(page.get()).ok()?;
    cursor.next_cursor.filter(|cursor| !matches!(cursor.get(), "null" | r#""""#))
}

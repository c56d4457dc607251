//! All the tools of one server, page by page, as it sends them.
//!
//! Owns where a list ends: with the last page, with a cursor that comes again,
//! or with a limit. What a tool is, it does not know.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Limits;
use super::child::Child;
use super::desk::Desk;
use super::error::UpstreamError;
use super::guardian::Guardian;
use super::handshake;
use super::http::Http;
use super::link::Link;
use super::params::Params;
use super::session::Line;
use super::session::Session;
use super::sse::Sse;
use super::target::Dialect;
use super::target::Target;

/// Pages of one list; no honest one has more.
const MAX_PAGES: usize = 1_000;

/// A list takes no longer than so many pages that each take all their time.
const MAX_SLOW_PAGES: u32 = 10;

/// Bytes of one list.
const MAX_BYTES: usize = 256 << 20;

/// What a server says of itself and its tools.
#[derive(Debug)]
pub struct Listing {
    /// Its answer to `initialize` or `server/discover`, as it came.
    pub hello: Box<RawValue>,
    /// The version that was spoken.
    pub version: String,
    /// In order.
    pub pages: Vec<Page>,
    /// What is odd about the list as a whole.
    pub warnings: Vec<String>,
}

/// One answer to `tools/list`, as it came.
pub type Page = Box<RawValue>;

/// Starts or calls a server, lists its tools, and ends it.
pub(super) async fn of(
    target: &Target,
    guardian: Option<Arc<Guardian>>,
    limits: Limits,
) -> Result<Listing, UpstreamError> {
    let session = open(target, guardian, limits).await?;
    let whole = limits.page * MAX_SLOW_PAGES;
    let listed = tokio::time::timeout(whole, pages(&session, limits)).await.unwrap_or_else(|_| {
        let (method, stderr) = ("all of tools/list".to_owned(), String::new());
        Err(UpstreamError::NoAnswer { method, after: whole, stderr })
    });
    let (hello, version) = (session.hello.clone(), session.version().to_owned());
    session.end().await;
    let (pages, warnings) = listed?;
    Ok(Listing { hello, version, pages, warnings })
}

/// Starts or calls a server and introduces us.
async fn open(
    target: &Target,
    guardian: Option<Arc<Guardian>>,
    limits: Limits,
) -> Result<Session, UpstreamError> {
    let desk = Arc::new(Desk::new(target.secrets().clone()));
    let link = match target {
        Target::Stdio(program) => Link::Child(Child::start(program, &desk, guardian)?),
        Target::Http(address) if address.dialect == Dialect::Sse => {
            Link::Sse(Sse::open(address, &desk, limits.start).await?)
        }
        Target::Http(address) => Link::Http(Http::new(address, &desk)?),
    };
    match (handshake::greet(Line { link, desk }, limits.start).await, target) {
        (Err(error), Target::Http(address))
            if address.dialect == Dialect::Auto && error.may_be_sse() =>
        {
            let desk = Arc::new(Desk::new(target.secrets().clone()));
            let Ok(sse) = Sse::open(address, &desk, limits.start).await else {
                return Err(error);
            };
            handshake::greet(Line { link: Link::Sse(sse), desk }, limits.start).await
        }
        (result, _) => result,
    }
}

async fn pages(
    session: &Session,
    limits: Limits,
) -> Result<(Vec<Page>, Vec<String>), UpstreamError> {
    let (mut pages, mut seen, mut n_bytes) = (Vec::new(), HashSet::new(), 0);
    let mut params = Params::default();
    loop {
        let page = session.request("tools/list", params, limits.page).await?;
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

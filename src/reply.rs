//! Step 5, shape: ranked tools → what enters a model's context.
//!
//! Owns detail levels, the byte budget and the cursor. Cuts at record
//! boundaries, never inside JSON. Knows nothing of MCP but the size of the
//! frame that its result will stand in.

mod cursor;
mod page;
mod structured;
mod text;

pub use cursor::Cursor;
pub use page::page;

use serde::Serialize;

use crate::catalog::RawJson;
use crate::error::Fault;
use crate::index::IndexError;

/// How much of a tool is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Detail {
    /// Its name.
    Names,
    /// Name and the beginning of its description.
    Summary,
    /// Everything needed to call it.
    #[default]
    Schema,
}

impl std::str::FromStr for Detail {
    type Err = ReplyError;

    fn from_str(word: &str) -> Result<Self, ReplyError> {
        match word.trim().to_ascii_lowercase().as_str() {
            "names" => Ok(Self::Names),
            "summary" => Ok(Self::Summary),
            "schema" => Ok(Self::Schema),
            _ => Err(ReplyError::UnknownDetail { word: word.chars().take(40).collect() }),
        }
    }
}

/// The answer to one text, the documented shape of `route --json` and of
/// `discover_tools`' `structuredContent`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reply {
    /// One entry per request, in order.
    pub requests: Vec<RequestReport>,
    /// Best first within a request; requests in order.
    pub matches: Vec<Match>,
    /// Ranked tools that did not fit the budget.
    pub omitted: usize,
    /// Gets the omitted ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What became of one request.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RequestReport {
    /// As understood; long texts are cut for the echo.
    pub server: Option<String>,
    /// As understood.
    pub tool: Option<String>,
    /// Calibrated probability that one of the returned tools fulfils the
    /// request, in [0, 1]; absent where no calibration holds.
    #[serde(serialize_with = "short_or_null", skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// Whether the answer is "no tool fits".
    pub abstained: bool,
    /// Names of the nearest servers, where it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
    /// What the asker should know: a cut field, a bad block, requests left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One ranked tool.
#[derive(Clone, Debug, Serialize)]
pub struct Match {
    /// Position in `requests`.
    pub request: usize,
    /// 1 is the best of its request.
    pub rank: usize,
    /// Exposed name, `server__tool`.
    pub name: String,
    /// Name of the server.
    pub server: String,
    /// Name on the server.
    pub tool: String,
    /// What the order follows.
    #[serde(serialize_with = "short")]
    pub score: f32,
    /// `(s_server · s_tool) · max(s_server, s_tool)`, in [0, 1].
    #[serde(serialize_with = "short")]
    pub dense_score: f32,
    /// s_server in [0, 1]; null without a platform in the request.
    #[serde(serialize_with = "short_or_null")]
    pub server_score: Option<f32>,
    /// s_tool in [0, 1].
    #[serde(serialize_with = "short")]
    pub tool_score: f32,
    /// Absent at detail `names`, shortened at `summary`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// At detail `schema`; an open object where the source has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<RawJson>,
    /// As the source wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<RawJson>,
    /// Whether less is shown than asked for, because of the budget.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

/// An f32 by its shortest digits, also where the writer only knows f64: 0.1
/// stays 0.1, not 0.10000000149011612.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn short<S: serde::Serializer>(score: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    match score.to_string().parse::<f64>() {
        Ok(digits) => serializer.serialize_f64(digits),
        Err(_) => serializer.serialize_f32(*score),
    }
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn short_or_null<S: serde::Serializer>(
    score: &Option<f32>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match score {
        Some(score) => short(score, serializer),
        None => serializer.serialize_none(),
    }
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// Not even one name fits.
    #[error("max_bytes {max_bytes} is too small for one tool name here; use at least {needed}")]
    Budget {
        /// As asked.
        max_bytes: usize,
        /// What the first record needs as a name.
        needed: usize,
    },
    /// A cursor that this program did not make for this request.
    #[error("cursor is not valid for this request; ask again without it")]
    BadCursor,
    /// A cursor of an index that has been rebuilt since.
    #[error("cursor is of index generation {cursor}, but {live} is live; ask again without it")]
    StaleCursor {
        /// Of the cursor.
        cursor: u64,
        /// In use.
        live: u64,
    },
    /// A detail level that does not exist.
    #[error("detail `{word}` is unknown; use `names`, `summary` or `schema`")]
    UnknownDetail {
        /// As asked.
        word: String,
    },
    /// A record of the index cannot be read.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl ReplyError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Index(error) => error.fault(),
            _ => Fault::Caller,
        }
    }
}

impl Reply {
    /// The reply as a JSON value, for protocols that carry one.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        structured::reply(self)
    }

    /// The reply as text for a model: names, descriptions, compact schemas.
    #[must_use]
    pub fn to_text(&self) -> String {
        text::render(self)
    }
}

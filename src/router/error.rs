//! Why a request is not answered.

use crate::embed::BadVector;
use crate::embed::EmbedError;
use crate::error::Fault;
use crate::index::IndexError;
use crate::reply::ReplyError;
use crate::request::RequestError;

/// One variant per step that can fail.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// The text holds no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The model cannot run.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The request has no usable vector.
    #[error("the text {text:?} cannot be embedded: {reason}; ask in words")]
    NoVector {
        /// As embedded.
        text: String,
        /// What is wrong with it.
        reason: BadVector,
    },
    /// The index cannot answer.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The reply cannot be shaped as asked.
    #[error(transparent)]
    Reply(#[from] ReplyError),
}

impl RouteError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Request(error) => error.fault(),
            Self::Embed(error) => error.fault(),
            Self::NoVector { .. } => Fault::Caller,
            Self::Index(error) => error.fault(),
            Self::Reply(error) => error.fault(),
        }
    }
}

//! Texts as a question to `/embeddings`, and its answer as numbers.

use std::time::Instant;

use serde::Serialize;

use super::RemoteModel;
use super::answer;
use super::error::RemoteError;
use super::wire::Limits;
use super::wire::Wire;
use crate::secret::Secret;

/// The body of a request.
#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

/// A model that can be asked.
pub(super) struct Exchange {
    wire: Wire,
    model: String,
    dimensions: Option<usize>,
}

impl Exchange {
    pub(super) fn new(
        remote: &RemoteModel,
        key: Option<&Secret>,
        limits: Limits,
    ) -> Result<Self, RemoteError> {
        Ok(Self {
            wire: Wire::new(remote, "/embeddings", key, limits)?,
            model: remote.model.clone(),
            dimensions: remote.dimensions,
        })
    }

    pub(super) fn limits(&self) -> &Limits {
        self.wire.limits()
    }

    pub(super) fn host(&self) -> &str {
        self.wire.host()
    }

    /// The numbers of each of `texts`, in order; as many as there are texts.
    /// After `deadline` nothing is waited for.
    pub(super) fn ask(
        &self,
        texts: &[&str],
        deadline: Option<Instant>,
    ) -> Result<Vec<Vec<f32>>, RemoteError> {
        let question = Question {
            model: &self.model,
            input: texts,
            encoding_format: "float",
            dimensions: self.dimensions,
        };
        #[expect(clippy::expect_used, reason = "strings and a number are always JSON")]
        let question = serde_json::to_vec(&question).expect("strings and a number are JSON");
        let body = self.wire.post(&question, deadline)?;
        answer::rows(&body, texts.len(), self.wire.host(), self.wire.key())
    }
}

//! A model that writes: one question, one answer, over `/chat/completions`.

use serde::Deserialize;
use serde_json::json;

use super::Limits;
use super::RemoteModel;
use super::error::RemoteError;
use super::wire::Wire;
use crate::secret::Secret;

/// A remote model that answers in words.
pub struct RemoteWriter {
    wire: Wire,
    model: String,
}

impl RemoteWriter {
    /// Gets ready to ask `remote`; nothing is sent yet.
    ///
    /// # Errors
    /// `BadAddress`, `BadKey`.
    pub fn new(
        remote: &RemoteModel,
        key: Option<&Secret>,
        limits: Limits,
    ) -> Result<Self, RemoteError> {
        let wire = Wire::new(remote, "/chat/completions", key, limits)?;
        Ok(Self { wire, model: remote.model.clone() })
    }

    /// What it answers, as it came: an answer may hold anything.
    ///
    /// # Errors
    /// Whatever kept it from answering, after some tries.
    pub fn ask(&self, instruction: &str, question: &str) -> Result<String, RemoteError> {
        #[derive(Deserialize)]
        struct Answer {
            choices: Vec<Choice>,
        }
        #[derive(Deserialize)]
        struct Choice {
            message: Message,
        }
        #[derive(Deserialize)]
        struct Message {
            content: String,
        }
        let body = json!({
            "model": self.model,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": instruction},
                {"role": "user", "content": question},
            ],
        });
        let body = self.wire.post(body.to_string().as_bytes(), None)?;
        let not_words =
            |what: String| RemoteError::NotWords { host: self.wire.host().to_owned(), what };
        let answer: Answer =
            serde_json::from_slice(&body).map_err(|error| not_words(error.to_string()))?;
        let first = answer.choices.into_iter().next();
        first.map(|choice| choice.message.content).ok_or_else(|| not_words("no choices".to_owned()))
    }
}

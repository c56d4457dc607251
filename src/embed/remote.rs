//! The remote embedder: a model behind an OpenAI-compatible `/embeddings`.
//!
//! Owns what is asked and what is made of the answers; `exchange` owns the
//! wire. Must not read the environment (ureq looks up the proxy variables
//! itself) nor show the key.

mod address;
mod answer;
mod chat;
mod error;
mod exchange;
mod key;
mod wire;

pub use chat::RemoteWriter;
pub use error::{KeyState, RemoteError};
pub use wire::Limits;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use address::Address;
use exchange::Exchange;

use super::{BadVector, EmbedError, Embedder, Identity, UnitVector};
use crate::secret::Secret;

/// Texts of one request; servers allow from 32 (some local ones) to 2,048.
const MAX_TEXTS: usize = 128;

/// Bytes of text in one request; OpenAI allows 300,000 tokens.
const MAX_BATCH_BYTES: usize = 200_000;

/// Tokens that OpenAI's models read. Other models read less, and cut by
/// themselves or refuse.
const MAX_LENGTH: usize = 8_191;

/// Budget that keeps a text within [`MAX_LENGTH`], where an ASCII character
/// costs 1 (about three to a token in code) and any other one 4 (CJK needs up
/// to 1.3 tokens a character).
const MAX_TEXT_COST: usize = 24_000;

/// What the length of a model's vectors is learnt from.
const PROBE: &str = "create an issue";

/// Variable that holds the key where none is named and the host is not this machine.
const DEFAULT_KEY_ENV: &str = "OPENAI_API_KEY";

/// A remote model and where it answers; the index manifest keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteModel {
    /// Address that `/embeddings` is added to, without a slash at its end.
    pub base_url: String,
    /// Its name there.
    pub model: String,
    /// Length of the vectors that is asked for; the model's own if none.
    pub dimensions: Option<usize>,
    /// Environment variable that holds the key, if one is needed.
    pub key_env: Option<String>,
}

impl RemoteModel {
    /// A model at `base_url`; its key is in `OPENAI_API_KEY`, or it needs none
    /// on this machine.
    ///
    /// # Errors
    /// `BadAddress`.
    pub fn new(
        base_url: &str,
        model: &str,
        dimensions: Option<usize>,
    ) -> Result<Self, RemoteError> {
        let address = Address::parse(base_url)?;
        Ok(Self {
            key_env: (!address.is_loopback()).then(|| DEFAULT_KEY_ENV.to_owned()),
            base_url: address.base,
            model: model.to_owned(),
            dimensions,
        })
    }

    /// The same model at another address. The variable of the key stays on the
    /// same host only: a key is not shown to strangers.
    ///
    /// # Errors
    /// `BadAddress`.
    pub fn at(&self, base_url: &str) -> Result<Self, RemoteError> {
        let moved = Self::new(base_url, &self.model, self.dimensions)?;
        if Address::parse(&self.base_url)?.host == Address::parse(base_url)?.host {
            return Ok(Self { key_env: self.key_env.clone(), ..moved });
        }
        Ok(moved)
    }

    /// The same model with its key in `variable`.
    ///
    /// # Errors
    /// `BadKeyVariable`, which does not repeat what may be the key itself.
    pub fn with_key_env(self, variable: &str) -> Result<Self, RemoteError> {
        let is_name = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name {
            return Err(RemoteError::BadKeyVariable);
        }
        Ok(Self { key_env: Some(variable.to_owned()), ..self })
    }
}

/// A model that answers over HTTP.
pub struct RemoteEmbedder {
    identity: Identity,
    exchange: Exchange,
}

impl RemoteEmbedder {
    /// Gets ready to ask `remote`. Without `dim`, the length of its vectors is
    /// what `dimensions` says, or is learnt by embedding one text.
    ///
    /// # Errors
    /// `BadAddress`, `BadKey`; any other variant if a text is embedded.
    pub fn load(
        remote: &RemoteModel,
        dim: Option<usize>,
        key: Option<&Secret>,
        limits: Limits,
    ) -> Result<Self, RemoteError> {
        let exchange = Exchange::new(remote, key, limits)?;
        let dim = match dim.or(remote.dimensions) {
            Some(dim) => dim,
            None => {
                exchange.ask(&[PROBE], exchange.limits().deadline())?.first().map_or(0, Vec::len)
            }
        };
        let identity = Identity {
            model: remote.model.clone(),
            dim,
            pooling: "remote".to_owned(),
            query_prefix: String::new(),
            max_length: MAX_LENGTH,
            files: Vec::new(),
        };
        Ok(Self { identity, exchange })
    }

    /// The vectors of one batch. When all have one other length, it is not the
    /// texts that are at fault.
    fn embed_batch(
        &self,
        texts: &[&str],
        deadline: Option<Instant>,
    ) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
        let expected = self.identity.dim;
        let rows = self.exchange.ask(texts, deadline)?;
        let got = rows.first().map_or(expected, Vec::len);
        if got != expected && got > 0 && rows.iter().all(|row| row.len() == got) {
            let (host, model) = (self.exchange.host().to_owned(), self.identity.model.clone());
            return Err(RemoteError::OtherLength { host, model, expected, got }.into());
        }
        Ok(rows.into_iter().map(|row| UnitVector::new(row, expected)).collect())
    }
}

impl Embedder for RemoteEmbedder {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn runtime(&self) -> &'static str {
        "remote"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
        // Servers refuse a whole batch for one text without words.
        let mut vectors = vec![Err(BadVector::Zero); texts.len()];
        let texts: Vec<&str> = texts.iter().map(|text| cut(text)).collect();
        let deadline = self.exchange.limits().deadline();
        for batch in batches(&texts) {
            let of_batch: Vec<&str> = batch.iter().map(|&position| texts[position]).collect();
            for (position, vector) in batch.into_iter().zip(self.embed_batch(&of_batch, deadline)?)
            {
                vectors[position] = vector;
            }
        }
        Ok(vectors)
    }
}

/// The start of `text` that the model reads, without white space around it.
fn cut(text: &str) -> &str {
    let text = text.trim();
    let mut cost = 0;
    for (position, character) in text.char_indices() {
        cost += if character.is_ascii() { 1 } else { 4 };
        if cost > MAX_TEXT_COST {
            return &text[..position];
        }
    }
    text
}

/// Positions of the texts that are not empty, by request.
fn batches(texts: &[&str]) -> Vec<Vec<usize>> {
    let (mut batches, mut n_bytes) = (Vec::<Vec<usize>>::new(), 0);
    for (position, text) in texts.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
        match batches.last_mut() {
            Some(last) if last.len() < MAX_TEXTS && n_bytes + text.len() <= MAX_BATCH_BYTES => {
                last.push(position);
                n_bytes += text.len();
            }
            _ => {
                batches.push(vec![position]);
                n_bytes = text.len();
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(url: &str) -> RemoteModel {
        RemoteModel::new(url, "m", None).unwrap()
    }

    #[test]
    fn a_key_is_expected_everywhere_but_on_this_machine() {
        let key_env = |url| model(url).key_env;
        assert_eq!(key_env("https://api.openai.com/v1").as_deref(), Some("OPENAI_API_KEY"));
        assert_eq!(key_env("http://localhost:11434/v1"), None);
    }

    #[test]
    fn a_key_does_not_follow_to_another_host() {
        let here = model("https://one.example/v1").with_key_env("ONE_KEY").unwrap();
        let key_env = |url| here.at(url).unwrap().key_env;
        assert_eq!(key_env("https://ONE.example/v2/").as_deref(), Some("ONE_KEY"));
        assert_eq!(key_env("https://two.example/v1").as_deref(), Some("OPENAI_API_KEY"));
        assert_eq!(key_env("https://one.example:8443/v1").as_deref(), Some("OPENAI_API_KEY"));
        assert_eq!(key_env("http://127.0.0.1:8080"), None);
    }

    #[test]
    fn a_key_in_place_of_its_name_is_not_repeated() {
        for variable in ["sk-proj-123", "", "1KEY", "A KEY", "A=B"] {
            let error = model("https://one.example").with_key_env(variable).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sk-"), "{error}");
        }
    }

    #[test]
    fn batches_are_bounded_by_number_and_size() {
        assert_eq!(batches(&["a", "", "b"]), [[0, 2]]);
        let sizes = |texts: &[&str]| batches(texts).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&["a"; 257]), [128, 128, 1]);
        let (half, large) = ("x".repeat(100_000), "x".repeat(300_000));
        assert_eq!(sizes(&[&half, &half, &half, &large, "a"]), [2, 1, 1, 1]);
        assert!(batches(&["", ""]).is_empty());
    }
}

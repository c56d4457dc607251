//! A deterministic embedder without a model, for tests.
//!
//! Hashes words and their three-letter pieces into a small vector, so that
//! texts that share words are near each other. Never meant for real routing.

use super::{BadVector, EmbedError, Embedder, Identity, UnitVector};

const DIM: usize = 256;

/// Feature hashing (Weinberger et al. 2009) over words and trigrams; all weights
/// are positive, so that no two words cancel out.
#[derive(Clone, Debug)]
pub struct StandInEmbedder {
    identity: Identity,
}

impl StandInEmbedder {
    /// Name that selects this embedder in place of a model.
    pub const NAME: &'static str = "stand-in";
}

impl Default for StandInEmbedder {
    fn default() -> Self {
        Self {
            identity: Identity {
                model: Self::NAME.to_owned(),
                dim: DIM,
                pooling: "sum".to_owned(),
                query_prefix: String::new(),
                max_length: 1_000_000,
                files: Vec::new(),
            },
        }
    }
}

impl Embedder for StandInEmbedder {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn runtime(&self) -> &'static str {
        "any"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
        Ok(texts.iter().map(|text| UnitVector::new(features(text), DIM)).collect())
    }
}

fn features(text: &str) -> Vec<f32> {
    let mut sums = vec![0.0; DIM];
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        add(&mut sums, word, 2.0);
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.windows(3) {
            add(&mut sums, &piece.iter().collect::<String>(), 0.5);
        }
    }
    sums
}

/// FNV-1a picks the slot.
fn add(sums: &mut [f32], feature: &str, weight: f32) {
    let hash = feature
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    let slot = (hash >> 32) as usize % sums.len();
    sums[slot] += weight;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_words_are_nearer_than_other_words() {
        let embedder = StandInEmbedder::default();
        let texts = ["create an issue", "create issue on a board", "weather forecast for Oslo"];
        let vectors: Vec<_> =
            embedder.embed(&texts).unwrap().into_iter().map(Result::unwrap).collect();
        let cosine = |a: usize, b: usize| -> f32 {
            vectors[a].as_slice().iter().zip(vectors[b].as_slice()).map(|(x, y)| x * y).sum()
        };
        assert!(cosine(0, 1) > cosine(0, 2) + 0.3);
    }

    #[test]
    fn a_text_without_words_has_no_vector() {
        let vectors = StandInEmbedder::default().embed(&["", "!?", "ok"]).unwrap();
        assert_eq!(vectors[0], Err(BadVector::Zero));
        assert_eq!(vectors[1], Err(BadVector::Zero));
        assert!(vectors[2].is_ok());
    }
}

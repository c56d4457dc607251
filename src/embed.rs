//! Step 2, embed: text → unit vector.
//!
//! Owns the trait that every embedder fulfils, the vector type, and the
//! identity that ties an index to the model it was built with. Must not know
//! what the texts mean.

mod cache;
mod onnx;
mod remote;
mod stand_in;

pub use cache::CachedEmbedder;
pub use onnx::OnnxEmbedder;
pub use remote::{KeyState, Limits, RemoteEmbedder, RemoteError, RemoteModel, RemoteWriter};
pub use stand_in::StandInEmbedder;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::Digest;
use sha2::Sha256;

use crate::confidence::Calibration;
use crate::error::Fault;
use crate::models::ModelError;

/// A vector of finite numbers with Euclidean norm 1; a dot product of two is
/// their cosine.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitVector(Box<[f32]>);

/// Why numbers that came out of a model are no usable vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVector {
    /// The model promised another dimension.
    #[error("vector has {got} numbers, the model promises {expected}")]
    WrongLength {
        /// Dimension of the model.
        expected: usize,
        /// Numbers received.
        got: usize,
    },
    /// NaN or an infinity among the numbers.
    #[error("vector holds NaN or infinity")]
    NotFinite,
    /// Nothing to normalise.
    #[error("vector is zero")]
    Zero,
}

impl UnitVector {
    /// Normalises `values` to length 1.
    ///
    /// # Errors
    /// Refuses a length other than `dim`, NaN, infinity, and the zero vector.
    pub fn new(mut values: Vec<f32>, dim: usize) -> Result<Self, BadVector> {
        if values.len() != dim {
            return Err(BadVector::WrongLength { expected: dim, got: values.len() });
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err(BadVector::NotFinite);
        }
        // f64: squares of large f32 overflow f32.
        let norm = values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        if norm < 1e-12 {
            return Err(BadVector::Zero);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the quotient is in [-1, 1]")]
        for value in &mut values {
            *value = (f64::from(*value) / norm) as f32;
        }
        Ok(Self(values.into_boxed_slice()))
    }

    /// Takes numbers that already have norm 1 (within 1e-3) as they are.
    ///
    /// # Errors
    /// As [`UnitVector::new`]; a norm other than 1 counts as not normalised.
    pub fn from_unit(values: Vec<f32>, dim: usize) -> Result<Self, BadVector> {
        let norm = values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        if values.len() == dim && (norm - 1.0).abs() < 1e-3 {
            return Ok(Self(values.into_boxed_slice()));
        }
        Self::new(values, dim)
    }

    /// The numbers, `[dim]`.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }
}

/// What decides a vector: two embedders with equal identity give equal vectors
/// on one kind of machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name in the model manifest.
    pub model: String,
    /// Length of a vector.
    pub dim: usize,
    /// `cls`, `mean`, or what else the model is read out by.
    pub pooling: String,
    /// Put before raw chat text, never before `tool:` lines.
    pub query_prefix: String,
    /// Tokens read; the rest of a text is cut.
    pub max_length: usize,
    /// File name and sha256 of every file of the model.
    pub files: Vec<(String, String)>,
}

impl Identity {
    /// sha256 over all fields.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for field in [&self.model, &self.pooling, &self.query_prefix] {
            hash.update(field.as_bytes());
            hash.update([0]);
        }
        hash.update(format!("{} {}", self.dim, self.max_length));
        for (name, sha256) in &self.files {
            hash.update(format!("\0{name}\0{sha256}"));
        }
        hash.finalize().into()
    }
}

/// Turns texts into unit vectors.
///
/// A text's vector depends on the text alone, never on its neighbours in the
/// same call.
pub trait Embedder: Send + Sync {
    /// What the vectors depend on everywhere.
    fn identity(&self) -> &Identity;

    /// What they also depend on a little: runtime version and architecture.
    fn runtime(&self) -> &str;

    /// How sure a ranking by this model can be, where that was measured.
    fn calibration(&self) -> Option<Calibration> {
        None
    }

    /// One answer per text, in order; a text whose vector is unusable gets
    /// the reason and costs its neighbours nothing.
    ///
    /// # Errors
    /// Fails when the model itself cannot run.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError>;
}

/// What can go wrong between a text and its vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model is not there, or not what the manifest says.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The ONNX Runtime library does not load.
    #[error("cannot load the ONNX Runtime library `{path}`; run `toolscout models verify`")]
    Runtime {
        /// The library.
        path: PathBuf,
        /// What the loader said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A model file changed since it was pulled.
    #[error(
        "`{path}` has sha256 {got}, the manifest says {expected}; run `toolscout models pull {model}`"
    )]
    Changed {
        /// The model it belongs to.
        model: String,
        /// The file.
        path: PathBuf,
        /// From the manifest.
        expected: String,
        /// Of the file.
        got: String,
    },
    /// The model does not load or does not run.
    #[error("model `{model}` failed")]
    Inference {
        /// Its name.
        model: String,
        /// What fastembed said.
        #[source]
        source: fastembed::Error,
    },
    /// The remote model gives no vectors.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl EmbedError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Inference { .. } => Fault::Bug,
            Self::Remote(error) => error.fault(),
            _ => Fault::Environment,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_numbers_are_refused_by_kind() {
        let bad = |values: Vec<f32>| UnitVector::new(values, 2).unwrap_err();
        assert_eq!(bad(vec![1.0]), BadVector::WrongLength { expected: 2, got: 1 });
        assert_eq!(bad(vec![f32::NAN, 1.0]), BadVector::NotFinite);
        assert_eq!(bad(vec![1.0, f32::INFINITY]), BadVector::NotFinite);
        assert_eq!(bad(vec![0.0, -0.0]), BadVector::Zero);
    }

    #[test]
    fn norm_is_one_also_for_huge_and_tiny_numbers() {
        for scale in [1e-10_f32, 1.0, 1e30] {
            let unit = UnitVector::new(vec![3.0 * scale, 4.0 * scale], 2).unwrap();
            assert!((unit.as_slice()[0] - 0.6).abs() < 1e-6, "{scale}");
            assert!((unit.as_slice()[1] - 0.8).abs() < 1e-6, "{scale}");
        }
    }

    #[test]
    fn identity_digest_knows_every_field() {
        let base = StandInEmbedder::default().identity().clone();
        let mut changed = vec![base.clone(); 6];
        changed[0].model.push('x');
        changed[1].dim += 1;
        changed[2].pooling.push('x');
        changed[3].query_prefix.push('x');
        changed[4].max_length += 1;
        changed[5].files.push(("model.onnx".into(), "00".into()));
        for other in changed {
            assert_ne!(base.digest(), other.digest(), "{other:?}");
        }
    }
}

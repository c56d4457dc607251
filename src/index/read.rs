//! Opening a generation: memory-mapped, checked, never trusted.
//!
//! `open` is cheap (manifest, shapes); `verify` reads every byte and every
//! row. Nothing may be answered from an index that was not verified once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use safetensors::Dtype;
use serde::de::DeserializeOwned;

use super::format::{
    CATALOG, CURRENT, LEXICAL, MANIFEST, MANIFEST_SHA256, OFFSETS, SCALES, SURFACE, TOOL_OPERATION,
    TOOL_SERVER, VECTORS,
};
use super::neighbors::NeighborsFile;
use super::publish::generations;
use super::tensor::Tensors;
use super::write::sha256_hex;
use super::{
    FORMAT_VERSION, IndexError, Lexical, Manifest, Matrix, Neighbors, ServerRecord, Surface,
    ToolRecord,
};
use crate::catalog::{ServerId, ToolId};
use crate::embed::Identity;
use crate::vectors::Graph;
use crate::vectors::Numbers;
use crate::vectors::Precision;
use crate::vectors::Rows;

/// Swaps seen in a row before a reader gives up; each needs a whole build.
const MAX_SWAPS: usize = 10;

/// One generation, open for reading; stays valid while others rebuild.
#[derive(Debug)]
pub struct Index {
    dir: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) manifest: Manifest,
    digest: String,
    pub(super) vectors: Mmap,
    pub(super) catalog: Mmap,
    pub(super) words: Arc<Mmap>,
    lexical: Lexical,
    pub(super) neighbors: Option<NeighborsFile>,
    pub(super) tensors: Tensors,
}

impl Index {
    /// Opens the live generation of `dir` without reading its rows.
    ///
    /// # Errors
    /// Says what is missing, too new, or damaged, and which command cures it.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        let mut name = current(dir)?;
        for _ in 0..MAX_SWAPS {
            let opened = Self::open_generation(dir, &name);
            let now = current(dir)?;
            // A writer may have swapped twice and removed what we were opening.
            if opened.is_ok() || now == name {
                return opened;
            }
            name = now;
        }
        Self::open_generation(dir, &name)
    }

    /// Opens the newest generation of `dir` that passes [`Index::verify`].
    ///
    /// Returns it with the error of the live one, if that is not the one.
    ///
    /// # Errors
    /// The error of the live generation, when no other is sound either.
    pub fn open_sound(dir: &Path) -> Result<(Self, Option<IndexError>), IndexError> {
        Self::first(dir, |index| index.verify().map(|()| index))
    }

    /// What `accept` makes of the live generation or, where it refuses, of the
    /// newest one it takes; with the error of the live one then.
    ///
    /// # Errors
    /// The error of the live generation, when no other is accepted either.
    pub fn first<T, E: From<IndexError>>(
        dir: &Path,
        accept: impl Fn(Self) -> Result<T, E>,
    ) -> Result<(T, Option<E>), E> {
        let error = match Self::open(dir) {
            Ok(index) => match accept(index) {
                Ok(accepted) => return Ok((accepted, None)),
                Err(error) => error,
            },
            Err(error @ IndexError::Missing { .. }) => return Err(error.into()),
            Err(error) => error.into(),
        };
        for name in older(dir) {
            if let Ok(index) = Self::open_generation(dir, &name)
                && let Ok(accepted) = accept(index)
            {
                return Ok((accepted, Some(error)));
            }
        }
        Err(error)
    }

    /// The manifest of the live generation or, where it is damaged, of the
    /// newest one that can be read.
    ///
    /// # Errors
    /// The error of the live manifest, when no other can be read either.
    pub fn recorded(dir: &Path) -> Result<Manifest, IndexError> {
        let live = current(dir).and_then(|name| read_manifest(&dir.join(name)));
        let missing = matches!(live, Err(IndexError::Missing { .. }));
        live.or_else(|error| {
            let mut rest = older(dir).into_iter().filter(|_| !missing);
            rest.find_map(|name| read_manifest(&dir.join(name)).ok()).ok_or(error)
        })
    }

    pub(super) fn open_generation(dir: &Path, name: &str) -> Result<Self, IndexError> {
        let folder = dir.join(name);
        let manifest = read_manifest(&folder)?;
        let digest = fs_err::read_to_string(folder.join(MANIFEST_SHA256)).unwrap_or_default();
        let vectors = map(&folder.join(VECTORS))?;
        let catalog = map(&folder.join(CATALOG))?;
        let tensors = {
            let precision = manifest.storage.precision;
            Tensors::parse(&folder.join(VECTORS), &vectors, |name| dtype(name, precision))?
        };
        let words = Arc::new(map(&folder.join(LEXICAL))?);
        let lexical = Lexical::open(&folder.join(LEXICAL), &words)?;
        let (graphs, dim) = (manifest.graphs(), manifest.embedder.dim);
        let neighbors = match graphs.is_empty() {
            true => None,
            false => Some(NeighborsFile::open(&folder, &graphs, dim)?),
        };
        let dir = dir.to_owned();
        let index = Self {
            dir,
            folder,
            manifest,
            digest,
            vectors,
            catalog,
            words,
            lexical,
            neighbors,
            tensors,
        };
        index.check_shapes()?;
        Ok(index)
    }

    /// The directory it was opened from.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it was built from and with.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What tells the live generation from any other: its name and the checksum
    /// of its manifest; cheap enough to ask before every answer.
    ///
    /// # Errors
    /// [`IndexError::Missing`] when there is no index.
    pub fn live_generation(dir: &Path) -> Result<String, IndexError> {
        let name = current(dir)?;
        let checksum = fs_err::read_to_string(dir.join(&name).join(MANIFEST_SHA256));
        Ok(format!("{name} {}", checksum.unwrap_or_default()))
    }

    /// sha256 of the manifest, which stands for the whole generation.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Size of all files.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.manifest.files.values().map(|file| file.bytes).sum()
    }

    /// Fails unless `embedder` is the model this index was built with.
    ///
    /// # Errors
    /// [`IndexError::OtherModel`] names both.
    pub fn require_model(&self, embedder: &Identity) -> Result<(), IndexError> {
        if self.manifest.embedder == *embedder {
            return Ok(());
        }
        let name = |id: &Identity| {
            let digest = id.digest();
            format!(
                "`{}` ({}, {:02x}{:02x}{:02x})",
                id.model, id.dim, digest[0], digest[1], digest[2]
            )
        };
        Err(IndexError::OtherModel { index: name(&self.manifest.embedder), loaded: name(embedder) })
    }

    /// A matrix; `None` where the index was built without it.
    #[must_use]
    pub fn rows(&self, kind: Matrix) -> Option<Rows<'_>> {
        let (name, bytes) = (kind.name(), &self.vectors);
        let numbers = match self.manifest.storage.precision {
            Precision::F32 => Numbers::F32(self.tensors.numbers(bytes, name)?),
            Precision::F16 => Numbers::F16(self.tensors.numbers(bytes, name)?),
            Precision::Int8 => Numbers::Int8 {
                codes: self.tensors.numbers(bytes, name)?,
                scales: self.tensors.numbers(bytes, &kind.scales_name())?,
            },
        };
        Rows::new(self.manifest.embedder.dim, numbers)
    }

    /// A graph of neighbours; `None` where every row can be looked at.
    #[must_use]
    pub fn graph(&self, kind: Neighbors) -> Option<Graph<'_>> {
        self.neighbors.as_ref()?.graph(kind, self.manifest.embedder.dim)
    }

    /// The search by words.
    #[must_use]
    pub fn lexical(&self) -> &Lexical {
        &self.lexical
    }

    /// Owner of each tool, `[n_tools]`, ascending.
    #[must_use]
    pub fn tool_server(&self) -> &[u32] {
        self.numbers(TOOL_SERVER)
    }

    /// What each tool does, a bit a class of operations, `[n_tools]`.
    #[must_use]
    pub fn tool_operation(&self) -> &[u8] {
        self.numbers(TOOL_OPERATION)
    }

    /// The record of a server.
    ///
    /// # Errors
    /// Fails when its line is damaged.
    pub fn server(&self, id: ServerId) -> Result<ServerRecord, IndexError> {
        self.record(id.row())
    }

    /// The record of a tool, schemas as the source wrote them.
    ///
    /// # Errors
    /// Fails when its line is damaged.
    pub fn tool(&self, id: ToolId) -> Result<ToolRecord, IndexError> {
        self.record(self.manifest.counts.servers + id.row())
    }

    /// What the meta-server says of itself.
    ///
    /// # Errors
    /// Fails when the file is damaged.
    pub fn surface(&self) -> Result<Surface, IndexError> {
        Self::surface_in(&self.folder)
    }

    /// What the live generation of `dir` says of itself, or the newest one
    /// whose manifest and surface are sound, without opening the rest.
    ///
    /// # Errors
    /// The error of the live generation.
    pub fn live_surface(dir: &Path) -> Result<Surface, IndexError> {
        let sound = |name: &String| {
            let folder = dir.join(name);
            let manifest = read_manifest(&folder)?;
            let surface = Self::surface_in(&folder)?;
            let bytes = fs_err::read(folder.join(SURFACE)).map(|bytes| sha256_hex(&bytes));
            let recorded = manifest.files.get(SURFACE).map(|file| file.sha256.clone());
            if bytes.ok() == recorded {
                return Ok(surface);
            }
            let what = "sha256 is not that of the manifest".to_owned();
            Err(IndexError::Damaged { path: folder.join(SURFACE), what })
        };
        match current(dir).and_then(|name| sound(&name)) {
            Err(IndexError::Missing { dir }) => Err(IndexError::Missing { dir }),
            live => live
                .or_else(|error| older(dir).iter().find_map(|name| sound(name).ok()).ok_or(error)),
        }
    }

    fn surface_in(folder: &Path) -> Result<Surface, IndexError> {
        let path = folder.join(SURFACE);
        let bytes = fs_err::read(&path)
            .map_err(|source| IndexError::Read { path: path.clone(), source })?;
        serde_json::from_slice(&bytes)
            .map_err(|error| IndexError::Damaged { path, what: error.to_string() })
    }

    fn record<T: DeserializeOwned>(&self, line: usize) -> Result<T, IndexError> {
        let offsets: &[u64] = self.numbers(OFFSETS);
        let bounds = offsets.get(line).zip(offsets.get(line + 1));
        let bytes = bounds
            .and_then(|(&from, &to)| {
                self.catalog.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
            })
            .unwrap_or_default();
        serde_json::from_slice(bytes).map_err(|error| IndexError::Damaged {
            path: self.folder.join(CATALOG),
            what: format!("record {line}: {error}"),
        })
    }

    fn numbers<T: bytemuck::AnyBitPattern>(&self, name: &str) -> &[T] {
        self.tensors.numbers(&self.vectors, name).unwrap_or_default()
    }
}

/// Names of all generations, newest first.
fn older(dir: &Path) -> Vec<String> {
    generations(dir).into_iter().rev().map(|number| format!("gen-{number}")).collect()
}

fn current(dir: &Path) -> Result<String, IndexError> {
    let path = dir.join(CURRENT);
    let name = match fs_err::read_to_string(&path) {
        Ok(name) => name.trim_end().to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if generations(dir).is_empty() {
                return Err(IndexError::Missing { dir: dir.to_owned() });
            }
            return Err(IndexError::Damaged { path, what: "the file is missing".to_owned() });
        }
        Err(source) => return Err(IndexError::Read { path, source }),
    };
    let number = name.strip_prefix("gen-").and_then(|number| number.parse::<u64>().ok());
    match number {
        Some(_) => Ok(name),
        None => Err(IndexError::Damaged {
            path,
            what: format!(
                "expected `gen-N`, found {:?}",
                name.chars().take(40).collect::<String>()
            ),
        }),
    }
}

pub(super) fn read_manifest(folder: &Path) -> Result<Manifest, IndexError> {
    let path = folder.join(MANIFEST);
    let read = |path: &Path| {
        fs_err::read(path).map_err(|source| IndexError::Read { path: path.to_owned(), source })
    };
    let bytes = read(&path)?;
    let damaged = |what: String| IndexError::Damaged { path: path.clone(), what };
    let any: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let found = any.get("format_version").and_then(serde_json::Value::as_u64);
    match found {
        Some(version) if version == u64::from(FORMAT_VERSION) => {}
        Some(found) => {
            return Err(IndexError::Version { path, found, expected: FORMAT_VERSION });
        }
        None => return Err(damaged("no `format_version`".to_owned())),
    }
    let checksum = read(&folder.join(MANIFEST_SHA256))?;
    let (got, checksum) = (sha256_hex(&bytes), String::from_utf8_lossy(&checksum));
    let expected = checksum.split_whitespace().next().unwrap_or_default();
    if got != expected {
        return Err(damaged(format!("sha256 {got}, expected {expected}")));
    }
    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))
}

#[expect(unsafe_code, reason = "a memory map is the only way not to copy the vectors")]
pub(super) fn map(path: &Path) -> Result<Mmap, IndexError> {
    let failed = |source| IndexError::Read { path: path.to_owned(), source };
    let file = fs_err::File::open(path).map_err(failed)?;
    // SAFETY: files of a generation are never written again once their folder
    // has its final name; writers make new folders and remove old ones, which
    // leaves the pages of an open map in place. Only a stranger who truncates
    // the file under us could end the process (SIGBUS).
    unsafe { Mmap::map(file.file()) }.map_err(failed)
}

/// The type of a tensor of `vectors.safetensors`.
fn dtype(name: &str, precision: Precision) -> Dtype {
    match (name, precision) {
        (OFFSETS, _) => Dtype::U64,
        (TOOL_SERVER, _) => Dtype::U32,
        (TOOL_OPERATION, _) => Dtype::U8,
        (_, Precision::F16) => Dtype::F16,
        (_, Precision::Int8) if !name.ends_with(SCALES) => Dtype::I8,
        _ => Dtype::F32,
    }
}

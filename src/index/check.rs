//! Whether a generation is what its manifest says: shapes, bytes, rows.

use super::format::{CATALOG, LEXICAL, NEIGHBORS, OFFSETS, TOOL_OPERATION, TOOL_SERVER, VECTORS};
use super::write::sha256_hex;
use super::{Index, IndexError, Matrix};
use crate::vectors::Precision;

impl Index {
    /// Re-reads every file and every row.
    ///
    /// # Errors
    /// Names the first file whose size, checksum or rows are not as built.
    pub fn verify(&self) -> Result<(), IndexError> {
        for (name, record) in &self.manifest.files {
            let path = self.folder.join(name);
            let other;
            let bytes: &[u8] = match name.as_str() {
                VECTORS => &self.vectors,
                CATALOG => &self.catalog,
                LEXICAL => &self.words,
                NEIGHBORS => {
                    self.neighbors.as_ref().map(|file| &file.bytes[..]).unwrap_or_default()
                }
                _ => {
                    other = fs_err::read(&path)
                        .map_err(|source| IndexError::Read { path: path.clone(), source })?;
                    &other
                }
            };
            let got = sha256_hex(bytes);
            if bytes.len() as u64 != record.bytes || got != record.sha256 {
                let what = format!(
                    "{} bytes with sha256 {got}, expected {} bytes with {}",
                    bytes.len(),
                    record.bytes,
                    record.sha256
                );
                return Err(IndexError::Damaged { path, what });
            }
        }
        self.check_rows()?;
        self.check_graphs()
    }

    /// Dims and row counts agree with the manifest.
    pub(super) fn check_shapes(&self) -> Result<(), IndexError> {
        let counts = self.manifest.counts;
        let dim = self.manifest.embedder.dim;
        let mut expected = vec![
            (TOOL_SERVER.to_owned(), vec![counts.tools]),
            (TOOL_OPERATION.to_owned(), vec![counts.tools]),
            (OFFSETS.to_owned(), vec![counts.servers + counts.tools + 1]),
        ];
        for kind in Matrix::ALL {
            let rows = if kind.is_of_tools() { counts.tools } else { counts.servers };
            if kind != Matrix::ToolDescription || self.manifest.paper {
                expected.push((kind.name().to_owned(), vec![rows, dim]));
                if self.manifest.storage.precision == Precision::Int8 {
                    expected.push((kind.scales_name(), vec![rows]));
                }
            }
        }
        let n_tools = self.lexical().n_tools();
        if n_tools != counts.tools {
            let what = format!("words of {n_tools} tools, expected {}", counts.tools);
            return Err(IndexError::Damaged { path: self.folder.join(LEXICAL), what });
        }
        for (name, shape) in expected {
            let found = self.tensors.shape(&name);
            if found != Some(shape.as_slice()) {
                let found = found.map_or("no such tensor".to_owned(), |s| format!("shape {s:?}"));
                return Err(self.damaged_vectors(format!(
                    "`{name}`: expected shape {shape:?}, found {found}"
                )));
            }
        }
        Ok(())
    }

    /// Every row has norm 1, or is zero and counted as absent.
    fn check_rows(&self) -> Result<(), IndexError> {
        let servers = self.manifest.counts.servers;
        let owners = self.tool_server();
        if !owners.is_sorted() || owners.last().is_some_and(|&last| last as usize >= servers) {
            return Err(self.damaged_vectors(format!(
                "`{TOOL_SERVER}` does not ascend within {servers} servers"
            )));
        }
        for kind in Matrix::ALL {
            let Some(rows) = self.rows(kind) else {
                continue;
            };
            let mut n_zero = 0;
            for row in 0..rows.n_rows() {
                let norm = rows.norm(row);
                if norm == 0.0 {
                    n_zero += 1;
                } else if !(norm - 1.0).abs().le(&1e-3) {
                    return Err(self.damaged_vectors(format!(
                        "row {row} of `{}` has norm {norm}, expected 1",
                        kind.name()
                    )));
                }
            }
            let absent = self.manifest.absent.get(kind.name()).copied().unwrap_or_default();
            let expected = absent.no_text + absent.bad_vector;
            if n_zero != expected {
                return Err(self.damaged_vectors(format!(
                    "`{}` has {n_zero} zero rows, expected {expected}",
                    kind.name()
                )));
            }
        }
        Ok(())
    }

    fn check_graphs(&self) -> Result<(), IndexError> {
        let Some(file) = &self.neighbors else { return Ok(()) };
        let (counts, dim) = (self.manifest.counts, self.manifest.embedder.dim);
        self.manifest.graphs().into_iter().try_for_each(|kind| file.check(kind, counts, dim))
    }

    fn damaged_vectors(&self, what: String) -> IndexError {
        IndexError::Damaged { path: self.folder.join(VECTORS), what }
    }
}

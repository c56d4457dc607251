//! Texts → matrices: every distinct text is embedded once.

use std::collections::{BTreeMap, HashMap};

use ndarray::{Array2, ArrayView1};

use super::digest::{digest, tool_text};
use super::{BuildError, Event, Plan};
use crate::catalog::Server;
use crate::catalog::Tool;
use crate::embed::BadVector;
use crate::embed::Embedder;
use crate::embed::UnitVector;
use crate::index::Absent;
use crate::index::Matrix;
use crate::index::ServerRecord;
use crate::sources::shown;

/// Texts per call of the embedder: the step of the progress bar, and what a
/// killed build loses at most.
const CHUNK: usize = 64;

pub(super) struct Embedded {
    pub(super) matrices: BTreeMap<Matrix, Array2<f32>>,
    pub(super) absent: BTreeMap<String, Absent>,
    pub(super) warnings: Vec<String>,
    pub(super) n_texts: usize,
}

/// The matrices of `servers`; a plan for the paper adds the tool descriptions alone.
pub(super) fn embed(
    servers: &[Server],
    plan: &Plan,
    embedder: &dyn Embedder,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Embedded, BuildError> {
    let rows = rows(servers, plan);
    let vectors = embed_distinct(rows.values().flatten(), embedder, on_event)?;
    let mut embedded = Embedded {
        matrices: BTreeMap::new(),
        absent: BTreeMap::new(),
        warnings: Vec::new(),
        n_texts: vectors.len(),
    };
    for (kind, texts) in &rows {
        let mut matrix = Array2::zeros((texts.len(), embedder.identity().dim));
        let mut absent = Absent::default();
        for (row, text) in texts.iter().enumerate() {
            match vectors.get(text.as_str()) {
                Some(Ok(vector)) => {
                    matrix.row_mut(row).assign(&ArrayView1::from(vector.as_slice()))
                }
                Some(Err(bad)) => {
                    absent.bad_vector += 1;
                    let (who, name) = (owner(servers, *kind, row), kind.name());
                    embedded.warnings.push(format!("{who}: `{name}` has no vector: {bad}"));
                }
                None => absent.no_text += 1,
            }
        }
        embedded.matrices.insert(*kind, matrix);
        if absent != Absent::default() {
            embedded.absent.insert(kind.name().to_owned(), absent);
        }
    }
    Ok(embedded)
}

/// Whose text a row is of.
fn owner(servers: &[Server], kind: Matrix, mut row: usize) -> String {
    if !kind.is_of_tools() {
        return format!("server `{}`", shown(&servers[row].name));
    }
    for server in servers {
        match server.tools.get(row) {
            Some(tool) => {
                return format!("server `{}`, tool `{}`", shown(&server.name), shown(&tool.name));
            }
            None => row -= server.tools.len(),
        }
    }
    format!("row {row} beyond the last tool")
}

pub(super) fn server_record(server: &Server) -> ServerRecord {
    ServerRecord {
        name: server.name.clone(),
        description: server.description.clone(),
        summary: server.summary.clone(),
        url: server.url.clone(),
        digest: digest(server),
        n_tools: server.tools.len(),
        entry: server.entry.clone(),
    }
}

/// The text of every row of every matrix; empty where there is none.
fn rows(servers: &[Server], plan: &Plan) -> BTreeMap<Matrix, Vec<String>> {
    let of_servers = |text: fn(&Server) -> String| servers.iter().map(text).collect();
    let of_tools = |text: fn(&Tool) -> String| {
        servers.iter().flat_map(|server| server.tools.iter().map(text)).collect()
    };
    let mut rows = BTreeMap::from([
        (Matrix::ServerDescription, of_servers(|server| server.description.clone())),
        (Matrix::ServerSummary, of_servers(|server| server.summary.clone())),
        (Matrix::ServerDigest, of_servers(digest)),
        (Matrix::ToolText, of_tools(tool_text)),
    ]);
    if plan.paper {
        rows.insert(Matrix::ToolDescription, of_tools(|tool| tool.description.clone()));
    }
    rows
}

fn embed_distinct<'a>(
    texts: impl Iterator<Item = &'a String>,
    embedder: &dyn Embedder,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<HashMap<&'a str, Result<UnitVector, BadVector>>, BuildError> {
    let mut seen = HashMap::new();
    let distinct: Vec<&str> = texts
        .map(String::as_str)
        .filter(|text| !text.is_empty() && seen.insert(*text, ()).is_none())
        .collect();
    let total = distinct.len();
    let mut vectors = HashMap::with_capacity(total);
    for chunk in distinct.chunks(CHUNK) {
        vectors.extend(chunk.iter().copied().zip(embedder.embed(chunk)?));
        on_event(Event::Embedded { done: vectors.len(), total });
    }
    Ok(vectors)
}

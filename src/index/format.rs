//! What stands in an index directory.
//!
//! ```text
//! CURRENT              "gen-3": the live generation, replaced by rename
//! lock                 held while a build runs
//! mirror/              what sources behind URLs gave, for `index update`
//! gen-3/manifest.json  what it was built from and with; sha256 of the others
//! gen-3/manifest.sha256
//! gen-3/vectors.safetensors   matrices (unit rows) and id tables
//! gen-3/catalog.jsonl  server lines, then tool lines; offsets in the tensors
//! gen-3/lexical.safetensors   search by words, see `lexical`
//! gen-3/neighbors.safetensors graphs, see `neighbors`; only of large matrices
//! gen-3/surface.json   what the meta-server says of itself
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Neighbors;
use crate::catalog::{Entry, RawJson, Reject, Stale};
use crate::embed::Identity;
use crate::embed::RemoteModel;
use crate::vectors::Precision;

/// Raised whenever a reader of the older version would misread.
pub const FORMAT_VERSION: u32 = 4;

/// Folder of an index directory for what its sources behind URLs gave.
pub const MIRRORS: &str = "mirror";

/// Folder of an index directory for what servers answered.
pub const LIVE: &str = "live";

pub(super) const CURRENT: &str = "CURRENT";
pub(super) const LOCK: &str = "lock";
pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const MANIFEST_SHA256: &str = "manifest.sha256";
pub(super) const VECTORS: &str = "vectors.safetensors";
pub(super) const CATALOG: &str = "catalog.jsonl";
pub(super) const SURFACE: &str = "surface.json";
pub(super) const LEXICAL: &str = "lexical.safetensors";
pub(super) const NEIGHBORS: &str = "neighbors.safetensors";
/// End of the names of scales.
pub(super) const SCALES: &str = "_scales";
/// Row → server, `[n_tools]` u32, ascending.
pub(super) const TOOL_SERVER: &str = "tool_server";
/// What each tool does, `[n_tools]` u8, a bit a class of operations.
pub(super) const TOOL_OPERATION: &str = "tool_operation";
/// Byte offsets into the catalogue, `[n_servers + n_tools + 1]` u64.
pub(super) const OFFSETS: &str = "catalog_offsets";

/// The matrices of an index; rows are servers or tools, unit-norm or, where
/// the text is absent, all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matrix {
    /// `[n_servers × dim]`, the publisher's description.
    ServerDescription,
    /// `[n_servers × dim]`, the summary.
    ServerSummary,
    /// `[n_servers × dim]`, name, purpose and tool names.
    ServerDigest,
    /// `[n_tools × dim]`, name, description and parameter names.
    ToolText,
    /// `[n_tools × dim]`, the description alone (built with `--paper`).
    ToolDescription,
}

impl Matrix {
    /// All matrices, in file order.
    pub const ALL: [Self; 5] = [
        Self::ServerDescription,
        Self::ServerSummary,
        Self::ServerDigest,
        Self::ToolText,
        Self::ToolDescription,
    ];

    /// Name of the tensor.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerDescription => "server_description",
            Self::ServerSummary => "server_summary",
            Self::ServerDigest => "server_digest",
            Self::ToolText => "tool_text",
            Self::ToolDescription => "tool_description",
        }
    }

    /// Name of the tensor with the scales of its rows, where it is int8.
    #[must_use]
    pub fn scales_name(self) -> String {
        format!("{}{SCALES}", self.name())
    }

    /// Whether its rows are tools.
    #[must_use]
    pub fn is_of_tools(self) -> bool {
        matches!(self, Self::ToolText | Self::ToolDescription)
    }
}

/// How the vectors of an index are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Of every matrix.
    pub precision: Precision,
    /// Tool texts, and server texts, get a graph of neighbours where they have
    /// more rows than this; a server has three.
    pub graphs_above: usize,
}

impl Default for Storage {
    /// Exact numbers; graphs from about the size on where looking at every row
    /// takes longer (`eval/reports/size.md`).
    fn default() -> Self {
        Self { precision: Precision::F32, graphs_above: 20_000 }
    }
}

/// `manifest.json`.
///
/// Holds no time of day: equal sources give an equal manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// The N of `gen-N`.
    pub generation: u64,
    /// Version of the writer.
    pub toolscout: String,
    /// The model; an index is bound to it.
    pub embedder: Identity,
    /// Where the model answers, if it is not a local one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteModel>,
    /// The language model that summarised the servers, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<RemoteModel>,
    /// Runtime version and architecture; another one only warns.
    pub runtime: String,
    /// How the vectors are stored.
    pub storage: Storage,
    /// Whether tool descriptions were embedded alone too.
    pub paper: bool,
    /// Servers and tools.
    pub counts: Counts,
    /// What it was built from, in order.
    pub sources: Vec<SourceRecord>,
    /// What could not be taken over, with reasons.
    pub rejected: Vec<Reject>,
    /// What was taken over, but is not as it should be.
    pub warnings: Vec<String>,
    /// Servers that gave no list of tools, and whose earlier one stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<Stale>,
    /// The approved definitions, where others are withheld (`--pin`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins: Option<Pins>,
    /// Tools that are left out because their definition is not the approved one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// Rows without a vector, by matrix.
    pub absent: BTreeMap<String, Absent>,
    /// Every other file of the generation.
    pub files: BTreeMap<String, FileRecord>,
}

impl Manifest {
    /// The graphs that belong to it.
    pub(super) fn graphs(&self) -> Vec<Neighbors> {
        Neighbors::needed(self.counts, self.storage.graphs_above)
    }
}

/// How much an index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Rows of the server matrices.
    pub servers: usize,
    /// Rows of the tool matrices.
    pub tools: usize,
}

/// Rows that are zero, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// The text is empty.
    pub no_text: usize,
    /// The model gave no usable vector.
    pub bad_vector: usize,
}

/// One source file as it was when read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// Absolute path, or URL.
    pub path: String,
    /// `catalog`, `mcp-zero` …
    pub format: String,
    /// Whether the format was given by `--format` rather than recognised.
    pub forced: bool,
    /// Whether redirects of a URL may lead into private networks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_private: bool,
    /// Recorded on another machine and imported: its path is not read here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// Size.
    pub bytes: u64,
    /// Checksum.
    pub sha256: String,
}

/// SHA-256 of the approved definition of each tool, by server and tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins(pub BTreeMap<String, BTreeMap<String, String>>);

/// A tool whose definition is not the approved one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Withheld {
    /// Name of its server.
    pub server: String,
    /// Its name there.
    pub tool: String,
    /// SHA-256 of the definition that was approved.
    pub approved: String,
    /// SHA-256 of the definition that was seen, and would be approved.
    pub seen: String,
    /// The description that was seen.
    pub description: String,
    /// The schema that was seen.
    pub input_schema: Option<RawJson>,
}

impl PartialEq for Withheld {
    /// The hash that was seen covers description and schema.
    fn eq(&self, other: &Self) -> bool {
        [&self.server, &self.tool, &self.approved, &self.seen]
            == [&other.server, &other.tool, &other.approved, &other.seen]
    }
}

impl Eq for Withheld {}

/// Size and checksum of a file of the generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Size.
    pub bytes: u64,
    /// Checksum.
    pub sha256: String,
}

/// A server's line in `catalog.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Unique name.
    pub name: String,
    /// May be empty.
    pub description: String,
    /// May be empty.
    pub summary: String,
    /// Homepage.
    pub url: Option<String>,
    /// The generated text that was embedded beside the two above.
    pub digest: String,
    /// Its number of tools.
    pub n_tools: usize,
    /// Where it can be called, if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
}

/// A tool's line in `catalog.jsonl`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolRecord {
    /// The name offered to clients: `server__tool`, unique, ≤ 60 characters.
    pub exposed: String,
    /// Name of its server.
    pub server: String,
    /// Name on its server.
    pub name: String,
    /// Display name.
    pub title: Option<String>,
    /// May be empty.
    pub description: String,
    /// As the source wrote it; line breaks between tokens are dropped.
    pub input_schema: Option<RawJson>,
    /// The same.
    pub output_schema: Option<RawJson>,
    /// The same.
    pub annotations: Option<RawJson>,
}

/// `surface.json`: what the meta-server shows before any request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surface {
    /// `instructions` of `initialize`.
    pub instructions: String,
    /// Description of the tool `discover_tools`.
    pub tool_description: String,
    /// Servers in the index.
    pub n_servers: usize,
    /// Tools in the index.
    pub n_tools: usize,
    /// What it costs and what it replaces, in o200k_base tokens.
    pub tokens: SurfaceTokens,
}

/// Token counts (o200k_base), computed at build time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceTokens {
    /// All tool definitions of the index, as `tools/list` would carry them.
    pub all_schemas: usize,
    /// The entry of `discover_tools` without its `outputSchema`.
    pub tool_entry: usize,
    /// With it.
    pub tool_entry_with_output_schema: usize,
    /// The instructions.
    pub instructions: usize,
}

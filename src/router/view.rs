//! The part of an index that exists for who asks.

use std::fmt;

use sha2::Digest;
use sha2::Sha256;

use crate::catalog::ToolId;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::ToolRecord;
use crate::rank::Allowed;

/// Which tools, and their servers, may be found; of one generation.
#[derive(Clone, PartialEq, Eq)]
pub struct View {
    servers: Vec<bool>,
    tools: Vec<bool>,
    ids: Vec<ToolId>,
    digest: String,
}

impl View {
    /// What `allows` lets through; a server is there if one of its tools is.
    ///
    /// # Errors
    /// Fails when a record is damaged.
    pub fn of(index: &Index, allows: impl Fn(&ToolRecord) -> bool) -> Result<Self, IndexError> {
        let (mut servers, mut tools) = (vec![false; index.manifest().counts.servers], Vec::new());
        for (id, server) in (0..).map(ToolId).zip(index.tool_server()) {
            let is_allowed = allows(&index.tool(id)?);
            tools.push(is_allowed);
            servers[*server as usize] |= is_allowed;
        }
        let ids = (0..).map(ToolId).zip(&tools).filter(|(_, is_allowed)| **is_allowed);
        let ids = ids.map(|(id, _)| id).collect();
        let bytes: Vec<u8> = tools.iter().map(|is_allowed| u8::from(*is_allowed)).collect();
        let digest = hex::encode(&Sha256::digest(&bytes)[..8]);
        Ok(Self { servers, tools, ids, digest })
    }

    pub(super) fn allowed(&self) -> Allowed<'_> {
        Allowed { servers: &self.servers, tools: &self.tools }
    }

    /// Leaves no other tool a score by words, `[n_tools]`.
    pub(super) fn hide_others(&self, scores: &mut [f32]) {
        for (score, is_allowed) in scores.iter_mut().zip(&self.tools) {
            if !is_allowed {
                *score = 0.0;
            }
        }
    }

    /// The tools, ascending.
    #[must_use]
    pub fn tools(&self) -> &[ToolId] {
        &self.ids
    }

    /// Rows of the servers, ascending.
    pub fn servers(&self) -> impl Iterator<Item = usize> {
        self.servers.iter().enumerate().filter(|(_, is_there)| **is_there).map(|(row, _)| row)
    }
}

impl fmt::Debug for View {
    /// What tells it from others; answers are remembered by it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View({})", self.digest)
    }
}

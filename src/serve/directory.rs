//! Exposed name → tool that can be called, for one generation of the index.

use std::collections::HashMap;
use std::collections::HashSet;

use super::backends::Backends;
use crate::catalog::ServerId;
use crate::catalog::ToolId;
use crate::index::Index;
use crate::index::IndexError;

/// What can be called.
#[derive(Default)]
pub(super) struct Directory {
    tools: HashMap<String, Callable>,
    /// Names of earlier generations that are no more.
    removed: HashSet<String>,
}

/// A tool and the server that has it.
#[derive(Clone, Debug)]
pub(super) struct Callable {
    /// In the pool.
    pub(super) server: String,
    /// In the index.
    pub(super) tool: ToolId,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Found<'a> {
    Tool(&'a Callable),
    Removed,
    Unknown,
}

impl Directory {
    pub(super) fn of(
        index: &Index,
        backends: &Backends,
        before: Option<&Self>,
    ) -> Result<Self, IndexError> {
        let mut tools = HashMap::new();
        let mut server_of: HashMap<u32, Option<String>> = HashMap::new();
        for (tool, server) in (0..).map(ToolId).zip(index.tool_server()) {
            let name = match server_of.get(server) {
                Some(name) => name.clone(),
                None => {
                    let record = index.server(ServerId(*server))?;
                    let name =
                        record.entry.and_then(|entry| backends.name_of(&entry).map(str::to_owned));
                    server_of.entry(*server).or_insert(name).clone()
                }
            };
            if let Some(server) = name {
                tools.insert(index.tool(tool)?.exposed, Callable { server, tool });
            }
        }
        let removed =
            before.into_iter().flat_map(|before| before.tools.keys().chain(&before.removed));
        let removed = removed.filter(|name| !tools.contains_key(*name)).cloned().collect();
        Ok(Self { tools, removed })
    }

    pub(super) fn find(&self, name: &str) -> Found<'_> {
        match self.tools.get(name) {
            Some(callable) => Found::Tool(callable),
            None if self.removed.contains(name) => Found::Removed,
            None => Found::Unknown,
        }
    }
}

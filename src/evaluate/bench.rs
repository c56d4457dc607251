//! A pool of tools as an index of its own, and a router over it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::EvalError;
use super::cases::Name;
use crate::build;
use crate::build::Plan;
use crate::catalog::Server;
use crate::catalog::ToolId;
use crate::embed::Embedder;
use crate::index::Index;
use crate::index::Storage;
use crate::router::Router;
use crate::sources;
use crate::sources::Fetching;
use crate::sources::Live;
use crate::sources::Source;

/// An index in a folder that goes with it.
pub(super) struct Bench {
    pub(super) router: Router,
    ids: HashMap<(String, String), ToolId>,
    by_name: HashMap<String, Vec<ToolId>>,
    _dir: TempDir,
}

impl Bench {
    /// Builds the index of `servers`, also with the paper's vectors.
    pub(super) fn new<'a>(
        servers: impl IntoIterator<Item = &'a Server>,
        embedder: &Arc<dyn Embedder>,
        on_embedded: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, EvalError> {
        let temporary = std::env::temp_dir();
        let write = |source| EvalError::Write { path: temporary.clone(), source };
        let dir = TempDir::with_prefix("toolscout-eval-").map_err(write)?;
        let catalog = dir.path().join("catalog.json");
        let text = sources::export(servers).map_err(|source| EvalError::BadSet {
            path: catalog.clone(),
            reason: source.to_string(),
        })?;
        fs_err::write(&catalog, text).map_err(write)?;
        let plan = Plan {
            sources: vec![Source::of_path(catalog)],
            fetching: Fetching::default(),
            dir: dir.path().join("index"),
            paper: true,
            storage: Storage::default(),
            remote: None,
            summarizer: None,
            live: Live::default(),
            pin: false,
            approve: Vec::new(),
        };
        build::build(&plan, embedder.as_ref(), None, &mut |event| {
            if let build::Event::Embedded { done, total } = event {
                on_embedded(done, total);
            }
        })?;
        Self::open(&plan.dir, embedder, dir)
    }

    fn open(path: &Path, embedder: &Arc<dyn Embedder>, dir: TempDir) -> Result<Self, EvalError> {
        let index = Index::open(path)?;
        let (mut ids, mut by_name) = (HashMap::new(), HashMap::<String, Vec<ToolId>>::new());
        for id in (0..).take(index.manifest().counts.tools).map(ToolId) {
            let tool = index.tool(id)?;
            by_name.entry(tool.name.clone()).or_default().push(id);
            ids.insert((tool.server, tool.name), id);
        }
        let router = Router::new(Arc::new(index), Arc::clone(embedder))?;
        Ok(Self { router, ids, by_name, _dir: dir })
    }

    /// The tools that a label may mean; none if the pool has none of them.
    pub(super) fn find(&self, name: &Name) -> Vec<ToolId> {
        if name.servers.is_empty() {
            return self.by_name.get(&name.tool).cloned().unwrap_or_default();
        }
        let find = |server: &String| self.ids.get(&(server.clone(), name.tool.clone())).copied();
        name.servers.iter().filter_map(find).collect()
    }
}

/// `servers` with only those tools for which `keeps(server, tool)`; a server
/// that loses all of them stays.
pub(super) fn reduced(servers: &[Server], keeps: impl Fn(&str, &str) -> bool) -> Vec<Server> {
    let keep = |server: &Server| {
        let mut server = server.clone();
        let name = server.name.clone();
        server.tools.retain(|tool| keeps(&name, &tool.name));
        server
    };
    servers.iter().map(keep).collect()
}

/// Server and tool names of `ids`.
pub(super) fn names(
    router: &Router,
    ids: &[ToolId],
) -> Result<HashSet<(String, String)>, EvalError> {
    let name = |id: &ToolId| {
        let tool = router.index().tool(*id)?;
        Ok((tool.server, tool.name))
    };
    ids.iter().map(name).collect()
}

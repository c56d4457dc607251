//! One generation, loaded: what answers, and what can be called.
//!
//! Blocking: index and model are loaded in parallel.

use std::path::Path;
use std::sync::Arc;

use quick_cache::sync::Cache;

use super::backends::Backends;
use super::directory::Directory;
use super::engine::EngineError;
use super::engine::Loader;
use super::schema::Schema;
use crate::access::Visitor;
use crate::catalog::ToolId;
use crate::embed::Embedder;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::Manifest;
use crate::index::Surface;
use crate::index::ToolRecord;
use crate::router::Router;
use crate::router::View;

/// Compiled schemas that are kept, and views of tenants.
const CACHED_SCHEMAS: usize = 256;
const CACHED_VIEWS: usize = 1_024;

/// One generation, loaded.
pub(super) struct Live {
    /// What `CURRENT` said when this was loaded.
    pub(super) generation: String,
    embedder: Arc<dyn Embedder>,
    pub(super) router: Router,
    pub(super) surface: Arc<Surface>,
    /// What can be called.
    pub(super) directory: Directory,
    schemas: Cache<ToolId, Arc<Schema>>,
    /// By the policy they follow from.
    views: Cache<usize, Arc<View>>,
}

impl Live {
    /// The live generation or, where it is damaged or of a model that does not
    /// load, the newest one that answers.
    pub(super) fn load(
        (dir, generation): (&Path, String),
        load_embedder: &Loader,
        backends: Option<&Backends>,
        before: Option<&Self>,
    ) -> Result<Self, EngineError> {
        let accept = |index: Index| router(index, load_embedder, before);
        let ((router, embedder), error) = Index::first(dir, accept)?;
        if let Some(error) = error {
            let generation = router.index().manifest().generation;
            tracing::error!("{error}; answering from generation {generation}");
        }
        let surface = Arc::new(router.index().surface()?);
        let directory = match backends {
            Some(backends) => {
                Directory::of(router.index(), backends, before.map(|it| &it.directory))?
            }
            None => Directory::default(),
        };
        let (schemas, views) = (Cache::new(CACHED_SCHEMAS), Cache::new(CACHED_VIEWS));
        Ok(Self { generation, embedder, router, surface, directory, schemas, views })
    }

    /// The same model at the same place.
    fn is_embedded_like(&self, manifest: &Manifest) -> bool {
        *self.embedder.identity() == manifest.embedder
            && self.router.index().manifest().remote == manifest.remote
    }

    /// What a visitor may find; `None` for everything.
    pub(super) fn view(&self, visitor: &Visitor) -> Result<Option<Arc<View>>, IndexError> {
        let policy = &visitor.policy;
        if policy.allows_all() {
            return Ok(None);
        }
        // Policies live as long as the process.
        let view = self.views.get_or_insert_with(&(Arc::as_ptr(policy) as usize), || {
            View::of(self.router.index(), |tool| allows(visitor, tool)).map(Arc::new)
        });
        view.map(Some)
    }

    /// The schema of a tool, compiled once; one that is absent allows everything.
    pub(super) fn schema(&self, tool: ToolId, record: &ToolRecord) -> Arc<Schema> {
        if let Some(known) = self.schemas.get(&tool) {
            return known;
        }
        let raw = record.input_schema.as_ref();
        let schema = Arc::new(raw.map_or_else(Schema::open, |raw| Schema::new(raw)));
        if let Some(left_out) = schema.left_out() {
            let tool = &record.exposed;
            tracing::warn!(tool, left_out, "arguments are not checked against the whole schema");
        }
        self.schemas.insert(tool, Arc::clone(&schema));
        schema
    }
}

/// Whether a visitor may find and call a tool.
pub(super) fn allows(visitor: &Visitor, tool: &ToolRecord) -> bool {
    visitor.policy.check(&tool.server, &tool.name, tool.annotations.as_ref()).is_ok()
}

/// Verifies the index while the model loads.
fn router(
    index: Index,
    load_embedder: &Loader,
    before: Option<&Live>,
) -> Result<(Router, Arc<dyn Embedder>), EngineError> {
    let (sound, embedder) = std::thread::scope(|scope| {
        let sound = scope.spawn(|| index.verify());
        let embedder = embedder_of(index.manifest(), load_embedder, before);
        (sound.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), embedder)
    });
    sound?;
    let embedder = embedder?;
    Ok((Router::new(Arc::new(index), Arc::clone(&embedder))?, embedder))
}

/// The embedder of the index; the loaded one if it is the same.
fn embedder_of(
    manifest: &Manifest,
    load_embedder: &Loader,
    before: Option<&Live>,
) -> Result<Arc<dyn Embedder>, EngineError> {
    match before {
        Some(live) if live.is_embedded_like(manifest) => Ok(Arc::clone(&live.embedder)),
        _ => load_embedder(manifest).map_err(EngineError::Embedder),
    }
}

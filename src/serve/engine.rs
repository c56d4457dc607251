//! The router behind a running server: loaded late, replaced when the index is
//! rebuilt.
//!
//! Blocking; call it from a blocking thread. The first call loads model and
//! index in parallel, later ones only look at the name of the live generation.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::embed::Embedder;
use crate::error::Fault;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::Manifest;
use crate::index::Surface;
use crate::router::Ask;
use crate::router::Options;
use crate::router::RouteError;
use crate::router::Routed;
use crate::router::Router;
use crate::surface;

/// Makes the embedder that an index was built with.
pub type Loader = Box<dyn Fn(&Manifest) -> anyhow::Result<Arc<dyn Embedder>> + Send + Sync>;

/// Everything a session needs, shared by all of them.
pub struct Engine {
    dir: PathBuf,
    load_embedder: Loader,
    /// Options where a request names none.
    pub defaults: Options,
    live: RwLock<Option<Arc<Live>>>,
    surface: RwLock<Option<(String, Arc<Surface>)>>,
    loading: Mutex<()>,
}

struct Live {
    /// What `CURRENT` said when this was loaded.
    generation: String,
    embedder: Arc<dyn Embedder>,
    router: Router,
}

impl Live {
    /// The same model at the same place.
    fn is_embedded_like(&self, manifest: &Manifest) -> bool {
        *self.embedder.identity() == manifest.embedder
            && self.router.index().manifest().remote == manifest.remote
    }
}

/// Why there is no router.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The model of the index cannot be loaded.
    #[error("{0:#}")]
    Embedder(anyhow::Error),
    /// The request cannot be answered.
    #[error(transparent)]
    Route(#[from] RouteError),
}

impl EngineError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Index(error) => error.fault(),
            Self::Embedder(_) => Fault::Environment,
            Self::Route(error) => error.fault(),
        }
    }
}

impl Engine {
    /// An engine over the index in `dir`, which need not exist yet.
    #[must_use]
    pub fn new(dir: PathBuf, load_embedder: Loader, defaults: Options) -> Self {
        Self {
            dir,
            load_embedder,
            defaults,
            live: RwLock::default(),
            surface: RwLock::default(),
            loading: Mutex::default(),
        }
    }

    /// Answers with the live index; loads or reloads it first if need be.
    ///
    /// # Errors
    /// Says what is missing and how to get it.
    pub fn route(&self, ask: &Ask, options: &Options) -> Result<Routed, EngineError> {
        Ok(self.live()?.router.route(ask, options)?)
    }

    /// Loads what `route` needs, ahead of the first request.
    pub fn warm_up(&self) {
        if let Err(error) = self.live() {
            tracing::warn!("{error:#}");
        }
    }

    /// What the live index says of itself; a general text while there is none.
    #[must_use]
    pub fn surface(&self) -> Arc<Surface> {
        let generation = Index::live_generation(&self.dir).unwrap_or_default();
        let known = self.surface.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, surface)) = known.filter(|(known, _)| *known == generation) {
            return surface;
        }
        let read = Index::live_surface(&self.dir);
        let surface = Arc::new(read.unwrap_or_else(|error| {
            tracing::warn!("{error}");
            surface::without_index()
        }));
        *self.surface.write().unwrap_or_else(PoisonError::into_inner) =
            Some((generation, Arc::clone(&surface)));
        surface
    }

    fn live(&self) -> Result<Arc<Live>, EngineError> {
        let generation = Index::live_generation(&self.dir)?;
        if let Some(live) = self.known(&generation) {
            return Ok(live);
        }
        let _one_at_a_time = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have loaded it while this one waited.
        if let Some(live) = self.known(&generation) {
            return Ok(live);
        }
        let live = Arc::new(self.load(generation)?);
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&live));
        Ok(live)
    }

    fn known(&self, generation: &str) -> Option<Arc<Live>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner).clone();
        live.filter(|live| live.generation == generation)
    }

    /// Verifies the index while the model loads.
    fn load(&self, generation: String) -> Result<Live, EngineError> {
        let before = self.live.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (index, embedder) = std::thread::scope(|scope| {
            let index = scope.spawn(|| Index::open_sound(&self.dir));
            let embedder = self.embedder(before.as_deref());
            let index = index.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (index, embedder)
        });
        let (index, older) = index?;
        if let Some(error) = older {
            let generation = index.manifest().generation;
            tracing::error!("{error}; answering from generation {generation}");
        }
        let embedder = embedder?;
        let router = Router::new(Arc::new(index), Arc::clone(&embedder))?;
        Ok(Live { generation, embedder, router })
    }

    /// The embedder of the index; the loaded one if it is the same.
    fn embedder(&self, before: Option<&Live>) -> Result<Arc<dyn Embedder>, EngineError> {
        let wanted = Index::open(&self.dir)
            .or_else(|_| Index::open_sound(&self.dir).map(|(index, _)| index))?;
        let wanted = wanted.manifest();
        match before {
            Some(live) if live.is_embedded_like(wanted) => Ok(Arc::clone(&live.embedder)),
            _ => (self.load_embedder)(wanted).map_err(EngineError::Embedder),
        }
    }
}

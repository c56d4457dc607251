//! The router behind a running server: loaded late, replaced when the index is
//! rebuilt. With it what can be called, and the servers to call.
//!
//! Blocking; call it from a blocking thread. The first call loads model and
//! index in parallel, later ones only look at the name of the live generation.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use quick_cache::sync::Cache;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::awaited;
use super::backends::Backends;
use super::gate::Gate;
use super::live::Live;
use super::live::allows;
use super::metrics::Metrics;
use super::raw::Shelf;
use crate::access::Visitor;
use crate::catalog::ServerId;
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
use crate::router::View;
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
    /// The surface of a generation that is not loaded yet.
    seen: RwLock<Option<(String, Arc<Surface>)>>,
    /// The same for visitors who may not see all, by generation and policy.
    parts: Cache<(String, usize), Arc<Surface>>,
    loading: Mutex<()>,
    backends: Option<Backends>,
    /// Sessions show what they found as tools of their own.
    pub is_dynamic: bool,
    /// An index that is being built while we already serve.
    pub gate: Gate,
    /// Results on their way to clients.
    pub(super) shelf: Arc<Shelf>,
    /// The client has left, or the process is to end.
    pub closing: CancellationToken,
    /// Requests under way.
    pub(super) calls: TaskTracker,
    /// What is counted.
    pub(super) metrics: Metrics,
    /// By visitor and exposed name, the rank at which a tool was last offered.
    pub(super) offered: Cache<(Arc<str>, String), usize>,
}

/// Offers that are remembered, and surfaces for who may not see all.
const OFFERS: usize = 16_384;
const PARTS: usize = 1_024;

/// Why there is no router.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The model of the index cannot be loaded.
    #[error("{0:#}")]
    Embedder(anyhow::Error),
    /// The index that was to be built while we serve is not there.
    #[error("the index could not be built: {reason}")]
    Build {
        /// Of the failure.
        reason: String,
    },
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
            Self::Embedder(_) | Self::Build { .. } => Fault::Environment,
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
            seen: RwLock::default(),
            parts: Cache::new(PARTS),
            loading: Mutex::default(),
            backends: None,
            is_dynamic: false,
            gate: Gate::default(),
            shelf: Arc::default(),
            closing: CancellationToken::new(),
            calls: TaskTracker::new(),
            metrics: Metrics::default(),
            offered: Cache::new(OFFERS),
        }
    }

    /// With servers that can be called.
    #[must_use]
    pub fn with_backends(mut self, backends: Backends) -> Self {
        self.backends = Some(backends);
        self
    }

    /// The servers that can be called, if any are configured.
    #[must_use]
    pub fn backends(&self) -> Option<&Backends> {
        self.backends.as_ref()
    }

    /// Whether a request would be answered now; if not, why.
    pub(super) fn is_ready(&self) -> Result<(), String> {
        let look = || self.live().map(drop).map_err(|error| error.to_string());
        self.is_known_ready().unwrap_or_else(look)
    }

    /// The same, where no look at the index is needed to tell; does not block.
    pub(super) fn is_known_ready(&self) -> Option<Result<(), String>> {
        if self.closing.is_cancelled() {
            return Some(Err("ending".to_owned()));
        }
        if self.gate.is_closed() {
            return Some(Err("the index is being built".to_owned()));
        }
        let generation = self.generation().ok()?;
        self.known(&generation).map(|_| Ok(()))
    }

    /// Waits for the first index, while it is built, without holding a thread.
    pub(super) async fn first_index(&self) {
        if self.gate.is_closed() && self.loaded().is_none() && self.generation().is_err() {
            self.gate.opened().await;
        }
    }

    /// Waits for the calls that are under way, so long at most.
    pub async fn calls_end(&self, limit: Duration) {
        self.calls.close();
        drop(tokio::time::timeout(limit, self.calls.wait()).await);
    }

    /// Answers with the live index; loads or reloads it first if need be.
    ///
    /// # Errors
    /// Says what is missing and how to get it.
    pub fn route(
        &self,
        ask: &Ask,
        options: Options,
        visitor: &Visitor,
    ) -> Result<Routed, EngineError> {
        let live = self.live()?;
        let view = live.view(visitor)?;
        let remark = awaited::remark(&self.gate.awaited(), visitor);
        Ok(live.router.route(ask, &Options { view, remark, ..options })?)
    }

    /// What the index says of itself to a visitor.
    pub(super) fn surface_for(&self, visitor: &Visitor) -> Arc<Surface> {
        if visitor.policy.allows_all() {
            return self.surface();
        }
        let generation = self.generation().unwrap_or_default();
        let key = (generation, Arc::as_ptr(&visitor.policy) as usize);
        let part = self.parts.get_or_insert_with(&key, || self.part(visitor).map(Arc::new));
        // What is there is nobody's business as long as nobody may see it.
        part.unwrap_or_else(|_| Arc::new(surface::without_index()))
    }

    /// Needs no model, for `initialize` waits for it.
    fn part(&self, visitor: &Visitor) -> Result<Surface, IndexError> {
        let index = Index::open(&self.dir)?;
        let view = View::of(&index, |tool| allows(visitor, tool))?;
        let rows = view.servers().filter_map(|row| u32::try_from(row).ok());
        let names = rows.map(|row| Ok(index.server(ServerId(row))?.name));
        let names = names.collect::<Result<Vec<String>, IndexError>>()?;
        Ok(surface::of_part(&names, view.tools().len()))
    }

    /// Loads what `route` needs, ahead of the first request.
    pub fn warm_up(&self) {
        if let Err(error) = self.live() {
            tracing::warn!("{error:#}");
        }
    }

    /// What the index in use says of itself; a general text while there is none.
    #[must_use]
    pub fn surface(&self) -> Arc<Surface> {
        let generation = self.generation().unwrap_or_default();
        if let Some(live) = self.known(&generation) {
            return Arc::clone(&live.surface);
        }
        let seen = self.seen.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, surface)) = seen.filter(|(known, _)| *known == generation) {
            return surface;
        }
        let surface = Arc::new(Index::live_surface(&self.dir).unwrap_or_else(|error| {
            tracing::warn!("{error}");
            surface::without_index()
        }));
        let seen = Some((generation, Arc::clone(&surface)));
        *self.seen.write().unwrap_or_else(PoisonError::into_inner) = seen;
        surface
    }

    /// What `CURRENT` says; damage is a generation of its own, so that it is
    /// looked at once and the answer kept.
    fn generation(&self) -> Result<String, IndexError> {
        match Index::live_generation(&self.dir) {
            Err(error @ IndexError::Missing { .. }) => Err(error),
            Err(error) => Ok(error.to_string()),
            Ok(name) => Ok(name),
        }
    }

    pub(super) fn live(&self) -> Result<Arc<Live>, EngineError> {
        let generation = match self.generation() {
            Ok(generation) => generation,
            // The folder is gone; what is loaded still answers.
            Err(error) => match self.loaded() {
                Some(live) => return Ok(live),
                None if self.gate.wait().map_err(|reason| EngineError::Build { reason })? => {
                    self.generation()?
                }
                None => return Err(error.into()),
            },
        };
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
        self.loaded().filter(|live| live.generation == generation)
    }

    fn loaded(&self) -> Option<Arc<Live>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn load(&self, generation: String) -> Result<Live, EngineError> {
        let before = self.loaded();
        let place = (&*self.dir, generation);
        Live::load(place, &self.load_embedder, self.backends.as_ref(), before.as_deref())
    }
}

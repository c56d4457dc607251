//! The embedder of a server that runs: loaded once, for requests and for builds.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::cli::EmbedPlace;
use crate::commands::embedder;
use crate::commands::embedder::Choice;
use crate::config::Config;
use crate::embed::Embedder;
use crate::embed::Limits;
use crate::index::Manifest;

/// Loads embedders, and remembers the one of this machine.
pub(super) struct Embedders {
    config: Config,
    place: EmbedPlace,
    local: Mutex<Option<(String, Arc<dyn Embedder>)>>,
}

impl Embedders {
    pub(super) fn new(config: &Config, place: &EmbedPlace) -> Self {
        Self { config: config.clone(), place: place.clone(), local: Mutex::default() }
    }

    /// Where a remote one answers now.
    pub(super) fn place(&self) -> &EmbedPlace {
        &self.place
    }

    /// For requests to an index.
    pub(super) fn of_index(&self, manifest: &Manifest) -> anyhow::Result<Arc<dyn Embedder>> {
        let (identity, remote) = (&manifest.embedder, manifest.remote.as_ref());
        let choice = Choice::recorded(&self.config, identity, remote, &self.place)?;
        self.load(&choice, Limits::of_a_request())
    }

    /// A remote one has limits of its own for each use; a local one is shared.
    pub(super) fn load(
        &self,
        choice: &Choice,
        limits: Limits,
    ) -> anyhow::Result<Arc<dyn Embedder>> {
        let Some(name) = choice.local_name() else {
            return embedder::load_within(&self.config, choice, limits);
        };
        let mut local = self.local.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = local.as_ref().filter(|(known, _)| known == name) {
            return Ok(Arc::clone(known));
        }
        let loaded = embedder::load_within(&self.config, choice, limits)?;
        *local = Some((name.to_owned(), Arc::clone(&loaded)));
        Ok(loaded)
    }
}

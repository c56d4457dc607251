//! Which embedder a command works with, and how it is loaded.

use std::sync::Arc;

use anyhow::Context;

use super::trust;
use crate::cli::EmbedPlace;
use crate::config::Config;
use crate::config::{self};
use crate::embed::CachedEmbedder;
use crate::embed::Embedder;
use crate::embed::Identity;
use crate::embed::Limits;
use crate::embed::OnnxEmbedder;
use crate::embed::RemoteEmbedder;
use crate::embed::RemoteModel;
use crate::embed::StandInEmbedder;
use crate::models::ModelStore;
use crate::models::{self};

/// An embedder that is not loaded yet.
pub(super) enum Choice {
    /// The deterministic one, for tests.
    StandIn,
    /// A model of the manifest, by name.
    Local(String),
    /// A model behind an API, and the length of its vectors where it is known.
    Remote(RemoteModel, Option<usize>),
}

impl Choice {
    /// A model on this machine.
    pub(super) fn local(name: &str) -> Self {
        if name == StandInEmbedder::NAME { Self::StandIn } else { Self::Local(name.to_owned()) }
    }

    /// Its name, if it is on this machine.
    pub(super) fn local_name(&self) -> Option<&str> {
        match self {
            Self::StandIn => Some(StandInEmbedder::NAME),
            Self::Local(name) => Some(name),
            Self::Remote(..) => None,
        }
    }

    /// The model an index was built with, as its manifest says; `place` says
    /// where it answers now, if it is a remote one.
    ///
    /// # Errors
    /// Fails when the place would be sent a key that nobody here granted it.
    pub(super) fn recorded(
        config: &Config,
        embedder: &Identity,
        remote: Option<&RemoteModel>,
        place: &EmbedPlace,
    ) -> anyhow::Result<Self> {
        let Some(remote) = remote else {
            return Ok(Self::local(&embedder.model));
        };
        let mut remote = remote.clone();
        if let Some(url) = place.embed_url.as_deref().filter(|url| !url.is_empty()) {
            remote = remote.at(url)?;
        }
        if let Some(variable) = &place.embed_key_env {
            remote = remote.with_key_env(variable)?;
        }
        trust::require(config, &remote, place)?;
        Ok(Self::Remote(remote, Some(embedder.dim)))
    }
}

/// Loads an embedder, with the cache before it.
pub(super) fn load(config: &Config, choice: &Choice) -> anyhow::Result<Arc<dyn Embedder>> {
    load_within(config, choice, Limits::default())
}

/// The same, with other limits for a remote one.
pub(super) fn load_within(
    config: &Config,
    choice: &Choice,
    limits: Limits,
) -> anyhow::Result<Arc<dyn Embedder>> {
    let cache = &config.cache;
    Ok(match choice {
        Choice::StandIn => Arc::new(CachedEmbedder::new(StandInEmbedder::default(), cache)),
        Choice::Local(name) => {
            let store = ModelStore::new(&config.models);
            let embedder = OnnxEmbedder::load(&store, models::find(name)?)
                .with_context(|| format!("cannot load model `{name}`"))?;
            Arc::new(CachedEmbedder::new(embedder, cache))
        }
        Choice::Remote(remote, dim) => {
            let key = remote.key_env.as_deref().and_then(config::secret);
            let embedder = RemoteEmbedder::load(remote, *dim, key.as_ref(), limits)?;
            Arc::new(CachedEmbedder::new(embedder, cache))
        }
    })
}

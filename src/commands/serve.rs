//! `toolscout serve`: the meta-server on stdio.

use std::sync::Arc;

use anyhow::Context;

use super::embedder::Choice;
use super::embedder::{self};
use crate::cli::Serve;
use crate::config::Config;
use crate::embed::Limits;
use crate::index::Manifest;
use crate::router::Options;
use crate::serve::Engine;
use crate::serve::{self};

pub(super) fn run(config: &Config, arguments: &Serve) -> anyhow::Result<()> {
    let (settings, place) = (config.clone(), arguments.place.clone());
    let loader = Box::new(move |manifest: &Manifest| {
        let choice =
            Choice::recorded(&settings, &manifest.embedder, manifest.remote.as_ref(), &place)?;
        embedder::load_within(&settings, &choice, Limits::of_a_request())
    });
    let (method, floor) = (arguments.ranking.into(), arguments.floor);
    let defaults = Options { method, floor, ..Options::default() };
    let engine = Arc::new(Engine::new(config.index.clone(), loader, defaults));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let served = runtime.block_on(serve::stdio(engine));
    // A routing call may still run on a blocking thread; nobody waits for it.
    runtime.shutdown_background();
    Ok(served?)
}

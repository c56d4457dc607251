//! `toolscout serve`: the meta-server.

mod door;
mod embedders;
mod keeper;
mod servers;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;

use self::embedders::Embedders;
use self::keeper::Keeper;
use crate::access::Policy;
use crate::cli::Serve;
use crate::commands::terminal::remark;
use crate::config::Config;
use crate::index::Manifest;
use crate::router::Options;
use crate::serve::Engine;
use crate::serve::{self};

/// How long calls may go on once the client has left, and servers take to end.
const CALLS_END: Duration = Duration::from_secs(2);
const SERVERS_END: Duration = Duration::from_millis(2_500);

/// How long the answers to calls may take that end with their servers.
const ANSWERS_END: Duration = Duration::from_millis(1_700);

pub(super) fn run(config: &Config, arguments: &Serve) -> anyhow::Result<()> {
    let policy = Arc::new(policy(arguments)?);
    let embedders = Arc::new(Embedders::new(config, &arguments.place));
    let loader = {
        let embedders = Arc::clone(&embedders);
        Box::new(move |manifest: &Manifest| embedders.of_index(manifest))
    };
    let (method, floor) = (arguments.ranking.into(), arguments.floor);
    let defaults = Options { method, floor, ..Options::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let _inside = runtime.enter();
    let mut engine = Engine::new(config.index.clone(), loader, defaults);
    engine.is_dynamic = arguments.dynamic_tools;
    if let Some(backends) = servers::backends(config, arguments)? {
        engine = engine.with_backends(backends);
    }
    let engine = Arc::new(engine);
    Keeper::start(config, arguments, &engine, &embedders)?;
    let serving = Arc::clone(&engine);
    let served = match arguments.http {
        None => runtime.block_on(until_the_end(&engine, async move {
            Ok(serve::stdio(serving, policy).await?)
        })),
        Some(address) => {
            let settings = door::settings(arguments, address, &policy)?;
            runtime.block_on(until_the_end(&engine, async move {
                let bound = TcpListener::bind(address).await;
                let listener = bound.with_context(|| format!("cannot listen at {address}"))?;
                remark(config, &format!("serving at http://{}/mcp", listener.local_addr()?));
                serve::http(serving, listener, settings).await;
                Ok(())
            }))
        }
    };
    // A routing call may still run on a blocking thread; nobody waits for it.
    runtime.shutdown_background();
    served
}

fn policy(arguments: &Serve) -> anyhow::Result<Policy> {
    let policy = Policy::default().allow(&arguments.allow)?.deny(&arguments.deny)?;
    Ok(if arguments.read_only { policy.read_only() } else { policy })
}

/// Serves until the client leaves or the process is asked to end; then calls
/// have a moment, and all servers end.
async fn until_the_end(
    engine: &Engine,
    serving: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let mut serving = std::pin::pin!(serving);
    let mut served = tokio::select! {
        served = &mut serving => Some(served),
        // It ends by itself once all is answered.
        () = engine.closing.cancelled() => tokio::time::timeout(CALLS_END, &mut serving).await.ok(),
        signal = asked_to_end() => {
            signal.context("cannot listen to signals")?;
            engine.closing.cancel();
            tokio::select! {
                served = &mut serving => Some(served),
                () = engine.calls_end(CALLS_END) => None,
            }
        }
    };
    let servers = async {
        if let Some(backends) = engine.backends() {
            drop(tokio::time::timeout(SERVERS_END, backends.pool().end()).await);
        }
    };
    if served.is_some() {
        servers.await;
    } else {
        // Calls that are left end with their servers, and are answered.
        let answers = tokio::time::timeout(ANSWERS_END, serving);
        served = futures_util::future::join(servers, answers).await.1.ok();
    }
    served.unwrap_or(Ok(()))
}

/// Ctrl-C or, on Unix, SIGTERM.
#[cfg(unix)]
async fn asked_to_end() -> std::io::Result<()> {
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = term.recv() => Ok(()),
        pressed = tokio::signal::ctrl_c() => pressed,
    }
}

/// Ctrl-C or, on Unix, SIGTERM.
#[cfg(not(unix))]
async fn asked_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}

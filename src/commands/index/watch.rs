//! `toolscout index watch`: an update now and again, until somebody ends it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::time::MissedTickBehavior;

/// Runs `update` at once and then `every` so often; ends with Ctrl-C or SIGTERM.
///
/// A run in progress is not waited for: a build may end at any point.
pub(super) fn run(
    every: Duration,
    update: impl Fn() -> anyhow::Result<()> + Send + Sync + 'static,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let done = runtime.block_on(watch(every, Arc::new(update)));
    runtime.shutdown_background();
    done
}

async fn watch(
    every: Duration,
    update: Arc<impl Fn() -> anyhow::Result<()> + Send + Sync + 'static>,
) -> anyhow::Result<()> {
    let mut stop = Box::pin(stopped()?);
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = &mut stop => return Ok(()),
            _ = ticks.tick() => {}
        }
        let update = Arc::clone(&update);
        let run = tokio::task::spawn_blocking(move || update());
        let done = tokio::select! {
            () = &mut stop => return Ok(()),
            done = run => done,
        };
        if let Err(error) = done.context("the update has panicked").and_then(|done| done) {
            let next = humantime::format_duration(every);
            tracing::error!("{error:#}; the index stays as it is, next try in {next}");
        }
    }
}

/// Listens from now on; ready once somebody wants an end.
#[cfg(unix)]
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = "cannot listen for signals";
    let mut interrupted = signal(SignalKind::interrupt()).context(failed)?;
    let mut terminated = signal(SignalKind::terminate()).context(failed)?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

/// Listens from now on; ready once somebody wants an end.
#[cfg(not(unix))]
fn stopped() -> anyhow::Result<impl Future<Output = ()>> {
    Ok(async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!("cannot listen for Ctrl-C: {error}");
        }
    })
}

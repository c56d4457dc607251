//! The servers that `serve` can call: of `--config`, or of the index's sources.

use std::path::PathBuf;
use std::sync::Arc;

use crate::build;
use crate::catalog::Entry;
use crate::cli::Serve;
use crate::config;
use crate::config::Config;
use crate::serve::Backends;
use crate::sources::Configuration;
use crate::sources::Environment;
use crate::sources::Format;
use crate::sources::Opened;
use crate::sources::Place;
use crate::sources::{self};
use crate::upstream::Guardian;
use crate::upstream::PoolLimits;
use crate::upstream::Target;

/// The servers, none of which is started yet; `None` where nothing is to be called.
///
/// # Errors
/// Fails where a file of `--config` is no configuration. One that the index
/// was built from and that is gone only warns.
pub(super) fn backends(config: &Config, arguments: &Serve) -> anyhow::Result<Option<Backends>> {
    let mut servers = Vec::new();
    for (path, found) in configurations(config, arguments)? {
        let environment = Environment::new(config::environment());
        for (name, target) in sources::targets(&found, &environment) {
            if let Err(reason) = &target {
                tracing::warn!("server `{}` {reason}", sources::shown(&name));
            }
            let entry = Entry { configuration: path.display().to_string(), name };
            servers.push((entry, target));
        }
    }
    if servers.is_empty() && arguments.config.is_empty() {
        return Ok(None);
    }
    let calls = &arguments.calls;
    let limits = PoolLimits {
        start: calls.start_timeout,
        page: calls.start_timeout,
        call: calls.call_timeout,
        idle: calls.idle_timeout,
        at_once: usize::from(calls.calls_at_once),
    };
    Ok(Some(Backends::new(servers.clone(), guardian(&servers).as_ref(), limits)))
}

/// Files of `--config` as they would be recorded.
pub(super) fn given(arguments: &Serve) -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    arguments.config.iter().map(absolute).collect()
}

fn configurations(
    config: &Config,
    arguments: &Serve,
) -> anyhow::Result<Vec<(PathBuf, Configuration)>> {
    let mut found = Vec::new();
    if !arguments.config.is_empty() {
        for path in given(arguments) {
            if let Opened::Configuration(one) = sources::open(&path, Some(Format::ClientConfig))? {
                found.push((path, one));
            }
        }
        return Ok(found);
    }
    let Ok((plan, _)) = build::recorded_plan(&config.index) else {
        return Ok(found);
    };
    for source in plan.sources {
        let Place::Path(path) = source.place else { continue };
        match sources::open(&path, source.format) {
            Ok(Opened::Configuration(one)) => found.push((path, one)),
            Ok(Opened::Import(_)) => {}
            Err(error) => tracing::warn!("{error}; servers from there cannot be called"),
        }
    }
    Ok(found)
}

/// Only programs that we start need one.
fn guardian(servers: &[(Entry, Result<Target, String>)]) -> Option<Arc<Guardian>> {
    let is_program = |(_, target): &(_, Result<Target, _>)| matches!(target, Ok(Target::Stdio(_)));
    if cfg!(windows) || !servers.iter().any(is_program) {
        return None;
    }
    let started = std::env::current_exe().and_then(|program| Guardian::start(&program, &["guard"]));
    match started {
        Ok(guardian) => Some(Arc::new(guardian)),
        Err(error) => {
            tracing::warn!(%error, "no guardian: a crash would leave servers running");
            None
        }
    }
}

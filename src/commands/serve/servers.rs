//! The servers that `serve` can call: of `--config`, or of the index's sources.

use std::sync::Arc;

use crate::catalog::Entry;
use crate::cli::Serve;
use crate::commands::configurations;
use crate::config;
use crate::config::Config;
use crate::login::TokenStore;
use crate::serve::Backends;
use crate::sources::Environment;
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
    let environment = Environment::new(config::environment());
    let tokens = TokenStore::new(config.tokens.clone());
    for (path, found) in configurations::find(config, &arguments.config)? {
        for (name, target) in sources::targets(&found, &environment, Some(&tokens)) {
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

//! How the servers of client configurations are asked.

use std::collections::HashMap;
use std::time::SystemTime;

use crate::cli::LiveArgs;
use crate::config;
use crate::config::Config;
use crate::login::TokenStore;
use crate::sources::Environment;
use crate::sources::Live;
use crate::upstream::Limits;

/// What the flags ask for, with the environment of this process.
pub(super) fn settings(config: &Config, arguments: &LiveArgs) -> Live {
    let program = std::env::current_exe();
    if let Err(error) = &program {
        tracing::warn!(%error, "no guardian: a crash would leave servers running");
    }
    Live {
        environment: Environment::new(config::environment()),
        tokens: Some(TokenStore::new(config.tokens.clone())),
        guardian: program.ok(),
        limits: Limits {
            start: arguments.start_timeout,
            page: arguments.page_timeout,
            parallel: usize::from(arguments.parallel),
        },
        refresh_after: arguments.refresh_after,
        given: HashMap::new(),
        asks: true,
        keep: true,
        now: now(),
    }
}

/// The clock, for the age of what servers have answered.
fn now() -> SystemTime {
    #[expect(clippy::disallowed_methods, reason = "nothing of an index depends on it")]
    SystemTime::now()
}

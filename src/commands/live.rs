//! How the servers of client configurations are asked.

use crate::cli::LiveArgs;
use crate::config;
use crate::sources::Environment;
use crate::sources::Live;
use crate::upstream::Limits;

/// What the flags ask for, with the environment of this process.
pub(super) fn settings(arguments: &LiveArgs) -> Live {
    let program = std::env::current_exe();
    if let Err(error) = &program {
        tracing::warn!(%error, "no guardian: a crash would leave servers running");
    }
    Live {
        environment: Environment::new(config::environment()),
        guardian: program.ok(),
        limits: Limits {
            start: arguments.start_timeout,
            page: arguments.page_timeout,
            parallel: usize::from(arguments.parallel),
        },
        refresh_after: arguments.refresh_after,
    }
}

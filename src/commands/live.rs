//! How the servers of client configurations are asked: settings, and progress.

use indicatif::ProgressBar;

use super::progress;
use super::terminal::remark;
use crate::cli::LiveArgs;
use crate::config;
use crate::config::Config;
use crate::sources::Environment;
use crate::sources::Live;
use crate::sources::LiveEvent;
use crate::surface::counted;
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

/// A bar that moves with every server that has answered.
pub(super) fn show(config: &Config, bar: &mut Option<ProgressBar>, event: LiveEvent<'_>) {
    match event {
        LiveEvent::Asking { n_asked, n_known } => {
            if n_known > 0 {
                remark(
                    config,
                    &format!("{} answered not long ago and stays", counted(n_known, "server")),
                );
            }
            if n_asked > 0 {
                *bar = Some(progress::counting(config, "asking servers", n_asked as u64));
            }
        }
        LiveEvent::Asked { .. } => {
            if let Some(bar) = bar {
                bar.inc(1);
                if Some(bar.position()) == bar.length() {
                    bar.finish_and_clear();
                }
            }
        }
    }
}

//! The client configurations that a command is about: those it names, or those
//! the index was built from.

use std::path::PathBuf;

use crate::build;
use crate::config::Config;
use crate::sources::Configuration;
use crate::sources::Format;
use crate::sources::Opened;
use crate::sources::Place;
use crate::sources::{self};

/// The files, absolute, and what they hold.
///
/// # Errors
/// Fails where a given file is no configuration. One that the index was built
/// from and that is gone only warns.
pub(super) fn find(
    config: &Config,
    given: &[PathBuf],
) -> anyhow::Result<Vec<(PathBuf, Configuration)>> {
    let mut found = Vec::new();
    if !given.is_empty() {
        for path in absolute(given) {
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

/// Files as they would be recorded.
pub(super) fn absolute(given: &[PathBuf]) -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    given.iter().map(absolute).collect()
}

//! `toolscout index export | import`: an index as one file.

use std::path::Path;

use serde_json::json;

use super::summary;
use crate::commands::terminal::{print, print_json, remark, size};
use crate::config::Config;
use crate::index::Index;
use crate::index::Written;
use crate::index::{self};
use crate::surface::counted;

pub(super) fn export(config: &Config, dir: &Path, out: &Path) -> anyhow::Result<()> {
    let exported = index::export(dir, out)?;
    if config.json {
        return print_json(&json!({
            "generation": exported.generation,
            "out": out,
            "bytes": exported.bytes,
            "sha256": exported.sha256,
        }));
    }
    let (generation, bytes) = (exported.generation, size(exported.bytes));
    print(&format!("exported generation {generation}, {bytes} → {}", out.display()))?;
    print(&format!("sha256 {}", exported.sha256))
}

pub(super) fn import(config: &Config, file: &Path, dir: &Path) -> anyhow::Result<()> {
    let waiting = || {
        remark(config, &format!("another build of `{}` runs, waiting for it", dir.display()));
    };
    let written = index::import(file, dir, waiting)?;
    let index = Index::open(dir)?;
    if config.json {
        return print_json(&summary(&index));
    }
    let state = match written {
        Written::New(generation) => format!("imported as generation {generation}"),
        Written::Unchanged(generation) => format!("nothing changed, generation {generation} stays"),
    };
    let manifest = index.manifest();
    print(&format!(
        "{state}: {}, {}, {} → {}",
        counted(manifest.counts.servers, "server"),
        counted(manifest.counts.tools, "tool"),
        manifest.embedder.model,
        dir.display(),
    ))
}

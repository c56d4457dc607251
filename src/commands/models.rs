//! `toolscout models list | pull | verify`.

use std::path::Path;

use anyhow::bail;
use indicatif::ProgressBar;
use serde_json::json;

use super::progress;
use super::terminal::{print, print_json, remark, rendered, size, table};
use crate::cli::Models;
use crate::config::Config;
use crate::models::FileCheck;
use crate::models::Finding;
use crate::models::ModelStore;
use crate::models::State;
use crate::models::manifest::Model;
use crate::models::manifest::manifest;
use crate::models::pull::PullEvent;
use crate::models::pull::{self};
use crate::models::{self};

pub(super) fn run(config: &Config, command: Models) -> anyhow::Result<()> {
    let store = ModelStore::new(&config.models);
    let named = |name: Option<String>| {
        models::find(name.as_deref().unwrap_or_else(|| models::default_model()))
    };
    match command {
        Models::List => list(config, &store),
        Models::Pull { name, from } => pull(config, &store, named(name)?, from.as_deref()),
        Models::Verify { name } => verify(config, &store, named(name)?),
    }
}

/// Gets what is missing of `model` and the runtime, showing progress.
pub(super) fn pull(
    config: &Config,
    store: &ModelStore,
    model: &Model,
    from: Option<&Path>,
) -> anyhow::Result<()> {
    let mut bar: Option<ProgressBar> = None;
    pull::pull(store, model, from, &mut |event| match event {
        PullEvent::Waiting => remark(config, "another pull runs, waiting for it"),
        PullEvent::Fetching { package, total_bytes } => {
            remark(config, &format!("fetching {package}"));
            bar = Some(progress::bytes(config, package, total_bytes));
        }
        PullEvent::Fetched { bytes_done } => {
            if let Some(bar) = &bar {
                bar.set_position(bytes_done);
            }
        }
        PullEvent::Checking { file } => {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
            tracing::info!(file, "checking sha256");
        }
        PullEvent::Installed { what } => remark(config, &format!("installed {what}")),
        PullEvent::AlreadyThere { what } => tracing::info!(what, "already there"),
    })?;
    Ok(())
}

fn list(config: &Config, store: &ModelStore) -> anyhow::Result<()> {
    let mut rows = table(&["model", "dim", "size", "licence", "state", ""], &[1, 2]);
    let mut values = Vec::new();
    for model in &manifest().models {
        let bytes: u64 = model.files.iter().map(|file| file.bytes).sum();
        let (state, missing) = match store.state(model)? {
            State::Missing => ("missing", Vec::new()),
            State::Incomplete { files } => ("incomplete", files),
            State::Installed => ("installed", Vec::new()),
        };
        let is_default = model.name == models::default_model();
        rows.add_row([
            model.name.as_str(),
            &model.dim.to_string(),
            &size(bytes),
            &model.licence,
            state,
            if is_default { "default" } else { "" },
        ]);
        values.push(json!({
            "name": model.name, "description": model.description, "dim": model.dim,
            "bytes": bytes, "licence": model.licence, "state": state, "missing": missing,
            "default": is_default,
        }));
    }
    if config.json { print_json(&json!({ "models": values })) } else { print(&rendered(&rows)) }
}

fn verify(config: &Config, store: &ModelStore, model: &Model) -> anyhow::Result<()> {
    let checks = store.verify(model)?;
    if config.json {
        let files: Vec<_> = checks.iter().map(to_json).collect();
        print_json(&json!({ "model": model.name, "files": files }))?;
    } else {
        for check in &checks {
            let verdict = match &check.finding {
                Finding::Good => "ok".to_owned(),
                Finding::Missing => "MISSING".to_owned(),
                Finding::Wrong(got) => format!("WRONG: {got}, expected {}", check.expected),
            };
            print(&format!("{verdict}  {}", check.path.display()))?;
        }
    }
    let n_bad = checks.iter().filter(|check| check.finding != Finding::Good).count();
    if n_bad > 0 {
        let (n, name) = (checks.len(), &model.name);
        bail!("{n_bad} of {n} files are not right; run `toolscout models pull {name}`");
    }
    Ok(())
}

fn to_json(check: &FileCheck) -> serde_json::Value {
    let got = match &check.finding {
        Finding::Good => Some(&check.expected.sha256),
        Finding::Missing => None,
        Finding::Wrong(got) => Some(&got.sha256),
    };
    json!({
        "file": check.path.display().to_string(),
        "ok": check.finding == Finding::Good,
        "expected": check.expected.sha256,
        "got": got,
    })
}

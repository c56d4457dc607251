//! `toolscout index build | update | inspect | verify | watch | export | import`.

mod share;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;

use super::embedder::Choice;
use super::terminal::{print, print_json, remark, rendered, size, table};
use super::trust;
use super::watcher::Watcher;
use super::{changes, embedder, live, summaries};
use crate::build::Plan;
use crate::build::{self};
use crate::cli::Again;
use crate::cli::Build;
use crate::cli::IndexCommand;
use crate::config::Config;
use crate::embed::Identity;
use crate::embed::RemoteModel;
use crate::fetch::PrivateHosts;
use crate::index::Index;
use crate::index::Neighbors;
use crate::index::Storage;
use crate::index::Written;
use crate::models;
use crate::sources::Fetching;
use crate::sources::Place;
use crate::sources::Source;
use crate::surface::counted;
use crate::surface::thousands;
use crate::vectors::Precision;

/// Rejects and warnings shown on a terminal; the manifest has all.
const SHOWN: usize = 10;

pub(super) fn run(config: &Config, command: IndexCommand) -> anyhow::Result<()> {
    let at = |dir: Option<PathBuf>| dir.unwrap_or_else(|| config.index.clone());
    match command {
        IndexCommand::Build(arguments) => {
            let model = arguments.model.clone();
            let plan = plan(config, arguments)?;
            let choice = match &plan.remote {
                Some(remote) => {
                    trust::remember(config, remote)?;
                    Choice::Remote(remote.clone(), None)
                }
                None => Choice::local(model.as_deref().unwrap_or(models::default_model())),
            };
            build_and_report(config, &plan, &choice)
        }
        IndexCommand::Update { dir, dry_run, pin, unpin, again } => {
            let (mut plan, model) = recorded(config, &at(dir), &again)?;
            plan.pin = (plan.pin || pin) && !unpin;
            match dry_run {
                true => changes::preview(config, &plan),
                false => update(config, &plan, &model, &again),
            }
        }
        IndexCommand::Approve { names, again } => {
            let (mut plan, model) = recorded(config, &config.index, &again)?;
            (plan.pin, plan.approve) = (true, names);
            update(config, &plan, &model, &again)
        }
        IndexCommand::Watch { dir, every, mut again } => {
            let (settings, dir) = (config.clone(), at(dir));
            // A server that answered in the middle of a run is due at a later one, not after it.
            again.live.refresh_after = again.live.refresh_after.saturating_sub(every / 2);
            watch::run(every, move || {
                let (plan, model) = recorded(&settings, &dir, &again)?;
                update(&settings, &plan, &model, &again)
            })
        }
        IndexCommand::Export { dir, out } => share::export(config, &at(dir), &out),
        IndexCommand::Import { file, out } => share::import(config, &file, &at(out)),
        IndexCommand::Inspect { dir } => inspect(config, &Index::open(&at(dir))?),
        IndexCommand::Verify { dir } => verify(config, &at(dir)),
    }
}

/// The plan that made an index, to be run with these flags, and its model.
fn recorded(config: &Config, dir: &Path, again: &Again) -> anyhow::Result<(Plan, Identity)> {
    let (mut plan, model) = build::recorded_plan(dir)?;
    plan.fetching.timeout = again.patience.timeout();
    plan.live = live::settings(config, &again.live);
    Ok((plan, model))
}

fn update(config: &Config, plan: &Plan, model: &Identity, again: &Again) -> anyhow::Result<()> {
    let choice = Choice::recorded(config, model, plan.remote.as_ref(), &again.place)?;
    build_and_report(config, plan, &choice)
}

fn plan(config: &Config, arguments: Build) -> anyhow::Result<Plan> {
    let format = arguments.format.as_deref().map(str::parse).transpose()?;
    let remote = remote(&arguments)?;
    let summarizer = summaries::model(config, &arguments)?;
    let private = match arguments.allow_private {
        true => PrivateHosts::Allowed,
        false => PrivateHosts::Refused,
    };
    let source = |path: &PathBuf| -> anyhow::Result<Source> {
        Ok(Source { place: Place::parse(path)?, format, private })
    };
    let dir = arguments.out.unwrap_or_else(|| config.index.clone());
    Ok(Plan {
        sources: arguments.from.iter().map(source).collect::<Result<_, _>>()?,
        fetching: Fetching { timeout: arguments.patience.timeout(), ..Fetching::default() },
        pin: arguments.pin || build::is_pinned(&dir),
        dir,
        paper: arguments.paper,
        storage: Storage {
            precision: arguments.precision.into(),
            graphs_above: arguments.ann_above.unwrap_or(Storage::default().graphs_above),
        },
        remote,
        summarizer,
        live: live::settings(config, &arguments.live),
        approve: Vec::new(),
    })
}

fn remote(arguments: &Build) -> anyhow::Result<Option<RemoteModel>> {
    let (Some(url), Some(model)) = (&arguments.embed_url, &arguments.model) else {
        return Ok(None);
    };
    let remote = RemoteModel::new(url, model, arguments.dimensions.map(usize::from))?;
    Ok(Some(match &arguments.embed_key_env {
        Some(variable) => remote.with_key_env(variable)?,
        None => remote,
    }))
}

/// Builds with a progress bar; says what came of it on stderr.
pub(super) fn build(
    config: &Config,
    plan: &Plan,
    choice: &Choice,
) -> anyhow::Result<build::Outcome> {
    let embedder = embedder::load(config, choice)?;
    let writer = summaries::writer(config, plan)?;
    let mut watcher = Watcher::new(config);
    let outcome = build::build(plan, embedder.as_ref(), writer.as_ref(), &mut |event| {
        watcher.show(event);
    })?;
    Ok(outcome)
}

fn build_and_report(config: &Config, plan: &Plan, choice: &Choice) -> anyhow::Result<()> {
    let start = Instant::now();
    let outcome = build(config, plan, choice)?;
    let index = Index::open(&plan.dir)?;
    if config.json {
        return print_json(&summary(&index));
    }
    let manifest = index.manifest();
    let state = match outcome.written {
        Written::New(generation) => format!("built generation {generation}"),
        Written::Unchanged(generation) => format!("nothing changed, generation {generation} stays"),
    };
    print(&format!(
        "{state}: {}, {}, {} rejected, {}; {} with {} in {:.1} s → {}",
        counted(manifest.counts.servers, "server"),
        counted(manifest.counts.tools, "tool"),
        thousands(manifest.rejected.len()),
        counted(manifest.warnings.len(), "warning"),
        counted(outcome.n_texts, "text"),
        manifest.embedder.model,
        start.elapsed().as_secs_f64(),
        plan.dir.display(),
    ))?;
    changes::show(config, &outcome.changes, &manifest.withheld);
    summaries::show(config, outcome.summaries.as_ref());
    show_findings(config, &index);
    Ok(())
}

fn show_findings(config: &Config, index: &Index) {
    let manifest = index.manifest();
    let rejects = manifest.rejected.iter().map(|reject| {
        let tool = reject.tool.as_deref().map(|tool| format!("/{tool}")).unwrap_or_default();
        format!("rejected {}{tool} of {}: {}", reject.server, reject.source, reject.reason)
    });
    let warnings = manifest.warnings.iter().map(|warning| format!("warning: {warning}"));
    let all: Vec<String> = rejects.chain(warnings).collect();
    for line in all.iter().take(SHOWN) {
        remark(config, line);
    }
    if all.len() > SHOWN {
        let more = all.len() - SHOWN;
        remark(config, &format!("… and {more} more: `toolscout index inspect --json`"));
    }
}

fn summary(index: &Index) -> serde_json::Value {
    let manifest = index.manifest();
    json!({
        "servers": manifest.counts.servers,
        "tools": manifest.counts.tools,
        "rejected": manifest.rejected,
        "warnings": manifest.warnings,
        "stale": manifest.stale,
        "summarizer": manifest.summarizer,
        "pinned": manifest.pins.is_some(),
        "withheld": manifest.withheld,
        "embedder": manifest.embedder,
        "remote": manifest.remote,
        "runtime": manifest.runtime,
        "storage": manifest.storage,
        "paper": manifest.paper,
        "generation": manifest.generation,
        "sources": manifest.sources,
        "absent": manifest.absent,
        "bytes": index.size_bytes(),
    })
}

fn inspect(config: &Config, index: &Index) -> anyhow::Result<()> {
    if config.json {
        return print_json(&summary(index));
    }
    let manifest = index.manifest();
    let mut rows = table(&["", ""], &[]);
    let embedder = &manifest.embedder;
    let surface = index.surface()?;
    let facts = [
        ("index", index.dir().display().to_string()),
        ("generation", manifest.generation.to_string()),
        ("servers", thousands(manifest.counts.servers)),
        ("tools", thousands(manifest.counts.tools)),
        ("model", format!("{} ({} numbers, {})", embedder.model, embedder.dim, embedder.pooling)),
        ("runtime", manifest.runtime.clone()),
        ("stored as", stored_as(index)),
        ("paper vectors", if manifest.paper { "yes" } else { "no" }.to_owned()),
        ("size", size(index.size_bytes())),
        ("all schemas", format!("{} tokens", thousands(surface.tokens.all_schemas))),
        ("rejected", manifest.rejected.len().to_string()),
        ("warnings", manifest.warnings.len().to_string()),
        ("stale servers", manifest.stale.len().to_string()),
        (
            "withheld tools",
            if manifest.pins.is_some() {
                manifest.withheld.len().to_string()
            } else {
                "not pinned".to_owned()
            },
        ),
    ];
    for (name, value) in facts {
        rows.add_row([name.to_owned(), value]);
    }
    if let Some(remote) = &manifest.remote {
        rows.add_row(["model answers at", &remote.base_url]);
    }
    for source in &manifest.sources {
        rows.add_row([
            "source".to_owned(),
            format!("{} ({}, {})", shown(&source.path), source.format, size(source.bytes)),
        ]);
    }
    print(&rendered(&rows))?;
    show_findings(config, index);
    Ok(())
}

/// A recorded place without the query of a URL, which may be secret.
fn shown(path: &str) -> String {
    Place::parse(Path::new(path)).map_or_else(|_| path.to_owned(), |place| place.shown())
}

fn stored_as(index: &Index) -> String {
    let precision = match index.manifest().storage.precision {
        Precision::F32 => "f32",
        Precision::F16 => "f16",
        Precision::Int8 => "int8",
    };
    let graphs = [(Neighbors::Tools, "tools"), (Neighbors::Servers, "servers")];
    let graphs = graphs.into_iter().filter(|(kind, _)| index.graph(*kind).is_some());
    let graphs: Vec<&str> = graphs.map(|(_, name)| name).collect();
    match graphs.is_empty() {
        true => precision.to_owned(),
        false => format!("{precision}, graphs of {}", graphs.join(" and ")),
    }
}

fn verify(config: &Config, dir: &Path) -> anyhow::Result<()> {
    let index = Index::open(dir)?;
    index.verify()?;
    let files = &index.manifest().files;
    if config.json {
        return print_json(
            &json!({ "ok": true, "generation": index.manifest().generation, "files": files }),
        );
    }
    print(&format!(
        "generation {} is sound: {} files, {}, every checksum and every row as built",
        index.manifest().generation,
        files.len(),
        size(index.size_bytes()),
    ))
}

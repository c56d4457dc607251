//! Running what was chosen, behind progress bars.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::ProgressBar;

use crate::cli::EvalSets;
use crate::cli::LabelsArg;
use crate::commands::embedder::Choice;
use crate::commands::{embedder, progress};
use crate::config::Config;
use crate::embed::Embedder;
use crate::evaluate::Arm;
use crate::evaluate::Event;
use crate::evaluate::Labels;
use crate::evaluate::Outcome;
use crate::evaluate::Point;
use crate::evaluate::Registry;
use crate::evaluate::Results;
use crate::evaluate::Run;
use crate::evaluate::SetChoice;
use crate::evaluate::Suite;
use crate::evaluate::{self};
use crate::models;

/// The folder with public data.
pub(super) fn data(config: &Config, named: Option<&PathBuf>) -> PathBuf {
    named.cloned().unwrap_or_else(|| config.data.clone())
}

pub(super) fn sets(config: &Config, what: &EvalSets) -> SetChoice {
    SetChoice {
        sets: what.set.clone(),
        pools: what.pool.clone(),
        data: data(config, what.data.as_ref()),
    }
}

pub(super) fn model(config: &Config, name: Option<&str>) -> anyhow::Result<Arc<dyn Embedder>> {
    embedder::load(config, &Choice::local(name.unwrap_or(models::default_model())))
}

/// Every suite with every arm.
pub(super) fn all(
    config: &Config,
    what: &EvalSets,
    suites: &[Suite],
) -> anyhow::Result<(Results, Vec<Outcome>)> {
    let arms = evaluate::arms(&what.arm)?;
    let labels = match what.labels {
        LabelsArg::Judged => Labels::Judged,
        LabelsArg::Original => Labels::Original,
    };
    let embedder = model(config, what.model.as_deref())?;
    let mut results = Results::new(embedder.identity());
    let mut outcomes = Vec::new();
    for suite in suites {
        let name = format!("{}@{}", suite.set, suite.pool);
        let mut bars: [Option<ProgressBar>; 2] = [None, None];
        let (runs, more) = evaluate::run(suite, &arms, labels, &embedder, &mut |event| {
            let (step, what, done, total) = match event {
                Event::Building { done, total } => (0, "embedding", done, total),
                Event::Ran { done, total } => (1, "cases", done, total),
            };
            let what = || format!("{name}: {what}");
            bars[step]
                .get_or_insert_with(|| progress::counting(config, &what(), total as u64))
                .set_position(done as u64);
        })?;
        bars.iter().flatten().for_each(ProgressBar::finish_and_clear);
        results.add(runs);
        outcomes.extend(more);
    }
    let removing = |one: &&Outcome| {
        let has = |suite: &Suite| suite.set == one.set && suite.pool == one.pool && suite.removes;
        one.arm == "scout" && suites.iter().any(has)
    };
    let judged: Vec<Outcome> = outcomes.iter().filter(removing).cloned().collect();
    results.calibration = evaluate::calibrated(&judged);
    Ok((results, outcomes))
}

/// The paper's grid over the paper's tools.
pub(super) fn needle(config: &Config, arms: &[Arm], data: &Path) -> anyhow::Result<Vec<Point>> {
    let servers = Registry::load()?.servers(&["mcp-zero"], data)?;
    let embedder = model(config, None)?;
    let bar = progress::counting(config, "needle: sizes", 0);
    let points = evaluate::grid(&servers, arms, &embedder, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    Ok(points)
}

/// Requests of API-Bank among ever more tools.
pub(super) fn growth(config: &Config, data: &Path) -> anyhow::Result<Vec<Run>> {
    let registry = Registry::load()?;
    let own = registry.servers(&["apibank"], data)?;
    let others = registry.servers(&["mcp-zero", "toucan-all"], data)?;
    let cases = registry.set("apibank-single")?.cases(&registry, data)?;
    let arms = evaluate::arms(&["scout", "mcp-zero", "bm25"].map(str::to_owned))?;
    let embedder = model(config, None)?;
    let bar = progress::counting(config, "growth: sizes", 0);
    let set = ("apibank-single", &own[..], &cases[..]);
    let runs = evaluate::growth(set, &others, &arms, &embedder, &mut |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    Ok(runs)
}

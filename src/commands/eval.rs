//! `toolscout eval`: sets and arms → figures on the terminal, or as JSON.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use indicatif::ProgressBar;

use super::embedder::Choice;
use super::terminal::{print, print_json, rendered, table};
use super::{embedder, progress};
use crate::cli::Eval;
use crate::cli::EvalRun;
use crate::cli::EvalSets;
use crate::cli::LabelsArg;
use crate::config::Config;
use crate::embed::Embedder;
use crate::evaluate::Event;
use crate::evaluate::Gate;
use crate::evaluate::Labels;
use crate::evaluate::Outcome;
use crate::evaluate::Results;
use crate::evaluate::Run;
use crate::evaluate::SetChoice;
use crate::evaluate::Suite;
use crate::evaluate::{self};
use crate::models;

pub(super) fn run(config: &Config, command: &Eval) -> anyhow::Result<()> {
    match command {
        Eval::Run(arguments) => run_sets(config, arguments),
    }
}

fn run_sets(config: &Config, arguments: &EvalRun) -> anyhow::Result<()> {
    let gate = arguments.gate.as_deref().map(Gate::load).transpose()?;
    let suites = match &arguments.requests {
        Some(requests) => vec![Suite::of_files(requests, &arguments.catalog)?],
        None => Suite::of_sets(&sets(config, &arguments.what))?,
    };
    let (results, outcomes) = measure(config, &arguments.what, &suites)?;
    if let Some(path) = &arguments.outcomes {
        write_outcomes(path, &outcomes)?;
    }
    if config.json {
        print_json(&results)?;
    } else {
        print(&figures(&results))?;
    }
    let missed = gate.map(|gate| gate.missed(&results)).unwrap_or_default();
    if !missed.is_empty() {
        let list: Vec<String> = missed.iter().map(|one| format!("\n  {one}")).collect();
        bail!("the gate is closed; figures missed: {}{}", missed.len(), list.concat());
    }
    Ok(())
}

fn sets(config: &Config, what: &EvalSets) -> SetChoice {
    SetChoice {
        sets: what.set.clone(),
        pools: what.pool.clone(),
        data: what.data.clone().unwrap_or_else(|| config.data.clone()),
    }
}

/// Runs every suite with every arm, behind a progress bar.
fn measure(
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
    Ok((results, outcomes))
}

fn model(config: &Config, name: Option<&str>) -> anyhow::Result<Arc<dyn Embedder>> {
    embedder::load(config, &Choice::local(name.unwrap_or(models::default_model())))
}

fn write_outcomes(path: &Path, outcomes: &[Outcome]) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for outcome in outcomes {
        serde_json::to_writer(&mut lines, outcome).context("cannot write an outcome as JSON")?;
        lines.push(b'\n');
    }
    fs_err::File::create(path)?.write_all(&lines)?;
    Ok(())
}

/// One line per set, pool and arm; rates in per cent.
fn figures(results: &Results) -> String {
    let head = ["set", "pool", "arm", "n", "top-1", "top-3", "top-5", "mrr", "auc", "tokens", "ms"];
    let mut table = table(&head, &[3, 4, 5, 6, 7, 8, 9, 10]);
    for run in &results.runs {
        table.add_row(row(run));
    }
    rendered(&table)
}

fn row(run: &Run) -> Vec<String> {
    let percent =
        |rate: Option<f64>| rate.map_or_else(String::new, |r| format!("{:.1}", 100.0 * r));
    let rates = run.rates.as_ref();
    let tokens = match run.tokens.reply_mean {
        Some(mean) => format!("{mean:.0}"),
        None => run.tokens.all_schemas.to_string(),
    };
    vec![
        run.set.clone(),
        run.pool.clone(),
        run.arm.clone(),
        run.n.to_string(),
        percent(rates.map(|rates| rates.top1)),
        percent(rates.map(|rates| rates.top3)),
        percent(rates.map(|rates| rates.top5)),
        percent(rates.map(|rates| rates.mrr)),
        percent(run.abstain.as_ref().and_then(|abstain| abstain.auc)),
        tokens,
        run.latency_ms.as_ref().map_or_else(String::new, |latency| format!("{:.2}", latency.p50)),
    ]
}

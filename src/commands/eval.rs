//! `toolscout eval`: sets and arms → figures on the terminal, as JSON, as a page.

mod calibrate;
mod figures;
mod measure;
mod report;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::progress;
use super::terminal::{print, print_json, remark, rendered, table};
use crate::cli::Eval;
use crate::cli::EvalNeedle;
use crate::cli::EvalRun;
use crate::config::Config;
use crate::evaluate::Fetched;
use crate::evaluate::Gate;
use crate::evaluate::Outcome;
use crate::evaluate::Point;
use crate::evaluate::Registry;
use crate::evaluate::Suite;
use crate::evaluate::{self};

pub(super) fn run(config: &Config, command: &Eval) -> anyhow::Result<()> {
    match command {
        Eval::Run(arguments) => run_sets(config, arguments),
        Eval::Needle(arguments) => needle(config, arguments),
        Eval::Fetch { name, data } => fetch(config, name, data.as_ref()),
        Eval::Report(arguments) => report::run(config, arguments),
        Eval::Calibrate(arguments) => calibrate::run(config, arguments),
    }
}

fn run_sets(config: &Config, arguments: &EvalRun) -> anyhow::Result<()> {
    let gate = arguments.gate.as_deref().map(Gate::load).transpose()?;
    evaluate::arms(&arguments.what.arm)?;
    let suites = match &arguments.requests {
        Some(requests) => vec![Suite::of_files(requests, &arguments.catalog)?],
        None => Suite::of_sets(&measure::sets(config, &arguments.what))?,
    };
    let (results, outcomes) = measure::all(config, &arguments.what, &suites)?;
    if let Some(path) = &arguments.outcomes {
        write_outcomes(path, &outcomes)?;
    }
    if config.json {
        print_json(&results)?;
    } else {
        print(&figures::table_of(&results))?;
    }
    let missed = gate.map(|gate| gate.missed(&results)).unwrap_or_default();
    if !missed.is_empty() {
        let list: Vec<String> = missed.iter().map(|one| format!("\n  {one}")).collect();
        bail!("the gate is closed; figures missed: {}{}", missed.len(), list.concat());
    }
    Ok(())
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

fn needle(config: &Config, arguments: &EvalNeedle) -> anyhow::Result<()> {
    let default = || ["scout", "mcp-zero"].map(str::to_owned).to_vec();
    let names = if arguments.arm.is_empty() { default() } else { arguments.arm.clone() };
    let arms = evaluate::arms(&names)?;
    let points = measure::needle(config, &arms, &measure::data(config, arguments.data.as_ref()))?;
    if config.json {
        return print_json(&points);
    }
    let mut rows = table(&["arm", "points", "first place, %", "first five, %"], &[1, 2, 3]);
    for arm in &arms {
        let own: Vec<&Point> = points.iter().filter(|point| point.arm == arm.name).collect();
        let within = |k| own.iter().filter(|one| one.rank.is_some_and(|rank| rank <= k)).count();
        let percent = |k| format!("{:.1}", figures::percent(within(k), own.len()));
        rows.add_row([arm.name.to_owned(), own.len().to_string(), percent(1), percent(5)]);
    }
    print(&rendered(&rows))
}

/// Gets what can be got; what cannot is said at the end.
fn fetch(config: &Config, names: &[String], data: Option<&PathBuf>) -> anyhow::Result<()> {
    let (registry, data) = (Registry::load()?, measure::data(config, data));
    let sets: Vec<_> = match names {
        [] => registry.sets.iter().filter(|set| set.default).collect(),
        names => names.iter().map(|name| registry.set(name)).collect::<Result<_, _>>()?,
    };
    let mut files: Vec<&str> = sets.iter().flat_map(|set| set.files()).collect();
    files.sort_unstable();
    files.dedup();
    let mut failed = Vec::new();
    for name in files {
        let file = registry.file(name)?;
        let bar = progress::bytes(config, name, None);
        let outcome = evaluate::fetch(file, &data);
        bar.finish_and_clear();
        match outcome {
            Ok(Fetched::New) => remark(config, &format!("fetched {name} ({})", file.licence)),
            Ok(Fetched::AlreadyThere) => remark(config, &format!("{name} is there")),
            Err(error) => failed.push(format!("\n  {error}")),
        }
    }
    if !failed.is_empty() {
        bail!("files missing: {}{}", failed.len(), failed.concat());
    }
    Ok(())
}

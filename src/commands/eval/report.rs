//! `toolscout eval report`.

use anyhow::Context;

use super::measure;
use crate::cli::EvalReport;
use crate::cli::EvalSets;
use crate::commands::terminal::print;
use crate::config::Config;
use crate::evaluate::Report;
use crate::evaluate::Suite;
use crate::evaluate::{self};

pub(super) fn run(config: &Config, arguments: &EvalReport) -> anyhow::Result<()> {
    let report = match &arguments.from {
        Some(path) => serde_json::from_str(&fs_err::read_to_string(path)?)
            .with_context(|| format!("`{}` is no report.json", path.display()))?,
        None => measured(config, &arguments.what)?,
    };
    fs_err::create_dir_all(&arguments.out)?;
    let json = serde_json::to_string_pretty(&report)?;
    for (name, text) in [
        ("report.json", json + "\n"),
        ("report.md", report.to_markdown()),
        ("report.html", report.to_html()),
    ] {
        let path = arguments.out.join(name);
        fs_err::write(&path, text)?;
        print(&path.display().to_string())?;
    }
    Ok(())
}

fn measured(config: &Config, what: &EvalSets) -> anyhow::Result<Report> {
    let suites = Suite::of_sets(&measure::sets(config, what))?;
    let (results, _) = measure::all(config, what, &suites)?;
    let data = measure::data(config, what.data.as_ref());
    let arms = evaluate::arms(&["scout", "mcp-zero"].map(str::to_owned))?;
    Ok(Report {
        command: "toolscout eval report --data DIR".to_owned(),
        results,
        needle: measure::needle(config, &arms, &data)?,
        growth: measure::growth(config, &data)?,
    })
}

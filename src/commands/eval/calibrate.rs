//! `toolscout eval calibrate`.

use anyhow::Context;

use super::measure;
use crate::cli::EvalCalibrate;
use crate::commands::terminal::{print, print_json, remark, rendered, table};
use crate::config::Config;
use crate::evaluate::Fit;
use crate::evaluate::Suite;
use crate::evaluate::{self};
use crate::index::Index;

pub(super) fn run(config: &Config, arguments: &EvalCalibrate) -> anyhow::Result<()> {
    let mut what = arguments.what.clone();
    what.arm = vec!["scout".to_owned()];
    let mut suites = match &arguments.requests {
        Some(requests) => vec![Suite::of_files(requests, &arguments.catalog)?],
        None => Suite::of_sets(&measure::sets(config, &what))?,
    };
    suites.retain(|suite| !suite.by_case);
    for suite in &mut suites {
        suite.removes = true;
    }
    let (_, outcomes) = measure::all(config, &what, &suites)?;
    let embedder = measure::model(config, what.model.as_deref())?;
    let fit = evaluate::fit(&outcomes, embedder.calibration(), f64::from(arguments.keep));
    let fit = fit.context(
        "nothing to fit: there must be requests that were fulfilled and requests that were not",
    )?;
    if config.json {
        print_json(&fit)?;
    } else {
        show(&fit)?;
    }
    if arguments.write {
        Index::open(&config.index)?.require_model(embedder.identity())?;
        Index::keep_calibration(&config.index, embedder.identity(), fit.calibration)?;
        let dir = config.index.display();
        remark(config, &format!("`{dir}` answers with these numbers from now on"));
    }
    Ok(())
}

fn show(fit: &Fit) -> anyhow::Result<()> {
    let (n, how) = (fit.n, if fit.is_whole { "all numbers" } else { "shift and scale" });
    print(&format!("[model.confidence]  # {how} from {n} rows\n{}", toml(fit)?))?;
    print(&format!("expected calibration error on these rows: {:.3}\n", fit.error))?;
    let mut rows = table(&["floor", "answerable kept, %", "others rejected, %"], &[0, 1, 2]);
    for one in &fit.floors {
        rows.add_row([
            format!("{:.2}", one.floor),
            format!("{:.1}", 100.0 * one.kept),
            format!("{:.1}", 100.0 * one.rejected),
        ]);
    }
    print(&rendered(&rows))
}

fn toml(fit: &Fit) -> anyhow::Result<String> {
    toml::to_string(&fit.calibration).context("cannot write the numbers as TOML")
}

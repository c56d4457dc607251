//! A report as tables.

use std::fmt::Write;

use super::Report;
use crate::evaluate::results::{Rates, Run, Separation};

pub(super) fn render(report: &Report) -> String {
    let results = &report.results;
    let mut page = format!(
        "# Tool selection, measured\n\n`{}`\n\ntoolscout {} at {}, model {}, seed {}. Rates in per \
cent, with Wilson's 95 % interval of top-1; tokens by o200k_base; latency of a whole request whose \
vectors are known. The page with plots is `report.html`, all figures are in `report.json`.\n",
        report.command,
        results.toolscout,
        results.commit.as_deref().unwrap_or("an unknown commit"),
        results.model,
        results.seed,
    );
    for suite in report.suites() {
        let runs: Vec<&Run> =
            report.arms().into_iter().filter_map(|arm| report.run(suite, arm)).collect();
        set(&mut page, suite, &runs);
    }
    abstention(&mut page, report);
    pools(&mut page, report);
    page
}

fn set(page: &mut String, (set, pool): (&str, &str), runs: &[&Run]) {
    let labels = runs.first().map(|run| run.labels.as_str()).unwrap_or_default();
    let all = runs.first().map_or(0, |run| run.tokens.all_schemas);
    let _infallible = write!(
        page,
        "\n## {set}, {pool} tools\n\nLabels: {labels}. All schemas: {all} tokens.\n\n| arm | n | \
skipped | top-1 | 95 % | top-3 | top-5 | MRR | nDCG@10 | reply tokens | saved | p50 ms |\n\
|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for run in runs.iter().filter(|run| run.rates.is_some()) {
        let rate = |of: fn(&Rates) -> f64| percent(run.rates.as_ref().map(of));
        let interval = run.rates.as_ref().and_then(|rates| rates.ci95.get("top1"));
        let interval = interval
            .map(|[low, high]| format!("{:.1}–{:.1}", 100.0 * low, 100.0 * high))
            .unwrap_or_default();
        let _infallible = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            run.arm,
            run.n,
            run.skipped,
            rate(|rates| rates.top1),
            interval,
            rate(|rates| rates.top3),
            rate(|rates| rates.top5),
            rate(|rates| rates.mrr),
            rate(|rates| rates.ndcg10),
            run.tokens.reply_mean.map_or_else(String::new, |mean| format!("{mean:.0}")),
            run.tokens.saved.map_or_else(String::new, |saved| format!("{:.2} %", 100.0 * saved)),
            run.latency_ms.as_ref().map_or_else(String::new, |time| format!("{:.2}", time.p50)),
        );
    }
}

fn abstention(page: &mut String, report: &Report) {
    page.push_str(
        "\n## Knowing that nothing fits\n\nAUC of the confidence (of the best score where an arm has \
none): requests with a right tool against requests without one. \"removed\" asks the same requests \
after every tool that fulfils them was taken out.\n\n| set | pool | arm | against | n | AUC | false \
accepts at 95 % true accepts | answered |\n|---|---|---|---|---|---|---|---|\n",
    );
    for run in &report.results.runs {
        let Some(abstain) = &run.abstain else { continue };
        let is_shown = ["scout", "mcp-zero", "bm25", "flat"].contains(&run.arm.as_str());
        for (level, kind) in abstain.by_level.iter().filter(|_| is_shown) {
            row(page, run, &format!("level {level} without a right tool"), kind);
        }
        if let Some(removed) = abstain.removed.as_ref().filter(|_| is_shown) {
            row(page, run, "removed", removed);
        }
        if run.arm == "scout" {
            let _infallible = writeln!(
                page,
                "| {} | {} | scout | with a right tool | {} | | | {} |",
                run.set,
                run.pool,
                run.n,
                percent(Some(abstain.answered))
            );
        }
    }
    if let Some(calibration) = &report.results.calibration {
        let _infallible = write!(
            page,
            "\nExpected calibration error of scout's confidence, all sets alike, fulfilled and \
unfulfilled alike: {:.3} (n {}).\n\n| said | came true | n |\n|---|---|---|\n",
            calibration.error, calibration.n
        );
        for bin in &calibration.bins {
            let _infallible =
                writeln!(page, "| {:.2} | {:.2} | {} |", bin.confidence, bin.rate, bin.n);
        }
    }
}

fn row(page: &mut String, run: &Run, against: &str, kind: &Separation) {
    let _infallible = writeln!(
        page,
        "| {} | {} | {} | {against} | {} | {} | {} | {} |",
        run.set,
        run.pool,
        run.arm,
        kind.n,
        kind.auc.map_or_else(String::new, |auc| format!("{auc:.3}")),
        percent(kind.far_at_95tar),
        percent(kind.answered),
    );
}

fn pools(page: &mut String, report: &Report) {
    page.push_str("\n## Pools that grow\n\nRequests of API-Bank, first calls, among ever more tools of MCP-tools and Toucan.\n\n| tools | arm | n | top-1 | top-5 | all schemas | reply tokens | p50 ms |\n|---|---|---|---|---|---|---|---|\n");
    for run in &report.growth {
        let _infallible = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            run.pool,
            run.arm,
            run.n,
            percent(run.rates.as_ref().map(|rates| rates.top1)),
            percent(run.rates.as_ref().map(|rates| rates.top5)),
            run.tokens.all_schemas,
            run.tokens.reply_mean.map_or_else(String::new, |mean| format!("{mean:.0}")),
            run.latency_ms.as_ref().map_or_else(String::new, |time| format!("{:.2}", time.p50)),
        );
    }
    let n = report.needle.iter().filter(|point| point.arm == "scout").count();
    if n > 0 {
        let _infallible = writeln!(
            page,
            "\nNeedle grid ({n} points; a tool asked for in its own words): scout {} %, mcp-zero \
{} % at the first place.",
            percent(report.found("scout")),
            percent(report.found("mcp-zero"))
        );
    }
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(String::new, |rate| format!("{:.1}", 100.0 * rate))
}

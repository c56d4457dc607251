//! Figures as a table of the terminal.

use crate::commands::terminal::{rendered, table};
use crate::evaluate::Results;
use crate::evaluate::Run;

/// One line per set, pool and arm; rates in per cent.
pub(super) fn table_of(results: &Results) -> String {
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
    // What tells most of a ranking's own judgement: near misses if there are any.
    let auc = run.abstain.as_ref().and_then(|abstain| {
        abstain.removed.as_ref().and_then(|removed| removed.auc).or(abstain.auc)
    });
    vec![
        run.set.clone(),
        run.pool.clone(),
        run.arm.clone(),
        run.n.to_string(),
        percent(rates.map(|rates| rates.top1)),
        percent(rates.map(|rates| rates.top3)),
        percent(rates.map(|rates| rates.top5)),
        percent(rates.map(|rates| rates.mrr)),
        percent(auc),
        tokens,
        run.latency_ms.as_ref().map_or_else(String::new, |latency| format!("{:.2}", latency.p50)),
    ]
}

/// A share in per cent; 0 of none.
#[expect(clippy::cast_precision_loss, reason = "counts of cases")]
pub(super) fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

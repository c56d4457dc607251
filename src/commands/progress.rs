//! Progress bars on stderr: only on a terminal, never with `--quiet`.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::config::Config;

/// A bar that counts `total` things called `unit`, with rate and time left.
pub(super) fn counting(config: &Config, what: &str, total: u64) -> ProgressBar {
    let bar = bar(config, Some(total));
    bar.set_style(style("{msg} {bar:30} {human_pos}/{human_len}  {per_sec}  {eta} left"));
    bar.set_message(what.to_owned());
    bar
}

/// A bar over bytes; without a total it only counts.
pub(super) fn bytes(config: &Config, what: &str, total: Option<u64>) -> ProgressBar {
    let bar = bar(config, total);
    bar.set_style(style(if total.is_some() {
        "{msg} {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left"
    } else {
        "{msg} {spinner} {bytes}"
    }));
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn bar(config: &Config, total: Option<u64>) -> ProgressBar {
    let target =
        if config.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(total, target)
}

/// A template that does not parse would be our own fault; it costs only looks.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

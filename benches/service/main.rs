//! What `serve` costs as a client sees it: tables for `eval/reports/service.md`.
//!
//! - A tool of a stdio server called directly, and through `call_tool`.
//! - 64 clients of `serve --http` that discover at once, and the bare embedding
//!   of as many texts in the same run.
//!
//! usage: `TOOLSCOUT_HOME=DIR cargo bench --bench service -- INDEX`
//!
//! DIR has the models, INDEX was built with one. Needs Python for the server.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a bench may panic, prints its tables, is told by the environment, and counts nothing beyond 2^24"
)]

mod calls;
mod crowd;
mod session;

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let (Some(home), [index]) = (std::env::var_os("TOOLSCOUT_HOME"), &arguments[..]) else {
        println!("usage: TOOLSCOUT_HOME=DIR service INDEX; see the top of the file");
        return;
    };
    calls::overhead();
    crowd::discoveries(Path::new(&home), Path::new(index));
}

/// The program that is measured.
fn toolscout() -> Command {
    Command::new(env!("CARGO_BIN_EXE_toolscout"))
}

/// A path within the repository.
fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Median, 95th and 99th percentile.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
    format!("n {}, p50 {:.3?}, p95 {:.3?}, p99 {:.3?}", times.len(), at(50), at(95), at(99))
}

//! The process: parse arguments, run, map the result to an exit code.

use std::process::ExitCode;

use clap::Parser;
use toolscout::cli::Cli;
use toolscout::clients::ClientsError;
use toolscout::commands::{self, Outcome};
use toolscout::embed::RemoteError;
use toolscout::error::Fault;
use toolscout::fetch::FetchError;
use toolscout::router::RouteError;
use toolscout::telemetry;

const FAILED: u8 = 1;
const BAD_USAGE: u8 = 2;
const NOTHING_MATCHED: u8 = 3;

fn main() -> ExitCode {
    let cli = Cli::parse();
    #[cfg(unix)]
    survive_file_size_limit();
    match telemetry::start(&cli.global.log).and_then(|()| commands::run(cli)) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NothingMatched) => ExitCode::from(NOTHING_MATCHED),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            commands::print_error(&error);
            ExitCode::from(exit_code(&error))
        }
    }
}

/// A write over `ulimit -f` becomes an error with a path instead of a signal
/// that ends the process.
#[cfg(unix)]
fn survive_file_size_limit() {
    let seen = std::sync::Arc::default();
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen) {
        tracing::debug!(%error, "no handler for SIGXFSZ");
    }
}

/// A request or a flag that cannot be understood is bad usage; all else has failed.
fn exit_code(error: &anyhow::Error) -> u8 {
    if error.downcast_ref().map(RemoteError::fault) == Some(Fault::Caller) {
        return BAD_USAGE;
    }
    if error.downcast_ref().map(FetchError::fault) == Some(Fault::Caller) {
        return BAD_USAGE;
    }
    if error.downcast_ref().map(ClientsError::fault) == Some(Fault::Caller) {
        return BAD_USAGE;
    }
    match error.downcast_ref::<RouteError>() {
        Some(RouteError::Index(_)) | None => FAILED,
        Some(error) if error.fault() == Fault::Caller => BAD_USAGE,
        Some(_) => FAILED,
    }
}

/// The reader of our output has seen enough (`toolscout … | head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .root_cause()
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

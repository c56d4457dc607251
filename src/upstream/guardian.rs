//! A second process that ends our servers when we no longer can.
//!
//! Owns the case that this process is killed: a crash, `kill -9`, the memory
//! killer. It reads the groups of the servers on its input; when that is
//! closed, whatever the reason, it ends those that are left. On Windows a job
//! object does the same, and no guardian is needed.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::io::Write;
use std::path::Path;
use std::process::ChildStdin;
use std::process::Command;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// How long a server has to end after it has been asked to.
const GRACE: Duration = Duration::from_millis(700);

/// How often the end of a server is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// The line to the second process; dropped, that process ends what is left.
#[derive(Debug)]
pub struct Guardian {
    line: Mutex<ChildStdin>,
}

impl Guardian {
    /// Starts the second process: `program` with `arguments` must run [`keep_watch`].
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(program: &Path, arguments: &[&str]) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C in the terminal is for us; the guardian outlives it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let line = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        // It ends with its input, which is with us or soon after.
        std::thread::Builder::new().name("guardian".to_owned()).spawn(move || child.wait())?;
        Ok(Self { line: Mutex::new(line) })
    }

    pub(super) fn watch(&self, group: u32) {
        self.tell(&format!("+{group}\n"));
    }

    pub(super) fn forget(&self, group: u32) {
        self.tell(&format!("-{group}\n"));
    }

    fn tell(&self, word: &str) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = line.write_all(word.as_bytes()) {
            tracing::warn!(%error, "the guardian is gone: a crash would leave servers behind");
        }
    }
}

/// What the second process does: reads until the end, then ends what is left.
pub fn keep_watch(lines: impl BufRead) {
    #[cfg(unix)]
    ignore_signals();
    let mut groups = BTreeSet::new();
    for line in lines.lines().map_while(Result::ok) {
        match (line.get(..1), line.get(1..).and_then(|number| number.parse::<u32>().ok())) {
            (Some("+"), Some(group)) => drop(groups.insert(group)),
            (Some("-"), Some(group)) => drop(groups.remove(&group)),
            _ => {}
        }
    }
    #[cfg(unix)]
    end_all(&groups);
}

/// It ends with its input and not before.
#[cfg(unix)]
fn ignore_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        if let Err(error) = signal_hook::flag::register(signal, Arc::default()) {
            tracing::debug!(%error, signal, "the guardian can be ended by a signal");
        }
    }
}

#[cfg(unix)]
fn end_all(groups: &BTreeSet<u32>) {
    let asked: Vec<u32> = groups.iter().copied().filter(|group| ask_to_end(*group)).collect();
    let end = std::time::Instant::now() + GRACE;
    while std::time::Instant::now() < end && asked.iter().any(|group| is_there(*group)) {
        std::thread::sleep(LOOK);
    }
    for group in asked {
        signal(group, rustix::process::Signal::KILL);
    }
}

/// Asks a group to end; whether there was anybody to ask.
#[cfg(unix)]
pub(super) fn ask_to_end(group: u32) -> bool {
    signal(group, rustix::process::Signal::TERM)
}

/// Waits until nobody is left in a group.
#[cfg(unix)]
pub(super) async fn gone(group: u32) {
    while is_there(group) {
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(unix)]
fn signal(group: u32, signal: rustix::process::Signal) -> bool {
    pid(group).is_some_and(|pid| rustix::process::kill_process_group(pid, signal).is_ok())
}

#[cfg(unix)]
fn is_there(group: u32) -> bool {
    pid(group).is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
}

/// Never 0 or 1, which would be our own group and everybody.
#[cfg(unix)]
fn pid(group: u32) -> Option<rustix::process::Pid> {
    let group = i32::try_from(group).ok().filter(|group| *group > 1)?;
    rustix::process::Pid::from_raw(group)
}

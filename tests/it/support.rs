//! What the tests share: the binary, its folders, the model, the shared data.

pub(crate) mod wire;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

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

/// A home of its own, gone when dropped, with the index `built` in it.
pub(crate) struct World {
    home: TempDir,
}

impl World {
    /// Nothing built yet.
    pub(crate) fn empty() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self { home }
    }

    /// An index of this catalogue, built with the stand-in embedder.
    pub(crate) fn of(catalog: &str) -> Self {
        let world = Self::empty();
        world.build(catalog);
        world
    }

    /// An index of the bundled sample.
    pub(crate) fn of_sample() -> Self {
        let world = Self::empty();
        stand_in_index(world.home(), &sample());
        world
    }

    /// Writes the catalogue to the one source of this world and builds again.
    pub(crate) fn build(&self, catalog: &str) {
        let source = self.write("source.json", catalog);
        stand_in_index(self.home(), &source);
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where the index is, or will be.
    pub(crate) fn index(&self) -> PathBuf {
        self.home().join("built")
    }

    /// The folder of the live generation.
    pub(crate) fn live(&self) -> PathBuf {
        let current = std::fs::read_to_string(self.index().join("CURRENT")).unwrap();
        self.index().join(current.trim())
    }

    /// Writes a file into the home and says where.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The binary with the home, the index, and these arguments, split at blanks.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = toolscout(self.home());
        command.env("TOOLSCOUT_INDEX", self.index());
        command.args(line.split_whitespace());
        command
    }

    /// Runs; stdout as JSON.
    pub(crate) fn json(&self, line: &str) -> Value {
        let stdout = stdout_of(self.command(line).arg("--json"), 0);
        serde_json::from_str(&stdout).unwrap()
    }
}

/// Runs to the end with `input` on stdin.
pub(crate) fn run_with(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Every file below `dir` and its bytes.
pub(crate) fn snapshot(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    files
}

/// Changes the manifest and makes its checksum right again.
pub(crate) fn edit_manifest(folder: &Path, edit: impl FnOnce(&mut Value)) {
    let path = folder.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    edit(&mut manifest);
    let bytes = serde_json::to_vec_pretty(&manifest).unwrap();
    let line = format!("{}  manifest.json\n", sha256(&bytes));
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(folder.join("manifest.sha256"), line).unwrap();
}

/// In lower-case hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

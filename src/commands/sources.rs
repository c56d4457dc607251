//! `toolscout sources list`.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use super::terminal::{print, print_json, rendered, say, table};
use crate::catalog::clean_text;
use crate::cli::Sources;
use crate::config;
use crate::config::Config;
use crate::config::UserFolders;
use crate::sources::SourceError;
use crate::sources::client_config;
use crate::sources::client_config::ClientConfig;
use crate::sources::client_config::Effect;
use crate::sources::client_config::Kind;
use crate::sources::client_config::Launch;
use crate::sources::client_config::Transport;
use crate::sources::client_config::Variable;

pub(super) fn run(config: &Config, command: &Sources) -> anyhow::Result<()> {
    let Sources::List { from } = command;
    let found = if from.is_empty() { found_here()? } else { named(from)? };
    if config.json {
        let sources: Vec<Value> = found.iter().map(Found::to_json).collect();
        return print_json(&json!({ "sources": sources }));
    }
    if found.is_empty() {
        say("no client configuration found on this machine; name one with `--from FILE`");
    }
    for (index, one) in found.iter().enumerate() {
        if index > 0 {
            print("")?;
        }
        one.print()?;
    }
    Ok(())
}

/// One file, read or not.
struct Found {
    path: PathBuf,
    client: &'static str,
    result: Result<ClientConfig, SourceError>,
}

/// Files that the user names must be there and be read.
fn named(paths: &[PathBuf]) -> anyhow::Result<Vec<Found>> {
    let read = |path: &PathBuf| -> anyhow::Result<Found> {
        let config = client_config::read(path)?;
        Ok(Found { path: path.clone(), client: config.client.id(), result: Ok(config) })
    };
    paths.iter().map(read).collect()
}

/// A file that happens to be there may be broken: that is said of it.
fn found_here() -> anyhow::Result<Vec<Found>> {
    let UserFolders { home, settings, project } = UserFolders::find()?;
    let places = client_config::places(&home, &settings, &project);
    let read = |(client, path): (client_config::Client, PathBuf)| Found {
        client: client.id(),
        result: client_config::read(&path),
        path,
    };
    Ok(places.into_iter().map(read).collect())
}

/// Whether a variable has a value where toolscout would start the server.
fn is_set(variable: &Variable) -> bool {
    variable.kind == Kind::Env && config::is_set(&variable.name)
}

impl Found {
    fn to_json(&self) -> Value {
        let path = self.path.display().to_string();
        let config = match &self.result {
            Ok(config) => config,
            Err(error) => {
                return json!({
                    "path": path, "client": self.client, "servers": [], "variables": [],
                    "missing": [], "skipped": [], "warnings": [whole(error)],
                });
            }
        };
        let skipped = config.warnings.iter().filter(|warning| warning.effect == Effect::Skipped);
        let skipped: Vec<Value> = skipped
            .map(|one| json!({ "server": one.server, "field": one.field, "reason": one.reason }))
            .collect();
        let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        json!({
            "path": path,
            "client": self.client,
            "servers": config.servers.iter().map(server_json).collect::<Vec<_>>(),
            "variables": unique(config.servers.iter().flat_map(|server| server.variables.clone())),
            "missing": unique(active(config).flat_map(missing)),
            "skipped": skipped,
            "warnings": warnings,
        })
    }

    fn print(&self) -> anyhow::Result<()> {
        let config = match &self.result {
            Ok(config) => config,
            Err(error) => return print(&format!("{}\n  {}", self.path.display(), whole(error))),
        };
        print(&format!("{}  {}", config.client, self.path.display()))?;
        if !config.servers.is_empty() {
            let mut rows = table(&[" server", "how", "", "needs"], &[]);
            for server in &config.servers {
                rows.add_row(row(server));
            }
            print(&rendered(&rows))?;
        } else if config.warnings.is_empty() {
            print("  no MCP servers in it")?;
        }
        for warning in &config.warnings {
            print(&format!("  {}", clean(&warning.to_string())))?;
        }
        Ok(())
    }
}

/// An error with its causes.
fn whole(error: &SourceError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn active(config: &ClientConfig) -> impl Iterator<Item = &Launch> {
    config.servers.iter().filter(|server| !server.disabled)
}

fn missing(server: &Launch) -> Vec<Variable> {
    server.missing(&is_set).into_iter().map(|(_, variable)| variable).collect()
}

/// Names in order, each once.
fn unique(variables: impl Iterator<Item = Variable>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in variables.map(|variable| variable.to_string()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn server_json(server: &Launch) -> Value {
    let names = |values: &[(String, client_config::Template)]| -> Vec<String> {
        values.iter().map(|(name, _)| name.clone()).collect()
    };
    let mut value = json!({
        "name": server.name,
        "transport": server.transport.name(),
        "disabled": server.disabled,
        "variables": unique(server.variables.iter().cloned()),
        "missing": unique(missing(server).into_iter()),
    });
    match &server.transport {
        Transport::Stdio(process) => {
            let words = process.shown();
            value["command"] = json!(words.first());
            value["args"] = json!(words.get(1..));
            value["env"] = json!(names(&process.env));
        }
        Transport::Http(end) | Transport::Sse(end) | Transport::Auto(end) => {
            value["url"] = json!(end.shown());
            value["headers"] = json!(names(&end.headers));
        }
    }
    value
}

/// A line of the table, without anything that steers a terminal.
fn row(server: &Launch) -> [String; 4] {
    let how = match &server.transport {
        Transport::Stdio(process) => process.shown().join(" "),
        Transport::Http(end) | Transport::Sse(end) | Transport::Auto(end) => end.shown(),
    };
    let unset = missing(server);
    let needs = server.variables.iter().map(|variable| {
        let is_unset = variable.kind == Kind::Env && unset.contains(variable);
        format!("{variable}{}", if is_unset && !server.disabled { " (not set)" } else { "" })
    });
    let needs: Vec<String> = needs.collect();
    let off = if server.disabled { " (off)" } else { "" };
    [
        format!(" {}{off}", clean(&server.name)),
        server.transport.name().to_owned(),
        clean(&how),
        clean(&needs.join(", ")),
    ]
}

fn clean(text: &str) -> String {
    clean_text(text).replace('\n', " ")
}

//! Where in a configuration the servers stand.
//!
//! Owns the keys of all clients. A document may have several; of two servers
//! with one name the first counts.

use std::collections::HashSet;
use std::path::Path;

use serde_json::value::RawValue;

use crate::sources::client_config::Client;
use crate::sources::client_config::ClientConfig;
use crate::sources::client_config::Effect;
use crate::sources::client_config::Launch;
use crate::sources::client_config::Warning;
use crate::sources::client_config::document::Document;
use crate::sources::client_config::entry;
use crate::sources::client_config::template::Kind as VariableKind;
use crate::sources::client_config::warning::Unusable;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::fields::elements;
use crate::sources::fields::string;

/// Keys under which servers stand at the top of a document.
const KEYS: [&str; 5] = ["mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers"];

/// Reads the servers of a document.
pub(crate) fn read(path: &Path, document: &Document) -> ClientConfig {
    let fields = match Fields::of(&document.json) {
        Ok(fields) => fields,
        Err(problem) => {
            let warnings = vec![about_file(None, problem.to_string())];
            return ClientConfig { client: Client::Other, servers: Vec::new(), warnings };
        }
    };
    let client = Client::of(path, &fields, document.language);
    let mut found =
        Found { client, servers: Vec::new(), warnings: Vec::new(), names: HashSet::new() };
    if document.is_fragment {
        let reason = "it has no braces around it: read as if it had";
        found.warnings.push(about_file(None, reason.to_owned()));
    }
    found.add_all(&fields);
    found.heed_lists(&fields);
    found.check_inputs(&fields);
    found.count_projects(&fields);
    ClientConfig { client, servers: found.servers, warnings: found.warnings }
}

fn about_file(field: Option<&str>, reason: String) -> Warning {
    Warning { server: None, field: field.map(ToOwned::to_owned), reason, effect: Effect::Kept }
}

struct Found {
    client: Client,
    servers: Vec<Launch>,
    warnings: Vec<Warning>,
    names: HashSet<String>,
}

impl Found {
    fn add_all(&mut self, fields: &Fields<'_>) {
        let mut groups: Vec<(&str, &RawValue)> =
            KEYS.iter().filter_map(|key| Some((*key, fields.get(key)?))).collect();
        if let Some(mcp) = fields.get("mcp") {
            let inner = Fields::of(mcp).ok();
            let inner = inner.as_ref().and_then(|inner| inner.first(&["servers", "mcpServers"]));
            match inner {
                Some((_, servers)) => groups.push(("mcp.servers", servers)),
                None if self.client == Client::OpenCode => groups.push(("mcp", mcp)),
                None => {}
            }
        }
        if groups.is_empty() && fields.objects().any(|entry| is_server(&entry)) {
            return self.add_bare(fields);
        }
        if groups.is_empty() && self.client == Client::Other {
            let reason = format!("it has no servers: none of the keys {}, mcp", KEYS.join(", "));
            self.warnings.push(about_file(None, reason));
        }
        for (key, json) in groups {
            self.add_group(key, json);
        }
    }

    fn add_group(&mut self, key: &str, json: &RawValue) {
        match Kind::of(json) {
            Kind::Object => match Fields::of(json) {
                Ok(entries) => self.add_map(&entries),
                Err(problem) => self.warnings.push(about_file(Some(key), problem.to_string())),
            },
            Kind::Array => self.add_list(key, &elements(json).unwrap_or_default()),
            kind => self.warnings.push(about_file(Some(key), format!("is {kind}, not an object"))),
        }
    }

    /// Servers with no key around them; what is none is no server.
    fn add_bare(&mut self, fields: &Fields<'_>) {
        let reason = "it has no key such as `mcpServers` around its servers";
        self.warnings.push(about_file(None, reason.to_owned()));
        for (name, json) in fields.iter() {
            if Fields::of(json).is_ok_and(|entry| is_server(&entry)) {
                self.add(name, json);
            }
        }
    }

    fn add_map(&mut self, entries: &Fields<'_>) {
        let all: Vec<(&str, &RawValue)> = entries.iter().collect();
        for (index, (name, json)) in all.iter().enumerate() {
            let is_last = !all[index + 1..].iter().any(|(later, _)| later == name);
            if is_last {
                self.add(name, json);
            } else {
                let reason = "stands there again further down, which counts";
                self.warnings.push(Unusable::entry(reason).into_warning(name));
            }
        }
    }

    fn add_list(&mut self, key: &str, entries: &[&RawValue]) {
        for (index, json) in entries.iter().enumerate() {
            let place = format!("{key}[{index}]");
            let name = match Fields::of(json) {
                Ok(fields) => fields.get("name").map(string),
                Err(problem) => {
                    self.warnings.push(Unusable::entry(problem).into_warning(&place));
                    continue;
                }
            };
            match name {
                Some(Ok(name)) => self.add(&name, json),
                Some(Err(problem)) => {
                    let reason = format!("is {problem}");
                    self.warnings.push(Unusable::field("name", reason).into_warning(&place));
                }
                None => {
                    self.warnings.push(Unusable::field("name", "is missing").into_warning(&place));
                }
            }
        }
    }

    fn add(&mut self, name: &str, json: &RawValue) {
        if name.is_empty() {
            return self.warnings.push(Unusable::field("name", "is empty").into_warning(name));
        }
        if !self.names.insert(name.to_owned()) {
            let reason = "stands there already, under another key or in the same list";
            return self.warnings.push(Unusable::entry(reason).into_warning(name));
        }
        match entry::launch(self.client, name, json) {
            Ok((launch, warnings)) => {
                self.servers.push(launch);
                self.warnings.extend(warnings);
            }
            Err(unusable) => self.warnings.push(unusable.into_warning(name)),
        }
    }

    /// Gemini: `mcp.allowed` and `mcp.excluded` switch servers off by name.
    fn heed_lists(&mut self, fields: &Fields<'_>) {
        let Some(mcp) = fields.object("mcp").filter(|_| self.client == Client::Gemini) else {
            return;
        };
        let names = |key| -> Option<Vec<String>> {
            Some(mcp.list(key)?.into_iter().filter_map(|json| string(json).ok()).collect())
        };
        let (allowed, excluded) = (names("allowed"), names("excluded").unwrap_or_default());
        for server in &mut self.servers {
            let is_allowed = allowed.as_ref().is_none_or(|names| names.contains(&server.name));
            server.disabled |= !is_allowed || excluded.contains(&server.name);
        }
    }

    /// VS Code: what a reference asks the user for stands in `inputs`.
    fn check_inputs(&mut self, fields: &Fields<'_>) {
        let nested = fields.object("mcp").and_then(|mcp| mcp.list("inputs"));
        let Some(inputs) = fields.list("inputs").or(nested) else {
            return;
        };
        let id_of = |json: &RawValue| string(Fields::of(json).ok()?.get("id")?).ok();
        let ids: HashSet<String> = inputs.into_iter().filter_map(id_of).collect();
        for server in &self.servers {
            let asked = server.variables.iter().filter(|one| one.kind == VariableKind::Input);
            for variable in asked.filter(|one| !ids.contains(&one.name)) {
                self.warnings.push(Warning {
                    server: Some(server.name.clone()),
                    field: Some("inputs".to_owned()),
                    reason: format!("has no `{}`, which the server asks for", variable.name),
                    effect: Effect::Kept,
                });
            }
        }
    }

    /// Claude Code: a project may have servers of its own.
    fn count_projects(&mut self, fields: &Fields<'_>) {
        let projects =
            fields.object("projects").into_iter().flat_map(|projects| projects.objects());
        let n_servers: usize = projects
            .filter_map(|project| project.object("mcpServers"))
            .map(|servers| servers.iter().count())
            .sum();
        if n_servers > 0 {
            let reason = format!("{n_servers} servers of single projects are not looked at");
            self.warnings.push(about_file(Some("projects"), reason));
        }
    }
}

fn is_server(fields: &Fields<'_>) -> bool {
    fields.first(&entry::TELLTALE).is_some()
}

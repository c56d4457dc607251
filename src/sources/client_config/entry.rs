//! One server in a configuration, in whatever words the client has for it.
//!
//! Owns which of command and address counts, and reading values of the type
//! they should have. Unknown keys are ignored, as clients do.

use serde_json::value::RawValue;

use crate::sources::client_config::Client;
use crate::sources::client_config::Endpoint;
use crate::sources::client_config::Launch;
use crate::sources::client_config::Process;
use crate::sources::client_config::Transport;
use crate::sources::client_config::Warning;
use crate::sources::client_config::endpoint;
use crate::sources::client_config::process;
use crate::sources::client_config::switch;
use crate::sources::client_config::template::Kind as VariableKind;
use crate::sources::client_config::template::Template;
use crate::sources::client_config::template::Variable;
use crate::sources::client_config::warning::Remarks;
use crate::sources::client_config::warning::Unusable;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::fields::elements;
use crate::sources::fields::string;
use crate::sources::findings::shown;

/// Keys that only the description of a server has.
pub(crate) const TELLTALE: [&str; 4] = ["command", "url", "httpUrl", "serverUrl"];

/// An entry while it is read.
pub(crate) struct Entry<'a> {
    pub(crate) client: Client,
    pub(crate) fields: Fields<'a>,
    pub(crate) remarks: Remarks<'a>,
}

/// What the entry says of its transport.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Anything,
    Stdio,
    Http,
    Sse,
    Remote,
}

/// Reads an entry, or says what is wrong with it.
pub(crate) fn launch(
    client: Client,
    name: &str,
    json: &RawValue,
) -> Result<(Launch, Vec<Warning>), Unusable> {
    let outer = Fields::of(json).map_err(Unusable::entry)?;
    let nested = outer.object("transport").filter(|inner| inner.first(&TELLTALE).is_some());
    let wanted = wanted(nested.as_ref().unwrap_or(&outer))?;
    let mut remarks = Remarks::about(name);
    let disabled = switch::is_off(&outer, &mut remarks);
    let mut entry = Entry { client, fields: nested.unwrap_or(outer), remarks };
    let process = process::read(&mut entry)?;
    let endpoint = endpoint::read(&mut entry)?;
    let transport = transport(&mut entry, wanted, process, endpoint)?;
    let variables = variables(&mut entry, &transport);
    let launch = Launch { name: name.to_owned(), transport, disabled, variables };
    Ok((launch, entry.remarks.into_warnings()))
}

fn wanted(fields: &Fields<'_>) -> Result<Wanted, Unusable> {
    let is_text = |json: &&RawValue| Kind::of(json) != Kind::Object;
    let named = ["type", "transport"].map(|key| (key, fields.get(key).filter(is_text)));
    let Some((key, json)) = named.into_iter().find_map(|(key, json)| Some((key, json?))) else {
        return Ok(Wanted::Anything);
    };
    let name = string(json).map_err(|problem| Unusable::field(key, format!("is {problem}")))?;
    let plain: String = name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.as_str() {
        "stdio" | "local" => Ok(Wanted::Stdio),
        "http" | "https" | "streamablehttp" | "streamable" | "httpstream" => Ok(Wanted::Http),
        "sse" => Ok(Wanted::Sse),
        "remote" | "" => Ok(Wanted::Remote),
        _ => Err(Unusable::field(key, format!("`{}` is no transport known here", shown(&name)))),
    }
}

fn transport(
    entry: &mut Entry<'_>,
    wanted: Wanted,
    process: Option<Process>,
    endpoint: Option<(Endpoint, &'static str)>,
) -> Result<Transport, Unusable> {
    let is_remote = matches!(wanted, Wanted::Http | Wanted::Sse | Wanted::Remote);
    match (process, endpoint) {
        (Some(process), None) => {
            if is_remote {
                entry.remarks.add("type", "asks for a connection, but there is only a command");
            }
            Ok(Transport::Stdio(process))
        }
        (Some(process), Some((_, key))) if wanted == Wanted::Stdio => {
            entry.remarks.add(key, "stands beside a command, which counts");
            Ok(Transport::Stdio(process))
        }
        (Some(_), Some((_, key))) if !is_remote => {
            Err(Unusable::field(key, "stands beside `command`, and no `type` says which counts"))
        }
        (None, Some(_)) if wanted == Wanted::Stdio => {
            Err(Unusable::field("command", "is missing, which `type` asks for"))
        }
        (process, Some((endpoint, key))) => {
            if process.is_some() {
                entry.remarks.add("command", format!("stands beside `{key}`, which counts"));
            }
            let is_http = key == "httpUrl" || entry.client == Client::Codex;
            Ok(match wanted {
                Wanted::Sse => Transport::Sse(endpoint),
                Wanted::Http => Transport::Http(endpoint),
                _ if is_http => Transport::Http(endpoint),
                _ => Transport::Auto(endpoint),
            })
        }
        (None, None) => Err(nothing_to_reach(&entry.fields)),
    }
}

fn nothing_to_reach(fields: &Fields<'_>) -> Unusable {
    let source = fields.get("source").and_then(|json| string(json).ok());
    if source.as_deref() == Some("extension") || fields.get("settings").is_some() {
        return Unusable::field("source", "is an extension, which only the client can start");
    }
    Unusable::field("command", "is missing, and so is `url`")
}

/// What the values refer to; says which references nobody could resolve.
fn variables(entry: &mut Entry<'_>, transport: &Transport) -> Vec<Variable> {
    let mut variables: Vec<Variable> = Vec::new();
    for (field, value) in transport.values() {
        if value.variables().any(|variable| variable.kind == VariableKind::Unknown) {
            let reason = "holds a reference of a form that is not known: it cannot be started";
            entry.remarks.add(&field, reason);
        } else if !entry.client.expands() && value.variables().next().is_some() {
            let reason = format!("{} expands no references; here it is one", entry.client);
            entry.remarks.add(&field, reason);
        }
        for variable in value.variables() {
            if !variables.contains(variable) {
                variables.push(variable.clone());
            }
        }
    }
    variables
}

impl Entry<'_> {
    /// A value as the client would read it.
    pub(crate) fn template(&self, text: &str) -> Template {
        Template::parse(text, self.client.syntax())
    }

    /// The text under the first of several keys that is there.
    pub(crate) fn text<'k>(&self, keys: &[&'k str]) -> Result<Option<(&'k str, String)>, Unusable> {
        let Some((key, json)) = self.fields.first(keys) else {
            return Ok(None);
        };
        match string(json) {
            Ok(text) => Ok(Some((key, text))),
            Err(problem) => Err(Unusable::field(key, format!("is {problem}"))),
        }
    }

    /// The texts of a list; other scalars are taken as text, with a remark.
    pub(crate) fn texts(&mut self, key: &str, json: &RawValue) -> Result<Vec<String>, Unusable> {
        let kind = Kind::of(json);
        let items = elements(json)
            .ok_or_else(|| Unusable::field(key, format!("is {kind}, not an array")))?;
        let texts = items.into_iter().enumerate();
        texts.map(|(index, json)| self.scalar(&format!("{key}[{index}]"), json)).collect()
    }

    /// The values of an object of texts; `null` is no value.
    pub(crate) fn map(
        &mut self,
        key: &str,
        json: &RawValue,
    ) -> Result<Vec<(String, Template)>, Unusable> {
        let fields = Fields::of(json).map_err(|problem| Unusable::field(key, problem))?;
        let mut map: Vec<(String, Template)> = Vec::new();
        for (name, json) in fields.iter() {
            let field = format!("{key}.{name}");
            if Kind::of(json) == Kind::Null {
                self.remarks.add(&field, "is null: left out");
                continue;
            }
            let text = self.scalar(&field, json)?;
            map.retain(|(earlier, _)| earlier != name);
            map.push((name.to_owned(), self.template(&text)));
        }
        Ok(map)
    }

    fn scalar(&mut self, field: &str, json: &RawValue) -> Result<String, Unusable> {
        match Kind::of(json) {
            kind @ (Kind::Number | Kind::Boolean) => {
                self.remarks.add(field, format!("is {kind}: taken as text"));
                Ok(json.get().to_owned())
            }
            _ => string(json).map_err(|problem| Unusable::field(field, format!("is {problem}"))),
        }
    }
}

//! A server that is started: command, arguments, environment, folder.

use serde_json::value::RawValue;

use crate::sources::client_config::entry::Entry;
use crate::sources::client_config::mask;
use crate::sources::client_config::template::Template;
use crate::sources::client_config::warning::Unusable;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::fields::elements;
use crate::sources::fields::string;

const ENVIRONMENT: [&str; 2] = ["env", "environment"];

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Process {
    /// A program, looked up as the system does.
    pub command: Template,
    /// Each one argument, without quoting.
    pub args: Vec<Template>,
    /// Added to the environment; names are unique.
    pub env: Vec<(String, Template)>,
    /// Where it runs, if the client says.
    pub cwd: Option<Template>,
}

impl Process {
    /// Command and arguments, with what may be secret as `***`.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let words = std::iter::once(&self.command).chain(&self.args);
        mask::arguments(words.map(Template::written))
    }

    pub(crate) fn values(&self) -> Vec<(String, &Template)> {
        let args = self.args.iter().enumerate();
        let args = args.map(|(index, value)| (format!("args[{index}]"), value));
        let env = self.env.iter().map(|(name, value)| (format!("env.{name}"), value));
        let cwd = self.cwd.iter().map(|value| ("cwd".to_owned(), value));
        std::iter::once(("command".to_owned(), &self.command))
            .chain(args)
            .chain(env)
            .chain(cwd)
            .collect()
    }
}

/// Reads the command of an entry and all that belongs to it, if it has one.
pub(crate) fn read(entry: &mut Entry<'_>) -> Result<Option<Process>, Unusable> {
    let Some(json) = entry.fields.get("command") else {
        return Ok(None);
    };
    let mut words = words(entry, json)?;
    if let Some(json) = entry.fields.get("args") {
        words.extend(entry.texts("args", json)?);
    }
    let mut env = environment(entry)?;
    if let Ok(nested) = Fields::of(json)
        && let Some((key, json)) = nested.first(&ENVIRONMENT)
    {
        env.extend(entry.map(key, json)?);
    }
    let cwd = entry.text(&["cwd"])?.map(|(_, text)| entry.template(&text));
    if entry.fields.get("envFile").is_some() {
        entry.remarks.add("envFile", "is not read: set its variables in the environment");
    }
    needs_windows(entry, &words);
    let mut words = words.iter().map(|word| entry.template(word));
    let Some(command) = words.next() else {
        return Err(Unusable::field("command", "is empty"));
    };
    Ok(Some(Process { command, args: words.collect(), env, cwd }))
}

/// Command and arguments where `command` holds both, in any of three ways.
fn words(entry: &mut Entry<'_>, json: &RawValue) -> Result<Vec<String>, Unusable> {
    let mut words = match Kind::of(json) {
        Kind::String => vec![command(json)?],
        Kind::Array => entry.texts("command", json)?,
        Kind::Object => of_object(entry, json)?,
        kind => return Err(Unusable::field("command", format!("is {kind}, not a string"))),
    };
    match words.first_mut() {
        Some(first) if !first.trim().is_empty() => *first = first.trim().to_owned(),
        _ => return Err(Unusable::field("command", "is empty")),
    }
    Ok(words)
}

fn command(json: &RawValue) -> Result<String, Unusable> {
    string(json).map_err(|problem| Unusable::field("command", format!("is {problem}")))
}

/// `{"path": …, "args": […]}`, as Zed had it.
fn of_object(entry: &mut Entry<'_>, json: &RawValue) -> Result<Vec<String>, Unusable> {
    let fields = Fields::of(json).map_err(|problem| Unusable::field("command", problem))?;
    let Some((_, path)) = fields.first(&["path", "command"]) else {
        return Err(Unusable::field("command.path", "is missing"));
    };
    let mut words = vec![command(path)?];
    if let Some(json) = fields.get("args") {
        words.extend(entry.texts("command.args", json)?);
    }
    Ok(words)
}

fn environment(entry: &mut Entry<'_>) -> Result<Vec<(String, Template)>, Unusable> {
    let mut env = match entry.fields.first(&ENVIRONMENT) {
        Some((key, json)) => entry.map(key, json)?,
        None => Vec::new(),
    };
    env.retain(|(name, _)| {
        let fits = !name.is_empty() && !name.contains(['=', '\0']);
        if !fits {
            entry.remarks.add("env", "has a name that no environment can hold: left out");
        }
        fits
    });
    for name in passed_on(entry)? {
        if !env.iter().any(|(known, _)| *known == name) {
            env.push((name.clone(), Template::of_env("", &name)));
        }
    }
    Ok(env)
}

/// Codex: `env_vars`, names of variables that the server gets as they are.
fn passed_on(entry: &Entry<'_>) -> Result<Vec<String>, Unusable> {
    let Some(json) = entry.fields.get("env_vars") else {
        return Ok(Vec::new());
    };
    let kind = Kind::of(json);
    let items = elements(json)
        .ok_or_else(|| Unusable::field("env_vars", format!("is {kind}, not an array")))?;
    let name_of = |json: &RawValue| match Fields::of(json) {
        Ok(fields) => string(fields.get("name")?).ok(),
        Err(_) => string(json).ok(),
    };
    let names = items.into_iter().map(|json| {
        name_of(json).ok_or_else(|| Unusable::field("env_vars", "holds another thing than names"))
    });
    names.collect()
}

fn needs_windows(entry: &mut Entry<'_>, words: &[String]) {
    let [command, flag, ..] = words else {
        return;
    };
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let runs_cmd = ["cmd", "cmd.exe"].contains(&program.as_str());
    if !cfg!(windows) && runs_cmd && flag.eq_ignore_ascii_case("/c") {
        entry.remarks.add("command", "is `cmd /c`, which only Windows has");
    }
}

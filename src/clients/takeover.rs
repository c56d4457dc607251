//! Moving the other servers of a client behind toolscout.
//!
//! Owns which can be moved. What toolscout could not start stays with the
//! client, and so does any entry of toolscout.

use std::path::Path;

use crate::clients::ClientsError;
use crate::clients::Note;
use crate::clients::Result;
use crate::clients::document::Document;
use crate::clients::document::entry;
use crate::clients::entry::Entry;
use crate::clients::layout;
use crate::sources::client_config;
use crate::sources::client_config::Client;
use crate::sources::client_config::ClientConfig;
use crate::sources::client_config::Effect;
use crate::sources::client_config::Kind;
use crate::sources::client_config::Launch;
use crate::sources::client_config::Transport;

/// Moves all servers that can be from `document` to `moved`, which will stand
/// at `path`; says which, and what is odd about them.
///
/// # Errors
/// When what would stand there is no configuration.
pub(crate) fn take_over<D: Document>(
    client: Client,
    document: &mut D,
    (path, moved): (&Path, &mut D),
) -> Result<(Vec<String>, Vec<Note>)> {
    let others: Vec<String> = document
        .names()
        .into_iter()
        .filter(|name| !entry(document, client, name).as_ref().is_some_and(Entry::is_ours))
        .collect();
    if others.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut notes = Vec::new();
    let earlier = moved.names();
    for name in &others {
        document.copy(name, moved);
    }
    if let Some(key) = layout::beside(client) {
        document.copy_beside(key, moved);
    }
    let config = client_config::parse(path, &moved.text()).map_err(ClientsError::Moved)?;
    let (able, unable): (Vec<String>, Vec<String>) =
        others.into_iter().partition(|name| config.servers.iter().any(|one| one.name == *name));
    for name in &able {
        document.remove(name);
        if earlier.contains(name) {
            notes.push(Note::Replaced { server: name.clone() });
        }
    }
    for name in unable {
        let skipped = config.warnings.iter().find(|warning| {
            warning.effect == Effect::Skipped && warning.server.as_ref() == Some(&name)
        });
        let reason = skipped.map(ToString::to_string).unwrap_or_default();
        moved.remove(&name);
        notes.push(Note::Left { server: name, reason });
    }
    notes.extend(oddities(&config, &able));
    Ok((able, notes))
}

/// What of the moved servers may not work as it did.
fn oddities(config: &ClientConfig, names: &[String]) -> Vec<Note> {
    let kept = config.warnings.iter().filter(|warning| {
        warning.effect == Effect::Kept
            && warning.server.as_ref().is_none_or(|server| names.contains(server))
    });
    let mut notes: Vec<Note> = kept.cloned().map(Note::Odd).collect();
    for server in config.servers.iter().filter(|server| names.contains(&server.name)) {
        notes.extend(unresolved(server));
        notes.extend(relative(server));
    }
    notes
}

fn unresolved(server: &Launch) -> Vec<Note> {
    let is_clients = |kind| matches!(kind, Kind::Input | Kind::Client | Kind::Secret);
    let variables = server.variables.iter().filter(|variable| is_clients(variable.kind));
    let note = |variable: &client_config::Variable| Note::Unresolved {
        server: server.name.clone(),
        variable: variable.to_string(),
    };
    variables.map(note).collect()
}

fn relative(server: &Launch) -> Vec<Note> {
    let Transport::Stdio(process) = &server.transport else {
        return Vec::new();
    };
    // Below a folder of its own, an argument keeps its meaning.
    let looks_at = |field: &str| {
        ["command", "cwd"].contains(&field) || (process.cwd.is_none() && field.starts_with("args"))
    };
    let values = server.transport.values().into_iter();
    let found =
        values.filter(|(field, value)| looks_at(field) && is_relative(field, value.written()));
    found.map(|(field, _)| Note::Relative { server: server.name.clone(), field }).collect()
}

/// A bare command is looked up, and an argument need not be a path at all.
fn is_relative(field: &str, text: &str) -> bool {
    let has_root = text.starts_with(['/', '\\', '~', '$', '{']) || text.get(1..2) == Some(":");
    let starts_here = ["./", "../", ".\\", "..\\"].iter().any(|dots| text.starts_with(dots));
    match field {
        "cwd" => !has_root,
        "command" => !has_root && text.contains(['/', '\\']),
        _ => starts_here || [".", ".."].contains(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_are_told_from_words() {
        for (field, text, expected) in [
            ("command", "npx", false),
            ("command", "/bin/x", false),
            ("command", "~/x", false),
            ("command", "${X}/y", false),
            ("command", "C:\\x", false),
            ("command", "target/x", true),
            ("command", "./x", true),
            ("cwd", "x", true),
            ("cwd", "/x", false),
            ("args[0]", "@scope/package", false),
            ("args[0]", "./dist/x.js", true),
            ("args[1]", "..", true),
            ("args[1]", ".", true),
        ] {
            assert_eq!(is_relative(field, text), expected, "{field} {text}");
        }
    }
}

//! `toolscout install` and `toolscout uninstall`.

use std::path::Path;

use anyhow::Context;
use serde_json::json;

use super::terminal::{print, print_json, remark};
use crate::build;
use crate::catalog::clean_text;
use crate::cli::ClientPlace;
use crate::cli::Install;
use crate::cli::Uninstall;
use crate::clients;
use crate::clients::ClientsError;
use crate::clients::Installed;
use crate::clients::Mode;
use crate::clients::Note;
use crate::clients::Order;
use crate::clients::Others;
use crate::clients::Program;
use crate::clients::Target;
use crate::clients::Uninstalled;
use crate::clients::Way;
use crate::config::Config;
use crate::config::UserFolders;
use crate::sources::client_config::Client;

pub(super) fn install(config: &Config, command: &Install) -> anyhow::Result<()> {
    let target = target(&command.place)?;
    let order = Order {
        name: command.name.clone(),
        program: program(config)?,
        others: if command.take_over { Others::Move } else { Others::Stay },
        mode: mode(&command.place),
    };
    let folder = std::path::absolute(&config.clients)?;
    let done = clients::install(&folder, &target, &order)?;
    if config.json {
        return print_json(&json!({
            "client": target.client.id(),
            "path": done.path,
            "name": order.name,
            "command": done.command,
            "changed": done.is_changed,
            "dry_run": command.place.dry_run,
            "moved": done.moved,
            "moved_to": done.moved_to,
            "backup": done.backup,
            "notes": texts(&done.notes),
        }));
    }
    say_installed(config, command, (&target, &done))
}

pub(super) fn uninstall(config: &Config, command: &Uninstall) -> anyhow::Result<()> {
    let target = target(&command.place)?;
    let folder = std::path::absolute(&config.clients)?;
    let done = clients::uninstall(&folder, &target, mode(&command.place))?;
    if config.json {
        return print_json(&json!({
            "client": target.client.id(),
            "path": done.path,
            "changed": done.way != Way::Nothing,
            "result": way(done.way),
            "dry_run": command.place.dry_run,
            "returned": done.returned,
            "notes": texts(&done.notes),
        }));
    }
    say_uninstalled(config, command, (&target, &done))
}

fn target(place: &ClientPlace) -> anyhow::Result<Target> {
    let known = || Client::ALL.into_iter().map(Client::id).collect();
    let client = Client::named(&place.client).ok_or_else(|| ClientsError::UnknownClient {
        name: place.client.clone(),
        known: known(),
    })?;
    let path = match &place.file {
        Some(file) => file.clone(),
        None => {
            let UserFolders { home, settings, .. } = UserFolders::find()?;
            clients::default_file(client, &home, &settings)?
        }
    };
    Ok(Target { client, path })
}

/// This binary, and what it was told beside its defaults.
fn program(config: &Config) -> anyhow::Result<Program> {
    let command = std::env::current_exe().context("it is not known where this program is")?;
    let whole = |path: &Path| std::path::absolute(path);
    Ok(Program {
        command,
        index: config.given_index.as_deref().map(whole).transpose()?,
        home: config.given_home.as_deref().map(whole).transpose()?,
    })
}

fn mode(place: &ClientPlace) -> Mode {
    if place.dry_run { Mode::DryRun } else { Mode::Write }
}

fn say_installed(
    config: &Config,
    command: &Install,
    (target, done): (&Target, &Installed),
) -> anyhow::Result<()> {
    let (client, path, name) = (target.client, done.path.display(), &command.name);
    if !done.is_changed {
        print(&format!("already installed: `{name}` in {path}"))?;
        return say_notes(&done.notes);
    }
    let verb = if command.place.dry_run { "would write" } else { "wrote" };
    print(&format!("{verb} `{name}` into {path}\n  {}", clean_text(&done.command)))?;
    if let Some(moved_to) = done.moved_to.as_ref().filter(|_| !done.moved.is_empty()) {
        let verb = if command.place.dry_run { "would move" } else { "moved" };
        let names = clean_text(&done.moved.join(", "));
        print(&format!("{verb} {names}\n  to {}", moved_to.display()))?;
    }
    say_notes(&done.notes)?;
    if command.place.dry_run {
        return Ok(());
    }
    if let Some(backup) = &done.backup {
        remark(config, &format!("the file as it was: {}", backup.display()));
    }
    if let Some(moved_to) = done.moved_to.as_ref().filter(|_| !done.moved.is_empty()) {
        hint_at_index(config, moved_to);
    }
    remark(config, &format!("restart {client}; to undo: {}", undo(&command.place)));
    Ok(())
}

/// An index goes on looking for servers where it was built from.
fn hint_at_index(config: &Config, servers: &Path) {
    if build::recorded_plan(&config.index).is_ok() {
        let (index, servers) = (config.index.display(), servers.display());
        remark(
            config,
            &format!(
                "the index at {index} looks for these servers where they were; if it shall have them: toolscout index build --from {servers} …"
            ),
        );
    }
}

fn undo(place: &ClientPlace) -> String {
    let file = place.file.as_ref().map(|file| format!(" --file {}", file.display()));
    format!("toolscout uninstall --client {}{}", place.client, file.unwrap_or_default())
}

fn say_uninstalled(
    config: &Config,
    command: &Uninstall,
    (target, done): (&Target, &Uninstalled),
) -> anyhow::Result<()> {
    let path = done.path.display();
    let would = if command.place.dry_run { "would be: " } else { "" };
    print(&match done.way {
        Way::Nothing => format!("not installed in {path}"),
        Way::Restored => format!("{would}restored {path}, byte for byte"),
        Way::Removed => format!("{would}removed {path}, which was not there before"),
        Way::Edited => format!(
            "{would}took the entry out of {path}, which was changed since; the changes stay"
        ),
    })?;
    if !done.returned.is_empty() {
        print(&format!("{would}back in it: {}", clean_text(&done.returned.join(", "))))?;
    }
    say_notes(&done.notes)?;
    if done.way != Way::Nothing && !command.place.dry_run {
        if !done.returned.is_empty() {
            hint_at_index(config, &done.path);
        }
        remark(config, &format!("restart {}", target.client));
    }
    Ok(())
}

/// They are part of the result: a server may need its owner's hand.
fn say_notes(notes: &[Note]) -> anyhow::Result<()> {
    texts(notes).iter().try_for_each(|text| print(&format!("note: {}", clean_text(text))))
}

fn texts(notes: &[Note]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}

fn way(way: Way) -> &'static str {
    match way {
        Way::Nothing => "nothing",
        Way::Restored => "restored",
        Way::Removed => "removed",
        Way::Edited => "edited",
    }
}

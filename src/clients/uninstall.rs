//! Taking the one entry out again.
//!
//! Owns the way back: the very bytes where nobody has touched the file since,
//! else an edit that leaves what others have done.

use std::path::Path;
use std::path::PathBuf;

use crate::clients::ClientsError;
use crate::clients::Mode;
use crate::clients::Note;
use crate::clients::Result;
use crate::clients::Target;
use crate::clients::document;
use crate::clients::document::Document;
use crate::clients::file::ClientFile;
use crate::clients::json::Json;
use crate::clients::layout;
use crate::clients::layout::Language;
use crate::clients::store::Lock;
use crate::clients::store::Record;
use crate::clients::store::Slot;
use crate::clients::store::State;
use crate::clients::toml::Toml;

/// What an uninstall has done, or would do.
#[derive(Clone, Debug)]
pub struct Uninstalled {
    /// The client's file, links followed.
    pub path: PathBuf,
    /// How.
    pub way: Way,
    /// Servers that are back in the file.
    pub returned: Vec<String>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// How a file was brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// There was nothing to do.
    Nothing,
    /// It is byte for byte what it was.
    Restored,
    /// It had not been there before, and is gone.
    Removed,
    /// Someone had changed it since: the entry was taken out of it.
    Edited,
}

/// Takes what `install` wrote out of the file.
///
/// # Errors
/// When the file cannot be read, edited or written; it is then as it was.
pub fn uninstall(folder: &Path, target: &Target, mode: Mode) -> Result<Uninstalled> {
    match layout::language(target.client, &target.path) {
        Language::Json => uninstall_in::<Json>(folder, target, mode),
        Language::Toml => uninstall_in::<Toml>(folder, target, mode),
        Language::Yaml => Err(ClientsError::Yaml { path: target.path.clone() }),
    }
}

fn uninstall_in<D: Document>(folder: &Path, target: &Target, mode: Mode) -> Result<Uninstalled> {
    let _lock = match mode {
        Mode::Write => Some(Lock::acquire(folder)?),
        Mode::DryRun => None,
    };
    let file = ClientFile::read(&target.path)?;
    let slot = Slot::of(folder, target.client, &file.path)?;
    let moved = match &slot.record {
        Some(_) => slot.moved_text()?.unwrap_or_default(),
        None => String::new(),
    };
    let moved = D::parse(target.client, &slot.moved, &moved)?;
    // Put back by hand, the file may lack what was moved after the first install.
    let lacks = || -> Result<bool> {
        Ok(document::lacks(&D::parse(target.client, &file.path, file.text()?)?, &moved))
    };
    let state = slot.record.as_ref().map(|record| (record, record.state_of(&file)));
    let done = match state {
        Some((_, State::Original)) if !lacks()? => nothing(&file),
        Some((record, State::Installed)) => restore(&moved, (&file, &slot), record, mode)?,
        Some((record, _)) => edit(target, &file, (Some(record), &moved), mode)?,
        None => edit(target, &file, (None, &moved), mode)?,
    };
    if mode == Mode::Write && slot.record.is_some() {
        slot.forget()?;
    }
    Ok(done)
}

fn nothing(file: &ClientFile) -> Uninstalled {
    let (returned, notes) = (Vec::new(), Vec::new());
    Uninstalled { path: file.path.clone(), way: Way::Nothing, returned, notes }
}

fn restore<D: Document>(
    moved: &D,
    (file, slot): (&ClientFile, &Slot),
    record: &Record,
    mode: Mode,
) -> Result<Uninstalled> {
    let returned = moved.names();
    file.check_writable()?;
    let way = if record.before.is_some() { Way::Restored } else { Way::Removed };
    match (mode, way) {
        (Mode::DryRun, _) => {}
        (Mode::Write, Way::Removed) => file.remove()?,
        (Mode::Write, _) => file.replace(&slot.backup_bytes()?)?,
    }
    Ok(Uninstalled { way, returned, ..nothing(file) })
}

/// Takes our entries out and puts moved servers back, as far as they are not
/// in the file again.
fn edit<D: Document>(
    target: &Target,
    file: &ClientFile,
    (record, moved): (Option<&Record>, &D),
    mode: Mode,
) -> Result<Uninstalled> {
    let client = target.client;
    let mut document = D::parse(client, &file.path, file.text()?)?;
    let mut done = nothing(file);
    for name in document.names() {
        let entry = document::entry(&document, client, &name).unwrap_or_default();
        let is_named = record.is_none_or(|record| record.names.contains(&name));
        if is_named && entry.is_ours() {
            if let Some(config) = entry.config().filter(|_| record.is_none()) {
                done.notes.push(Note::Elsewhere { path: config.into() });
            }
            document.remove(&name);
        } else if is_named && record.is_some() {
            done.notes.push(Note::NotOurs { name });
        }
    }
    let there = document.names();
    for name in moved.names() {
        if there.contains(&name) {
            done.notes.push(Note::AlreadyBack { server: name });
        } else {
            moved.copy(&name, &mut document);
            done.returned.push(name);
        }
    }
    let bytes = file.encoded(&document::checked(&document, client, &file.path)?);
    if bytes != file.bytes.as_deref().unwrap_or_default() {
        done.way = Way::Edited;
        file.check_writable()?;
        if mode == Mode::Write {
            file.replace(&bytes)?;
        }
    }
    Ok(done)
}

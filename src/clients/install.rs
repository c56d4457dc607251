//! Writing the one entry.
//!
//! Owns the order of the writes: the backup, what is moved, the record, and
//! last the client's file. Whoever kills us leaves something that the next
//! install or uninstall understands.

use std::path::Path;
use std::path::PathBuf;

use crate::clients::ClientsError;
use crate::clients::Mode;
use crate::clients::Note;
use crate::clients::Program;
use crate::clients::Reason;
use crate::clients::Result;
use crate::clients::Target;
use crate::clients::document;
use crate::clients::document::Document;
use crate::clients::entry::Entry;
use crate::clients::file;
use crate::clients::file::ClientFile;
use crate::clients::json::Json;
use crate::clients::layout;
use crate::clients::layout::Language;
use crate::clients::store;
use crate::clients::store::Lock;
use crate::clients::store::Record;
use crate::clients::store::Slot;
use crate::clients::store::State;
use crate::clients::takeover::take_over;
use crate::clients::toml::Toml;
use crate::sources::client_config::Client;

/// What shall be installed.
#[derive(Clone, Debug)]
pub struct Order {
    /// Name of the entry.
    pub name: String,
    /// What it starts.
    pub program: Program,
    /// What becomes of the other servers.
    pub others: Others,
    /// Whether anything is written.
    pub mode: Mode,
}

/// What becomes of the other servers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They stay.
    Stay,
    /// They move behind toolscout.
    Move,
}

/// What an install has done, or would do.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The client's file, links followed.
    pub path: PathBuf,
    /// Something is, or would be, other than before.
    pub is_changed: bool,
    /// Command and arguments of the entry.
    pub command: String,
    /// Servers moved now.
    pub moved: Vec<String>,
    /// Where moved servers are, if there are any.
    pub moved_to: Option<PathBuf>,
    /// The file as it was before the first install.
    pub backup: Option<PathBuf>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// Writes the entry into the file; `folder` keeps what undoes it.
///
/// # Errors
/// When the file cannot be read, edited or written; it is then as it was.
pub fn install(folder: &Path, target: &Target, order: &Order) -> Result<Installed> {
    if order.name.is_empty() {
        return Err(ClientsError::NoName);
    }
    let done = match layout::language(target.client, &target.path) {
        Language::Json => install_in::<Json>(folder, target, order),
        Language::Toml => install_in::<Toml>(folder, target, order),
        Language::Yaml => Err(ClientsError::Yaml { path: target.path.clone() }),
    };
    done.map_err(|error| match error {
        ClientsError::Yaml { path } => by_hand(path, Reason::Yaml, (target, order)),
        ClientsError::Uneditable { path } => by_hand(path, Reason::Scattered, (target, order)),
        other => other,
    })
}

/// The entry for the user to paste.
fn by_hand(path: PathBuf, reason: Reason, (target, order): (&Target, &Order)) -> ClientsError {
    let snippet = Entry::of(&order.program, None).and_then(|entry| {
        match layout::language(target.client, &path) {
            Language::Json => alone::<Json>(target, &order.name, &entry),
            Language::Toml => alone::<Toml>(target, &order.name, &entry),
            Language::Yaml => Ok(entry.to_yaml(&order.name)),
        }
    });
    match snippet {
        Ok(snippet) => ClientsError::ByHand { path, reason, snippet },
        Err(error) => error,
    }
}

fn alone<D: Document>(target: &Target, name: &str, entry: &Entry) -> Result<String> {
    let mut document = D::parse(target.client, &target.path, "")?;
    document::put(&mut document, target.client, name, entry);
    Ok(document.text())
}

/// A change that is ready to be written.
struct Plan<'a> {
    file: &'a ClientFile,
    slot: &'a Slot,
    record: Record,
    is_first: bool,
    moved_text: Option<String>,
    bytes: Vec<u8>,
}

fn install_in<D: Document>(folder: &Path, target: &Target, order: &Order) -> Result<Installed> {
    let client = target.client;
    let _lock = match order.mode {
        Mode::Write => Some(Lock::acquire(folder)?),
        Mode::DryRun => None,
    };
    let file = ClientFile::read(&target.path)?;
    let slot = Slot::of(folder, client, &file.path)?;
    let mut document = D::parse(client, &file.path, file.text()?)?;
    let earlier = document::entry(&document, client, &order.name);
    if !earlier.as_ref().is_none_or(Entry::is_ours) {
        return Err(ClientsError::Foreign { path: file.path, name: order.name.clone() });
    }
    let mut moved = D::parse(client, &slot.moved, &slot.moved_text()?.unwrap_or_default())?;
    let (mut record, standing) = record(&slot, &file, (&document, &moved), client);
    if standing == Standing::New {
        // What an install that was killed has moved is still in the file.
        moved = D::parse(client, &slot.moved, "")?;
    }
    let (names, mut notes) = match order.others {
        Others::Move => take_over(client, &mut document, (&slot.moved, &mut moved))?,
        Others::Stay => (Vec::new(), Vec::new()),
    };
    let has_moved = !moved.names().is_empty();
    let mut entry = Entry::of(&order.program, has_moved.then_some(slot.moved.as_path()))?;
    if let Some(earlier) = &earlier {
        entry.keep_flags_of(earlier, &slot.moved);
    }
    document::put(&mut document, client, &order.name, &entry);
    let allowed = document.list("mcp", "allowed").filter(|_| layout::beside(client) == Some("mcp"));
    if allowed.is_some_and(|names| !names.contains(&order.name)) {
        notes.push(Note::NotAllowed { name: order.name.clone() });
    }
    let bytes = file.encoded(&document::checked(&document, client, &file.path)?);
    let is_changed = file.bytes.as_ref() != Some(&bytes);
    if is_changed && standing != Standing::Edited {
        record.after.push(file::sha256(&bytes));
    }
    if !record.names.contains(&order.name) {
        record.names.push(order.name.clone());
    }
    let moved_text =
        if names.is_empty() { None } else { Some(document::checked(&moved, client, &slot.moved)?) };
    let is_first = standing == Standing::New;
    let plan = Plan { file: &file, slot: &slot, record, is_first, moved_text, bytes };
    if is_changed {
        file.check_writable()?;
    }
    if is_changed && order.mode == Mode::Write {
        plan.carry_out()?;
    }
    Ok(Installed {
        is_changed,
        command: entry.shown(),
        moved: names,
        moved_to: has_moved.then(|| slot.moved.clone()),
        backup: (is_changed || slot.record.is_some()).then(|| slot.backup.clone()),
        notes,
        path: file.path.clone(),
    })
}

/// How an install finds the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Without our work in it.
    New,
    /// As we left it: the way back is the backup.
    Untouched,
    /// With our work and that of others: the way back is an edit.
    Edited,
}

/// The record to go on with. A backup that has been made is never overwritten
/// by a file with our work in it; once others have edited the file, no state of
/// it leads back to the backup, for servers of theirs may move too.
fn record<D: Document>(
    slot: &Slot,
    file: &ClientFile,
    (document, moved): (&D, &D),
    client: Client,
) -> (Record, Standing) {
    if let Some(record) = &slot.record {
        let is_ours = |name: &String| {
            document::entry(document, client, name).as_ref().is_some_and(Entry::is_ours)
        };
        let edited = || (Record { after: Vec::new(), ..record.clone() }, Standing::Edited);
        match record.state_of(file) {
            State::Installed => return (record.clone(), Standing::Untouched),
            State::Original if document::lacks(document, moved) => return edited(),
            State::Edited if !moved.names().is_empty() || record.names.iter().any(is_ours) => {
                return edited();
            }
            State::Original | State::Edited => {}
        }
    }
    let path = file.path.clone();
    let record = Record { path, names: Vec::new(), before: file.sha256(), after: Vec::new() };
    (record, Standing::New)
}

impl Plan<'_> {
    fn carry_out(&self) -> Result<()> {
        if self.is_first {
            // What an install that was killed has moved is still in the file.
            store::remove(&self.slot.moved)?;
            file::keep(&self.slot.backup, self.file.bytes.as_deref().unwrap_or_default())?;
        }
        if let Some(text) = &self.moved_text {
            file::keep(&self.slot.moved, text.as_bytes())?;
        }
        self.slot.note(&self.record)?;
        self.file.replace(&self.bytes)
    }
}

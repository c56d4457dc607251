//! What an editor must be able to do with a client's file.
//!
//! Owns reading and writing our entry through it. An editor changes nothing
//! but what it is told to, not even white space.

use std::path::Path;

use crate::clients::ClientsError;
use crate::clients::Result;
use crate::clients::entry::Entry;
use crate::clients::entry::HOME;
use crate::clients::layout;
use crate::clients::layout::Field;
use crate::sources::client_config::Client;

/// A file of a client, open for changes.
pub(crate) trait Document: Sized {
    /// Reads a text, in which nothing need stand yet.
    ///
    /// # Errors
    /// When it breaks the rules of its language, or its servers are no object.
    fn parse(client: Client, path: &Path, text: &str) -> Result<Self>;
    /// The text as it is now.
    fn text(&self) -> String;
    /// Names of the servers, in order.
    fn names(&self) -> Vec<String>;
    /// One value of a server, if it is of a kind that we write.
    fn field(&self, name: &str, key: &str) -> Option<Field>;
    /// Sets one value of a server, which is added if it is not there.
    fn set(&mut self, name: &str, key: &str, field: &Field);
    /// A text of an object of a server.
    fn variable(&self, name: &str, key: &str, variable: &str) -> Option<String>;
    /// Sets such a text, by its name, or removes it.
    fn set_variable(&mut self, name: &str, key: &str, change: (&str, Option<&str>));
    /// Takes a server out.
    fn remove(&mut self, name: &str);
    /// Puts a server into another file, as it is written here.
    fn copy(&self, name: &str, to: &mut Self);
    /// Puts what stands beside the servers under a key into another file.
    fn copy_beside(&self, key: &str, to: &mut Self);
    /// The texts of a list two keys down from the top.
    fn list(&self, outer: &str, inner: &str) -> Option<Vec<String>>;
}

/// Whether a server was moved that the file does not have.
pub(crate) fn lacks<D: Document>(document: &D, moved: &D) -> bool {
    let there = document.names();
    moved.names().iter().any(|name| !there.contains(name))
}

/// How the file starts a server; empty where it is not started.
pub(crate) fn entry<D: Document>(document: &D, client: Client, name: &str) -> Option<Entry> {
    if !document.names().iter().any(|known| known == name) {
        return None;
    }
    let texts = |key| document.field(name, key).map(Field::into_texts).unwrap_or_default();
    let mut words = texts("command").into_iter();
    let command = words.next().unwrap_or_default();
    let args = words.chain(texts("args")).collect();
    let home = document.variable(name, layout::environment(client), HOME);
    Some(Entry { command, args, home })
}

/// The text, once it has been read again: nothing that an editor does may
/// leave a client with a file that it cannot read.
///
/// # Errors
/// When it does not hold the servers that it should.
pub(crate) fn checked<D: Document>(document: &D, client: Client, path: &Path) -> Result<String> {
    let text = document.text();
    let names = |document: &D| {
        let mut names = document.names();
        names.sort();
        names
    };
    let is_whole =
        D::parse(client, path, &text).is_ok_and(|again| names(&again) == names(document));
    is_whole.then_some(text).ok_or_else(|| ClientsError::Uneditable { path: path.to_owned() })
}

/// Writes an entry; what its owner added to it stays.
pub(crate) fn put<D: Document>(document: &mut D, client: Client, name: &str, wanted: &Entry) {
    let is_new = !document.names().iter().any(|known| known == name);
    let (before, after) = if is_new { layout::frame(client) } else { (None, None) };
    let fields = before.into_iter().chain(layout::start(client, wanted)).chain(after);
    for (key, field) in fields {
        if document.field(name, key).as_ref() != Some(&field) {
            document.set(name, key, &field);
        }
    }
    let environment = layout::environment(client);
    if document.variable(name, environment, HOME) != wanted.home {
        document.set_variable(name, environment, (HOME, wanted.home.as_deref()));
    }
}

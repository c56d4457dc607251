//! What an importer has found so far: servers, rejects and warnings.
//!
//! Owns the wording of who a message is about. Decides nothing: what is
//! rejected and what is only warned of is up to the one who reads.

use std::error::Error;
use std::fmt;

use crate::catalog::Reject;
use crate::catalog::Server;
use crate::catalog::clean_text;
use crate::catalog::is_invisible;
use crate::catalog::without_tags;
use crate::sources::SourceError;
use crate::sources::fields::Fields;
use crate::sources::records::Record;
use crate::sources::tally::Remark;
use crate::sources::tally::Tally;

/// Longer names are cut where they are shown.
const MAX_SHOWN_CHARS: usize = 80;

/// The result of an import in the making.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Name of the source, for the rejects.
    pub(crate) source: String,
    /// In the order of the source.
    pub(crate) servers: Vec<Server>,
    /// Records that could not be taken over.
    pub(crate) rejected: Vec<Reject>,
    /// What was taken over otherwise than it was written.
    pub(crate) warnings: Vec<String>,
    /// What is only counted.
    pub(crate) tally: Tally,
}

impl Findings {
    /// Takes over a server of a registry, which may know no tools of it.
    pub(crate) fn list(&mut self, server: Server) {
        if server.tools.is_empty() {
            self.tally.add(Remark::NoTools, &server.name);
        }
        self.servers.push(server);
    }

    /// Adds what was found in one file of a folder.
    pub(crate) fn absorb(&mut self, file: &str, other: Self) {
        self.servers.extend(other.servers);
        self.rejected.extend(other.rejected);
        self.warnings.extend(other.warnings.iter().map(|line| format!("{}: {line}", shown(file))));
        self.tally.absorb(other.tally);
    }

    /// A record as an object; one that is none is left out.
    pub(crate) fn object<'a>(&mut self, record: &Record<'a>) -> Option<Fields<'a>> {
        Fields::of(record.json).map_err(|unfit| self.reject_server(record.place, unfit)).ok()
    }

    /// Notes that a server, or a record that should be one, is left out.
    pub(crate) fn reject_server(&mut self, server: impl fmt::Display, reason: impl fmt::Display) {
        self.reject(server.to_string(), None, reason.to_string());
    }

    /// Notes that a file of a folder cannot be read.
    pub(crate) fn reject_file(&mut self, file: &str, error: &SourceError) {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        self.reject(shown(file), None, format!("{error}{cause}"));
    }

    /// Notes that a tool is left out.
    pub(crate) fn reject_tool(&mut self, server: &str, tool: String, reason: impl fmt::Display) {
        self.reject(shown(server), Some(tool), reason.to_string());
    }

    fn reject(&mut self, server: String, tool: Option<String>, reason: String) {
        self.rejected.push(Reject { source: self.source.clone(), server, tool, reason });
    }

    /// Passes on the notes about a server.
    pub(crate) fn warn_server(&mut self, server: &str, notes: Notes) {
        self.warn(&format!("server `{}`", shown(server)), notes);
    }

    /// Passes on the notes about a tool.
    pub(crate) fn warn_tool(&mut self, server: &str, tool: &str, notes: Notes) {
        self.warn(&format!("server `{}`, tool `{}`", shown(server), shown(tool)), notes);
    }

    fn warn(&mut self, who: &str, notes: Notes) {
        self.warnings.extend(notes.into_lines().map(|line| format!("{who}: {line}")));
    }
}

/// What is odd about one server or one tool.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    lines: Vec<String>,
    n_invisible: usize,
}

impl Notes {
    /// Adds one remark.
    pub(crate) fn add(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Cleans a text and remembers how much of it could not be seen.
    ///
    /// A carriage return goes without a word: every Windows file has them.
    pub(crate) fn clean(&mut self, text: &str) -> String {
        let n_invisible =
            |text: &str| text.chars().filter(|&c| is_invisible(c) && c != '\r').count();
        let clean = without_tags(&clean_text(text));
        self.n_invisible += n_invisible(text) - n_invisible(&clean);
        clean
    }

    fn into_lines(self) -> impl Iterator<Item = String> {
        let n_invisible = self.n_invisible;
        let hidden = (n_invisible > 0).then(|| {
            format!("{n_invisible} invisible or control characters removed from its text")
        });
        self.lines.into_iter().chain(hidden)
    }
}

/// A foreign name as it may stand in a message: clean, and not too long.
pub(crate) fn shown(name: &str) -> String {
    let clean = clean_text(name);
    match clean.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_of_several_texts_make_one_note() {
        let mut notes = Notes::default();
        assert_eq!(notes.clean("a\u{200B}b\u{1B}[31m"), "ab[31m");
        assert_eq!(notes.clean("\u{202E}c"), "c");
        assert_eq!(notes.clean("line\r\nline 👩\u{200D}💻"), "line\nline 👩\u{200D}💻");
        let lines: Vec<_> = notes.into_lines().collect();
        assert_eq!(lines, ["3 invisible or control characters removed from its text"]);
    }

    #[test]
    fn a_shown_name_cannot_steer_a_terminal() {
        assert_eq!(shown("a\u{1B}]0;x\u{7}"), "a]0;x");
        assert_eq!(shown(&"é".repeat(100)), format!("{}…", "é".repeat(80)));
    }
}

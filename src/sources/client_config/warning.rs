//! What a reader of configurations has to say about them.

use std::fmt;

use crate::sources::findings::shown;

/// One remark about a file, an entry of it, or a field of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Name of the entry; absent when the whole file is meant.
    pub server: Option<String>,
    /// Name of the field; absent when the whole entry is meant.
    pub field: Option<String>,
    /// What is odd, without any value of the file.
    pub reason: String,
    /// What came of it.
    pub effect: Effect,
}

/// What came of an oddity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The entry is left out.
    Skipped,
    /// The entry, or what is left of it, was taken over.
    Kept,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.server, &self.field) {
            (Some(server), Some(field)) => {
                write!(f, "server `{}`, field `{}`: ", shown(server), shown(field))?;
            }
            (Some(server), None) => write!(f, "server `{}`: ", shown(server))?,
            (None, Some(field)) => write!(f, "`{}`: ", shown(field))?,
            (None, None) => {}
        }
        f.write_str(&self.reason)?;
        match self.effect {
            Effect::Skipped => f.write_str("; skipped"),
            Effect::Kept => Ok(()),
        }
    }
}

/// Why an entry cannot be used.
#[derive(Debug)]
pub(crate) struct Unusable {
    field: Option<String>,
    reason: String,
}

impl Unusable {
    /// The entry as a whole is odd.
    pub(crate) fn entry(reason: impl fmt::Display) -> Self {
        Self { field: None, reason: reason.to_string() }
    }

    /// One field of it is.
    pub(crate) fn field(field: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self { field: Some(field.into()), reason: reason.to_string() }
    }

    pub(crate) fn into_warning(self, server: &str) -> Warning {
        let Self { field, reason } = self;
        Warning { server: Some(server.to_owned()), field, reason, effect: Effect::Skipped }
    }
}

/// Remarks about one entry that is kept.
#[derive(Debug)]
pub(crate) struct Remarks<'a> {
    server: &'a str,
    warnings: Vec<Warning>,
}

impl<'a> Remarks<'a> {
    pub(crate) fn about(server: &'a str) -> Self {
        Self { server, warnings: Vec::new() }
    }

    pub(crate) fn add(&mut self, field: &str, reason: impl Into<String>) {
        self.warnings.push(Warning {
            server: Some(self.server.to_owned()),
            field: Some(field.to_owned()),
            reason: reason.into(),
            effect: Effect::Kept,
        });
    }

    pub(crate) fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }
}

//! The one entry in the configuration of an MCP client: written, and taken out.
//!
//! Owns changing files that belong to other programs, so that a file is never
//! lost, a comment never goes, and all can be undone. Where clients keep their
//! files and what stands in them is up to `sources::client_config`.

mod document;
mod entry;
mod error;
mod file;
mod install;
mod json;
mod layout;
mod note;
mod place;
mod store;
mod takeover;
mod toml;
mod uninstall;

use std::path::PathBuf;

use crate::sources::client_config::Client;

pub use crate::clients::entry::Program;
pub use crate::clients::error::ClientsError;
pub use crate::clients::error::Reason;
pub use crate::clients::install::Installed;
pub use crate::clients::install::Order;
pub use crate::clients::install::Others;
pub use crate::clients::install::install;
pub use crate::clients::note::Note;
pub use crate::clients::place::default_file;
pub use crate::clients::uninstall::Uninstalled;
pub use crate::clients::uninstall::Way;
pub use crate::clients::uninstall::uninstall;

/// A result of this room.
pub type Result<T> = std::result::Result<T, ClientsError>;

/// The file of a client.
#[derive(Clone, Debug)]
pub struct Target {
    /// Whose file it is.
    pub client: Client,
    /// Where it is, or shall be.
    pub path: PathBuf,
}

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is.
    Write,
    /// It is only said what would be.
    DryRun,
}

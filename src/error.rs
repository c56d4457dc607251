//! Whose fault an error is; the rooms hold the errors themselves.
//!
//! Owns the one question that every error of this crate answers. Must not
//! know any room: each room's error enum names its own facts.

/// Who can mend what went wrong.
///
/// `serve` turns it into a protocol answer: a caller's fault becomes a tool
/// result a model can act on, the others say what the operator must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request or the arguments are wrong; asking differently helps.
    Caller,
    /// A file, a disk, a network or another process is not as it should be.
    Environment,
    /// This program is wrong.
    Bug,
}

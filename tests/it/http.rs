//! What comes over HTTP, against servers on this machine.

mod fetch;
mod registry;
mod stub;

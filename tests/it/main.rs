//! Behaviour tests: the binary on the shell, the MCP wire, the library's
//! oracles. One binary, one module a theme.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, reads files and starts processes"
)]

mod summaries;
mod support;

mod calls;
mod cli;
mod http;
mod index;
mod install;
mod live;
#[cfg(unix)]
mod login;
mod oracle;
mod peers;
mod remote;
mod serve;
mod service;
mod size;
mod tidy;
mod view;

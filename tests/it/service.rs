//! `serve --http`: its door, its limits, its tenants, its end.

mod client;
mod door;
mod dynamic;
mod ends;
mod eras;
mod floods;
mod operators;
mod process;
mod secrets;
mod tenants;

/// What clients of 2026-07-28 put into each request.
const META: &str = "io.modelcontextprotocol/";

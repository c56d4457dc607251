//! toolscout: active tool discovery for LLM agents, after MCP-Zero
//! (arXiv 2506.01056).
//!
//! An agent that lacks a capability says so in a `<tool_assistant>` request;
//! [`router::Router`] finds the few tools that fit among thousands and returns
//! their schemas. Start with [`router`]; ARCHITECTURE.md has the map.

pub mod access;
pub mod build;
pub mod catalog;
pub mod cli;
pub mod clients;
pub mod commands;
pub mod confidence;
pub mod config;
pub mod embed;
pub mod error;
pub mod evaluate;
pub mod fetch;
pub mod index;
pub mod login;
pub mod models;
pub mod operation;
pub mod rank;
pub mod reply;
pub mod request;
pub mod router;
pub mod secret;
pub mod serve;
pub mod sources;
pub mod surface;
pub mod telemetry;
pub mod tokens;
pub mod upstream;
pub mod vectors;

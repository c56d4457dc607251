//! The first words: which version of the protocol is spoken.
//!
//! Owns the order in which the two eras are tried. `initialize` goes first: it
//! is what nearly every server knows, some end at anything else, and some
//! never answer a method that they do not know. A server that only speaks the
//! stateless era refuses it, and is asked again in its own way.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use serde_json::value::RawValue;

use super::error::UpstreamError;
use super::message::RpcError;
use super::params::Params;
use super::session::Line;
use super::session::Session;
use super::stderr::shown;

/// Versions with `initialize`, the newest last.
const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The version without sessions: every request says what `initialize` said once.
const STATELESS: &str = "2026-07-28";

const META: &str = "io.modelcontextprotocol/";

/// The version that is spoken, and what it asks of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// After `initialize`.
    Handshake(&'static str),
    /// After `server/discover`.
    Stateless,
}

impl Era {
    pub(super) fn version(&self) -> &'static str {
        match self {
            Self::Handshake(version) => version,
            Self::Stateless => STATELESS,
        }
    }

    /// Adds what every request of this era carries.
    pub(super) fn complete(&self, params: Params) -> Params {
        match self {
            Self::Handshake(_) => params,
            Self::Stateless => params.with_meta(meta()),
        }
    }
}

fn meta() -> Map<String, Value> {
    Map::from_iter([
        (format!("{META}protocolVersion"), json!(STATELESS)),
        (format!("{META}clientCapabilities"), json!({})),
        (format!("{META}clientInfo"), client_info()),
    ])
}

fn client_info() -> Value {
    json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") })
}

/// All versions, for a message.
pub(super) fn known() -> String {
    HANDSHAKE
        .iter()
        .chain([&STATELESS])
        .map(|version| format!("`{version}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Introduces us; on failure the connection is ended, and the server with it.
pub(super) async fn greet(line: Line, limit: Duration) -> Result<Session, UpstreamError> {
    match agree(&line, limit).await {
        Ok((era, hello)) => Ok(Session { line, era, hello }),
        Err(error) => {
            line.link.end().await;
            Err(error)
        }
    }
}

async fn agree(line: &Line, limit: Duration) -> Result<(Era, Box<RawValue>), UpstreamError> {
    let newest = HANDSHAKE[HANDSHAKE.len() - 1];
    let params = Params::default()
        .with("protocolVersion", &newest)
        .with("capabilities", &json!({}))
        .with("clientInfo", &client_info());
    let refusal = match line.request("initialize", params, limit).await? {
        Ok(hello) => {
            let version = handshake_version(&hello)?;
            line.link.settle(version);
            line.notify("notifications/initialized", limit).await;
            return Ok((Era::Handshake(version), hello));
        }
        Err(refusal) => refusal,
    };
    line.link.settle(STATELESS);
    let params = Era::Stateless.complete(Params::default());
    match line.request("server/discover", params, limit).await? {
        Ok(hello) => stateless_version(&hello).map(|()| (Era::Stateless, hello)),
        // What it has against the first question tells more.
        Err(_) => Err(refused(line, "initialize", &refusal)),
    }
}

fn handshake_version(hello: &RawValue) -> Result<&'static str, UpstreamError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Hello {
        protocol_version: String,
    }
    let hello: Hello = serde_json::from_str(hello.get()).map_err(|_| UpstreamError::BadAnswer {
        method: "initialize".to_owned(),
        problem: "names no `protocolVersion`".to_owned(),
    })?;
    let theirs = hello.protocol_version;
    HANDSHAKE
        .into_iter()
        .find(|version| *version == theirs)
        .ok_or_else(|| UpstreamError::Version { theirs: shown(theirs.as_bytes()) })
}

fn stateless_version(hello: &RawValue) -> Result<(), UpstreamError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Hello {
        supported_versions: Vec<String>,
    }
    let hello: Hello = serde_json::from_str(hello.get()).map_err(|_| UpstreamError::BadAnswer {
        method: "server/discover".to_owned(),
        problem: "names no `supportedVersions`".to_owned(),
    })?;
    if hello.supported_versions.iter().any(|version| version == STATELESS) {
        return Ok(());
    }
    Err(UpstreamError::Version { theirs: shown(hello.supported_versions.join(", ").as_bytes()) })
}

/// The error of an answer, as one of ours.
pub(super) fn refused(line: &Line, method: &str, error: &RpcError) -> UpstreamError {
    UpstreamError::Refused {
        method: method.to_owned(),
        code: error.code,
        message: line.desk.shown(&error.message),
    }
}

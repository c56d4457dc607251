//! What a build would change in an index: tools added, changed, removed.
//!
//! Owns what counts as the definition of a tool: all that a model is shown of
//! it. White space between the tokens of a schema is no part of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

use crate::catalog::RawJson;
use crate::catalog::Server;
use crate::catalog::Tool;
use crate::catalog::ToolId;
use crate::catalog::compact_json;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::ToolRecord;

/// The difference between an index and what its sources hold now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// In the order of the sources.
    pub added: Vec<ToolName>,
    /// In the order of the sources.
    pub changed: Vec<Changed>,
    /// By name of server and tool.
    pub removed: Vec<ToolName>,
}

/// A tool by its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ToolName {
    /// Name of its server.
    pub server: String,
    /// Its name there.
    pub tool: String,
}

/// A tool whose definition is another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Name of its server.
    pub server: String,
    /// Its name there.
    pub tool: String,
    /// What of it: `description`, `input_schema` and their kin.
    pub fields: Vec<&'static str>,
}

/// The definition of a tool, field by field, as a hash of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition([(&'static str, [u8; 32]); 5]);

impl Definition {
    pub(super) fn of(tool: &Tool) -> Self {
        Self::of_fields(
            tool.title.as_deref(),
            &tool.description,
            [&tool.input_schema, &tool.output_schema, &tool.annotations],
        )
    }

    fn of_record(tool: &ToolRecord) -> Self {
        Self::of_fields(
            tool.title.as_deref(),
            &tool.description,
            [&tool.input_schema, &tool.output_schema, &tool.annotations],
        )
    }

    fn of_fields(title: Option<&str>, description: &str, json: [&Option<RawJson>; 3]) -> Self {
        let text = |text: Option<&str>| match text {
            Some(text) => Sha256::digest(text).into(),
            None => [0; 32],
        };
        let [input, output, annotations] =
            json.map(|json| text(json.as_ref().map(|json| compact_json(json.get())).as_deref()));
        Self([
            ("title", text(title)),
            ("description", text(Some(description))),
            ("input_schema", input),
            ("output_schema", output),
            ("annotations", annotations),
        ])
    }

    /// SHA-256 of the whole, in lower-case hexadecimal digits.
    pub(super) fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        for (_, field) in &self.0 {
            hash.update(field);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Names of the fields that differ.
    pub(super) fn differs_in(&self, other: &Self) -> Vec<&'static str> {
        let pairs = self.0.iter().zip(&other.0);
        pairs.filter(|(one, other)| one.1 != other.1).map(|(one, _)| one.0).collect()
    }
}

/// All tools of an index by server and name.
pub(super) type Before = BTreeMap<ToolName, Definition>;

/// What the live index in `dir` holds; nothing where there is none that can be read.
pub(super) fn before(dir: &Path) -> Before {
    let read = || -> Result<Before, IndexError> {
        let index = Index::open(dir)?;
        let ids = (0..).take(index.manifest().counts.tools).map(ToolId);
        ids.map(|id| {
            let tool = index.tool(id)?;
            let definition = Definition::of_record(&tool);
            Ok((ToolName { server: tool.server, tool: tool.name }, definition))
        })
        .collect()
    };
    read().unwrap_or_else(|error| {
        tracing::debug!(%error, "no earlier index to compare with");
        Before::default()
    })
}

/// What `servers` has and `before` has not, and the other way round.
pub(super) fn between(before: &Before, servers: &[Server]) -> Changes {
    let mut changes = Changes::default();
    let mut gone: Before = before.clone();
    for server in servers {
        for tool in &server.tools {
            let name = ToolName { server: server.name.clone(), tool: tool.name.clone() };
            match gone.remove(&name) {
                None => changes.added.push(name),
                Some(old) => {
                    let fields = old.differs_in(&Definition::of(tool));
                    if !fields.is_empty() {
                        let ToolName { server, tool } = name;
                        changes.changed.push(Changed { server, tool, fields });
                    }
                }
            }
        }
    }
    changes.removed = gone.into_keys().collect();
    changes
}

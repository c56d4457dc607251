//! What the sources of a plan hold now, against what the index holds.
//!
//! Owns the order: read and ask, join, compare, withhold. Writes nothing of the
//! index; the sources keep what they have learnt, if the plan says so.

use std::path::Path;

use super::BuildError;
use super::Event;
use super::Plan;
use super::changes;
use super::changes::Before;
use super::changes::Changes;
use super::pins;
use crate::catalog::Server;
use crate::fetch::PrivateHosts;
use crate::index::Pins;
use crate::index::SourceRecord;
use crate::index::Withheld;
use crate::index::{self};
use crate::sources::Configuration;
use crate::sources::Import;
use crate::sources::LiveEvent;
use crate::sources::Merged;
use crate::sources::Opened;
use crate::sources::Place;
use crate::sources::shown;
use crate::sources::{self};

/// All that an index is made of, before its texts are embedded.
pub(super) struct Material {
    /// Servers and tools, without those that are withheld.
    pub(super) merged: Merged,
    /// What was read.
    pub(super) sources: Vec<SourceRecord>,
    /// Against the index that is there.
    pub(super) changes: Changes,
    /// Approved definitions, if the plan pins them.
    pub(super) pins: Option<Pins>,
    /// Tools that are left out because of them.
    pub(super) withheld: Vec<Withheld>,
}

/// Reads all sources of a plan.
pub(super) fn gather(
    plan: &Plan,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Material, BuildError> {
    let (mut merged, sources) = import(plan, on_event)?;
    let before = changes::before(&plan.dir);
    let (pins, withheld) = hold(plan, &before, &mut merged.servers)?;
    let changes = changes::between(&before, &merged.servers);
    Ok(Material { merged, sources, changes, pins, withheld })
}

/// Takes out what is not as it was approved, if definitions are pinned.
fn hold(
    plan: &Plan,
    before: &Before,
    servers: &mut [Server],
) -> Result<(Option<Pins>, Vec<Withheld>), BuildError> {
    if !plan.pin {
        return Ok((None, Vec::new()));
    }
    let recorded = index::Index::recorded(&plan.dir).ok();
    let (pins, withheld) = recorded.map(|it| (it.pins, it.withheld)).unwrap_or_default();
    let mut pins = pins.unwrap_or_default();
    for name in &plan.approve {
        let meant = pins::meant(&withheld, name);
        if meant.is_empty() {
            let called =
                |one: &Withheld| format!("`{}`", shown(&format!("{}/{}", one.server, one.tool)));
            let all = withheld.iter().map(called).collect();
            return Err(BuildError::NothingToApprove { name: name.clone(), withheld: all });
        }
        meant.into_iter().for_each(|one| pins::approve(&mut pins, one));
    }
    let withheld = pins::hold(&mut pins, before, servers);
    Ok((Some(pins), withheld))
}

fn import(
    plan: &Plan,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<(Merged, Vec<SourceRecord>), BuildError> {
    if plan.sources.is_empty() {
        return Err(BuildError::NoSource);
    }
    let (mut imports, mut records) = (Vec::new(), Vec::new());
    for source in &plan.sources {
        let (name, path) = names_of(&source.place)?;
        let (opened, asked) = sources::read_source(source, &plan.mirrors(), plan.fetching)?;
        let import = match opened {
            Opened::Import(import) => import,
            Opened::Configuration(found) => ask(plan, found, Path::new(&path), on_event)?,
        };
        on_event(Event::Read(&source.place.shown(), &import));
        if let Some(asked) = asked {
            on_event(Event::Asked(&name, &asked));
        }
        records.push(SourceRecord {
            path,
            format: import.format.to_string(),
            forced: source.format.is_some(),
            allow_private: source.private == PrivateHosts::Allowed,
            imported: false,
            bytes: import.bytes,
            sha256: import.sha256.clone(),
        });
        imports.push((name, import));
    }
    Ok((sources::merge(imports), records))
}

/// Asks the servers of a configuration for their tools.
fn ask(
    plan: &Plan,
    found: Configuration,
    path: &Path,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Import, BuildError> {
    let on_live = &mut |event: LiveEvent<'_>| on_event(Event::Live(path, event));
    let import = sources::learn(found, path, &plan.memory(), &plan.live, on_live)
        .map_err(|source| BuildError::Live { path: path.to_owned(), source })?;
    match import.rejected.first() {
        Some(first) if import.servers.is_empty() => Err(BuildError::NoAnswers {
            path: path.to_owned(),
            n_servers: import.rejected.len(),
            server: first.server.clone(),
            reason: first.reason.clone(),
        }),
        _ => Ok(import),
    }
}

/// What a source is called in warnings, and what is recorded of it.
fn names_of(place: &Place) -> Result<(String, String), BuildError> {
    match place {
        Place::Url(url) => Ok((url.shown(), url.as_str().to_owned())),
        Place::Path(path) if path.to_str().is_none() => {
            Err(BuildError::PathNotText { path: path.display().to_string() })
        }
        Place::Path(path) => {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let absolute = absolute.display().to_string();
            Ok((absolute.clone(), absolute))
        }
    }
}

//! The offline pipeline: sources → catalogue → texts → vectors → index.
//!
//! Owns the order of these steps. Must not know formats of sources or files.

mod changes;
mod digest;
mod draft;
mod error;
mod material;
mod names;
mod pins;
mod plan;
mod summarize;
mod texts;

pub use changes::{Changed, Changes, ToolName};
pub use digest::{digest, tool_text};
pub use error::BuildError;
pub use plan::{Plan, is_pinned, recorded_plan};
pub use summarize::{Summaries, Summarizer};

use std::path::Path;

use crate::catalog::{Reject, Stale};
use crate::embed::Embedder;
use crate::index::BuildLock;
use crate::index::Withheld;
use crate::index::Written;
use crate::index::{self};
use crate::sources::Asked;
use crate::sources::Import;
use crate::sources::LiveEvent;
use crate::sources::{self};
use crate::surface;

/// What a caller may show while a build runs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Another build holds the lock.
    Waiting(&'a Path),
    /// Servers of a configuration are asked for their tools.
    Live(&'a Path, LiveEvent<'a>),
    /// A source was read; its name as it may be shown.
    Read(&'a str, &'a Import),
    /// The source before came from a URL.
    Asked(&'a str, &'a Asked),
    /// A language model is asked for summaries, if there is one.
    Summarizing,
    /// So many of the distinct texts have their vector.
    Embedded {
        /// Done so far.
        done: usize,
        /// Of so many.
        total: usize,
    },
    /// The files are being written, unless nothing changed.
    Writing {
        /// Vectors that are linked to their neighbours, which takes a while.
        n_linked: usize,
    },
}

/// What came of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// New generation, or the old one because nothing changed.
    pub written: Written,
    /// Distinct texts of the catalogue.
    pub n_texts: usize,
    /// Against the index that was there before.
    pub changes: Changes,
    /// Of a language model, if one was asked.
    pub summaries: Option<Summaries>,
}

/// What a build would come to.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Against the index that is there.
    pub changes: Changes,
    /// Tools that would be left out because their definition is not the approved one.
    pub withheld: Vec<Withheld>,
    /// Servers whose tools are those of an earlier time.
    pub stale: Vec<Stale>,
    /// What could not be taken over.
    pub rejected: Vec<Reject>,
}

/// Builds the index that `plan` describes and makes it live.
///
/// # Errors
/// Fails without touching the live index.
pub fn build(
    plan: &Plan,
    embedder: &dyn Embedder,
    summarizer: Option<&Summarizer>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome, BuildError> {
    let lock = BuildLock::acquire(&plan.dir, || on_event(Event::Waiting(&plan.dir)))?;
    let mut material = material::gather(plan, on_event)?;
    on_event(Event::Summarizing);
    let summarize = |one: &Summarizer| one.summarize(&mut material.merged.servers);
    let summaries = summarizer.map(summarize);
    let changes = std::mem::take(&mut material.changes);
    let (draft, n_texts) = draft::of(plan, material, embedder, on_event)?;
    on_event(Event::Writing { n_linked: draft.n_linked() });
    let written = index::write(&plan.dir, &lock, &draft, surface::describe)?;
    sources::forget_others(&plan.sources, &plan.mirrors());
    sources::forget_configurations(&plan.sources, &plan.memory());
    Ok(Outcome { written, n_texts, changes, summaries })
}

/// What a build would change; reads the sources and asks the servers, writes nothing.
///
/// # Errors
/// As a build, without embedding and writing.
pub fn preview(plan: &Plan, on_event: &mut dyn FnMut(Event<'_>)) -> Result<Preview, BuildError> {
    let mut plan = plan.clone();
    (plan.fetching.keep, plan.live.keep) = (false, false);
    let material = material::gather(&plan, on_event)?;
    Ok(Preview {
        changes: material.changes,
        withheld: material.withheld,
        stale: material.merged.stale,
        rejected: material.merged.rejected,
    })
}

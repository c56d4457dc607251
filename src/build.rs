//! The offline pipeline: sources → catalogue → texts → vectors → index.
//!
//! Owns the order of these steps. Must not know formats of sources or files.

mod changes;
mod digest;
mod names;
mod pins;
mod summarize;
mod texts;

pub use changes::{Changed, Changes, ToolName};
pub use digest::{digest, tool_text};
pub use summarize::{Summaries, Summarizer};

use std::path::{Path, PathBuf};

use crate::build::changes::Before;
use crate::catalog::{Reject, Stale};
use crate::embed::EmbedError;
use crate::embed::Embedder;
use crate::embed::Identity;
use crate::embed::RemoteModel;
use crate::error::Fault;
use crate::fetch::FetchError;
use crate::fetch::PrivateHosts;
use crate::index::BuildLock;
use crate::index::Draft;
use crate::index::IndexError;
use crate::index::Pins;
use crate::index::SourceRecord;
use crate::index::Storage;
use crate::index::ToolRecord;
use crate::index::Withheld;
use crate::index::Written;
use crate::index::{self};
use crate::operation::Operation;
use crate::sources::Asked;
use crate::sources::Configuration;
use crate::sources::Fetching;
use crate::sources::Import;
use crate::sources::Live;
use crate::sources::LiveEvent;
use crate::sources::Merged;
use crate::sources::Opened;
use crate::sources::Place;
use crate::sources::Refresh;
use crate::sources::Source;
use crate::sources::SourceError;
use crate::sources::UnknownFormat;
use crate::sources::{self};
use crate::surface;

/// The folder of an index in which answers of live servers are kept.
const MEMORY: &str = "live";

/// What to build, and where.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Files, folders and URLs, in order.
    pub sources: Vec<Source>,
    /// How URLs are asked.
    pub fetching: Fetching,
    /// The index directory.
    pub dir: PathBuf,
    /// Also embed tool descriptions alone, for the paper's ranking.
    pub paper: bool,
    /// How the vectors are stored.
    pub storage: Storage,
    /// Recorded with the index: where its model answers, if it is not a local one.
    pub remote: Option<RemoteModel>,
    /// Recorded with the index: the language model that summarises its servers, if any.
    pub summarizer: Option<RemoteModel>,
    /// How the servers of client configurations are asked.
    pub live: Live,
    /// Withhold a tool whose definition is not the one it was first seen with.
    pub pin: bool,
    /// Withheld tools whose definition is to be approved: `SERVER` or `SERVER/TOOL`.
    pub approve: Vec<String>,
}

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

/// What can go wrong in a build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What servers answered cannot be kept, or none can be started.
    #[error("the servers of `{}` cannot be asked: {source}", path.display())]
    Live {
        /// Their configuration.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Of the servers of a configuration none gave a list of tools.
    #[error("none of the {n_servers} servers of `{}` gave a list of tools; the first, `{server}`: {reason}", path.display())]
    NoAnswers {
        /// Their configuration.
        path: PathBuf,
        /// Servers that are switched on.
        n_servers: usize,
        /// Name of the first one.
        server: String,
        /// Why it gave none.
        reason: String,
    },
    /// Nothing of that name waits for approval.
    #[error("nothing of `{name}` is withheld; withheld {}", match withheld.as_slice() { [] => "is nothing".to_owned(), all => format!("are {}", all.join(", ")) })]
    NothingToApprove {
        /// As given.
        name: String,
        /// What is: server and tool.
        withheld: Vec<String>,
    },
    /// The model cannot run.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The index cannot be written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index was built from a format that this version does not know.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// The index names a URL that cannot be read again.
    #[error(transparent)]
    Url(#[from] FetchError),
    /// The path could not be recorded, and so not be read again by an update.
    #[error("the path of source `{path}` is not UTF-8; rename it")]
    PathNotText {
        /// With what is unreadable replaced.
        path: String,
    },
    /// No source was named.
    #[error("no source given; name at least one with `--from FILE`")]
    NoSource,
}

impl BuildError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Source(error) => error.fault(),
            Self::Embed(error) => error.fault(),
            Self::Index(error) => error.fault(),
            Self::Format(error) => error.fault(),
            Self::Url(error) => error.fault(),
            Self::PathNotText { .. } | Self::Live { .. } | Self::NoAnswers { .. } => {
                Fault::Environment
            }
            Self::NothingToApprove { .. } | Self::NoSource => Fault::Caller,
        }
    }
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
    let (merged, sources) = import(plan, true, on_event)?;
    let before = changes::before(&plan.dir);
    let (mut merged, held) = hold(plan, &before, merged)?;
    let changes = changes::between(&before, &merged.servers);
    on_event(Event::Summarizing);
    let summaries = summarizer.map(|summarizer| summarizer.summarize(&mut merged.servers));
    let (draft, n_texts) = draft(plan, merged, held, sources, embedder, on_event)?;
    on_event(Event::Writing { n_linked: draft.n_linked() });
    let written = index::write(&plan.dir, &lock, &draft, surface::describe)?;
    sources::forget_others(&plan.sources, &mirrors(plan));
    Ok(Outcome { written, n_texts, changes, summaries })
}

/// What a build would change; reads the sources and asks the servers, writes nothing.
///
/// # Errors
/// As a build, without embedding and writing.
pub fn preview(plan: &Plan, on_event: &mut dyn FnMut(Event<'_>)) -> Result<Preview, BuildError> {
    let (merged, _) = import(plan, false, on_event)?;
    let before = changes::before(&plan.dir);
    let (merged, held) = hold(plan, &before, merged)?;
    Ok(Preview {
        changes: changes::between(&before, &merged.servers),
        withheld: held.withheld,
        stale: merged.stale,
        rejected: merged.rejected,
    })
}

/// Approved definitions, and what is left out because of them.
#[derive(Default)]
struct Held {
    pins: Option<Pins>,
    withheld: Vec<Withheld>,
}

/// Takes out what is not as it was approved, if definitions are pinned.
fn hold(plan: &Plan, before: &Before, mut merged: Merged) -> Result<(Merged, Held), BuildError> {
    if !plan.pin {
        return Ok((merged, Held::default()));
    }
    let recorded = index::Index::recorded(&plan.dir).ok();
    let (pins, withheld) = recorded.map(|it| (it.pins, it.withheld)).unwrap_or_default();
    let mut pins = pins.unwrap_or_default();
    for name in &plan.approve {
        if pins::approve(&mut pins, &withheld, name) == 0 {
            let all = withheld.iter().map(|one| format!("`{}/{}`", one.server, one.tool)).collect();
            return Err(BuildError::NothingToApprove { name: name.clone(), withheld: all });
        }
    }
    let withheld = pins::hold(&mut pins, before, &mut merged.servers);
    Ok((merged, Held { pins: Some(pins), withheld }))
}

/// The plan that made the index in `dir`, to be run again, and its model.
///
/// # Errors
/// Fails when there is no index or its manifest names an unknown format.
pub fn recorded_plan(dir: &Path) -> Result<(Plan, Identity), BuildError> {
    let manifest = index::Index::recorded(dir)?;
    let sources = manifest.sources.iter().map(recorded_source).collect::<Result<_, _>>()?;
    let (paper, storage, remote) = (manifest.paper, manifest.storage, manifest.remote);
    let (live, pin, approve) = (Live::default(), manifest.pins.is_some(), Vec::new());
    let (dir, summarizer) = (dir.to_owned(), manifest.summarizer);
    let fetching = Fetching { refresh: Refresh::Changes, ..Fetching::default() };
    let plan =
        Plan { sources, fetching, dir, paper, storage, remote, summarizer, live, pin, approve };
    Ok((plan, manifest.embedder))
}

fn recorded_source(record: &SourceRecord) -> Result<Source, BuildError> {
    let private = match record.allow_private {
        true => PrivateHosts::Allowed,
        false => PrivateHosts::Refused,
    };
    let format = if record.forced { Some(record.format.parse()?) } else { None };
    Ok(Source { place: Place::parse(Path::new(&record.path))?, format, private })
}

/// What came from URLs, for the next time.
fn mirrors(plan: &Plan) -> PathBuf {
    plan.dir.join(index::MIRRORS)
}

fn import(
    plan: &Plan,
    keep: bool,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<(Merged, Vec<SourceRecord>), BuildError> {
    if plan.sources.is_empty() {
        return Err(BuildError::NoSource);
    }
    let (mut imports, mut records) = (Vec::new(), Vec::new());
    for source in &plan.sources {
        let (name, path) = names_of(&source.place)?;
        let (opened, asked) = sources::read_source(source, &mirrors(plan), plan.fetching, keep)?;
        let import = match opened {
            Opened::Import(import) => import,
            Opened::Configuration(found) => ask(plan, found, Path::new(&path), keep, on_event)?,
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
    keep: bool,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<Import, BuildError> {
    let memory = plan.dir.join(MEMORY);
    let on_live = &mut |event: LiveEvent<'_>| on_event(Event::Live(path, event));
    let import = sources::learn(found, path, &memory, keep, &plan.live, on_live)
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

fn draft(
    plan: &Plan,
    merged: Merged,
    held: Held,
    sources: Vec<SourceRecord>,
    embedder: &dyn Embedder,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<(Draft, usize), BuildError> {
    let embedded = texts::embed(&merged.servers, plan, embedder, on_event)?;
    let exposed = names::expose(&merged.servers);
    let mut warnings = merged.warnings;
    warnings.extend(embedded.warnings);
    let tool_server = merged
        .servers
        .iter()
        .zip(0..)
        .flat_map(|(server, id)| std::iter::repeat_n(id, server.tools.len()))
        .collect();
    let mut exposed = exposed.into_iter();
    let (mut tools, mut words, mut tool_operation) = (Vec::new(), Vec::new(), Vec::new());
    let servers = merged.servers.iter().map(texts::server_record).collect();
    for server in merged.servers {
        for tool in server.tools {
            tool_operation.push(Operation::of_tool(&tool.name, &tool.description).to_bits());
            words.push(format!("{} {}", server.name, tool_text(&tool)));
            tools.push(ToolRecord {
                exposed: exposed.next().unwrap_or_default(),
                server: server.name.clone(),
                name: tool.name,
                title: tool.title,
                description: tool.description,
                input_schema: tool.input_schema,
                output_schema: tool.output_schema,
                annotations: tool.annotations,
            });
        }
    }
    let draft = Draft {
        servers,
        tools,
        tool_server,
        tool_operation,
        words,
        matrices: embedded.matrices,
        storage: plan.storage,
        absent: embedded.absent,
        embedder: embedder.identity().clone(),
        remote: plan.remote.clone(),
        summarizer: plan.summarizer.clone(),
        runtime: embedder.runtime().to_owned(),
        sources,
        rejected: merged.rejected,
        warnings,
        stale: merged.stale,
        pins: held.pins,
        withheld: held.withheld,
    };
    Ok((draft, embedded.n_texts))
}

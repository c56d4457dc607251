//! What a URL gave the last time, kept so that the next time only changes come.
//!
//! Owns how a registry of MCP servers is asked (official API, v0 and v0.1) and
//! how its changes are put on what was known; any other document is kept whole.
//! Nothing on the disk changes before everything was read and understood.

mod entries;
mod error;
mod pages;
mod state;

pub use error::MirrorError;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::fetch::Answer;
use crate::fetch::Fetcher;
use crate::fetch::Limits;
use crate::fetch::PrivateHosts;
use crate::fetch::Url;
use crate::fetch::Validators;
use crate::sources::Format;
use crate::sources::mirror::entries::Entries;
use crate::sources::mirror::pages::Certainty;
use crate::sources::mirror::pages::Run;
use crate::sources::mirror::state::Before;
use crate::sources::mirror::state::Files;
use crate::sources::mirror::state::Kind;
use crate::sources::mirror::state::State;

/// How URLs are asked during one build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetching {
    /// All, or only what has changed.
    pub refresh: Refresh,
    /// For one try of one document or page.
    pub timeout: Duration,
    /// What is learnt is written down for the next time.
    pub keep: bool,
}

impl Default for Fetching {
    fn default() -> Self {
        Self { refresh: Refresh::Whole, timeout: Duration::from_secs(60), keep: true }
    }
}

/// How much is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// All of a registry; a document if it has changed.
    Whole,
    /// What a registry has changed since the last time.
    Changes,
}

/// What was asked, and what has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// One document.
    Document {
        /// Whether it was sent at all.
        is_new: bool,
    },
    /// A registry.
    Registry {
        /// Answers that were read.
        n_pages: usize,
        /// Only what was changed since then, if that was known.
        since: Option<String>,
        /// Entries that are new or other than they were.
        n_changed: usize,
        /// Entries that the registry calls deleted.
        n_deleted: usize,
    },
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document { is_new: true } => f.write_str("read whole"),
            Self::Document { is_new: false } => f.write_str("unchanged there"),
            Self::Registry { n_pages, since, n_changed, n_deleted } => {
                let s = if *n_pages == 1 { "" } else { "s" };
                write!(f, "{n_pages} page{s}")?;
                if let Some(since) = since {
                    write!(f, " of changes since {since}")?;
                }
                write!(f, ": {n_changed} entries new or changed, {n_deleted} deleted")
            }
        }
    }
}

/// What a URL holds now, not yet written down.
pub(crate) struct Mirrored {
    /// The document, or one entry of the registry a line.
    pub(crate) bytes: Vec<u8>,
    /// What it is to be read as; none if that is to be recognised.
    pub(crate) format: Option<Format>,
    /// For a remark.
    pub(crate) asked: Asked,
    files: Files,
    state: State,
}

impl Mirrored {
    /// Writes it down for the next time.
    pub(crate) fn keep(&self) -> Result<(), MirrorError> {
        self.files.store(&self.state, &self.bytes)
    }
}

/// Removes what `folder` knows of other URLs than these.
pub(crate) fn keep_only<'a>(folder: &Path, urls: impl Iterator<Item = &'a Url>) {
    Files::keep_only(folder, urls);
}

/// Asks `url`, helped by what `folder` knows of it.
pub(crate) fn refresh(
    folder: &Path,
    (url, private): (&Url, PrivateHosts),
    forced: Option<Format>,
    fetching: Fetching,
) -> Result<Mirrored, MirrorError> {
    let fetcher = Fetcher::new(url, private, Limits::of(fetching.timeout));
    let files = Files::of(folder, url);
    let kinds = Kind::candidates(url, forced);
    let before = files.load().filter(|before| kinds.contains(&before.state.kind));
    let question = Question { fetcher: &fetcher, url, forced, fetching };
    if let Some(before) = before {
        return question.ask(before.state.kind.clone(), Some(before), files, Certainty::Sure);
    }
    let mut refused = Vec::new();
    let certainty = if kinds.len() == 1 { Certainty::Sure } else { Certainty::Guess };
    for kind in kinds {
        match question.ask(kind, None, files.clone(), certainty) {
            Err(error) if certainty == Certainty::Guess && error.is_of_another_kind() => {
                refused.push(error)
            }
            done => return done,
        }
    }
    Err(MirrorError::Nothing {
        url: url.shown(),
        tried: refused.iter().map(with_cause).collect::<Vec<_>>().join("; "),
    })
}

fn with_cause(error: &MirrorError) -> String {
    match error {
        MirrorError::Page { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}

struct Question<'a> {
    fetcher: &'a Fetcher,
    url: &'a Url,
    forced: Option<Format>,
    fetching: Fetching,
}

impl Question<'_> {
    fn ask(
        &self,
        kind: Kind,
        before: Option<Before>,
        files: Files,
        certainty: Certainty,
    ) -> Result<Mirrored, MirrorError> {
        match kind.endpoint(self.url) {
            None => self.document(before, files),
            Some(endpoint) => {
                let run = Run { fetcher: self.fetcher, endpoint, since: None, certainty };
                self.registry(run, kind, before, files)
            }
        }
    }

    fn document(&self, before: Option<Before>, files: Files) -> Result<Mirrored, MirrorError> {
        let known = before.as_ref().map(|before| before.state.validators.clone());
        let answer = self.fetcher.get(self.url, &known.unwrap_or_default())?;
        let (bytes, validators, is_new) = match (answer, before) {
            (Answer::Document { body, validators }, _) => (body, validators, true),
            (Answer::Unchanged, Some(before)) => (before.bytes, before.state.validators, false),
            // Without validators nobody may say so.
            (Answer::Unchanged, None) => (Vec::new(), Validators::default(), true),
        };
        if pages::is_html(&bytes) {
            return Err(MirrorError::Html { url: self.url.shown() });
        }
        let state = State::new(Kind::Document, self.url, &bytes, validators);
        let asked = Asked::Document { is_new };
        Ok(Mirrored { bytes, format: self.forced, asked, files, state })
    }

    /// Changes only where all else is known; a registry that cannot tell them
    /// is asked for everything.
    fn registry(
        &self,
        mut run: Run<'_>,
        kind: Kind,
        before: Option<Before>,
        files: Files,
    ) -> Result<Mirrored, MirrorError> {
        let before = before.filter(|_| self.fetching.refresh == Refresh::Changes);
        run.since = before.as_ref().and_then(|before| before.state.since());
        let mut entries = match (&run.since, &before) {
            (Some(_), Some(before)) => Entries::of_mirror(before),
            _ => Entries::default(),
        };
        let n_pages = match run.follow(&mut entries) {
            Err(error) if run.since.is_some() && error.is_of_the_question() => {
                let url = run.endpoint.shown();
                tracing::info!("`{url}` does not know `updated_since`; it is read whole");
                (run.since, entries) = (None, Entries::default());
                run.follow(&mut entries)?
            }
            n_pages => n_pages?,
        };
        let bytes = entries.to_jsonl();
        let mut state = State::new(kind, self.url, &bytes, Validators::default());
        state.high_water = entries.high_water();
        let (n_changed, n_deleted) = (entries.n_changed, entries.n_deleted);
        let asked = Asked::Registry { n_pages, since: run.since, n_changed, n_deleted };
        Ok(Mirrored { bytes, format: Some(Format::Registry), asked, files, state })
    }
}

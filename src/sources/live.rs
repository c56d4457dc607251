//! Servers of a client configuration: asked for their tools, and remembered.
//!
//! Owns which servers need asking, and what stands in for an answer that does
//! not come: what the server said before, marked stale. How a server is asked
//! is up to `upstream`; what a tool looks like, to the importer of tool lists.

mod environment;
mod memory;
mod target;

use std::collections::HashMap;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::time::SystemTime;

use crate::catalog::Entry;
use crate::catalog::Server;
use crate::catalog::Stale;
use crate::login::TokenStore;
use crate::sources::Configuration;
use crate::sources::Import;
use crate::sources::Place;
use crate::sources::Source;
use crate::sources::client_config::Launch;
use crate::sources::findings::Findings;
use crate::sources::findings::Notes;
use crate::sources::format::Format;
use crate::sources::kept;
use crate::sources::live::memory::Failure;
use crate::sources::live::memory::Remembered;
use crate::sources::tools_list;
use crate::upstream;
use crate::upstream::Guardian;
use crate::upstream::Limits;
use crate::upstream::Listing;
use crate::upstream::Secrets;
use crate::upstream::Target;
use crate::upstream::UpstreamError;

pub use crate::sources::live::environment::Environment;

/// How servers are asked.
#[derive(Clone, Debug)]
pub struct Live {
    /// Where their variables come from, and what they inherit.
    pub environment: Environment,
    /// Tokens of the servers that somebody has logged in to.
    pub tokens: Option<TokenStore>,
    /// This program: `PROGRAM guard` ends the servers if we are killed.
    pub guardian: Option<PathBuf>,
    /// How long they may take.
    pub limits: Limits,
    /// A server that answered less long ago is not asked again.
    pub refresh_after: Duration,
    /// Lists that somebody else has got just now; these servers are not asked.
    pub given: HashMap<Entry, Listing>,
    /// Whether the others are asked, if it is time; else they keep what is known.
    pub asks: bool,
    /// What servers answer is written down for the next time.
    pub keep: bool,
    /// The time of day.
    pub now: SystemTime,
}

impl Default for Live {
    /// Nothing in the environment, no guardian, and all servers are asked.
    fn default() -> Self {
        Self {
            environment: Environment::default(),
            tokens: None,
            guardian: None,
            limits: Limits::default(),
            refresh_after: Duration::ZERO,
            given: HashMap::new(),
            asks: true,
            keep: true,
            now: SystemTime::UNIX_EPOCH,
        }
    }
}

/// What a caller may show while servers are asked.
#[derive(Clone, Copy, Debug)]
pub enum LiveEvent {
    /// So many are about to be asked; the others are known.
    Asking {
        /// To be asked.
        n_asked: usize,
        /// Asked not long ago.
        n_known: usize,
    },
    /// One has answered, or will not.
    Asked,
}

/// Asks the servers of a configuration that are switched on.
///
/// What they answer is kept in `memory`, a folder of ours, so that the next
/// run need not ask again. Servers that are no longer in the configuration are
/// forgotten. Without `live.keep` the folder stays as it is.
///
/// # Errors
/// When the memory cannot be written, or nothing can be run at all; a server
/// that fails is in the import: as stale if it answered before, else rejected.
pub fn learn(
    configuration: Configuration,
    path: &Path,
    memory: &Path,
    live: &Live,
    on_event: &mut dyn FnMut(LiveEvent),
) -> io::Result<Import> {
    let file = memory::file_of(memory, path);
    let remembered = memory::read(&file);
    let launches = configuration.config.servers.iter().filter(|launch| !launch.disabled);
    let mut questions: Vec<Question<'_>> = launches
        .map(|launch| Question::new(launch, path, live, remembered.get(&launch.name)))
        .collect();
    ask(&mut questions, live, on_event)?;
    let answers: Vec<Remembered> =
        questions.into_iter().map(|one| one.conclude(live.now)).collect();
    if live.keep {
        memory::write(&file, &answers)?;
    }
    Ok(import(configuration, path, &answers))
}

/// The servers of a configuration that are switched on, each ready to be
/// spoken to, or why it cannot be.
#[must_use]
pub fn targets(
    configuration: &Configuration,
    environment: &Environment,
    tokens: Option<&TokenStore>,
) -> Vec<(String, Result<Target, String>)> {
    let launches = configuration.config.servers.iter().filter(|launch| !launch.disabled);
    launches
        .map(|launch| {
            let target = target::of(launch, environment, tokens).map(|(target, _)| target);
            (launch.name.clone(), target)
        })
        .collect()
}

/// Forgets what `memory` knows of configurations that are none of these sources.
pub fn forget_configurations(sources: &[Source], memory: &Path) {
    let paths = sources.iter().filter_map(|source| match &source.place {
        Place::Path(path) => std::path::absolute(path).ok(),
        Place::Url(_) => None,
    });
    let kept: Vec<PathBuf> = paths.map(|path| memory::file_of(memory, &path)).collect();
    kept::keep_only(memory, &kept);
}

/// One server, and what is to be done about it.
struct Question<'a> {
    name: &'a str,
    before: Option<&'a Remembered>,
    state: State,
}

enum State {
    /// It answered not long ago.
    Known,
    /// It has to be asked.
    Open { target: Target, launch: String },
    /// It was asked.
    Asked { launch: String, secrets: Secrets, listing: Box<Result<Listing, UpstreamError>> },
    /// It cannot be asked.
    Impossible(String),
}

impl<'a> Question<'a> {
    fn new(launch: &'a Launch, path: &Path, live: &Live, before: Option<&'a Remembered>) -> Self {
        let entry = Entry { configuration: path.display().to_string(), name: launch.name.clone() };
        let state = match target::of(launch, &live.environment, live.tokens.as_ref()) {
            Err(reason) => State::Impossible(reason),
            Ok((target, launch)) => {
                let is_known = before.is_some_and(|before| {
                    before.launch == launch && before.is_fresh(live.now, live.refresh_after)
                });
                match live.given.get(&entry) {
                    Some(listing) => State::Asked {
                        launch,
                        secrets: target.secrets().clone(),
                        listing: Box::new(Ok(listing.clone())),
                    },
                    None if is_known || (!live.asks && before.is_some()) => State::Known,
                    None if !live.asks => State::Impossible("has not been asked yet".to_owned()),
                    None => State::Open { target, launch },
                }
            }
        };
        Self { name: &launch.name, before, state }
    }

    /// What is known of the server now.
    fn conclude(self, now: SystemTime) -> Remembered {
        let (launch, reason) = match self.state {
            State::Known => return self.before.cloned().unwrap_or_default(),
            State::Asked { launch, listing, secrets } => match *listing {
                Ok(listing) => return Remembered::of(self.name, launch, listing, now),
                Err(error) => (launch, secrets.hide_in(&error.to_string())),
            },
            State::Impossible(reason) => (String::new(), reason),
            State::Open { launch, .. } => (launch, UpstreamError::Closed.to_string()),
        };
        let mut known = self.before.cloned().unwrap_or_default();
        self.name.clone_into(&mut known.name);
        if known.pages.is_empty() {
            known.launch.clone_from(&launch);
        }
        let mut failure = Failure::new(reason, launch.clone(), now);
        if let Some(first) = known.failure.take().filter(|first| first.launch == launch) {
            failure.since = first.since;
        }
        known.failure = Some(failure);
        known
    }
}

fn ask(
    questions: &mut [Question<'_>],
    live: &Live,
    on_event: &mut dyn FnMut(LiveEvent),
) -> io::Result<()> {
    let mut open: Vec<&mut Question<'_>> = Vec::new();
    let (mut targets, mut n_known) = (Vec::new(), 0);
    for question in questions {
        match &question.state {
            State::Open { target, .. } => {
                targets.push(target.clone());
                open.push(question);
            }
            State::Known => n_known += 1,
            State::Asked { .. } | State::Impossible(_) => {}
        }
    }
    on_event(LiveEvent::Asking { n_asked: targets.len(), n_known });
    if targets.is_empty() {
        return Ok(());
    }
    let guardian = guardian(live, &targets);
    let on_asked = &mut || on_event(LiveEvent::Asked);
    let listings = upstream::list_all(&targets, guardian.as_ref(), live.limits, on_asked)?;
    for (question, listing) in open.into_iter().zip(listings) {
        if let State::Open { launch, target } = &mut question.state {
            let (launch, secrets) = (std::mem::take(launch), target.secrets().clone());
            question.state = State::Asked { launch, secrets, listing: Box::new(listing) };
        }
    }
    Ok(())
}

/// Only programs that we start need one.
fn guardian(live: &Live, targets: &[Target]) -> Option<Arc<Guardian>> {
    let program = live.guardian.as_ref()?;
    if cfg!(windows) || !targets.iter().any(|target| matches!(target, Target::Stdio(_))) {
        return None;
    }
    match Guardian::start(program, &["guard"]) {
        Ok(guardian) => Some(Arc::new(guardian)),
        Err(error) => {
            tracing::warn!(%error, "no guardian: a crash would leave servers running");
            None
        }
    }
}

fn import(configuration: Configuration, path: &Path, answers: &[Remembered]) -> Import {
    let mut found = Findings { source: path.display().to_string(), ..Findings::default() };
    found.warnings = configuration.config.warnings.iter().map(ToString::to_string).collect();
    let (mut stale, mut seen) = (Vec::new(), HashMap::new());
    for answer in answers {
        if let Some(failure) = &answer.failure {
            if answer.pages.is_empty() {
                found.reject_server(crate::sources::shown(&answer.name), &failure.reason);
                continue;
            }
            let mut notes = Notes::default();
            notes.add(format!("gave no list of tools ({}); that of before stays", failure.reason));
            found.warn_server(&answer.name, notes);
            stale.push(Stale {
                server: answer.name.clone(),
                reason: failure.reason.clone(),
                since: failure.since.clone(),
            });
        }
        if let Some(first) = seen.insert(&answer.launch, &answer.name) {
            let mut notes = Notes::default();
            notes.add(format!(
                "is the same as `{}`, under another name",
                crate::sources::shown(first)
            ));
            found.warn_server(&answer.name, notes);
        }
        read(answer, path, &mut found);
    }
    let mut import =
        super::finished(Format::ClientConfig, found, configuration.bytes, configuration.sha256);
    import.stale = stale;
    import
}

fn read(answer: &Remembered, path: &Path, found: &mut Findings) {
    let mut notes = Notes::default();
    for warning in &answer.warnings {
        notes.add(warning.as_str());
    }
    found.warn_server(&answer.name, notes);
    let answers = answer.hello.iter().chain(&answer.pages).map(|json| &**json);
    let mut server = tools_list::session(answers, &answer.name, found);
    for (tool, n_repeats) in keep_first(&mut server) {
        let mut notes = Notes::default();
        notes.add(format!("is listed {} times; the first definition counts", n_repeats + 1));
        found.warn_tool(&server.name, &tool, notes);
    }
    server.entry =
        Some(Entry { configuration: path.display().to_string(), name: answer.name.clone() });
    found.servers.push(server);
}

/// In a live list a repeated name is the same tool again; the first one counts.
fn keep_first(server: &mut Server) -> Vec<(String, usize)> {
    let mut seen = HashSet::new();
    let mut repeats: Vec<(String, usize)> = Vec::new();
    server.tools.retain(|tool| {
        let is_new = seen.insert(tool.name.clone());
        if !is_new {
            match repeats.iter_mut().find(|(name, _)| *name == tool.name) {
                Some((_, n)) => *n += 1,
                None => repeats.push((tool.name.clone(), 1)),
            }
        }
        is_new
    });
    repeats
}

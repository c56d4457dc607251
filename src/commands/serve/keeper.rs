//! Keeps the index of a server that runs: built where there is none, updated
//! when a server says that its tools have changed.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::AbortHandle;
use tokio::task::JoinSet;

use super::embedders::Embedders;
use crate::build;
use crate::build::Plan;
use crate::catalog::Entry;
use crate::cli::LiveArgs;
use crate::cli::Serve;
use crate::commands::configurations;
use crate::commands::embedder::Choice;
use crate::commands::live;
use crate::config::Config;
use crate::embed::Limits;
use crate::fetch::PrivateHosts;
use crate::index::Index;
use crate::index::Manifest;
use crate::index::Storage;
use crate::models;
use crate::serve::Engine;
use crate::sources::Fetching;
use crate::sources::Format;
use crate::sources::Live;
use crate::sources::Place;
use crate::sources::Source;
use crate::upstream::Listing;

/// Servers that take longer than this to start come with the second look.
const FIRST_LOOK: Duration = Duration::from_millis(1_200);

/// Words of change within this time are one.
const DEBOUNCE: Duration = Duration::from_millis(300);

/// Gaps that the log names; more are counted.
const SHOWN: usize = 20;

/// Who builds, with what.
pub(super) struct Keeper {
    config: Config,
    engine: Arc<Engine>,
    embedders: Arc<Embedders>,
    model: String,
    start_timeout: Duration,
}

impl Keeper {
    /// Starts in the background what is to be done; must run within tokio.
    pub(super) fn start(
        config: &Config,
        arguments: &Serve,
        engine: &Arc<Engine>,
        embedders: &Arc<Embedders>,
    ) -> anyhow::Result<()> {
        let keeper = Arc::new(Self {
            config: config.clone(),
            engine: Arc::clone(engine),
            embedders: Arc::clone(embedders),
            model: arguments.model.clone().unwrap_or_else(|| models::default_model().to_owned()),
            start_timeout: arguments.calls.start_timeout,
        });
        let given = configurations::absolute(&arguments.config);
        let recorded = build::recorded_plan(&config.index).ok();
        match recorded {
            Some((plan, model)) if !given.is_empty() => {
                let is_source = |path: &PathBuf| {
                    let at =
                        |source: &Source| matches!(&source.place, Place::Path(it) if it == path);
                    plan.sources.iter().any(at)
                };
                for path in given.iter().filter(|path| !is_source(path)) {
                    let (path, index) = (path.display(), config.index.display());
                    tracing::warn!(
                        "the index at {index} was not built from {path}; its servers are only found once it is: `toolscout index build --from {path} …`, or another `--index`"
                    );
                }
                if given.iter().all(is_source) {
                    let keeper = Arc::clone(&keeper);
                    let place = embedders.place();
                    let choice = Choice::recorded(config, &model, plan.remote.as_ref(), place)?;
                    tokio::task::spawn_blocking(move || keeper.update(plan, &choice));
                }
            }
            None if !given.is_empty() => {
                engine.gate.close();
                let keeper = Arc::clone(&keeper);
                let plan = keeper.plan(&given)?;
                tokio::task::spawn_blocking(move || keeper.build(&plan));
            }
            Some(_) | None => {}
        }
        tokio::spawn(async move { keeper.follow().await });
        Ok(())
    }

    /// A plan for an index of these configurations.
    fn plan(&self, given: &[PathBuf]) -> anyhow::Result<Plan> {
        let source = |path: &PathBuf| -> anyhow::Result<Source> {
            let (format, private) = (Some(Format::ClientConfig), PrivateHosts::Refused);
            Ok(Source { place: Place::parse(path)?, format, private })
        };
        Ok(Plan {
            sources: given.iter().map(source).collect::<Result<_, _>>()?,
            fetching: Fetching::default(),
            dir: self.config.index.clone(),
            paper: false,
            storage: Storage::default(),
            remote: None,
            summarizer: None,
            live: self.live(self.start_timeout),
            pin: false,
            approve: Vec::new(),
        })
    }

    fn live(&self, start_timeout: Duration) -> Live {
        let arguments = LiveArgs {
            start_timeout,
            page_timeout: self.start_timeout,
            parallel: 8,
            refresh_after: Duration::from_secs(3_600),
        };
        live::settings(&self.config, &arguments)
    }

    /// Builds twice: from the servers that are there at once, and from all.
    fn build(&self, plan: &Plan) {
        let choice = Choice::local(&self.model);
        let mut first = plan.clone();
        first.live = self.live(FIRST_LOOK.min(self.start_timeout));
        if self.run(&first, &choice).is_ok() {
            let gaps = Index::recorded(&plan.dir).ok().map(|manifest| gaps(&manifest));
            self.engine.gate.open_but_for(gaps.clone().unwrap_or_default());
            if gaps.is_some_and(|gaps| gaps.is_empty()) {
                return self.warn_of_gaps();
            }
        }
        match self.run(plan, &choice) {
            Ok(()) => {
                self.engine.gate.open();
                self.warn_of_gaps();
            }
            Err(error) => {
                tracing::error!("the index cannot be built: {error:#}");
                match Index::recorded(&plan.dir) {
                    Ok(_) => self.engine.gate.open(),
                    Err(_) => self.engine.gate.fail(format!("{error:#}")),
                }
            }
        }
    }

    fn update(&self, mut plan: Plan, choice: &Choice) {
        plan.live = self.live(self.start_timeout);
        match self.run(&plan, choice) {
            Ok(()) => self.warn_of_gaps(),
            Err(error) => tracing::warn!("the index stays as it is: {error:#}"),
        }
    }

    /// A client sees only what is there; the log says what is not, and why.
    fn warn_of_gaps(&self) {
        let manifest = match Index::recorded(&self.config.index) {
            Ok(manifest) => manifest,
            Err(error) => return tracing::warn!("{error}"),
        };
        let rejected = manifest.rejected.iter().map(|one| {
            let tool = one.tool.as_deref().map(|tool| format!("/{tool}")).unwrap_or_default();
            format!("`{}{tool}` is left out: {}", one.server, one.reason)
        });
        let stale = manifest.stale.iter().map(|one| {
            format!("`{}` has the tools of an earlier time: {}", one.server, one.reason)
        });
        let withheld = manifest.withheld.iter().map(|one| {
            format!("`{}/{}` is withheld: its definition is not as approved", one.server, one.tool)
        });
        let all: Vec<String> = rejected.chain(stale).chain(withheld).collect();
        for line in all.iter().take(SHOWN) {
            tracing::warn!("{line}");
        }
        if all.len() > SHOWN {
            tracing::warn!("… and {} more: `toolscout index inspect --json`", all.len() - SHOWN);
        }
    }

    fn run(&self, plan: &Plan, choice: &Choice) -> anyhow::Result<()> {
        let embedder = self.embedders.load(choice, Limits::default())?;
        let outcome = build::build(plan, embedder.as_ref(), None, &mut |_| {})?;
        tracing::info!(written = ?outcome.written, "index kept");
        self.engine.warm_up();
        Ok(())
    }

    /// Lists servers anew that say that their tools have changed, each on its own.
    async fn follow(self: Arc<Self>) {
        let Some(backends) = self.engine.backends() else { return };
        let mut lists = Lists::default();
        loop {
            tokio::select! {
                names = backends.pool().changed() => {
                    lists.wanted.extend(names);
                    tokio::time::sleep(DEBOUNCE).await;
                    lists.wanted.extend(backends.pool().changed().now_or_never().unwrap_or_default());
                }
                Some(first) = lists.asked.join_next() => {
                    let more = std::iter::from_fn(|| lists.asked.try_join_next());
                    let came = std::iter::once(first).chain(more).filter_map(Result::ok).flatten();
                    let given: HashMap<Entry, Listing> = came.collect();
                    if !given.is_empty() {
                        Arc::clone(&self).take_in_background(given).await;
                    }
                }
            }
            lists.ask(&self.engine);
        }
    }

    async fn take_in_background(self: Arc<Self>, given: HashMap<Entry, Listing>) {
        match tokio::task::spawn_blocking(move || self.take(given)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("the index stays as it is: {error:#}"),
            Err(error) => tracing::error!(%error, "an update ended abnormally"),
        }
    }

    /// Takes over these lists and asks nobody.
    fn take(&self, given: HashMap<Entry, Listing>) -> anyhow::Result<()> {
        let (mut plan, model) = build::recorded_plan(&self.config.index)?;
        plan.live = self.live(self.start_timeout);
        (plan.live.given, plan.live.asks) = (given, false);
        let place = self.embedders.place();
        let choice = Choice::recorded(&self.config, &model, plan.remote.as_ref(), place)?;
        self.run(&plan, &choice)?;
        self.warn_of_gaps();
        Ok(())
    }
}

/// Lists that are asked for, and servers whose list is wanted.
#[derive(Default)]
struct Lists {
    wanted: BTreeSet<String>,
    asked: JoinSet<Option<(Entry, Listing)>>,
    /// The last question to each server.
    last: HashMap<String, AbortHandle>,
}

impl Lists {
    /// Asks those that are wanted and have nothing to answer yet: one that
    /// changes while it answers is asked once more after that.
    fn ask(&mut self, engine: &Arc<Engine>) {
        let is_asked = |name: &String| self.last.get(name).is_some_and(|last| !last.is_finished());
        let (later, now): (BTreeSet<String>, BTreeSet<String>) =
            std::mem::take(&mut self.wanted).into_iter().partition(is_asked);
        self.wanted = later;
        for name in now {
            let question = self.asked.spawn(listed(Arc::clone(engine), name.clone()));
            self.last.insert(name, question);
        }
    }
}

/// Servers that a look has not shown as they are.
fn gaps(manifest: &Manifest) -> Vec<String> {
    let rejected = manifest.rejected.iter().filter(|one| one.tool.is_none());
    let stale = manifest.stale.iter().map(|one| &one.server);
    rejected.map(|one| &one.server).chain(stale).cloned().collect()
}

/// The tools of a server as they are now.
async fn listed(engine: Arc<Engine>, name: String) -> Option<(Entry, Listing)> {
    let backends = engine.backends()?;
    let entry = backends.entry_of(&name)?;
    match backends.pool().list(&name).await {
        Ok(listing) => Some((entry.clone(), listing)),
        Err(error) => {
            tracing::warn!("`{name}` says that its tools have changed, but: {error}");
            None
        }
    }
}

//! The whole online flow: text → parse → embed → rank → shape.
//!
//! Read `Router::answer` first. Owns the order of the steps and the choices
//! between them; each step lives in a room of its own.

mod answer;
mod error;
mod judge;
mod method;
mod queries;
mod stages;
mod view;

pub use error::RouteError;
pub use method::{Method, Stages};
pub use view::View;

use std::sync::Arc;
use std::time::Duration;

use quick_cache::sync::Cache;

use crate::catalog::RawJson;
use crate::catalog::ServerId;
use crate::confidence::Calibration;
use crate::confidence::Signals;
use crate::embed::Embedder;
use crate::index::Index;
use crate::rank::Hit;
use crate::rank::Pooled;
use crate::rank::Ranking;
use crate::reply::Cursor;
use crate::reply::Detail;
use crate::reply::Match;
use crate::reply::Reply;
use crate::reply::{self};
use crate::request::Parsed;
use crate::request::{self};

use judge::Judgement;
use queries::{Queries, Texts};

/// Finds tools in one index with one embedder; cheap to share between threads.
pub struct Router {
    index: Arc<Index>,
    queries: Queries,
    calibration: Option<Calibration>,
    answered: Cache<String, Arc<Routed>>,
}

/// Answers kept for repeated requests, and the longest one that is kept.
const CACHED_ANSWERS: usize = 256;
const CACHED_BYTES: usize = 32_768;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Raw text: `<tool_assistant>` blocks, or plain words.
    Text(String),
    /// The two fields, either may be absent.
    Fields {
        /// Platform or domain.
        server: Option<String>,
        /// Operation and target.
        tool: Option<String>,
    },
}

/// How it is answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which ranking.
    pub method: Method,
    /// Tools per request, 1–20.
    pub top_k: usize,
    /// How much of each.
    pub detail: Detail,
    /// Budget of the whole result as sent; none on the shell.
    pub max_bytes: Option<usize>,
    /// Exposed names not to be offered again.
    pub exclude: Vec<String>,
    /// Where an earlier, cut reply goes on.
    pub cursor: Option<String>,
    /// Confidence under which the answer is "no tool fits", in [0, 1]; that of
    /// the calibration by default.
    pub floor: Option<f32>,
    /// What may be found; everything by default.
    pub view: Option<Arc<View>>,
    /// What the asker should know besides; stands in the last note.
    pub remark: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::SCOUT,
            top_k: 3,
            detail: Detail::Schema,
            max_bytes: None,
            exclude: Vec::new(),
            cursor: None,
            floor: None,
            view: None,
            remark: None,
        }
    }
}

/// A reply and how it came about.
#[derive(Clone, Debug)]
pub struct Routed {
    /// What the asker gets.
    pub reply: Reply,
    /// One per request, in order.
    pub explained: Vec<Explained>,
    /// What of the time went into embedding; none for a repeated request.
    pub embedding: Duration,
}

/// How one request was answered.
#[derive(Clone, Debug)]
pub struct Explained {
    /// Text embedded for stage 1.
    pub server_text: Option<String>,
    /// Text embedded for stage 2.
    pub tool_text: Option<String>,
    /// Text embedded for both together.
    pub joint_text: Option<String>,
    /// The servers of stage 1, best first; empty when all tools were ranked.
    pub pool: Vec<Pooled>,
    /// The best tools with every part of their scores.
    pub hits: Vec<Hit>,
    /// What the confidence follows from, where there is one.
    pub signals: Option<Signals>,
    /// Probability that one of the first tools fulfils the request.
    pub confidence: Option<f32>,
}

impl Router {
    /// A router over a verified index.
    ///
    /// # Errors
    /// Refuses an embedder other than the one the index was built with.
    pub fn new(index: Arc<Index>, embedder: Arc<dyn Embedder>) -> Result<Self, RouteError> {
        index.require_model(embedder.identity())?;
        let (built, here) = (&index.manifest().runtime, embedder.runtime());
        if built != here {
            tracing::warn!("the index was built with another runtime, {built}; here is {here}");
        }
        let calibration = index.calibration()?.or_else(|| embedder.calibration());
        let (queries, answered) = (Queries::new(embedder), Cache::new(CACHED_ANSWERS));
        Ok(Self { index, queries, calibration, answered })
    }

    /// Answers every request of `ask`.
    ///
    /// # Errors
    /// Fails when `ask` holds no request, or nothing can be answered at all.
    pub fn route(&self, ask: &Ask, options: &Options) -> Result<Routed, RouteError> {
        let key = format!("{ask:?} {options:?}");
        if let Some(known) = self.answered.get(&key) {
            return Ok(Routed { embedding: Duration::ZERO, ..known.as_ref().clone() });
        }
        let routed = self.answer(ask, options)?;
        if key.len() + size(&routed.reply) <= CACHED_BYTES {
            self.answered.insert(key, Arc::new(routed.clone()));
        }
        Ok(routed)
    }

    fn answer(&self, ask: &Ask, options: &Options) -> Result<Routed, RouteError> {
        let parsed = parse(ask)?;
        let texts = self.queries.texts(&parsed, &options.method);
        let vectors = self.queries.embed(&texts, &options.method)?;
        let rankings = stages::rank_all(&self.index, &texts, &vectors, options)?;
        let context = (self.calibration.as_ref(), options);
        let judged = judge::judge_all(&self.index, &texts, &vectors, &rankings, context)?;
        let matches = answer::matches(&self.index, &rankings, &judged, options)?;
        let reports = answer::reports(&parsed, &texts, &vectors, &judged, options);
        let start = self.cursor(ask, options)?;
        let reply = reply::page(reports, matches, options.detail, options.max_bytes, start)?;
        let explained = explain(texts, rankings, judged, options);
        Ok(Routed { reply, explained, embedding: vectors.took })
    }

    /// The index it answers from.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Name of a server, for explanations.
    ///
    /// # Errors
    /// Fails when its record is damaged.
    pub fn server_name(&self, server: ServerId) -> Result<String, RouteError> {
        Ok(self.index.server(server)?.name)
    }

    /// Where the reply starts; bound to the generation and to all that decides
    /// which matches there are.
    fn cursor(&self, ask: &Ask, options: &Options) -> Result<Cursor, RouteError> {
        let (k, method, exclude) = (options.top_k, &options.method, &options.exclude);
        let (floor, view, index) = (options.floor, &options.view, self.index.digest());
        let decided = format!("{index} {ask:?} {method:?} {k} {exclude:?} {floor:?} {view:?}");
        let start = Cursor::start(self.index.manifest().generation, &decided);
        Ok(start.resume(options.cursor.as_deref())?)
    }
}

fn parse(ask: &Ask) -> Result<Parsed, RouteError> {
    match ask {
        Ask::Text(text) => Ok(request::parse(text)?),
        Ask::Fields { server, tool } => {
            let one = request::from_fields(server.as_deref(), tool.as_deref())?;
            Ok(Parsed { requests: vec![one], problems: Vec::new(), left_out: 0 })
        }
    }
}

/// About how much memory a reply takes: what is long in it.
fn size(reply: &Reply) -> usize {
    let raw = |json: &Option<RawJson>| json.as_ref().map_or(0, |json| json.get().len());
    let long = |one: &Match| {
        one.description.as_ref().map_or(0, String::len)
            + raw(&one.input_schema)
            + raw(&one.annotations)
    };
    reply.matches.iter().map(long).sum()
}

fn explain(
    texts: Vec<Texts>,
    rankings: Vec<Ranking>,
    judged: Vec<Judgement>,
    options: &Options,
) -> Vec<Explained> {
    let n_asked = options.top_k + options.exclude.len();
    let one = |((texts, ranking), judgement): ((Texts, Ranking), Judgement)| Explained {
        server_text: texts.server,
        tool_text: texts.tool,
        joint_text: texts.joint,
        pool: ranking.pool,
        hits: ranking.hits.into_iter().take(n_asked).collect(),
        signals: judgement.signals,
        confidence: judgement.confidence,
    };
    texts.into_iter().zip(rankings).zip(judged).map(one).collect()
}

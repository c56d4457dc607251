//! The whole online flow: text → parse → embed → rank → shape.
//!
//! Read this page first. Owns the order of the steps and the choices between
//! them; each step lives in a room of its own.

use std::collections::HashMap;
use std::sync::Arc;

use quick_cache::sync::Cache;

use crate::catalog::ServerId;
use crate::embed::BadVector;
use crate::embed::EmbedError;
use crate::embed::Embedder;
use crate::embed::UnitVector;
use crate::error::Fault;
use crate::index::Index;
use crate::index::IndexError;
use crate::index::Matrix;
use crate::rank::Corpus;
use crate::rank::Hit;
use crate::rank::Pooled;
use crate::rank::Query;
use crate::rank::Ranking;
use crate::rank::{self};
use crate::reply::Cursor;
use crate::reply::Detail;
use crate::reply::Match;
use crate::reply::Reply;
use crate::reply::ReplyError;
use crate::reply::RequestReport;
use crate::reply::{self};
use crate::request::Form;
use crate::request::Parsed;
use crate::request::RequestError;
use crate::request::ToolRequest;
use crate::request::{self};

/// Request vectors kept for repeated requests; 1.5 kB each at 384 numbers.
const CACHED_VECTORS: usize = 4_096;

/// Characters of a request that its echo shows.
const ECHO_CHARS: usize = 120;

/// Finds tools in one index with one embedder; cheap to share between threads.
pub struct Router {
    index: Arc<Index>,
    embedder: Arc<dyn Embedder>,
    vectors: Cache<String, Arc<UnitVector>>,
}

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which algorithm.
    pub ranking: RankingMode,
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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ranking: RankingMode::Scout,
            top_k: 3,
            detail: Detail::Schema,
            max_bytes: None,
            exclude: Vec::new(),
            cursor: None,
        }
    }
}

/// Which ranking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RankingMode {
    /// Recall-safe: digest, rich tool text, the best tools vote their owners in.
    #[default]
    Scout,
    /// The paper to the letter: description and summary, five servers, tool
    /// descriptions alone.
    McpZero,
}

/// A reply and how it came about.
#[derive(Debug)]
pub struct Routed {
    /// What the asker gets.
    pub reply: Reply,
    /// One per request, in order.
    pub explained: Vec<Explained>,
}

/// How one request was answered.
#[derive(Debug)]
pub struct Explained {
    /// Text embedded for stage 1.
    pub server_text: Option<String>,
    /// Text embedded for stage 2.
    pub tool_text: Option<String>,
    /// The servers of stage 1, best first; empty when all tools were ranked.
    pub pool: Vec<Pooled>,
}

/// Why a request is not answered.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// The text holds no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The model cannot run.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The request has no usable vector.
    #[error("the text {text:?} cannot be embedded: {reason}; ask in words")]
    NoVector {
        /// As embedded.
        text: String,
        /// What is wrong with it.
        reason: BadVector,
    },
    /// The index cannot answer.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The reply cannot be shaped as asked.
    #[error(transparent)]
    Reply(#[from] ReplyError),
}

impl RouteError {
    /// Who can mend it.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Request(error) => error.fault(),
            Self::Embed(error) => error.fault(),
            Self::NoVector { .. } => Fault::Caller,
            Self::Index(error) => error.fault(),
            Self::Reply(error) => error.fault(),
        }
    }
}

impl Router {
    /// A router over a verified index.
    ///
    /// # Errors
    /// Refuses an embedder other than the one the index was built with.
    pub fn new(index: Arc<Index>, embedder: Arc<dyn Embedder>) -> Result<Self, RouteError> {
        index.require_model(embedder.identity())?;
        if index.manifest().runtime != embedder.runtime() {
            tracing::warn!(
                index = index.manifest().runtime,
                here = embedder.runtime(),
                "the index was built with another runtime; scores may differ in the third digit"
            );
        }
        Ok(Self {
            index,
            embedder,
            vectors: Cache::new(CACHED_VECTORS),
        })
    }

    /// The index it answers from.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Answers every request of `ask`.
    ///
    /// # Errors
    /// Fails when `ask` holds no request, or nothing can be answered at all.
    pub fn route(&self, ask: &Ask, options: &Options) -> Result<Routed, RouteError> {
        let parsed = parse(ask)?;
        let texts: Vec<Texts> = parsed
            .requests
            .iter()
            .map(|one| self.texts(one, options))
            .collect();
        let vectors = self.embed(&texts)?;
        let corpus = self.corpus(options.ranking)?;
        let rankings: Vec<Ranking> = texts
            .iter()
            .map(|one| rank_one(&corpus, one, &vectors, options))
            .collect();
        let matches = self.matches(&rankings, options)?;
        let cursor = self.cursor(ask, options)?;
        let reports = report(&parsed, options);
        let reply = reply::page(reports, matches, options.detail, options.max_bytes, cursor)?;
        Ok(Routed {
            reply,
            explained: explain(texts, rankings),
        })
    }

    /// The texts to embed. Raw chat text gets the model's query instruction,
    /// which lifts it by 3 points and `tool:` lines by none (EVALUATION).
    fn texts(&self, request: &ToolRequest, options: &Options) -> Texts {
        let is_raw = request.form == Form::Plain && options.ranking == RankingMode::Scout;
        let prefix = if is_raw {
            &*self.embedder.identity().query_prefix
        } else {
            ""
        };
        let with_prefix = |text: &String| format!("{prefix}{text}");
        Texts {
            server: request.server.as_ref().map(with_prefix),
            tool: request.tool.as_ref().map(with_prefix),
        }
    }

    /// Vectors of all distinct texts; those not cached are embedded together.
    fn embed(&self, texts: &[Texts]) -> Result<Vectors, RouteError> {
        let mut vectors = Vectors::new();
        let mut missing: Vec<&str> = Vec::new();
        for text in texts
            .iter()
            .flat_map(|one| [&one.server, &one.tool])
            .flatten()
        {
            if vectors.contains_key(text) || missing.contains(&text.as_str()) {
                continue;
            }
            match self.vectors.get(text) {
                Some(vector) => drop(vectors.insert(text.clone(), vector)),
                None => missing.push(text),
            }
        }
        for (text, vector) in missing.iter().zip(self.embedder.embed(&missing)?) {
            let vector = Arc::new(vector.map_err(|reason| RouteError::NoVector {
                text: echo(text),
                reason,
            })?);
            self.vectors.insert((*text).to_owned(), Arc::clone(&vector));
            vectors.insert((*text).to_owned(), vector);
        }
        Ok(vectors)
    }

    /// The matrices that a ranking mode reads.
    fn corpus(&self, ranking: RankingMode) -> Result<Corpus<'_>, RouteError> {
        let no_paper = || IndexError::NoPaperVectors {
            dir: self.index.dir().to_owned(),
        };
        let (servers, tools): (&[Matrix], Matrix) = match ranking {
            RankingMode::Scout => (
                &[
                    Matrix::ServerDescription,
                    Matrix::ServerSummary,
                    Matrix::ServerDigest,
                ],
                Matrix::ToolText,
            ),
            RankingMode::McpZero => (
                &[Matrix::ServerDescription, Matrix::ServerSummary],
                Matrix::ToolDescription,
            ),
        };
        Ok(Corpus {
            server_texts: servers
                .iter()
                .filter_map(|kind| self.index.matrix(*kind))
                .collect(),
            tool_text: self.index.matrix(tools).ok_or_else(no_paper)?,
            tool_server: self.index.tool_server(),
        })
    }

    /// Reads the records of the ranked tools; excluded names are passed over.
    fn matches(&self, rankings: &[Ranking], options: &Options) -> Result<Vec<Match>, RouteError> {
        let mut matches = Vec::new();
        for (request, ranking) in rankings.iter().enumerate() {
            let mut rank = 0;
            for hit in &ranking.hits {
                if rank == options.top_k {
                    break;
                }
                let one = self.record(request, rank + 1, hit)?;
                if !options.exclude.contains(&one.name) {
                    matches.push(one);
                    rank += 1;
                }
            }
        }
        Ok(matches)
    }

    fn record(&self, request: usize, rank: usize, hit: &Hit) -> Result<Match, IndexError> {
        let tool = self.index.tool(hit.tool)?;
        Ok(Match {
            request,
            rank,
            name: tool.exposed,
            server: tool.server,
            tool: tool.name,
            score: hit.score,
            dense_score: hit.dense_score,
            server_score: hit.server_score,
            tool_score: hit.tool_score,
            description: Some(tool.description),
            input_schema: tool.input_schema,
            annotations: tool.annotations,
            shortened: false,
        })
    }

    /// Where the reply starts; bound to the generation and to all that decides
    /// which matches there are.
    fn cursor(&self, ask: &Ask, options: &Options) -> Result<Cursor, RouteError> {
        let (first, second) = match ask {
            Ask::Text(text) => (Some(text), None),
            Ask::Fields { server, tool } => (server.as_ref(), tool.as_ref()),
        };
        let decided = format!(
            "{:?} {} {:?}",
            options.ranking, options.top_k, options.exclude
        );
        let parts = [
            first.map_or("", |t| t),
            second.map_or("\0", |t| t),
            decided.as_str(),
        ];
        let start = Cursor::start(self.index.manifest().generation, &parts);
        Ok(start.resume(options.cursor.as_deref())?)
    }

    /// Name of a server, for explanations.
    ///
    /// # Errors
    /// Fails when its record is damaged.
    pub fn server_name(&self, server: ServerId) -> Result<String, RouteError> {
        Ok(self.index.server(server)?.name)
    }
}

/// What is embedded for a request.
struct Texts {
    server: Option<String>,
    tool: Option<String>,
}

type Vectors = HashMap<String, Arc<UnitVector>>;

fn parse(ask: &Ask) -> Result<Parsed, RouteError> {
    match ask {
        Ask::Text(text) => Ok(request::parse(text)?),
        Ask::Fields { server, tool } => {
            let one = request::from_fields(server.as_deref(), tool.as_deref())?;
            Ok(Parsed {
                requests: vec![one],
                problems: Vec::new(),
                left_out: 0,
            })
        }
    }
}

fn rank_one(corpus: &Corpus<'_>, texts: &Texts, vectors: &Vectors, options: &Options) -> Ranking {
    let vector = |text: &Option<String>| Some(vectors.get(text.as_ref()?)?.as_slice());
    let width = match options.ranking {
        RankingMode::Scout => rank::SCOUT,
        RankingMode::McpZero => rank::MCP_ZERO,
    };
    let limit = options.top_k + options.exclude.len();
    match (vector(&texts.server), vector(&texts.tool)) {
        (Some(server), Some(tool)) => {
            rank::rank(corpus, Query::Both { server, tool }, width, limit)
        }
        (None, Some(tool)) => rank::rank(corpus, Query::ToolOnly(tool), width, limit),
        (Some(server), None) => rank::rank(corpus, Query::ServerOnly(server), width, limit),
        (None, None) => Ranking::default(),
    }
}

fn report(parsed: &Parsed, options: &Options) -> Vec<RequestReport> {
    let echo = |text: &str| {
        if options.max_bytes.is_some() {
            echo(text)
        } else {
            text.to_owned()
        }
    };
    let mut reports: Vec<RequestReport> = parsed
        .requests
        .iter()
        .map(|one| RequestReport {
            server: one.server.as_deref().map(echo),
            tool: one.tool.as_deref().map(echo),
            abstained: false,
            note: one.note.clone(),
        })
        .collect();
    if let Some(last) = reports.last_mut() {
        let left_out = (parsed.left_out > 0).then(|| {
            format!(
                "{} more requests were left out; at most {} are answered at once",
                parsed.left_out,
                request::MAX_REQUESTS
            )
        });
        let notes: Vec<String> = last
            .note
            .take()
            .into_iter()
            .chain(parsed.problems.clone())
            .chain(left_out)
            .collect();
        last.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
    reports
}

fn explain(texts: Vec<Texts>, rankings: Vec<Ranking>) -> Vec<Explained> {
    let one = |(texts, ranking): (Texts, Ranking)| Explained {
        server_text: texts.server,
        tool_text: texts.tool,
        pool: ranking.pool,
    };
    texts.into_iter().zip(rankings).map(one).collect()
}

fn echo(text: &str) -> String {
    if text.chars().count() <= ECHO_CHARS {
        return text.to_owned();
    }
    text.chars().take(ECHO_CHARS - 1).chain(['…']).collect()
}

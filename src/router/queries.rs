//! Requests → texts → vectors; repeated texts come from a bounded cache.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;

use super::Method;
use super::answer::echo;
use super::error::RouteError;
use crate::embed::BadVector;
use crate::embed::Embedder;
use crate::embed::UnitVector;
use crate::operation::Operation;
use crate::request::Form;
use crate::request::Parsed;
use crate::request::ToolRequest;

/// Request vectors kept for repeated requests; 1.5 kB each at 384 numbers.
const CACHED_VECTORS: usize = 4_096;

/// What is embedded for one request.
pub(super) struct Texts {
    pub(super) server: Option<String>,
    pub(super) tool: Option<String>,
    /// "server: tool", the third text of `scout`.
    pub(super) joint: Option<String>,
    /// What is looked up by words.
    pub(super) words: String,
    /// The platform as the request names it.
    pub(super) platform: Option<String>,
    /// What the request wants done; unknown of plain words.
    pub(super) operation: Operation,
    /// Whether it came as a tool request or as plain words.
    pub(super) form: Form,
}

/// The vector of every distinct text that has one.
#[derive(Default)]
pub(super) struct Vectors {
    known: HashMap<String, Arc<UnitVector>>,
    /// The last text without one, and why.
    pub(super) bad: Option<(String, BadVector)>,
    /// What it took to get them.
    pub(super) took: Duration,
}

impl Vectors {
    pub(super) fn get(&self, text: &str) -> Option<&UnitVector> {
        self.known.get(text).map(Arc::as_ref)
    }

    /// Whether a text of the request has no usable vector.
    pub(super) fn lacks(&self, texts: &Texts) -> bool {
        [&texts.server, &texts.tool].into_iter().flatten().any(|text| self.get(text).is_none())
    }
}

/// The embedder and what it has embedded lately.
pub(super) struct Queries {
    embedder: Arc<dyn Embedder>,
    recent: Cache<String, Arc<UnitVector>>,
}

impl Queries {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, recent: Cache::new(CACHED_VECTORS) }
    }

    /// The texts of all requests. Raw chat text gets the model's query
    /// instruction, which lifts it by 3 points and `tool:` lines by none
    /// (measured on `APIBank`); the paper knows none.
    pub(super) fn texts(&self, parsed: &Parsed, method: &Method) -> Vec<Texts> {
        let instruction = &*self.embedder.identity().query_prefix;
        let one = |request: &ToolRequest| {
            let is_raw = request.form == Form::Plain && method.instructs;
            let prefix = if is_raw { instruction } else { "" };
            let with_prefix = |text: &String| format!("{prefix}{text}");
            let is_tagged = request.form == Form::Tagged;
            let tool_line = request.tool.as_deref().filter(|_| is_tagged);
            Texts {
                server: request.server.as_ref().map(with_prefix),
                tool: request.tool.as_ref().map(with_prefix),
                joint: joint(request, method),
                words: words(request),
                platform: request.server.clone().filter(|_| is_tagged),
                operation: tool_line.map(Operation::of_request).unwrap_or_default(),
                form: request.form,
            }
        };
        parsed.requests.iter().map(one).collect()
    }

    /// Embeds what is not known yet, all of it together. A text without a
    /// usable vector is found by its words; the paper's ranking has no words.
    pub(super) fn embed(&self, texts: &[Texts], method: &Method) -> Result<Vectors, RouteError> {
        let start = Instant::now();
        let (mut vectors, mut missing, mut bad) = (HashMap::new(), Vec::new(), None);
        for text in texts.iter().flat_map(|one| [&one.server, &one.tool, &one.joint]).flatten() {
            if vectors.contains_key(text) || missing.contains(&text.as_str()) {
                continue;
            }
            match self.recent.get(text) {
                Some(vector) => drop(vectors.insert(text.clone(), vector)),
                None => missing.push(text.as_str()),
            }
        }
        for (text, vector) in missing.iter().zip(self.embedder.embed(&missing)?) {
            match vector {
                Ok(vector) => {
                    let vector = Arc::new(vector);
                    self.recent.insert((*text).to_owned(), Arc::clone(&vector));
                    vectors.insert((*text).to_owned(), vector);
                }
                Err(reason) if !method.has_words() => {
                    return Err(RouteError::NoVector { text: echo(text), reason });
                }
                Err(reason) => bad = Some((echo(text), reason)),
            }
        }
        Ok(Vectors { known: vectors, bad, took: start.elapsed() })
    }
}

/// Platform and operation in one text. The largest single gain on judged
/// labels; raw text says both in one already.
fn joint(request: &ToolRequest, method: &Method) -> Option<String> {
    let is_tagged = request.form == Form::Tagged && method.is_joint();
    let (server, tool) = (request.server.as_ref()?, request.tool.as_ref()?);
    is_tagged.then(|| format!("{server}: {tool}"))
}

fn words(request: &ToolRequest) -> String {
    match (&request.server, &request.tool, request.form) {
        (Some(server), Some(tool), Form::Tagged) => format!("{server} {tool}"),
        (_, Some(text), _) | (Some(text), None, _) => text.clone(),
        (None, None, _) => String::new(),
    }
}

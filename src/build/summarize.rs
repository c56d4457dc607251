//! Summaries of servers by a language model; never needed for a good index.
//!
//! Owns the question, what counts as an answer, and that none is paid for
//! twice. A server whose summary fails keeps the text it has.

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use rusqlite::Connection;
use rusqlite::OptionalExtension;
use serde::Deserialize;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use crate::catalog::Server;
use crate::catalog::clean_text;
use crate::embed::RemoteError;
use crate::embed::RemoteWriter;

/// What the model is told; it is part of the key of the cache.
const INSTRUCTION: &str = include_str!("summarize.md");

/// Tools that a question names, and characters of a description it quotes.
const MAX_TOOLS: usize = 60;
const MAX_QUOTED_CHARS: usize = 400;

/// Characters that a summary has: fewer say nothing, more are no summary.
const LENGTH: std::ops::RangeInclusive<usize> = 20..=1_200;

/// Questions under way at the same time.
const PARALLEL: usize = 4;

/// Failures in a row after which the model is left alone.
const PATIENCE: usize = 5;

/// A language model, and what it has answered before.
pub struct Summarizer {
    writer: RemoteWriter,
    model: String,
    cache: Option<Mutex<Connection>>,
}

/// What came of the summaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summaries {
    /// Answered now.
    pub n_new: usize,
    /// Known from an earlier run.
    pub n_known: usize,
    /// Servers that keep the text they have.
    pub n_failed: usize,
    /// Why the first of those failed.
    pub failure: Option<String>,
}

impl Summarizer {
    /// Answers are kept in `folder/summaries.sqlite`; one that cannot be used costs money, no answer.
    #[must_use]
    pub fn new(writer: RemoteWriter, model: &str, folder: &Path) -> Self {
        let cache = open(folder).inspect_err(|error| {
            tracing::warn!(%error, "summaries cannot be kept; each run asks for all of them");
        });
        Self { writer, model: model.to_owned(), cache: cache.ok().map(Mutex::new) }
    }

    /// Gives every server a summary, as far as the model gives one.
    pub fn summarize(&self, servers: &mut [Server]) -> Summaries {
        let questions: Vec<String> = servers.iter().map(question).collect();
        let mut answers: Vec<Option<String>> =
            questions.iter().map(|one| self.known(one)).collect();
        let n_known = answers.iter().flatten().count();
        let open: Vec<usize> = (0..answers.len()).filter(|at| answers[*at].is_none()).collect();
        let work = Work { next: AtomicUsize::new(0), n_failures: AtomicUsize::new(0), open: &open };
        let (new, failure) = (Mutex::new(Vec::new()), Mutex::new(None));
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL.min(open.len()) {
                scope.spawn(|| {
                    while let Some(at) = work.take() {
                        match self.ask(&questions[at]) {
                            Ok(summary) => {
                                work.n_failures.store(0, Ordering::Relaxed);
                                let mut new = new.lock().unwrap_or_else(PoisonError::into_inner);
                                new.push((at, summary));
                            }
                            Err(reason) => {
                                work.n_failures.fetch_add(1, Ordering::Relaxed);
                                let mut failure =
                                    failure.lock().unwrap_or_else(PoisonError::into_inner);
                                failure.get_or_insert(reason);
                            }
                        }
                    }
                });
            }
        });
        let new = new.into_inner().unwrap_or_else(PoisonError::into_inner);
        let n_new = new.len();
        for (at, summary) in new {
            answers[at] = Some(summary);
        }
        let mut n_failed = 0;
        for (server, answer) in servers.iter_mut().zip(answers) {
            match answer {
                Some(summary) => server.summary = summary,
                None => n_failed += 1,
            }
        }
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        Summaries { n_new, n_known, n_failed, failure }
    }

    /// Asks the model, and keeps what it answers.
    fn ask(&self, question: &str) -> Result<String, String> {
        let answer = self.writer.ask(INSTRUCTION, question).map_err(|error| reason(&error))?;
        let summary = summary_in(&answer)?;
        if let Some(cache) = &self.cache {
            let cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
            let put = "INSERT OR REPLACE INTO summaries (key, summary) VALUES (?1, ?2)";
            if let Err(error) = cache.execute(put, (self.key(question), &summary)) {
                tracing::warn!(%error, "a summary cannot be kept");
            }
        }
        Ok(summary)
    }

    fn known(&self, question: &str) -> Option<String> {
        let cache = self.cache.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let get = "SELECT summary FROM summaries WHERE key = ?1";
        let found = cache.query_row(get, [self.key(question)], |row| row.get(0)).optional();
        found.inspect_err(|error| tracing::warn!(%error, "a summary cannot be read")).ok()?
    }

    fn key(&self, question: &str) -> Vec<u8> {
        let mut hash = Sha256::new();
        for part in [&self.model, INSTRUCTION, question] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().to_vec()
    }
}

/// Servers that are still to be asked for.
struct Work<'a> {
    next: AtomicUsize,
    n_failures: AtomicUsize,
    open: &'a [usize],
}

impl Work<'_> {
    fn take(&self) -> Option<usize> {
        if self.n_failures.load(Ordering::Relaxed) >= PATIENCE {
            return None;
        }
        self.open.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

fn open(folder: &Path) -> rusqlite::Result<Connection> {
    if let Err(error) = fs_err::create_dir_all(folder) {
        tracing::debug!(%error, "no folder for summaries");
    }
    let connection = Connection::open(folder.join("summaries.sqlite"))?;
    connection.busy_timeout(std::time::Duration::from_secs(60))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         CREATE TABLE IF NOT EXISTS summaries (key BLOB PRIMARY KEY, summary TEXT NOT NULL);",
    )?;
    Ok(connection)
}

/// What the model is shown of a server.
fn question(server: &Server) -> String {
    let quoted = |text: &str| text.chars().take(MAX_QUOTED_CHARS).collect::<String>();
    let tools: Vec<_> = server
        .tools
        .iter()
        .take(MAX_TOOLS)
        .map(|tool| json!({ "name": tool.name, "description": quoted(&tool.description) }))
        .collect();
    json!({
        "name": server.name,
        "description": quoted(&server.description),
        "notes": quoted(&server.summary),
        "n_tools": server.tools.len(),
        "tools": tools,
    })
    .to_string()
}

/// The summary in an answer, be it in a code fence or among other words.
fn summary_in(answer: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Answer {
        summary: String,
    }
    let object =
        answer.find('{').zip(answer.rfind('}')).and_then(|(start, end)| answer.get(start..=end));
    let answer: Answer = object
        .and_then(|object| serde_json::from_str(object).ok())
        .ok_or("the answer holds no JSON object with a text `summary`")?;
    let summary = clean_text(&answer.summary).split_whitespace().collect::<Vec<_>>().join(" ");
    let n_chars = summary.chars().count();
    match LENGTH.contains(&n_chars) {
        true => Ok(summary),
        false => Err(format!(
            "the summary has {n_chars} characters, not {} to {}",
            LENGTH.start(),
            LENGTH.end()
        )),
    }
}

/// Why the model gave none; its errors speak of embedding otherwise.
fn reason(error: &RemoteError) -> String {
    match error {
        RemoteError::Refused { host, status, message, .. } => {
            format!("`{host}` refuses with HTTP {status}: {message}; check address, model and key")
        }
        RemoteError::Busy { host, status, message, .. } => {
            format!("`{host}` answers with HTTP {status}: {message}")
        }
        RemoteError::Unreachable { host, source } => {
            format!("`{host}` cannot be reached: {source}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_found_among_other_words() {
        let text = "Stores and searches notes of a team.";
        for answer in [
            format!(r#"{{"summary": "{text}"}}"#),
            format!("```json\n{{\"summary\": \"{text}\"}}\n```"),
            r#"Sure! {"other": 1, "summary": " Stores\u200b and\nsearches notes of a team. "} Bye"#
                .to_owned(),
        ] {
            assert_eq!(summary_in(&answer).as_deref(), Ok(text), "{answer}");
        }
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        for answer in ["", "Stores notes of a whole team.", "{}", r#"{"summary": 7}"#, "}{"] {
            let error = summary_in(answer).unwrap_err();
            assert_eq!(error, "the answer holds no JSON object with a text `summary`", "{answer}");
        }
        let short = summary_in(r#"{"summary": "Notes."}"#).unwrap_err();
        assert_eq!(short, "the summary has 6 characters, not 20 to 1200");
        assert!(summary_in(&format!(r#"{{"summary": "{}"}}"#, "x".repeat(1_201))).is_err());
    }

    #[test]
    fn a_question_is_bounded() {
        let tool = |n: usize| crate::catalog::Tool {
            name: format!("t{n}"),
            description: "d".repeat(100_000),
            ..crate::catalog::Tool::default()
        };
        let server = Server { tools: (0..5_000).map(tool).collect(), ..Server::default() };
        assert!(question(&server).len() < 40_000);
    }
}

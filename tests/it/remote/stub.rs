//! An embeddings API on this machine that says what a test wants.

use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolscout::embed::{Embedder, StandInEmbedder};

use crate::support::wire;

/// What the stub does with one request.
#[derive(Clone)]
pub(crate) enum Act {
    /// The vectors of the stand-in embedder, last text first, folded to
    /// `dimensions` if that is asked for.
    Embed,
    /// The same, in so many numbers whatever was asked.
    EmbedIn(u64),
    /// A status, one more header line, a body.
    Say(u16, &'static str, String),
    /// HTTP 200 with numbers of the test's choice, by text.
    Numbers(Vec<Value>),
    /// Nothing for so long.
    Wait(Duration),
    /// The connection ends without an answer.
    HangUp,
    /// A good beginning that never ends.
    Flood,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) first_line: String,
    pub(crate) headers: String,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn texts(&self) -> Vec<String> {
        serde_json::from_value(self.body["input"].clone()).unwrap()
    }
}

/// Runs until the test process ends.
pub(crate) struct Stub {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Arc<Mutex<VecDeque<Act>>>,
}

impl Stub {
    /// Does `script` once, then embeds.
    pub(crate) fn new(script: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stub = Self {
            address: listener.local_addr().unwrap().to_string(),
            seen: Arc::default(),
            script: Arc::new(Mutex::new(script.into_iter().collect())),
        };
        let (seen, script) = (Arc::clone(&stub.seen), Arc::clone(&stub.script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let Some(request) = read(&stream) else { continue };
                let act = script.lock().unwrap().pop_front().unwrap_or(Act::Embed);
                seen.lock().unwrap().push(request.clone());
                answer(stream, &request, act);
            }
        });
        stub
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What has arrived since the last call.
    pub(crate) fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    pub(crate) fn plan(&self, act: Act) {
        self.script.lock().unwrap().push_back(act);
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let (first_line, headers) = wire::read_head(&mut reader)?;
    let lower = headers.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap();
    Some(Seen { first_line: first_line.trim().to_owned(), headers, body })
}

fn answer(stream: TcpStream, request: &Seen, act: Act) {
    let (status, header, body) = match act {
        Act::Embed => (200, "", embeddings(request, request.body["dimensions"].as_u64())),
        Act::EmbedIn(dim) => (200, "", embeddings(request, Some(dim))),
        Act::Say(status, header, body) => (status, header, body),
        Act::Numbers(rows) => (200, "", list(&rows)),
        Act::Wait(duration) => return std::thread::sleep(duration),
        Act::HangUp => return,
        Act::Flood => return wire::flood(stream, "{\"data\":["),
    };
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    wire::respond(stream, status, &header, &body);
}

fn embeddings(request: &Seen, dim: Option<u64>) -> String {
    let texts = request.texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = StandInEmbedder::default().embed(&texts).unwrap();
    let rows: Vec<Value> = vectors
        .iter()
        .map(|vector| json!(fold(vector.as_ref().unwrap().as_slice(), dim)))
        .collect();
    list(&rows)
}

/// Sums the numbers up into `dim` slots.
fn fold(numbers: &[f32], dim: Option<u64>) -> Vec<f32> {
    let dim = dim.map_or(numbers.len(), |dim| usize::try_from(dim).unwrap());
    let mut folded = vec![0.0; dim];
    for (slot, number) in numbers.iter().enumerate() {
        folded[slot % dim] += number;
    }
    folded
}

/// The answer's JSON, the last row first.
fn list(rows: &[Value]) -> String {
    let items = rows.iter().enumerate().rev();
    let data: Vec<Value> = items
        .map(|(index, row)| json!({"object": "embedding", "index": index, "embedding": row}))
        .collect();
    json!({"object": "list", "data": data, "usage": {"total_tokens": 1}}).to_string()
}

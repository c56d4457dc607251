//! A server on this machine that answers as a test says.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Path and query.
    pub(crate) target: String,
    /// All header lines, in lower case.
    pub(crate) headers: String,
}

impl Seen {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A parameter of the query, decoded.
    pub(crate) fn parameter(&self, key: &str) -> Option<String> {
        let query = self.target.split_once('?')?.1;
        let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{key}=")))?;
        let mut parts = value.split('%');
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
            bytes.extend(part[2..].bytes());
        }
        Some(String::from_utf8(bytes).unwrap())
    }
}

/// What the stub does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A status, more header lines (each with its end), a body.
    Say(u16, String, String),
    /// Nothing for so long.
    Wait(Duration),
    /// The connection ends without an answer.
    HangUp,
    /// A body that never ends.
    Flood,
}

impl Reply {
    pub(crate) fn json(body: &impl ToString) -> Self {
        Self::Say(200, "Content-Type: application/json\r\n".to_owned(), body.to_string())
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Say(status, "Retry-After: 0\r\n".to_owned(), "no".to_owned())
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::Say(302, format!("Location: {to}\r\n"), String::new())
    }
}

/// Runs until the test process ends.
pub(crate) struct Stub {
    address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Stub {
    pub(crate) fn new(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stub =
            Self { address: listener.local_addr().unwrap().to_string(), seen: Arc::default() };
        let (seen, answer) = (Arc::clone(&stub.seen), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, seen, answer) =
                    (stream.unwrap(), Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || {
                    if let Some(request) = read(&stream) {
                        seen.lock().unwrap().push(request.clone());
                        give(stream, answer(&request));
                    }
                });
            }
        });
        stub
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    /// What has arrived since the last call.
    pub(crate) fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|&n| n > 0)?;
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        reader.read_line(&mut headers).ok().filter(|&n| n > 0)?;
    }
    let target = first.split(' ').nth(1)?.to_owned();
    Some(Seen { target, headers: headers.to_lowercase() })
}

/// A client that hangs up first is part of some tests.
fn give(mut stream: TcpStream, reply: Reply) {
    let (status, headers, body) = match reply {
        Reply::Say(status, headers, body) => (status, headers, body),
        Reply::Wait(duration) => return std::thread::sleep(duration),
        Reply::HangUp => return,
        Reply::Flood => {
            let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"servers\":[");
            while sent.is_ok() {
                sent = stream.write_all(&[b' '; 65_536]);
            }
            return;
        }
    };
    let length = body.len();
    let _gone = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n{body}"
    );
}

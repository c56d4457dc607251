//! HTTP as far as a stub needs it.

use std::io::{BufRead, Write};
use std::net::TcpStream;

/// The first line of a request and its headers, each with their ends.
pub(crate) fn read_head(reader: &mut impl BufRead) -> Option<(String, String)> {
    let (mut first, mut headers) = (String::new(), String::new());
    reader.read_line(&mut first).ok().filter(|&n| n > 0)?;
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        reader.read_line(&mut headers).ok().filter(|&n| n > 0)?;
    }
    Some((first, headers))
}

/// Answers; `headers` are whole lines. A client that hangs up first is part of some tests.
pub(crate) fn respond(mut stream: TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    let _gone = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n{body}"
    );
}

/// A good beginning that never ends, until the client hangs up.
pub(crate) fn flood(mut stream: TcpStream, beginning: &str) {
    let mut sent = write!(stream, "HTTP/1.1 200 OK\r\n\r\n{beginning}");
    while sent.is_ok() {
        sent = stream.write_all(&[b' '; 65_536]);
    }
}

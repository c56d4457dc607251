//! JSON lines on stdin and stdout.
//!
//! Owns what rmcp's own transport leaves unsaid: a line that is no message
//! gets an answer with the code the protocol has for it, and the id it came
//! with.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::engine::Engine;
use super::incoming;
use super::incoming::BadMessage;
use super::raw::Shelf;

/// Longer lines are answered with an error, not read into memory.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// One session over a pair of byte streams.
pub(super) struct Lines<R, W> {
    shelf: Arc<Shelf>,
    /// Told when the client has left.
    closing: CancellationToken,
    reader: BufReader<R>,
    writer: Arc<Mutex<W>>,
    /// Answers being written beside `receive`, which may be cancelled.
    answers: TaskTracker,
    /// What has been read of the current line; kept when `receive` is
    /// cancelled in the middle of one.
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    pub(super) fn new(engine: &Engine, reader: R, writer: W) -> Self {
        let (shelf, closing) = (Arc::clone(&engine.shelf), engine.closing.clone());
        Self::over(shelf, closing, reader, writer)
    }

    fn over(shelf: Arc<Shelf>, closing: CancellationToken, reader: R, writer: W) -> Self {
        let writer = Arc::new(Mutex::new(writer));
        let reader = BufReader::new(reader);
        let answers = TaskTracker::new();
        Self { shelf, closing, reader, writer, answers, line: Vec::new(), is_too_long: false }
    }

    /// Reads on to the end of a line; false at the end of the stream.
    async fn fill_line(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(!self.line.is_empty());
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(bytes.len());
            if self.line.len() + taken > MAX_LINE_BYTES {
                self.is_too_long = true;
            } else {
                self.line.extend_from_slice(&bytes[..taken]);
            }
            let consumed = end.map_or(taken, |end| end + 1);
            self.reader.consume(consumed);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// The message of the current line, or what to answer in its place.
    fn take_line(&mut self) -> Option<Result<ClientJsonRpcMessage, BadMessage>> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let why = format!("message is longer than {MAX_LINE_BYTES} bytes");
            return Some(Err(BadMessage::no_request(why)));
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        incoming::read(text).transpose()
    }

    /// The end of the session, once what is owed has been written.
    async fn end(&mut self) -> Option<ClientJsonRpcMessage> {
        self.closing.cancel();
        self.answers.close();
        self.answers.wait().await;
        None
    }

    fn answer(&self, answer: &BadMessage) {
        let (writer, line) = (Arc::clone(&self.writer), format!("{answer}\n"));
        self.answers.spawn(async move {
            if let Err(error) = write(&writer, line.as_bytes()).await {
                tracing::debug!(%error, "the client reads no more");
            }
        });
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (shelf, writer) = (Arc::clone(&self.shelf), Arc::clone(&self.writer));
        async move {
            let message = serde_json::to_string(&item)?;
            let mut line = shelf.filled(&message).unwrap_or(message);
            line.push('\n');
            write(&writer, line.as_bytes()).await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.fill_line().await {
                Ok(true) => {}
                Ok(false) => return self.end().await,
                Err(error) => {
                    tracing::debug!(%error, "stdin ended");
                    return self.end().await;
                }
            }
            match self.take_line() {
                Some(Ok(message)) => return Some(message),
                Some(Err(answer)) => self.answer(&answer),
                None => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.writer.lock().await.flush().await
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &Mutex<W>, line: &[u8]) -> io::Result<()> {
    let mut writer = writer.lock().await;
    writer.write_all(line).await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_line_too_long_is_answered_and_the_next_one_read() {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let input = format!("{}\n\r\n{ping}", "x".repeat(MAX_LINE_BYTES + 1));
        let (mut client, server) = tokio::io::duplex(1_000);
        let mut lines =
            Lines::over(Arc::default(), CancellationToken::new(), input.as_bytes(), server);
        assert!(lines.receive().await.is_some());
        assert!(lines.receive().await.is_none());
        drop(lines);
        let mut answer = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut client, &mut answer).await.unwrap();
        assert!(answer.contains("longer than 16777216 bytes"), "{answer}");
    }

    #[tokio::test]
    async fn an_answer_is_written_before_the_end_is_told() {
        let (mut client, server) = tokio::io::duplex(1_000);
        let input = "not JSON\n".as_bytes();
        let mut lines = Lines::over(Arc::default(), CancellationToken::new(), input, server);
        assert!(lines.receive().await.is_none());
        let mut answer = String::new();
        let read = BufReader::new(&mut client).read_line(&mut answer).now_or_never();
        assert!(read.is_some(), "nothing was written yet");
        assert!(answer.contains("-32700"), "{answer}");
    }
}

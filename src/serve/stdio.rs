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
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::engine::Engine;
use super::raw::Shelf;

/// Longer lines are answered with an error, not read into memory.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// Requests whose parameters must be an object, or absent.
const WITH_PARAMS: [&str; 6] =
    ["initialize", "tools/list", "tools/call", "prompts/list", "prompts/get", "server/discover"];

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
    fn take_line(&mut self) -> Option<Result<ClientJsonRpcMessage, Value>> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let why = format!("message is longer than {MAX_LINE_BYTES} bytes");
            return Some(Err(error(&Value::Null, INVALID_REQUEST, &why)));
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        read(text).transpose()
    }

    /// The end of the session, once what is owed has been written.
    async fn end(&mut self) -> Option<ClientJsonRpcMessage> {
        self.closing.cancel();
        self.answers.close();
        self.answers.wait().await;
        None
    }

    fn answer(&self, answer: &Value) {
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

/// A message, nothing (a notification that cannot be read), or an error answer.
fn read(text: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Value> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|why| error(&Value::Null, PARSE_ERROR, &format!("not JSON: {why}")))?;
    let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    if let (Some(id), Some(why)) = (&id, bad_params(&value)) {
        return Err(error(id, INVALID_PARAMS, &why));
    }
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        Err(why) => match id {
            Some(id) => Err(error(&id, INVALID_REQUEST, &format!("no request: {why}"))),
            None if text.starts_with(b"[") => {
                Err(error(&Value::Null, INVALID_REQUEST, "batches are not supported"))
            }
            None => {
                tracing::warn!(%why, "a message without an id cannot be read, ignored");
                Ok(None)
            }
        },
    }
}

/// What is wrong with the parameters of a known request, if anything.
fn bad_params(message: &Value) -> Option<String> {
    let method = message.get("method")?.as_str()?;
    let params = message.get("params").filter(|params| !params.is_null())?;
    if !WITH_PARAMS.contains(&method) {
        return None;
    }
    if !params.is_object() {
        return Some(format!("params of {method} must be an object"));
    }
    let cursor = params.get("cursor")?;
    let is_list = method.ends_with("/list");
    (is_list && !cursor.is_string() && !cursor.is_null())
        .then(|| format!("cursor of {method} must be a string"))
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn check(line: &str, code: i32, id: &Value) {
        let answer = read(line.as_bytes()).unwrap_err();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), id), "{line}");
    }

    #[test]
    fn what_is_no_message_gets_the_code_for_it() {
        check("{", PARSE_ERROR, &Value::Null);
        check("\u{0}", PARSE_ERROR, &Value::Null);
        check("[]", INVALID_REQUEST, &Value::Null);
        check(r#"{"id":7,"jsonrpc":"2.0"}"#, INVALID_REQUEST, &json!(7));
        check(
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":3}"#,
            INVALID_PARAMS,
            &json!("a"),
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":3}}"#,
            INVALID_PARAMS,
            &json!(1),
        );
    }

    #[test]
    fn requests_are_read() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ] {
            assert!(read(line.as_bytes()).unwrap().is_some(), "{line}");
        }
    }

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

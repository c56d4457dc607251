//! A server that we start: its process group, its pipes, its end.
//!
//! Owns that nothing it starts is left behind, that its output is read as it
//! comes, and that no line of it grows without bound.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use process_wrap::tokio::ChildWrapper;
use process_wrap::tokio::CommandWrap;
use tokio::io::AsyncRead;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::codec::AnyDelimiterCodec;
use tokio_util::codec::AnyDelimiterCodecError;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;
use tokio_util::sync::DropGuard;

use super::desk::Desk;
use super::error::UpstreamError;
use super::guardian::Guardian;
use super::stderr::Tail;
use super::target::Program;

/// Bytes of one message; a longer one ends the server.
pub(super) const MAX_MESSAGE: usize = 64 << 20;

/// Messages that wait for a server that does not read.
const QUEUE: usize = 64;

/// How long a server has to end once its input is closed, and again once it
/// has been asked to.
const GRACE: Duration = Duration::from_millis(700);

/// How long output that is already in the pipe is waited for after the end.
const DRAIN: Duration = Duration::from_millis(200);

/// A running server. Dropped, it is killed with all it has started.
#[derive(Debug)]
pub(super) struct Child {
    input: mpsc::Sender<String>,
    tail: Tail,
    /// Tells the keeper, also when dropped, whatever the server does or does not.
    stop: CancellationToken,
    _stop: DropGuard,
    /// The keeper has done its work.
    ended: CancellationToken,
}

impl Child {
    /// Starts the program; its messages go to `desk`.
    pub(super) fn start(
        program: &Program,
        desk: &Arc<Desk>,
        guardian: Option<Arc<Guardian>>,
    ) -> Result<Self, UpstreamError> {
        let mut process = command(program).spawn().map_err(|source| failure(program, source))?;
        let group = process.id();
        if let (Some(guardian), Some(group)) = (&guardian, group) {
            guardian.watch(group);
        }
        let (input, messages) = mpsc::channel(QUEUE);
        let tail = Tail::default();
        if let Some(stderr) = process.stderr().take() {
            tokio::spawn(tail.clone().drain(stderr));
        }
        let writer = process.stdin().take().map(|stdin| tokio::spawn(write(stdin, messages)));
        let reader = process
            .stdout()
            .take()
            .map(|stdout| tokio::spawn(read(stdout, Arc::clone(desk), input.downgrade())));
        let stop = CancellationToken::new();
        let keeper = Keeper {
            process,
            group,
            guardian,
            desk: Arc::clone(desk),
            tail: tail.clone(),
            stop: stop.clone(),
        };
        let ended = CancellationToken::new();
        let is_ended = ended.clone().drop_guard();
        tokio::spawn(async move {
            keeper.run(writer, reader).await;
            drop(is_ended);
        });
        Ok(Self { input, tail, stop: stop.clone(), _stop: stop.drop_guard(), ended })
    }

    /// Queues a message; fails where the server no longer reads.
    pub(super) async fn send(&self, text: String) -> Result<(), UpstreamError> {
        self.input.send(text).await.map_err(|_| UpstreamError::Closed)
    }

    /// Queues a message if there is room.
    pub(super) fn send_soon(&self, text: String) {
        drop(self.input.try_send(text));
    }

    /// The end of its standard error.
    pub(super) fn last_words(&self) -> String {
        self.tail.shown()
    }

    /// Closes its input and waits until it and all it started have ended.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }
}

fn command(program: &Program) -> CommandWrap {
    let mut command = CommandWrap::with_new(&program.command, |command| {
        command
            .args(&program.args)
            .env_clear()
            .envs(program.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(cwd) = &program.cwd {
            command.current_dir(cwd);
        }
    });
    command.wrap(process_wrap::tokio::KillOnDrop);
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);
    command
}

fn failure(program: &Program, source: std::io::Error) -> UpstreamError {
    let command = program.command.clone();
    match source.kind() {
        std::io::ErrorKind::NotFound if program.cwd.as_ref().is_some_and(|cwd| !cwd.is_dir()) => {
            let folder = program.cwd.as_ref().map(|cwd| cwd.display().to_string());
            UpstreamError::NoFolder { folder: folder.unwrap_or_default() }
        }
        std::io::ErrorKind::NotFound => {
            let path = program.variable("PATH").unwrap_or_default().to_owned();
            UpstreamError::NotFound { command, path }
        }
        _ => UpstreamError::Start { command, source: Arc::new(source) },
    }
}

/// Writes line by line, so that no message is ever cut by one who stops waiting.
async fn write(mut stdin: ChildStdin, mut messages: mpsc::Receiver<String>) {
    while let Some(mut text) = messages.recv().await {
        text.push('\n');
        if stdin.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads line by line; `Err` when a line is longer than any message may be.
async fn read(
    stdout: impl AsyncRead + Unpin,
    desk: Arc<Desk>,
    input: mpsc::WeakSender<String>,
) -> Result<(), UpstreamError> {
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), MAX_MESSAGE);
    let mut lines = FramedRead::new(stdout, codec);
    while let Some(line) = lines.next().await {
        let line = match line {
            Ok(line) => line,
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                return Err(UpstreamError::TooLarge { limit: MAX_MESSAGE });
            }
            Err(AnyDelimiterCodecError::Io(error)) => {
                tracing::debug!(%error, "the output of a server cannot be read");
                return Ok(());
            }
        };
        let reply = desk.receive(String::from_utf8_lossy(&line).trim());
        if let (Some(reply), Some(input)) = (reply, input.upgrade()) {
            // A server that floods us with questions and reads no answer gets none.
            drop(input.try_send(reply));
        }
    }
    Ok(())
}

/// Waits for the end of a server, or brings it about.
struct Keeper {
    process: Box<dyn ChildWrapper>,
    group: Option<u32>,
    guardian: Option<Arc<Guardian>>,
    desk: Arc<Desk>,
    tail: Tail,
    stop: CancellationToken,
}

impl Keeper {
    async fn run(
        mut self,
        writer: Option<JoinHandle<()>>,
        reader: Option<JoinHandle<Result<(), UpstreamError>>>,
    ) {
        let (Some(mut writer), Some(mut reader)) = (writer, reader) else {
            return self.close(UpstreamError::Closed).await;
        };
        let (reading, writing) = (reader.abort_handle(), writer.abort_handle());
        let stop = self.stop.clone();
        let reason = tokio::select! {
            () = stop.cancelled() => {
                // That closes its input, also where a message is stuck in it.
                writing.abort();
                drop(writer.await);
                drop(tokio::time::timeout(GRACE, self.process.wait()).await);
                UpstreamError::Closed
            }
            _ = &mut writer => match tokio::time::timeout(GRACE, self.process.wait()).await {
                Ok(status) => self.ended(status.ok()),
                Err(_) => UpstreamError::ClosedInput { stderr: self.tail.shown() },
            },
            read = &mut reader => match read {
                Ok(Err(too_large)) => too_large,
                _ => {
                    let status = tokio::time::timeout(GRACE, self.process.wait()).await;
                    self.ended(status.ok().and_then(Result::ok))
                }
            },
            status = self.process.wait() => {
                drop(tokio::time::timeout(DRAIN, &mut reader).await);
                self.ended(status.ok())
            }
        };
        reading.abort();
        writing.abort();
        self.close(reason).await;
    }

    fn ended(&self, status: Option<std::process::ExitStatus>) -> UpstreamError {
        let status = status.map(|status| status.to_string()).unwrap_or_default();
        UpstreamError::Ended { status, stderr: self.tail.shown() }
    }

    async fn close(&mut self, reason: UpstreamError) {
        self.desk.close(&reason);
        #[cfg(unix)]
        if let Some(group) = self.group
            && super::guardian::ask_to_end(group)
        {
            drop(tokio::time::timeout(GRACE, super::guardian::gone(group)).await);
        }
        // What has not ended by now is killed, and what it left behind with it.
        drop(self.process.start_kill());
        drop(tokio::time::timeout(GRACE, self.process.wait()).await);
        if let (Some(guardian), Some(group)) = (&self.guardian, self.group) {
            guardian.forget(group);
        }
    }
}

//! The last words of a server: a bounded tail of its standard error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;

use crate::catalog::clean_text;

/// Bytes kept of what a server prints.
const KEPT: usize = 8 << 10;

/// Characters of it that a message shows.
const SHOWN: usize = 300;

/// What is kept; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads all there is, so that the server never blocks, and keeps the end.
    pub(super) async fn drain(self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(n_bytes @ 1..) = stderr.read(&mut buffer).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&buffer[..n_bytes]);
            let n_over = kept.len().saturating_sub(KEPT);
            kept.drain(..n_over);
        }
    }

    /// The end of it in one line.
    pub(super) fn shown(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = one_line(&bytes);
        let n_chars = text.chars().count();
        match n_chars > SHOWN {
            true => format!("… {}", text.chars().skip(n_chars - SHOWN).collect::<String>()),
            false => text,
        }
    }
}

/// The begin of what a server sent, in one clean line.
pub(super) fn shown(bytes: &[u8]) -> String {
    let text = one_line(&bytes[..bytes.len().min(KEPT)]);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

fn one_line(bytes: &[u8]) -> String {
    let text = clean_text(&String::from_utf8_lossy(bytes));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_is_drained_and_its_end_kept() {
        let flood = format!(
            "{}\nError: \u{1b}[31mcannot find\u{1b}[0m\nmodule\u{7}\n",
            "x".repeat(3 << 20)
        );
        let tail = Tail::default();
        tail.clone().drain(flood.as_bytes()).await;
        assert!(tail.0.lock().unwrap().len() <= KEPT);
        let shown = tail.shown();
        assert!(shown.starts_with("… ") && shown.ends_with("module"), "{shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains('\n'), "{shown}");
        assert!(shown.chars().count() <= SHOWN + 2);
    }

    #[test]
    fn the_begin_of_a_body_is_one_clean_line() {
        assert_eq!(shown(b"<h1>Bad\r\n  day</h1>\0"), "<h1>Bad day</h1>");
        assert_eq!(shown(&[0xFF, b'a']), "\u{FFFD}a");
        assert!(shown(&[b'y'; 5000]).ends_with(" …"));
    }
}

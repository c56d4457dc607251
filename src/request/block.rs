//! Blocks: the parts of a text that `<tool_assistant>` tags enclose.
//!
//! Owns where a block starts and ends, what wraps its fields, and which
//! reader its fields are for. Must not know the fields.

use std::iter::once;

use crate::request::draft::Draft;
use crate::request::json;
use crate::request::lines;
use crate::request::tags::Kind;
use crate::request::tags::Tag;
use crate::request::tags::tags;
use crate::request::xml;

/// The name of the tag, and the key that stands for it in JSON.
pub(crate) const BLOCK_NAME: &str = "tool_assistant";

/// Whether a block says itself where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By its closing tag.
    Closed,
    /// By the next opening tag or the end of the text; prose may follow.
    Open,
}

/// One block, without its tags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) body: &'a str,
    pub(crate) end: End,
}

/// The blocks of a text in order; `None` if it holds no tag of ours at all.
///
/// Tags that are inline code in prose, and stray closing tags, make no block.
pub(crate) fn blocks(text: &str) -> Option<Vec<Block<'_>>> {
    let mut found: Vec<Tag<'_>> =
        tags(text).filter(|tag| tag.name.eq_ignore_ascii_case(BLOCK_NAME)).collect();
    if found.is_empty() {
        return None;
    }
    found.retain(|tag| !is_inline_code(text, tag));
    let next_tags = found.iter().skip(1).map(Some).chain(once(None));
    let blocks =
        found.iter().zip(next_tags).filter_map(|(tag, next)| block_between(text, tag, next));
    Some(blocks.collect())
}

fn block_between<'a>(text: &'a str, tag: &Tag<'_>, next: Option<&Tag<'_>>) -> Option<Block<'a>> {
    let closes = next.is_some_and(|next| next.kind == Kind::Closing);
    match tag.kind {
        Kind::Closing => None,
        Kind::Empty => Some(Block { body: "", end: End::Closed }),
        Kind::Opening => Some(Block {
            body: &text[tag.end..next.map_or(text.len(), |next| next.start)],
            end: if closes { End::Closed } else { End::Open },
        }),
    }
}

fn is_inline_code(text: &str, tag: &Tag<'_>) -> bool {
    tag.kind != Kind::Closing
        && text[..tag.start].ends_with('`')
        && text[tag.end..].starts_with('`')
}

impl<'a> Block<'a> {
    /// A text whose fields stand without tags around them.
    pub(crate) fn open(body: &'a str) -> Self {
        let end = End::Open;
        Self { body, end }
    }

    /// What its fields say, by the first reader that finds any.
    pub(crate) fn drafts(&self) -> Vec<Draft> {
        let body = without_wrapping(self.body);
        let body = body.trim();
        let mut drafts = match body.chars().next() {
            Some('{' | '[') => json::drafts(body),
            Some('<') => xml::drafts(body),
            _ => Vec::new(),
        };
        if drafts.is_empty() {
            drafts = lines::drafts(body, self.end);
        }
        if drafts.is_empty() {
            drafts = xml::drafts(body);
        }
        drafts
    }
}

/// Whether a line opens or closes a code fence.
pub(crate) fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Drops comments and CDATA marks; fence lines become blank lines.
fn without_wrapping(body: &str) -> String {
    let body = without_comments(body).replace("<![CDATA[", "").replace("]]>", "");
    let lines = body.lines().map(|line| if is_fence(line) { "" } else { line });
    lines.collect::<Vec<&str>>().join("\n")
}

/// Drops `<!-- … -->`; of an unpaired half only the mark itself goes.
fn without_comments(body: &str) -> String {
    let mut kept = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, comment)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = comment;
        let Some((_, after)) = comment.split_once("-->") else {
            break; // nor does any later comment close: looking again would be quadratic
        };
        rest = after;
    }
    kept.push_str(rest);
    kept.replace("<!--", "").replace("-->", "")
}

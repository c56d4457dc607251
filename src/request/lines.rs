//! Reads fields that stand line by line: `server: GitHub`.
//!
//! Owns separators, bullets and marks around keys, values over several lines
//! and several fields on one line. Must not clean values.

use crate::request::block::End;
use crate::request::block::is_fence;
use crate::request::draft::Draft;
use crate::request::draft::Drafts;
use crate::request::draft::Key;

/// Aliases that may start a further field within a line, as both own names may.
const INLINE_ALIASES: [&str; 2] = ["platform", "task"];

/// What may part two fields on one line, white space aside.
const PARTERS: [char; 7] = [',', ';', '|', '，', '；', '｜', '、'];

/// What may trail a value before the next field on its line: `GitHub - tool: …`.
const DASHES: [char; 5] = ['-', '–', '—', '/', '·'];

/// What may stand directly around a key.
const MARKS: [char; 4] = ['*', '"', '\'', '`'];

/// What may stand before a key at the start of its line, marks and digits aside.
const BULLETS: [char; 14] = ['-', '+', '•', '·', '>', '_', '#', '|', '{', '[', '(', ',', '.', ')'];

/// A key with the text that follows it on its line.
struct LineField<'a> {
    key: Key,
    separator: char,
    rest: &'a str,
}

/// The requests that a block's lines hold.
///
/// Lines without a key continue the value above. In an open block, prose may
/// follow: there a blank line ends the block, unless `server:` or `tool:`
/// comes next.
pub(crate) fn drafts(body: &str, end: End) -> Vec<Draft> {
    let mut drafts = Drafts::default();
    let mut after_blank = false;
    for line in body.lines() {
        if is_blank(line) {
            after_blank = !drafts.is_empty();
            continue;
        }
        let field = field(line);
        let resumes = field.as_ref().is_some_and(|field| !field.key.is_alias);
        if after_blank && end == End::Open && !resumes {
            break;
        }
        after_blank = false;
        match field {
            Some(field) => read(&mut drafts, &field),
            None => drafts.append(continuation(line)),
        }
    }
    drafts.into_list()
}

/// Whether the first line that is not blank or a fence is `server:` or `tool:`.
pub(crate) fn start_with_field(text: &str) -> bool {
    text.lines()
        .find(|line| !is_blank(line) && !is_fence(line))
        .and_then(field)
        .is_some_and(|field| !field.key.is_alias)
}

fn is_blank(line: &str) -> bool {
    line.chars().all(|c| c.is_whitespace() || c == '>')
}

/// Splits `- **Server**: GitHub` at its first separator, if a key comes before.
fn field(line: &str) -> Option<LineField<'_>> {
    let separator = line.chars().find(|&c| is_separator(c))?;
    let (head, rest) = line.split_once(separator)?;
    let name = head.trim_start_matches(may_lead).trim_end_matches(is_mark);
    Some(LineField { key: Key::named(name)?, separator, rest })
}

/// Opens the field of a line, and the fields that follow it on the same line.
fn read(drafts: &mut Drafts, field: &LineField<'_>) {
    drafts.open(field.key);
    let mut rest = field.rest;
    while let Some((before, next)) = inline_field(rest, field.separator, drafts) {
        drafts.append(before);
        drafts.open(next.key);
        rest = next.rest;
    }
    drafts.append(rest);
}

/// The next field within a value, with the value's text before it.
///
/// Only a role that the current draft lacks is looked for, and only with the
/// kind of separator the line has: `tool: query where server=x` is a tool.
fn inline_field<'a>(
    value: &'a str,
    line_separator: char,
    drafts: &Drafts,
) -> Option<(&'a str, LineField<'a>)> {
    let separators = value
        .char_indices()
        .filter(|&(_, c)| is_separator(c) && is_equals(c) == is_equals(line_separator));
    for (position, separator) in separators {
        let Some((before, key)) = key_at_end(&value[..position]) else {
            continue;
        };
        if !drafts.has(key.role) {
            let field =
                LineField { key, separator, rest: &value[position + separator.len_utf8()..] };
            return Some((before, field));
        }
    }
    None
}

/// The key that a text ends with, with the text before it.
fn key_at_end(text: &str) -> Option<(&str, Key)> {
    let text = text.trim_end_matches(is_mark);
    let before = text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    let name = &text[before.len()..];
    let key = Key::named(name)?;
    let before = before.trim_end_matches(MARKS);
    let stands_apart = before.is_empty() || before.ends_with(is_parter);
    let is_inline = !key.is_alias || INLINE_ALIASES.iter().any(|a| a.eq_ignore_ascii_case(name));
    (stands_apart && is_inline).then(|| {
        let before = before.trim_end_matches(|c| is_parter(c) || DASHES.contains(&c));
        (before, key)
    })
}

/// What a line without a key adds to the value above it.
fn continuation(line: &str) -> &str {
    let line = line.trim();
    let is_json_frame = line.chars().all(|c| "{}[], ".contains(c));
    if is_json_frame {
        return "";
    }
    let item = line.trim_start_matches(['-', '*', '+', '•', '>']);
    if item.starts_with(char::is_whitespace) { item } else { line }
}

fn is_separator(c: char) -> bool {
    is_equals(c) || matches!(c, ':' | '：')
}

fn is_equals(c: char) -> bool {
    matches!(c, '=' | '＝')
}

fn is_mark(c: char) -> bool {
    c.is_whitespace() || MARKS.contains(&c)
}

fn is_parter(c: char) -> bool {
    c.is_whitespace() || PARTERS.contains(&c)
}

fn may_lead(c: char) -> bool {
    is_mark(c) || c.is_ascii_digit() || BULLETS.contains(&c)
}

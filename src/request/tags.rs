//! Tags: where `<name …>`, `</name>` and `<name/>` stand in a text.
//!
//! Owns what counts as a tag. Must not know which names mean something.

/// A tag of more bytes than this is text.
const MAX_TAG_BYTES: usize = 256;

/// What a tag does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `<name>`, with or without attributes.
    Opening,
    /// `</name>`.
    Closing,
    /// `<name/>`, both at once.
    Empty,
}

/// One tag; `start..end` are its bytes, from `<` up to and with `>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Every tag of a text, in order.
///
/// Linear: each `<` is read up to the next `<` or `>` and no further.
pub(crate) fn tags(text: &str) -> impl Iterator<Item = Tag<'_>> {
    text.match_indices('<').filter_map(|(start, _)| tag_at(text, start))
}

fn tag_at(text: &str, start: usize) -> Option<Tag<'_>> {
    let rest = &text[start + 1..];
    let length = rest.find(['<', '>'])?;
    let (inside, after) = rest.split_at(length);
    if !after.starts_with('>') || length > MAX_TAG_BYTES {
        return None;
    }
    let (kind, inside) = kind_of(inside.trim());
    Some(Tag { name: inside.split_whitespace().next()?, kind, start, end: start + 1 + length + 1 })
}

fn kind_of(inside: &str) -> (Kind, &str) {
    if let Some(inside) = inside.strip_prefix('/') {
        (Kind::Closing, inside)
    } else if let Some(inside) = inside.strip_suffix('/') {
        (Kind::Empty, inside)
    } else {
        (Kind::Opening, inside)
    }
}

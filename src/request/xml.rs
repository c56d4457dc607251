//! Reads fields that stand in XML elements: `<server>GitHub</server>`.
//!
//! Owns which elements count and how far their text reaches.

use crate::request::draft::Draft;
use crate::request::draft::Drafts;
use crate::request::draft::Key;
use crate::request::tags::Kind;
use crate::request::tags::tags;

/// The requests in the elements of a block.
///
/// An element named like a field reaches up to the next tag named like one;
/// all other tags are part of the text.
pub(crate) fn drafts(body: &str) -> Vec<Draft> {
    let mut drafts = Drafts::default();
    let mut open_from = None;
    for tag in tags(body) {
        let Some(key) = Key::named(tag.name) else {
            continue;
        };
        if let Some(start) = open_from.take() {
            drafts.append(&body[start..tag.start]);
        }
        if tag.kind == Kind::Opening {
            drafts.open(key);
            open_from = Some(tag.end);
        }
    }
    if let Some(start) = open_from {
        drafts.append(&body[start..]);
    }
    drafts.into_list()
}

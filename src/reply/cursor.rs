//! Where a cut reply goes on: opaque, bound to index generation and request.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::ReplyError;

/// Position in the list of all matches of a request text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Generation of the index the list was made from.
    pub generation: u64,
    /// First bytes of the sha256 of everything that decides the list.
    pub request: [u8; 8],
    /// Matches already delivered.
    pub offset: u32,
}

impl Cursor {
    /// The start of the list that `decided` (the request and its options) decides.
    #[must_use]
    pub fn start(generation: u64, decided: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(decided).into();
        let request = digest.first_chunk().copied().unwrap_or_default();
        Self { generation, request, offset: 0 }
    }

    /// Where to go on: at `text`'s position if it fits `self`, at the start
    /// for no cursor or the empty one.
    ///
    /// # Errors
    /// Refuses text that is no cursor of this request, or of an older index.
    pub fn resume(self, text: Option<&str>) -> Result<Self, ReplyError> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(self);
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| ReplyError::BadCursor)?;
        let bytes: [u8; 20] = bytes.try_into().map_err(|_| ReplyError::BadCursor)?;
        let cursor = Self::from_bytes(bytes);
        if cursor.generation != self.generation {
            return Err(ReplyError::StaleCursor {
                cursor: cursor.generation,
                live: self.generation,
            });
        }
        if cursor.request != self.request {
            return Err(ReplyError::BadCursor);
        }
        Ok(cursor)
    }

    /// The opaque text, 27 characters.
    #[must_use]
    pub fn encode(self) -> String {
        let mut bytes = [0_u8; 20];
        bytes[..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.request);
        bytes[16..].copy_from_slice(&self.offset.to_le_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn from_bytes(bytes: [u8; 20]) -> Self {
        let [generation @ .., _, _, _, _, _, _, _, _, _, _, _, _] = bytes;
        let [_, _, _, _, _, _, _, _, request @ .., _, _, _, _] = bytes;
        let [.., a, b, c, d] = bytes;
        Self {
            generation: u64::from_le_bytes(generation),
            request,
            offset: u32::from_le_bytes([a, b, c, d]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Cursor = Cursor { generation: 7, request: *b"abcdefgh", offset: 0 };

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let cursor = Cursor { offset: 42, ..START };
        assert_eq!(START.resume(Some(&cursor.encode())).unwrap(), cursor);
    }

    #[test]
    fn none_and_empty_are_the_start() {
        assert_eq!(START.resume(None).unwrap(), START);
        assert_eq!(START.resume(Some("")).unwrap(), START);
    }

    #[test]
    fn foreign_cursors_are_refused_by_kind() {
        let other_request = Cursor { request: *b"zzzzzzzz", ..START }.encode();
        let other_index = Cursor { generation: 6, ..START }.encode();
        for text in ["x", "!!", "AAAA", other_request.as_str()] {
            assert!(matches!(START.resume(Some(text)), Err(ReplyError::BadCursor)), "{text}");
        }
        assert!(matches!(
            START.resume(Some(&other_index)),
            Err(ReplyError::StaleCursor { cursor: 6, live: 7 })
        ));
    }
}

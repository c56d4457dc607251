//! Bytes to text: UTF-8 or UTF-16, whatever an editor or a shell wrote.
//!
//! Owns the question which encoding a file is in. Knows nothing of JSON but
//! that it starts with an ASCII character, which betrays unmarked UTF-16.

use std::borrow::Cow;
use std::fmt;

/// Why the bytes of a file are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The file has no UTF-16 mark and is not UTF-8 either.
    #[error("byte {offset} is not valid UTF-8; save the file as UTF-8")]
    Utf8 {
        /// Of the first bad byte, from the start of the file.
        offset: usize,
    },
    /// Every other byte at the start is zero, but no mark says so.
    #[error("it looks like {encoding} without a byte order mark; save it as UTF-8")]
    Unmarked {
        /// What the zero bytes suggest.
        encoding: Utf16,
    },
    /// A mark says UTF-16, and what follows breaks its rules.
    #[error("byte {offset} is not valid {encoding}, which the byte order mark announces")]
    Utf16 {
        /// What the mark says.
        encoding: Utf16,
        /// Of the first bad code unit, from the start of the file.
        offset: usize,
    },
}

/// The two byte orders of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf16 {
    /// Low byte first, as Windows writes it.
    LittleEndian,
    /// High byte first.
    BigEndian,
}

impl fmt::Display for Utf16 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LittleEndian => "UTF-16LE",
            Self::BigEndian => "UTF-16BE",
        })
    }
}

/// The text of a file, without its byte order mark.
///
/// # Errors
/// When the bytes are neither UTF-8 nor marked UTF-16.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, EncodingError> {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest, 3),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, Utf16::LittleEndian).map(Cow::Owned),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, Utf16::BigEndian).map(Cow::Owned),
        [first, 0, ..] if *first != 0 => {
            Err(EncodingError::Unmarked { encoding: Utf16::LittleEndian })
        }
        [0, second, ..] if *second != 0 => {
            Err(EncodingError::Unmarked { encoding: Utf16::BigEndian })
        }
        _ => utf8(bytes, 0),
    }
}

fn utf8(bytes: &[u8], mark_bytes: usize) -> Result<Cow<'_, str>, EncodingError> {
    std::str::from_utf8(bytes)
        .map(Cow::Borrowed)
        .map_err(|error| EncodingError::Utf8 { offset: mark_bytes + error.valid_up_to() })
}

fn utf16(bytes: &[u8], encoding: Utf16) -> Result<String, EncodingError> {
    let bad = |offset| EncodingError::Utf16 { encoding, offset: 2 + offset };
    let (pairs, odd_byte) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| match encoding {
        Utf16::LittleEndian => u16::from_le_bytes(*pair),
        Utf16::BigEndian => u16::from_be_bytes(*pair),
    });
    let mut text = String::with_capacity(bytes.len() / 2);
    let mut offset = 0;
    for decoded in char::decode_utf16(units) {
        let character = decoded.map_err(|_unpaired| bad(offset))?;
        offset += 2 * character.len_utf16();
        text.push(character);
    }
    if odd_byte.is_empty() { Ok(text) } else { Err(bad(offset)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sources::shared;

    fn utf16_bytes(text: &str, encoding: Utf16) -> Vec<u8> {
        let to_bytes = |unit: u16| match encoding {
            Utf16::LittleEndian => unit.to_le_bytes(),
            Utf16::BigEndian => unit.to_be_bytes(),
        };
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(to_bytes).collect()
    }

    proptest! {
        #[test]
        fn every_encoding_gives_the_same_text(text in "[^\u{0}\u{FEFF}]{0,40}") {
            let marked = format!("\u{FEFF}{text}");
            prop_assert_eq!(decode(marked.as_bytes()).unwrap(), text.as_str());
            prop_assert_eq!(decode(text.as_bytes()).unwrap(), text.as_str());
            for encoding in [Utf16::LittleEndian, Utf16::BigEndian] {
                let bytes = utf16_bytes(&text, encoding);
                prop_assert_eq!(decode(&bytes).unwrap(), text.as_str());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _either = decode(&bytes);
        }
    }

    #[test]
    fn a_bad_byte_is_named_by_its_place_in_the_file() {
        assert_eq!(decode(b"ab\xFFc"), Err(EncodingError::Utf8 { offset: 2 }));
        assert_eq!(decode(b"\xEF\xBB\xBFab\xFFc"), Err(EncodingError::Utf8 { offset: 5 }));
    }

    #[test]
    fn utf16_without_a_mark_is_named() {
        let little = &utf16_bytes("{}", Utf16::LittleEndian)[2..];
        let big = &utf16_bytes("{}", Utf16::BigEndian)[2..];
        assert_eq!(decode(little), Err(EncodingError::Unmarked { encoding: Utf16::LittleEndian }));
        assert_eq!(decode(big), Err(EncodingError::Unmarked { encoding: Utf16::BigEndian }));
        let message = decode(little).unwrap_err().to_string();
        assert!(message.contains("UTF-16LE without a byte order mark"), "{message}");
    }

    #[test]
    fn broken_utf16_is_named_by_its_place_in_the_file() {
        let encoding = Utf16::LittleEndian;
        let mut half_unit = utf16_bytes("{}", encoding);
        half_unit.push(0x7D);
        assert_eq!(decode(&half_unit), Err(EncodingError::Utf16 { encoding, offset: 6 }));
        let unpaired = [0xFF, 0xFE, b'{', 0, 0x00, 0xD8, b'}', 0];
        assert_eq!(decode(&unpaired), Err(EncodingError::Utf16 { encoding, offset: 4 }));
    }

    #[test]
    fn what_windows_tools_write_is_read() {
        for name in ["c02-bom.json", "c02-utf16.json"] {
            let Some(path) = shared(&format!("field-cases/files/{name}")) else {
                return;
            };
            let bytes = fs_err::read(path).unwrap();
            let text = decode(&bytes).unwrap();
            assert!(text.starts_with(r#"{"mcpServers":{"gamma""#), "{name}: {text}");
        }
    }
}

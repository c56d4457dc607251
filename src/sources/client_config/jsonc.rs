//! JSON as people write it in settings: comments, trailing commas, no braces.
//!
//! Owns turning it into JSON of the same length, so that a line and a column
//! in an error still are those of the file.

/// Blanks comments and the commas that end a list, an object or the text.
pub(crate) fn to_json(text: &str) -> String {
    let mut blank = Blanks { bytes: text.as_bytes().to_vec(), at: 0, comma: None };
    while blank.at < blank.bytes.len() {
        blank.step();
    }
    blank.drop_comma();
    // Only ASCII was replaced, by ASCII, and comments as a whole.
    String::from_utf8(blank.bytes).unwrap_or_else(|_| text.to_owned())
}

/// `"mcpServers": {…}` as it stands in a README, with braces around it.
pub(crate) fn enclose(json: &str) -> Option<String> {
    let inside = json.trim();
    inside.starts_with('"').then(|| format!("{{{json}}}"))
}

struct Blanks {
    bytes: Vec<u8>,
    at: usize,
    /// Where the last comma stands, while nothing but space followed it.
    comma: Option<usize>,
}

impl Blanks {
    fn step(&mut self) {
        let rest = &self.bytes[self.at..];
        match rest {
            [b'/', b'/', ..] => {
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                self.blank(length);
            }
            [b'/', b'*', after @ ..] => {
                let end = after.windows(2).position(|pair| pair == b"*/");
                self.blank(end.map_or(rest.len(), |end| end + 4));
            }
            [b'"', ..] => {
                self.comma = None;
                self.at += string_length(rest);
            }
            [b',', ..] => {
                self.comma = Some(self.at);
                self.at += 1;
            }
            [byte, ..] => {
                let byte = *byte;
                if matches!(byte, b'}' | b']') {
                    self.drop_comma();
                }
                if !byte.is_ascii_whitespace() {
                    self.comma = None;
                }
                self.at += 1;
            }
            [] => {}
        }
    }

    fn drop_comma(&mut self) {
        if let Some(comma) = self.comma.take() {
            self.bytes[comma] = b' ';
        }
    }

    fn blank(&mut self, length: usize) {
        for byte in &mut self.bytes[self.at..self.at + length] {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        self.at += length;
    }
}

/// Bytes of a string with its quotes, or all there is if it is not closed.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_last_commas_go_and_strings_stay() {
        let text = "// a\n{ /* b\n c */ \"a\": \"x//y /* z */ \\\" ,}\", // ü\n \"b\": [1, 2, /* , */ ], }\n";
        let json = to_json(text);
        assert_eq!(json.len(), text.len());
        assert_eq!(json.lines().count(), text.lines().count());
        let value: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value, json!({"a": "x//y /* z */ \" ,}", "b": [1, 2]}));
    }

    #[test]
    fn two_commas_are_still_an_error() {
        for text in ["[1,,2]", "[1,,]", "{,}"] {
            assert!(text == "{,}" || serde_json::from_str::<Value>(&to_json(text)).is_err());
        }
    }

    #[test]
    fn a_fragment_gets_its_braces() {
        let json = to_json("\"servers\": {\"a\": {}},\n// end\n");
        let value: Value = serde_json::from_str(&enclose(&json).unwrap()).unwrap();
        assert_eq!(value, json!({"servers": {"a": {}}}));
        assert_eq!(enclose("[1]"), None);
    }

    proptest! {
        #[test]
        fn json_means_what_it_meant(text in "[a/*,\" ]{0,20}", key: String) {
            let json = json!({key: [text.clone(), {"x": text}]}).to_string();
            prop_assert_eq!(to_json(&json), json);
        }

        #[test]
        fn any_text_can_be_read(text: String, marks in "[/*\",\\\\\n\u{fc}\\]}]{0,20}") {
            prop_assert_eq!(to_json(&text).len(), text.len());
            prop_assert_eq!(to_json(&marks).len(), marks.len());
        }
    }
}

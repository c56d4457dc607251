//! What servers wrote on its way to a client, byte for byte: results, and the
//! data of errors.
//!
//! The types of the MCP library would drop what they do not know and round long
//! numbers. So the library gets a placeholder, and the transport puts what the
//! server wrote in its place. Owns what waits for that.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use rmcp::model::CallToolResult;
use rmcp::model::JsonObject;
use rmcp::model::MetaObject;
use serde_json::Value;
use uuid::Uuid;

/// A placeholder is this, its place in `_meta`, as the library writes it; what
/// stands between and after cannot be guessed by who wrote the rest.
const BEFORE: &str = r#""_meta":{"toolscout/raw/"#;

/// What was sent stays for a client that resumes its stream, so long and so much of it.
const KEPT: Duration = Duration::from_secs(60);
const KEPT_BYTES: usize = 64 << 20;

/// Nothing waits longer to be sent.
const LONGEST: Duration = Duration::from_secs(600);

/// In place of a result that is no longer here.
const LOST: &str = r#"{"content":[{"type":"text","text":"the result is no longer here; call the tool again"}],"isError":true}"#;

/// Texts that wait to be sent.
pub(super) struct Shelf {
    /// The key of our placeholders in `_meta`, another in each process.
    mark: String,
    waiting: Mutex<HashMap<String, Waiting>>,
}

struct Waiting {
    text: Arc<str>,
    since: Instant,
    is_sent: bool,
}

impl Default for Shelf {
    fn default() -> Self {
        let mark = format!("toolscout/raw/{}", Uuid::new_v4().simple());
        Self { mark, waiting: Mutex::default() }
    }
}

impl Shelf {
    /// Keeps a result, and gives the placeholder for it.
    pub(super) fn keep(&self, result: &str) -> CallToolResult {
        let mut placeholder = CallToolResult::default();
        placeholder.meta = Some(MetaObject(self.keep_text(result)));
        placeholder
    }

    /// Keeps the data of an error, and gives the placeholder for it.
    pub(super) fn keep_data(&self, data: &str) -> Value {
        Value::from_iter([("_meta", Value::Object(self.keep_text(data)))])
    }

    fn keep_text(&self, text: &str) -> JsonObject {
        let key = Uuid::new_v4().simple().to_string();
        let waiting = Waiting { text: text.into(), since: Instant::now(), is_sent: false };
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        tidy(&mut all);
        all.insert(key.clone(), waiting);
        JsonObject::from_iter([(self.mark.clone(), Value::String(key))])
    }

    /// A message with texts in place of placeholders; `None` if it has none.
    pub(super) fn filled(&self, message: &str) -> Option<String> {
        // Of foreign texts none has our mark; `_meta` of others may come before it.
        let found = message.match_indices(BEFORE).find_map(|(at, _)| {
            let rest = message[at..].strip_prefix(r#""_meta":{""#)?;
            Some((&message[..at], rest.strip_prefix(&*self.mark)?.strip_prefix(r#"":""#)?))
        });
        let (head, rest) = found?;
        let (key, rest) = rest.split_once('"')?;
        // The placeholder is all there is in its object, which ends after `_meta`.
        let (head, rest) = (head.get(..head.rfind('{')?)?, rest.strip_prefix("}}")?);
        let mut all = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match all.get_mut(key) {
            Some(waiting) => {
                waiting.is_sent = true;
                Arc::clone(&waiting.text)
            }
            None => LOST.into(),
        };
        drop(all);
        Some([head, &text, rest].concat())
    }
}

/// Removes what nobody will ask for.
fn tidy(all: &mut HashMap<String, Waiting>) {
    let sent = all.values().filter(|waiting| waiting.is_sent);
    let is_much = sent.map(|waiting| waiting.text.len()).sum::<usize>() > KEPT_BYTES;
    all.retain(|_, waiting| {
        let age = waiting.since.elapsed();
        age < if waiting.is_sent { KEPT } else { LONGEST } && !(waiting.is_sent && is_much)
    });
}

#[cfg(test)]
mod tests {
    use rmcp::ErrorData;
    use rmcp::model::ErrorCode;
    use rmcp::model::RequestId;
    use rmcp::model::ServerJsonRpcMessage;
    use rmcp::model::ServerResult;

    use super::*;

    fn sent(placeholder: CallToolResult) -> String {
        let result = ServerResult::CallToolResult(placeholder);
        let message = ServerJsonRpcMessage::response(result, RequestId::Number(7));
        serde_json::to_string(&message).unwrap()
    }

    #[test]
    fn a_result_stands_where_its_placeholder_was_byte_for_byte() {
        let shelf = Shelf::default();
        let result = r#"{"content":[{"type":"new","n":1.0}],"big":123456789012345678901234567890}"#;
        let mut placeholder = shelf.keep(result);
        let expected = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
        assert_eq!(shelf.filled(&sent(placeholder.clone())).unwrap(), expected);
        // As the library leaves it for a client of an older era, and again for one that resumes.
        placeholder.result_type = None;
        assert_eq!(shelf.filled(&sent(placeholder)).unwrap(), expected);
    }

    #[test]
    fn the_data_of_an_error_is_its_own_and_foreign_placeholders_stay() {
        let shelf = Shelf::default();
        let data = r#"{"n":1.0,"_meta":{"toolscout/raw/0":"x"},"big":12345678901234567890123}"#;
        let error = ErrorData::new(ErrorCode(-5), "no", Some(shelf.keep_data(data)));
        let message = ServerJsonRpcMessage::error(error, Some(RequestId::Number(7)));
        let text = serde_json::to_string(&message).unwrap();
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-5,"message":"no","data":{data}}}}}"#
        );
        assert_eq!(shelf.filled(&text).unwrap(), expected);
        assert_eq!(shelf.filled(&expected), None);
        let foreign = sent(Shelf::default().keep("{}"));
        assert_eq!(shelf.filled(&foreign), None);
    }

    #[test]
    fn other_messages_stay_and_a_lost_result_is_an_error() {
        let shelf = Shelf::default();
        assert_eq!(shelf.filled(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), None);
        let text = sent(shelf.keep("{}"));
        shelf.waiting.lock().unwrap().clear();
        assert!(shelf.filled(&text).unwrap().contains("call the tool again"));
    }
}

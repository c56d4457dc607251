//! Results of servers on their way to a client, byte for byte.
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

/// The key of a placeholder in `_meta`; what follows cannot be guessed.
const KEY: &str = "toolscout/raw";

/// What stands before that value, as the library writes it.
const BEFORE: &str = r#""_meta":{"toolscout/raw":""#;

/// What was sent stays for a client that resumes its stream, so long and so much of it.
const KEPT: Duration = Duration::from_secs(60);
const KEPT_BYTES: usize = 64 << 20;

/// Nothing waits longer to be sent.
const LONGEST: Duration = Duration::from_secs(600);

/// In place of a result that is no longer here.
const LOST: &str = r#"{"content":[{"type":"text","text":"the result is no longer here; call the tool again"}],"isError":true}"#;

/// Results that wait to be sent.
#[derive(Default)]
pub(super) struct Shelf(Mutex<HashMap<String, Waiting>>);

struct Waiting {
    result: Arc<str>,
    since: Instant,
    is_sent: bool,
}

impl Shelf {
    /// Keeps a result, and gives the placeholder for it.
    pub(super) fn keep(&self, result: &str) -> CallToolResult {
        let key = Uuid::new_v4().simple().to_string();
        let waiting = Waiting { result: result.into(), since: Instant::now(), is_sent: false };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tidy(&mut all);
        all.insert(key.clone(), waiting);
        let mut placeholder = CallToolResult::default();
        let meta = JsonObject::from_iter([(KEY.to_owned(), Value::String(key))]);
        placeholder.meta = Some(MetaObject(meta));
        placeholder
    }

    /// A message with results in place of placeholders; `None` if it has none.
    pub(super) fn filled(&self, message: &str) -> Option<String> {
        let at = message.find(BEFORE)?;
        let (head, rest) = message.split_at(at);
        let (key, rest) = rest[BEFORE.len()..].split_once('"')?;
        // The placeholder is all there is in its object, which ends after `_meta`.
        let (head, rest) = (head.get(..head.rfind('{')?)?, rest.strip_prefix("}}")?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match all.get_mut(key) {
            Some(waiting) => {
                waiting.is_sent = true;
                Arc::clone(&waiting.result)
            }
            None => LOST.into(),
        };
        drop(all);
        Some([head, &result, rest].concat())
    }
}

/// Removes what nobody will ask for.
fn tidy(all: &mut HashMap<String, Waiting>) {
    let sent = all.values().filter(|waiting| waiting.is_sent);
    let is_much = sent.map(|waiting| waiting.result.len()).sum::<usize>() > KEPT_BYTES;
    all.retain(|_, waiting| {
        let age = waiting.since.elapsed();
        age < if waiting.is_sent { KEPT } else { LONGEST } && !(waiting.is_sent && is_much)
    });
}

#[cfg(test)]
mod tests {
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
    fn other_messages_stay_and_a_lost_result_is_an_error() {
        let shelf = Shelf::default();
        assert_eq!(shelf.filled(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), None);
        let text = sent(Shelf::default().keep("{}"));
        assert!(shelf.filled(&text).unwrap().contains("call the tool again"));
    }
}

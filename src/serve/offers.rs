//! Discovered tools as tools of their own, for older clients (`--dynamic-tools`).
//!
//! Owns the list of one session: it grows with each discovery, and the oldest
//! go first. Only a session of an era with `initialize` has one; later eras
//! forbid lists that change as a side effect.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::PoisonError;

use rmcp::model::Tool;
use serde_json::json;

use crate::reply::Match;

/// Tools that a session shows at most.
const MAX: usize = 40;

/// The tools that were found in a session.
#[derive(Debug, Default)]
pub(super) struct Offers(Mutex<VecDeque<Tool>>);

impl Offers {
    /// Adds what was found; whether the list is another now.
    pub(super) fn add(&self, matches: &[Match]) -> bool {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has_changed = false;
        for tool in matches.iter().filter_map(tool) {
            let known = tools.iter().position(|known| known.name == tool.name);
            match known.and_then(|place| tools.remove(place)) {
                Some(same) if same == tool => {}
                _ => has_changed = true,
            }
            tools.push_back(tool);
        }
        while tools.len() > MAX {
            tools.pop_front();
            has_changed = true;
        }
        has_changed
    }

    /// By name, so that the same tools are the same list.
    pub(super) fn list(&self) -> Vec<Tool> {
        let mut tools: Vec<Tool> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools
    }
}

/// Without an output schema: results are passed on, not checked.
fn tool(found: &Match) -> Option<Tool> {
    let schema = found.input_schema.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok());
    let schema: serde_json::Value = schema.unwrap_or_else(|| json!({"type": "object"}));
    // A client would refuse the whole list over one odd schema.
    let is_plain = schema.get("type").is_some_and(|kind| kind == "object");
    let schema = if is_plain { schema } else { json!({"type": "object"}) };
    let annotations = found.annotations.as_ref();
    let annotations: Option<serde_json::Value> =
        annotations.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let mut entry = json!({
        "name": found.name,
        "description": found.description.as_deref().unwrap_or_default(),
        "inputSchema": schema,
    });
    if let Some(annotations) = annotations.filter(serde_json::Value::is_object) {
        entry["annotations"] = annotations;
    }
    serde_json::from_value(entry).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, schema: &str) -> Match {
        let raw = |text: &str| serde_json::from_str(text).ok();
        Match {
            request: 0,
            rank: 1,
            name: name.to_owned(),
            server: "s".to_owned(),
            tool: "t".to_owned(),
            score: 0.5,
            dense_score: 0.5,
            server_score: None,
            tool_score: 0.5,
            description: Some("Does it.".to_owned()),
            input_schema: raw(schema),
            annotations: None,
            shortened: false,
        }
    }

    #[test]
    fn the_list_grows_stays_and_forgets_the_oldest() {
        let offers = Offers::default();
        assert!(offers.add(&[found("b", r#"{"type":"object"}"#), found("a", "true")]));
        let names: Vec<String> = offers.list().iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(!offers.add(&[found("b", r#"{"type":"object"}"#)]));
        assert!(offers.add(&[found("b", r#"{"type":"object","required":["x"]}"#)]));
        for n in 0..MAX {
            offers.add(&[found(&format!("n{n}"), "{}")]);
        }
        assert_eq!(offers.list().len(), MAX);
        assert!(offers.list().iter().all(|tool| tool.name.starts_with('n')));
    }
}

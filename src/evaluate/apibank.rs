//! API-Bank's `level-1-api.json` → a catalogue of 48 tools and its cases.
//!
//! A row is single-turn if no API was called before in its dialogue, else
//! multi-turn. With the five rows for `Dictionary` left out this gives the 208
//! and 186 cases and the 48 tools of MCP-Zero, whose own split is unpublished.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json, value};

use super::EvalError;
use super::cases::{Case, Name};
use crate::catalog::Server;
use crate::catalog::Tool;

/// Left out by MCP-Zero.
const LEFT_OUT: &str = "Dictionary";

/// The scenarios of `api-bank/data/all_apis.csv` in English; they are the servers.
#[rustfmt::skip]
const SCENARIOS: &[(&str, &[&str])] = &[
    ("Account Management", &[
        "DeleteAccount", "ForgotPassword", "GetUserToken", "ModifyPassword", "RegisterUser",
    ]),
    ("Entertainment", &["PlayMusic"]),
    ("Financial Management", &["OpenBankAccount", "QueryBalance", "QueryStock"]),
    ("Health Management", &[
        "AppointmentRegistration", "CancelRegistration", "EmergencyKnowledge",
        "ModifyRegistration", "QueryHealthData", "QueryRegistration", "RecordHealthData",
        "SymptomSearch",
    ]),
    ("Information Query and Processing", &[
        "Calculator", "DocumentQA", "ImageCaption", "QueryHistoryToday", "SearchEngine",
        "SendEmail", "SpeechRecognition", "Translate", "Wiki",
    ]),
    ("Schedule Arrangement and Management", &[
        "AddAgenda", "AddAlarm", "AddMeeting", "AddReminder", "DeleteAgenda", "DeleteAlarm",
        "DeleteMeeting", "DeleteReminder", "GetToday", "ModifyAgenda", "ModifyAlarm",
        "ModifyMeeting", "ModifyReminder", "QueryAgenda", "QueryAlarm", "QueryMeeting",
        "QueryReminder",
    ]),
    ("Smart Home Control", &["CancelTimedSwitch", "DeleteScene", "QueryScene", "TimedSwitch"]),
    ("Travel", &["BookHotel"]),
];

/// What precedes the definitions, one a line, in a row's instruction.
const DEFINITIONS: &str = "API descriptions:\n";

/// What a dialogue shows of a call.
const CALL: &str = "API-Request:";

/// What ends every dialogue.
const PROMPT: &str = "Generate API Request:";

/// Which half of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Turns {
    /// No call before this one.
    Single,
    /// At least one.
    Multi,
}

#[derive(Deserialize)]
struct Row {
    instruction: String,
    input: String,
    expected_output: String,
}

#[derive(Deserialize)]
struct Definition {
    name: String,
    description: String,
    input_parameters: Map<String, Value>,
}

/// The tools of all rows, by scenario; parameters in the order of the source.
///
/// # Errors
/// Fails when the file is not the one that was published.
pub(super) fn catalog(path: &Path, text: &str) -> Result<Vec<Server>, EvalError> {
    let mut tools: HashMap<String, Tool> = HashMap::new();
    for row in rows(path, text)? {
        for definition in definitions(path, &row)? {
            if !tools.contains_key(&definition.name) {
                tools.insert(definition.name.clone(), tool(path, definition)?);
            }
        }
    }
    let mut server = |(name, names): &(&str, &[&str])| {
        let missing = |name: &&str| odd(path, format!("it defines no `{name}`"));
        let tools = names.iter().map(|name| tools.remove(*name).ok_or_else(|| missing(name)));
        let (name, description) = ((*name).to_owned(), (*name).to_owned());
        Ok(Server {
            name,
            description,
            tools: tools.collect::<Result<_, _>>()?,
            ..Server::default()
        })
    };
    SCENARIOS.iter().map(&mut server).collect()
}

/// What the user said in each row, the call that was right, and the tools
/// that its own prompt shows.
///
/// # Errors
/// Fails when the file is not the one that was published.
pub(super) fn cases(path: &Path, text: &str, turns: Turns) -> Result<Vec<Case>, EvalError> {
    let mut cases = Vec::new();
    for (n, row) in rows(path, text)?.into_iter().enumerate() {
        let called = row.expected_output.split_once('[').and_then(|(_, call)| call.split_once('('));
        let (gold, _) = called.ok_or_else(|| odd(path, format!("row {n} calls nothing")))?;
        let query = row.input.trim().trim_end_matches(PROMPT).trim();
        let is_multi = query.contains(CALL);
        if gold == LEFT_OUT || is_multi != (turns == Turns::Multi) {
            continue;
        }
        cases.push(Case {
            id: format!("l1-{n:03}"),
            query: Some(query.to_owned()),
            gold: vec![Name { servers: Vec::new(), tool: gold.to_owned() }],
            candidates: definitions(path, &row)?.into_iter().map(|one| one.name).collect(),
            ..Case::default()
        });
    }
    Ok(cases)
}

fn rows(path: &Path, text: &str) -> Result<Vec<Row>, EvalError> {
    serde_json::from_str(text).map_err(|error| odd(path, error.to_string()))
}

fn definitions(path: &Path, row: &Row) -> Result<Vec<Definition>, EvalError> {
    let (_, lines) = row
        .instruction
        .split_once(DEFINITIONS)
        .ok_or_else(|| odd(path, "a row defines no API".to_owned()))?;
    let one = |line: &str| serde_json::from_str(line).map_err(|error| odd(path, error.to_string()));
    lines.lines().filter(|line| !line.trim().is_empty()).map(one).collect()
}

fn tool(path: &Path, definition: Definition) -> Result<Tool, EvalError> {
    let required: Vec<&String> = definition.input_parameters.keys().collect();
    let properties: Map<String, Value> = definition
        .input_parameters
        .iter()
        .map(|(name, one)| (name.clone(), property(one)))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let schema = value::to_raw_value(&schema).map_err(|error| odd(path, error.to_string()))?;
    let (name, description) = (definition.name, definition.description);
    Ok(Tool { name, description, input_schema: Some(schema), ..Tool::default() })
}

/// Python's names of types → those of JSON Schema.
fn property(parameter: &Value) -> Value {
    let kind = match parameter["type"].as_str() {
        Some("int") => "integer",
        Some("bool") => "boolean",
        Some(list) if list.starts_with("list") => "array",
        _ => "string",
    };
    json!({"type": kind, "description": parameter["description"]})
}

fn odd(path: &Path, reason: String) -> EvalError {
    EvalError::BadSet { path: path.to_owned(), reason }
}

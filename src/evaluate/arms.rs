//! What is compared: the paper's ranking, ours, and ours without each part.

use super::EvalError;
use crate::index::Matrix;
use crate::rank::MCP_ZERO;
use crate::rank::Recipe;
use crate::rank::SCOUT;
use crate::router::Method;
use crate::router::Stages;

/// One way to answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    /// As reports call it.
    pub name: &'static str,
    /// What it is, or what it lacks, in a few words.
    pub about: &'static str,
    /// What it is asked with.
    pub asks: Asks,
    /// How it ranks; an arm without one only counts tokens.
    pub method: Option<Method>,
}

/// What the router is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// `server` and `tool`, as a model wrote them; what the user said where a
    /// case has no more.
    Request,
    /// What the user said; cases where that is not known are skipped.
    UserText,
}

/// All arms, in the order of a report.
pub const ARMS: &[Arm] = &[
    Arm {
        name: "all-schemas",
        about: "every schema in the context",
        asks: Asks::Request,
        method: None,
    },
    arm("query-only", "what the user said against tool texts", flat(SCOUT_TEXTS))
        .by(Asks::UserText),
    arm("scout-query", "scout on what the user said", Method::SCOUT).by(Asks::UserText),
    arm("bm25", "words alone", Method { stages: Stages::Words, ..Method::SCOUT }),
    arm("flat", "tool texts alone, no servers", flat(SCOUT_TEXTS)),
    arm("mcp-zero", "the paper to the letter", Method::MCP_ZERO),
    arm("scout", "the default", Method::SCOUT),
    scout("scout-no-dense", "without the formula", Recipe { dense: 0.0, ..SCOUT }),
    scout("scout-no-tool", "without s_tool by itself", Recipe { tool: 0.0, ..SCOUT }),
    scout("scout-no-joint", "without the text \"server: tool\"", Recipe { joint: 0.0, ..SCOUT }),
    scout(
        "scout-no-words",
        "without BM25",
        Recipe { words: 0.0, plain_words: 0.0, n_owner_words: 0, ..SCOUT },
    ),
    scout(
        "scout-hard-cut",
        "the five best servers only",
        Recipe { n_owner_tools: 0, n_owner_words: 0, ..SCOUT },
    ),
    scout(
        "scout-no-operation",
        "contradicting verbs cost nothing",
        Recipe { contradiction: 0.0, ..SCOUT },
    ),
    scout("scout-all-servers", "no stage 1", Recipe { n_servers: usize::MAX, ..SCOUT }),
    arm(
        "scout-no-digest",
        "servers by description and summary",
        Method { server_texts: MCP_ZERO_TEXTS, ..Method::SCOUT },
    ),
    arm(
        "scout-description",
        "tools by description alone",
        Method { tool_text: Matrix::ToolDescription, ..Method::SCOUT },
    ),
];

const SCOUT_TEXTS: Matrix = Matrix::ToolText;
const MCP_ZERO_TEXTS: &[Matrix] = Method::MCP_ZERO.server_texts;

const fn arm(name: &'static str, about: &'static str, method: Method) -> Arm {
    Arm { name, about, asks: Asks::Request, method: Some(method) }
}

const fn scout(name: &'static str, about: &'static str, recipe: Recipe) -> Arm {
    arm(name, about, Method { recipe, ..Method::SCOUT })
}

const fn flat(tool_text: Matrix) -> Method {
    Method { stages: Stages::Flat, tool_text, recipe: MCP_ZERO, ..Method::SCOUT }
}

impl Arm {
    const fn by(self, asks: Asks) -> Self {
        Self { asks, ..self }
    }

    /// Whether it is scout without one of its parts.
    #[must_use]
    pub fn is_ablation(&self) -> bool {
        self.name.starts_with("scout-") && self.asks == Asks::Request
    }
}

/// The arms of these names; of no names, all.
///
/// # Errors
/// Names the first that does not exist.
pub fn arms(names: &[String]) -> Result<Vec<Arm>, EvalError> {
    if names.is_empty() {
        return Ok(ARMS.to_vec());
    }
    let find = |name: &String| {
        let known = || ARMS.iter().map(|arm| arm.name).collect::<Vec<_>>().join(", ");
        let found = ARMS.iter().find(|arm| arm.name == name).copied();
        found.ok_or_else(|| EvalError::Unknown { kind: "arm", name: name.clone(), known: known() })
    };
    names.iter().map(find).collect()
}

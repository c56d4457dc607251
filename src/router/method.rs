//! What a ranking compares and how it weighs it.

use crate::index::Matrix;
use crate::rank::Recipe;
use crate::rank::{self};
use crate::request::Form;

/// A ranking: matrices, stages and weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// The texts of a server; its score is the best over them.
    pub server_texts: &'static [Matrix],
    /// The text of a tool.
    pub tool_text: Matrix,
    /// Which of the two stages there are.
    pub stages: Stages,
    /// Whether plain words get the model's query instruction.
    pub instructs: bool,
    /// Pool sizes and weights.
    pub recipe: Recipe,
}

/// Which stages a request goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// Servers, then the tools of those that are left.
    Both,
    /// All tools at once, by the tool text.
    Flat,
    /// All tools at once, by their words.
    Words,
}

impl Method {
    /// The default: digest, tool text with names, the best tools vote their
    /// owners in, words have a say.
    pub const SCOUT: Self = Self {
        server_texts: &[Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest],
        tool_text: Matrix::ToolText,
        stages: Stages::Both,
        instructs: true,
        recipe: rank::SCOUT,
    };

    /// The paper to the letter: description and summary, five servers, tool
    /// descriptions alone (MCP-Zero, arXiv 2506.01056, §3.2).
    pub const MCP_ZERO: Self = Self {
        server_texts: &[Matrix::ServerDescription, Matrix::ServerSummary],
        tool_text: Matrix::ToolDescription,
        stages: Stages::Both,
        instructs: false,
        recipe: rank::MCP_ZERO,
    };

    /// The weights for a request of this form: in plain words many say little,
    /// and none is known to be the verb.
    #[must_use]
    pub fn recipe_for(&self, form: Form) -> Recipe {
        match form {
            Form::Tagged => self.recipe,
            Form::Plain => Recipe { words: self.recipe.plain_words, ..self.recipe },
        }
    }

    /// Whether words have a say.
    #[must_use]
    pub fn has_words(&self) -> bool {
        self.stages == Stages::Words || self.recipe.words > 0.0
    }

    /// Whether platform and operation are compared in one text too.
    #[must_use]
    pub fn is_joint(&self) -> bool {
        self.stages == Stages::Both && self.recipe.joint > 0.0
    }
}

impl Default for Method {
    fn default() -> Self {
        Self::SCOUT
    }
}

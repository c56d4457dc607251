//! Cosines of the tool texts with a request, and whose are the best.

use super::top_k::{higher, top_k, top_rows};
use super::{Corpus, NOT_ALLOWED, Recipe, mask};
use crate::vectors::Graph;
use crate::vectors::Rows;

/// Rows asked of a graph for each one wanted: its codes order only about right.
const ROWS_A_TOOL: usize = 5;

/// Cosines with the tool text and the joint text of a request, clamped at 0:
/// known of all tools, or computed when asked for, where a hard cut or a graph
/// leaves only a few to look at.
pub(super) struct Cosines<'a> {
    texts: Rows<'a>,
    graph: Option<Graph<'a>>,
    tool: Column<'a>,
    joint: Option<Column<'a>>,
}

/// The cosines with one query, clamped.
struct Column<'a> {
    query: &'a [f32],
    all: Option<Vec<f32>>,
}

impl<'a> Cosines<'a> {
    /// For a ranking that asks for the best tools, or only for those of a few
    /// servers.
    pub(super) fn new(
        corpus: &Corpus<'a>,
        tool: &'a [f32],
        joint: Option<&'a [f32]>,
        recipe: &Recipe,
    ) -> Self {
        let needs_all = recipe.n_owner_tools > 0 || joint.is_some();
        if needs_all { Self::of_all(corpus, tool, joint) } else { Self::of_few(corpus, tool) }
    }

    /// For a ranking that looks at all tools, or at what a graph finds.
    pub(super) fn of_all(corpus: &Corpus<'a>, tool: &'a [f32], joint: Option<&'a [f32]>) -> Self {
        let (texts, graph) = (corpus.tool_text, corpus.graph_of_tools());
        let allowed = corpus.allowed.map(|allowed| allowed.tools);
        let clamped = |cosines| clamped(cosines, allowed);
        let (of_tool, of_joint) = match (graph, joint) {
            (Some(_), _) => (None, None),
            (None, None) => {
                let [of_tool] = texts.cosines([tool]);
                (Some(clamped(of_tool)), None)
            }
            (None, Some(joint)) => {
                let [of_tool, of_joint] = texts.cosines([tool, joint]);
                (Some(clamped(of_tool)), Some(clamped(of_joint)))
            }
        };
        let joint = joint.map(|query| Column { query, all: of_joint });
        Self { texts, graph, tool: Column { query: tool, all: of_tool }, joint }
    }

    /// For a ranking that looks at the tools of a few servers.
    pub(super) fn of_few(corpus: &Corpus<'a>, tool: &'a [f32]) -> Self {
        let tool = Column { query: tool, all: None };
        Self { texts: corpus.tool_text, graph: None, tool, joint: None }
    }

    /// s_tool.
    pub(super) fn tool(&self, row: usize) -> f32 {
        self.tool.of(&self.texts, row)
    }

    /// The cosine with the joint text, if there is one.
    pub(super) fn joint(&self, row: usize) -> Option<f32> {
        Some(self.joint.as_ref()?.of(&self.texts, row))
    }

    /// The `n` best rows by s_tool, best first.
    pub(super) fn best_by_tool(&self, n: usize) -> Vec<usize> {
        self.best(&self.tool, n)
    }

    /// The `n` best rows by the joint text, best first.
    pub(super) fn best_by_joint(&self, n: usize) -> Vec<usize> {
        self.joint.as_ref().map(|joint| self.best(joint, n)).unwrap_or_default()
    }

    fn best(&self, column: &Column<'_>, n: usize) -> Vec<usize> {
        let scored = |row: usize| (column.of(&self.texts, row), row);
        let best = match (self.graph, &column.all) {
            (Some(graph), _) => {
                let rows = graph.nearest(column.query, n * ROWS_A_TOOL).into_iter();
                top_k(rows.map(scored), n, higher)
            }
            (None, Some(all)) => top_rows(all, n),
            (None, None) => top_k((0..self.texts.n_rows()).map(scored), n, higher),
        };
        let best = best.into_iter().filter(|(score, _)| *score > NOT_ALLOWED);
        best.map(|(_, row)| row).collect()
    }
}

impl Column<'_> {
    fn of(&self, texts: &Rows<'_>, row: usize) -> f32 {
        match &self.all {
            Some(all) => all[row],
            None => clamp(texts.cosine(row, self.query)),
        }
    }
}

fn clamped(mut cosines: Vec<f32>, allowed: Option<&[bool]>) -> Vec<f32> {
    cosines.iter_mut().for_each(|cosine| *cosine = clamp(*cosine));
    mask(&mut cosines, allowed);
    cosines
}

/// Not `max`, which may leave -0: its place would be behind 0.
fn clamp(cosine: f32) -> f32 {
    if cosine > 0.0 { cosine } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_clamped_is_one_zero() {
        for cosine in [-0.0, -1.0, 0.0] {
            assert_eq!(clamp(cosine).to_bits(), 0);
        }
        assert_eq!(clamped(vec![0.5, -0.0], None), [0.5, 0.0]);
    }
}

//! How much of one text's words stands in another, rare words counting more.

use std::collections::HashSet;

use tantivy::{DocSet, TERMINATED, Term};

use super::Lexical;
use super::terms::terms;
use super::{IndexError, MAX_QUERY_TERMS, guarded};
use crate::catalog::ToolId;
use tantivy::schema::IndexRecordOption;

impl Lexical {
    /// How well `tool`, called `name`, and a request cover each other, in [0, 1]:
    /// the mean of the shares of its tool line that the tool says, of the whole
    /// request that the tool says, and of the tool's name that was asked for.
    ///
    /// A share is over distinct terms, each weighing its
    /// idf = ln(1 + (n − df + ½) / (df + ½)), so that stop words weigh little.
    ///
    /// # Errors
    /// Fails when the file is damaged.
    pub fn coverage(
        &self,
        tool: ToolId,
        name: &str,
        tool_line: &str,
        request: &str,
    ) -> Result<f32, IndexError> {
        guarded(&self.path, || self.coverage_of(tool, name, tool_line, request))
    }

    fn coverage_of(
        &self,
        tool: ToolId,
        name: &str,
        tool_line: &str,
        request: &str,
    ) -> Result<f32, IndexError> {
        let (line, request) = (distinct(tool_line), distinct(request));
        let says = |word: &String| self.has(word, tool);
        let of_line = self.share(&line, says)?;
        let of_request = self.share(&request, says)?;
        let asked: HashSet<&String> = request.iter().collect();
        let of_name = self.share(&distinct(name), |word| Ok(asked.contains(word)))?;
        Ok((of_line + of_request + of_name) / 3.0)
    }

    /// Σ idf of the terms that are in, over Σ idf of all; 0 without terms.
    fn share(
        &self,
        terms: &[String],
        is_in: impl Fn(&String) -> Result<bool, IndexError>,
    ) -> Result<f32, IndexError> {
        let (mut inside, mut all) = (0.0, 0.0);
        for term in terms {
            let idf = self.idf(term)?;
            all += idf;
            if is_in(term)? {
                inside += idf;
            }
        }
        Ok(if all > 0.0 { inside / all } else { 0.0 })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of tools")]
    fn idf(&self, term: &str) -> Result<f32, IndexError> {
        let Some(segment) = &self.segment else { return Ok(0.0) };
        let term = Term::from_field_text(self.field, term);
        let list = segment.inverted_index(self.field);
        let found = list.and_then(|list| Ok(list.doc_freq(&term)?));
        let df = found.map_err(|error| self.failed(error))? as f32;
        let n = segment.max_doc() as f32;
        Ok((1.0 + (n - df + 0.5) / (df + 0.5)).ln())
    }

    fn has(&self, term: &str, tool: ToolId) -> Result<bool, IndexError> {
        let Some(segment) = &self.segment else {
            return Ok(false);
        };
        let term = Term::from_field_text(self.field, term);
        let postings = segment
            .inverted_index(self.field)
            .and_then(|index| Ok(index.read_postings(&term, IndexRecordOption::Basic)?));
        let Some(mut postings) = postings.map_err(|error| self.failed(error))? else {
            return Ok(false);
        };
        let at = if postings.doc() < tool.0 { postings.seek(tool.0) } else { postings.doc() };
        Ok(at != TERMINATED && at == tool.0)
    }
}

fn distinct(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut terms = terms(text);
    terms.retain(|term| seen.insert(term.clone()));
    terms.truncate(MAX_QUERY_TERMS);
    terms
}

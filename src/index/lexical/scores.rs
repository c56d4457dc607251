//! BM25 of every tool at once.
//!
//! Word by word through the whole list of each. tantivy's search for the best
//! (block-max WAND) takes several times as long: of a dozen words in texts as
//! short as these it can pass over almost none, and the tools of the pool have
//! to be looked up again (`eval/reports/size.md`). What costs in a large index
//! is the walk itself, so each thread walks through a part of the tools.

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use tantivy::query::Bm25Weight;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, SegmentReader, Term};

use super::{IndexError, Lexical, guarded};

/// Fewer tools than this are not worth a second thread.
const MIN_TOOLS_A_PART: usize = 1 << 16;

/// BM25 of consecutive tools.
struct Part<'a> {
    /// The first of them.
    start: usize,
    scores: &'a mut [f32],
}

impl Lexical {
    /// BM25 (k1 1.2, b 0.75) of every tool for the words of `text`, `[n_tools]`;
    /// 0 without a common word.
    ///
    /// # Errors
    /// Fails when the file is damaged.
    pub fn scores(&self, text: &str) -> Result<Vec<f32>, IndexError> {
        let share = self.n_tools().div_ceil(rayon::current_num_threads());
        self.scores_in_parts(text, share.max(MIN_TOOLS_A_PART))
    }

    /// The same, `n_tools` of them in one piece.
    pub(super) fn scores_in_parts(
        &self,
        text: &str,
        n_tools: usize,
    ) -> Result<Vec<f32>, IndexError> {
        let mut scores = vec![0.0; self.n_tools()];
        let Some(segment) = &self.segment else {
            return Ok(scores);
        };
        let words: Vec<Term> = self.words(text).collect();
        let failed = |error| self.failed(error);
        let fill = |(n, scores): (usize, &mut [f32])| {
            let mut part = Part { start: n * n_tools, scores };
            let mut add = |word| self.add(segment, word, &mut part);
            guarded(&self.path, || words.iter().try_for_each(&mut add).map_err(failed))
        };
        if scores.len() <= n_tools {
            fill((0, &mut scores))?;
        } else {
            scores.par_chunks_mut(n_tools).enumerate().try_for_each(fill)?;
        }
        Ok(scores)
    }

    /// Adds what one word is worth.
    #[expect(clippy::cast_precision_loss, reason = "counts of words and tools")]
    fn add(
        &self,
        segment: &SegmentReader,
        word: &Term,
        part: &mut Part<'_>,
    ) -> tantivy::Result<()> {
        let lists = segment.inverted_index(self.field)?;
        let Some(mut list) = lists.read_block_postings(word, IndexRecordOption::WithFreqs)? else {
            return Ok(());
        };
        let lengths = segment.get_fieldnorms_reader(self.field)?;
        let n_tools = u64::from(segment.max_doc());
        let mean_length = lists.total_num_tokens() as f32 / n_tools as f32;
        let n_found = u64::from(lists.doc_freq(word)?);
        let weight = Bm25Weight::for_one_term_without_explain(n_found, n_tools, mean_length);
        let (start, end) = (tool(part.start), tool(part.start + part.scores.len()));
        list.seek(start);
        while list.docs().first().is_some_and(|tool| *tool < end) {
            for (tool, n_times) in list.docs().iter().zip(list.freqs()) {
                // A block may begin before the part, or end after it.
                let row = tool.wrapping_sub(start) as usize;
                if let Some(score) = part.scores.get_mut(row) {
                    *score += weight.score(lengths.fieldnorm_id(*tool), *n_times);
                }
            }
            list.advance();
        }
        Ok(())
    }
}

/// Row → the number tantivy knows it by.
fn tool(row: usize) -> DocId {
    DocId::try_from(row).unwrap_or(DocId::MAX)
}

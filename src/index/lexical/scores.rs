//! BM25 of every tool at once.
//!
//! Word by word through the whole list of each. tantivy's search for the best
//! (block-max WAND) takes several times as long: of a dozen words in texts as
//! short as these it can pass over almost none, and the tools of the pool have
//! to be looked up again (`eval/reports/size.md`).

use tantivy::query::Bm25Weight;
use tantivy::schema::IndexRecordOption;
use tantivy::{SegmentReader, Term};

use super::{IndexError, Lexical, guarded};

impl Lexical {
    /// BM25 (k1 1.2, b 0.75) of every tool for the words of `text`, `[n_tools]`;
    /// 0 without a common word.
    ///
    /// # Errors
    /// Fails when the file is damaged.
    pub fn scores(&self, text: &str) -> Result<Vec<f32>, IndexError> {
        let mut scores = vec![0.0; self.n_tools()];
        let Some(segment) = self.searcher.segment_readers().first() else {
            return Ok(scores);
        };
        let add = |term| self.add(segment, &term, &mut scores);
        let added = || self.words(text).try_for_each(add).map_err(|error| self.failed(error));
        guarded(&self.path, added)?;
        Ok(scores)
    }

    /// Adds what one word is worth.
    fn add(&self, segment: &SegmentReader, term: &Term, scores: &mut [f32]) -> tantivy::Result<()> {
        let list = segment.inverted_index(self.field)?;
        let Some(mut list) = list.read_block_postings(term, IndexRecordOption::WithFreqs)? else {
            return Ok(());
        };
        let lengths = segment.get_fieldnorms_reader(self.field)?;
        let weight = Bm25Weight::for_terms(&self.searcher, std::slice::from_ref(term))?;
        while list.block_len() > 0 {
            for (tool, n_times) in list.docs().iter().zip(list.freqs()) {
                let worth = weight.score(lengths.fieldnorm_id(*tool), *n_times);
                scores[*tool as usize] += worth;
            }
            list.advance();
        }
        Ok(())
    }
}

//! Search by words: BM25 over what a tool is called, says and takes.
//!
//! Owns one file, `lexical.safetensors`: a tantivy index of one segment whose
//! document n is tool n, packed file by file into tensors of bytes. tantivy is
//! the best-kept search library of the language: compressed postings, a
//! dictionary and checked files are some ten thousand lines that nobody should
//! write again. Its search is not used, see `scores`.

mod coverage;
mod pack;
mod scores;
mod terms;

use terms::terms;

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use tantivy::directory::{Directory, RamDirectory};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{SegmentReader, SingleSegmentIndexWriter, TantivyDocument, Term};

use super::IndexError;

/// Memory of the writer; tantivy refuses less than 15 MB.
const WRITER_BYTES: usize = 64_000_000;

/// Terms of a request that are looked up, from its start on.
const MAX_QUERY_TERMS: usize = 64;

/// Times a word of a tool is counted.
const MAX_REPEATS: usize = 10;

/// A term that no request has: terms are words, and this is none.
const STUFFING: &str = "+";

const FIELD: &str = "text";

/// The words of all tools of a generation, open for search.
pub struct Lexical {
    path: PathBuf,
    /// None where there is no tool. A reader of this segment alone does not
    /// open the store of documents, which is empty here and believed unseen.
    segment: Option<SegmentReader>,
    field: Field,
}

/// The file for `texts`, one per tool in id order.
pub(super) fn build<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<u8>, IndexError> {
    let failed = |error: tantivy::TantivyError| IndexError::Words {
        path: PathBuf::from(FIELD),
        source: Box::new(error),
    };
    let ram = RamDirectory::create();
    let (schema, field) = schema();
    let mut writer: SingleSegmentIndexWriter = tantivy::Index::builder()
        .schema(schema)
        .single_segment_index_writer(ram.clone(), WRITER_BYTES)
        .map_err(failed)?;
    for text in texts {
        let mut document = TantivyDocument::default();
        document.add_pre_tokenized_text(field, pre_tokenized(text));
        writer.add_document(document).map_err(failed)?;
    }
    let index = writer.finalize().map_err(failed)?;
    let mut names = index.directory().list_managed_files();
    names.insert(PathBuf::from("meta.json"));
    let segment = index.searchable_segment_ids().map_err(failed)?;
    pack::pack(&ram, names, segment.first().map(|id| id.uuid_string()))
}

impl Lexical {
    /// Opens the packed index of `file`, mapped from `path`.
    pub(super) fn open(path: &Path, file: &Arc<Mmap>) -> Result<Self, IndexError> {
        let directory: Box<dyn Directory> = Box::new(pack::Pack::open(path, file)?);
        guarded(path, || Self::open_in(path, directory))
    }

    fn open_in(path: &Path, directory: Box<dyn Directory>) -> Result<Self, IndexError> {
        let failed = |error: tantivy::TantivyError| IndexError::Words {
            path: path.to_owned(),
            source: Box::new(error),
        };
        let index = tantivy::Index::open(directory).map_err(failed)?;
        let field = index.schema().get_field(FIELD).map_err(failed)?;
        let segments = index.searchable_segments().map_err(failed)?;
        let segment = segments.first().map(SegmentReader::open).transpose().map_err(failed)?;
        Ok(Self { path: path.to_owned(), segment, field })
    }

    /// How many tools it knows.
    pub(super) fn n_tools(&self) -> usize {
        self.segment.as_ref().map_or(0, |segment| segment.max_doc() as usize)
    }

    /// The distinct words of a text.
    fn words(&self, text: &str) -> impl Iterator<Item = Term> {
        let mut seen = HashSet::new();
        let mut words = terms(text);
        words.retain(|word| seen.insert(word.clone()));
        words.truncate(MAX_QUERY_TERMS);
        let field = self.field;
        words.into_iter().map(move |word| Term::from_field_text(field, &word))
    }

    fn failed(&self, error: tantivy::TantivyError) -> IndexError {
        IndexError::Words { path: self.path.clone(), source: Box::new(error) }
    }
}

/// tantivy believes what its files say: one that lies, and has its checksums
/// right all the same, makes it panic. That is damage, not the end of a server.
fn guarded<T>(path: &Path, step: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|_panic| {
        let what = "the search library cannot read it".to_owned();
        Err(IndexError::Damaged { path: path.to_owned(), what })
    })
}

impl std::fmt::Debug for Lexical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lexical").field("path", &self.path).finish_non_exhaustive()
    }
}

fn schema() -> (Schema, Field) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    let field = schema.add_text_field(FIELD, TextOptions::default().set_indexing_options(indexing));
    (schema.build(), field)
}

/// The words of a tool; beyond [`MAX_REPEATS`] a repeated word adds only to
/// the length of the text, so that stuffing costs instead of paying.
fn pre_tokenized(text: &str) -> PreTokenizedString {
    let mut n_seen: HashMap<String, usize> = HashMap::new();
    let mut tokens = Vec::new();
    for (position, mut text) in terms(text).into_iter().enumerate() {
        let n = n_seen.entry(text.clone()).or_default();
        *n += 1;
        if *n > MAX_REPEATS {
            text = String::from(STUFFING);
        }
        tokens.push(Token { position, text, ..Token::default() });
    }
    PreTokenizedString { text: String::new(), tokens }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tantivy::collector::TopDocs;
    use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};

    use super::*;
    use crate::index::read::map;

    const TEXTS: [&str; 5] = [
        "github create_issue: Open a new issue in a repository",
        "github listIssues: Lists the issues of a repository",
        "weather get_forecast: 天気予報を取得します",
        "",
        "pdf-tools extractText: Extracts text from a PDF",
    ];

    fn open(texts: &[&str]) -> (tempfile::NamedTempFile, Lexical) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&build(texts.iter().copied()).unwrap()).unwrap();
        let mapped = Arc::new(map(file.path()).unwrap());
        let lexical = Lexical::open(file.path(), &mapped).unwrap();
        (file, lexical)
    }

    fn check(query: &str, expected: &[u32]) {
        let (_file, lexical) = open(&TEXTS);
        let scores = lexical.scores(query).unwrap();
        assert_eq!(scores.len(), TEXTS.len());
        let mut ids: Vec<u32> = (0..5).filter(|id| scores[*id as usize] > 0.0).collect();
        ids.sort_by(|a, b| scores[*b as usize].total_cmp(&scores[*a as usize]));
        assert_eq!(ids, expected, "{query}");
    }

    #[test]
    fn words_find_tools_across_spellings() {
        check("creating issues", &[0, 1]);
        check("list issue", &[1, 0]);
        check("extract text", &[4]);
        check("天気", &[2]);
        check("zebra kind", &[]);
        check("", &[]);
    }

    #[test]
    fn an_index_without_tools_finds_nothing() {
        let (_file, lexical) = open(&[]);
        assert_eq!(lexical.scores("issue").unwrap(), Vec::<f32>::new());
    }

    /// More tools than a block of a list, so that lists have several.
    #[test]
    fn scores_are_those_of_the_search_library() {
        let word = |n: usize| ["read", "write", "a", "file", "issue"][n % 5];
        let texts: Vec<String> = (1..1_000)
            .map(|n| (0..n % 13).map(|k| word(n / (k + 1))).collect::<Vec<_>>().join(" "))
            .collect();
        let (file, lexical) = open(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let query = "write an issue to a file";
        let clause = |term| -> (Occur, Box<dyn Query>) {
            (Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)))
        };
        let expected = BooleanQuery::new(lexical.words(query).map(clause).collect());
        let all = TopDocs::with_limit(texts.len()).order_by_score();
        let mapped = Arc::new(map(file.path()).unwrap());
        let directory: Box<dyn Directory> =
            Box::new(pack::Pack::open(file.path(), &mapped).unwrap());
        let reader = tantivy::Index::open(directory).unwrap().reader().unwrap();
        let expected = reader.searcher().search(&expected, &all).unwrap();
        let scores = lexical.scores(query).unwrap();
        assert_eq!(scores.iter().filter(|score| **score > 0.0).count(), expected.len());
        assert!(expected.len() > 500);
        for (score, address) in expected {
            assert!((scores[address.doc_id as usize] - score).abs() < 1e-5);
        }
        for n_tools in [1, 7, 128, 500, 998, 999] {
            assert_eq!(lexical.scores_in_parts(query, n_tools).unwrap(), scores, "{n_tools}");
        }
    }
}

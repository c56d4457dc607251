//! Whole rankings: by graphs and at every row, in each precision.

use std::time::Instant;

use cpu_time::ThreadTime;
use toolscout::catalog::ToolId;
use toolscout::index::{Index, Lexical, Matrix, Neighbors};
use toolscout::rank::{self, Corpus, Query, Ranking, Recipe, Words};
use toolscout::vectors::{Packed, Precision, Rows};

use crate::votes::VOTERS;
use crate::{Request, spread};

/// Stages 1 and 2: by graphs, and with a look at every row; with words and
/// without them.
pub(crate) fn rankings(index: &Index, requests: &[Request]) {
    let exact = corpus(index);
    let by_graph = Corpus {
        server_graph: index.graph(Neighbors::Servers),
        tool_graph: index.graph(Neighbors::Tools),
        allowed: None,
        ..exact.clone()
    };
    // A look at every row of a large index takes long: a part is enough.
    let step = if by_graph.tool_graph.is_some() { 10 } else { 1 };
    let lexical = Some(index.lexical());
    for (name, ask) in [
        ("server, tool and words", Ask { lexical, ..SCOUT }),
        ("server and tool", SCOUT),
        ("tool and words", Ask { lexical, ..FLAT }),
        ("tool alone", FLAT),
    ] {
        println!("\nrank, {name}");
        let expected = tops("every row", &exact, requests, step, ask);
        if step > 1 {
            let found = tops("by graphs", &by_graph, requests, 1, ask);
            let found: Vec<Top> = found.into_iter().step_by(step).collect();
            println!("  {}", same(&found, &expected));
        }
    }
    println!("\nrank as the paper does: five servers, every row of theirs");
    let paper = Corpus { server_texts: exact.server_texts[..2].to_vec(), ..exact };
    tops("every row", &paper, requests, step, PAPER);
    search_by_words(index, requests);
}

/// What the words cost by themselves.
fn search_by_words(index: &Index, requests: &[Request]) {
    let times = requests.iter().map(|request| {
        // Other threads help: the time of this one would flatter.
        let start = Instant::now();
        let scores = index.lexical().scores(&words(request)).unwrap();
        std::hint::black_box(rank::best_by_words(&scores, VOTERS));
        start.elapsed()
    });
    println!("\nthe best {VOTERS} by words: {}", spread(times.collect()));
}

/// As the router puts them.
fn words(Request { texts: [server, tool, _], .. }: &Request) -> String {
    format!("{server} {tool}")
}

/// What smaller numbers change: every row of the real index, each precision.
pub(crate) fn precisions(real: &Index, requests: &[Request]) {
    let exact = corpus(real);
    println!("\nprecisions, every row, first tools against those of f32");
    let expected = tops("F32", &exact, requests, 1, SCOUT);
    let numbers = |rows: &Rows<'_>| (0..rows.n_rows()).flat_map(|row| rows.to_f32(row)).collect();
    let all: Vec<Vec<f32>> =
        exact.server_texts.iter().chain([&exact.tool_text]).map(numbers).collect();
    let dim = exact.tool_text.dim();
    for precision in [Precision::F16, Precision::Int8] {
        let packed: Vec<Packed<'_>> =
            all.iter().map(|numbers| Packed::new(numbers, dim, precision)).collect();
        let mut rows: Vec<Rows<'_>> = packed.iter().map(|one| one.rows(dim).unwrap()).collect();
        let tool_text = rows.pop().unwrap();
        let small = Corpus { server_texts: rows, tool_text, ..exact.clone() };
        let found = tops(&format!("{precision:?}"), &small, requests, 1, SCOUT);
        println!("  {}", same(&found, &expected));
    }
}

/// All texts of an index, no graphs.
fn corpus(index: &Index) -> Corpus<'_> {
    let texts = [Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest];
    Corpus {
        server_texts: texts.iter().filter_map(|kind| index.rows(*kind)).collect(),
        tool_text: index.rows(Matrix::ToolText).unwrap(),
        tool_server: index.tool_server(),
        server_graph: None,
        tool_graph: None,
        allowed: None,
    }
}

fn both(Request { vectors: [server, tool, joint], .. }: &Request) -> Query<'_> {
    Query::Both { server, tool, joint: Some(joint) }
}

fn paper_both(Request { vectors: [server, tool, _], .. }: &Request) -> Query<'_> {
    Query::Both { server, tool, joint: None }
}

fn flat(Request { vectors: [_, tool, _], .. }: &Request) -> Query<'_> {
    Query::ToolOnly(tool)
}

/// What is asked, and how it is ranked.
#[derive(Clone, Copy)]
struct Ask<'a> {
    query: fn(&Request) -> Query<'_>,
    recipe: &'static Recipe,
    /// Searched for the words of the request too.
    lexical: Option<&'a Lexical>,
}

const SCOUT: Ask<'static> = Ask { query: both, recipe: &rank::SCOUT, lexical: None };
const FLAT: Ask<'static> = Ask { query: flat, recipe: &rank::SCOUT, lexical: None };
const PAPER: Ask<'static> = Ask { query: paper_both, recipe: &rank::MCP_ZERO, lexical: None };

impl Ask<'_> {
    fn rank(&self, corpus: &Corpus<'_>, request: &Request) -> Ranking {
        let query = (self.query)(request);
        let Some(lexical) = self.lexical else {
            return rank::rank(corpus, query, Words::NONE, self.recipe, VOTERS);
        };
        let scores = lexical.scores(&words(request)).unwrap();
        let best = rank::best_by_words(&scores, VOTERS);
        let words = Words { best: &best, scores: &scores, ..Words::NONE };
        rank::rank(corpus, query, words, self.recipe, VOTERS)
    }
}

/// The best tools of a request.
type Top = Vec<ToolId>;

/// The best tools of every `step`-th request; prints what they took.
fn tops(
    name: &str,
    corpus: &Corpus<'_>,
    requests: &[Request],
    step: usize,
    ask: Ask<'_>,
) -> Vec<Top> {
    let (mut tops, mut cpu_times, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for request in requests.iter().step_by(step) {
        let (start, cpu) = (Instant::now(), ThreadTime::now());
        let ranking = ask.rank(corpus, request);
        cpu_times.push(cpu.elapsed());
        times.push(start.elapsed());
        tops.push(ranking.hits.iter().map(|hit| hit.tool).collect::<Top>());
    }
    let (n, cpu, wall) = (tops.len(), spread(cpu_times), spread(times));
    println!("  {name:<9} n {n:<4} {cpu}; with waiting {wall}");
    tops
}

/// Which part of the first tools is the same, in any order.
fn same(found: &[Top], expected: &[Top]) -> String {
    let share = |n: usize| {
        let first = |top: &Top| top.iter().take(n).copied().collect::<Vec<_>>();
        let pairs = || found.iter().zip(expected).map(|(a, b)| (first(a), first(b)));
        let n_same: usize =
            pairs().map(|(a, b)| b.iter().filter(|tool| a.contains(tool)).count()).sum();
        n_same as f64 / pairs().map(|(_, b)| b.len()).sum::<usize>().max(1) as f64
    };
    format!("the same: top 1 {:.4}, top 5 {:.4}, top {VOTERS} {:.4}", share(1), share(5), share(20))
}

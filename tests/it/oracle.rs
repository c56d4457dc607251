//! Ranking against a naive oracle: f64, plain loops, full sorts.
//!
//! The oracle shares no code with `rank`; it is written from the formulas of
//! ARCHITECTURE.md. Two families of vectors: real-valued ones, where f32 may
//! swap tools whose scores differ by less than its rounding, and exact ones
//! (multiples of 1/4), where every tie must come out as the rules say.

use ndarray::{Array2, ArrayView1};
use serde_json::Value;
use toolscout::catalog::ToolId;
use toolscout::rank::{self, Corpus, Query, Ranking, Reason, Recipe, Words};
use toolscout::vectors::{Numbers, Rows};

use crate::support;

/// What f32 may cost a score.
pub(crate) const TOLERANCE: f64 = 1e-6;

/// Limits asked for; the last is more than any corpus here has.
const LIMITS: [usize; 5] = [0, 1, 3, 20, 10_000];

/// The paper's formula at the widths in use, and at others.
const RECIPES: [Recipe; 5] = [
    rank::MCP_ZERO,
    WIDE,
    Recipe { n_servers: 1, n_owner_tools: 1, ..rank::MCP_ZERO },
    Recipe { n_servers: 0, n_owner_tools: 3, ..rank::MCP_ZERO },
    Recipe { n_servers: 10_000, n_owner_tools: 0, ..rank::MCP_ZERO },
];

/// As wide as `scout`, with the formula alone.
pub(crate) const WIDE: Recipe = Recipe { n_owner_tools: 20, ..rank::MCP_ZERO };

/// Matrices to rank in; `tolerance` is 0 where f32 is exact.
pub(crate) struct Problem {
    pub(crate) name: String,
    pub(crate) server_texts: Vec<Array2<f32>>,
    pub(crate) tool_text: Array2<f32>,
    pub(crate) tool_server: Vec<u32>,
    pub(crate) tolerance: f64,
}

/// [`Query`] with its vectors.
pub(crate) enum Asked {
    Both { server: Vec<f32>, tool: Vec<f32> },
    ToolOnly(Vec<f32>),
    ServerOnly(Vec<f32>),
}

impl Problem {
    pub(crate) fn rank(&self, asked: &Asked, recipe: Recipe, limit: usize) -> Ranking {
        let corpus = self.corpus();
        let query = match asked {
            Asked::Both { server, tool } => Query::Both { server, tool, joint: None },
            Asked::ToolOnly(tool) => Query::ToolOnly(tool),
            Asked::ServerOnly(server) => Query::ServerOnly(server),
        };
        rank::rank(&corpus, query, Words::NONE, &recipe, limit)
    }

    /// Without graphs: every row is looked at.
    pub(crate) fn corpus(&self) -> Corpus<'_> {
        Corpus {
            server_texts: self.server_texts.iter().map(as_rows).collect(),
            tool_text: as_rows(&self.tool_text),
            tool_server: &self.tool_server,
            server_graph: None,
            tool_graph: None,
            allowed: None,
        }
    }

    fn n_servers(&self) -> usize {
        self.server_texts.first().map_or(0, Array2::nrows)
    }
}

fn as_rows(matrix: &Array2<f32>) -> Rows<'_> {
    Rows::new(matrix.ncols(), Numbers::F32(matrix.as_slice().unwrap())).unwrap()
}

/// A tool with the oracle's scores.
#[derive(Clone, Debug, PartialEq)]
struct Scored {
    tool: usize,
    server: usize,
    server_score: Option<f64>,
    tool_score: f64,
    score: f64,
}

/// All tools that may be returned, best first, and the servers looked at.
struct Expected {
    order: Vec<Scored>,
    pool: Vec<(usize, f64)>,
}

fn oracle(problem: &Problem, asked: &Asked, recipe: Recipe) -> Expected {
    let (pool, tool_query) = match asked {
        Asked::Both { server, tool } => (pool(problem, server, tool, recipe), tool),
        Asked::ServerOnly(server) => {
            let all = Recipe { n_servers: 10_000, n_owner_tools: 0, ..rank::MCP_ZERO };
            let mut ranked = pool(problem, server, server, all);
            // The best server that has tools.
            ranked.retain(|(id, _)| problem.tool_server.iter().any(|o| *o as usize == *id));
            ranked.truncate(1);
            (ranked, server)
        }
        Asked::ToolOnly(tool) => (Vec::new(), tool),
    };
    let mut order = Vec::new();
    for (tool, owner) in problem.tool_server.iter().enumerate() {
        let server = *owner as usize;
        let tool_score = cosine(&problem.tool_text.row(tool), tool_query).max(0.0);
        if matches!(asked, Asked::ToolOnly(_)) {
            let (server_score, score) = (None, tool_score);
            order.push(Scored { tool, server, server_score, tool_score, score });
        } else if let Some((_, of_server)) = pool.iter().find(|(id, _)| *id == server) {
            let score = (of_server * tool_score) * of_server.max(tool_score);
            let server_score = Some(*of_server);
            order.push(Scored { tool, server, server_score, tool_score, score });
        }
    }
    order.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.tool_score.total_cmp(&a.tool_score))
            .then(a.tool.cmp(&b.tool))
    });
    Expected { order, pool }
}

/// The best servers, then the owners of the best tools, each with s_server.
fn pool(problem: &Problem, server: &[f32], tool: &[f32], recipe: Recipe) -> Vec<(usize, f64)> {
    let mut servers = Vec::new();
    for id in 0..problem.n_servers() {
        let mut best = 0.0_f64;
        for text in &problem.server_texts {
            best = best.max(cosine(&text.row(id), server));
        }
        servers.push((id, best));
    }
    let mut tools = Vec::new();
    for id in 0..problem.tool_server.len() {
        tools.push((id, cosine(&problem.tool_text.row(id), tool).max(0.0)));
    }
    let best_first = |a: &(usize, f64), b: &(usize, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    tools.sort_by(best_first);
    let mut pool = servers.clone();
    pool.sort_by(best_first);
    pool.truncate(recipe.n_servers);
    for (tool, _) in tools.into_iter().take(recipe.n_owner_tools) {
        let owner = servers[problem.tool_server[tool] as usize];
        if !pool.contains(&owner) {
            pool.push(owner);
        }
    }
    pool
}

fn cosine(row: &ArrayView1<'_, f32>, query: &[f32]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in row.iter().zip(query) {
        sum += f64::from(*a) * f64::from(*b);
    }
    sum
}

/// How many of the ranked tools are tied in all but their id.
fn check(problem: &Problem, asked: &Asked, recipe: Recipe) -> usize {
    let expected = oracle(problem, asked, recipe);
    for limit in LIMITS {
        let found = problem.rank(asked, recipe, limit);
        let at = format!("{}, {recipe:?}, limit {limit}", problem.name);
        check_pool(&expected, &found, problem.tolerance, &at);
        assert_eq!(found.hits.len(), limit.min(expected.order.len()), "{at}");
        for (place, hit) in found.hits.iter().enumerate() {
            let at = format!("{at}, place {place}: {hit:?}");
            let same = expected.order.iter().find(|one| one.tool == hit.tool.row());
            assert!(same.is_some(), "{at}: not in the pool");
            let same = same.unwrap();
            let near = |found: f32, expected: f64| {
                assert!((f64::from(found) - expected).abs() <= problem.tolerance, "{at} {same:?}");
                assert!(found.is_sign_positive(), "{at}: a negative zero sorts below zero");
            };
            assert_eq!(hit.server.row(), same.server, "{at}");
            assert_eq!(hit.server_score.is_some(), same.server_score.is_some(), "{at}");
            near(hit.server_score.unwrap_or(0.0), same.server_score.unwrap_or(0.0));
            near(hit.tool_score, same.tool_score);
            near(hit.dense_score, same.score);
            near(hit.score, same.score);
            let wanted = &expected.order[place];
            assert!(may_swap(same, wanted, problem.tolerance), "{at}: expected {wanted:?}");
        }
    }
    let tied = |pair: &&[Scored]| {
        Scored { tool: 0, server: 0, ..pair[0].clone() }
            == Scored { tool: 0, server: 0, ..pair[1].clone() }
    };
    expected.order.windows(2).filter(tied).count()
}

fn check_pool(expected: &Expected, found: &Ranking, tolerance: f64, at: &str) {
    let servers: Vec<usize> = found.pool.iter().map(|pooled| pooled.server.row()).collect();
    let wanted: Vec<usize> = expected.pool.iter().map(|(server, _)| *server).collect();
    assert_eq!(servers, wanted, "{at}");
    for (place, (pooled, (_, score))) in found.pool.iter().zip(&expected.pool).enumerate() {
        assert!((f64::from(pooled.score) - score).abs() <= tolerance, "{at}: {pooled:?}");
        if let Reason::BestServer { rank } = pooled.reason {
            let only = found.pool.len() == 1;
            assert!(rank == place + 1 || only, "{at}: {pooled:?}");
        }
    }
}

/// The same tool, or one whose place only the rounding of f32 decides: a tie
/// in f64 is none of these, the rules say who comes first.
fn may_swap(found: &Scored, wanted: &Scored, tolerance: f64) -> bool {
    let cosine_noise = 0.3 * tolerance;
    // Both partial derivatives of the formula are at most 2·max².
    let largest = |one: &Scored| one.server_score.unwrap_or(1.0).max(one.tool_score);
    let noise = cosine_noise * 4.0 * largest(found).max(largest(wanted)).powi(2);
    let close = |a: f64, b: f64, noise: f64| (a - b).abs() > 0.0 && (a - b).abs() <= noise;
    found.tool == wanted.tool
        || close(found.score, wanted.score, noise)
        || (found.score.total_cmp(&wanted.score).is_eq()
            && close(found.tool_score, wanted.tool_score, cosine_noise))
}

fn check_all(problem: &Problem, all_asked: &[Asked]) -> usize {
    let mut n_tied = 0;
    for asked in all_asked {
        for recipe in RECIPES {
            n_tied += check(problem, asked, recipe);
        }
    }
    n_tied
}

/// `SplitMix64` (Steele et al. 2014): the same numbers everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    /// In [-1, 1].
    fn real(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / f64::from(u32::MAX) * 2.0 - 1.0
    }
}

/// Where rows and queries of a problem come from.
pub(crate) enum Kind {
    /// Around eight topics, so that cosines reach from -1 to 1.
    Real { topics: Vec<Vec<f32>>, dim: usize },
    /// Sixteen numbers of ±1/4, the others 0: every score is exact in f32.
    Exact { dim: usize },
}

impl Kind {
    pub(crate) fn real(random: &mut Random, dim: usize) -> Self {
        let topics = (0..8).map(|_| unit((0..dim).map(|_| random.real()))).collect();
        Self::Real { topics, dim }
    }

    fn dim(&self) -> usize {
        match self {
            Self::Real { dim, .. } | Self::Exact { dim } => *dim,
        }
    }

    pub(crate) fn vector(&self, random: &mut Random) -> Vec<f32> {
        match self {
            Self::Real { topics, dim } => {
                let topic = &topics[random.below(topics.len())];
                let sign = if random.below(4) == 0 { -1.0 } else { 1.0 };
                let spread = 2.0 / f64::from(u32::try_from(*dim).unwrap()).sqrt();
                unit(topic.iter().map(|t| sign * f64::from(*t) + spread * random.real()))
            }
            Self::Exact { dim } => {
                let mut vector = vec![0.0; *dim];
                let mut n_left = 16;
                while n_left > 0 {
                    let slot = &mut vector[random.below(*dim)];
                    if f32::abs(*slot) < 0.1 {
                        *slot = if random.below(3) == 0 { -0.25 } else { 0.25 };
                        n_left -= 1;
                    }
                }
                vector
            }
        }
    }

    /// One row in eight is absent, one in five a copy of one before it.
    fn matrix(&self, random: &mut Random, n_rows: usize) -> Array2<f32> {
        let mut matrix = Array2::zeros((n_rows, self.dim()));
        for row in 0..n_rows {
            let vector = match random.below(40) {
                0..5 => continue,
                5..13 if row > 0 => matrix.row(random.below(row)).to_vec(),
                _ => self.vector(random),
            };
            matrix.row_mut(row).assign(&ArrayView1::from(&vector));
        }
        matrix
    }

    /// Servers with three texts; tools on any of them, so that some have none.
    pub(crate) fn problem(&self, random: &mut Random, n_servers: usize, n_tools: usize) -> Problem {
        let owner = |random: &mut Random| u32::try_from(random.below(n_servers)).unwrap();
        let mut tool_server: Vec<u32> = (0..n_tools).map(|_| owner(random)).collect();
        tool_server.sort_unstable();
        let (family, tolerance) = match self {
            Self::Real { .. } => ("real", TOLERANCE),
            Self::Exact { .. } => ("exact", 0.0),
        };
        Problem {
            name: format!("{family}: {n_servers} servers, {n_tools} tools, dim {}", self.dim()),
            server_texts: (0..3).map(|_| self.matrix(random, n_servers)).collect(),
            tool_text: self.matrix(random, n_tools),
            tool_server,
            tolerance,
        }
    }

    /// Fresh vectors, rows of the problem, and their opposites.
    pub(crate) fn asked(&self, random: &mut Random, problem: &Problem) -> Vec<Asked> {
        let mut vectors = vec![self.vector(random), self.vector(random)];
        for matrix in [&problem.server_texts[0], &problem.tool_text] {
            if let Some(row) = matrix.outer_iter().find(|row| row.iter().any(|v| v.abs() > 0.0)) {
                vectors.push(row.to_vec());
                vectors.push(row.iter().map(|v| -v).collect());
            }
        }
        let mut all = Vec::new();
        for (n, server) in vectors.iter().enumerate() {
            all.push(Asked::ServerOnly(server.clone()));
            all.push(Asked::ToolOnly(server.clone()));
            for tool in &vectors[n..] {
                all.push(Asked::Both { server: server.clone(), tool: tool.clone() });
            }
        }
        all
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the quotient is in [-1, 1]")]
fn unit(values: impl Iterator<Item = f64>) -> Vec<f32> {
    let values: Vec<f64> = values.collect();
    let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
    values.iter().map(|value| (value / norm) as f32).collect()
}

/// A second opinion at random: a third of the tools share a word.
fn opinion(random: &mut Random, n_tools: usize) -> (Vec<f32>, Vec<(ToolId, f32)>) {
    let score = |random: &mut Random| match random.below(3) {
        0 => f32::from(u16::try_from(1 + random.below(900)).unwrap()) / 100.0,
        _ => 0.0,
    };
    let scores: Vec<f32> = (0..n_tools).map(|_| score(random)).collect();
    let ids = (0..).map(ToolId);
    let mut best: Vec<(ToolId, f32)> = ids.zip(scores.iter().copied()).collect();
    best.retain(|(_, score)| *score > 0.0);
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    (scores, best)
}

/// `scout` in full: owners by tool, joint and words; the weighted mean.
#[test]
fn scout_is_the_weighted_mean_of_its_parts() {
    for (seed, (n_servers, n_tools, dim)) in
        [(1, 5, 16), (6, 40, 32), (60, 300, 64), (200, 900, 48)].into_iter().enumerate()
    {
        let mut random = Random(500 + seed as u64);
        let kind = Kind::real(&mut random, dim);
        let problem = kind.problem(&mut random, n_servers, n_tools);
        let (server, tool, joint) =
            (kind.vector(&mut random), kind.vector(&mut random), kind.vector(&mut random));
        let (scores, best) = opinion(&mut random, n_tools);
        assert_eq!(rank::best_by_words(&scores, n_tools), best);
        let corpus = problem.corpus();
        let contradicts = |tool: ToolId| tool.0 % 3 == 1;
        let words =
            Words { best: &best, scores: &scores, is_named: &|_| false, contradicts: &contradicts };
        let query = Query::Both { server: &server, tool: &tool, joint: Some(&joint) };
        let found = rank::rank(&corpus, query, words, &rank::SCOUT, 10_000);

        let mut owners = pool(&problem, &server, &tool, WIDE);
        let by_joint = pool(&problem, &server, &joint, WIDE);
        let all = pool(&problem, &server, &tool, Recipe { n_servers, ..WIDE });
        let by_words = best.iter().take(20).map(|(tool, _)| problem.tool_server[tool.row()]);
        let by_words = by_words.map(|id| *all.iter().find(|one| one.0 == id as usize).unwrap());
        for owner in by_joint.into_iter().chain(by_words) {
            if !owners.iter().any(|(id, _)| *id == owner.0) {
                owners.push(owner);
            }
        }
        let most = best.first().map_or(1.0, |(_, score)| f64::from(*score));
        let mut expected = Vec::new();
        for (tool_row, owner) in problem.tool_server.iter().enumerate() {
            let Some((_, s)) = owners.iter().find(|(id, _)| *id == *owner as usize) else {
                continue;
            };
            let t = cosine(&problem.tool_text.row(tool_row), &tool).max(0.0);
            let j = cosine(&problem.tool_text.row(tool_row), &joint).max(0.0);
            let dense = (s * t) * s.max(t);
            let cost = if tool_row % 3 == 1 { 0.15 } else { 0.0 };
            let sum = dense + t + j + 0.4 * f64::from(scores[tool_row]) / most - cost;
            let mean = sum.max(0.0) / 3.4;
            expected.push((tool_row, mean));
        }
        lift_vectorless(&problem, &mut expected, |row| f64::from(scores[row]) / most);
        assert_eq!(found.hits.len(), expected.len());
        let mut last = f32::INFINITY;
        for hit in &found.hits {
            let (_, mean) = expected.iter().find(|(row, _)| *row == hit.tool.row()).unwrap();
            assert!((f64::from(hit.score) - mean).abs() < TOLERANCE, "{hit:?}, expected {mean}");
            assert!(hit.score <= last, "{hit:?} after {last}");
            last = hit.score;
        }
    }
}

/// A tool without a vector that does not contradict stands by its words, on the
/// scale of the best.
fn lift_vectorless(problem: &Problem, expected: &mut [(usize, f64)], words: impl Fn(usize) -> f64) {
    let best = expected.iter().map(|(_, mean)| *mean).fold(0.0, f64::max);
    for (row, mean) in expected {
        let has_vector = problem.tool_text.row(*row).iter().any(|x| *x != 0.0);
        if !has_vector && *row % 3 != 1 {
            *mean = mean.max(best * words(*row));
        }
    }
}

/// The tests take their widths from the recipes; this one holds the paper's.
#[test]
fn the_paper_keeps_five_servers_and_nothing_else() {
    let alone = Recipe {
        n_servers: 5,
        n_owner_tools: 0,
        n_owner_words: 0,
        dense: 1.0,
        tool: 0.0,
        joint: 0.0,
        words: 0.0,
        plain_words: 0.0,
        contradiction: 0.0,
    };
    assert_eq!(rank::MCP_ZERO, alone);
}

#[test]
fn real_vectors_rank_as_the_oracle_says() {
    for (seed, (n_servers, n_tools, dim)) in [
        (1, 0, 8),
        (1, 1, 4),
        (1, 30, 16),
        (3, 2, 5),
        (4, 40, 33),
        (5, 25, 64),
        (6, 7, 100),
        (40, 90, 256),
        (120, 700, 384),
        (300, 1_200, 48),
    ]
    .into_iter()
    .enumerate()
    {
        let mut random = Random(seed as u64);
        let kind = Kind::real(&mut random, dim);
        let problem = kind.problem(&mut random, n_servers, n_tools);
        let asked = kind.asked(&mut random, &problem);
        check_all(&problem, &asked);
    }
}

#[test]
fn ties_go_to_the_higher_tool_score_then_to_the_lower_id() {
    let mut n_tied = 0;
    for (seed, (n_servers, n_tools)) in
        [(1, 0), (1, 9), (2, 60), (4, 30), (5, 5), (9, 80), (60, 60), (150, 800)]
            .into_iter()
            .enumerate()
    {
        let mut random = Random(1_000 + seed as u64);
        let kind = Kind::Exact { dim: 24 };
        let problem = kind.problem(&mut random, n_servers, n_tools);
        let asked = kind.asked(&mut random, &problem);
        n_tied += check_all(&problem, &asked);
    }
    assert!(n_tied > 10_000, "{n_tied} ties are too few to say much");
}

#[test]
fn absent_texts_and_empty_corpora_rank_as_the_oracle_says() {
    let mut random = Random(7);
    let kind = Kind::real(&mut random, 12);
    let mut bare = kind.problem(&mut random, 7, 50);
    let asked = kind.asked(&mut random, &bare);
    bare.server_texts[0].fill(0.0);
    bare.server_texts[1].fill(0.0);
    bare.server_texts[2].row_mut(3).fill(0.0);
    check_all(&bare, &asked);
    bare.server_texts[2].fill(0.0);
    check_all(&bare, &asked);
    bare.tool_text.fill(0.0);
    check_all(&bare, &asked);
    bare.server_texts.truncate(1);
    check_all(&bare, &asked);
    let nothing = Problem {
        name: "nothing".to_owned(),
        server_texts: vec![Array2::zeros((0, 12)); 2],
        tool_text: Array2::zeros((0, 12)),
        tool_server: Vec::new(),
        tolerance: 0.0,
    };
    check_all(&nothing, &asked);
}

/// The vectors that MCP-Zero's authors computed: one server, 26 tools,
/// text-embedding-3-large; absent where the shared data is.
///
/// The second problem makes six servers of it, each with every sixth tool and
/// with mixes of its tools for texts, so that stage 1 has a choice.
pub(crate) fn paper() -> Option<(Vec<Problem>, Vec<Asked>)> {
    let path = support::shared("data/raw/mcp-zero/mcp_tools_with_embedding.github-only.json")?;
    let record: Value = serde_json::from_slice(&fs_err::read(path).unwrap()).unwrap();
    let vector = |value: &Value| unit(value.as_array().unwrap().iter().map(number));
    let texts: Vec<Vec<f32>> = ["description_embedding", "summary_embedding"]
        .iter()
        .map(|name| vector(&record[0][name]))
        .collect();
    let tools = record[0]["tools"].as_array().unwrap();
    let tools: Vec<Vec<f32>> = tools.iter().map(|t| vector(&t["description_embedding"])).collect();
    assert_eq!((tools.len(), tools[0].len()), (26, 3072));
    // Not half and half: that would be as near to the one as to the other, a
    // tie that rounding alone decides.
    let mix = |a: &[f32], b: &[f32]| {
        unit(a.iter().zip(b).map(|(a, b)| 2.0 * f64::from(*a) + f64::from(*b)))
    };
    let one = Problem {
        name: "the paper's vectors".to_owned(),
        server_texts: texts.iter().map(|text| rows(std::slice::from_ref(text))).collect(),
        tool_text: rows(&tools),
        tool_server: vec![0; tools.len()],
        tolerance: TOLERANCE,
    };
    let by_owner: Vec<Vec<f32>> =
        (0..6).flat_map(|owner| tools.iter().skip(owner).step_by(6).cloned()).collect();
    let tool_server: Vec<u32> =
        (0..6).flat_map(|owner| (owner..26).step_by(6).map(move |_| owner)).collect();
    let text_of = |skip: usize| {
        let text = |owner: usize| mix(&tools[owner + skip], &texts[owner % 2]);
        rows(&(0..6).map(text).collect::<Vec<_>>())
    };
    let six = Problem {
        name: "the paper's vectors, on six servers".to_owned(),
        server_texts: vec![text_of(0), text_of(6), text_of(12)],
        tool_text: rows(&by_owner),
        tool_server,
        tolerance: TOLERANCE,
    };
    let mut asked = Vec::new();
    for (n, tool) in tools.iter().enumerate() {
        let mixed = mix(tool, &tools[(n * 7 + 3) % tools.len()]);
        let server = texts[n % 2].clone();
        asked.push(Asked::ToolOnly(tool.clone()));
        asked.push(Asked::ToolOnly(mixed.clone()));
        asked.push(Asked::ServerOnly(mix(tool, &server)));
        asked.push(Asked::Both { server: mix(&mixed, &server), tool: mixed });
        asked.push(Asked::Both { server, tool: tool.clone() });
    }
    asked.extend(texts.into_iter().map(Asked::ServerOnly));
    Some((vec![one, six], asked))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn rows(vectors: &[Vec<f32>]) -> Array2<f32> {
    let dim = vectors.first().map_or(0, Vec::len);
    Array2::from_shape_vec((vectors.len(), dim), vectors.concat()).unwrap()
}

#[test]
fn the_vectors_of_the_paper_rank_as_the_oracle_says() {
    let Some((problems, asked)) = paper() else { return };
    for problem in &problems {
        check_all(problem, &asked);
        // A tool asked for in its own words comes first.
        for (n, row) in problem.tool_text.outer_iter().enumerate() {
            let first = problem.rank(&Asked::ToolOnly(row.to_vec()), rank::SCOUT, 1).hits[0];
            assert_eq!(first.tool.row(), n, "{}", problem.name);
            assert!((first.tool_score - 1.0).abs() < 1e-5);
        }
    }
}

//! What a large index costs and finds: tables for `eval/reports/size.md`.
//!
//! Rows are made of real ones: a point between a row of an index and one of its
//! ten nearest, and noise, normalised. Requests are real texts, embedded with
//! the model of that index. Times are of one thread, beside what it waited for.
//!
//! usage: cargo bench --bench size -- HOME FROM REQUESTS DIR N [PRECISION]
//!
//! HOME has models and cache; FROM is an index to take rows of; REQUESTS is a
//! folder of JSONL files with `request.server` and `request.tool`; DIR keeps the
//! index of N tools, so that a second run measures without building. With an
//! index that is there already, DIR is measured and N means nothing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench may panic, prints its tables, and counts nothing beyond 2^24"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cpu_time::{ProcessTime, ThreadTime};
use ndarray::{Array2, ArrayView1, ArrayView2};
use toolscout::embed::{CachedEmbedder, Embedder, OnnxEmbedder};
use toolscout::index::{
    BuildLock, Draft, Index, Matrix, Neighbors, ServerRecord, Storage, Surface, SurfaceTokens,
    ToolRecord,
};
use toolscout::models::{self, ModelStore};
use toolscout::rank::{self, Corpus, Query, Words};
use toolscout::vectors::{Packed, Precision, Rows};

/// Length of the noise in a row, beside 1 of the real part: with it, requests
/// lie among made rows as they do among real ones (`eval/reports/size.md`).
const NOISE: f64 = 0.1;
/// Of a real row, between which and it the made ones lie.
const N_NEAR: usize = 10;
const TOOLS_A_SERVER: usize = 10;
const BEAMS: [usize; 6] = [100, 200, 300, 400, 600, 800];
/// As the ranking asks: five rows of the graph for each of the twenty voters.
const VOTERS: usize = 20;
const ASKED: usize = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let [home, from, requests, dir, n_tools, rest @ ..] = &arguments[..] else {
        println!("usage: size HOME FROM REQUESTS DIR N [f32|f16|int8]; see the top of the file");
        return;
    };
    let real = Index::open(Path::new(from)).unwrap();
    kernels(&real);
    let requests = embedded(Path::new(home), &real, Path::new(requests));
    let (dir, n_tools) = (Path::new(dir), n_tools.parse().unwrap());
    if Index::open(dir).is_err() {
        let precision = match rest.first().map(String::as_str) {
            Some("f16") => Precision::F16,
            Some("int8") => Precision::Int8,
            _ => Precision::F32,
        };
        build(&real, dir, n_tools, precision);
        println!("\nrun again to measure the search in a fresh process");
        return;
    }
    let start = Instant::now();
    let index = Index::open(dir).unwrap();
    println!("\nopen {:?}", start.elapsed());
    let start = Instant::now();
    index.verify().unwrap();
    println!("verify {:?}", start.elapsed());
    votes(&index, &requests);
    rankings(&index, &requests);
    memory("after all");
}

/// Vectors of a request: server, tool, joint.
type Request = [Vec<f32>; 3];

fn embedded(home: &Path, real: &Index, requests: &Path) -> Vec<Request> {
    let mut files: Vec<PathBuf> =
        fs_err::read_dir(requests).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let lines = files.iter().map(|file| fs_err::read_to_string(file).unwrap());
    let mut texts = Vec::new();
    for line in lines.collect::<String>().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let part = |name: &str| Some(line["request"][name].as_str()?.to_owned());
        if let (Some(server), Some(tool)) = (part("server"), part("tool")) {
            texts.push([server.clone(), tool.clone(), format!("{server}: {tool}")]);
        }
    }
    texts.sort();
    texts.dedup();
    let store = ModelStore::new(home.join("models"));
    let model = models::find(&real.manifest().embedder.model).unwrap();
    let embedder = OnnxEmbedder::load(&store, model).unwrap();
    let embedder = CachedEmbedder::new(embedder, &home.join("index/cache"));
    let flat: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    let vectors = embedder.embed(&flat).unwrap();
    let vectors: Vec<Vec<f32>> =
        vectors.into_iter().map(|vector| vector.unwrap().as_slice().to_vec()).collect();
    vectors.chunks(3).map(|three| three.to_vec().try_into().unwrap()).collect()
}

/// One pass over the real tool texts: every kernel, and `ndarray`'s.
fn kernels(real: &Index) {
    let rows = real.rows(Matrix::ToolText).unwrap();
    let (n, dim) = (rows.n_rows(), rows.dim());
    let numbers: Vec<f32> = (0..n).flat_map(|row| rows.to_f32(row)).collect();
    let query = rows.to_f32(0);
    println!("one pass over {n} × {dim}, median of 400:");
    let time = |name: &str, pass: &dyn Fn() -> f32| {
        let times = (0..400).map(|_| {
            let start = ThreadTime::now();
            std::hint::black_box(pass());
            start.elapsed()
        });
        let median = quantile(times.collect(), 0.5);
        println!(
            "  {name:<12} {median:>10.1?}  {:.1} ns a row",
            median.as_secs_f64() * 1e9 / n as f64
        );
    };
    let matrix = ArrayView2::from_shape((n, dim), &numbers).unwrap();
    time("ndarray", &|| matrix.dot(&ArrayView1::from(&query)).sum());
    for precision in [Precision::F32, Precision::F16, Precision::Int8] {
        let packed = Packed::new(&numbers, dim, precision);
        let rows = packed.rows(dim).unwrap();
        time(&format!("{precision:?}"), &|| rows.cosines([&query])[0].iter().sum());
    }
}

/// Builds the index of `n_tools` made tools, as `index build` does.
fn build(real: &Index, dir: &Path, n_tools: usize, precision: Precision) {
    let n_servers = n_tools.div_ceil(TOOLS_A_SERVER);
    let start = Instant::now();
    let made = |kind: Matrix, n: usize, seed: u64| (kind, made(real.rows(kind).unwrap(), n, seed));
    let servers =
        [Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest].into_iter();
    let mut matrices: BTreeMap<Matrix, Array2<f32>> =
        servers.zip(1..).map(|(kind, seed)| made(kind, n_servers, seed)).collect();
    matrices.extend([made(Matrix::ToolText, n_tools, 4)]);
    let server = |n: usize| ServerRecord {
        name: format!("server {n}"),
        description: String::new(),
        summary: String::new(),
        url: None,
        digest: String::new(),
        n_tools: TOOLS_A_SERVER,
    };
    let tool = |n: usize| ToolRecord {
        exposed: format!("tool_{n}"),
        server: format!("server {}", n / TOOLS_A_SERVER),
        name: format!("tool_{n}"),
        title: None,
        description: String::new(),
        input_schema: None,
        output_schema: None,
        annotations: None,
    };
    let manifest = real.manifest();
    let draft = Draft {
        servers: (0..n_servers).map(server).collect(),
        tools: (0..n_tools).map(tool).collect(),
        tool_server: (0..n_tools).map(|n| u32::try_from(n / TOOLS_A_SERVER).unwrap()).collect(),
        words: vec!["tool".to_owned(); n_tools],
        matrices,
        storage: Storage { precision, ..Storage::default() },
        absent: BTreeMap::new(),
        embedder: manifest.embedder.clone(),
        remote: None,
        runtime: manifest.runtime.clone(),
        sources: Vec::new(),
        rejected: Vec::new(),
        warnings: Vec::new(),
    };
    println!("\nmade {n_servers} servers and {n_tools} tools in {:.1?}", start.elapsed());
    memory("with the draft");
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    let lock = BuildLock::acquire(dir, || ()).unwrap();
    toolscout::index::write(dir, &lock, &draft, surface).unwrap();
    println!("wrote it in {:.1?}, {:.1?} of processors", start.elapsed(), cpu.elapsed());
    memory("after the build");
    for (name, file) in &Index::open(dir).unwrap().manifest().files {
        println!("  {name:<24} {:>8.1} MB", file.bytes as f64 / 1e6);
    }
}

fn surface(draft: &Draft) -> Surface {
    Surface {
        instructions: String::new(),
        tool_description: String::new(),
        n_servers: draft.servers.len(),
        n_tools: draft.tools.len(),
        tokens: SurfaceTokens::default(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the quotients are in [-1, 1]")]
fn made(real: Rows<'_>, n: usize, seed: u64) -> Array2<f32> {
    let dim = real.dim();
    let mut sources: Vec<Vec<f32>> = (0..real.n_rows())
        .filter(|row| real.norm(*row) > 0.0)
        .map(|row| real.to_f32(row))
        .collect();
    sources.sort_by(|a, b| a.partial_cmp(b).unwrap());
    sources.dedup();
    let near = nearest(&sources.concat(), dim);
    let mut random = Random(seed);
    let mut numbers = Vec::with_capacity(n * dim);
    for _ in 0..n {
        let a = random.below(sources.len());
        let b = near[a][random.below(near[a].len())];
        let weight = 0.5 + 0.5 * random.unit();
        let noise = NOISE / (dim as f64).sqrt();
        let pairs = sources[a].iter().zip(&sources[b]);
        let mixed: Vec<f64> = pairs
            .map(|(a, b)| {
                weight * f64::from(*a) + (1.0 - weight) * f64::from(*b) + noise * random.normal()
            })
            .collect();
        let norm = mixed.iter().map(|number| number * number).sum::<f64>().sqrt();
        numbers.extend(mixed.iter().map(|number| (number / norm) as f32));
    }
    Array2::from_shape_vec((n, dim), numbers).unwrap()
}

/// The nearest others of each row.
fn nearest(numbers: &[f32], dim: usize) -> Vec<Vec<usize>> {
    let packed = Packed::new(numbers, dim, Precision::F32);
    let rows = packed.rows(dim).unwrap();
    let of = |row: usize| {
        let [cosines] = rows.cosines([&numbers[row * dim..(row + 1) * dim]]);
        let others = cosines.into_iter().zip(0..).filter(|(_, other)| *other != row);
        let best = rank::top_k(others, N_NEAR, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        best.into_iter().map(|(_, other)| other).collect()
    };
    (0..rows.n_rows()).map(of).collect()
}

/// Recall@20 of the vote by tool text and by joint text, at several beams.
fn votes(index: &Index, requests: &[Request]) {
    let rows = index.rows(Matrix::ToolText).unwrap();
    let Some(graph) = index.graph(Neighbors::Tools) else {
        println!("no graph of tools");
        return;
    };
    let best = |query: &[f32], found: &mut dyn Iterator<Item = usize>| -> Vec<usize> {
        let mut scored: Vec<(f32, usize)> =
            found.map(|row| (rows.cosine(row, query), row)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        scored.into_iter().take(VOTERS).map(|(_, row)| row).collect()
    };
    let queries: Vec<&Vec<f32>> = requests.iter().step_by(2).flat_map(|one| &one[1..]).collect();
    let (mut exact, mut times) = (Vec::new(), Vec::new());
    for query in &queries {
        let (cpu, [cosines]) = (ThreadTime::now(), rows.cosines([query]));
        times.push(cpu.elapsed());
        let last = rank::top_k(cosines, VOTERS, |a, b| b.total_cmp(a)).pop().unwrap();
        let mut near = (0..rows.n_rows()).filter(|row| rows.cosine(*row, query) >= last);
        exact.push(best(query, &mut near));
    }
    println!("\nthe vote of {VOTERS}, {} requests; every row: {}", queries.len(), spread(times));
    for beam in BEAMS {
        let (mut n_found, mut cpu_times, mut times) = (0, Vec::new(), Vec::new());
        for (query, exact) in queries.iter().zip(&exact) {
            let (start, cpu) = (Instant::now(), ThreadTime::now());
            let found = best(query, &mut graph.nearest_within(query, ASKED, beam).into_iter());
            cpu_times.push(cpu.elapsed());
            times.push(start.elapsed());
            n_found += exact.iter().filter(|row| found.contains(row)).count();
        }
        let recall = n_found as f64 / (VOTERS * queries.len()) as f64;
        let (cpu, wall) = (spread(cpu_times), spread(times));
        println!("  beam {beam:<4} recall@{VOTERS} {recall:.4}  {cpu}; with waiting {wall}");
    }
}

/// Stages 1 and 2 without words: by graphs, and with a look at every row.
fn rankings(index: &Index, requests: &[Request]) {
    let texts = [Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest];
    let by_graph = Corpus {
        server_texts: texts.iter().filter_map(|kind| index.rows(*kind)).collect(),
        tool_text: index.rows(Matrix::ToolText).unwrap(),
        tool_server: index.tool_server(),
        server_graph: index.graph(Neighbors::Servers),
        tool_graph: index.graph(Neighbors::Tools),
    };
    let exact = Corpus { server_graph: None, tool_graph: None, ..by_graph.clone() };
    compare("server and tool", [&by_graph, &exact], requests, both);
    compare("tool alone", [&by_graph, &exact], requests, flat);
}

fn both([server, tool, joint]: &Request) -> Query<'_> {
    Query::Both { server, tool, joint: Some(joint) }
}

fn flat([_, tool, _]: &Request) -> Query<'_> {
    Query::ToolOnly(tool)
}

fn compare(
    name: &str,
    [by_graph, exact]: [&Corpus<'_>; 2],
    requests: &[Request],
    query: fn(&Request) -> Query<'_>,
) {
    let run = |corpus: &Corpus<'_>, requests: &mut dyn Iterator<Item = &Request>| {
        let (mut tops, mut cpu_times, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for request in requests {
            let (start, cpu) = (Instant::now(), ThreadTime::now());
            let ranking = rank::rank(corpus, query(request), Words::NONE, &rank::SCOUT, VOTERS);
            cpu_times.push(cpu.elapsed());
            times.push(start.elapsed());
            tops.push(ranking.hits.iter().map(|hit| hit.tool).collect::<Vec<_>>());
        }
        println!("  {}; with waiting {}", spread(cpu_times), spread(times));
        tops
    };
    println!("\nrank, {name}: by graphs, then every row (a tenth of the requests)");
    let found = run(by_graph, &mut requests.iter());
    let expected = run(exact, &mut requests.iter().step_by(10));
    for n in [1, 3, VOTERS] {
        let pairs = found.iter().step_by(10).zip(&expected);
        let same = pairs.map(|(found, expected)| {
            expected
                .iter()
                .take(n)
                .filter(|tool| found[..n.min(found.len())].contains(tool))
                .count()
        });
        let same = same.sum::<usize>() as f64 / (n * expected.len()) as f64;
        println!("  of the first {n:<2} of all: {same:.4}");
    }
}

fn spread(times: Vec<Duration>) -> String {
    let (p50, p95) = (quantile(times.clone(), 0.5), quantile(times, 0.95));
    format!("p50 {p50:.3?} p95 {p95:.3?}")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the length")]
fn quantile(mut times: Vec<Duration>, at: f64) -> Duration {
    times.sort();
    times[((times.len() - 1) as f64 * at) as usize]
}

/// Memory of this process: all, its peak, and what is no mapped file.
fn memory(when: &str) {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let parts = status
        .lines()
        .filter(|line| ["VmHWM", "VmRSS", "RssAnon"].iter().any(|name| line.starts_with(name)));
    let parts: Vec<String> =
        parts.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    println!("memory {when}: {}", parts.join(", "));
}

/// `SplitMix64` (Steele et al. 2014): the same numbers everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / 4_294_967_296.0
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(n).unwrap()).unwrap()
    }

    /// Box and Muller (1958).
    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

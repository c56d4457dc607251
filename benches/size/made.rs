//! A large index made of a real one: vectors and words between real ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use ndarray::Array2;
use toolscout::catalog::{ToolId, words};
use toolscout::index::{
    BuildLock, Draft, Index, Matrix, ServerRecord, Storage, Surface, SurfaceTokens, ToolRecord,
};
use toolscout::rank;
use toolscout::vectors::{Packed, Precision, Rows};

use crate::memory;

/// Length of the noise in a row, beside 1 of the real part: with it, requests
/// lie among made rows as they do among real ones (`eval/reports/size.md`).
const NOISE: f64 = 0.1;
/// Of a real row, between which and it the made ones lie.
const N_NEAR: usize = 10;
const TOOLS_A_SERVER: usize = 10;

/// Builds the index of `n_tools` made tools, as `index build` does.
pub(crate) fn build(real: &Index, dir: &Path, n_tools: usize, precision: Precision) {
    let start = Instant::now();
    let draft = draft(real, n_tools, precision);
    let n_servers = draft.servers.len();
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

fn draft(real: &Index, n_tools: usize, precision: Precision) -> Draft {
    let n_servers = n_tools.div_ceil(TOOLS_A_SERVER);
    let made = |kind: Matrix, n: usize, seed: u64| made(real.rows(kind).unwrap(), n, seed);
    let servers =
        [Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest].into_iter();
    let mut matrices: BTreeMap<Matrix, Array2<f32>> =
        servers.zip(1..).map(|(kind, seed)| (kind, made(kind, n_servers, seed).0)).collect();
    let (tool_text, origins) = made(Matrix::ToolText, n_tools, 4);
    matrices.insert(Matrix::ToolText, tool_text);
    let descriptions = descriptions(real, &origins);
    let server = |n: usize| ServerRecord {
        name: format!("server {n}"),
        description: String::new(),
        summary: String::new(),
        url: None,
        digest: String::new(),
        n_tools: TOOLS_A_SERVER,
        entry: None,
    };
    let tool = |n: usize| ToolRecord {
        exposed: format!("tool_{n}"),
        server: format!("server {}", n / TOOLS_A_SERVER),
        name: format!("tool_{n}"),
        title: None,
        description: descriptions[n].clone(),
        input_schema: None,
        output_schema: None,
        annotations: None,
    };
    let manifest = real.manifest();
    Draft {
        servers: (0..n_servers).map(server).collect(),
        tools: (0..n_tools).map(tool).collect(),
        tool_server: (0..n_tools).map(|n| u32::try_from(n / TOOLS_A_SERVER).unwrap()).collect(),
        tool_operation: vec![0; n_tools],
        words: descriptions,
        matrices,
        storage: Storage { precision, ..Storage::default() },
        absent: BTreeMap::new(),
        embedder: manifest.embedder.clone(),
        remote: None,
        summarizer: None,
        runtime: manifest.runtime.clone(),
        sources: Vec::new(),
        rejected: Vec::new(),
        warnings: Vec::new(),
        stale: Vec::new(),
        pins: None,
        withheld: Vec::new(),
    }
}

/// What each tool says: words of both tools that it lies between.
fn descriptions(real: &Index, origins: &[Origin]) -> Vec<String> {
    let tool_of = |row: usize| real.tool(ToolId(u32::try_from(row).unwrap())).unwrap();
    let mut random = Random(5);
    let one = |origin: &Origin| {
        let [near, far] = [origin.near, origin.far].map(|row| words_of(&tool_of(row)));
        mixed(&near, &far, origin.weight, &mut random)
    };
    origins.iter().map(one).collect()
}

/// What search by words reads of a tool, but for its parameters.
fn words_of(tool: &ToolRecord) -> String {
    format!("{} {}: {}", tool.server, words(&tool.name), tool.description)
}

/// Each word of `near` with the weight of its row, each of `far` with the rest.
fn mixed(near: &str, far: &str, weight: f64, random: &mut Random) -> String {
    let mut kept: Vec<&str> = Vec::new();
    kept.extend(near.split_whitespace().filter(|_| random.unit() < weight));
    kept.extend(far.split_whitespace().filter(|_| random.unit() >= weight));
    kept.join(" ")
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

/// The two real rows that a made one lies between.
struct Origin {
    near: usize,
    far: usize,
    /// Of the nearer, at least one half.
    weight: f64,
}

/// `n` made rows and what each is made of.
#[expect(clippy::cast_possible_truncation, reason = "the quotients are in [-1, 1]")]
fn made(real: Rows<'_>, n: usize, seed: u64) -> (Array2<f32>, Vec<Origin>) {
    let dim = real.dim();
    let mut sources: Vec<(Vec<f32>, usize)> = (0..real.n_rows())
        .filter(|row| real.norm(*row) > 0.0)
        .map(|row| (real.to_f32(row), row))
        .collect();
    sources.sort_by(|a, b| a.partial_cmp(b).unwrap());
    sources.dedup_by(|a, b| a.0 == b.0);
    let (sources, rows): (Vec<Vec<f32>>, Vec<usize>) = sources.into_iter().unzip();
    let near = nearest(&sources.concat(), dim);
    let mut random = Random(seed);
    let (mut numbers, mut origins) = (Vec::with_capacity(n * dim), Vec::with_capacity(n));
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
        origins.push(Origin { near: rows[a], far: rows[b], weight });
    }
    (Array2::from_shape_vec((n, dim), numbers).unwrap(), origins)
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

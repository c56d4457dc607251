//! What a large index costs and finds: tables for `eval/reports/size.md`.
//!
//! Rows are made of real ones: a point between a row of an index and one of its
//! ten nearest, and noise, normalised. Requests are real texts, embedded with
//! the model of that index. Times are of one thread, beside what it waited for;
//! where words are looked up, other threads help, and only the second counts.
//!
//! usage: cargo bench --bench size -- HOME FROM REQUESTS DIR N [PRECISION] [again]
//!
//! HOME has models and cache; FROM is an index to take rows of; REQUESTS is a
//! folder of JSONL files with `request.server` and `request.tool`; DIR keeps the
//! index of N tools, so that a second run measures without building. With an
//! index that is there already, DIR is measured and N means nothing, unless
//! `again` builds over it: equal vectors keep their graphs.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench may panic, prints its tables, and counts nothing beyond 2^24"
)]

mod made;
mod rankings;
mod votes;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use ndarray::{ArrayView1, ArrayView2};
use toolscout::embed::{CachedEmbedder, Embedder, OnnxEmbedder};
use toolscout::index::{Index, Matrix};
use toolscout::models::{self, ModelStore};
use toolscout::vectors::{Packed, Precision};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let [home, from, requests, dir, n_tools, rest @ ..] = &arguments[..] else {
        println!(
            "usage: size HOME FROM REQUESTS DIR N [f32|f16|int8] [again]; see the top of the file"
        );
        return;
    };
    let real = Index::open(Path::new(from)).unwrap();
    kernels(&real);
    let requests = embedded(Path::new(home), &real, Path::new(requests));
    rankings::precisions(&real, &requests);
    let (dir, n_tools) = (Path::new(dir), n_tools.parse().unwrap());
    let is_asked = |word: &str| rest.iter().any(|one| one == word);
    if Index::open(dir).is_err() || is_asked("again") {
        let precision = match () {
            () if is_asked("f16") => Precision::F16,
            () if is_asked("int8") => Precision::Int8,
            () => Precision::F32,
        };
        made::build(&real, dir, n_tools, precision);
        println!("\nrun again to measure the search in a fresh process");
        return;
    }
    let start = Instant::now();
    let index = Index::open(dir).unwrap();
    println!("\nopen {:?}", start.elapsed());
    let start = Instant::now();
    index.verify().unwrap();
    println!("verify {:?}", start.elapsed());
    votes::votes(&index, &requests);
    rankings::rankings(&index, &requests);
    memory("after all");
}

/// Texts of a request and their vectors: server, tool, joint.
struct Request {
    texts: [String; 3],
    vectors: [Vec<f32>; 3],
}

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
    let vectors = vectors.chunks(3).map(|three| three.to_vec().try_into().unwrap());
    texts.into_iter().zip(vectors).map(|(texts, vectors)| Request { texts, vectors }).collect()
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

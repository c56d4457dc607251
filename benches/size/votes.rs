//! The vote of the nearest tools: what a graph finds, and in what time.

use std::time::Instant;

use cpu_time::ThreadTime;
use toolscout::index::{Index, Matrix, Neighbors};
use toolscout::rank;

use crate::{Request, spread};

const BEAMS: [usize; 6] = [100, 200, 300, 400, 600, 800];
/// As the ranking asks: five rows of the graph for each of the twenty voters.
pub(crate) const VOTERS: usize = 20;
const ASKED: usize = 100;

/// Recall@20 of the vote by tool text and by joint text, at several beams.
pub(crate) fn votes(index: &Index, requests: &[Request]) {
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
    let queries: Vec<&Vec<f32>> =
        requests.iter().step_by(2).flat_map(|one| &one.vectors[1..]).collect();
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

//! A needle among many tools: the paper's grid, and accuracy as a pool grows.
//!
//! The grid is self-retrieval, a tool asked for in its own words: it shows
//! that nothing is lost on the way, not that requests are understood. The
//! growth curve asks written requests of ever larger pools.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::EvalError;
use super::arms::Arm;
use super::bench::Bench;
use super::bench::{self};
use super::cases::Labels;
use super::cases::{Case, Name};
use super::metrics::float;
use super::results::{Run, SEED};
use super::run::{self};
use super::suite::Suite;
use crate::catalog::Server;
use crate::embed::Embedder;

/// Sizes and positions of the grid (xfey/MCP-Zero, MCP-zero/utils.py,
/// `generate_grid_search_params(20, 50, n)`).
const N_POSITIONS: u32 = 20;
const N_SIZES: u32 = 50;

/// One point of the grid.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Name of the arm.
    pub arm: String,
    /// Tools in the pool.
    pub size: usize,
    /// Which of them is asked for, from 0.
    pub position: usize,
    /// Place at which it was found, from 1; absent beyond 20.
    pub rank: Option<usize>,
}

/// The grid over `servers`: at each size the first tools in a seeded order,
/// each asked for by its own and its server's description.
///
/// # Errors
/// Fails when an index cannot be built or a request cannot be routed.
pub fn grid(
    servers: &[Server],
    arms: &[Arm],
    embedder: &Arc<dyn Embedder>,
    on_done: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Point>, EvalError> {
    let order = shuffled(servers);
    let sizes = sizes(order.len());
    let mut points = Vec::new();
    for (done, size) in sizes.iter().enumerate() {
        on_done(done, sizes.len());
        let pool = first(servers, &order[..*size]);
        let bench = Bench::new(&pool, embedder, &mut |_, _| {})?;
        for position in positions(*size) {
            let (server, tool) = &order[position];
            let case = self_request(&pool, server, tool);
            for arm in arms {
                let rank = run::rank_of(&bench, arm, &case)?;
                points.push(Point { arm: arm.name.to_owned(), size: *size, position, rank });
            }
        }
    }
    on_done(sizes.len(), sizes.len());
    Ok(points)
}

/// Runs `cases` over `own` tools among ever more of `others`, in a seeded
/// order, once a size; a pool is named by the number of its tools.
///
/// # Errors
/// As [`run::run`].
pub fn growth(
    (set, own, cases): (&str, &[Server], &[Case]),
    others: &[Server],
    arms: &[Arm],
    embedder: &Arc<dyn Embedder>,
    on_done: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Run>, EvalError> {
    let order = shuffled(others);
    let n_own: usize = own.iter().map(|server| server.tools.len()).sum();
    let counts = growing(n_own, n_own + order.len());
    let mut runs = Vec::new();
    for (done, n_tools) in counts.iter().enumerate() {
        on_done(done, counts.len());
        let more = first(others, &order[..n_tools - n_own]);
        let suite = Suite {
            set: set.to_owned(),
            pool: n_tools.to_string(),
            servers: own.iter().cloned().chain(more).collect(),
            cases: cases.to_vec(),
            by_case: false,
            removes: false,
        };
        runs.extend(run::run(&suite, arms, Labels::Original, embedder, &mut |_| {})?.0);
    }
    on_done(counts.len(), counts.len());
    Ok(runs)
}

/// Every tool as (server, name), ordered by a hash of seed and names.
fn shuffled(servers: &[Server]) -> Vec<(String, String)> {
    let of = |server: &Server| {
        let name = server.name.clone();
        server.tools.iter().map(move |tool| (name.clone(), tool.name.clone())).collect::<Vec<_>>()
    };
    let mut tools: Vec<(String, String)> = servers.iter().flat_map(of).collect();
    tools.sort_by_cached_key(|(server, tool)| {
        <[u8; 32]>::from(Sha256::digest(format!("{SEED}\0{server}\0{tool}")))
    });
    tools
}

/// The servers with only these tools; those without any are left out.
fn first(servers: &[Server], tools: &[(String, String)]) -> Vec<Server> {
    let wanted: HashSet<(&str, &str)> =
        tools.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
    let kept = bench::reduced(servers, |server, tool| wanted.contains(&(server, tool)));
    kept.into_iter().filter(|server| !server.tools.is_empty()).collect()
}

fn self_request(servers: &[Server], server: &str, tool: &str) -> Case {
    let owner = servers.iter().find(|one| one.name == server);
    let wanted = owner.and_then(|owner| owner.tools.iter().find(|one| one.name == tool));
    let text = |text: Option<&String>, name: &str| {
        text.filter(|text| !text.is_empty()).cloned().unwrap_or_else(|| name.to_owned())
    };
    Case {
        id: format!("{server} / {tool}"),
        server: Some(text(owner.map(|owner| &owner.description), server)),
        tool: Some(text(wanted.map(|tool| &tool.description), tool)),
        gold: vec![Name { servers: vec![server.to_owned()], tool: tool.to_owned() }],
        ..Case::default()
    }
}

/// 1 … `n`, evenly on a logarithmic scale, rounded, each once.
fn sizes(n: usize) -> Vec<usize> {
    let log = |i: u32| float(n).ln() * f64::from(i) / f64::from(N_SIZES - 1);
    let step = |i: u32| whole(log(i).exp().round());
    let mut sizes: Vec<usize> = (0..N_SIZES).map(step).map(|size| size.clamp(1, n)).collect();
    sizes.dedup();
    sizes
}

/// All positions of a small pool; of a large one 21, evenly from the first to
/// the last.
fn positions(size: usize) -> Vec<usize> {
    if size <= N_POSITIONS as usize {
        return (0..size).collect();
    }
    let step = |i: u32| whole(float(size - 1) * f64::from(i) / f64::from(N_POSITIONS));
    (0..=N_POSITIONS).map(step).collect()
}

/// 1, 2, 5, 10, 20, 50 … times the smallest size, and the largest.
fn growing(smallest: usize, largest: usize) -> Vec<usize> {
    let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].map(|times| times * smallest);
    let mut sizes: Vec<usize> = steps.into_iter().filter(|size| *size < largest).collect();
    sizes.push(largest);
    sizes
}

/// Down to a whole number; rounding errors below one do not count.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of pools")]
fn whole(number: f64) -> usize {
    (number + 1e-6) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_that_of_the_paper() {
        let sizes = sizes(2_797);
        assert_eq!(sizes[..12], [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16]);
        assert_eq!(sizes[sizes.len() - 3..], [2_023, 2_379, 2_797]);
        assert_eq!(sizes.iter().map(|size| positions(*size).len()).sum::<usize>(), 755);
        assert_eq!(positions(22)[18..], [18, 19, 21]);
        assert_eq!(positions(2_797)[1..4], [139, 279, 419]);
    }

    #[test]
    fn pools_grow_to_the_end() {
        assert_eq!(growing(48, 2_845), [48, 96, 240, 480, 960, 2_400, 2_845]);
        assert_eq!(growing(48, 48), [48]);
    }
}

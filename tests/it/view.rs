//! A ranking of what may be found against the ranking of an index of just that.

use ndarray::{Array2, Axis};
use toolscout::catalog::ToolId;
use toolscout::rank::{self, Allowed, Corpus, Query, Words};

use crate::oracle::{Kind, Problem, Random};

/// Rows of a matrix where `kept` says so.
fn part(matrix: &Array2<f32>, kept: &[bool]) -> Array2<f32> {
    let rows: Vec<usize> = (0..kept.len()).filter(|row| kept[*row]).collect();
    matrix.select(Axis(0), &rows)
}

/// Where each kept row is in the part.
fn places(kept: &[bool]) -> Vec<u32> {
    let mut n = 0;
    let place = |is_kept: &bool| {
        n += u32::from(*is_kept);
        n.saturating_sub(1)
    };
    kept.iter().map(place).collect()
}

#[test]
fn what_may_not_be_found_is_as_if_it_were_not_there() {
    for (seed, (n_servers, n_tools)) in
        [(1, 5), (6, 40), (60, 300), (200, 900)].into_iter().enumerate()
    {
        let mut random = Random(900 + seed as u64);
        for kind in [Kind::real(&mut random, 48), Kind::Exact { dim: 32 }] {
            let whole = kind.problem(&mut random, n_servers, n_tools);
            // Every third tool, and none of every fourth server.
            let tools: Vec<bool> =
                whole.tool_server.iter().zip(0..).map(|(s, t)| s % 4 != 1 && t % 3 != 0).collect();
            let mut servers = vec![false; n_servers];
            for (server, is_kept) in whole.tool_server.iter().zip(&tools) {
                servers[*server as usize] |= is_kept;
            }
            let (server_place, tool_place) = (places(&servers), places(&tools));
            let owners = whole.tool_server.iter().zip(&tools).filter(|(_, is_kept)| **is_kept);
            let small = Problem {
                name: format!("part of {}", whole.name),
                server_texts: whole.server_texts.iter().map(|one| part(one, &servers)).collect(),
                tool_text: part(&whole.tool_text, &tools),
                tool_server: owners.map(|(server, _)| server_place[*server as usize]).collect(),
                tolerance: 0.0,
            };
            let allowed = Some(Allowed { servers: &servers, tools: &tools });
            let masked = Corpus { allowed, ..whole.corpus() };
            let [a, b, c] = [0; 3].map(|_| kind.vector(&mut random));
            for recipe in [rank::SCOUT, rank::MCP_ZERO] {
                for query in [
                    Query::Both { server: &a, tool: &b, joint: Some(&c) },
                    Query::Both { server: &a, tool: &b, joint: None },
                    Query::ToolOnly(&b),
                    Query::ServerOnly(&a),
                ] {
                    let expected = rank::rank(&small.corpus(), query, Words::NONE, &recipe, 30);
                    let mut found = rank::rank(&masked, query, Words::NONE, &recipe, 30);
                    for hit in &mut found.hits {
                        assert!(tools[hit.tool.row()], "{}", whole.name);
                        hit.tool = ToolId(tool_place[hit.tool.row()]);
                        hit.server.0 = server_place[hit.server.row()];
                    }
                    assert_eq!(found.hits, expected.hits, "{} {query:?}", whole.name);
                    assert_eq!(found.pool.len(), expected.pool.len(), "{}", whole.name);
                }
            }
        }
    }
}

#[test]
fn where_nothing_may_be_found_nothing_is() {
    let mut random = Random(7);
    let kind = Kind::real(&mut random, 16);
    let problem = kind.problem(&mut random, 5, 20);
    let allowed = Some(Allowed { servers: &[false; 5], tools: &[false; 20] });
    let corpus = Corpus { allowed, ..problem.corpus() };
    let (a, b) = (kind.vector(&mut random), kind.vector(&mut random));
    for query in [
        Query::Both { server: &a, tool: &b, joint: Some(&b) },
        Query::ToolOnly(&b),
        Query::ServerOnly(&a),
    ] {
        let found = rank::rank(&corpus, query, Words::NONE, &rank::SCOUT, 30);
        assert_eq!((found.hits, found.pool), (vec![], vec![]));
    }
}

//! Large indexes in small: graphs of neighbours against a look at every row,
//! smaller numbers against exact ones, on the shell and in the library.

use std::collections::BTreeMap;

use ndarray::Array2;
use proptest::prelude::*;
use serde_json::Value;
use toolscout::embed::{Embedder, StandInEmbedder};
use toolscout::index::{
    BuildLock, Draft, Index, Matrix, Neighbors, ServerRecord, Storage, Surface, SurfaceTokens,
    ToolRecord,
};
use toolscout::rank::{self, Corpus, Query, Recipe, Words};
use toolscout::vectors::{Packed, Precision, Rows};

use crate::oracle::{Asked, Kind, Problem, Random};
use crate::support::World;
use crate::support::edit_manifest;
use crate::support::run;
use crate::support::sample;
use crate::support::sha256;
use crate::support::stderr_of;
use crate::support::stdout_of;

/// An index of a problem's matrices, with graphs whatever its size.
fn index(problem: &Problem, storage: Storage) -> (tempfile::TempDir, Index) {
    let server = |n: usize| ServerRecord {
        name: n.to_string(),
        description: String::new(),
        summary: String::new(),
        url: None,
        digest: String::new(),
        n_tools: 0,
        entry: None,
    };
    let tool = |n: usize| ToolRecord {
        exposed: n.to_string(),
        server: String::new(),
        name: String::new(),
        title: None,
        description: String::new(),
        input_schema: None,
        output_schema: None,
        annotations: None,
    };
    let kinds = [Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest];
    let mut matrices: BTreeMap<Matrix, Array2<f32>> =
        kinds.into_iter().zip(problem.server_texts.clone()).collect();
    matrices.insert(Matrix::ToolText, problem.tool_text.clone());
    let mut embedder = StandInEmbedder::default().identity().clone();
    embedder.dim = problem.tool_text.ncols();
    let draft = Draft {
        servers: (0..problem.server_texts[0].nrows()).map(server).collect(),
        tools: (0..problem.tool_server.len()).map(tool).collect(),
        tool_server: problem.tool_server.clone(),
        tool_operation: vec![0; problem.tool_server.len()],
        words: vec![String::new(); problem.tool_server.len()],
        matrices,
        storage,
        absent: BTreeMap::new(),
        embedder,
        remote: None,
        summarizer: None,
        runtime: "any".to_owned(),
        sources: Vec::new(),
        rejected: Vec::new(),
        warnings: Vec::new(),
        stale: Vec::new(),
        pins: None,
        withheld: Vec::new(),
    };
    let dir = tempfile::tempdir().unwrap();
    let lock = BuildLock::acquire(dir.path(), || ()).unwrap();
    toolscout::index::write(dir.path(), &lock, &draft, |_| Surface {
        instructions: String::new(),
        tool_description: String::new(),
        n_servers: draft.servers.len(),
        n_tools: draft.tools.len(),
        tokens: SurfaceTokens::default(),
    })
    .unwrap();
    let index = Index::open(dir.path()).unwrap();
    (dir, index)
}

/// What `scout` reads.
fn corpus(index: &Index) -> Corpus<'_> {
    let kinds = [Matrix::ServerDescription, Matrix::ServerSummary, Matrix::ServerDigest];
    Corpus {
        server_texts: kinds.iter().map(|kind| index.rows(*kind).unwrap()).collect(),
        tool_text: index.rows(Matrix::ToolText).unwrap(),
        tool_server: index.tool_server(),
        server_graph: index.graph(Neighbors::Servers),
        tool_graph: index.graph(Neighbors::Tools),
        allowed: None,
    }
}

/// How many of the 20 best rows are found, by their cosines: equal rows may
/// stand for each other.
fn recall(rows: &[Rows<'_>], query: &[f32], found: &[usize]) -> f64 {
    let cosine = |id: usize| {
        let n_rows = rows[0].n_rows();
        rows[id / n_rows].cosine(id % n_rows, query)
    };
    let mut all: Vec<f32> = (0..rows[0].n_rows() * rows.len()).map(cosine).collect();
    all.sort_by(|a, b| b.total_cmp(a));
    let worst = all[19] - 1e-6;
    let n_found = found.iter().filter(|id| cosine(**id) >= worst).count();
    f64::from(u32::try_from(n_found.min(20)).unwrap()) / 20.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn graphs_find_what_a_look_at_every_row_finds(
        seed in any::<u64>(), n_tools in 1_500_usize..4_000, dim in 24_usize..64
    ) {
        let mut random = Random(seed);
        let kind = Kind::real(&mut random, dim);
        let problem = kind.problem(&mut random, n_tools / 4, n_tools);
        let storage = Storage { graphs_above: 100, ..Storage::default() };
        let (_dir, index) = index(&problem, storage);
        let by_graph = corpus(&index);
        let exact = problem.corpus();
        let tools = by_graph.tool_graph.unwrap();
        let servers = by_graph.server_graph.unwrap();
        let (mut of_tools, mut of_servers, mut n_same, mut n_hits) = (0.0, 0.0, 0, 0);
        for _ in 0..50 {
            let [server, tool, joint] = [(); 3].map(|()| kind.vector(&mut random));
            of_tools += recall(&[exact.tool_text], &tool, &tools.nearest(&tool, 100));
            of_servers += recall(&exact.server_texts, &server, &servers.nearest(&server, 100));
            let query = Query::Both { server: &server, tool: &tool, joint: Some(&joint) };
            for query in [query, Query::ToolOnly(&tool), Query::ServerOnly(&server)] {
                let rank = |corpus| rank::rank(corpus, query, Words::NONE, &rank::SCOUT, 10).hits;
                let (found, expected) = (rank(&by_graph), rank(&exact));
                n_same += found.iter().filter(|hit| expected.contains(hit)).count();
                n_hits += expected.len();
            }
        }
        prop_assert!(of_tools / 50.0 >= 0.99, "recall of tools {}", of_tools / 50.0);
        prop_assert!(of_servers / 50.0 >= 0.99, "recall of servers {}", of_servers / 50.0);
        prop_assert!(100 * n_same >= 99 * n_hits, "{n_same} of {n_hits} hits are the same");
    }
}

#[test]
fn equal_rows_give_equal_graphs() {
    let mut random = Random(7);
    let problem = Kind::real(&mut random, 32).problem(&mut random, 500, 3_000);
    let storage = Storage { graphs_above: 100, ..Storage::default() };
    let built = [(); 2].map(|()| index(&problem, storage));
    let [first, second] = built.map(|(dir, _)| {
        let path = dir.path().join("gen-1/neighbors.safetensors");
        std::fs::read(path).unwrap()
    });
    assert!(first == second, "{} and {} bytes differ", first.len(), second.len());
}

/// Every score changes by no more than its cosines do, so the n-th best score
/// of all tools does not either.
#[test]
fn smaller_numbers_change_scores_within_their_rounding() {
    let everything = Recipe { n_servers: 10_000, ..rank::MCP_ZERO };
    for seed in 0..4 {
        let mut random = Random(3_000 + seed);
        let kind = Kind::real(&mut random, 96);
        let problem = kind.problem(&mut random, 60, 500);
        let asked = kind.asked(&mut random, &problem);
        for (precision, of_cosine) in [(Precision::F16, 5e-4), (Precision::Int8, 2e-2)] {
            let pack = |matrix: &Array2<f32>| {
                let numbers = matrix.as_slice().unwrap().to_vec();
                (numbers, matrix.ncols())
            };
            let kept: Vec<(Vec<f32>, usize)> =
                problem.server_texts.iter().chain([&problem.tool_text]).map(pack).collect();
            let packed: Vec<(Packed<'_>, usize)> = kept
                .iter()
                .map(|(numbers, dim)| (Packed::new(numbers, *dim, precision), *dim))
                .collect();
            let mut rows: Vec<Rows<'_>> =
                packed.iter().map(|(packed, dim)| packed.rows(*dim).unwrap()).collect();
            let tool_text = rows.pop().unwrap();
            let small = Corpus { server_texts: rows, tool_text, ..problem.corpus() };
            for asked in &asked {
                let query = match asked {
                    Asked::Both { server, tool } => Query::Both { server, tool, joint: None },
                    Asked::ToolOnly(tool) => Query::ToolOnly(tool),
                    Asked::ServerOnly(_) => continue,
                };
                let rank = |corpus| rank::rank(corpus, query, Words::NONE, &everything, 20).hits;
                for (found, exact) in rank(&small).iter().zip(rank(&problem.corpus())) {
                    // Both partial derivatives of the formula are at most 2.
                    let difference = (found.score - exact.score).abs();
                    assert!(difference <= 4.0 * of_cosine, "{precision:?}: {found:?}, {exact:?}");
                }
            }
        }
    }
}

/// Names of the best three for a request of each kind.
fn answers(world: &World, ranking: &str) -> Vec<Vec<String>> {
    let tops = ["--server calendar --tool create-event", "--tool send-mail", "--server maps"];
    let answer = |line: &str| {
        let reply = world.json(&format!("route {line} --ranking {ranking}"));
        let matches = reply["matches"].as_array().unwrap();
        matches.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    tops.into_iter().map(answer).collect()
}

fn build_sample(world: &World, rest: &str) -> Value {
    let line = format!("index build --model stand-in --paper {rest} --from");
    let source = world.write("source.json", std::fs::read(sample()).unwrap());
    let mut command = world.command(&line);
    stdout_of(command.arg(source).arg("--out").arg(world.index()), 0);
    world.json("index inspect")
}

#[test]
fn graphs_and_smaller_numbers_give_the_same_tools_for_the_sample() {
    let world = World::of_sample();
    let expected: Vec<_> = ["scout", "mcp-zero"].map(|ranking| answers(&world, ranking)).into();
    for rest in ["--ann-above 10", "--precision f16", "--precision int8 --ann-above 10"] {
        let inspected = build_sample(&world, rest);
        stdout_of(&mut world.command("index verify"), 0);
        let has_graphs = world.live().join("neighbors.safetensors").exists();
        assert_eq!(has_graphs, rest.contains("ann-above"), "{inspected}");
        let found: Vec<_> = ["scout", "mcp-zero"].map(|ranking| answers(&world, ranking)).into();
        assert_eq!(found, expected, "{rest}");
    }
}

#[test]
fn an_update_keeps_precision_and_graphs() {
    let world = World::empty();
    let size =
        |world: &World| std::fs::metadata(world.live().join("vectors.safetensors")).unwrap().len();
    assert_eq!(build_sample(&world, "")["storage"]["precision"], "f32");
    let exact = size(&world);
    for (name, parts) in [("f16", 2), ("int8", 4)] {
        let built = build_sample(&world, &format!("--precision {name} --ann-above 7"));
        assert_eq!(built["storage"]["precision"], name);
        assert_eq!(built["storage"]["graphs_above"], 7);
        assert!(size(&world) < exact / parts + 6_000, "{name}: {} of {exact}", size(&world));
        let said = stdout_of(&mut world.command("index update"), 0);
        assert!(said.starts_with("nothing changed"), "{said}");
        let source = world.home().join("source.json");
        let text = std::fs::read_to_string(&source).unwrap();
        std::fs::write(&source, text.replacen("Create", "Make", 1)).unwrap();
        let said = stdout_of(&mut world.command("index update"), 0);
        assert!(said.starts_with("built generation"), "{said}");
        assert_eq!(world.json("index inspect")["storage"], built["storage"]);
    }
}

#[test]
fn a_damaged_graph_is_found_and_the_generation_before_answers() {
    let world = World::empty();
    build_sample(&world, "--ann-above 20");
    build_sample(&world, "--ann-above 10");
    let path = world.live().join("neighbors.safetensors");
    let sound = std::fs::read(&path).unwrap();
    let cut = sound[..sound.len() / 2].to_vec();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 1;
    // The checksum is right, but a link leads nowhere.
    let mut astray = sound.clone();
    let tensors = safetensors::SafeTensors::deserialize(&sound).unwrap();
    let links = tensors.tensor("tools.links").unwrap().data().as_ptr().addr();
    astray[links - sound.as_ptr().addr() + 3] = 1;
    for (bytes, is_recorded) in [(cut, false), (flipped, false), (astray, true)] {
        std::fs::write(&path, &bytes).unwrap();
        if is_recorded {
            edit_manifest(&world.live(), |manifest| {
                manifest["files"]["neighbors.safetensors"]["sha256"] = sha256(&bytes).into();
            });
        }
        let stderr = stderr_of(&mut world.command("index verify"), 1);
        assert!(stderr.contains("neighbors.safetensors"), "{stderr}");
        assert!(stderr.contains("toolscout index build"), "{stderr}");
        let output = run(&mut world.command("route --tool send-mail"));
        let warning = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{warning}");
        assert!(warning.contains("neighbors.safetensors"), "{warning}");
        assert!(warning.contains("answering from generation 1"), "{warning}");
    }
    std::fs::remove_dir_all(world.index().join("gen-1")).unwrap();
    let stderr = stderr_of(&mut world.command("route --tool send-mail"), 1);
    assert!(stderr.contains("neighbors.safetensors"), "{stderr}");
    build_sample(&world, "--ann-above 10");
    stdout_of(&mut world.command("index verify"), 0);
}

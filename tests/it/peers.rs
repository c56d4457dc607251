//! Peers that nobody here wrote: numpy, onnxruntime, the official MCP client,
//! the MCP Inspector.
//!
//! The scripts lie in `tests/peers`; `tests/peers/setup.sh` makes the Python
//! they need. What needs no Python is tested without being asked for.

mod conformance;
mod inspector;
mod servers;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolscout::build::tool_text;
use toolscout::catalog::{ServerId, Tool, ToolId};
use toolscout::index::{Index, Matrix, ToolRecord};
use toolscout::rank::{self, Recipe};
use toolscout::tokens;

use crate::oracle::{Asked, Kind, Problem, Random, WIDE, paper};
use crate::support;

#[test]
#[ignore = "needs numpy; run by .ci/run"]
fn numpy_ranks_the_same() {
    let mut random = Random(42);
    let mut problems = Vec::new();
    for (n_servers, n_tools, dim) in [(1, 0, 8), (6, 7, 100), (12, 90, 64), (40, 300, 48)] {
        let kind = Kind::real(&mut random, dim);
        let problem = kind.problem(&mut random, n_servers, n_tools);
        let asked = kind.asked(&mut random, &problem);
        problems.push(rankings(&problem, &asked));
    }
    let exact = Kind::Exact { dim: 24 };
    let problem = exact.problem(&mut random, 30, 200);
    let asked = exact.asked(&mut random, &problem);
    problems.push(rankings(&problem, &asked));
    if let Some((of_paper, asked)) = paper() {
        problems.extend(of_paper.iter().map(|problem| rankings(problem, &asked)));
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rankings.json");
    fs_err::write(&file, Value::from(problems).to_string()).unwrap();
    run_script(script("rank_oracle.py").arg(file));
}

/// A problem and how toolscout ranks in it, as `rank_oracle.py` reads it.
fn rankings(problem: &Problem, all_asked: &[Asked]) -> Value {
    let asked = all_asked.iter().map(|asked| {
        let (server, tool) = match asked {
            Asked::Both { server, tool } => (Some(server), Some(tool)),
            Asked::ToolOnly(tool) => (None, Some(tool)),
            Asked::ServerOnly(server) => (Some(server), None),
        };
        let runs = [(rank::MCP_ZERO, 10), (WIDE, 10), (WIDE, 1_000)];
        let runs = runs.map(|(recipe, limit)| run_of(problem, asked, recipe, limit));
        json!({"server": server, "tool": tool, "runs": runs})
    });
    json!({
        "name": problem.name,
        "dim": problem.tool_text.ncols(),
        "server_texts":
            problem.server_texts.iter().map(|text| text.iter().collect()).collect::<Vec<Vec<_>>>(),
        "tool_text": problem.tool_text.iter().collect::<Vec<_>>(),
        "tool_server": problem.tool_server,
        "asked": asked.collect::<Vec<_>>(),
    })
}

fn run_of(problem: &Problem, asked: &Asked, recipe: Recipe, limit: usize) -> Value {
    let ranking = problem.rank(asked, recipe, limit);
    let hits = ranking.hits.iter().map(|hit| {
        json!({
            "tool": hit.tool,
            "server": hit.server,
            "score": hit.score,
            "dense_score": hit.dense_score,
            "server_score": hit.server_score,
            "tool_score": hit.tool_score,
        })
    });
    json!({
        "n_servers": recipe.n_servers,
        "n_owner_tools": recipe.n_owner_tools,
        "limit": limit,
        "hits": hits.collect::<Vec<_>>(),
        "pool": ranking.pool.iter().map(|pooled| pooled.server).collect::<Vec<_>>(),
    })
}

/// Two catalogues that share texts, one with the cache of the checkout and
/// one with an empty one: no vector depends on its neighbours or the cache.
#[test]
#[ignore = "needs onnxruntime and tokenizers; run by .ci/run"]
fn onnxruntime_embeds_the_same() {
    support::pull_model();
    let dir = tempfile::tempdir().unwrap();
    let fresh = dir.path().join("home");
    let mut pull = support::toolscout(&fresh);
    support::stdout_of(
        pull.args(["models", "pull", "--from"]).arg(support::home().join("models")),
        0,
    );
    let other = dir.path().join("other.json");
    fs_err::write(&other, rearranged_sample().to_string()).unwrap();
    let sample = build(&support::home(), &support::sample(), &dir.path().join("sample"));
    let other = build(&fresh, &other, &dir.path().join("other"));

    let (vectors, others) = (vectors_by_text(&sample), vectors_by_text(&other));
    let mut n_shared = 0;
    for (text, vector) in &vectors {
        if let Some(same) = others.get(text) {
            assert_eq!(vector, same, "{text}");
            n_shared += 1;
        }
    }
    assert!(n_shared > 100 && n_shared < vectors.len(), "{n_shared} of {}", vectors.len());

    let texts: HashMap<&Path, Vec<String>> =
        [&sample, &other].map(|index| (index.dir(), tool_texts(index))).into();
    let file = dir.path().join("tool_texts.json");
    fs_err::write(&file, json!(texts).to_string()).unwrap();
    let model = support::home().join("models/bge-small-en-v1.5");
    let mut script = script("embedding_parity.py");
    run_script(script.arg(model).arg(file).args([sample.dir(), other.dir()]));
}

/// Fewer servers in another order, and texts that no model reads to the end.
fn rearranged_sample() -> Value {
    let mut catalog: Value =
        serde_json::from_slice(&fs_err::read(support::sample()).unwrap()).unwrap();
    let servers = catalog["servers"].as_array_mut().unwrap();
    servers.reverse();
    servers.remove(1);
    servers.truncate(10);
    let long = "Keeps a ledger of every parcel, pallet and container. ".repeat(90);
    let japanese = "港に着いた荷物を倉庫へ運び、記録を残します。".repeat(60);
    servers.insert(
        3,
        json!({
            "name": "harbour", "description": long, "summary": japanese,
            "tools": [{
                "name": "list_parcels", "description": format!("List parcels. {long}"),
                "inputSchema": {"type": "object", "properties": {"berth": {"type": "string"}}},
            }],
        }),
    );
    catalog
}

fn build(home: &Path, source: &Path, out: &Path) -> Index {
    let mut command = support::toolscout(home);
    command.args(["index", "build", "--paper", "--from"]).arg(source).arg("--out").arg(out);
    support::stdout_of(&mut command, 0);
    Index::open(out).unwrap()
}

/// Bits of the vector of every text of an index.
fn vectors_by_text(index: &Index) -> HashMap<String, Vec<u32>> {
    let mut vectors = HashMap::new();
    let descriptions = tools(index).into_iter().map(|tool| tool.description).collect();
    let texts_of_servers = |text: fn(&Index, ServerId) -> String| -> Vec<String> {
        let n_servers = u32::try_from(index.manifest().counts.servers).unwrap();
        (0..n_servers).map(|id| text(index, ServerId(id))).collect()
    };
    for (kind, texts) in [
        (
            Matrix::ServerDescription,
            texts_of_servers(|index, id| index.server(id).unwrap().description),
        ),
        (Matrix::ServerSummary, texts_of_servers(|index, id| index.server(id).unwrap().summary)),
        (Matrix::ServerDigest, texts_of_servers(|index, id| index.server(id).unwrap().digest)),
        (Matrix::ToolDescription, descriptions),
        (Matrix::ToolText, tool_texts(index)),
    ] {
        let rows = index.rows(kind).unwrap();
        assert_eq!(rows.n_rows(), texts.len());
        for (row, text) in texts.into_iter().enumerate() {
            let bits: Vec<u32> = rows.to_f32(row).iter().map(|value| value.to_bits()).collect();
            let before = vectors.entry(text).or_insert_with(|| bits.clone());
            assert_eq!(*before, bits, "one text, two vectors");
        }
    }
    vectors
}

fn tools(index: &Index) -> Vec<ToolRecord> {
    let n_tools = u32::try_from(index.manifest().counts.tools).unwrap();
    (0..n_tools).map(|id| index.tool(ToolId(id)).unwrap()).collect()
}

/// What stands in the matrix `tool_text`, made from the records.
fn tool_texts(index: &Index) -> Vec<String> {
    let text = |tool: ToolRecord| {
        tool_text(&Tool {
            name: tool.name,
            title: tool.title,
            description: tool.description,
            input_schema: tool.input_schema,
            ..Tool::default()
        })
    };
    tools(index).into_iter().map(text).collect()
}

#[test]
#[ignore = "needs the MCP client of PyPI; run by .ci/run"]
fn the_official_client_is_served_in_both_eras() {
    support::pull_model();
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other.json");
    let mut catalog: Value =
        serde_json::from_slice(&fs_err::read(support::sample()).unwrap()).unwrap();
    let kept = ["trackboard", "mail"];
    let servers = catalog["servers"].as_array_mut().unwrap();
    servers.retain(|server| kept.contains(&server["name"].as_str().unwrap()));
    assert_eq!(servers.len(), kept.len());
    fs_err::write(&other, catalog.to_string()).unwrap();
    for mode in ["legacy", "auto", "2026-07-28"] {
        let index = build(&support::home(), &support::sample(), &dir.path().join(mode));
        let mut script = script("mcp_client.py");
        script.args(["--binary", env!("CARGO_BIN_EXE_toolscout"), "--mode", mode]);
        script.arg("--home").arg(support::home()).arg("--index").arg(index.dir());
        run_script(script.arg("--other").arg(&other));
    }
}

fn script(name: &str) -> Command {
    let python = std::env::var_os("TOOLSCOUT_PEERS_PYTHON");
    let how = "set TOOLSCOUT_PEERS_PYTHON to what `tests/peers/setup.sh target/peers-venv` prints";
    assert!(python.is_some(), "{how}");
    let mut command = Command::new(python.unwrap());
    command.arg(support::root().join("tests/peers").join(name));
    command
}

/// What a script finds goes to the log of the run.
fn run_script(command: &mut Command) {
    let status = command.stdin(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

#[test]
fn the_tool_entry_is_small_as_sent() {
    let data_set = support::shared("data/raw/mcp-zero/mcp_tools.jsonl");
    for source in [Some(support::sample()), data_set].into_iter().flatten() {
        let home = tempfile::tempdir().unwrap();
        let index = support::stand_in_index(home.path(), &source);
        let entries = ERAS.map(|messages| tool_entry(home.path(), &index, messages));
        for entry in &entries {
            let with_output_schema = tokens::count(entry);
            let mut bare: Value = serde_json::from_str(entry).unwrap();
            let output_schema = bare.as_object_mut().unwrap().remove("outputSchema");
            assert!(output_schema.is_some(), "{entry}");
            let without = tokens::count(&bare.to_string());
            assert!(without <= 250, "{without} tokens: {bare}");
            assert!(with_output_schema <= 350, "{with_output_schema} tokens: {entry}");
            let known = Index::open(&index).unwrap().surface().unwrap().tokens;
            assert_eq!(
                (known.tool_entry, known.tool_entry_with_output_schema),
                (without, with_output_schema),
                "stored and sent differ"
            );
        }
        assert_eq!(entries[0], entries[1], "the eras list different entries");
    }
}

/// What a client sends to list the tools, by era; the list has id 2.
const ERAS: [&str; 2] = [
    concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        "\n",
    ),
    concat!(
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        "\n",
    ),
];

/// The one entry of `tools/list`, byte for byte.
fn tool_entry(home: &Path, index: &PathBuf, messages: &str) -> String {
    #[derive(Deserialize)]
    struct Message {
        id: Option<u64>,
        result: Option<List>,
    }
    #[derive(Deserialize)]
    struct List {
        #[serde(default)]
        tools: Vec<Box<RawValue>>,
    }
    let mut command = support::toolscout(home);
    command.arg("--index").arg(index).arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    stdin.write_all(messages.as_bytes()).unwrap();
    let list = BufReader::new(server.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<Message>(&line.unwrap()).unwrap())
        .find(|message| message.id == Some(2))
        .and_then(|message| message.result)
        .unwrap();
    drop(stdin);
    assert!(server.wait().unwrap().success());
    assert_eq!(list.tools.len(), 1);
    list.tools[0].get().to_owned()
}

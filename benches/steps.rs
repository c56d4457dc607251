//! What each step of a request costs, on an index that was built before.
//!
//! usage: `TOOLSCOUT_HOME=DIR TOOLSCOUT_INDEX=DIR cargo bench --bench steps`
//!
//! The index needs `--paper`. `eval/reports/performance.md` holds the figures,
//! `benches/peers.py` measures others on the same vectors.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench may panic and is told by the environment"
)]

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use divan::{Bencher, black_box};
use toolscout::embed::{Embedder, OnnxEmbedder};
use toolscout::index::{Index, Matrix};
use toolscout::models::{self, ModelStore};
use toolscout::rank::{self, Corpus, Query, Recipe, Words};
use toolscout::request;
use toolscout::router::{Ask, Method, Options, Router};

fn main() {
    divan::main();
}

const REQUEST: &str =
    "<tool_assistant>\nserver: GitHub\ntool: create an issue in a repository\n</tool_assistant>";

static INDEX: LazyLock<Arc<Index>> =
    LazyLock::new(|| Arc::new(Index::open(&folder("TOOLSCOUT_INDEX")).unwrap()));
static EMBEDDER: LazyLock<Arc<OnnxEmbedder>> = LazyLock::new(|| {
    let store = ModelStore::new(folder("TOOLSCOUT_HOME").join("models"));
    Arc::new(OnnxEmbedder::load(&store, models::find(models::default_model()).unwrap()).unwrap())
});

fn folder(variable: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(variable).unwrap())
}

fn vector(text: &str) -> Vec<f32> {
    EMBEDDER.embed(&[text]).unwrap().remove(0).unwrap().as_slice().to_vec()
}

#[divan::bench]
fn parse() -> usize {
    request::parse(black_box(REQUEST)).unwrap().requests.len()
}

/// The texts of one request, in parallel as a request has them.
#[divan::bench(args = [1, 2, 3], sample_count = 50)]
fn embed(bencher: Bencher<'_, '_>, n_texts: usize) {
    let texts =
        ["GitHub", "create an issue in a repository", "GitHub: create an issue in a repository"];
    bencher.bench(|| EMBEDDER.embed(&texts[..n_texts]).unwrap().len());
}

/// Both stages by the vectors, as the paper ranks.
#[divan::bench]
fn stages_mcp_zero(bencher: Bencher<'_, '_>) {
    stages(bencher, &Method::MCP_ZERO, &rank::MCP_ZERO);
}

/// Both stages by the vectors, as scout ranks; words are in `repeated_request`.
#[divan::bench]
fn stages_scout(bencher: Bencher<'_, '_>) {
    stages(bencher, &Method::SCOUT, &rank::SCOUT);
}

fn stages(bencher: Bencher<'_, '_>, method: &Method, recipe: &Recipe) {
    let corpus = Corpus {
        server_texts: method.server_texts.iter().filter_map(|kind| INDEX.rows(*kind)).collect(),
        tool_text: INDEX.rows(method.tool_text).unwrap(),
        tool_server: INDEX.tool_server(),
        server_graph: None,
        tool_graph: None,
        allowed: None,
    };
    let (server, tool, joint) =
        (vector("GitHub"), vector("create an issue"), vector("GitHub: create an issue"));
    let joint = method.is_joint().then_some(&joint[..]);
    let query = Query::Both { server: &server, tool: &tool, joint };
    bencher.bench(|| rank::rank(&corpus, black_box(query), Words::NONE, recipe, 5).hits.len());
}

/// A whole request, its vectors known: parse, rank, words, judge, shape.
#[divan::bench]
fn repeated_request(bencher: Bencher<'_, '_>) {
    let embedder: Arc<dyn Embedder> = Arc::clone(&EMBEDDER) as Arc<dyn Embedder>;
    let router = Router::new(Arc::clone(&INDEX), embedder).unwrap();
    let (ask, options) = (Ask::Text(REQUEST.to_owned()), Options::default());
    bencher.bench(|| router.route(black_box(&ask), &options).unwrap().reply.to_text().len());
}

/// A whole request with texts never seen before.
#[divan::bench(sample_count = 50)]
fn new_request(bencher: Bencher<'_, '_>) {
    let embedder: Arc<dyn Embedder> = Arc::clone(&EMBEDDER) as Arc<dyn Embedder>;
    let router = Router::new(Arc::clone(&INDEX), embedder).unwrap();
    let mut n = 0;
    bencher.bench_local(|| {
        n += 1;
        let server = Some(format!("GitHub {n}"));
        let tool = Some(format!("create an issue in repository {n}"));
        router
            .route(&Ask::Fields { server, tool }, &Options::default())
            .unwrap()
            .reply
            .matches
            .len()
    });
}

/// The same three texts, embedded and no more.
#[divan::bench(sample_count = 50)]
fn bare_embedding(bencher: Bencher<'_, '_>) {
    let mut n = 1_000_000;
    bencher.bench_local(|| {
        n += 1;
        let (server, tool) = (format!("GitHub {n}"), format!("create an issue in repository {n}"));
        let joint = format!("{server}: {tool}");
        EMBEDDER.embed(&[&server, &tool, &joint]).unwrap().len()
    });
}

/// Text and structured content of three tools with their schemas.
#[divan::bench]
fn reply(bencher: Bencher<'_, '_>) {
    let embedder: Arc<dyn Embedder> = Arc::clone(&EMBEDDER) as Arc<dyn Embedder>;
    let router = Router::new(Arc::clone(&INDEX), embedder).unwrap();
    let routed = router.route(&Ask::Text(REQUEST.to_owned()), &Options::default()).unwrap();
    bencher.bench(|| (routed.reply.to_text().len(), routed.reply.to_value().is_object()));
}

#[divan::bench]
fn open_index() -> usize {
    Index::open(&folder("TOOLSCOUT_INDEX")).unwrap().manifest().counts.tools
}

#[divan::bench(sample_count = 20)]
fn verify_index() {
    INDEX.verify().unwrap();
    assert!(INDEX.rows(Matrix::ToolText).is_some());
}

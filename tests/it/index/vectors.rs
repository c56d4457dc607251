//! Field case I05: a model that gives unusable vectors. What cannot be used is
//! kept nowhere, counted by name, and the tool is found by its words.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use toolscout::build::{Plan, build};
use toolscout::embed::{BadVector, EmbedError, Embedder, Identity, StandInEmbedder, UnitVector};
use toolscout::index::{Absent, Index, Matrix, Storage};
use toolscout::rank;
use toolscout::router::{Ask, Method, Options, RouteError, Router};
use toolscout::sources::{Fetching, Live, Source};

/// Gives the numbers `bad` for every text that contains `marker`.
struct Faulty {
    sound: StandInEmbedder,
    bad: Vec<f32>,
    marker: &'static str,
}

impl Faulty {
    fn new(bad: &[f32]) -> Self {
        Self { sound: StandInEmbedder::default(), bad: bad.to_vec(), marker: "zeppelin" }
    }
}

impl Embedder for Faulty {
    fn identity(&self) -> &Identity {
        self.sound.identity()
    }

    fn runtime(&self) -> &str {
        self.sound.runtime()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Result<UnitVector, BadVector>>, EmbedError> {
        let mut vectors = self.sound.embed(texts)?;
        for (text, vector) in texts.iter().zip(&mut vectors) {
            if text.contains(self.marker) {
                *vector = UnitVector::new(self.bad.clone(), self.sound.identity().dim);
            }
        }
        Ok(vectors)
    }
}

fn kinds() -> [(Vec<f32>, &'static str); 5] {
    let dim = StandInEmbedder::default().identity().dim;
    let with = |number: f32| [vec![number], vec![1.0; dim - 1]].concat();
    [
        (vec![0.0; dim], "vector is zero"),
        (with(f32::NAN), "vector holds NaN or infinity"),
        (with(f32::INFINITY), "vector holds NaN or infinity"),
        (vec![1.0; 7], "vector has 7 numbers, the model promises 256"),
        (Vec::new(), "vector has 0 numbers, the model promises 256"),
    ]
}

/// An index in which the vectors of one tool and of its server are bad.
fn built(dir: &Path, embedder: Faulty) -> Router {
    let source = dir.join("source.json");
    let catalog = json!({"servers": [
        {"name": "harbour", "description": "Ships.", "tools": [
            {"name": "dock", "description": "Docks a ship."},
            {"name": "undock", "description": "Lets a ship go."}]},
        {"name": "air\u{1b}field", "description": "A zeppelin comes.", "tools": [
            {"name": "moor", "description": "Moors a zeppelin at its mast."},
            {"name": "fuel", "description": "Fills a tank."}]},
    ]});
    std::fs::write(&source, catalog.to_string()).unwrap();
    let sources = vec![Source::of_path(source)];
    let plan = Plan {
        sources,
        fetching: Fetching::default(),
        dir: dir.join("index"),
        paper: true,
        storage: Storage::default(),
        remote: None,
        summarizer: None,
        live: Live::default(),
        pin: false,
        approve: Vec::new(),
    };
    build(&plan, &embedder, None, &mut |_| ()).unwrap();
    let index = Index::open(&plan.dir).unwrap();
    index.verify().unwrap();
    Router::new(Arc::new(index), Arc::new(embedder)).unwrap()
}

#[test]
fn bad_vectors_are_counted_by_name_and_the_tool_is_found_by_words() {
    for (bad, reason) in kinds() {
        let dir = tempfile::tempdir().unwrap();
        let router = built(dir.path(), Faulty::new(&bad));
        let manifest = router.index().manifest();
        let who = ["server `airfield`", "server `airfield`, tool `moor`"];
        let expected = [
            format!("{}: `server_description` has no vector: {reason}", who[0]),
            format!("{}: `server_digest` has no vector: {reason}", who[0]),
            format!("{}: `tool_text` has no vector: {reason}", who[1]),
            format!("{}: `tool_description` has no vector: {reason}", who[1]),
        ];
        assert_eq!(manifest.warnings, expected);
        for name in ["server_description", "server_digest", "tool_text", "tool_description"] {
            assert_eq!(manifest.absent[name], Absent { no_text: 0, bad_vector: 1 }, "{name}");
        }
        for kind in Matrix::ALL {
            let rows = router.index().rows(kind).unwrap();
            let mut numbers = (0..rows.n_rows()).flat_map(|row| rows.to_f32(row));
            assert!(numbers.all(f32::is_finite), "{kind:?}");
        }
        for (tool, first) in [("moor at the mast", "moor"), ("docks a ship", "dock")] {
            let ask = Ask::Fields { server: None, tool: Some(tool.to_owned()) };
            let reply = router.route(&ask, &Options::default()).unwrap().reply;
            assert!(reply.matches.iter().any(|one| one.tool == first), "{reason}");
            let by_words = rank::best_by_words(&router.index().lexical().scores(tool).unwrap(), 1);
            assert_eq!(router.index().tool(by_words[0].0).unwrap().name, first);
            assert!(reply.matches.iter().all(|one| one.score.is_finite()));
            assert_eq!(reply.requests[0].note, None);
        }
    }
}

#[test]
fn a_request_with_a_bad_vector_is_answered_by_words_and_says_so() {
    for (bad, reason) in kinds() {
        let dir = tempfile::tempdir().unwrap();
        let router = built(dir.path(), Faulty::new(&bad));
        for server in [None, Some("a zeppelin"), Some("airfield")] {
            let tool = Some("moor the zeppelin".to_owned());
            let ask = Ask::Fields { server: server.map(str::to_owned), tool };
            let reply = router.route(&ask, &Options::default()).unwrap().reply;
            assert_eq!(reply.matches[0].tool, "moor", "{reason}");
            let note = reply.requests[0].note.as_deref().unwrap();
            assert!(note.contains("ranked by its words alone"), "{note}");
        }
        let ask = Ask::Text("<tool_assistant>\ntool: moor the zeppelin".to_owned());
        let paper = Options { method: Method::MCP_ZERO, ..Options::default() };
        let error = router.route(&ask, &paper).unwrap_err();
        assert!(matches!(error, RouteError::NoVector { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

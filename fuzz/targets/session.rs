//! Whatever a client sends, the meta-server answers in lines of JSON-RPC.
#![no_main]

use std::sync::{Arc, Mutex, OnceLock};

use libfuzzer_sys::fuzz_target;
use tokio::io::AsyncWrite;
use tokio::runtime::Runtime;
use toolscout::router::Options;
use toolscout::serve::{Engine, session};
use toolscout::vectors::Precision;
use toolscout_fuzz::{Tiny, build};

/// What a client of the older protocol says first.
const OPENING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

struct World {
    _dir: tempfile::TempDir,
    engine: Arc<Engine>,
    runtime: Runtime,
}

static WORLD: OnceLock<World> = OnceLock::new();

fuzz_target!(
    init: {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), Precision::F32);
        let loader = Box::new(|_: &_| Ok(Arc::new(Tiny::default()) as _));
        let engine = Arc::new(Engine::new(dir.path().join("index"), loader, Options::default()));
        engine.warm_up();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        drop(WORLD.set(World { _dir: dir, engine, runtime }));
    },
    |bytes: &[u8]| {
        let [first, rest @ ..] = bytes else { return };
        let opening = if first % 2 == 0 { OPENING } else { "" };
        let (world, output) = (WORLD.get().unwrap(), Output::default());
        let input = std::io::Cursor::new([opening.as_bytes(), rest].concat());
        let served = session(Arc::clone(&world.engine), Arc::default(), input, output.clone());
        if let Err(error) = world.runtime.block_on(served) {
            drop(error.to_string());
        }
        let said = output.0.lock().unwrap();
        for line in said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let answer: serde_json::Value = serde_json::from_slice(line).expect("a line of JSON");
            assert_eq!(answer["jsonrpc"], "2.0");
        }
    }
);

/// Keeps what is written.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for Output {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

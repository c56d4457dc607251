//! An index with one damaged file whose checksums are right again is refused
//! or answers; nothing that lies in it ends the process.
#![no_main]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use toolscout::catalog::{ServerId, ToolId};
use toolscout::index::{Index, Matrix};
use toolscout::router::{Ask, Options, RankingMode, Router};
use toolscout_fuzz::{Tiny, build};

const FILES: [&str; 6] = [
    "gen-1/manifest.json",
    "gen-1/vectors.safetensors",
    "gen-1/catalog.jsonl",
    "gen-1/lexical.safetensors",
    "gen-1/surface.json",
    "CURRENT",
];

struct World {
    _dir: tempfile::TempDir,
    index: PathBuf,
    sound: [Vec<u8>; 6],
}

static WORLD: OnceLock<World> = OnceLock::new();

fuzz_target!(
    init: {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path());
        let index = dir.path().join("index");
        let sound = FILES.map(|name| std::fs::read(index.join(name)).unwrap());
        // A panic that the crate catches is no finding; others end the run.
        std::panic::set_hook(Box::new(|_| ()));
        drop(WORLD.set(World { _dir: dir, index, sound }));
    },
    |bytes: &[u8]| {
        let [file, how, rest @ ..] = bytes else { return };
        let (world, file) = (WORLD.get().unwrap(), usize::from(*file) % FILES.len());
        let damaged = if how % 2 == 0 { rest.to_vec() } else { patched(&world.sound[file], rest) };
        world.put(file, &damaged);
        read(&world.index);
        world.put(file, &world.sound[file]);
    }
);

impl World {
    /// Replaces a file, with the checksums that it needs to be believed.
    fn put(&self, file: usize, bytes: &[u8]) {
        std::fs::write(self.index.join(FILES[file]), bytes).unwrap();
        let manifest = match file {
            0 => bytes.to_vec(),
            5 => return,
            _ => {
                let mut manifest: serde_json::Value =
                    serde_json::from_slice(&self.sound[0]).unwrap();
                let record = &mut manifest["files"][&FILES[file]["gen-1/".len()..]];
                record["bytes"] = bytes.len().into();
                record["sha256"] = sha256(bytes).into();
                serde_json::to_vec_pretty(&manifest).unwrap()
            }
        };
        std::fs::write(self.index.join(FILES[0]), &manifest).unwrap();
        std::fs::write(self.index.join("gen-1/manifest.sha256"), sha256(&manifest)).unwrap();
    }
}

/// `sound` with pieces replaced: place (two bytes), length (one), content.
fn patched(sound: &[u8], mut patches: &[u8]) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    while let [high, low, length, rest @ ..] = patches {
        let place = usize::from(u16::from_be_bytes([*high, *low])) % bytes.len();
        let length = usize::from(*length).min(rest.len()).min(bytes.len() - place);
        bytes[place..place + length].copy_from_slice(&rest[..length]);
        patches = &rest[length..];
    }
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(dir: &std::path::Path) {
    drop(Index::live_generation(dir));
    drop(Index::live_surface(dir));
    drop(Index::recorded(dir));
    let Ok((index, _)) = Index::open_sound(dir) else { return };
    drop(index.surface());
    for kind in Matrix::ALL {
        drop(index.matrix(kind));
    }
    for id in (0..8).chain([u32::MAX]) {
        drop(index.server(ServerId(id)));
        drop(index.tool(ToolId(id)));
    }
    let Ok(router) = Router::new(Arc::new(index), Arc::new(Tiny::default())) else { return };
    for ranking in [RankingMode::Scout, RankingMode::McpZero] {
        let options = Options { ranking, max_bytes: Some(2_048), ..Options::default() };
        for ask in asks() {
            drop(router.route(&ask, &options));
        }
    }
}

fn asks() -> [Ask; 3] {
    let fields = |server: Option<&str>, tool: Option<&str>| Ask::Fields {
        server: server.map(str::to_owned),
        tool: tool.map(str::to_owned),
    };
    [
        fields(Some("git hub"), Some("create an issue")),
        fields(None, Some("天気 issues")),
        fields(Some("code"), None),
    ]
}

//! An index with one damaged file whose checksums are right again is refused
//! or answers; nothing that lies in it ends the process.
#![no_main]

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use toolscout::catalog::{ServerId, ToolId};
use toolscout::index::{Index, Matrix};
use toolscout::router::{Ask, Method, Options, Router};
use toolscout::vectors::Precision;
use toolscout_fuzz::{Tiny, build};

const FILES: [&str; 8] = [
    "gen-1/manifest.json",
    "gen-1/vectors.safetensors",
    "gen-1/catalog.jsonl",
    "gen-1/lexical.safetensors",
    "gen-1/surface.json",
    "gen-1/neighbors.safetensors",
    "CURRENT",
    "confidence.toml",
];

struct World {
    _dir: tempfile::TempDir,
    index: PathBuf,
    sound: [Option<Vec<u8>>; FILES.len()],
}

static WORLDS: OnceLock<[World; 2]> = OnceLock::new();

fuzz_target!(
    init: {
        // A panic that the crate catches is no finding; others end the run.
        std::panic::set_hook(Box::new(|_| ()));
        drop(WORLDS.set([Precision::F32, Precision::Int8].map(World::new)));
    },
    |bytes: &[u8]| {
        let [file, how, rest @ ..] = bytes else { return };
        let world = &WORLDS.get().unwrap()[usize::from(how / 2 % 2)];
        let file = usize::from(*file) % FILES.len();
        let sound = world.sound[file].as_deref();
        let damaged = if how % 2 == 0 { rest.to_vec() } else { patched(sound, rest) };
        world.put(file, Some(&damaged));
        read(&world.index);
        world.put(file, sound);
    }
);

impl World {
    fn new(precision: Precision) -> Self {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), precision);
        let index = dir.path().join("index");
        let sound = FILES.map(|name| std::fs::read(index.join(name)).ok());
        Self { _dir: dir, index, sound }
    }

    /// Replaces a file, with the checksums that it needs to be believed.
    fn put(&self, file: usize, bytes: Option<&[u8]>) {
        let path = self.index.join(FILES[file]);
        let Some(bytes) = bytes else { return std::fs::remove_file(path).unwrap() };
        std::fs::write(path, bytes).unwrap();
        let manifest = match FILES[file].strip_prefix("gen-1/") {
            None => return,
            Some("manifest.json") => bytes.to_vec(),
            Some(name) => {
                let sound = self.sound[0].as_deref().unwrap();
                let mut manifest: serde_json::Value = serde_json::from_slice(sound).unwrap();
                if let Some(record) = manifest["files"].get_mut(name) {
                    record["bytes"] = bytes.len().into();
                    record["sha256"] = sha256(bytes).into();
                }
                serde_json::to_vec_pretty(&manifest).unwrap()
            }
        };
        std::fs::write(self.index.join(FILES[0]), &manifest).unwrap();
        std::fs::write(self.index.join("gen-1/manifest.sha256"), sha256(&manifest)).unwrap();
    }
}

/// `sound` with pieces replaced: place (two bytes), length (one), content.
fn patched(sound: Option<&[u8]>, mut patches: &[u8]) -> Vec<u8> {
    let mut bytes = sound.unwrap_or_default().to_vec();
    if bytes.is_empty() {
        return bytes;
    }
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
    drop(index.calibration());
    for kind in Matrix::ALL {
        drop(index.rows(kind));
    }
    for id in (0..8).chain([u32::MAX]) {
        drop(index.server(ServerId(id)));
        drop(index.tool(ToolId(id)));
    }
    let Ok(router) = Router::new(Arc::new(index), Arc::new(Tiny::default())) else { return };
    for method in [Method::SCOUT, Method::MCP_ZERO] {
        let options = Options { method, max_bytes: Some(2_048), ..Options::default() };
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

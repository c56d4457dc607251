//! `toolscout demo`: the main job on the bundled sample, from nothing.

use std::path::PathBuf;
use std::sync::Arc;

use super::embedder::Choice;
use super::terminal::{print, print_json, remark, rendered};
use super::{embedder, index, models, route};
use crate::build::Plan;
use crate::config::Config;
use crate::index::Index;
use crate::index::Storage;
use crate::models as model_room;
use crate::models::ModelStore;
use crate::reply::Detail;
use crate::router::Ask;
use crate::router::Options;
use crate::router::Router;
use crate::sources::Fetching;
use crate::sources::Live;
use crate::sources::Source;
use crate::surface::thousands;
use crate::tokens;

/// The sample catalogue, so that an installed binary can show itself too.
const SAMPLE: &str = include_str!("../../index/sample.catalog.json");

const REQUESTS: [&str; 3] = [
    "<tool_assistant>\nserver: issue tracker\ntool: create a bug report on the sprint board\n</tool_assistant>",
    "<tool_assistant>\nserver: team chat\ntool: find old messages that mention the release\n</tool_assistant>",
    "<tool_assistant>\nserver: 日本の電車の乗換案内\ntool: 新宿から横浜までの経路を検索する\n</tool_assistant>",
];

pub(super) fn run(config: &Config) -> anyhow::Result<()> {
    let model = model_room::find(model_room::default_model())?;
    models::pull(config, &ModelStore::new(&config.models), model, None)?;
    let sources = vec![Source::of_path(sample(config)?)];
    let plan = Plan {
        sources,
        fetching: Fetching::default(),
        dir: config.sample_index.clone(),
        paper: true,
        storage: Storage::default(),
        remote: None,
        summarizer: None,
        live: Live::default(),
        pin: false,
        approve: Vec::new(),
    };
    let choice = Choice::local(&model.name);
    index::build(config, &plan, &choice)?;
    let (opened, _) = Index::open_sound(&plan.dir)?;
    let surface = opened.surface()?;
    let router = Router::new(Arc::new(opened), embedder::load(config, &choice)?)?;
    let (mut replies, mut n_reply_tokens) = (Vec::new(), 0);
    for request in REQUESTS {
        let options = Options { detail: Detail::Schema, ..Options::default() };
        let reply = router.route(&Ask::Text(request.to_owned()), &options)?.reply;
        n_reply_tokens += tokens::count(&reply.to_text());
        replies.push((request, reply));
    }
    if config.json {
        return print_json(&replies.iter().map(|(_, reply)| reply).collect::<Vec<_>>());
    }
    for (request, reply) in &replies {
        print(&format!("\n{request}\n{}", rendered(&route::matches_table(reply, 0))))?;
    }
    print(&savings(
        surface.tokens.all_schemas,
        surface.tokens.tool_entry_with_output_schema,
        n_reply_tokens,
    ))?;
    remark(
        config,
        "\nNext: toolscout index build --from YOUR_CATALOG.json, then toolscout serve (see README)",
    );
    Ok(())
}

/// The sample as a file: the checkout's, or one written from the binary.
fn sample(config: &Config) -> anyhow::Result<PathBuf> {
    let path = config.sample_index.with_file_name("sample.catalog.json");
    if !path.exists() {
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder)?;
        }
        fs_err::write(&path, SAMPLE)?;
    }
    Ok(path)
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn savings(all_schemas: usize, entry: usize, replies: usize) -> String {
    let spent = entry + replies;
    let saved = 100.0 * (1.0 - spent as f64 / all_schemas.max(1) as f64);
    format!(
        "\ntokens (o200k_base): all schemas up front {}; toolscout {} = its tool entry {} + {} for three replies with schemas; {saved:.1} % saved",
        thousands(all_schemas),
        thousands(spent),
        thousands(entry),
        thousands(replies),
    )
}

//! `toolscout route`: one request from the shell.

use std::io::Read;
use std::sync::Arc;

use anyhow::Context;
use comfy_table::Table;
use serde::Serialize;
use serde_json::json;

use super::embedder::Choice;
use super::terminal::{print, print_json, remark, rendered, shown_json, table};
use super::{Outcome, embedder};
use crate::catalog::clean_text;
use crate::cli::DetailArg;
use crate::cli::Route;
use crate::config::Config;
use crate::index::Index;
use crate::rank::Pooled;
use crate::rank::Reason;
use crate::reply::Detail;
use crate::reply::Reply;
use crate::reply::RequestReport;
use crate::router::Ask;
use crate::router::Explained;
use crate::router::Options;
use crate::router::Routed;
use crate::router::Router;

pub(super) fn run(config: &Config, arguments: &Route) -> anyhow::Result<Outcome> {
    let ask = ask(arguments)?;
    let (index, older) = Index::open_sound(&config.index)?;
    if let Some(error) = older {
        let generation = index.manifest().generation;
        remark(config, &format!("warning: {error}; answering from generation {generation}"));
    }
    let manifest = index.manifest();
    let choice =
        Choice::recorded(config, &manifest.embedder, manifest.remote.as_ref(), &arguments.place)?;
    let router = Router::new(Arc::new(index), embedder::load(config, &choice)?)?;
    let routed = router.route(&ask, &options(config, arguments))?;
    if config.json {
        show_json(&router, &routed, arguments)?;
    } else {
        show(&router, &routed, arguments)?;
    }
    Ok(if routed.reply.matches.is_empty() { Outcome::NothingMatched } else { Outcome::Done })
}

fn ask(arguments: &Route) -> anyhow::Result<Ask> {
    match (&arguments.request, &arguments.server, &arguments.tool) {
        (Some(request), None, None) if request == "-" => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
            Ok(Ask::Text(String::from_utf8_lossy(&bytes).into_owned()))
        }
        (Some(request), None, None) => Ok(Ask::Text(request.clone())),
        (_, server, tool) => Ok(Ask::Fields { server: server.clone(), tool: tool.clone() }),
    }
}

fn options(config: &Config, arguments: &Route) -> Options {
    let detail = match arguments.detail {
        Some(DetailArg::Names) => Detail::Names,
        Some(DetailArg::Summary) => Detail::Summary,
        Some(DetailArg::Schema) => Detail::Schema,
        None if config.json => Detail::Schema,
        None => Detail::Summary,
    };
    Options {
        method: arguments.ranking.into(),
        top_k: usize::from(arguments.k),
        detail,
        exclude: arguments.exclude.clone(),
        floor: arguments.floor,
        ..Options::default()
    }
}

/// The documented shape; `--explain` adds one key.
#[derive(Serialize)]
struct Explaining<'a> {
    #[serde(flatten)]
    reply: &'a Reply,
    explain: Vec<serde_json::Value>,
}

fn show_json(router: &Router, routed: &Routed, arguments: &Route) -> anyhow::Result<()> {
    let reply = &routed.reply;
    if !arguments.explain {
        return print_json(reply);
    }
    let explain = routed.explained.iter().map(|one| explained_json(router, one));
    print_json(&Explaining { reply, explain: explain.collect::<anyhow::Result<_>>()? })
}

fn explained_json(router: &Router, one: &Explained) -> anyhow::Result<serde_json::Value> {
    let pool = one.pool.iter().map(|pooled| {
        Ok(json!({
            "server": router.server_name(pooled.server)?,
            "server_score": pooled.score,
            "reason": reason(router, pooled)?,
        }))
    });
    let scores = one.hits.iter().map(|hit| {
        Ok(json!({
            "name": router.index().tool(hit.tool)?.exposed,
            "score": hit.score,
            "dense_score": hit.dense_score,
            "server_score": hit.server_score,
            "tool_score": hit.tool_score,
            "joint_score": hit.joint_score,
            "word_score": hit.word_score,
            "contradicts": hit.contradicts,
        }))
    });
    Ok(json!({
        "server_text": one.server_text,
        "tool_text": one.tool_text,
        "joint_text": one.joint_text,
        "confidence": one.confidence,
        "signals": one.signals,
        "pool": pool.collect::<anyhow::Result<Vec<_>>>()?,
        "scores": scores.collect::<anyhow::Result<Vec<_>>>()?,
    }))
}

fn show(router: &Router, routed: &Routed, arguments: &Route) -> anyhow::Result<()> {
    let reply = &routed.reply;
    for (n, explained) in routed.explained.iter().enumerate() {
        if reply.requests.len() > 1 || arguments.explain {
            print(&heading(reply, n))?;
        }
        if let Some(note) = &reply.requests[n].note {
            print(&format!("note: {note}"))?;
        }
        if reply.requests[n].abstained {
            print(&abstention(&reply.requests[n]))?;
        } else {
            print(&rendered(&matches_table(reply, n)))?;
            show_schemas(reply, n)?;
        }
        if arguments.explain {
            print(&explanation(router, explained)?)?;
        }
    }
    if reply.matches.is_empty() && !reply.requests.iter().any(|one| one.abstained) {
        print("no tool matches; the index may hold no tools: `toolscout index inspect`")?;
    }
    Ok(())
}

fn abstention(request: &RequestReport) -> String {
    let confidence = request.confidence.unwrap_or_default();
    let nearest: Vec<String> = request.nearest.iter().map(|name| clean_text(name)).collect();
    format!(
        "no tool fits (confidence {confidence:.2}); nearest servers: {}\nask in other words, or see \
the ranking with `--floor 0`",
        nearest.join(", ")
    )
}

fn heading(reply: &Reply, n: usize) -> String {
    let request = &reply.requests[n];
    let part = |name: &str, text: &Option<String>| {
        text.as_ref().map(|text| format!("{name}: {text}")).unwrap_or_default()
    };
    let parts = [part("server", &request.server), part("tool", &request.tool)];
    let bold = anstyle::Style::new().bold();
    format!("{bold}request {}{bold:#}  {}", n + 1, parts.join("  ").trim())
}

/// The ranking as a table of rank, score, name, description.
pub(super) fn matches_table(reply: &Reply, request: usize) -> Table {
    let mut rows = table(&["#", "score", "tool", "what it does"], &[0, 1]);
    for one in reply.matches.iter().filter(|one| one.request == request) {
        let description = one.description.as_deref().unwrap_or_default();
        let line = description.lines().next().unwrap_or_default();
        rows.add_row([&one.rank.to_string(), &format!("{:.3}", one.score), &one.name, line]);
    }
    rows
}

fn show_schemas(reply: &Reply, request: usize) -> anyhow::Result<()> {
    for one in reply.matches.iter().filter(|one| one.request == request) {
        if let Some(schema) = &one.input_schema {
            print(&format!("\n{}\n{}", one.name, shown_json(schema.get())))?;
        }
    }
    Ok(())
}

fn explanation(router: &Router, explained: &Explained) -> anyhow::Result<String> {
    let head = ["#", "score", "dense", "s_server", "s_tool", "s_joint", "words", "verb", "tool"];
    let mut parts = table(&head, &[0, 1, 2, 3, 4, 5, 6]);
    for (n, hit) in explained.hits.iter().enumerate() {
        let number = |score: f32| format!("{score:.4}");
        let maybe = |score: Option<f32>| score.map_or("–".to_owned(), number);
        parts.add_row([
            (n + 1).to_string(),
            number(hit.score),
            number(hit.dense_score),
            maybe(hit.server_score),
            number(hit.tool_score),
            maybe(hit.joint_score),
            number(hit.word_score),
            if hit.contradicts { "≠" } else { "" }.to_owned(),
            router.index().tool(hit.tool)?.exposed,
        ]);
    }
    let mut pool = table(&["s_server", "server", "in the pool because"], &[0]);
    for pooled in &explained.pool {
        let name = clean_text(&router.server_name(pooled.server)?);
        let why = reason(router, pooled)?;
        pool.add_row([format!("{:.4}", pooled.score), name, why]);
    }
    let how = if explained.pool.is_empty() {
        "no platform in the request: all tools ranked by s_tool and words".to_owned()
    } else {
        format!("dense = (s_server · s_tool) · max(s_server, s_tool)\n\n{}", rendered(&pool))
    };
    let sure = match (explained.confidence, explained.signals) {
        (Some(confidence), Some(signals)) => format!(
            "confidence {confidence:.4}, from similarity {:.4}, margin {:.4}, coverage {:.4}, \
contradiction {:.0}\n\n",
            signals.similarity, signals.margin, signals.coverage, signals.contradiction
        ),
        _ => String::new(),
    };
    Ok(format!("\n{}\n\n{sure}{how}\n", rendered(&parts)))
}

fn reason(router: &Router, pooled: &Pooled) -> anyhow::Result<String> {
    Ok(match pooled.reason {
        Reason::BestServer { rank } => format!("server {rank} by s_server"),
        Reason::OwnsBestTool { tool, rank } => {
            format!(
                "owns tool {rank} by s_tool, `{}`",
                clean_text(&router.index().tool(tool)?.name)
            )
        }
        Reason::OwnsBestJoint { tool, rank } => {
            format!(
                "owns tool {rank} by s_joint, `{}`",
                clean_text(&router.index().tool(tool)?.name)
            )
        }
        Reason::OwnsBestWords { tool, rank } => {
            format!("owns tool {rank} by words, `{}`", clean_text(&router.index().tool(tool)?.name))
        }
    })
}

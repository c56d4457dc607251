//! From material to the draft of an index: texts, vectors, words, names.

use super::BuildError;
use super::Event;
use super::Plan;
use super::digest::tool_text;
use super::material::Material;
use super::names;
use super::texts;
use crate::embed::Embedder;
use crate::index::Draft;
use crate::index::ToolRecord;
use crate::operation::Operation;

/// Embeds the texts; also how many distinct ones there are.
pub(super) fn of(
    plan: &Plan,
    material: Material,
    embedder: &dyn Embedder,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<(Draft, usize), BuildError> {
    let Material { merged, sources, pins, withheld, .. } = material;
    let embedded = texts::embed(&merged.servers, plan, embedder, on_event)?;
    let exposed = names::expose(&merged.servers);
    let mut warnings = merged.warnings;
    warnings.extend(embedded.warnings);
    let tool_server = merged
        .servers
        .iter()
        .zip(0..)
        .flat_map(|(server, id)| std::iter::repeat_n(id, server.tools.len()))
        .collect();
    let mut exposed = exposed.into_iter();
    let (mut tools, mut words, mut tool_operation) = (Vec::new(), Vec::new(), Vec::new());
    let servers = merged.servers.iter().map(texts::server_record).collect();
    for server in merged.servers {
        for tool in server.tools {
            tool_operation.push(Operation::of_tool(&tool.name, &tool.description).to_bits());
            words.push(format!("{} {}", server.name, tool_text(&tool)));
            tools.push(ToolRecord {
                exposed: exposed.next().unwrap_or_default(),
                server: server.name.clone(),
                name: tool.name,
                title: tool.title,
                description: tool.description,
                input_schema: tool.input_schema,
                output_schema: tool.output_schema,
                annotations: tool.annotations,
            });
        }
    }
    let draft = Draft {
        servers,
        tools,
        tool_server,
        tool_operation,
        words,
        matrices: embedded.matrices,
        storage: plan.storage,
        absent: embedded.absent,
        embedder: embedder.identity().clone(),
        remote: plan.remote.clone(),
        summarizer: plan.summarizer.clone(),
        runtime: embedder.runtime().to_owned(),
        sources,
        rejected: merged.rejected,
        warnings,
        stale: merged.stale,
        pins,
        withheld,
    };
    Ok((draft, embedded.n_texts))
}

//! The language model that summarises servers: which one, and what came of it.

use super::terminal::remark;
use super::trust;
use crate::build::Plan;
use crate::build::Summaries;
use crate::build::Summarizer;
use crate::cli::Build;
use crate::config;
use crate::config::Config;
use crate::embed::Limits;
use crate::embed::RemoteModel;
use crate::embed::RemoteWriter;
use crate::surface::counted;

/// The model that the flags name, trusted from now on with its key.
pub(super) fn model(config: &Config, arguments: &Build) -> anyhow::Result<Option<RemoteModel>> {
    let (Some(url), Some(name)) = (&arguments.summarize, &arguments.summarize_model) else {
        return Ok(None);
    };
    let mut model = RemoteModel::new(url, name, None)?;
    if let Some(variable) = &arguments.summarize_key_env {
        model = model.with_key_env(variable)?;
    }
    trust::remember(config, &model)?;
    Ok(Some(model))
}

/// The model of a plan, ready to be asked.
pub(super) fn writer(config: &Config, plan: &Plan) -> anyhow::Result<Option<Summarizer>> {
    let Some(model) = &plan.summarizer else { return Ok(None) };
    trust::require_summarizer(config, model)?;
    let key = model.key_env.as_deref().and_then(config::secret);
    let writer = RemoteWriter::new(model, key.as_ref(), Limits::default())?;
    Ok(Some(Summarizer::new(writer, &model.model, &config.cache)))
}

/// What came of it, on stderr.
pub(super) fn show(config: &Config, summaries: Option<&Summaries>) {
    let Some(Summaries { n_new, n_known, n_failed, failure }) = summaries else { return };
    let (new, known) = (counted(*n_new, "new summary"), counted(*n_known, "known summary"));
    let plural = |text: String| text.replace("summarys", "summaries");
    remark(config, &format!("{}, {}", plural(new), plural(known)));
    if let Some(failure) = failure {
        let servers = counted(*n_failed, "server");
        remark(config, &format!("{servers} without a new summary: {failure}"));
    }
}

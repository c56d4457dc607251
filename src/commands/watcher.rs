//! What a build is at, on stderr: remarks and progress bars.

use indicatif::ProgressBar;

use super::progress;
use super::terminal::remark;
use crate::build::Event;
use crate::build::Plan;
use crate::config::Config;
use crate::sources::LiveEvent;
use crate::surface::counted;
use crate::surface::thousands;

/// Shows one build.
pub(super) struct Watcher<'a> {
    config: &'a Config,
    summarizes: bool,
    embedding: Option<ProgressBar>,
    asking: Option<ProgressBar>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(config: &'a Config, plan: &Plan) -> Self {
        let summarizes = plan.summarizer.is_some();
        Self { config, summarizes, embedding: None, asking: None }
    }

    pub(super) fn show(&mut self, event: Event<'_>) {
        match event {
            Event::Waiting(dir) => {
                self.say(&format!("another build of `{}` runs, waiting for it", dir.display()));
            }
            Event::Live(_, event) => self.show_live(event),
            Event::Read(name, import) => {
                let n_tools: usize = import.servers.iter().map(|server| server.tools.len()).sum();
                let (servers, tools) =
                    (counted(import.servers.len(), "server"), counted(n_tools, "tool"));
                self.say(&format!("{name}: {}, {servers}, {tools}", import.format));
            }
            Event::Asked(name, asked) => self.say(&format!("{name}: {asked}")),
            Event::Summarizing => {
                if self.summarizes {
                    self.say("asking for summaries of the servers");
                }
            }
            Event::Embedded { done, total } => {
                let config = self.config;
                let new = || progress::counting(config, "embedding", total as u64);
                self.embedding.get_or_insert_with(new).set_position(done as u64);
            }
            Event::Writing { n_linked } => {
                if let Some(bar) = &self.embedding {
                    bar.finish_and_clear();
                }
                if n_linked > 0 {
                    let n = thousands(n_linked);
                    self.say(&format!("linking {n} vectors to their neighbours, if any changed"));
                }
            }
        }
    }

    /// A bar that moves with every server that has answered.
    fn show_live(&mut self, event: LiveEvent<'_>) {
        match event {
            LiveEvent::Asking { n_asked, n_known } => {
                if n_known > 0 {
                    let stay = if n_known == 1 { "stays" } else { "stay" };
                    self.say(&format!(
                        "{} answered not long ago and {stay}",
                        counted(n_known, "server")
                    ));
                }
                if n_asked > 0 {
                    let bar = progress::counting(self.config, "asking servers", n_asked as u64);
                    self.asking = Some(bar);
                }
            }
            LiveEvent::Asked { .. } => {
                if let Some(bar) = &self.asking {
                    bar.inc(1);
                    if Some(bar.position()) == bar.length() {
                        bar.finish_and_clear();
                    }
                }
            }
        }
    }

    fn say(&self, line: &str) {
        remark(self.config, line);
    }
}

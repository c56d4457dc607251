//! Everything measured, as JSON, as Markdown and as one HTML page.

mod html;
mod markdown;
mod plots;

use serde::{Deserialize, Serialize};

use super::needle::Point;
use super::results::{Results, Run};

/// What a report shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The command that made it.
    pub command: String,
    /// All arms over all sets.
    pub results: Results,
    /// The paper's grid.
    pub needle: Vec<Point>,
    /// The same requests of ever larger pools.
    pub growth: Vec<Run>,
}

impl Report {
    /// A page of tables.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        markdown::render(self)
    }

    /// One self-contained page with plots.
    #[must_use]
    pub fn to_html(&self) -> String {
        html::render(self)
    }

    /// Share of the points of an arm that are found at the first place.
    fn found(&self, arm: &str) -> Option<f64> {
        let own = self.needle.iter().filter(|point| point.arm == arm);
        super::metrics::rate(own.map(|point| point.rank == Some(1)))
    }

    /// Names of the arms, in the order of the runs.
    fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<&str> = Vec::new();
        for run in &self.results.runs {
            if !arms.contains(&run.arm.as_str()) {
                arms.push(&run.arm);
            }
        }
        arms
    }

    /// Set and pool of the runs, each once.
    fn suites(&self) -> Vec<(&str, &str)> {
        let mut suites: Vec<(&str, &str)> = Vec::new();
        for run in &self.results.runs {
            if !suites.contains(&(&run.set, &run.pool)) {
                suites.push((&run.set, &run.pool));
            }
        }
        suites
    }

    fn run(&self, (set, pool): (&str, &str), arm: &str) -> Option<&Run> {
        self.results.runs.iter().find(|run| run.set == set && run.pool == pool && run.arm == arm)
    }
}

//! What is counted while serving, as `/metrics` shows it.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::Registry;

use super::backends::Backends;

type Labels = [(&'static str, String); 1];
type Pair = [(&'static str, String); 2];
type Gauges = Family<Labels, Gauge<u64, AtomicU64>>;

/// Counters and histograms of a process.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Pair, Counter>,
    abstentions: Counter,
    seconds: Family<Labels, Histogram>,
    tokens_saved: Counter,
    selected: Family<Labels, Counter>,
    up: Gauges,
    resting: Gauges,
    starts: Gauges,
    calls: Gauges,
    failures: Gauges,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("toolscout");
        let seconds = Family::<Labels, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.000_1, 2.5, 14))
        });
        let all = Self {
            requests: Family::default(),
            abstentions: Counter::default(),
            seconds,
            tokens_saved: Counter::default(),
            selected: Family::default(),
            up: Family::default(),
            resting: Family::default(),
            starts: Family::default(),
            calls: Family::default(),
            failures: Family::default(),
            registry: Registry::default(),
        };
        registry.register("requests", "Calls of our tools", all.requests.clone());
        registry.register("abstentions", "Requests to which no tool fits", all.abstentions.clone());
        registry.register("phase_seconds", "Time by phase", all.seconds.clone());
        let help = "Tokens of all schemas, less those of our entry, each time tools are listed";
        registry.register("tokens_saved", help, all.tokens_saved.clone());
        let help = "Calls by the rank at which their tool had last been offered, 0 for never";
        registry.register("selected_rank", help, all.selected.clone());
        registry.register("upstream_up", "Whether a server is connected", all.up.clone());
        let help = "Whether a server is left alone after a failure";
        registry.register("upstream_resting", help, all.resting.clone());
        registry.register("upstream_starts", "Starts and connections", all.starts.clone());
        registry.register("upstream_calls", "Calls sent to a server", all.calls.clone());
        let help = "Calls without an answer, and starts that failed";
        registry.register("upstream_failures", help, all.failures.clone());
        Self { registry, ..all }
    }
}

impl Metrics {
    /// A call of one of our tools has ended: `ok`, `error` or `abstained`.
    pub(super) fn request(&self, tool: &str, outcome: &str) {
        let labels = [("tool", tool.to_owned()), ("outcome", outcome.to_owned())];
        self.requests.get_or_create(&labels).inc();
    }

    pub(super) fn abstained(&self, n: usize) {
        self.abstentions.inc_by(n as u64);
    }

    /// `discover`, `embed` or `rank` of it, or `call`.
    pub(super) fn took(&self, phase: &str, time: Duration) {
        self.seconds.get_or_create(&[("phase", phase.to_owned())]).observe(time.as_secs_f64());
    }

    pub(super) fn saved(&self, tokens: usize) {
        self.tokens_saved.inc_by(tokens as u64);
    }

    pub(super) fn selected(&self, rank: usize) {
        self.selected.get_or_create(&[("rank", rank.to_string())]).inc();
    }

    /// All of it, in the text format of `OpenMetrics`.
    pub(super) fn text(&self, backends: Option<&Backends>) -> String {
        for (server, health) in backends.map(|it| it.pool().health()).unwrap_or_default() {
            let labels = [("server", server.to_owned())];
            for (gauges, value) in [
                (&self.up, u64::from(health.is_up)),
                (&self.resting, u64::from(health.is_resting)),
                (&self.starts, health.n_starts),
                (&self.calls, health.n_calls),
                (&self.failures, health.n_failures),
            ] {
                gauges.get_or_create(&labels).set(value);
            }
        }
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.registry) {
            tracing::error!(%error, "the metrics cannot be written");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_shown() {
        let metrics = Metrics::default();
        metrics.request("discover_tools", "ok");
        metrics.selected(1);
        metrics.selected(1);
        metrics.took("call", Duration::from_millis(3));
        let text = metrics.text(None);
        for line in [
            r#"toolscout_requests_total{tool="discover_tools",outcome="ok"} 1"#,
            r#"toolscout_selected_rank_total{rank="1"} 2"#,
            r#"toolscout_phase_seconds_count{phase="call"} 1"#,
            "toolscout_abstentions_total 0",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}

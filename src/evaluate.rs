//! Offline evaluation: sets of requests → figures, by the product itself.
//!
//! Owns the data sets, the arms that are compared and every figure. A pool of
//! tools is an index that the build made, an arm is a method of the router:
//! nothing is ranked here. Must not print, and must not tune anything.

mod apibank;
mod arms;
mod bench;
mod cases;
mod datasets;
mod error;
mod gate;
mod metrics;
mod results;
mod run;
mod suite;

pub use arms::{ARMS, Arm, arms};
pub use cases::Labels;
pub use datasets::{Registry, SetEntry};
pub use error::EvalError;
pub use gate::{Gate, Missed};
pub use metrics::Bin;
pub use results::{Abstain, Latency, Results, Run, Tokens};
pub use run::{Event, Outcome, run};
pub use suite::{SetChoice, Suite};

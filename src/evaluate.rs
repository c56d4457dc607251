//! Offline evaluation: sets of requests → figures, by the product itself.
//!
//! Owns the data sets, the arms that are compared and every figure. A pool of
//! tools is an index that the build made, an arm is a method of the router:
//! nothing is ranked here. Must not print, and must not tune anything.

mod apibank;
mod arms;
mod bench;
mod calibrate;
mod cases;
mod datasets;
mod error;
mod fetch;
mod gate;
mod metrics;
mod needle;
mod report;
mod results;
mod run;
mod suite;

pub use arms::{ARMS, Arm, arms};
pub use calibrate::{Calibrated, Fit, FloorEffect, calibrated, fit};
pub use cases::Labels;
pub use datasets::{FileEntry, Registry, SetEntry};
pub use error::EvalError;
pub use fetch::{Fetched, fetch};
pub use gate::{Gate, Missed};
pub use metrics::Bin;
pub use needle::{Point, grid, growth};
pub use report::Report;
pub use results::{Abstain, Latency, Results, Run, Tokens};
pub use run::{Event, Outcome, run};
pub use suite::{SetChoice, Suite};

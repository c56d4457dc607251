//! Who may see and call what.
//!
//! Owns policies. Pure: it knows names and annotations, no server and no index.

mod policy;

pub use crate::access::policy::PatternError;
pub use crate::access::policy::Policy;
pub use crate::access::policy::Refusal;

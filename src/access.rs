//! Who may see and call what.
//!
//! Owns policies and tokens. It knows names and annotations, no server and no index.

mod patterns;
mod policy;
mod tenants;
mod visitor;

pub use crate::access::patterns::PatternError;
pub use crate::access::policy::Policy;
pub use crate::access::policy::Refusal;
pub use crate::access::tenants::Tenants;
pub use crate::access::tenants::TenantsError;
pub use crate::access::visitor::Visitor;

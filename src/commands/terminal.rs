//! Printing: plain in a pipe, coloured on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use anyhow::Context;
use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table};
use serde::Serialize;

use crate::catalog::is_invisible;
use crate::config::Config;

/// Writes `text` and a line break to stdout.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    writeln!(anstream::stdout().lock(), "{text}")?;
    Ok(())
}

/// Writes a remark to stderr, unless `--quiet`.
pub(super) fn remark(config: &Config, text: &str) {
    if !config.quiet {
        say(text);
    }
}

/// Writes `text` and a line break to stderr.
pub(super) fn say(text: &str) {
    // What cannot be said is no reason to fail.
    let _ignored = writeln!(anstream::stderr().lock(), "{text}");
}

/// Writes `value` as JSON to stdout.
pub(super) fn print_json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value).context("cannot write the result as JSON")?)
}

/// Raw JSON as stdout may show it: byte for byte in a pipe; on a terminal
/// without characters that steer it.
pub(super) fn shown_json(json: &str) -> Cow<'_, str> {
    if std::io::stdout().is_terminal() { escaped(json) } else { Cow::Borrowed(json) }
}

/// Equal JSON in which invisible characters, which can stand only in its
/// strings, are `\uXXXX`. Joiners stay: Indic script and emoji need them.
fn escaped(json: &str) -> Cow<'_, str> {
    let steers = |c: char| is_invisible(c) && !matches!(c, '\r' | '\u{200C}' | '\u{200D}');
    if !json.contains(steers) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if !steers(c) {
            safe.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _infallible = write!(safe, "\\u{unit:04x}");
        }
    }
    Cow::Owned(safe)
}

/// A borderless table; `right` names the columns of numbers.
pub(super) fn table(head: &[&str], right: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if head.iter().any(|title| !title.is_empty()) {
        table.set_header(head.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    }
    if table.width() == Some(0) {
        // A terminal that does not know its width.
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    for &column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A table as text, without the blanks that fill up its last column.
pub(super) fn rendered(table: &Table) -> String {
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

/// `34014426` → `34.0 MB`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_on_a_terminal_is_equal_and_steers_nothing() {
        let json = "{\r\n \"a\u{9b}31m\u{7f}\": \"\u{202E}x\u{E0041} क्\u{200D}ष\"}";
        let safe = escaped(json);
        let expected = "{\r\n \"a\\u009b31m\\u007f\": \"\\u202ex\\udb40\\udc41 क्\u{200D}ष\"}";
        assert_eq!(safe, expected);
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(value(&safe), value(json));
        assert!(matches!(escaped("{\"a\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn sizes_have_decimal_units() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(34_014_426), "34.0 MB");
        assert_eq!(size(1_536_000_000), "1.54 GB");
    }
}

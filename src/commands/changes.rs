//! What an update changes, or would change.

use serde_json::json;

use super::terminal::{print, print_json, remark};
use super::watcher::Watcher;
use crate::build;
use crate::build::Changes;
use crate::build::Plan;
use crate::catalog::clean_text;
use crate::config::Config;
use crate::index::Withheld;

/// Tools of one kind of change that a terminal is shown.
const SHOWN: usize = 10;

/// `index update --dry-run`.
pub(super) fn preview(config: &Config, plan: &Plan) -> anyhow::Result<()> {
    let mut watcher = Watcher::new(config, plan);
    let preview = build::preview(plan, &mut |event| watcher.show(event))?;
    let changes = &preview.changes;
    if config.json {
        return print_json(&json!({
            "added": changes.added,
            "changed": changes.changed,
            "removed": changes.removed,
            "withheld": preview.withheld,
            "stale": preview.stale,
            "rejected": preview.rejected,
        }));
    }
    let all = lines(changes, &preview.withheld, usize::MAX);
    for line in &all {
        print(line)?;
    }
    match all.is_empty() {
        true => print("nothing would change"),
        false => Ok(()),
    }
}

/// What a build has changed, on stderr; nothing where there was no index before.
pub(super) fn show(config: &Config, changes: &Changes, withheld: &[Withheld]) {
    let is_first = changes.changed.is_empty() && changes.removed.is_empty();
    let none = Changes::default();
    let changes = if is_first && changes.added.len() > SHOWN { &none } else { changes };
    for line in lines(changes, withheld, SHOWN) {
        remark(config, &line);
    }
}

fn lines(changes: &Changes, withheld: &[Withheld], n_shown: usize) -> Vec<String> {
    // In one line: a server must not forge another.
    let name = |server: &str, tool: &str| {
        let name = clean_text(&format!("{server}/{tool}"));
        name.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let added =
        changes.added.iter().map(|one| format!("added    {}", name(&one.server, &one.tool)));
    let changed = changes
        .changed
        .iter()
        .map(|one| format!("changed  {}: {}", name(&one.server, &one.tool), one.fields.join(", ")));
    let removed =
        changes.removed.iter().map(|one| format!("removed  {}", name(&one.server, &one.tool)));
    let withheld = withheld.iter().map(|one| {
        let name = name(&one.server, &one.tool);
        // Nothing is offered for the shell that a server could have written into it.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./@:".contains(c);
        let command = match name.chars().all(is_plain) {
            true => format!(", then `index approve {name}`"),
            false => String::new(),
        };
        format!(
            "withheld {name}: its definition is not the approved one; see `index inspect --json`{command}"
        )
    });
    let mut lines = cut(added, n_shown);
    lines.extend(cut(changed, n_shown));
    lines.extend(cut(removed, n_shown));
    lines.extend(cut(withheld, n_shown));
    lines
}

fn cut(lines: impl ExactSizeIterator<Item = String>, n_shown: usize) -> Vec<String> {
    let n_over = lines.len().saturating_sub(n_shown);
    let mut lines: Vec<String> = lines.take(n_shown).collect();
    if n_over > 0 {
        lines.push(format!("         … and {n_over} more"));
    }
    lines
}

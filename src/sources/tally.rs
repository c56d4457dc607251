//! What happened to many records alike, counted instead of listed.
//!
//! Owns the wording. A registry of thousands of servers would drown its reader
//! in single warnings that all say the same.

use std::collections::BTreeMap;

use crate::sources::findings::shown;

/// So many names stand beside a count.
const N_EXAMPLES: usize = 3;

/// What is counted; in this order it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Remark {
    /// Its publisher has taken it back.
    Deleted,
    /// Its publisher advises against it.
    Deprecated,
    /// The source has a later version of the same server.
    Superseded,
    /// A registry lists servers, not tools.
    NoTools,
    /// A file in a folder, and none of ours.
    UnknownFile,
}

impl Remark {
    fn sentence(self, n: usize) -> String {
        let (server, version, file, is, holds) = match n {
            1 => ("server", "version", "file", "is", "is"),
            _ => ("servers", "versions", "files", "are", "are"),
        };
        match self {
            Self::Deleted => format!("{n} {server} {is} deleted there: left out"),
            Self::Deprecated => format!("{n} {server} {is} deprecated there: kept"),
            Self::Superseded => format!("{n} earlier {version} of listed servers: left out"),
            Self::NoTools => {
                format!("{n} {server} without known tools: found as servers until tools are learnt")
            }
            Self::UnknownFile => format!("{n} {file} {holds} of no known format: skipped"),
        }
    }
}

/// Counts, each with its first names.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: BTreeMap<Remark, (usize, Vec<String>)>,
}

impl Tally {
    /// Counts one more.
    pub(crate) fn add(&mut self, remark: Remark, name: &str) {
        let (n, examples) = self.counts.entry(remark).or_default();
        *n += 1;
        if examples.len() < N_EXAMPLES {
            examples.push(format!("`{}`", shown(name)));
        }
    }

    /// Adds the counts of another source.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (remark, (more, names)) in other.counts {
            let (n, examples) = self.counts.entry(remark).or_default();
            *n += more;
            let free = N_EXAMPLES - examples.len();
            examples.extend(names.into_iter().take(free));
        }
    }

    /// One sentence for each thing that was counted.
    pub(crate) fn into_lines(self) -> impl Iterator<Item = String> {
        self.counts.into_iter().map(|(remark, (n, examples))| {
            let more = if n > examples.len() { ", …" } else { "" };
            format!("{} ({}{more})", remark.sentence(n), examples.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_a_kind_are_one_line_with_the_first_names() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        one.add(Remark::NoTools, "a");
        one.add(Remark::Deleted, "gone\u{1B}[1m");
        for name in ["b", "c", "d"] {
            other.add(Remark::NoTools, name);
        }
        one.absorb(other);
        let lines: Vec<String> = one.into_lines().collect();
        assert_eq!(
            lines,
            [
                "1 server is deleted there: left out (`gone[1m`)",
                "4 servers without known tools: found as servers until tools are learnt \
                 (`a`, `b`, `c`, …)",
            ]
        );
    }
}

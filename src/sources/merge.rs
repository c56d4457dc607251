//! Several imports as one catalogue in which every name is unique.
//!
//! Owns what happens to a repeated name: it is another server or tool, told
//! apart by a suffix. Drops nothing.

use std::collections::HashMap;
use std::collections::HashSet;

use crate::catalog::Reject;
use crate::catalog::Server;
use crate::catalog::Stale;
use crate::sources::Import;
use crate::sources::findings::shown;

/// What several sources hold together.
#[derive(Debug, Default)]
pub struct Merged {
    /// In the order of the sources; names are unique, also those of the tools
    /// of one server.
    pub servers: Vec<Server>,
    /// Of all sources.
    pub rejected: Vec<Reject>,
    /// Of all sources, each with the name of its source in front.
    pub warnings: Vec<String>,
    /// Of all sources.
    pub stale: Vec<Stale>,
}

/// Joins named imports; a repeated name gets the suffix ` #2`, ` #3`, ….
///
/// In a file a repeated name is another server or another tool, even if all
/// else is equal too: who wrote it twice may have meant it.
#[must_use]
pub fn merge(imports: Vec<(String, Import)>) -> Merged {
    let mut merged = Merged::default();
    let mut server_names = Names::default();
    for (source, import) in imports {
        merged.warnings.extend(import.warnings.iter().map(|line| format!("{source}: {line}")));
        merged.rejected.extend(import.rejected);
        let mut stale = import.stale;
        for mut server in import.servers {
            let known_as = server.name.clone();
            if let Some(old) = server_names.make_unique(&mut server.name) {
                merged.warnings.push(format!(
                    "{source}: server `{}` repeats a name and is now `{}`",
                    shown(&old),
                    shown(&server.name)
                ));
            }
            merged.warnings.extend(tell_tools_apart(&source, &mut server));
            if let Some(position) = stale.iter().position(|stale| stale.server == known_as) {
                let mut stale = stale.swap_remove(position);
                stale.server.clone_from(&server.name);
                merged.stale.push(stale);
            }
            merged.servers.push(server);
        }
    }
    merged
}

fn tell_tools_apart(source: &str, server: &mut Server) -> Vec<String> {
    let mut tool_names = Names::default();
    let server_name = shown(&server.name);
    let mut warnings = Vec::new();
    for tool in &mut server.tools {
        if let Some(old) = tool_names.make_unique(&mut tool.name) {
            warnings.push(format!(
                "{source}: server `{server_name}`, tool `{}` repeats a name and is now `{}`",
                shown(&old),
                shown(&tool.name)
            ));
        }
    }
    warnings
}

#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// How often a name was written, so that many repeats cost linear time.
    n_seen: HashMap<String, u64>,
}

impl Names {
    /// Gives a name a suffix if it is taken, and returns the old one then.
    fn make_unique(&mut self, name: &mut String) -> Option<String> {
        let n_seen = self.n_seen.entry(name.clone()).or_default();
        *n_seen += 1;
        if self.taken.insert(name.clone()) {
            return None;
        }
        *n_seen = (*n_seen).max(2);
        while !self.taken.insert(format!("{name} #{n_seen}")) {
            *n_seen += 1;
        }
        let unique = format!("{name} #{n_seen}");
        Some(std::mem::replace(name, unique))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sources::parse;

    fn import(servers: &[(&str, &[&str])]) -> Import {
        let servers: Vec<_> = servers
            .iter()
            .map(|(name, tools)| {
                let tools: Vec<_> =
                    tools.iter().map(|tool| serde_json::json!({"name": tool})).collect();
                serde_json::json!({"name": name, "tools": tools})
            })
            .collect();
        parse("x", serde_json::json!({"servers": servers}).to_string(), None).unwrap()
    }

    fn server_names(merged: &Merged) -> Vec<&str> {
        merged.servers.iter().map(|server| server.name.as_str()).collect()
    }

    #[test]
    fn a_repeated_name_is_another_one() {
        let first = import(&[("a", &["t", "T", "t", "t"]), ("a", &["t"])]);
        let merged =
            merge(vec![("one".to_owned(), first), ("two".to_owned(), import(&[("a", &[])]))]);
        assert_eq!(server_names(&merged), ["a", "a #2", "a #3"]);
        let tools: Vec<_> = merged.servers[0].tools.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(tools, ["t", "T", "t #2", "t #3"]);
        assert_eq!(
            merged.warnings,
            [
                "one: server `a`, tool `t` repeats a name and is now `t #2`",
                "one: server `a`, tool `t` repeats a name and is now `t #3`",
                "one: server `a` repeats a name and is now `a #2`",
                "two: server `a` repeats a name and is now `a #3`",
            ]
        );
    }

    #[test]
    fn a_suffix_that_is_taken_is_not_given_again() {
        let merged = merge(vec![(
            "s".to_owned(),
            import(&[("a #2", &[]), ("a", &[]), ("a", &[]), ("a #2", &[])]),
        )]);
        assert_eq!(server_names(&merged), ["a #2", "a", "a #3", "a #2 #2"]);
    }

    #[test]
    fn warnings_and_rejects_of_all_sources_are_kept() {
        let odd = |name: &str| {
            let text = r#"{"servers":[{"name":"a","description":1},7]}"#;
            (name.to_owned(), parse(name, text, None).unwrap())
        };
        let merged = merge(vec![odd("one"), odd("two")]);
        assert_eq!(merged.rejected.len(), 2);
        assert_eq!(merged.rejected[1].source, "two");
        let warning = "one: server `a`: `description` is a number, not a string: read as empty";
        assert_eq!(merged.warnings[0], warning);
    }

    proptest! {
        #[test]
        fn merged_names_are_unique_and_none_is_lost(names in prop::collection::vec("a( #[23])?( #2)?", 0..12)) {
            let servers: Vec<_> = names.iter().map(|name| (name.as_str(), [].as_slice())).collect();
            let merged = merge(vec![("s".to_owned(), import(&servers))]);
            let unique: HashSet<_> = server_names(&merged).into_iter().collect();
            prop_assert_eq!(unique.len(), names.len());
        }
    }
}

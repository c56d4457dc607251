//! The names offered to clients: `server__tool`.
//!
//! Owns uniqueness and the character set that every client accepts. Names are
//! resolved by map, never by splitting.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::catalog::Server;

/// Several clients cut at 60–64 characters, their own prefix included.
const MAX_LEN: usize = 60;
/// Digits of a tail; the next one where a shorter one does not tell names apart.
const HASH_LENS: [usize; 4] = [8, 16, 32, 48];

/// One name per tool, in id order: distinct, at most 60 characters of
/// `[A-Za-z0-9_-]`, the same for the same (server, tool) whatever stands
/// beside it, unless two would be equal, whatever their case: then both get a
/// hash tail, and a longer one as long as that does not help.
pub(super) fn expose(servers: &[Server]) -> Vec<String> {
    let pairs: Vec<(&str, &str)> = servers
        .iter()
        .flat_map(|server| server.tools.iter().map(|tool| (&*server.name, &*tool.name)))
        .collect();
    let mut names: Vec<String> = pairs.iter().map(|(server, tool)| plain(server, tool)).collect();
    let does_not_do = |(name, (server, tool)): (&String, &(&str, &str))| {
        name.len() > MAX_LEN || !tells(server) || !tells(tool)
    };
    let mut tails: Vec<usize> =
        names.iter().zip(&pairs).map(|pair| usize::from(does_not_do(pair))).collect();
    let mut renamed: Vec<usize> = (0..tails.len()).filter(|row| tails[*row] > 0).collect();
    for _ in 0..=HASH_LENS.len() {
        for row in renamed {
            let (server, tool) = pairs[row];
            names[row] = with_hash(&plain(server, tool), server, tool, HASH_LENS[tails[row] - 1]);
        }
        renamed = equal(&names);
        if renamed.is_empty() {
            break;
        }
        renamed.iter().for_each(|row| tails[*row] = HASH_LENS.len().min(tails[*row] + 1));
    }
    names
}

/// Rows of names that others have too, letter case aside.
fn equal(names: &[String]) -> Vec<usize> {
    let mut n_uses: HashMap<String, usize> = HashMap::new();
    for name in names {
        *n_uses.entry(name.to_ascii_lowercase()).or_default() += 1;
    }
    let is_shared = |name: &String| n_uses.get(&name.to_ascii_lowercase()) != Some(&1);
    (0..names.len()).filter(|row| is_shared(&names[*row])).collect()
}

fn with_hash(plain: &str, server: &str, tool: &str, length: usize) -> String {
    let head: String = plain.chars().take(MAX_LEN - length - 1).collect();
    format!("{head}_{}", hash(server, tool, length))
}

fn plain(server: &str, tool: &str) -> String {
    format!("{}__{}", safe(server), safe(tool))
}

fn safe(name: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .collect();
    safe.trim_matches('_').to_owned()
}

/// Whether anything of a name is left once made safe.
fn tells(name: &str) -> bool {
    name.chars().any(|c| c.is_ascii_alphanumeric())
}

fn hash(server: &str, tool: &str, length: usize) -> String {
    let mut hash = Sha256::new();
    hash.update(server.as_bytes());
    hash.update([0]);
    hash.update(tool.as_bytes());
    hex::encode(&hash.finalize()[..length / 2])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::catalog::Tool;

    fn server(name: &str, tools: &[&str]) -> Server {
        let tools =
            tools.iter().map(|name| Tool { name: (*name).to_owned(), ..Tool::default() }).collect();
        Server { name: name.to_owned(), tools, ..Server::default() }
    }

    #[test]
    fn a_plain_name_is_server_and_tool() {
        let names = expose(&[server("Google Maps", &["places.search"])]);
        assert_eq!(names, ["Google_Maps__places_search"]);
    }

    #[test]
    fn names_that_would_be_equal_both_get_a_hash() {
        let names = expose(&[server("a", &["x y", "x_y", "z"])]);
        assert!(names[0].starts_with("a__x_y_") && names[1].starts_with("a__x_y_"), "{names:?}");
        assert_ne!(names[0], names[1]);
        assert_eq!(names[2], "a__z");
    }

    #[test]
    fn a_name_like_one_with_a_hash_is_another() {
        let first = expose(&[server("a", &["x y", "x_y"])]);
        let like = first[0].strip_prefix("a__").unwrap();
        let names = expose(&[server("a", &["x y", "x_y", like])]);
        let distinct: HashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), 3, "{names:?}");
        assert_eq!(names[1], first[1]);
        // Nor does it help to know the next one.
        let next = names[0].strip_prefix("a__").unwrap();
        let names = expose(&[server("a", &["x y", "x_y", like, next])]);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 4, "{names:?}");
    }

    #[test]
    fn letter_case_alone_does_not_tell_names_apart() {
        let names = expose(&[server("a", &["search", "Search"])]);
        assert_ne!(names[0].to_lowercase(), names[1].to_lowercase());
    }

    #[test]
    fn foreign_scripts_get_distinct_names() {
        let names = expose(&[server("駅", &["検索", "遅延"])]);
        assert_ne!(names[0], names[1]);
    }

    proptest! {
        #[test]
        fn always_distinct_short_and_safe(
            servers in prop::collection::hash_map(".{1,40}", prop::collection::hash_set(".{1,90}", 1..8), 1..5)
        ) {
            let servers: Vec<Server> = servers
                .iter()
                .map(|(name, tools)| server(name, &tools.iter().map(String::as_str).collect::<Vec<_>>()))
                .collect();
            let names = expose(&servers);
            let distinct: HashSet<String> = names.iter().map(|n| n.to_lowercase()).collect();
            prop_assert_eq!(distinct.len(), names.len());
            for name in names {
                prop_assert!(name.len() <= MAX_LEN && !name.is_empty());
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            }
        }
    }
}

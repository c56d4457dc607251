//! `SERVER` and `SERVER/TOOL`, where `*` stands for anything and all else for itself.
//!
//! Names of servers and tools may hold a `/`, so a pattern can be read in
//! several ways, and each reading counts.

use regex::Regex;
use regex::RegexBuilder;

/// A pattern that is none.
#[derive(Debug, thiserror::Error)]
#[error("`{pattern}` is no pattern: {problem}; write `SERVER`, `SERVER/TOOL`, `*` for anything")]
pub struct PatternError {
    pattern: String,
    problem: String,
}

/// What a list of patterns is for. In doubt less is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// To let in: case counts.
    Open,
    /// To keep out: whatever its case, and whatever the pattern may mean.
    Close,
}

/// Any of several patterns; each a server and a tool.
#[derive(Clone, Debug)]
pub(super) struct Patterns(Vec<(Regex, Regex)>);

impl Patterns {
    pub(super) fn new(patterns: &[String], aim: Aim) -> Result<Self, PatternError> {
        let readings = patterns.iter().flat_map(|pattern| {
            let of_pattern = move |(server, tool): (&str, &str)| {
                let compiled = |part: &str| {
                    wildcard(part, aim)
                        .map_err(|problem| PatternError { pattern: pattern.clone(), problem })
                };
                Ok((compiled(server)?, compiled(tool)?))
            };
            readings(pattern, aim).into_iter().map(of_pattern)
        });
        Ok(Self(readings.collect::<Result<_, _>>()?))
    }

    pub(super) fn is_match(&self, server: &str, tool: &str) -> bool {
        self.0.iter().any(|(of, its)| of.is_match(server) && its.is_match(tool))
    }
}

/// Servers and tools that a pattern may mean.
fn readings(pattern: &str, aim: Aim) -> Vec<(&str, &str)> {
    let mut readings: Vec<(&str, &str)> =
        pattern.match_indices('/').map(|(at, _)| (&pattern[..at], &pattern[at + 1..])).collect();
    // `git/*` are the tools of `git`; it does not open a server `git/evil`.
    let may_be_a_server = aim == Aim::Close || !pattern.contains('*');
    if readings.is_empty() || may_be_a_server {
        readings.push((pattern, "*"));
    }
    readings
}

fn wildcard(part: &str, aim: Aim) -> Result<Regex, String> {
    if part.is_empty() {
        return Err("a name is empty".to_owned());
    }
    let parts: Vec<String> = part.split('*').map(regex::escape).collect();
    let whole = format!("^{}$", parts.join(".*"));
    let compiled = RegexBuilder::new(&whole)
        .case_insensitive(aim == Aim::Close)
        .dot_matches_new_line(true)
        .build();
    compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it is too long".to_owned(),
        error => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(aim: Aim, pattern: &str, expected: &[(&str, &str)], others: &[(&str, &str)]) {
        let patterns = Patterns::new(&[pattern.to_owned()], aim).unwrap();
        for (server, tool) in expected {
            assert!(patterns.is_match(server, tool), "{pattern} is no {server} / {tool}");
        }
        for (server, tool) in others {
            assert!(!patterns.is_match(server, tool), "{pattern} is {server} / {tool}");
        }
    }

    #[test]
    fn a_server_is_no_other_server() {
        let others = [("git/evil", "echo"), ("GIT", "echo"), ("git ", "echo"), ("agit", "echo")];
        check(Aim::Open, "git", &[("git", "echo"), ("git", "a/b")], &others);
        check(Aim::Open, "git/*", &[("git", "echo"), ("git", "a/b")], &others);
        check(
            Aim::Open,
            "git*",
            &[("git", "x"), ("github", "x"), ("git/evil", "x")],
            &[("GIT", "x")],
        );
        check(Aim::Open, "ünï", &[("ünï", "x")], &[("ÜNÏ", "x")]);
    }

    #[test]
    fn a_slash_may_be_in_a_name() {
        let meant = [("acme/files", "echo"), ("acme", "files")];
        check(Aim::Open, "acme/files", &meant, &[("acme", "echo"), ("acme/files2", "echo")]);
        check(Aim::Close, "acme/files", &meant, &[("acme", "echo")]);
        check(Aim::Open, "acme/files/rm", &[("acme/files", "rm"), ("acme", "files/rm")], &[]);
        check(Aim::Close, "acme/*", &[("acme", "x"), ("acme/files", "x")], &[("acme2", "x")]);
    }

    #[test]
    fn only_the_star_is_special() {
        for name in ["files [prod]", "a{b,c}", r"wh\t", "wh?t", "a.b", "(a|b)", "$^+"] {
            check(
                Aim::Close,
                name,
                &[(name, "rm")],
                &[("files p", "rm"), ("ab", "rm"), ("what", "rm")],
            );
            check(
                Aim::Open,
                name,
                &[(name, "rm")],
                &[("files p", "rm"), ("ab", "rm"), ("what", "rm")],
            );
        }
        check(Aim::Open, "a**b", &[("ab", "x"), ("a\nb", "x")], &[("a", "x")]);
        check(Aim::Close, "ÜNÏ", &[("ünï", "x")], &[]);
    }

    #[test]
    fn a_bad_pattern_is_named() {
        for bad in ["", "/x", "x/"] {
            let error = Patterns::new(&[bad.to_owned()], Aim::Close).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{bad}` is no pattern: a name is empty; ")),
                "{error}"
            );
        }
    }
}

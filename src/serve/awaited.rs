//! What a reply says of servers that have not answered yet.

use std::fmt::Write;

use crate::access::Refusal;
use crate::access::Visitor;

/// Servers that the remark names; more are counted.
const NAMED: usize = 5;

/// Names the servers that a visitor may know of; none if there are none.
pub(super) fn remark(awaited: &[String], visitor: &Visitor) -> Option<String> {
    // Of tools that nobody knows yet, only a pattern for all of a server speaks.
    let is_known = |name: &&String| {
        let checked = visitor.policy.check(name, "", None);
        !matches!(checked, Err(Refusal::NotAllowed | Refusal::Denied))
    };
    let known: Vec<String> =
        awaited.iter().filter(is_known).map(|name| format!("{name:?}")).collect();
    if known.is_empty() {
        return None;
    }
    let mut said = format!("not listed yet: {}", known[..known.len().min(NAMED)].join(", "));
    if known.len() > NAMED {
        // Writing into a string cannot fail.
        let _written = write!(said, " and {} more", known.len() - NAMED);
    }
    said.push_str("; if their tools are wanted, ask again in some seconds");
    Some(said)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::access::Policy;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn visitor(policy: Policy) -> Visitor {
        Visitor { policy: Arc::new(policy), ..Visitor::default() }
    }

    #[test]
    fn five_are_named_and_more_are_counted() {
        let all = visitor(Policy::default());
        assert_eq!(remark(&[], &all), None);
        let one = remark(&names(&["git"]), &all).unwrap();
        assert_eq!(
            one,
            "not listed yet: \"git\"; if their tools are wanted, ask again in some seconds"
        );
        let seven = remark(&names(&["a", "b", "c", "d", "e", "f", "g"]), &all).unwrap();
        assert!(seven.starts_with("not listed yet: \"a\", \"b\", \"c\", \"d\", \"e\" and 2 more;"));
    }

    #[test]
    fn a_server_of_others_is_not_named() {
        let awaited = names(&["files", "secret", "git"]);
        let only = |patterns: &[&str]| Policy::default().only(&names(patterns)).unwrap();
        let said = remark(&awaited, &visitor(only(&["files"]).read_only())).unwrap();
        assert!(said.contains("\"files\"") && !said.contains("secret") && !said.contains("git"));
        let denied = Policy::default().deny(&names(&["secret", "g*"])).unwrap();
        let said = remark(&awaited, &visitor(denied)).unwrap();
        assert!(said.contains("\"files\"") && !said.contains("secret") && !said.contains("git"));
        assert_eq!(remark(&awaited, &visitor(only(&["other", "git/git_log"]))), None);
    }
}

//! Definitions that somebody has approved, and tools that are withheld since.
//!
//! Owns the rule of `--pin`: a tool is offered with the definition it was
//! first seen with; with any other only once that has been approved. A tool
//! that goes and comes back is held to what it was.

use crate::build::changes::Before;
use crate::build::changes::Definition;
use crate::build::changes::ToolName;
use crate::catalog::Server;
use crate::index::Pins;
use crate::index::Withheld;
use crate::sources::shown;

/// Takes out of `servers` what is not as it was approved, and says what.
///
/// `pins` are the approved definitions so far; what is seen for the first time
/// is added to them.
pub(super) fn hold(pins: &mut Pins, before: &Before, servers: &mut [Server]) -> Vec<Withheld> {
    let mut withheld = Vec::new();
    for server in servers {
        let pinned = pins.0.entry(server.name.clone()).or_default();
        let server_name = &server.name;
        server.tools.retain(|tool| {
            let definition = Definition::of(tool);
            let seen = definition.sha256();
            let approved = pinned.entry(tool.name.clone()).or_insert_with(|| {
                // Pinning begins with what is offered already.
                let name = ToolName { server: server_name.clone(), tool: tool.name.clone() };
                before.get(&name).unwrap_or(&definition).sha256()
            });
            let is_approved = *approved == seen;
            if !is_approved {
                withheld.push(Withheld {
                    server: server_name.clone(),
                    tool: tool.name.clone(),
                    approved: approved.clone(),
                    seen,
                    description: tool.description.clone(),
                    input_schema: tool.input_schema.clone(),
                });
            }
            is_approved
        });
    }
    pins.0.retain(|_, tools| !tools.is_empty());
    withheld
}

/// The withheld tools that `name` means: `SERVER` or `SERVER/TOOL`, as they are
/// called or as they are shown. Empty where it may mean tools of several servers.
pub(super) fn meant<'a>(withheld: &'a [Withheld], name: &str) -> Vec<&'a Withheld> {
    let is = |full: &str| full == name || shown(full) == name;
    let of_server: Vec<&Withheld> = withheld.iter().filter(|one| is(&one.server)).collect();
    let of_tool = withheld.iter().filter(|one| is(&format!("{}/{}", one.server, one.tool)));
    let of_tool: Vec<&Withheld> = of_tool.collect();
    let mut servers: Vec<&str> =
        of_server.iter().chain(&of_tool).map(|one| one.server.as_str()).collect();
    servers.dedup();
    match (of_server.is_empty(), of_tool.len()) {
        (false, 0) if servers.len() == 1 => of_server,
        (true, 1) => of_tool,
        _ => Vec::new(),
    }
}

/// Approves what was seen of a tool, not what its server says at this moment.
pub(super) fn approve(pins: &mut Pins, one: &Withheld) {
    let tools = pins.0.entry(one.server.clone()).or_default();
    tools.insert(one.tool.clone(), one.seen.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Tool;

    fn server(name: &str, tools: &[(&str, &str)]) -> Server {
        let tool = |(name, description): &(&str, &str)| Tool {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            ..Tool::default()
        };
        Server {
            name: name.to_owned(),
            tools: tools.iter().map(tool).collect(),
            ..Server::default()
        }
    }

    fn names(servers: &[Server]) -> Vec<String> {
        let tools = servers.iter().flat_map(|server| &server.tools);
        tools.map(|tool| format!("{}: {}", tool.name, tool.description)).collect()
    }

    #[test]
    fn another_definition_is_withheld_until_it_is_approved() {
        let mut pins = Pins::default();
        let nothing = Before::default();
        let mut first = [server("a/b", &[("x", "good"), ("y", "fine")])];
        assert!(hold(&mut pins, &nothing, &mut first).is_empty());
        let mut second = [server("a/b", &[("x", "evil"), ("y", "fine"), ("z", "new")])];
        let withheld = hold(&mut pins, &nothing, &mut second);
        assert_eq!(names(&second), ["y: fine", "z: new"]);
        assert_eq!((withheld.len(), withheld[0].description.as_str()), (1, "evil"));

        // Something else than what was seen is approved: it stays out.
        assert!(meant(&withheld, "a").is_empty());
        assert_eq!(meant(&withheld, "a/b").len(), 1);
        assert_eq!(meant(&withheld, "a/b/x").len(), 1);
        approve(&mut pins, &withheld[0]);
        let mut third = [server("a/b", &[("x", "worse")])];
        assert_eq!(hold(&mut pins, &nothing, &mut third).len(), 1);
        let mut fourth = [server("a/b", &[("x", "evil")])];
        assert!(hold(&mut pins, &nothing, &mut fourth).is_empty());
    }

    #[test]
    fn a_name_that_may_mean_tools_of_several_servers_means_none() {
        let mut pins = Pins::default();
        let nothing = Before::default();
        let both = |text| {
            [server("a", &[("b/c", text), ("x\u{200b}y", text)]), server("a/b", &[("c", text)])]
        };
        hold(&mut pins, &nothing, &mut both("good"));
        let withheld = hold(&mut pins, &nothing, &mut both("evil"));
        assert_eq!(withheld.len(), 3);
        assert!(meant(&withheld, "a/b/c").is_empty());
        assert_eq!(meant(&withheld, "a").len(), 2);
        assert_eq!(meant(&withheld, "a/b")[0].server, "a/b");
        assert_eq!(meant(&withheld, "a/xy").len(), 1);
    }

    #[test]
    fn what_goes_and_comes_back_is_held_to_what_it_was() {
        let mut pins = Pins::default();
        let nothing = Before::default();
        hold(&mut pins, &nothing, &mut [server("a", &[("x", "good")])]);
        hold(&mut pins, &nothing, &mut []);
        let withheld = hold(&mut pins, &nothing, &mut [server("a", &[("x", "evil")])]);
        assert_eq!(withheld.len(), 1);
    }

    #[test]
    fn pinning_begins_with_what_is_offered_already() {
        let old = server("a", &[("x", "good")]);
        let name = ToolName { server: "a".to_owned(), tool: "x".to_owned() };
        let before = Before::from([(name, Definition::of(&old.tools[0]))]);
        let withheld = hold(&mut Pins::default(), &before, &mut [server("a", &[("x", "evil")])]);
        assert_eq!(withheld[0].approved, Definition::of(&old.tools[0]).sha256());
    }
}

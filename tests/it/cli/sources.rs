//! `index build --from`: formats, several sources, and files that are none.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{TOWN, check_failure, names};
use crate::support::World;
use crate::support::shared;
use crate::support::stdout_of;

const BUILD: &str = "index build --model stand-in --json";

/// Builds from these files; what `inspect` would say.
fn build(world: &World, files: &[PathBuf]) -> Value {
    let stdout = stdout_of(world.command(BUILD).arg("--from").args(files), 0);
    serde_json::from_str(&stdout).unwrap()
}

#[track_caller]
fn check_format(content: &str, format: &str, server: &str) {
    let world = World::empty();
    let facts = build(&world, &[world.write("stem.json", content)]);
    assert_eq!(facts["sources"][0]["format"], format, "{content}");
    let reply = world.json("route song -k 1");
    assert_eq!(reply["matches"][0]["server"], server, "{content}");
}

#[test]
fn a_format_is_recognised_by_its_content() {
    let tools = r#""tools":[{"name":"song"}]"#;
    check_format(&format!(r#"{{"servers":[{{"name":"S",{tools}}}]}}"#), "catalog", "S");
    check_format(&format!("{{{tools}}}"), "tools-list", "stem");
    check_format(
        &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{{tools}}}}}"#),
        "tools-list",
        "stem",
    );
    check_format(&format!(r#"[{{"name":"S",{tools}}}]"#), "mcp-zero", "S");
    check_format(
        &format!("{{\"name\":\"S\",{tools}}}\n{{\"name\":\"T\",\"tools\":[]}}\n"),
        "mcp-zero",
        "S",
    );
    check_format(&format!("\u{FEFF}{{{tools}}}\r\n"), "tools-list", "stem");
}

#[test]
fn a_format_can_be_forced() {
    let content = r#"{"name":"S","tools":[{"name":"song"}]}"#;
    for (format, server) in [("mcp-zero", "S"), ("tools-list", "stem")] {
        let world = World::empty();
        let source = world.write("stem.json", content);
        let mut command = world.command(BUILD);
        command.args(["--format", format, "--from"]).arg(source);
        let facts: Value = serde_json::from_str(&stdout_of(&mut command, 0)).unwrap();
        assert_eq!(facts["sources"][0]["format"], format);
        assert_eq!(facts["sources"][0]["forced"], true);
        assert_eq!(world.json("route song")["matches"][0]["server"], server);
    }
    let world = World::empty();
    let source = world.write("stem.json", content);
    let source = source.to_str().unwrap();
    check_failure(
        &world,
        &["index", "build", "--model", "stand-in", "--format", "catalog", "--from", source],
        1,
        &[source, "`catalog`", "leave out `--format`"],
    );
}

#[test]
fn several_sources_make_one_index() {
    let world = World::empty();
    let town = world.write("town.json", TOWN);
    let list =
        world.write("clock.json", r#"{"tools":[{"name":"now","description":"Tell the time"}]}"#);
    let lines = world.write(
        "lines.jsonl",
        "{\"name\":\"post\",\"tools\":[{\"name\":\"stamps\",\"description\":\"Sell stamps\"}]}\n",
    );
    let facts = build(&world, &[town.clone(), list.clone(), lines.clone()]);
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(5), &json!(7)));
    let paths: Vec<&Value> =
        facts["sources"].as_array().unwrap().iter().map(|s| &s["path"]).collect();
    assert_eq!(paths, [&town, &list, &lines].map(|path| path.to_str().unwrap()));
    for (tool, server) in [("Sell stamps", "post #2"), ("Tell the time", "clock")] {
        let mut command = world.command("route --json -k 1 --tool");
        let stdout = stdout_of(command.arg(tool), 0);
        let reply: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(reply["matches"][0]["server"], server);
    }
    // `--from` may be repeated as well.
    let mut repeated = world.command(BUILD);
    for path in [&town, &list, &lines] {
        repeated.arg("--from").arg(path);
    }
    let repeated: Value = serde_json::from_str(&stdout_of(&mut repeated, 0)).unwrap();
    assert_eq!(repeated, facts);
}

#[test]
fn a_repeated_name_is_another_server_or_tool() {
    let world = World::empty();
    let twice = |name: &str| {
        format!(
            r#"{{"name":"{name}","tools":[{{"name":"search","description":"first"}},{{"name":"search","description":"second"}},{{"name":"Search","description":"third"}}]}}"#
        )
    };
    let catalog = format!(r#"{{"servers":[{},{}]}}"#, twice("web"), twice("web"));
    let facts = build(&world, &[world.write("source.json", &catalog)]);
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(2), &json!(6)));
    let warnings = facts["warnings"].to_string();
    for text in [
        "server `web` repeats a name and is now `web #2`",
        "server `web`, tool `search` repeats a name and is now `search #2`",
        "server `web #2`, tool `search` repeats a name and is now `search #2`",
    ] {
        assert!(warnings.contains(text), "{text} is not in {warnings}");
    }
    assert_eq!(facts["warnings"].as_array().unwrap().len(), 3);
    let reply = world.json("route search -k 20");
    let mut pairs: Vec<String> = reply["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}/{}", one["server"].as_str().unwrap(), one["tool"].as_str().unwrap()))
        .collect();
    pairs.sort();
    assert_eq!(
        pairs,
        [
            "web #2/Search",
            "web #2/search",
            "web #2/search #2",
            "web/Search",
            "web/search",
            "web/search #2",
        ]
    );
}

#[test]
fn a_file_that_is_no_source_is_named_with_the_cure() {
    let world = World::empty();
    let known = ["`catalog`", "`tools-list`", "`mcp-zero`"];
    for (name, content, expected) in [
        ("words.json", &b"hello there"[..], &["line 1", "JSON"][..]),
        ("broken.json", b"{\"servers\": [", &["line 1", "JSON"]),
        ("shape.json", b"{\"a\": 1}", &["an object with keys a", "--format"]),
        ("number.json", b"7", &["a number", "--format"]),
        ("clients.json", b"{\"mcpServers\": {}}", &["mcpServers", "--format"]),
        ("empty.json", b"", &["is empty"]),
        ("binary.json", b"\x7fELF\x02\x01\xff\xfe\x00\x80", &["UTF-8"]),
        ("latin.json", b"{\"tools\":[{\"name\":\"caf\xe9\"}]}", &["UTF-8"]),
    ] {
        let path = world.write(name, content);
        let path = path.to_str().unwrap();
        let mut all = vec![path];
        all.extend(expected);
        if expected.contains(&"--format") || content.is_empty() {
            all.extend(known);
        }
        check_failure(&world, &["index", "build", "--model", "stand-in", "--from", path], 1, &all);
    }
    let absent = world.home().join("absent.json");
    for (path, expected) in [
        (absent.as_path(), "check the path"),
        (world.home(), "none of them in one of these formats"),
    ] {
        let path = path.to_str().unwrap();
        check_failure(
            &world,
            &["index", "build", "--model", "stand-in", "--from", path],
            1,
            &[path, expected],
        );
    }
}

#[test]
fn one_bad_source_among_good_ones_leaves_the_index_alone() {
    let world = World::of(TOWN);
    let good = world.write("good.json", r#"{"tools":[{"name":"x"}]}"#);
    let bad = world.write("bad.json", "{");
    check_failure(
        &world,
        &[
            "index",
            "build",
            "--model",
            "stand-in",
            "--quiet",
            "--from",
            good.to_str().unwrap(),
            bad.to_str().unwrap(),
        ],
        1,
        &[bad.to_str().unwrap()],
    );
    assert_eq!(world.json("index inspect")["generation"], 1);
    assert_eq!(world.json("index inspect")["tools"], 5);
}

#[test]
fn an_empty_catalogue_is_an_index_with_a_warning() {
    let world = World::empty();
    let facts = build(&world, &[world.write("source.json", r#"{"servers":[]}"#)]);
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(0), &json!(0)));
    assert!(facts["warnings"].to_string().contains("it lists no server"));
    stdout_of(&mut world.command("index verify"), 0);
    stdout_of(&mut world.command("route anything"), 3);
}

/// Field case I05: vectors in a source are not taken over, whatever they are.
#[test]
fn vectors_of_a_source_are_made_anew() {
    let Some(path) = shared("field-cases/files/i05.mcpzero.json") else {
        return;
    };
    let world = World::empty();
    let facts = build(&world, &[path]);
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(1), &json!(2)));
    stdout_of(&mut world.command("index verify"), 0);
    assert_eq!(names(&world.json("route --tool zone -k 1")), ["Clock__zone"]);
}

/// Field case I05: a text without words has no vector, and that is counted.
#[test]
fn a_text_without_a_vector_is_counted_and_its_tool_kept() {
    let world = World::empty();
    let catalog = r#"{"servers":[{"name":"!!","description":"??","tools":[{"name":"..","description":"--"},{"name":"song"}]}]}"#;
    let facts = build(&world, &[world.write("source.json", catalog)]);
    assert_eq!(facts["tools"], 2);
    assert_eq!(facts["absent"]["tool_text"]["bad_vector"], 1, "{facts}");
    assert!(facts["warnings"].to_string().contains("has no vector"), "{facts}");
    stdout_of(&mut world.command("index verify"), 0);
    let reply = world.json("route --tool song -k 20");
    assert_eq!(names(&reply).len(), 2);
    assert_eq!(reply["matches"][0]["tool"], "song");
}

/// Servers and tools as `data/README.md` counts them.
const CORPORA: [(&str, usize, usize); 17] = [
    ("raw/mcp-zero/mcp_tools.jsonl", 308, 2_797),
    ("corpora/apibank.json", 8, 48),
    ("corpora/apibank_all.json", 10, 73),
    ("corpora/bfcl_multi_turn.json", 8, 128),
    ("corpora/bfcl_single.json", 522, 1_870),
    ("corpora/docker.json", 328, 755),
    ("corpora/etom.json", 491, 2_375),
    ("corpora/livemcpbench.json", 70, 527),
    ("corpora/mcp_reference45.json", 7, 45),
    ("corpora/mcp_registry_seed.json", 471, 0),
    ("corpora/mcpzero.json", 308, 2_797),
    ("corpora/metatool.json", 199, 199),
    ("corpora/sealtools.json", 146, 4_076),
    ("corpora/stabletoolbench.json", 811, 2_479),
    ("corpora/toolhive.json", 102, 1_652),
    ("corpora/toucan_all.json", 2_120, 17_479),
    ("corpora/toucan_core.json", 758, 5_442),
];

#[test]
fn the_shared_corpora_are_built_whole() {
    for (path, servers, tools) in CORPORA {
        let Some(path) = shared(&format!("data/{path}")) else { return };
        let world = World::empty();
        let facts = build(&world, std::slice::from_ref(&path));
        let counts = (&facts["servers"], &facts["tools"]);
        assert_eq!(counts, (&json!(servers), &json!(tools)), "{}", path.display());
        assert_eq!(facts["rejected"], json!([]), "{}", path.display());
        stdout_of(&mut world.command("index verify"), 0);
    }
}

/// Registries list servers; one without tools is found all the same.
#[test]
fn a_server_without_tools_is_in_the_index() {
    let world = World::empty();
    let page = r#"{"servers":[{"server":{"name":"org.example/song","description":"Plays a song","version":"1.0.0"},"_meta":{}}],"metadata":{"nextCursor":"x"}}"#;
    let facts = build(&world, &[world.write("page.json", page)]);
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(1), &json!(0)));
    assert_eq!(facts["sources"][0]["format"], "registry");
    assert!(facts["warnings"].to_string().contains("1 server without known tools"), "{facts}");
}

#[test]
fn a_folder_is_one_source_and_is_read_again_by_an_update() {
    let world = World::empty();
    let dir = world.home().join("servers");
    for (file, text) in [
        ("clock/server.yaml", "name: clock\ntype: server\nabout:\n  description: Time.\n"),
        ("clock/tools.json", r#"[{"name":"now","arguments":[{"name":"zone","type":"string"}]}]"#),
        ("post.json", r#"{"servers":[{"name":"post","tools":[{"name":"send"}]}]}"#),
    ] {
        let path = dir.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let facts = build(&world, std::slice::from_ref(&dir));
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(2), &json!(2)));
    assert_eq!(facts["sources"].as_array().unwrap().len(), 1);
    assert_eq!(facts["sources"][0]["format"], "mixed");
    std::fs::write(dir.join("post.json"), "{").unwrap();
    let facts = world.json("index update");
    assert_eq!((&facts["servers"], &facts["tools"]), (&json!(1), &json!(1)));
    assert_eq!(facts["rejected"][0]["server"], "post.json");
    let facts: Value = serde_json::from_str(&stdout_of(
        world.command(BUILD).args(["--format", "docker", "--from"]).arg(&dir),
        0,
    ))
    .unwrap();
    assert_eq!((&facts["sources"][0]["format"], &facts["tools"]), (&json!("docker"), &json!(1)));
}

//! Files and URLs that list MCP servers and their tools, read into the nouns.
//!
//! Owns recognising a format, and what is kept, rejected or warned of on the
//! way. One odd record never costs its neighbours, and nothing is dropped
//! silently. Must not rank, embed or build: a source knows no index.

mod arguments;
mod catalog;
pub mod client_config;
mod docker;
mod entry;
mod error;
mod export;
mod fields;
mod findings;
mod folder;
mod format;
mod kept;
mod live;
mod livemcpbench;
mod mcp_zero;
mod merge;
mod mirror;
mod parameter;
mod publisher;
mod reader;
mod records;
mod registry;
mod shape;
mod source;
mod tally;
mod text;
mod toolhive;
mod tools_list;
mod toucan;
mod yaml;

use std::path::Path;
use std::path::PathBuf;

use crate::catalog::Reject;
use crate::catalog::Server;
use crate::catalog::Stale;
use crate::sources::client_config::ClientConfig;
use crate::sources::fields::Fields;
use crate::sources::fields::Kind;
use crate::sources::findings::Findings;
use crate::sources::folder::Part;
use crate::sources::reader::Reader;
use crate::sources::records::Record;
use crate::sources::records::Records;

pub(crate) use crate::sources::findings::shown;

pub use crate::sources::error::SourceError;
pub use crate::sources::export::export;
pub use crate::sources::format::Format;
pub use crate::sources::format::UnknownFormat;
pub use crate::sources::live::Environment;
pub use crate::sources::live::Live;
pub use crate::sources::live::LiveEvent;
pub use crate::sources::live::forget_configurations;
pub use crate::sources::live::learn;
pub use crate::sources::live::targets;
pub use crate::sources::merge::Merged;
pub use crate::sources::merge::merge;
pub use crate::sources::mirror::Asked;
pub use crate::sources::mirror::Fetching;
pub use crate::sources::mirror::MirrorError;
pub use crate::sources::mirror::Refresh;
pub use crate::sources::source::Place;
pub use crate::sources::source::Source;
pub use crate::sources::source::forget_others;
pub use crate::sources::source::read_source;
pub use crate::sources::text::EncodingError;
pub use crate::sources::text::Utf16;
pub use crate::sources::yaml::YamlError;

/// What one source holds.
#[derive(Debug)]
pub struct Import {
    /// As recognised, or as forced.
    pub format: Format,
    /// In the order of the source; names may repeat, see [`merge`].
    pub servers: Vec<Server>,
    /// Records that could not be taken over.
    pub rejected: Vec<Reject>,
    /// What was taken over otherwise than it was written; each names its
    /// server and tool, but not the source.
    pub warnings: Vec<String>,
    /// Servers whose tools are those of an earlier time.
    pub stale: Vec<Stale>,
    /// Size of the file in bytes, or of all files of a folder.
    pub bytes: u64,
    /// SHA-256 of the file, or of all files of a folder one after another, in
    /// lower-case hexadecimal digits.
    pub sha256: String,
}

/// What a path leads to.
#[derive(Debug)]
pub enum Opened {
    /// Servers and their tools.
    Import(Import),
    /// Servers that have to be asked for their tools.
    Configuration(Configuration),
}

/// The configuration of an MCP client, as it was when it was read.
#[derive(Debug)]
pub struct Configuration {
    /// Its servers.
    pub config: ClientConfig,
    bytes: u64,
    sha256: String,
}

/// Reads whatever is there; see [`read`].
///
/// A file that holds no tools, but servers as the configuration of a client
/// has them, is such a configuration.
///
/// # Errors
/// When nothing of it can be taken over; see [`SourceError`].
pub fn open(path: &Path, forced: Option<Format>) -> Result<Opened, SourceError> {
    let error = match forced {
        Some(Format::ClientConfig) => return configuration(path).map(Opened::Configuration),
        _ => match read(path, forced) {
            Ok(import) => return Ok(Opened::Import(import)),
            Err(error) => error,
        },
    };
    match (&error, configuration(path)) {
        // JSON of another shape, JSON with comments, TOML, YAML; or one entry of a file.
        (
            SourceError::UnknownShape { .. }
            | SourceError::NotJson { .. }
            | SourceError::NotYaml { .. },
            Ok(found),
        ) if forced.is_none() && !found.config.servers.is_empty() => {
            Ok(Opened::Configuration(found))
        }
        _ => Err(error),
    }
}

fn configuration(path: &Path) -> Result<Configuration, SourceError> {
    let mut reader = Reader::default();
    let text = reader.text(path)?;
    let config = client_config::parse(path, &text)?;
    let (bytes, sha256) = reader.finish();
    Ok(Configuration { config, bytes, sha256 })
}

/// Reads a file or a folder, in the format its content shows or the forced one.
///
/// Of a folder every file of a known format is read, in the order of names; a
/// forced format leaves out files of others.
///
/// # Errors
/// When nothing of it can be taken over; see [`SourceError`].
pub fn read(path: &Path, forced: Option<Format>) -> Result<Import, SourceError> {
    let mut reader = Reader::default();
    let (format, found) = match path.is_dir() {
        true => folder::read(path, forced, &mut reader)?,
        false => read_part(&Part::of_file(path), forced, &mut reader)?,
    };
    Ok(finish(format, found, reader))
}

/// Reads bytes as [`read`] reads a file of that name.
///
/// # Errors
/// When nothing of the bytes can be taken over; see [`SourceError`].
pub fn parse(
    source_name: &str,
    bytes: impl AsRef<[u8]>,
    forced: Option<Format>,
) -> Result<Import, SourceError> {
    let mut reader = Reader::default();
    let text = reader.decoded(Path::new(source_name), bytes.as_ref())?;
    let (format, found) = import(source_name, &text, forced)?;
    Ok(finish(format, found, reader))
}

fn finish(format: Format, found: Findings, reader: Reader) -> Import {
    let (bytes, sha256) = reader.finish();
    finished(format, found, bytes, sha256)
}

fn finished(format: Format, found: Findings, bytes: u64, sha256: String) -> Import {
    let Findings { servers, rejected, mut warnings, tally, .. } = found;
    warnings.extend(tally.into_lines());
    if servers.is_empty() && rejected.is_empty() {
        warnings.push("it lists no server".to_owned());
    }
    Import { format, servers, rejected, warnings, stale: Vec::new(), bytes, sha256 }
}

fn read_part(
    part: &Part,
    forced: Option<Format>,
    reader: &mut Reader,
) -> Result<(Format, Findings), SourceError> {
    let (path, tools) = match part {
        Part::DockerServer { server, tools } => (server, tools.as_deref()),
        Part::File(path) => (path, None),
    };
    let name = path.display().to_string();
    let text = reader.text(path)?;
    let Some(tools) = tools.filter(|_| forced.is_none_or(|format| format == Format::Docker)) else {
        return import(&name, &text, forced);
    };
    let tools = reader.text(tools)?;
    with_records(&name, &text, |records| {
        let format = choose(&name, &records.good, forced)?;
        let mut found = Findings { source: name.clone(), ..Findings::default() };
        match format {
            Format::Docker => docker::import_pair(&records.good, &tools, &mut found),
            _ => format.import(&records.good, stem(&name), &mut found),
        }
        Ok((format, found))
    })
}

fn import(
    name: &str,
    text: &str,
    forced: Option<Format>,
) -> Result<(Format, Findings), SourceError> {
    with_records(name, text, |Records { good, bad }| {
        let format = choose(name, &good, forced)?;
        let mut found = Findings { source: name.to_owned(), ..Findings::default() };
        for (place, problem) in bad {
            found.reject_server(place, problem);
        }
        format.import(&good, stem(name), &mut found);
        Ok((format, found))
    })
}

/// Takes a text apart, be it JSON, JSON Lines or YAML.
fn with_records<T>(
    name: &str,
    text: &str,
    read: impl FnOnce(Records<'_>) -> Result<T, SourceError>,
) -> Result<T, SourceError> {
    let path = || PathBuf::from(name);
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{FEFF}').is_empty() {
        return Err(SourceError::Empty { path: path() });
    }
    let not_json = |source: serde_json::Error| SourceError::NotJson {
        path: path(),
        line: source.line(),
        column: source.column(),
        source,
    };
    let yaml;
    let records = match records::split(text) {
        Ok(records) => records,
        Err(error) if !yaml::is_likely(name, text) => return Err(not_json(error)),
        Err(error) => {
            yaml = match yaml::to_json(text) {
                Ok(json) if json.starts_with(['{', '[']) => json,
                Err(source) if yaml::is_named_so(name) => {
                    let (line, column) = (source.line, source.column);
                    return Err(SourceError::NotYaml { path: path(), line, column, source });
                }
                Ok(_) | Err(_) => return Err(not_json(error)),
            };
            records::split(&yaml).map_err(not_json)?
        }
    };
    if records.good.is_empty() { Err(SourceError::Empty { path: path() }) } else { read(records) }
}

/// The forced format if a record fits it, or that of the first one known.
fn choose(
    name: &str,
    records: &[Record<'_>],
    forced: Option<Format>,
) -> Result<Format, SourceError> {
    let path = || PathBuf::from(name);
    let found = || describe(records);
    let mut objects = records.iter().filter_map(|record| Fields::of(record.json).ok());
    match forced {
        Some(format) if objects.any(|fields| format.accepts(&fields)) => Ok(format),
        Some(format) => Err(SourceError::WrongShape { path: path(), format, found: found() }),
        None => objects
            .find_map(|fields| Format::recognised_in(&fields))
            .ok_or_else(|| SourceError::UnknownShape { path: path(), found: found() }),
    }
}

/// What the records are, for someone who wonders why they are not known.
fn describe(records: &[Record<'_>]) -> String {
    let describe_one = |record: &Record<'_>| match Fields::of(record.json) {
        Ok(fields) => describe_keys(&fields),
        Err(_) => Kind::of(record.json).to_string(),
    };
    match records {
        [] => "nothing".to_owned(),
        [record] => describe_one(record),
        [first, ..] => format!("{} records, the first {}", records.len(), describe_one(first)),
    }
}

fn describe_keys(fields: &Fields<'_>) -> String {
    const MAX_KEYS: usize = 6;
    let mut keys: Vec<_> = fields.iter().map(|(key, _)| shown(key)).take(MAX_KEYS + 1).collect();
    if keys.len() > MAX_KEYS {
        keys[MAX_KEYS] = "…".to_owned();
    }
    match keys.as_slice() {
        [] => "an empty object".to_owned(),
        keys => format!("an object with keys {}", keys.join(", ")),
    }
}

/// The name of a server that does not tell its own.
fn stem(name: &str) -> &str {
    Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name)
}

/// A file of the shared test data; says so where there is none.
#[cfg(test)]
fn shared(relative: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(relative);
    if !path.exists() {
        eprintln!("SKIPPED: there is no {}", path.display());
        return None;
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use proptest::prelude::*;

    use super::*;
    use crate::error::Fault;

    fn check_error(text: &str, forced: Option<Format>, message: &str) -> SourceError {
        let error = parse("dir/x.json", text, forced).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
        error
    }

    #[test]
    fn what_is_no_known_format_is_described() {
        let known = Format::list();
        for (text, found) in [
            (r#"{"a":1,"b":{},"c\u001b[31m":[]}"#, "an object with keys a, b, c[31m"),
            (
                r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}"#,
                "an object with keys a, b, c, d, e, f, …",
            ),
            ("{}", "an empty object"),
            ("7", "a number"),
            (r#"[{"name":"a"},1]"#, "2 records, the first an object with keys name"),
            (r#"{"mcpServers":{}}"#, "an object with keys mcpServers"),
            (r#"{"servers":{}}"#, "an object with keys servers"),
        ] {
            let hint = "if it is one of them, say which with `--format`";
            let message = format!(
                "`dir/x.json` holds {found}, which is none of the known formats: {known}; {hint}"
            );
            let error = check_error(text, None, &message);
            assert_eq!(error.fault(), Fault::Environment);
        }
    }

    #[test]
    fn a_forced_format_wins_if_it_can_be_read_at_all() {
        let text = r#"{"name":"S","tools":[{"name":"t"}]}"#;
        assert_eq!(parse("x.json", text, None).unwrap().format, Format::McpZero);
        let import = parse("x.json", text, Some(Format::ToolsList)).unwrap();
        assert_eq!((import.format, import.servers[0].name.as_str()), (Format::ToolsList, "x"));
        let error = check_error(
            text,
            Some(Format::Catalog),
            "`dir/x.json` was to be read as `catalog`, which is an object with a list `servers`, \
             but holds an object with keys name, tools; leave out `--format` to have it recognised",
        );
        assert_eq!(error.fault(), Fault::Caller);
    }

    #[test]
    fn a_broken_document_says_where() {
        let text = "{\"servers\": [\n  {\"name\": }\n]}";
        let error = check_error(
            text,
            None,
            "`dir/x.json` is neither a JSON document nor JSON Lines: line 2, column 12 is at fault",
        );
        assert!(error.source().unwrap().to_string().starts_with("expected value"));
    }

    #[test]
    fn an_empty_source_is_an_error_and_an_empty_catalogue_a_warning() {
        for text in ["", " \r\n", "\u{FEFF}", "[]"] {
            assert!(matches!(parse("x", text, None), Err(SourceError::Empty { .. })), "{text:?}");
        }
        let import = parse("x", r#"{"servers":[]}"#, None).unwrap();
        assert_eq!(import.warnings, ["it lists no server"]);
    }

    #[test]
    fn a_file_is_read_whatever_its_encoding_and_hashed_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("clock.json");
        let text = "{\"tools\":\r\n[{\"name\":\"時刻\"}]}\r\n";
        let utf16: Vec<u8> =
            std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        for bytes in [text.as_bytes().to_vec(), format!("\u{FEFF}{text}").into_bytes(), utf16] {
            fs_err::write(&path, &bytes).unwrap();
            let import = read(&path, None).unwrap();
            assert_eq!(import.servers[0].name, "clock");
            assert_eq!(import.servers[0].tools[0].name, "時刻");
            assert_eq!(import.bytes, bytes.len() as u64);
        }
        fs_err::write(&path, "{\"tools\":[]}").unwrap();
        let expected = "fe2f3b4ef49492d81cb350fb689bf9f9dff6cfd1817d72d6ff9fe3350e3d5e6a";
        assert_eq!(read(&path, None).unwrap().sha256, expected);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("absent.json");
        assert!(
            matches!(read(&absent, None), Err(SourceError::NotFound { path }) if path == absent)
        );
        assert!(matches!(read(dir.path(), None), Err(SourceError::NothingKnown { .. })));
        fs_err::write(&absent, b"{\"a\": \"\xFF\"}").unwrap();
        let error = read(&absent, None).unwrap_err();
        assert_eq!(
            error.source().unwrap().to_string(),
            "byte 7 is not valid UTF-8; save the file as UTF-8"
        );
    }

    #[test]
    fn files_of_other_tools_are_not_taken_for_ours() {
        for relative in [
            "official-registry/server.schema.2025-07.json",
            "toolhive/upstream-registry.schema.json",
            "toolhive/publisher-provided.schema.json",
            "client-configs/claude-desktop.json",
            "client-configs/continue-dev.yml",
            "client-configs/opencode.json",
            "client-configs/vscode.json",
            "jsonrpc/mcpproxy-tools-list.golden.json",
        ] {
            let Some(path) = shared(&format!("data/raw/{relative}")) else {
                return;
            };
            let result = read(&path, None);
            assert!(
                matches!(result, Err(SourceError::UnknownShape { .. })),
                "{relative}: {result:?}"
            );
        }
    }

    /// One small text of each format.
    const SAMPLES: [&str; 10] = [
        r#"{"servers":[{"name":"S","description":"d","tools":[{"name":"t","inputSchema":{}}]}]}"#,
        r#"{"servers":[{"server":{"name":"S","version":"1","repository":{"url":"u"}},"_meta":{"io.modelcontextprotocol.registry/official":{"isLatest":true,"status":"active"}}}],"metadata":{"nextCursor":"x"}}"#,
        r#"{"servers":{"S":{"tier":"x","image":"y","status":"Active","tools":["t"]}}}"#,
        r#"{"data":{"servers":[{"name":"S","packages":[],"_meta":{"io.modelcontextprotocol.registry/publisher-provided":{"p":{"i":{"tools":["t"]}}}}}]}}"#,
        r#"[{"name":"S","config":{"mcpServers":{}},"tools":{"s":{"tools":[{"name":"t"}]}}}]"#,
        r#"{"labels":{"analysis":"a"},"metadata":{"server_name":"S","server_info_crawled":{"tools":[{"name":"t"}]}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t"}]}}"#,
        r#"{"name":"S","tools":[{"name":"t","parameter":{"q":"(string) Q"}}]}"#,
        "name: S\ntype: server\nabout: {title: x}\ntools: [{name: t, arguments: [{name: a, type: string}]}]\n",
        "registry:\n  S: {type: server, image: x, tools: [{name: t}]}\n",
    ];

    /// Field by field: something of another kind, nothing, or a piece cut out.
    fn damaged() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec!["null", "7", "\"\"", "[]", "{}", "[[1]]", "", "\u{0}"]);
        (0..SAMPLES.len(), any::<prop::sample::Index>(), 0_usize..12, odd).prop_map(
            |(sample, at, length, odd)| {
                let sample = SAMPLES[sample];
                let start = at.index(sample.len());
                let end = (start + length).min(sample.len());
                format!("{}{odd}{}", &sample[..start], &sample[end..])
            },
        )
    }

    #[test]
    fn every_sample_is_known_and_holds_one_tool_or_none() {
        for sample in SAMPLES {
            let import = parse("x", sample, None).unwrap();
            assert_eq!(import.servers.len(), 1, "{sample}");
            assert!(import.rejected.is_empty(), "{sample}");
        }
    }

    proptest! {
        #[test]
        fn damage_is_no_reason_to_panic(text in damaged()) {
            for name in ["x.json", "x.yaml"] {
                for forced in std::iter::once(None).chain(Format::ALL.map(Some)) {
                    if let Ok(import) = parse(name, &text, forced) {
                        prop_assert!(import.servers.iter().all(|server| !server.name.is_empty()));
                    }
                }
            }
        }
    }
}

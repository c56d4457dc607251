//! A folder as one source: what in it is read, and in which order.
//!
//! Owns the walk. Hidden files are left alone, links to folders are not
//! followed, and a file that cannot be used costs no other.

use std::fs::FileType;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::sources::Format;
use crate::sources::SourceError;
use crate::sources::findings::Findings;
use crate::sources::read_part;
use crate::sources::reader::Reader;
use crate::sources::tally::Remark;

/// Endings of the files that are looked at.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "yaml", "yml"];

/// What Docker calls the description of a server.
const DOCKER_SERVER: [&str; 2] = ["server.yaml", "server.yml"];

/// And the list of its tools, where there is one.
const DOCKER_TOOLS: &str = "tools.json";

/// A catalogue is no deeper; a link of hard links could be.
const MAX_DEPTH: usize = 12;

/// What is read in one go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A file that says all there is.
    File(PathBuf),
    /// A server of Docker's catalogue.
    DockerServer {
        /// Its `server.yaml`.
        server: PathBuf,
        /// Its `tools.json`, if there is one.
        tools: Option<PathBuf>,
    },
}

impl Part {
    /// A file, with what belongs to it.
    pub(crate) fn of_file(path: &Path) -> Self {
        if !is_docker_server(path) {
            return Self::File(path.to_owned());
        }
        let tools = path.with_file_name(DOCKER_TOOLS);
        Self::DockerServer { server: path.to_owned(), tools: tools.is_file().then_some(tools) }
    }

    fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::DockerServer { server: path, .. } => path,
        }
    }
}

/// Reads every file of a known format in a folder and below it.
///
/// # Errors
/// When there is none.
pub(crate) fn read(
    dir: &Path,
    forced: Option<Format>,
    reader: &mut Reader,
) -> Result<(Format, Findings), SourceError> {
    let mut listing = Listing::default();
    listing.add(dir, MAX_DEPTH).map_err(|source| SourceError::from_io(dir.to_owned(), source))?;
    let Listing { parts, unreadable } = listing;
    let within = |path: &Path| path.strip_prefix(dir).unwrap_or(path).display().to_string();
    let mut found = Findings { source: dir.display().to_string(), ..Findings::default() };
    for (folder, source) in unreadable {
        let error = SourceError::from_io(folder.clone(), source);
        found.reject_file(&within(&folder), &error);
    }
    let mut formats = Vec::new();
    for part in &parts {
        let file = within(part.path());
        match read_part(part, forced, reader) {
            Ok((format, findings)) => {
                formats.push(format);
                found.absorb(&file, findings);
            }
            Err(
                SourceError::UnknownShape { .. }
                | SourceError::WrongShape { .. }
                | SourceError::Empty { .. },
            ) => found.tally.add(Remark::UnknownFile, &file),
            Err(error) => found.reject_file(&file, &error),
        }
    }
    formats.dedup();
    match formats.as_slice() {
        [] => Err(SourceError::NothingKnown { path: dir.to_owned(), n_files: parts.len() }),
        [format] => Ok((*format, found)),
        _ => Ok((Format::Mixed, found)),
    }
}

/// What is in a folder and below it.
#[derive(Default)]
struct Listing {
    parts: Vec<Part>,
    unreadable: Vec<(PathBuf, io::Error)>,
}

impl Listing {
    /// Lists a folder by name; a folder in it stands where its name does.
    fn add(&mut self, dir: &Path, depth: usize) -> io::Result<()> {
        let named = visible(dir)?;
        if let Some((server, _)) = named.iter().find(|(path, _)| is_docker_server(path)) {
            self.parts.push(Part::of_file(server));
            return Ok(());
        }
        for (path, kind) in named {
            if kind.is_dir() && depth > 0 {
                if let Err(error) = self.add(&path, depth - 1) {
                    self.unreadable.push((path, error));
                }
            } else if has_known_ending(&path) && path.is_file() {
                self.parts.push(Part::File(path));
            }
        }
        Ok(())
    }
}

/// The entries of a folder that are not hidden, by name.
fn visible(dir: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
    let mut named = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            named.push((entry.path(), entry.file_type()?));
        }
    }
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(named)
}

fn is_docker_server(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| DOCKER_SERVER.contains(&name)) && path.is_file()
}

fn has_known_ending(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources;
    use crate::sources::Import;
    use crate::sources::shared;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn names(import: &Import) -> Vec<&str> {
        import.servers.iter().map(|server| server.name.as_str()).collect()
    }

    #[test]
    fn every_known_file_is_read_in_the_order_of_names() {
        let dir = folder(&[
            ("b.json", r#"{"servers":[{"name":"b"}]}"#),
            ("a/z.jsonl", "{\"name\":\"z\",\"tools\":[{\"name\":\"t\"}]}\n"),
            ("a/x.json", r#"{"tools":[{"name":"t"}]}"#),
            ("c.yaml", "name: c\ntype: server\nabout: {title: C}\n"),
            (".git/d.json", r#"{"servers":[{"name":"hidden"}]}"#),
            ("notes.txt", "hello"),
            ("other.json", r#"{"compilerOptions":{}}"#),
            ("broken.json", "{"),
        ]);
        let import = sources::read(dir.path(), None).unwrap();
        assert_eq!(import.format, Format::Mixed);
        assert_eq!(names(&import), ["x", "z", "b", "c"]);
        assert_eq!(
            import.warnings,
            [
                "1 server without known tools: found as servers until tools are learnt (`c`)",
                "1 file is of no known format: skipped (`other.json`)",
            ]
        );
        assert_eq!(import.rejected.len(), 1);
        assert_eq!(import.rejected[0].server, "broken.json");
        assert!(import.rejected[0].reason.contains("line 1"), "{:?}", import.rejected);
        let registry = sources::read(dir.path(), Some(Format::Catalog)).unwrap();
        assert_eq!((registry.format, names(&registry)), (Format::Catalog, vec!["b"]));
    }

    #[test]
    fn equal_files_have_equal_hashes_and_one_file_its_own() {
        let text = r#"{"servers":[{"name":"b"}]}"#;
        let [one, two] = [0, 1].map(|_| folder(&[("a.json", text)]));
        let [one, two] = [&one, &two].map(|dir| sources::read(dir.path(), None).unwrap());
        assert_eq!((&one.sha256, one.bytes), (&two.sha256, 26));
        assert_eq!(one.sha256, sources::parse("a.json", text, None).unwrap().sha256);
    }

    #[test]
    fn a_folder_without_a_source_is_an_error() {
        let dir = folder(&[("package.json", r#"{"name":"x","version":"1"}"#)]);
        let error = sources::read(dir.path(), None).unwrap_err();
        assert!(matches!(error, SourceError::NothingKnown { n_files: 1, .. }), "{error:?}");
    }

    #[test]
    fn dockers_folder_is_a_server_a_folder() {
        let Some(path) = shared("data/raw/docker/servers") else {
            return;
        };
        let import = sources::read(&path, None).unwrap();
        assert_eq!(import.format, Format::Docker);
        let tools: Vec<_> =
            import.servers.iter().map(|s| (s.name.as_str(), s.tools.len())).collect();
        assert_eq!(
            tools,
            [
                ("alfresco", 10),
                ("asana", 0),
                ("astro-docs", 1),
                ("brave", 0),
                ("github", 0),
                ("ref", 2),
                ("sentry-remote", 2),
                ("time", 0),
                ("vectra-ai-rux-mcp-server", 25),
                ("wayfound", 4),
            ]
        );
        assert_eq!(import.rejected, []);
        let one = sources::read(&path.join("ref"), None).unwrap();
        assert_eq!(one.servers[0].tools.len(), 2);
        let file = sources::read(&path.join("ref/server.yaml"), None).unwrap();
        assert_eq!((file.sha256, file.bytes), (one.sha256, one.bytes));
    }

    #[test]
    fn toucans_folder_is_a_server_a_file() {
        let Some(path) = shared("data/raw/toucan") else {
            return;
        };
        let import = sources::read(&path, None).unwrap();
        assert_eq!(import.format, Format::Toucan);
        assert_eq!(names(&import), ["Exa Search", "Fetch MCP Server"]);
        assert_eq!(
            import.servers[0].url.as_deref(),
            Some("https://github.com/exa-labs/exa-mcp-server")
        );
        assert!(import.servers[0].summary.starts_with("The MCP Server"));
        assert_eq!(import.servers[1].tools.len(), 4);
    }
}

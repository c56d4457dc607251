//! The one entry: how a client starts toolscout.
//!
//! Owns its words, and telling our entry from others.

use std::path::Path;
use std::path::PathBuf;

use crate::clients::ClientsError;
use crate::clients::Result;

/// The variable that says where toolscout keeps its files.
pub(crate) const HOME: &str = "TOOLSCOUT_HOME";
const INDEX: &str = "--index";
const CONFIG: &str = "--config";

/// What is to be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The binary.
    pub command: PathBuf,
    /// The index, where it is not the default one.
    pub index: Option<PathBuf>,
    /// Value of `TOOLSCOUT_HOME`, where it is set.
    pub home: Option<PathBuf>,
}

/// How a client starts a server, as far as we look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    /// Value of [`HOME`].
    pub(crate) home: Option<String>,
}

impl Entry {
    /// The entry for this program; `config` is the file with moved servers.
    ///
    /// # Errors
    /// When a path is no text.
    pub(crate) fn of(program: &Program, config: Option<&Path>) -> Result<Self> {
        let mut args = vec!["serve".to_owned()];
        for (flag, path) in [(INDEX, program.index.as_deref()), (CONFIG, config)] {
            if let Some(path) = path {
                args.extend([flag.to_owned(), text(path)?]);
            }
        }
        let home = program.home.as_deref().map(text).transpose()?;
        Ok(Self { command: text(&program.command)?, args, home })
    }

    /// It runs `toolscout serve`; the program may be called `toolscout-2`.
    pub(crate) fn is_ours(&self) -> bool {
        let name = self.command.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
        name.starts_with("toolscout") && self.args.first().is_some_and(|word| word == "serve")
    }

    /// Takes over what the owner of `earlier` added to its arguments, and the
    /// index where no other is given; `moved` is the file with moved servers.
    pub(crate) fn keep_flags_of(&mut self, earlier: &Self, moved: &Path) {
        let has_index = self.args.contains(&INDEX.to_owned());
        let is_moved = |word: &str| Path::new(word) == moved;
        let mut kept: Vec<String> = Vec::new();
        let mut words = earlier.args.iter().skip(1).peekable();
        while let Some(word) = words.next() {
            if is_moved(word) {
                // The flag may have other files of its owner behind it.
                let is_alone = words.peek().is_none_or(|next| next.starts_with('-'));
                kept.pop_if(|flag| flag == CONFIG && is_alone);
            } else if has_index && word == INDEX {
                words.next();
            } else if !has_index || !word.starts_with("--index=") {
                kept.push(word.clone());
            }
        }
        self.args.extend(kept);
        let sorted = |args: &[String]| {
            let mut args = args.to_vec();
            args.sort();
            args
        };
        if sorted(&self.args) == sorted(&earlier.args) {
            self.args.clone_from(&earlier.args);
        }
    }

    /// The file that holds its servers, if it has one.
    pub(crate) fn config(&self) -> Option<&str> {
        let at = self.args.iter().position(|word| word == CONFIG)?;
        self.args.get(at + 1).map(String::as_str)
    }

    /// Command and arguments as one line.
    pub(crate) fn shown(&self) -> String {
        std::iter::once(&self.command).chain(&self.args).cloned().collect::<Vec<_>>().join(" ")
    }

    /// As Continue and other clients with YAML want it.
    pub(crate) fn to_yaml(&self, name: &str) -> String {
        // A JSON string is a YAML string.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let args: Vec<String> = self.args.iter().map(|word| quoted(word)).collect();
        let mut lines = vec![
            "mcpServers:".to_owned(),
            format!("  - name: {}", quoted(name)),
            format!("    command: {}", quoted(&self.command)),
            format!("    args: [{}]", args.join(", ")),
        ];
        if let Some(home) = &self.home {
            lines.extend(["    env:".to_owned(), format!("      {HOME}: {}", quoted(home))]);
        }
        lines.join("\n")
    }
}

fn text(path: &Path) -> Result<String> {
    path.to_str()
        .map(ToOwned::to_owned)
        .ok_or_else(|| ClientsError::NotText { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(command: &str, args: &[&str]) -> Entry {
        let args = args.iter().map(|word| (*word).to_owned()).collect();
        Entry { command: command.to_owned(), args, home: None }
    }

    #[test]
    fn ours_is_what_runs_toolscout_serve() {
        for (command, args, is_ours) in [
            ("toolscout", &["serve"][..], true),
            ("/opt/bin/toolscout", &["serve", "--floor", "0.2"], true),
            (r"C:\bin\TOOLSCOUT.EXE", &["serve"], true),
            ("toolscout", &["route"], false),
            ("toolscout", &[], false),
            ("/opt/toolscout/run", &["serve"], false),
            ("npx", &["toolscout", "serve"], false),
        ] {
            assert_eq!(entry(command, args).is_ours(), is_ours, "{command} {args:?}");
        }
    }

    #[test]
    fn flags_of_the_owner_stay_and_those_of_an_install_are_set_anew() {
        let moved = Path::new("/m");
        for (wanted, earlier, expected) in [
            (&["serve"][..], &["serve", "--floor", "0.2"][..], &["serve", "--floor", "0.2"][..]),
            (
                &["serve", "--index", "n"],
                &["serve", "-q", "--index", "o", "x"],
                &["serve", "--index", "n", "-q", "x"],
            ),
            (&["serve"], &["serve", "--index", "o"], &["serve", "--index", "o"]),
            (
                &["serve", "--config", "/m"],
                &["serve", "--index", "o", "--config", "/m", "-q"],
                &["serve", "--index", "o", "--config", "/m", "-q"],
            ),
            (
                &["serve", "--config", "/m"],
                &["serve", "--config", "own"],
                &["serve", "--config", "/m", "--config", "own"],
            ),
            (&["serve"], &["serve", "--config", "/m", "own"], &["serve", "--config", "own"]),
            (&["serve"], &["serve", "--config", "/m", "-q"], &["serve", "-q"]),
        ] {
            let mut new = entry("toolscout", wanted);
            new.keep_flags_of(&entry("toolscout", earlier), moved);
            assert_eq!(new.args, expected, "{wanted:?} {earlier:?}");
        }
        assert_eq!(entry("toolscout", &["serve", "--config", "z"]).config(), Some("z"));
    }
}

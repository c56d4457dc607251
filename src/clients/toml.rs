//! TOML, edited in place.
//!
//! Owns the way to the servers in it, and line ends, which the parser unifies.
//! Comments above a server stay where they are when it goes.

use std::path::Path;

use toml_edit::Array;
use toml_edit::DocumentMut;
use toml_edit::InlineTable;
use toml_edit::Item;
use toml_edit::Table;
use toml_edit::TableLike;
use toml_edit::value;

use crate::clients::ClientsError;
use crate::clients::Result;
use crate::clients::document::Document;
use crate::clients::layout;
use crate::clients::layout::Field;
use crate::sources::client_config::Client;

/// A TOML document.
#[derive(Debug)]
pub(crate) struct Toml {
    original: String,
    document: DocumentMut,
    is_edited: bool,
    key: &'static str,
}

impl Document for Toml {
    fn parse(client: Client, path: &Path, text: &str) -> Result<Self> {
        let unified = text.replace("\r\n", "\n");
        let document: DocumentMut = unified
            .parse()
            .map_err(|error: toml_edit::TomlError| syntax_error(path, &unified, &error))?;
        if document.to_string().trim_end() != unified.trim_end() {
            // Dotted keys of one table that other keys stand between.
            return Err(ClientsError::Uneditable { path: path.to_owned() });
        }
        let key = layout::ways(client, path).first().and_then(|way| way.first()).copied();
        let key = key.unwrap_or_default();
        if document.get(key).is_some_and(|servers| servers.as_table_like().is_none()) {
            return Err(ClientsError::NotAnObject { path: path.to_owned(), key: key.to_owned() });
        }
        Ok(Self { original: text.to_owned(), document, is_edited: false, key })
    }

    fn text(&self) -> String {
        if !self.is_edited {
            return self.original.clone();
        }
        with_line_ends_of(&self.original, &self.document.to_string())
    }

    fn names(&self) -> Vec<String> {
        let servers = self.servers().into_iter().flat_map(|servers| servers.iter());
        servers.map(|(name, _)| name.to_owned()).collect()
    }

    fn field(&self, name: &str, key: &str) -> Option<Field> {
        let item = self.server(name)?.get(key)?;
        if let Some(text) = item.as_str() {
            return Some(Field::Text(text.to_owned()));
        }
        if item.as_bool() == Some(true) {
            return Some(Field::On);
        }
        let texts = item.as_array()?.iter().map(|one| one.as_str().map(ToOwned::to_owned));
        texts.collect::<Option<Vec<String>>>().map(Field::Texts)
    }

    fn set(&mut self, name: &str, key: &str, field: &Field) {
        let item = match field {
            Field::Text(text) => value(text.as_str()),
            Field::Texts(texts) => value(Array::from_iter(texts)),
            Field::On => value(true),
        };
        if let Some(server) = self.server_or_new(name) {
            put(server, key, item);
        }
    }

    fn variable(&self, name: &str, key: &str, variable: &str) -> Option<String> {
        let item = self.server(name)?.get(key)?.as_table_like()?.get(variable)?;
        item.as_str().map(ToOwned::to_owned)
    }

    fn set_variable(&mut self, name: &str, key: &str, (variable, text): (&str, Option<&str>)) {
        let Some(server) = self.server_or_new(name) else {
            return;
        };
        match text {
            Some(text) => {
                let environment = server.entry(key).or_insert(value(InlineTable::new()));
                if let Some(environment) = environment.as_table_like_mut() {
                    put(environment, variable, value(text));
                }
            }
            None => {
                if let Some(environment) = server.get_mut(key).and_then(Item::as_table_like_mut) {
                    environment.remove(variable);
                }
            }
        }
    }

    fn remove(&mut self, name: &str) {
        let servers = self.document.get_mut(self.key).and_then(Item::as_table_like_mut);
        let Some(removed) = servers.and_then(|servers| servers.remove(name)) else {
            return;
        };
        self.is_edited = true;
        if let Some(table) = removed.as_table() {
            self.leave_comments_of(table);
        }
    }

    fn copy(&self, name: &str, to: &mut Self) {
        let Some(mut item) = self.servers().and_then(|servers| servers.get(name)).cloned() else {
            return;
        };
        if let Some(table) = item.as_table_mut() {
            // After what is there, and without the comments that stay here.
            place_last(table);
            table.decor_mut().set_prefix("\n");
        }
        if let Some(servers) = to.servers_or_new() {
            servers.insert(name, item);
        }
    }

    fn copy_beside(&self, _key: &str, _to: &mut Self) {}

    fn list(&self, _outer: &str, _inner: &str) -> Option<Vec<String>> {
        None
    }
}

impl Toml {
    fn servers(&self) -> Option<&dyn TableLike> {
        self.document.get(self.key)?.as_table_like()
    }

    fn server(&self, name: &str) -> Option<&dyn TableLike> {
        self.servers()?.get(name)?.as_table_like()
    }

    fn servers_or_new(&mut self) -> Option<&mut dyn TableLike> {
        self.is_edited = true;
        let mut empty = Table::new();
        empty.set_implicit(true);
        let servers = self.document.entry(self.key).or_insert(Item::Table(empty));
        servers.as_table_like_mut()
    }

    fn server_or_new(&mut self, name: &str) -> Option<&mut dyn TableLike> {
        let servers = self.servers_or_new()?;
        if servers.get(name).is_none() {
            servers.insert(name, Item::Table(Table::new()));
        }
        servers.get_mut(name)?.as_table_like_mut()
    }

    /// Puts the comments above a removed table above what followed it.
    fn leave_comments_of(&mut self, removed: &Table) {
        let comments = removed.decor().prefix().and_then(|prefix| prefix.as_str());
        let comments = comments.unwrap_or_default().to_owned();
        if comments.trim().is_empty() {
            return;
        }
        let next = next_position(self.document.as_table(), removed.position());
        let follower = next.and_then(|at| table_at(self.document.as_table_mut(), at));
        if let Some(table) = follower {
            let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
            let joined = format!("{comments}{}", prefix.unwrap_or_default());
            table.decor_mut().set_prefix(joined);
        } else {
            let trailing = self.document.trailing().as_str().unwrap_or_default().to_owned();
            self.document.set_trailing(format!("{comments}{trailing}"));
        }
    }
}

/// Forgets where it stood.
fn place_last(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        if let Some(inner) = item.as_table_mut() {
            place_last(inner);
        }
    }
}

/// Where the first table after `start` stands.
fn next_position(table: &Table, start: Option<isize>) -> Option<isize> {
    let inner = table.iter().flat_map(|(_, item)| {
        let several = item.as_array_of_tables().into_iter().flat_map(|tables| tables.iter());
        item.as_table().into_iter().chain(several)
    });
    let positions = inner.flat_map(|inner| {
        let own = inner.position().filter(|at| !inner.is_implicit() && Some(*at) > start);
        [own, next_position(inner, start)]
    });
    positions.flatten().min()
}

fn table_at(table: &mut Table, position: isize) -> Option<&mut Table> {
    for (_, item) in table.iter_mut() {
        let inner: Vec<&mut Table> = match item {
            Item::Table(inner) => vec![inner],
            Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
            _ => Vec::new(),
        };
        for inner in inner {
            if inner.position() == Some(position) && !inner.is_implicit() {
                return Some(inner);
            }
            if let Some(found) = table_at(inner, position) {
                return Some(found);
            }
        }
    }
    None
}

/// A new value keeps the comment behind the old one.
fn put(table: &mut dyn TableLike, key: &str, mut item: Item) {
    let old = table.get(key).and_then(Item::as_value).map(|old| old.decor().clone());
    if let (Some(decor), Some(value)) = (old, item.as_value_mut()) {
        *value.decor_mut() = decor;
    }
    table.insert(key, item);
}

fn syntax_error(path: &Path, text: &str, error: &toml_edit::TomlError) -> ClientsError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = String::from_utf8_lossy(&text.as_bytes()[..start]).into_owned();
    ClientsError::Syntax {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
        // The error itself quotes the line; its message does not.
        problem: error.message().lines().next().unwrap_or_default().to_owned(),
    }
}

/// Lines that stay keep their ends; new ones get those of the first line.
fn with_line_ends_of(original: &str, edited: &str) -> String {
    if !original.contains('\r') {
        return edited.to_owned();
    }
    let old: Vec<&str> = original.split_inclusive('\n').collect();
    let new: Vec<&str> = edited.split_inclusive('\n').collect();
    let is_same = |pair: &(&&str, &&str)| pair.0.trim_end() == pair.1.trim_end();
    let n_first = old.iter().zip(&new).take_while(is_same).count();
    let n_rest = old.len().min(new.len()) - n_first;
    let n_last = old.iter().rev().zip(new.iter().rev()).take(n_rest).take_while(is_same).count();
    let ends_crlf = old.first().is_some_and(|line| line.ends_with("\r\n"));
    let added = new[n_first..new.len() - n_last].iter().map(|line| match line.strip_suffix('\n') {
        Some(line) if ends_crlf => format!("{line}\r\n"),
        _ => (*line).to_owned(),
    });
    let mut text = old[..n_first].concat();
    if n_first > 0 && n_last + n_first < new.len() && !text.ends_with('\n') {
        text.push_str(if ends_crlf { "\r\n" } else { "\n" });
    }
    text.extend(added);
    text.push_str(&old[old.len() - n_last..].concat());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::document::entry;
    use crate::clients::document::put;
    use crate::clients::entry::Entry;

    const CODEX: &str = "# heading\nmodel = \"m\" # mine\n\n[mcp_servers.a] # a\ncommand = 'x'\n\n[mcp_servers.a.env]\nK = \"v\"\n\n# about b\n[mcp_servers.b]\nurl = \"u\"\nodd = 0x1F\n\n# about c\n[projects.c]\ntrust = true\n";

    fn parsed(text: &str) -> Toml {
        Toml::parse(Client::Codex, Path::new("config.toml"), text).unwrap()
    }

    fn wanted(home: Option<&str>) -> Entry {
        let home = home.map(ToOwned::to_owned);
        Entry { command: "/bin/toolscout".to_owned(), args: vec!["serve".to_owned()], home }
    }

    #[track_caller]
    fn check_put(text: &str, expected: &str) {
        let mut toml = parsed(text);
        put(&mut toml, Client::Codex, "toolscout", &wanted(Some("/h")));
        assert_eq!(toml.text(), expected);
        let mut again = parsed(expected);
        assert_eq!(entry(&again, Client::Codex, "toolscout"), Some(wanted(Some("/h"))));
        put(&mut again, Client::Codex, "toolscout", &wanted(Some("/h")));
        assert_eq!(again.text(), expected, "twice");
        put(&mut again, Client::Codex, "toolscout", &wanted(None));
        assert_eq!(entry(&again, Client::Codex, "toolscout"), Some(wanted(None)));
    }

    const ENTRY: &str = "[mcp_servers.toolscout]\ncommand = \"/bin/toolscout\"\nargs = [\"serve\"]\nenv = { TOOLSCOUT_HOME = \"/h\" }\n";

    #[test]
    fn an_entry_is_added_and_all_else_stays() {
        check_put("", ENTRY);
        check_put("a = 1\n", &format!("a = 1\n\n{ENTRY}"));
        let mut toml = parsed(CODEX);
        put(&mut toml, Client::Codex, "toolscout", &wanted(Some("/h")));
        assert_eq!(toml.text().replacen(&format!("\n{ENTRY}"), "", 1), CODEX);
        check_put(
            "mcp_servers = { a = { url = \"u\" } }\n",
            "mcp_servers = { a = { url = \"u\" } , toolscout = { command = \"/bin/toolscout\", args = [\"serve\"], env = { TOOLSCOUT_HOME = \"/h\" } } }\n",
        );
    }

    #[test]
    fn line_ends_stay() {
        let windows = CODEX.replace('\n', "\r\n");
        let mut toml = parsed(&windows);
        put(&mut toml, Client::Codex, "toolscout", &wanted(Some("/h")));
        let text = toml.text();
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{text:?}");
        let mut toml = parsed(&text);
        toml.remove("toolscout");
        assert_eq!(toml.text(), windows);
        assert_eq!(with_line_ends_of("a\r\nb\nc\r\n", "a\nx\nb\nc\n"), "a\r\nx\r\nb\nc\r\n");
    }

    #[test]
    fn servers_move_and_comments_stay() {
        let mut toml = parsed(CODEX);
        let mut moved = parsed("");
        for name in ["a", "b"] {
            toml.copy(name, &mut moved);
            toml.remove(name);
        }
        assert_eq!(
            toml.text(),
            "# heading\nmodel = \"m\" # mine\n\n# about b\n\n# about c\n[projects.c]\ntrust = true\n"
        );
        let moved = parsed(&moved.text());
        assert_eq!(moved.names(), ["a", "b"]);
        assert!(moved.text().contains("K = \"v\"") && moved.text().contains("odd = 0x1F"));
        moved.copy("a", &mut toml);
        assert_eq!(toml.variable("a", "env", "K"), Some("v".to_owned()));
        parsed(&toml.text());
    }

    #[test]
    fn a_broken_file_is_refused_with_its_line() {
        let error = Toml::parse(Client::Codex, Path::new("x"), "a = 1\nb = hidden\n").unwrap_err();
        let said = error.to_string();
        assert!(said.contains("line 2, column 5") && !said.contains("hidden"), "{said}");
        let error = Toml::parse(Client::Codex, Path::new("x"), "mcp_servers = 1\n").unwrap_err();
        assert!(error.to_string().contains("`mcp_servers`"), "{error}");
    }
}

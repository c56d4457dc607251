//! A value of a configuration: text, with references to variables in it.
//!
//! Owns how references are written, client by client, and that a value is
//! seen by nobody but the one who starts the server. A value is expanded once:
//! what a variable holds is never looked at for further references.

use std::fmt;

/// How a client writes references; all know `${…}` in one way or another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:id}`, `${file:path}`.
    #[default]
    Braces,
    /// Gemini: `$NAME` too.
    Dollar,
    /// opencode: `{env:NAME}` and `{file:path}` instead.
    Curly,
    /// Continue: `${{ secrets.NAME }}` too.
    DoubleBraces,
}

/// What a reference is to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable {
    /// Who would know its value.
    pub kind: Kind,
    /// Its name there; empty for [`Kind::Unknown`], which may be anything.
    pub name: String,
}

/// Who knows the value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The environment.
    Env,
    /// The user, whom the client asks.
    Input,
    /// The client: `workspaceFolder`, `userHome` and their kin.
    Client,
    /// The client's store of secrets.
    Secret,
    /// A file.
    File,
    /// Nobody: it looks like a reference, but is none that we know.
    Unknown,
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Env | Kind::Client => f.write_str(&self.name),
            Kind::Input => write!(f, "input:{}", self.name),
            Kind::Secret => write!(f, "secret:{}", self.name),
            Kind::File => write!(f, "file:{}", self.name),
            Kind::Unknown => f.write_str("an unknown reference"),
        }
    }
}

/// A value; `Debug` hides it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Reference { variable: Variable, default: Option<String> },
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Template {
    /// Reads a value as a client would.
    pub(crate) fn parse(text: &str, syntax: Syntax) -> Self {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text[at..];
            match reference(rest, syntax) {
                Some((piece, length)) => {
                    pieces.extend((start < at).then(|| Piece::Text(text[start..at].to_owned())));
                    pieces.push(piece);
                    at += length;
                    start = at;
                }
                None => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        pieces.extend((start < at).then(|| Piece::Text(text[start..].to_owned())));
        Self { text: text.to_owned(), pieces }
    }

    /// A prefix and the value of an environment variable.
    pub(crate) fn of_env(prefix: &str, name: &str) -> Self {
        let variable = Variable { kind: Kind::Env, name: name.to_owned() };
        let reference = Piece::Reference { variable, default: None };
        let text = format!("{prefix}${{{name}}}");
        let prefix = (!prefix.is_empty()).then(|| Piece::Text(prefix.to_owned()));
        Self { text, pieces: prefix.into_iter().chain([reference]).collect() }
    }

    /// The value as it is written, for [`super::mask`].
    pub(crate) fn written(&self) -> &str {
        &self.text
    }

    /// Everything it refers to.
    pub fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Reference { variable, .. } => Some(variable),
        })
    }

    /// What it refers to without saying what to take else.
    pub fn needed(&self) -> impl Iterator<Item = &Variable> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Reference { variable, default: None } => Some(variable),
            _ => None,
        })
    }

    /// The value itself, for the one who starts or calls the server.
    ///
    /// # Errors
    /// Names the first variable that has neither value nor default.
    pub fn expand(
        &self,
        value_of: &dyn Fn(&Variable) -> Option<String>,
    ) -> Result<String, Variable> {
        let mut expanded = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => expanded.push_str(text),
                Piece::Reference { variable, default } => {
                    let value = value_of(variable).or_else(|| default.clone());
                    expanded.push_str(&value.ok_or_else(|| variable.clone())?);
                }
            }
        }
        Ok(expanded)
    }
}

/// The reference that a text starts with, and its length in bytes.
fn reference(text: &str, syntax: Syntax) -> Option<(Piece, usize)> {
    if syntax == Syntax::DoubleBraces
        && let Some((inside, length)) = enclosed(text, "${{", "}}")
    {
        return Some((without_default(store(inside.trim())), length));
    }
    if syntax == Syntax::Curly {
        for (open, kind) in [("{env:", Kind::Env), ("{file:", Kind::File)] {
            if let Some((name, length)) = enclosed(text, open, "}") {
                return Some((without_default(Variable { kind, name: name.to_owned() }), length));
            }
        }
    }
    if text.starts_with("${") {
        // What is not closed is a reference too, lest it reach a process.
        return Some(match enclosed(text, "${", "}") {
            Some((inside, length)) => (braced(inside), length),
            None => (without_default(unknown()), text.len()),
        });
    }
    let name = text.strip_prefix('$').filter(|_| syntax == Syntax::Dollar)?;
    let length = name.find(|c: char| !is_name_char(c)).unwrap_or(name.len());
    let name = &name[..length];
    is_name(name).then(|| {
        let variable = Variable { kind: Kind::Env, name: name.to_owned() };
        (without_default(variable), 1 + length)
    })
}

fn enclosed<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, usize)> {
    let inside = text.strip_prefix(open)?;
    let end = inside.find(close)?;
    Some((&inside[..end], open.len() + end + close.len()))
}

/// What stands in `${…}`.
fn braced(inside: &str) -> Piece {
    let variable = |kind, name: &str| Variable { kind, name: name.to_owned() };
    if let Some(id) = inside.strip_prefix("input:") {
        return without_default(variable(Kind::Input, id));
    }
    if let Some(path) = inside.strip_prefix("file:") {
        return without_default(variable(Kind::File, path));
    }
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((_, default)) if default.contains("${") => return without_default(unknown()),
        Some((name, default)) => (name, Some(default.to_owned())),
        None => (inside, None),
    };
    let kind = match name {
        _ if is_known_to_the_client(name) => Kind::Client,
        _ if is_name(name) => Kind::Env,
        _ => return without_default(unknown()),
    };
    Piece::Reference { variable: variable(kind, name), default }
}

fn is_known_to_the_client(name: &str) -> bool {
    const NAMES: [&str; 6] =
        ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/", "cwd"];
    NAMES.contains(&name)
        || ["workspaceFolder:", "config:", "command:"].iter().any(|start| name.starts_with(start))
}

/// `secrets.NAME` of Continue, `inputs.NAME` of its blocks.
fn store(inside: &str) -> Variable {
    let split = inside.split_once('.').filter(|(_, name)| is_name(name));
    match split {
        Some(("secrets", name)) => Variable { kind: Kind::Secret, name: name.to_owned() },
        Some(("inputs", name)) => Variable { kind: Kind::Input, name: name.to_owned() },
        _ => unknown(),
    }
}

fn unknown() -> Variable {
    Variable { kind: Kind::Unknown, name: String::new() }
}

fn without_default(variable: Variable) -> Piece {
    Piece::Reference { variable, default: None }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(is_name_char)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(syntax: Syntax, text: &str, variables: &[&str], expanded: Option<&str>) {
        let template = Template::parse(text, syntax);
        let found: Vec<String> = template.variables().map(ToString::to_string).collect();
        assert_eq!(found, variables, "{text}");
        let value_of = |variable: &Variable| (variable.name == "A").then(|| "a${B}".to_owned());
        assert_eq!(template.expand(&value_of).ok().as_deref(), expanded, "{text}");
    }

    #[test]
    fn each_client_writes_references_its_own_way() {
        use Syntax::{Braces, Curly, Dollar, DoubleBraces};
        check(Braces, "x-${A}-${env:A}!", &["A", "A"], Some("x-a${B}-a${B}!"));
        check(Braces, "${N:-free} ${N:-}", &["N", "N"], Some("free "));
        check(Braces, "${A:-x}", &["A"], Some("a${B}"));
        check(Braces, "${input:key}", &["input:key"], None);
        check(Braces, "${file:/k}", &["file:/k"], None);
        check(Braces, "${workspaceFolder}/x", &["workspaceFolder"], None);
        check(Braces, "$A {env:A} {A} %A% $$ 5$", &[], Some("$A {env:A} {A} %A% $$ 5$"));
        check(Dollar, "$A_$A-${A}$1", &["A_", "A", "A"], None);
        check(Dollar, "$A.$A-${A}$1", &["A", "A", "A"], Some("a${B}.a${B}-a${B}$1"));
        check(Curly, "{env:A}{file:~/k} {x}", &["A", "file:~/k"], None);
        check(DoubleBraces, "${{ secrets.A }}${{inputs.B}}", &["secret:A", "input:B"], None);
    }

    #[test]
    fn what_looks_like_a_reference_never_passes_for_text() {
        for text in ["${", "a${A", "${}", "${a b}", "${{ secrets.A }}", "${A:-${B}}", "${1}"] {
            check(Syntax::Braces, text, &["an unknown reference"], None);
        }
    }

    #[test]
    fn debug_hides_all_of_it() {
        let template = Template::parse("sk-1234${A:-sk-5678}", Syntax::Braces);
        assert_eq!(format!("{template:?}"), "***");
    }

    proptest! {
        #[test]
        fn text_without_marks_stays_as_it_is(text in "[^$%{]*") {
            for syntax in [Syntax::Braces, Syntax::Dollar, Syntax::Curly, Syntax::DoubleBraces] {
                let template = Template::parse(&text, syntax);
                prop_assert_eq!(template.expand(&|_| None), Ok(text.clone()));
            }
        }

        #[test]
        fn no_value_is_expanded_with_a_mark_in_it(text in "[${}:A-]{0,12}") {
            for syntax in [Syntax::Braces, Syntax::Dollar, Syntax::Curly, Syntax::DoubleBraces] {
                let template = Template::parse(&text, syntax);
                if let Ok(expanded) = template.expand(&|_| Some("v".to_owned())) {
                    prop_assert!(!expanded.contains("${"), "{} → {}", text, expanded);
                }
            }
        }
    }
}

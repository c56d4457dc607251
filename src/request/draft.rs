//! Drafts: requests in the making, filled field by field by the readers.
//!
//! Owns the names of fields, and which field belongs to which request. Must
//! not know the syntax that the fields were written in.

use unicode_normalization::UnicodeNormalization;

use crate::request::value::Field;
use crate::request::value::cleaned;
use crate::request::value::cleaned_server;

/// The half of a request that a field is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Platform or domain.
    Server,
    /// Operation and target.
    Tool,
}

/// The name of a field: `server` and `tool` themselves, or an alias of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) role: Role,
    pub(crate) is_alias: bool,
}

impl Key {
    /// The key of this name in any case and width, if it is one.
    ///
    /// How its words are parted does not matter: `tool name`, `toolName`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let name = name.nfkc().collect::<String>().to_lowercase();
        let (role, is_alias) = match name.replace([' ', '-', '_'], "").as_str() {
            "server" => (Role::Server, false),
            "platform" | "domain" | "servername" | "mcpserver" => (Role::Server, true),
            "tool" => (Role::Tool, false),
            "task" | "action" | "query" | "toolname" | "operation" => (Role::Tool, true),
            _ => return None,
        };
        Some(Self { role, is_alias })
    }
}

/// The raw values one half of a request was given.
#[derive(Debug, Default)]
struct Slot {
    own: Option<String>,
    aliases: Vec<String>,
}

impl Slot {
    fn is_named(&self) -> bool {
        self.own.is_some() || !self.aliases.is_empty()
    }

    /// Makes room for a value under this key.
    fn open(&mut self, key: Key) {
        if key.is_alias {
            self.aliases.push(String::new());
        } else {
            self.own.get_or_insert_default();
        }
    }

    /// The value that was opened last under this key.
    fn last_mut(&mut self, key: Key) -> Option<&mut String> {
        if key.is_alias { self.aliases.last_mut() } else { self.own.as_mut() }
    }

    /// The own value if it says anything, else what the aliases say together.
    fn text(&self, clean: impl Fn(&str) -> Option<String>) -> Option<String> {
        let own = self.own.as_deref().and_then(&clean);
        own.or_else(|| {
            let parts: Vec<String> = self.aliases.iter().filter_map(|raw| clean(raw)).collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        })
    }
}

/// One request as it was written.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    server: Slot,
    tool: Slot,
    /// Whether the server of the draft before holds for this one too.
    pub(crate) inherits_server: bool,
}

impl Draft {
    /// Its server in clean text, if it names one itself.
    pub(crate) fn server(&self) -> Option<Field> {
        self.server.text(cleaned_server).map(Field::server)
    }

    /// Its tool in clean text.
    pub(crate) fn tool(&self) -> Option<Field> {
        self.tool.text(cleaned).map(Field::tool)
    }

    /// Whether it can hardly be anything but a request.
    pub(crate) fn is_explicit(&self) -> bool {
        let names_both = self.server.is_named() && self.tool.is_named();
        names_both || self.server.own.is_some() || self.tool.own.is_some()
    }

    fn slot(&self, role: Role) -> &Slot {
        match role {
            Role::Server => &self.server,
            Role::Tool => &self.tool,
        }
    }

    fn slot_mut(&mut self, role: Role) -> &mut Slot {
        match role {
            Role::Server => &mut self.server,
            Role::Tool => &mut self.tool,
        }
    }
}

/// The drafts of one block; the readers open fields and append values.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    list: Vec<Draft>,
    first_key: Option<Key>,
    last_key: Option<Key>,
}

impl Drafts {
    /// Whether no field has been opened yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether the current draft has a field of this role.
    pub(crate) fn has(&self, role: Role) -> bool {
        self.list.last().is_some_and(|draft| draft.slot(role).is_named())
    }

    /// Starts a draft that owes nothing to the one before.
    pub(crate) fn start(&mut self) {
        self.list.push(Draft::default());
    }

    /// Opens a field: of the current draft, or of the next one if it repeats.
    pub(crate) fn open(&mut self, key: Key) {
        if self.list.is_empty() || self.repeats(key) {
            let inherits_server = key.role == Role::Tool && !self.list.is_empty();
            self.list.push(Draft { inherits_server, ..Draft::default() });
        }
        if let Some(draft) = self.list.last_mut() {
            draft.slot_mut(key.role).open(key);
        }
        self.first_key.get_or_insert(key);
        self.last_key = Some(key);
    }

    /// Appends to the field opened last; a text before any field is dropped.
    pub(crate) fn append(&mut self, text: &str) {
        let (Some(draft), Some(key)) = (self.list.last_mut(), self.last_key) else {
            return;
        };
        let text = text.trim();
        let Some(value) = draft.slot_mut(key.role).last_mut(key) else {
            return;
        };
        if !value.is_empty() && !text.is_empty() {
            value.push(' ');
        }
        value.push_str(text);
    }

    /// The drafts, in order.
    pub(crate) fn into_list(self) -> Vec<Draft> {
        self.list
    }

    /// Whether `server:` or `tool:` comes again, so that a further request starts.
    ///
    /// Where the block writes the server first, an inherited server counts too.
    fn repeats(&self, key: Key) -> bool {
        let Some(draft) = self.list.last() else {
            return false;
        };
        let own = draft.slot(key.role).own.as_ref();
        let has_own = own.is_some_and(|value| !value.is_empty());
        let server_leads = self.first_key.is_some_and(|first| first.role == Role::Server);
        let has_inherited = key.role == Role::Server && draft.inherits_server && server_leads;
        !key.is_alias && (has_own || has_inherited)
    }
}

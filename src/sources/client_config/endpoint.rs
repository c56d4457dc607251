//! A server that is called: address and headers.

use crate::sources::client_config::entry::Entry;
use crate::sources::client_config::mask;
use crate::sources::client_config::template::Template;
use crate::sources::client_config::warning::Unusable;
use crate::sources::fields::string;

/// What clients call the address.
const ADDRESS: [&str; 4] = ["url", "httpUrl", "serverUrl", "server_url"];

/// How to call a server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// An `http` or `https` address, once expanded.
    pub url: Template,
    /// Sent with every request; their names are no secret.
    pub headers: Vec<(String, Template)>,
}

impl Endpoint {
    /// The address, with what may be secret as `***`.
    #[must_use]
    pub fn shown(&self) -> String {
        mask::address(self.url.written())
    }

    pub(crate) fn values(&self) -> Vec<(String, &Template)> {
        let headers = self.headers.iter();
        let headers = headers.map(|(name, value)| (format!("headers.{name}"), value));
        std::iter::once(("url".to_owned(), &self.url)).chain(headers).collect()
    }
}

/// Reads the address of an entry and its headers; also the key it stands under.
pub(crate) fn read(entry: &mut Entry<'_>) -> Result<Option<(Endpoint, &'static str)>, Unusable> {
    let Some((key, text)) = entry.text(&ADDRESS)? else {
        return Ok(None);
    };
    let text = text.trim();
    let starts =
        |start: &str| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    if text.is_empty() {
        return Err(Unusable::field(key, "is empty"));
    }
    let is_reference = text.starts_with(['$', '{']);
    if !starts("http://") && !starts("https://") && !is_reference {
        return Err(Unusable::field(key, "is no http or https address"));
    }
    let url = entry.template(text);
    let headers = headers(entry)?;
    Ok(Some((Endpoint { url, headers }, key)))
}

fn headers(entry: &mut Entry<'_>) -> Result<Vec<(String, Template)>, Unusable> {
    let mut headers = Vec::new();
    let options = entry.fields.object("requestOptions");
    for (key, json) in [
        ("headers", entry.fields.get("headers")),
        ("http_headers", entry.fields.get("http_headers")),
        ("requestOptions.headers", options.and_then(|options| options.get("headers"))),
    ] {
        if let Some(json) = json {
            headers.extend(entry.map(key, json)?);
        }
    }
    if let Some(json) = entry.fields.get("env_http_headers") {
        for (header, variable) in entry.map("env_http_headers", json)? {
            headers.push((header, Template::of_env("", variable.written())));
        }
    }
    if let Some((_, variable)) = entry.text(&["bearer_token_env_var"])? {
        headers.push(("Authorization".to_owned(), Template::of_env("Bearer ", &variable)));
    } else if let Some(json) = entry.fields.get("bearer_token") {
        let token = string(json)
            .map_err(|problem| Unusable::field("bearer_token", format!("is {problem}")))?;
        headers.push(("Authorization".to_owned(), entry.template(&format!("Bearer {token}"))));
    }
    Ok(headers)
}

//! From an entry of a configuration to a server that can be asked.
//!
//! Owns that every value is expanded once, and that nothing is started or
//! called with a variable that has no value.

use std::path::PathBuf;

use sha2::Digest;
use sha2::Sha256;

use crate::login::TokenStore;
use crate::sources::client_config::Endpoint;
use crate::sources::client_config::Kind;
use crate::sources::client_config::Launch;
use crate::sources::client_config::Process;
use crate::sources::client_config::Template;
use crate::sources::client_config::Transport;
use crate::sources::client_config::Variable;
use crate::sources::live::environment::Environment;
use crate::upstream::Address;
use crate::upstream::Dialect;
use crate::upstream::Program;
use crate::upstream::Secrets;
use crate::upstream::Target;

/// The server and a hash of all its values; or why it cannot be asked. One that
/// is called and brings no `Authorization` of its own has what `tokens` hold.
pub(super) fn of(
    launch: &Launch,
    environment: &Environment,
    tokens: Option<&TokenStore>,
) -> Result<(Target, String), String> {
    let value_of = |variable: &Variable| match variable.kind {
        Kind::Env => environment.get(&variable.name).map(ToOwned::to_owned),
        _ => None,
    };
    let missing = launch.missing(&|variable| value_of(variable).is_some());
    if !missing.is_empty() {
        let all: Vec<String> = missing
            .iter()
            .map(|(field, variable)| format!("`{variable}` (for `{field}`)"))
            .collect();
        return Err(format!("has no value for {}; set it in the environment", all.join(", ")));
    }
    let expand = |template: &Template| {
        template.expand(&value_of).map_err(|variable| format!("has no value for `{variable}`"))
    };
    let mut target = match &launch.transport {
        Transport::Stdio(process) => Target::Stdio(program(process, environment, &expand)?),
        Transport::Http(endpoint) => Target::Http(address(endpoint, Dialect::Streamable, &expand)?),
        Transport::Sse(endpoint) => Target::Http(address(endpoint, Dialect::Sse, &expand)?),
        Transport::Auto(endpoint) => Target::Http(address(endpoint, Dialect::Auto, &expand)?),
    };
    if let (Target::Http(address), Some(tokens)) = (&mut target, tokens) {
        let is_own = |(name, _): &(String, _)| name.trim().eq_ignore_ascii_case("authorization");
        if !address.headers.iter().any(is_own) {
            address.credentials = tokens.credentials(&launch.name, &address.url);
        }
    }
    let mut hash = Sha256::new();
    hash.update(launch.transport.name());
    for (field, template) in launch.transport.values() {
        let value = expand(template)?;
        for part in [field.as_bytes(), value.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok((target, hex::encode(hash.finalize())))
}

fn program(
    process: &Process,
    environment: &Environment,
    expand: &dyn Fn(&Template) -> Result<String, String>,
) -> Result<Program, String> {
    let mut env = environment.inherited();
    for (name, value) in &process.env {
        env.insert(name.clone(), expand(value)?);
    }
    let is_impossible = |(name, value): (&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    if let Some((name, _)) = env.iter().find(|entry| is_impossible(*entry)) {
        return Err(format!("cannot be given the variable `{}`", crate::sources::shown(name)));
    }
    let args: Vec<String> = process.args.iter().map(expand).collect::<Result<_, _>>()?;
    let secrets = secrets(process.values(), expand, process.env.iter().map(|(_, value)| value))?;
    // What the mask would hide where a configuration is shown.
    let shown = process.shown();
    let masked = args.iter().zip(shown.iter().skip(1)).filter(|(_, shown)| shown.contains("***"));
    let masked = masked.flat_map(|(word, _)| {
        let value = word.split_once('=').map(|(_, value)| value.to_owned());
        value.into_iter().chain([word.clone()])
    });
    let secrets = Secrets::new(secrets.into_iter().chain(masked));
    Ok(Program {
        command: expand(&process.command)?,
        args,
        env: env.into_iter().collect(),
        cwd: process.cwd.as_ref().map(expand).transpose()?.map(PathBuf::from),
        secrets,
    })
}

fn address(
    endpoint: &Endpoint,
    dialect: Dialect,
    expand: &dyn Fn(&Template) -> Result<String, String>,
) -> Result<Address, String> {
    let url = expand(&endpoint.url)?;
    let headers = endpoint.headers.iter();
    let headers: Vec<(String, String)> = headers
        .map(|(name, value)| Ok((name.clone(), expand(value)?)))
        .collect::<Result<_, String>>()?;
    let all = secrets(endpoint.values(), expand, endpoint.headers.iter().map(|(_, value)| value))?;
    // `Bearer KEY`: a server may repeat the key alone. And what stands in the address.
    let keys = headers.iter().filter_map(|(_, value)| Some(value.split_once(' ')?.1.to_owned()));
    let parts = url.split(['?', '&', '=', '@', ':', '/']).filter(|part| part.len() > 20);
    let query = url.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let query = query.split(['&', '=']).map(ToOwned::to_owned);
    let user = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    let user = user.map(|(user, _)| user).unwrap_or_default().split(':').map(ToOwned::to_owned);
    let parts = parts.map(ToOwned::to_owned).chain(query).chain(user);
    let secrets = Secrets::new(all.into_iter().chain(keys).chain(parts));
    Ok(Address { url, headers, dialect, credentials: None, secrets })
}

/// Values that are secret for sure, and those that refer to variables.
fn secrets<'a>(
    all: Vec<(String, &'a Template)>,
    expand: &dyn Fn(&Template) -> Result<String, String>,
    sure: impl Iterator<Item = &'a Template>,
) -> Result<Vec<String>, String> {
    let refer = all.into_iter().map(|(_, value)| value);
    let refer = refer.filter(|value| value.variables().next().is_some());
    refer.chain(sure).map(expand).collect()
}

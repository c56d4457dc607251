//! From an entry of a configuration to a server that can be asked.
//!
//! Owns that every value is expanded once, and that nothing is started or
//! called with a variable that has no value.

use std::path::PathBuf;

use sha2::Digest;
use sha2::Sha256;

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
use crate::upstream::Target;

/// The server and a hash of all its values; or why it cannot be asked.
pub(super) fn of(launch: &Launch, environment: &Environment) -> Result<(Target, String), String> {
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
    let target = match &launch.transport {
        Transport::Stdio(process) => Target::Stdio(program(process, environment, &expand)?),
        Transport::Http(endpoint) => Target::Http(address(endpoint, Dialect::Streamable, &expand)?),
        Transport::Sse(endpoint) => Target::Http(address(endpoint, Dialect::Sse, &expand)?),
        Transport::Auto(endpoint) => Target::Http(address(endpoint, Dialect::Auto, &expand)?),
    };
    let mut hash = Sha256::new();
    hash.update(launch.transport.name());
    for (field, template) in launch.transport.values() {
        let value = expand(template)?;
        for part in [field.as_bytes(), value.as_bytes()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let hash = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((target, hash))
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
    Ok(Program {
        command: expand(&process.command)?,
        args: process.args.iter().map(expand).collect::<Result<_, _>>()?,
        env: env.into_iter().collect(),
        cwd: process.cwd.as_ref().map(expand).transpose()?.map(PathBuf::from),
    })
}

fn address(
    endpoint: &Endpoint,
    dialect: Dialect,
    expand: &dyn Fn(&Template) -> Result<String, String>,
) -> Result<Address, String> {
    let headers = endpoint.headers.iter();
    Ok(Address {
        url: expand(&endpoint.url)?,
        headers: headers
            .map(|(name, value)| Ok((name.clone(), expand(value)?)))
            .collect::<Result<_, String>>()?,
        dialect,
    })
}

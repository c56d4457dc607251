//! `toolscout login` and `toolscout logout`.

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::json;

use super::configurations;
use super::terminal::print;
use super::terminal::print_json;
use super::terminal::remark;
use super::terminal::say;
use crate::cli::Login;
use crate::cli::LoginServer;
use crate::config;
use crate::config::Config;
use crate::fetch::PrivateHosts;
use crate::login;
use crate::login::LoginSettings;
use crate::login::TokenStore;
use crate::sources;
use crate::sources::Environment;
use crate::upstream::Address;
use crate::upstream::Target;

pub(super) fn run(config: &Config, arguments: &Login) -> anyhow::Result<()> {
    let name = &arguments.who.server;
    let address = address(config, &arguments.who)?;
    if address.headers.iter().any(|(name, _)| name.trim().eq_ignore_ascii_case("authorization")) {
        let shown = sources::shown(name);
        anyhow::bail!("the entry of `{shown}` has an `Authorization` header; remove it to log in");
    }
    let store = TokenStore::new(config.tokens.clone());
    let private = match arguments.allow_private {
        true => PrivateHosts::Allowed,
        false => PrivateHosts::Refused,
    };
    let settings = LoginSettings { patience: arguments.timeout, private };
    let show = |address: &str| {
        let shown = sources::shown(name);
        say(&format!("To log in to `{shown}`, open this address in a browser:\n{address}"));
        if !arguments.no_browser {
            open(address.to_owned());
        }
        remark(config, "Waiting for its answer …");
    };
    runtime()?
        .block_on(login::log_in(&store, &address.url, settings, show))
        .with_context(|| format!("not logged in to `{}`", sources::shown(name)))?;
    if config.json {
        return print_json(&json!({ "server": name, "logged_in": true }));
    }
    let (name, folder) = (sources::shown(name), store.folder().display());
    print(&format!("logged in to `{name}`; its tokens are kept in {folder}"))
}

pub(super) fn forget(config: &Config, who: &LoginServer) -> anyhow::Result<()> {
    let address = address(config, who)?;
    let store = TokenStore::new(config.tokens.clone());
    let shown = sources::shown(&who.server);
    let was_there = runtime()?
        .block_on(login::log_out(&store, &address.url))
        .with_context(|| format!("the tokens of `{shown}` stay"))?;
    if config.json {
        return print_json(&json!({ "server": who.server, "removed": was_there }));
    }
    print(&match was_there {
        true => format!("the tokens of `{shown}` are removed; they may be valid there for a while"),
        false => format!("there are no tokens of `{shown}`"),
    })
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().context("cannot start the async runtime")
}

/// Browsers may run in this terminal until they are closed, so nobody waits.
fn open(address: String) {
    std::thread::spawn(move || {
        if let Err(error) = webbrowser::open(&address) {
            tracing::warn!(%error, "no browser can be opened");
        }
    });
}

/// The one server of that name that is called.
fn address(config: &Config, who: &LoginServer) -> anyhow::Result<Address> {
    let environment = Environment::new(config::environment());
    let (mut found, mut others) = (Vec::<Address>::new(), BTreeSet::new());
    for (_, configuration) in configurations::find(config, &who.config)? {
        for (name, target) in sources::targets(&configuration, &environment, None) {
            match target {
                Ok(Target::Http(address)) if name == who.server => found.push(address),
                Ok(Target::Http(_)) => drop(others.insert(format!("`{}`", sources::shown(&name)))),
                Ok(Target::Stdio(_)) if name == who.server => anyhow::bail!(
                    "`{}` is a program that is started; only servers that are called have a login",
                    sources::shown(&name)
                ),
                Err(reason) if name == who.server => {
                    anyhow::bail!("`{}` {reason}", sources::shown(&name))
                }
                Ok(Target::Stdio(_)) | Err(_) => {}
            }
        }
    }
    let shown = sources::shown(&who.server);
    let others: Vec<String> = others.into_iter().collect();
    let Some(first) = found.pop() else {
        match others.is_empty() {
            true => anyhow::bail!(
                "no server `{shown}` that is called is known; name its configuration with `--config`"
            ),
            false => anyhow::bail!(
                "no server `{shown}` that is called is known; those that are: {}",
                others.join(", ")
            ),
        }
    };
    if found.iter().any(|other| other.url != first.url) {
        anyhow::bail!("`{shown}` has several addresses; say which configuration with `--config`");
    }
    Ok(first)
}

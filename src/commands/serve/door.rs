//! Who may use the HTTP service.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use anyhow::bail;

use crate::access::Policy;
use crate::access::Tenants;
use crate::cli::Serve;
use crate::config;
use crate::serve::Door;
use crate::serve::HttpSettings;
use crate::serve::hosts;

/// What the flags ask for.
///
/// # Errors
/// Fails where the address is open to others and nobody needs a token.
pub(super) fn settings(
    arguments: &Serve,
    address: SocketAddr,
    policy: &Arc<Policy>,
) -> anyhow::Result<HttpSettings> {
    let flags = &arguments.door;
    let door = match (&flags.tenants, &flags.token_env) {
        (Some(file), _) => Door::Locked(Tenants::read(file, policy)?),
        (None, Some(variable)) => {
            let token = config::secret(variable).with_context(|| {
                format!("the variable `{variable}` of `--token-env` holds no token; set it")
            })?;
            Door::Locked(Tenants::one(token.expose(), Arc::clone(policy)))
        }
        (None, None) if address.ip().is_loopback() => Door::Open(Arc::clone(policy)),
        (None, None) => bail!(
            "{address} can be reached from other machines, so clients need a token: add \
             `--token-env VAR` or `--tenants FILE`, or listen at 127.0.0.1"
        ),
    };
    Ok(HttpSettings {
        door,
        hosts: hosts(address, &flags.allow_host),
        origins: flags.allow_origin.clone(),
        client_time: flags.client_timeout,
    })
}

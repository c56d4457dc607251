//! Which addresses a redirect may lead to.
//!
//! Judges what the names resolve to, at the moment of the connection: a name
//! that means another address the second time (DNS rebinding) gains nothing.
//! Behind a proxy it is the proxy that looks names up, and its rules apply.

use std::fmt;
use std::net::IpAddr;
use std::net::Ipv4Addr;
use std::net::Ipv6Addr;
use std::net::SocketAddr;
use std::sync::OnceLock;

use ureq::Proxy;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::resolver::ResolvedSocketAddrs;
use ureq::unversioned::resolver::Resolver;
use ureq::unversioned::transport::NextTimeout;

use crate::fetch::PrivateHosts;
use crate::fetch::Url;
use crate::fetch::address::host_name;

/// Looks names up and drops the addresses that are out of bounds.
#[derive(Debug)]
pub(super) struct Guard {
    system: DefaultResolver,
    bounds: Bounds,
}

/// A redirect into a private network.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) host: String,
    pub(super) address: IpAddr,
}

impl fmt::Display for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}, which is not public", self.host, self.address)
    }
}

impl std::error::Error for Private {}

impl Guard {
    pub(super) fn new(typed: &Url, proxy: Option<&Proxy>, private: PrivateHosts) -> Self {
        let proxy = proxy.and_then(|proxy| proxy.uri().host().map(host_name));
        let typed_is_public = OnceLock::new();
        let bounds = Bounds { typed: typed.host().to_owned(), typed_is_public, proxy, private };
        Self { system: DefaultResolver::default(), bounds }
    }
}

impl Resolver for Guard {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.system.resolve(uri, config, timeout)?;
        let host = host_name(uri.host().unwrap_or_default());
        let within = self.bounds.keep(host, &found);
        let within = within.map_err(|private| ureq::Error::Other(Box::new(private)))?;
        let mut kept = self.empty();
        within.into_iter().for_each(|address| kept.push(address));
        Ok(kept)
    }
}

/// Where one may go.
#[derive(Debug)]
struct Bounds {
    typed: String,
    /// What the typed host was when it was first looked up.
    typed_is_public: OnceLock<bool>,
    proxy: Option<String>,
    private: PrivateHosts,
}

impl Bounds {
    /// The addresses of `host` that may be connected to, one at least.
    fn keep(&self, host: String, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, Private> {
        let all_public = found.iter().all(|address| is_public(address.ip()));
        let is_free = self.private == PrivateHosts::Allowed || self.proxy.as_ref() == Some(&host);
        if all_public || is_free {
            if host == self.typed {
                self.typed_is_public.get_or_init(|| all_public);
            }
            return Ok(found.to_vec());
        }
        // Who types a private address means it; who types a public one does
        // not mean the private one that it has become since.
        if host == self.typed && !*self.typed_is_public.get_or_init(|| false) {
            return Ok(found.to_vec());
        }
        let public: Vec<_> = found.iter().copied().filter(|one| is_public(one.ip())).collect();
        match found.iter().find(|address| !is_public(address.ip())) {
            Some(address) if public.is_empty() => Err(Private { host, address: address.ip() }),
            _ => Ok(public),
        }
    }
}

/// Whether the address belongs to the world rather than to a network of its own.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// After the IANA registry of special-purpose addresses.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_of_protocols = (a, b, c) == (192, 0, 0) || (a, b, c) == (192, 88, 99);
    let is_of_benchmarks = a == 198 && (18..20).contains(&b);
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || is_shared
        || is_of_protocols
        || is_of_benchmarks
        || a == 0
        || a >= 240)
}

/// Addresses that hold one of IPv4 are as public as that one, unless they are
/// mapped: nobody publishes those.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Teredo and other protocols, documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] => false,
        // All that is given out lies in 2000::/3.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(private: PrivateHosts) -> Bounds {
        Bounds {
            typed: "typed.example.com".to_owned(),
            typed_is_public: OnceLock::new(),
            proxy: Some("proxy.example.com".to_owned()),
            private,
        }
    }

    fn keep(bounds: &Bounds, host: &str, found: &[&str]) -> Result<Vec<String>, String> {
        let found: Vec<_> =
            found.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 443)).collect();
        match bounds.keep(host.to_owned(), &found) {
            Ok(kept) => Ok(kept.iter().map(|address| address.ip().to_string()).collect()),
            Err(private) => Err(private.address.to_string()),
        }
    }

    #[test]
    fn only_addresses_of_the_world_are_public() {
        for address in ["93.184.215.14", "100.63.0.1", "100.128.0.1", "172.32.0.1", "2a00::1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:93.184.215.14",
            "::7f00:1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        assert!(is_public("64:ff9b::93.184.215.14".parse().unwrap()));
    }

    #[test]
    fn a_redirect_may_not_lead_inside() {
        let bounds = bounds(PrivateHosts::Refused);
        assert_eq!(keep(&bounds, "other", &["10.0.0.1"]), Err("10.0.0.1".to_owned()));
        assert_eq!(keep(&bounds, "other", &["10.0.0.1", "2a00::1"]), Ok(vec!["2a00::1".into()]));
        assert_eq!(keep(&bounds, "10.0.0.1", &["10.0.0.1"]), Err("10.0.0.1".to_owned()));
        assert!(keep(&bounds, "proxy.example.com", &["10.0.0.1"]).is_ok());
    }

    #[test]
    fn the_typed_host_may_be_inside_but_not_become_so() {
        let inside = bounds(PrivateHosts::Refused);
        for _ in 0..2 {
            assert!(keep(&inside, "typed.example.com", &["10.0.0.1"]).is_ok());
            assert!(keep(&inside, "other", &["127.0.0.1"]).is_err());
        }
        let rebound = bounds(PrivateHosts::Refused);
        assert!(keep(&rebound, "typed.example.com", &["2a00::1"]).is_ok());
        assert_eq!(
            keep(&rebound, "typed.example.com", &["127.0.0.1"]),
            Err("127.0.0.1".to_owned())
        );
    }

    #[test]
    fn all_is_open_to_who_says_so() {
        let bounds = bounds(PrivateHosts::Allowed);
        assert!(keep(&bounds, "other", &["127.0.0.1"]).is_ok());
    }
}

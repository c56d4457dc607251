//! Tokens and what each of them opens.
//!
//! Owns the file of `--tenants`. It holds hashes of tokens, never tokens:
//!
//! ```toml
//! [[tenant]]
//! name = "support"
//! token_sha256 = "…"               # printf %s "$TOKEN" | sha256sum
//! servers = ["github", "files*"]   # no more than these; required
//! deny = ["github/delete_*"]       # and none of these
//! read_only = true
//! ```

use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use sha2::Digest;
use sha2::Sha256;

use super::patterns::PatternError;
use super::policy::Policy;
use super::visitor::Visitor;

/// Visitors by the hash of their token.
#[derive(Clone, Debug, Default)]
pub struct Tenants(HashMap<[u8; 32], Visitor>);

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TenantsError {
    /// It cannot be read.
    #[error("cannot read the tenants: {0}")]
    Read(#[from] std::io::Error),
    /// It is no TOML of the right shape.
    #[error("{}: {problem}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// What and where.
        problem: String,
    },
    /// A tenant of it is not right.
    #[error("{}: tenant `{tenant}` {problem}", path.display())]
    Tenant {
        /// The file.
        path: PathBuf,
        /// Its name.
        tenant: String,
        /// What and how to mend it.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tenant: Vec<Tenant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tenant {
    name: String,
    token_sha256: String,
    servers: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    read_only: bool,
}

impl Tenants {
    /// One token for all that `policy` allows.
    #[must_use]
    pub fn one(token: &str, policy: Arc<Policy>) -> Self {
        Self(HashMap::from([(hash(token), Visitor { name: "".into(), has_token: true, policy })]))
    }

    /// Reads the file; each tenant may no more than its own lines and `policy` allow.
    ///
    /// # Errors
    /// Names the file, the tenant and what is wrong.
    pub fn read(path: &Path, policy: &Policy) -> Result<Self, TenantsError> {
        let text = fs_err::read_to_string(path)?;
        let file: File = toml::from_str(&text).map_err(|error| TenantsError::Shape {
            path: path.to_owned(),
            problem: shown(&error, &text),
        })?;
        let (mut all, mut names) = (HashMap::new(), HashSet::new());
        for tenant in file.tenant {
            let wrong = |problem: String| TenantsError::Tenant {
                path: path.to_owned(),
                tenant: tenant.name.clone(),
                problem,
            };
            let mut key = [0; 32];
            hex::decode_to_slice(&tenant.token_sha256, &mut key).map_err(|_| {
                wrong("needs `token_sha256` of 64 hexadecimal digits: the hash of its token, not the token".to_owned())
            })?;
            if key == hash("") {
                return Err(wrong("has the hash of an empty token".to_owned()));
            }
            if !names.insert(tenant.name.clone()) {
                return Err(wrong("is there twice; give each a name of its own".to_owned()));
            }
            let policy = policy_of(&tenant, policy)
                .map_err(|error| wrong(format!("has a pattern that is none: {error}")))?;
            let (name, policy) = (tenant.name.as_str().into(), Arc::new(policy));
            let visitor = Visitor { name, has_token: true, policy };
            if all.insert(key, visitor).is_some() {
                return Err(wrong("has the token of another; give each its own".to_owned()));
            }
        }
        if all.is_empty() {
            let problem = "it names no tenant; add a `[[tenant]]`".to_owned();
            return Err(TenantsError::Shape { path: path.to_owned(), problem });
        }
        Ok(Self(all))
    }

    /// Whose token it is. Hashes are looked up, so the time it takes tells
    /// nothing of the tokens.
    #[must_use]
    pub fn visitor(&self, token: &str) -> Option<&Visitor> {
        self.0.get(&hash(token))
    }
}

/// Where and what, without the line itself: it may hold a secret.
fn shown(error: &toml::de::Error, text: &str) -> String {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
    format!("line {line}: {}", error.message())
}

fn policy_of(tenant: &Tenant, whole: &Policy) -> Result<Policy, PatternError> {
    let policy = whole.clone().only(&tenant.servers)?.deny(&tenant.deny)?;
    Ok(if tenant.read_only { policy.read_only() } else { policy })
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Tenants, TenantsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs_err::write(file.path(), text).unwrap();
        Tenants::read(file.path(), &Policy::default().deny(&["*/rm".to_owned()]).unwrap())
    }

    fn tenant(name: &str, token: &str, rest: &str) -> String {
        let hash = hex::encode(hash(token));
        format!("[[tenant]]\nname = \"{name}\"\ntoken_sha256 = \"{hash}\"\n{rest}\n")
    }

    #[test]
    fn a_token_opens_what_is_its_own_and_no_more() {
        let file = tenant("a", "secret-a", "servers = [\"git*\"]\ndeny = [\"github/push\"]")
            + &tenant("b", "secret-b", "servers = []");
        let tenants = read(&file).unwrap();
        let a = tenants.visitor("secret-a").unwrap();
        assert_eq!(&*a.name, "a");
        let may = |server, tool| a.policy.check(server, tool, None).is_ok();
        assert!(may("github", "pull"));
        assert!(!may("github", "push") && !may("files", "read") && !may("github", "rm"));
        let b = tenants.visitor("secret-b").unwrap();
        assert!(b.policy.check("github", "pull", None).is_err());
        for token in ["", "secret-", "secret-a ", "SECRET-A"] {
            assert!(tenants.visitor(token).is_none(), "{token}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_without_secrets() {
        for (file, said) in [
            ("", "missing field `tenant`"),
            ("tenant = []", "names no tenant"),
            ("[[tenant]]\nname = \"a\"\ntoken = \"hush\"\n", "line 3: unknown field `token`"),
            ("[[tenant]]\nname = \"a\"\ntoken_sha256 = \"hush\"\nservers = []", "64 hexadecimal"),
            (&tenant("a", "", "servers = []"), "empty token"),
            (&tenant("a", "x", "servers = [\"/x\"]"), "`/x` is no pattern"),
            (&tenant("a", "x", ""), "missing field `servers`"),
            (&(tenant("a", "x", "servers = []") + &tenant("a", "y", "servers = []")), "twice"),
            (&(tenant("a", "x", "servers = []") + &tenant("b", "x", "servers = []")), "of another"),
        ] {
            let error = read(file).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("hush"), "{error}");
        }
    }
}

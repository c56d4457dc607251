//! The key of a remote model: sent in one header, shown nowhere.

use ureq::http::HeaderValue;

use super::error::{KeyState, RemoteError};
use crate::secret::Secret;

/// A key and the header that carries it; without one nothing is sent.
pub(super) struct Key {
    header: Option<HeaderValue>,
    secret: Option<Secret>,
    state: KeyState,
}

impl Key {
    pub(super) fn new(
        variable: Option<&str>,
        secret: Option<&Secret>,
    ) -> Result<Self, RemoteError> {
        let named = || variable.unwrap_or_default().to_owned();
        let state = match (variable, secret) {
            (_, Some(_)) => KeyState::Sent(named()),
            (Some(_), None) => KeyState::Unset(named()),
            (None, None) => KeyState::NoVariable,
        };
        let header = secret.map(|secret| {
            let mut header = HeaderValue::from_str(&format!("Bearer {}", secret.expose()))
                .map_err(|_| RemoteError::BadKey { variable: named() })?;
            header.set_sensitive(true);
            Ok(header)
        });
        Ok(Self { header: header.transpose()?, secret: secret.cloned(), state })
    }

    /// `Authorization`, marked as not to be logged.
    pub(super) fn header(&self) -> Option<&HeaderValue> {
        self.header.as_ref()
    }

    pub(super) fn state(&self) -> &KeyState {
        &self.state
    }

    /// `words` of a server, some of which repeat the key when they refuse it.
    pub(super) fn hide_in(&self, words: &str) -> String {
        match &self.secret {
            Some(secret) => words.replace(secret.expose(), "***"),
            None => words.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_hidden_and_never_repeated() {
        let secret = Secret::new("sk-1234");
        let key = Key::new(Some("MY_KEY"), secret.as_ref()).unwrap();
        assert_eq!(key.header().unwrap().as_bytes(), b"Bearer sk-1234");
        assert!(!format!("{:?}", key.header()).contains("1234"));
        assert_eq!(key.hide_in("wrong key sk-1234!"), "wrong key ***!");
        assert_eq!(*key.state(), KeyState::Sent("MY_KEY".to_owned()));
    }

    #[test]
    fn no_key_is_no_header() {
        assert!(Key::new(None, None).unwrap().header().is_none());
        let unset = Key::new(Some("MY_KEY"), None).unwrap();
        assert_eq!(*unset.state(), KeyState::Unset("MY_KEY".to_owned()));
    }

    #[test]
    fn a_key_of_several_lines_is_refused_by_the_name_of_its_variable() {
        let secret = Secret::new("sk-1\r\nX-Evil: 2");
        let error = Key::new(Some("MY_KEY"), secret.as_ref()).err().unwrap();
        assert!(error.to_string().contains("`MY_KEY`") && !format!("{error:?}").contains("sk-1"));
    }
}

//! Encryption: the clients' modes, and what they check.
//!
//! The default is `disabled` on this machine without `ssl-ca`, and else `verify_identity`, so that no password goes to an
//! unverified server. Authorities are the well-known ones and those of `ssl-ca`. Unix sockets are never encrypted.

use std::path::PathBuf;

use mysql::{ClientIdentity, SslOpts};
use slob_engine::{EngineError, Result};
use slob_server::{Endpoint, Host, Parameters, unusable};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Disabled,
    Preferred,
    Required,
    VerifyCa,
    VerifyIdentity,
}

#[derive(Clone, Debug)]
pub(super) struct Tls {
    mode: Option<Mode>,
    authority: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
}

impl Tls {
    /// The files must exist.
    pub(super) fn new(parameters: &Parameters<'_>) -> Result<Self> {
        let mode = parameters.get("ssl-mode").map(|text| read_mode(&text)).transpose()?;
        let existing = |path: String| match std::fs::File::open(&path) {
            Ok(_) => Ok(PathBuf::from(path)),
            Err(error) => Err(usage(format!("{path}: {error}"))),
        };
        let file = |keyword| parameters.get(keyword).map(existing).transpose();
        let identity = match (file("ssl-cert")?, file("ssl-key")?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(usage("only one of ssl-cert and ssl-key is given".into())),
        };
        Ok(Self { mode, authority: file("ssl-ca")?, identity })
    }

    pub(super) fn options(&self, endpoint: &Endpoint) -> Option<SslOpts> {
        let mode = self.mode_for(endpoint);
        if mode == Mode::Disabled || matches!(endpoint.host, Host::Socket(_)) {
            return None;
        }
        // The library panics if several providers are built in and none is set.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let identity = self.identity.clone().map(|(certificate, key)| ClientIdentity::new(certificate, key));
        Some(
            SslOpts::default()
                .with_root_cert_path(self.authority.clone())
                .with_client_identity(identity)
                .with_danger_accept_invalid_certs(matches!(mode, Mode::Preferred | Mode::Required))
                .with_danger_skip_domain_validation(mode != Mode::VerifyIdentity),
        )
    }

    pub(super) fn may_be_plain(&self, endpoint: &Endpoint) -> bool {
        self.mode_for(endpoint) == Mode::Preferred
    }

    fn mode_for(&self, endpoint: &Endpoint) -> Mode {
        self.mode.unwrap_or(match self.authority {
            None if endpoint.is_local() => Mode::Disabled,
            _ => Mode::VerifyIdentity,
        })
    }
}

fn read_mode(text: &str) -> Result<Mode> {
    Ok(match text.to_ascii_lowercase().replace('-', "_").as_str() {
        "disabled" => Mode::Disabled,
        "preferred" => Mode::Preferred,
        "required" => Mode::Required,
        "verify_ca" => Mode::VerifyCa,
        "verify_identity" => Mode::VerifyIdentity,
        _ => return Err(usage(format!("ssl-mode={text} is not known"))),
    })
}

fn usage(message: String) -> EngineError {
    unusable(message).with_advice(
        "ssl-mode is disabled, preferred, required, verify_ca or verify_identity; ssl-ca, ssl-cert and ssl-key name PEM files",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_the_place_and_the_authority() {
        let network = |host: &str| Endpoint::new(host, 3306);
        let plain = Tls { mode: None, authority: None, identity: None };
        assert!(plain.options(&network("127.0.0.1")).is_none());
        let remote = plain.options(&network("db1")).unwrap();
        assert!(!remote.accept_invalid_certs() && !remote.skip_domain_validation());
        assert!(!plain.may_be_plain(&network("db1")));
        let asked = Tls { mode: Some(Mode::Preferred), ..plain.clone() };
        assert!(asked.options(&network("db1")).unwrap().accept_invalid_certs());
        assert!(asked.may_be_plain(&network("db1")));
        let named = Tls { authority: Some("/ca.pem".into()), ..plain.clone() };
        let checked = named.options(&network("localhost")).unwrap();
        assert!(!checked.accept_invalid_certs() && !checked.skip_domain_validation());
        let authority = Tls { mode: Some(Mode::VerifyCa), ..plain };
        assert!(authority.options(&network("db1")).unwrap().skip_domain_validation());
        assert!(authority.options(&Endpoint::new("/s", 0)).is_none());
    }
}

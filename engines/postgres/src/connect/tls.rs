//! Encryption: which of libpq's modes, and what it checks.
//!
//! | `sslmode` | encrypted | certificate |
//! | --- | --- | --- |
//! | `disable` | no | - |
//! | `prefer` | if the server offers it | not checked |
//! | `require` | yes | not checked; as `verify-ca` if a file of roots is named or `~/.postgresql/root.crt` is there |
//! | `verify-ca` | yes | must come from one of the roots |
//! | `verify-full` | yes | and must be made out to the host's name or address |
//!
//! Without a mode it is `prefer` for servers on this machine, and `verify-full` for all others: a password goes to nobody
//! who can't show who he is, unless that was asked for. libpq's default is `prefer` everywhere. Where encryption is asked for
//! without a mode (`sslrootcert=...` or `ssl=true` alone), it is `verify-full` too. Unlike libpq, whose mode `allow` is
//! refused here, `prefer` does not try again without encryption when a handshake fails.
//! Roots are those of `sslrootcert`, else of `~/.postgresql/root.crt`, else the system's; `sslrootcert=system` names
//! the last. Unix sockets are never encrypted.

mod roots;
mod verifier;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use postgres::Socket;
use postgres::config::SslMode;
use postgres::tls::MakeTlsConnect;
use rustls::ClientConfig;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use slob_engine::{EngineError, ErrorKind};
use slob_server::{Environment, unusable};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::sources::Sources;
use verifier::Lenient;

/// How far a server's certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Nothing,
    Authority,
    AuthorityAndName,
}

/// Encryption as it was asked for, made once for all connections.
#[derive(Clone)]
pub(super) enum Tls {
    /// Never.
    Off,
    /// If the server offers it, or always; with `remote_only` not for a server on this machine.
    On { mode: SslMode, connect: Connect, remote_only: bool },
}

impl Tls {
    /// Reads the mode, the roots and the client's certificate. `remote` says whether a server is on another machine.
    ///
    /// # Errors
    /// If the mode is not known, or a file can't be used.
    pub(super) fn from_sources(
        sources: &Sources<'_>,
        environment: &Environment<'_>,
        remote: bool,
    ) -> Result<Self, EngineError> {
        let named = sources.get("sslrootcert");
        let own = environment.home(".postgresql/root.crt").filter(|path| path.is_file());
        let Some((mode, check)) = mode(sources, own.is_some(), remote)? else { return Ok(Self::Off) };
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = if check == Check::Nothing {
            Arc::new(Lenient::new(&provider, None))
        } else {
            let file = match named.as_deref() {
                Some("system") => None,
                Some(path) => Some(PathBuf::from(path)),
                None => own,
            };
            let webpki = webpki(&roots::read(file.as_deref(), environment)?, &provider)?;
            match check {
                Check::AuthorityAndName => webpki,
                Check::Authority | Check::Nothing => Arc::new(Lenient::new(&provider, Some(webpki))),
            }
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match client_files(sources)? {
            Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(|error| failed(&error))?,
            None => config.with_no_client_auth(),
        };
        let remote_only = remote && !is_asked_for(sources);
        Ok(Self::On { mode, connect: Connect(MakeRustlsConnect::new(config)), remote_only })
    }
}

/// The mode for the client library, and what is checked; `None` if nothing is to be encrypted.
fn mode(
    sources: &Sources<'_>,
    own_roots: bool,
    remote: bool,
) -> Result<Option<(SslMode, Check)>, EngineError> {
    let roots_named = sources.get("sslrootcert").is_some();
    let asked_for = match sources.get("ssl").as_deref() {
        Some("true") => true,
        None | Some("false") => roots_named,
        Some(other) => return Err(usage(format!("ssl={other} is neither true nor false"))),
    };
    let default = if asked_for || remote { "verify-full" } else { "prefer" };
    let mode = sources.get("sslmode").unwrap_or_else(|| default.to_owned());
    Ok(Some(match mode.as_str() {
        "disable" => return Ok(None),
        "prefer" => (SslMode::Prefer, Check::Nothing),
        "require" if roots_named || own_roots => (SslMode::Require, Check::Authority),
        "require" => (SslMode::Require, Check::Nothing),
        "verify-ca" => (SslMode::Require, Check::Authority),
        "verify-full" => (SslMode::Require, Check::AuthorityAndName),
        other => return Err(usage(format!("sslmode={other} is not known"))),
    }))
}

/// Whether anything was said about encryption.
fn is_asked_for(sources: &Sources<'_>) -> bool {
    ["sslmode", "ssl", "sslrootcert"].iter().any(|keyword| sources.get(keyword).is_some())
}

fn webpki(
    roots: &Arc<rustls::RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, EngineError> {
    WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider))
        .build()
        .map_err(|error| failed(&error))
}

type ClientFiles = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The certificate and key that this client shows, if both are named.
fn client_files(sources: &Sources<'_>) -> Result<Option<ClientFiles>, EngineError> {
    let (chain, key) = match (sources.get("sslcert"), sources.get("sslkey")) {
        (Some(chain), Some(key)) => (chain, key),
        (None, None) => return Ok(None),
        _ => return Err(usage("only one of sslcert and sslkey is given".to_owned())),
    };
    let certificates = CertificateDer::pem_file_iter(&chain)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(Path::new(&chain), &error))?;
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| unreadable(Path::new(&key), &error))?;
    Ok(Some((certificates, private)))
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> EngineError {
    EngineError::new(ErrorKind::Usage, format!("reading {}", path.display()), error.to_string())
        .with_advice("it must be a PEM file that this account may read")
}

fn usage(message: String) -> EngineError {
    unusable(message).with_advice(
        "sslmode is disable, prefer, require, verify-ca or verify-full; sslcert and sslkey go together",
    )
}

fn failed(error: &dyn std::error::Error) -> EngineError {
    EngineError::new(ErrorKind::Usage, "preparing TLS", error.to_string())
}

/// Makes encrypted connections. A unix socket has no name, and is never encrypted: the name that the library wants
/// for it before it knows that is a stand-in.
#[derive(Clone)]
pub(super) struct Connect(MakeRustlsConnect);

impl MakeTlsConnect<Socket> for Connect {
    type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;
    type TlsConnect = <MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect;
    type Error = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Self::TlsConnect, Self::Error> {
        let host = if host.is_empty() { "localhost" } else { host };
        MakeTlsConnect::<Socket>::make_tls_connect(&mut self.0, host)
    }
}

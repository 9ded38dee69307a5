//! Encryption: libpq's modes, and what they check.
//!
//! Without a mode it is `prefer` on this machine and else `verify-full`, so that no password goes to an unverified server.
//! `sslrootcert` or `ssl=true` alone mean `verify-full` too. libpq's `allow` is refused. Unlike libpq, `prefer` does not retry
//! without encryption after a failed handshake.
//!
//! Roots are those of `sslrootcert`, else of `~/.postgresql/root.crt`, else the system's. With a named or found file, `require`
//! checks as `verify-ca`. Unix sockets are never encrypted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use postgres::Socket;
use postgres::config::SslMode;
use postgres::tls::MakeTlsConnect;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use slob_engine::{EngineError, ErrorKind, Result};
use slob_server::{Environment, Parameters, unusable};
use tokio_postgres_rustls::MakeRustlsConnect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Nothing,
    Authority,
    AuthorityAndName,
}

#[derive(Clone)]
pub(super) enum Tls {
    Off,
    /// True excludes servers on this machine.
    On {
        mode: SslMode,
        connect: Connect,
        remote_only: bool,
    },
}

impl Tls {
    pub(super) fn new(parameters: &Parameters<'_>, remote: bool) -> Result<Self> {
        let environment = parameters.environment;
        let named = parameters.get("sslrootcert");
        let own = environment.home(".postgresql/root.crt").filter(|path| path.is_file());
        let Some((mode, check)) = mode(parameters, own.is_some(), remote)? else { return Ok(Self::Off) };
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let file = match named.as_deref() {
            Some("system") => None,
            Some(path) => Some(PathBuf::from(path)),
            None => own,
        };
        let webpki = || {
            let roots = read_roots(file.as_deref(), environment)?;
            WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build().map_err(failed)
        };
        let verifier: Arc<dyn ServerCertVerifier> = match check {
            Check::Nothing => Arc::new(Lenient { authority: None, algorithms }),
            Check::Authority => Arc::new(Lenient { authority: Some(webpki()?), algorithms }),
            Check::AuthorityAndName => webpki()?,
        };
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match client_files(parameters)? {
            Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(failed)?,
            None => config.with_no_client_auth(),
        };
        let is_unset = |name: &&str| parameters.get(name).is_none();
        let remote_only = remote && ["sslmode", "ssl", "sslrootcert"].iter().all(is_unset);
        Ok(Self::On { mode, connect: Connect(MakeRustlsConnect::new(config)), remote_only })
    }
}

fn mode(parameters: &Parameters<'_>, own_roots: bool, remote: bool) -> Result<Option<(SslMode, Check)>> {
    let roots_named = parameters.get("sslrootcert").is_some();
    let asked_for = match parameters.get("ssl").as_deref() {
        Some("true") => true,
        None | Some("false") => roots_named,
        Some(other) => return Err(usage(format!("ssl={other} is neither true nor false"))),
    };
    let default = if asked_for || remote { "verify-full" } else { "prefer" };
    let mode = parameters.get("sslmode").unwrap_or_else(|| default.to_owned());
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

type ClientFiles = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn client_files(parameters: &Parameters<'_>) -> Result<Option<ClientFiles>> {
    let (chain, key) = match (parameters.get("sslcert"), parameters.get("sslkey")) {
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

fn failed(error: impl std::error::Error) -> EngineError {
    EngineError::new(ErrorKind::Usage, "preparing TLS", error.to_string())
}

/// The library wants a name even for a unix socket.
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

/// Debian and Alpine, Red Hat, SUSE.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

fn read_roots(file: Option<&Path>, environment: &Environment<'_>) -> Result<Arc<RootCertStore>> {
    let path = match file {
        Some(path) => path.to_owned(),
        None => system_roots(environment)?,
    };
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(&path, &error))?;
    let mut roots = RootCertStore::empty();
    // This library can't read all certificates of some stores.
    let (used, unused) = roots.add_parsable_certificates(certificates);
    if used == 0 {
        let why = format!("it holds no certificate of an authority ({unused} can't be read)");
        return Err(unreadable(&path, &why));
    }
    Ok(Arc::new(roots))
}

fn system_roots(environment: &Environment<'_>) -> Result<PathBuf> {
    let named = environment.variable("SSL_CERT_FILE").map(PathBuf::from);
    let usual = SYSTEM.into_iter().map(PathBuf::from);
    named.into_iter().chain(usual).find(|path| path.is_file()).ok_or_else(|| {
        let message = format!("the system's certificates are in none of {}", SYSTEM.join(", "));
        EngineError::new(ErrorKind::Usage, "preparing TLS", message)
            .with_advice("install ca-certificates, or name the server's authority with sslrootcert=FILE")
    })
}

/// Without an authority any certificate is good, as in libpq's `prefer` and `require`; with one, its name is not checked
/// (`verify-ca`).
#[derive(Debug)]
struct Lenient {
    authority: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, chain, name, ocsp, now) {
            // The name is checked last, when all else is good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

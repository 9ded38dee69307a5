//! The authorities that are trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use slob_engine::{EngineError, ErrorKind};
use slob_server::Environment;

use super::unreadable;

/// The system's store: Debian and Alpine, Red Hat, SUSE.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Reads the roots of a file, or of the system's store.
///
/// # Errors
/// If there is no such file, or no certificate in it that can be used.
pub(super) fn read(
    file: Option<&Path>,
    environment: &Environment<'_>,
) -> Result<Arc<RootCertStore>, EngineError> {
    let path = match file {
        Some(path) => path.to_owned(),
        None => system(environment)?,
    };
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(&path, &error))?;
    let mut roots = RootCertStore::empty();
    // A system's store may hold a few that this library does not read; the others count.
    let (used, unused) = roots.add_parsable_certificates(certificates);
    if used == 0 {
        let why = format!("it holds no certificate of an authority ({unused} can't be read)");
        return Err(unreadable(&path, &why));
    }
    Ok(Arc::new(roots))
}

fn system(environment: &Environment<'_>) -> Result<PathBuf, EngineError> {
    let named = environment.variable("SSL_CERT_FILE").map(PathBuf::from);
    let usual = SYSTEM.into_iter().map(PathBuf::from);
    named.into_iter().chain(usual).find(|path| path.is_file()).ok_or_else(|| {
        let message = format!("the system's certificates are in none of {}", SYSTEM.join(", "));
        EngineError::new(ErrorKind::Usage, "preparing TLS", message)
            .with_advice("install ca-certificates, or name the server's authority with sslrootcert=FILE")
    })
}

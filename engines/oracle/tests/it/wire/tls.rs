//! Connections by TLS, with wallets.

use super::*;

/// An authority with the certificate of a server at 127.0.0.1, by OpenSSL: `ca.pem`, and `tls.pem` with the server's key.
fn certificates(folder: &Path) {
    let make = |arguments: &str| {
        let done =
            Command::new("openssl").args(arguments.split_whitespace()).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    make(&format!("{new} -subj /CN=authority -keyout ca.key -out ca.pem"));
    let ends = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    make(&format!("{new} -subj /CN=server -CA ca.pem -CAkey ca.key {ends} -keyout tls.key -out tls.crt"));
    let parts = ["tls.crt", "tls.key"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    std::fs::write(folder.join("tls.pem"), parts.concat()).unwrap();
}

/// A server on TLS, and a wallet with the certificate of its authority and its net service name `slob_tp`.
fn on_tls() -> Option<(Bed, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let pem = std::fs::read_to_string(folder.path().join("tls.pem")).unwrap();
    let bed = Bed::of(Oracle::start_with_tls_or_skip("19c", &pem)?);
    std::fs::copy(folder.path().join("ca.pem"), folder.path().join("ewallet.pem")).unwrap();
    let name = format!(
        "slob_tp = (DESCRIPTION = (ADDRESS = (PROTOCOL = TCPS)(HOST = 127.0.0.1)(PORT = {})) \
         (CONNECT_DATA = (SERVICE_NAME = pdb1)))\n",
        bed.oracle.port()
    );
    std::fs::write(folder.path().join("tnsnames.ora"), name).unwrap();
    Some((bed, folder))
}

/// By host and port, and as the unzipped wallet of an Autonomous Database does it: by its folder alone.
#[test]
fn a_wallet_of_a_private_authority_is_trusted() {
    let Some((bed, wallet)) = on_tls() else { return };
    let wallet = wallet.path().display();
    let plain = bed.oracle.target();
    for target in [
        format!("{plain}&wallet={wallet}"),
        format!("oracle://system:manager@slob_tp?driver=thin&wallet={wallet}"),
    ] {
        let engine = bed.open_with(&target, &[]).unwrap();
        load_schema(engine.as_ref(), &LOAD, FIRST);
        executed(session(engine.as_ref()).as_mut(), &batch(20, 4, 3, 50), None);
        engine.drop_schema(FIRST).unwrap();
    }
}

#[test]
fn a_certificate_that_is_not_trusted_says_how_to_trust_it() {
    let Some((bed, wallet)) = on_tls() else { return };
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    std::fs::copy(other.path().join("ca.pem"), wallet.path().join("ewallet.pem")).unwrap();
    let target = format!("{}&wallet={}", bed.oracle.target(), wallet.path().display());
    let refused = |target: &str| bed.open_with(target, &[]).err().unwrap();
    let error = refused(&target);
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("?wallet=FOLDER"), "{error}");
    std::fs::remove_file(wallet.path().join("ewallet.pem")).unwrap();
    let error = refused(&target);
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("ewallet.pem"), "{error}");
}

/// The key of a wallet is encrypted; its password is a secret.
#[test]
fn the_password_of_a_wallet_opens_its_key() {
    let Some((bed, wallet)) = on_tls() else { return };
    let encrypt = "pkcs8 -topk8 -v2 aes-256-cbc -in tls.key -passout pass:S3CRET-word -out wallet.key";
    let arguments = encrypt.split_whitespace();
    let done = Command::new("openssl").args(arguments).current_dir(wallet.path()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let parts =
        ["wallet.key", "tls.crt"].map(|name| std::fs::read_to_string(wallet.path().join(name)).unwrap());
    std::fs::write(wallet.path().join("ewallet.pem"), parts.concat()).unwrap();
    let target = format!("{}&wallet={}", bed.oracle.target(), wallet.path().display());
    let said = |password| {
        let opened = bed.open_with(&target, &[("ORACLE_WALLET_PASSWORD", password)]);
        opened.err().unwrap().to_string()
    };
    assert!(said("S3CRET-other").contains("ORACLE_WALLET_PASSWORD"));
    assert!(!said("S3CRET-other").contains("S3CRET"));
    // With a key in the wallet the driver trusts public authorities alone: it gets as far as the server's certificate.
    assert!(said("S3CRET-word").contains("certificate"), "{}", said("S3CRET-word"));
}

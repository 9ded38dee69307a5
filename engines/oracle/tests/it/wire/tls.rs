//! Connections by TLS, with wallets.

use slob_testing::openssl;

use super::*;

/// OpenSSL makes `ca.pem`, and `tls.pem` with the key of a server at 127.0.0.1.
fn certificates(folder: &Path) {
    let make = |arguments: &str| openssl(folder, arguments);
    let new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    make(&format!("{new} -subj /CN=authority -keyout ca.key -out ca.pem"));
    let ends = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    make(&format!("{new} -subj /CN=server -CA ca.pem -CAkey ca.key {ends} -keyout tls.key -out tls.crt"));
    let parts = ["tls.crt", "tls.key"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    std::fs::write(folder.join("tls.pem"), parts.concat()).unwrap();
}

/// The wallet has the net service name `slob_tp`. Clients may need a certificate, as for an Autonomous Database.
fn on_tls(certified: bool) -> Option<(Bed, tempfile::TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let [pem, authority] =
        ["tls.pem", "ca.pem"].map(|name| std::fs::read_to_string(folder.path().join(name)).unwrap());
    let clients = certified.then_some(authority.as_str());
    let bed = Bed::of(Oracle::start_with_tls_or_skip("19c", &pem, clients)?);
    std::fs::copy(folder.path().join("ca.pem"), folder.path().join("ewallet.pem")).unwrap();
    let name = format!(
        "slob_tp = (DESCRIPTION = (ADDRESS = (PROTOCOL = TCPS)(HOST = 127.0.0.1)(PORT = {})) \
         (CONNECT_DATA = (SERVICE_NAME = pdb1)))\n",
        bed.oracle.port()
    );
    std::fs::write(folder.path().join("tnsnames.ora"), name).unwrap();
    Some((bed, folder))
}

/// The unzipped wallet of an Autonomous Database has only its folder.
#[test]
fn a_wallet_of_a_private_authority_is_trusted() {
    let Some((bed, wallet)) = on_tls(false) else { return };
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
    let Some((bed, wallet)) = on_tls(false) else { return };
    let other = tempfile::tempdir().unwrap();
    certificates(other.path());
    std::fs::copy(other.path().join("ca.pem"), wallet.path().join("ewallet.pem")).unwrap();
    let target = format!("{}&wallet={}", bed.oracle.target(), wallet.path().display());
    let refused = |target: &str| bed.open_with(target, &[]).err().unwrap();
    assert_says(&refused(&target), ErrorKind::Usage, &["?wallet=FOLDER"]);
    std::fs::remove_file(wallet.path().join("ewallet.pem")).unwrap();
    assert_says(&refused(&target), ErrorKind::Usage, &["ewallet.pem"]);
}

fn descriptor(bed: &Bed, more: &str) -> String {
    format!(
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCPS)(HOST=127.0.0.1)(PORT={}))(CONNECT_DATA=(SERVICE_NAME=pdb1)){more})",
        bed.oracle.port()
    )
}

#[test]
fn a_descriptor_names_its_wallet() {
    let Some((bed, wallet)) = on_tls(false) else { return };
    let open = |more: &str| {
        let service = descriptor(&bed, more);
        let flags = [("ADMIN_SQLNET_SERVICE", service.as_str())];
        bed.open_with("oracle://system:manager@ignored?driver=thin", &flags)
    };
    let security = format!("(SECURITY=(MY_WALLET_DIRECTORY={}))", wallet.path().display());
    open(&security).unwrap().server().unwrap();
    assert!(open("").err().unwrap().to_string().contains("not trusted"));
}

/// A test runs itself again with TNS_ADMIN, which is the whole process's.
const AGAIN: &str = "SLOB_TEST_AGAIN";

/// `sqlnet.ora` and MY_WALLET_DIRECTORY of `tnsnames.ora` name the wallet.
#[test]
fn sqlnet_ora_and_net_service_names_lead_to_wallets() {
    if let Some(file) = std::env::var_os(AGAIN) {
        let flags = [("ORACLE_PASSWORD_FILE", file.to_str().unwrap())];
        for name in std::env::var("NAMES").unwrap().split(' ') {
            let opened = work::open(&KIND, &format!("oracle://system:manager@{name}?driver=thin"), &flags);
            println!("{name}: {:?}", opened.err().map(|error| error.to_string()));
        }
        return;
    }
    let Some((bed, wallet)) = on_tls(false) else { return };
    let said = |sqlnet: &str| {
        let admin = tempfile::tempdir().unwrap();
        let security = format!("(SECURITY = (MY_WALLET_DIRECTORY = \"{}\"))", wallet.path().display());
        let names = format!("named = {}\nbare = {}\n", descriptor(&bed, &security), descriptor(&bed, ""));
        std::fs::write(admin.path().join("tnsnames.ora"), names).unwrap();
        std::fs::write(admin.path().join("sqlnet.ora"), sqlnet).unwrap();
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "wire::tls::sqlnet_ora_and_net_service_names_lead_to_wallets", "--nocapture"])
            .env("TNS_ADMIN", admin.path())
            .env(AGAIN, admin.path().join("passwords"))
            .env("NAMES", "named bare")
            .output()
            .unwrap();
        String::from_utf8(again.stdout).unwrap()
    };
    let without = said("");
    assert!(without.contains("named: None") && without.contains("bare: Some"), "{without}");
    let method = "SOURCE = (METHOD = FILE) (METHOD_DATA =";
    let with = said(&format!("WALLET_LOCATION = ({method} (DIRECTORY = {})))\n", wallet.path().display()));
    assert!(with.contains("named: None") && with.contains("bare: None"), "{with}");
}

#[test]
fn a_server_that_demands_a_certificate_of_the_client_says_so() {
    let Some((bed, wallet)) = on_tls(true) else { return };
    let target = format!("{}&wallet={}", bed.oracle.target(), wallet.path().display());
    let said = || bed.open_with(&target, &[]).err().unwrap();
    assert_says(&said(), ErrorKind::Usage, &["demands a certificate"]);
    // The wallet has everything now, but with a key in it the driver takes public authorities alone.
    let all = ["ca.pem", "tls.pem"].map(|name| std::fs::read_to_string(wallet.path().join(name)).unwrap());
    std::fs::write(wallet.path().join("ewallet.pem"), all.concat()).unwrap();
    assert_says(&said(), ErrorKind::Usage, &["public authorities alone"]);
}

/// The key of a wallet is encrypted; its password is a secret.
#[test]
fn the_password_of_a_wallet_opens_its_key() {
    let Some((bed, wallet)) = on_tls(false) else { return };
    let encrypt = "pkcs8 -topk8 -v2 aes-256-cbc -in tls.key -passout pass:S3CRET-word -out wallet.key";
    openssl(wallet.path(), encrypt);
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
    // The driver trusts public authorities alone, so it gets as far as the server's certificate.
    assert!(said("S3CRET-word").contains("certificate"), "{}", said("S3CRET-word"));
}

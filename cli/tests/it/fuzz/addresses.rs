//! TARGET and ENDPOINTS: no text stops their reader, and none makes it show a password.

use slob_spec::{RunName, Target};

use super::conf::table;
use super::damage::{self, ODD, Random};
use super::each;

const GOOD: &[&str] = &[
    "sqlite:./slob-data",
    "sqlite:/mnt/a%20b?buffered=TRUE",
    "postgres://user@host:5432/slob?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    "postgres://u@[::1]:5432,[fe80::1]:5433,c/db",
    "mysql://root@%2Frun%2Fmysqld.sock",
    "mysql://u@h1:3306,h2,h3:3308?ssl-mode=VERIFY_IDENTITY",
    "oracle://system@//db.example:1521/ORCLPDB1",
    "null:?latency_us=20",
];
const WORDS: &[&str] =
    &["@", ":", "/", "//", "?", "&", "=", ",", "[", "]", "%40", "%2F", "%", " ", "password=", "."];
/// What no message may show; it needs no escape.
const MARK: &str = "hunter2";

#[test]
fn damaged_addresses_do_no_harm() {
    let table = table();
    each("addresses", 6_000, 8, |random| {
        let text = damage::text(GOOD[random.below(GOOD.len())], WORDS, random);
        if let Ok(target) = text.parse::<Target>() {
            assert_eq!(target.to_string().parse::<Target>().unwrap().to_string(), target.to_string());
            let list = damage::text("h1:5432,h2,[::1]:1", WORDS, random);
            if let Ok(other) = target.with_endpoints(&list) {
                let again: Target = other.to_string().parse().unwrap();
                assert_eq!(again.endpoints(), other.endpoints(), "{other}");
            }
        }
        let _ = text.parse::<RunName>();
        if random.one_in(16) {
            let flags = [("TARGET".to_owned(), text)];
            let _ = slob_spec::Settings::resolve(&table, None, &[], &flags);
        }
    });
}

/// A password as people mistype it: characters that divide an address are not always escaped.
fn password(random: &mut Random) -> String {
    let pieces = [
        "a", "1", "@", ":", "/", "?", "#", "&", "=", "%", "%40", ",", "[", "]", " ", "é", "\u{7}", "//", ".",
    ];
    let mut some =
        |most: usize| -> String { (0..random.below(most)).map(|_| *random.of_these(&pieces)).collect() };
    format!("{}{MARK}{}", some(5), some(5))
}

#[test]
fn no_address_shows_its_password() {
    let table = table();
    each("passwords in addresses", 6_000, 8, |random| {
        let (scheme, password) = (random.of_these(&["postgres", "mysql", "oracle"]), password(random));
        let after = random.of_these(&["", "/", "/slob", "//h2:1521/ORCL", "/slob?sslmode=require", "?x=1"]);
        let user = random.of_these(&["u", "a.b", "u%40x"]);
        let text = format!("{scheme}://{user}:{password}@h:1{after}");
        let shown = match text.parse::<Target>() {
            Ok(target) => format!("{target} {target:?} {:?}", target.password()),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains(MARK), "{text}: {shown}");
        if random.one_in(16) {
            let odd = (*random.of_these(ODD)).to_owned();
            let flags = [("TARGET".to_owned(), text.clone()), ("ENDPOINTS".to_owned(), odd)];
            let shown = match slob_spec::Settings::resolve(&table, None, &[], &flags) {
                Ok(resolved) => format!("{:?} {:?}", resolved.settings, resolved.warnings),
                Err(errors) => format!("{errors} {errors:?}"),
            };
            assert!(!shown.contains(MARK), "{text}: {shown}");
        }
    });
}

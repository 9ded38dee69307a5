//! TARGET and ENDPOINTS: no text stops their reader, and none makes it show a password.

use slob_spec::{RunName, Secret, Target};

use super::conf::table;
use super::damage::{self, Random, odd};
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
/// No message may show it; it needs no escape.
const MARK: &str = "hunter2";

#[test]
fn damaged_addresses_do_no_harm() {
    let table = table();
    each("addresses", 6_000, 8, |random| {
        let text = damage::text(GOOD[random.index(GOOD.len())], WORDS, random);
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

/// People mistype passwords: characters that divide an address are not always escaped.
fn password(random: &mut Random) -> String {
    let pieces = [
        "a", "1", "@", ":", "/", "?", "#", "&", "=", "%", "%40", ",", "[", "]", " ", "é", "\u{7}", "//", ".",
    ];
    let mut some =
        |most: usize| -> String { (0..random.index(most)).map(|_| *random.of_these(&pieces)).collect() };
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
            let odd = odd(random).to_owned();
            let flags = [("TARGET".to_owned(), text.clone()), ("ENDPOINTS".to_owned(), odd)];
            let shown = match slob_spec::Settings::resolve(&table, None, &[], &flags) {
                Ok(resolved) => format!("{:?} {:?}", resolved.settings, resolved.warnings),
                Err(errors) => format!("{errors} {errors:?}"),
            };
            assert!(!shown.contains(MARK), "{text}: {shown}");
        }
    });
}

/// It holds a character that names rarely have: a lost ':' before letters alone leaves a longer user's name.
const PASSWORD: &str = "hunter2!zebra77";
const WITH_PASSWORD: &str = "postgres://slob:PW@h:5432/db?sslmode=require~postgres://slob:PW@h/db~\
    postgres://slob@h/db?sslmode=require&password=PW~postgres://slob@h?password=PW&connect_timeout=3~\
    postgres://slob:PW@[::1]:5432,h2/db~mysql://slob:PW@h1:3306,h2~mysql://slob:PW@%2Frun%2Fmysqld.sock~\
    mysql://slob@h/?ssl-mode=REQUIRED&password=PW~oracle://slob:PW@//h:1521/S?role=normal~oracle://slob:PW@NAME~\
    oracle://slob@//h:1521/S?password=PW";
/// Targets of other programs.
const FOREIGN: &str = "host=h user=slob password=PW dbname=db~host=h:5432 password=PW~slob/PW@//h:1521/S~oracle:slob/PW@//h:1521/S~\
    oracle:/slob/PW@//h:1521/S~postgres:/slob:PW@h/db~mysql:slob:PW@h~slob:PW@tcp(h:3306)/db~mysql -h h -u slob -pPW";

/// One mistyped character of good targets: lost, exchanged, replaced or added.
pub(crate) fn mistyped() -> impl Iterator<Item = String> {
    let typed = "@:/?&=;,.%#+ '[]|x1-".chars();
    WITH_PASSWORD.split('~').chain(FOREIGN.split('~')).flat_map(move |good| {
        let good: Vec<char> = good.replace("PW", PASSWORD).chars().collect();
        let mut made = vec![good.clone()];
        for at in 0..good.len() {
            let with = |range: std::ops::Range<usize>, text: &[char]| {
                let mut changed = good.clone();
                changed.splice(range, text.iter().copied());
                changed
            };
            made.push(with(at..at + 1, &[]));
            if let Some(next) = good.get(at + 1) {
                made.push(with(at..at + 2, &[*next, good[at]]));
            }
            for c in typed.clone() {
                made.extend([with(at..at + 1, &[c]), with(at..at, &[c])]);
            }
        }
        made.into_iter().map(|made| made.into_iter().collect())
    })
}

/// True if a text holds five characters of the password in a row.
pub(crate) fn shows_password(text: &str) -> bool {
    (0..=PASSWORD.len() - 5).any(|at| text.contains(&PASSWORD[at..at + 5]))
}

/// Of so many mistyped targets one is a setting too.
const SOME: usize = 7;

#[test]
fn no_mistyped_target_shows_its_password() {
    let table = table();
    let (mut all, mut read) = (0, 0);
    for text in mistyped() {
        all += 1;
        let shown = match text.parse::<Target>() {
            // The program refuses these by their form, before anything shows them: see the drills of secrets.
            Ok(target) if target.is_bare() => continue,
            Ok(target) => {
                read += 1;
                // Messages of engines are made of these parts.
                let parts = (target.user(), target.endpoints(), target.path(), target.query());
                format!("{target} {target:?} {parts:?}")
            }
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shows_password(&shown), "{text}: {shown}");
        // A message of all settings holds the message of this one, and takes far longer.
        for key in ["TARGET", "ENDPOINTS"].iter().filter(|_| all % SOME == 0) {
            let flags = [((*key).to_owned(), text.clone())];
            let Err(errors) = slob_spec::Settings::resolve(&table, None, &[], &flags) else { continue };
            assert!(!shows_password(&errors.to_string()), "{text}: {errors}");
        }
    }
    assert!(all > 10_000 && read > 1_000, "{read} of {all} were read");
    let good: Target = WITH_PASSWORD.split('~').next().unwrap().replace("PW", PASSWORD).parse().unwrap();
    assert_eq!(good.password().map(Secret::expose), Some(PASSWORD));
}

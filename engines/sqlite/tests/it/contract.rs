//! The SQLite engine passes the contract suite.

use std::fs::File;
use std::os::unix::fs::FileExt;

use slob_testing::damage::survives_damage;
use slob_testing::work;

use crate::support::{engine, folder};

#[test]
fn passes_the_contract_suite() {
    let dir = folder();
    let folder = dir.path().join("data");
    work::passes_the_contract_suite(&|| Ok(engine(&folder)));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "everything it made is gone");
}

/// The list of tables, the header, and the marker are damaged.
const DAMAGES: &[(&str, u64, usize)] =
    &[("no list of tables", 100, 8092 + 8192), ("no header", 0, 16), ("no marker", 8192, 8192)];

#[test]
fn a_damaged_schema_hides_no_sound_one_and_can_be_dropped() {
    let dir = folder();
    let mut damage = |schema, words: &str| {
        let (_, at, bytes) = DAMAGES.iter().find(|(name, ..)| *name == words).unwrap();
        let path = dir.path().join(format!("slob{schema}.db"));
        File::options().write(true).open(path).unwrap().write_all_at(&vec![0xA5; *bytes], *at).unwrap();
    };
    let names: Vec<&str> = DAMAGES.iter().map(|(name, ..)| *name).collect();
    survives_damage(|| Ok(engine(dir.path())), &names, &mut damage, "slob{}.db'*");
}

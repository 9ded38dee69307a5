//! The PostgreSQL engine passes the contract suite, on each version that is installed, with each loop.

use rstest::rstest;
use slob_engine::suite;
use slob_testing::damage::survives_damage;
use slob_testing::postgres::{Cluster, Version};

use crate::loaded::{admin, open, plain_target};

#[rstest]
#[case(Version::V15, "server")]
#[case(Version::V15, "statement")]
#[case(Version::V15, "client")]
#[case(Version::V18, "server")]
#[case(Version::V18, "statement")]
#[case(Version::V18, "client")]
fn passes_the_contract_suite(#[case] version: Version, #[case] loop_place: &str) {
    let Some(cluster) = Cluster::start_or_skip(version, &[("shared_buffers", "16MB")]) else { return };
    let target = plain_target(&cluster);
    let open = || open(&target, &[("LOOP", loop_place)]);
    let verdicts = suite::run(&open, &mut |_, _| true).expect("an empty database");
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

const DAMAGES: &[&str] = &[
    "UPDATE {}.slob_load SET scale = 0",
    "UPDATE {}.slob_load SET scale = -5",
    "UPDATE {}.slob_load SET slice_rows = 0, row_count = NULL",
    "UPDATE {}.slob_load SET row_blocks = NULL",
    "INSERT INTO {}.slob_load SELECT * FROM {}.slob_load",
    "DELETE FROM {}.slob_load",
    "DROP TABLE {}.slob_load",
    "DROP TABLE {}.slob_slice",
    "ALTER TABLE {}.slob_load DROP COLUMN scale",
    "ALTER TABLE {}.slob_load ALTER scale TYPE text USING 'many'",
];

#[test]
fn a_damaged_schema_hides_no_sound_one_and_can_be_dropped() {
    let Some(cluster) = Cluster::start_or_skip(Version::V15, &[("fsync", "off")]) else { return };
    let target = plain_target(&cluster);
    let mut admin = admin(&cluster);
    let mut damage = |schema, words: &str| {
        let sql = words.replace("{}", &format!("slob{schema}"));
        admin.batch_execute(&sql).expect("the superuser's statement");
    };
    survives_damage(|| open(&target, &[]), DAMAGES, &mut damage, "DROP SCHEMA \"slob{}\" CASCADE;");
}

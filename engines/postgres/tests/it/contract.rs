//! The PostgreSQL engine passes the contract suite, on each installed version, with each loop.

use rstest::rstest;
use slob_engine_postgres::KIND;
use slob_testing::jobs;
use slob_testing::postgres::{Cluster, Version};
use slob_testing::{is_full, skipped};

#[rstest]
#[case(Version::V15, "server")]
#[case(Version::V15, "client")]
#[case(Version::V18, "server")]
#[case(Version::V18, "statement")]
fn passes_the_contract_suite(#[case] version: Version, #[case] loop_place: &str) {
    let Some(cluster) = Cluster::start_or_skip(version, &[("shared_buffers", "16MB"), ("fsync", "off")])
    else {
        return;
    };
    jobs::passes_the_contract_suite(&cluster, KIND, &[("LOOP", loop_place)]);
}

/// Each version and place of the loop is among the others.
#[rstest]
#[case(Version::V15, "statement")]
#[case(Version::V18, "client")]
fn passes_it_with_more_of_them(#[case] version: Version, #[case] loop_place: &str) {
    if !is_full() {
        return skipped("others have its parts; DRILLS=full makes it");
    }
    passes_the_contract_suite(version, loop_place);
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
    jobs::survives_damage(&cluster, KIND, DAMAGES, "DROP SCHEMA \"slob{}\" CASCADE;");
}

//! The engine passes the contract suite on MariaDB and MySQL, with both loops and each size of pages.

use rstest::rstest;
use slob_engine_mysql::KIND;
use slob_testing::jobs;
use slob_testing::mariadb::{MariaDb, Product};
use slob_testing::{is_full, skipped};

#[rstest]
#[case::asked(Product::asked(), "server", "16k")]
#[case::asked(Product::asked(), "statement", "16k")]
#[case::asked(Product::asked(), "client", "16k")]
#[case::asked(Product::asked(), "client", "32k")]
#[case(Product::MariaDb11, "server", "16k")]
#[case(Product::MySql9, "server", "16k")]
#[case(Product::MySql9, "client", "8k")]
fn passes_the_contract_suite(#[case] product: Product, #[case] loop_place: &str, #[case] page: &str) {
    let settings = ["innodb-buffer-pool-size=32M", &format!("innodb-page-size={page}")];
    let Some(server) = MariaDb::start_product_or_skip(product, &settings) else { return };
    jobs::passes_the_contract_suite(&server, KIND, &[("LOOP", loop_place)]);
}

/// Each product, place of the loop and size of pages is among the others once.
#[rstest]
#[case::asked(Product::asked(), "server", "8k")]
#[case(Product::MySql9, "statement", "16k")]
fn passes_it_with_more_of_them(#[case] product: Product, #[case] loop_place: &str, #[case] page: &str) {
    if !is_full() {
        return skipped("others have its parts; DRILLS=full makes it");
    }
    passes_the_contract_suite(product, loop_place, page);
}

const DAMAGES: &[&str] = &[
    "UPDATE {}.slob_load SET scale = 0",
    "UPDATE {}.slob_load SET slice_rows = 0, row_count = NULL",
    "UPDATE {}.slob_load SET row_blocks = NULL",
    "INSERT INTO {}.slob_load SELECT seed + 1, scale, scan_blocks, obfuscated, slice_rows, filler_bytes, row_count, row_blocks, all_blocks FROM {}.slob_load",
    "ALTER TABLE {}.slob_load DROP COLUMN scale",
    "ALTER TABLE {}.slob_load MODIFY scale VARCHAR(9); UPDATE {}.slob_load SET scale = 'many'",
    "UPDATE {}.slob_load SET row_count = NULL; DROP TABLE {}.slob_slice",
];

#[test]
fn a_damaged_schema_hides_no_sound_one_and_can_be_dropped() {
    let Some(server) = MariaDb::start_or_skip(&[]) else { return };
    jobs::survives_damage(&server, KIND, DAMAGES, "DROP DATABASE slob{};");
}

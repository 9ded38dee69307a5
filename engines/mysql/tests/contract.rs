//! The engine passes the contract suite on MariaDB, with both loops and each size of pages.

mod common;
mod server;

use common::{open, options};
use rstest::rstest;
use server::MariaDb;
use slob_engine::suite;

#[rstest]
#[case("server", "16k")]
#[case("client", "16k")]
#[case("server", "8k")]
#[case("client", "32k")]
fn passes_the_contract_suite(#[case] loop_place: &str, #[case] page: &str) {
    let page_size = format!("innodb-page-size={page}");
    let Some(server) = MariaDb::start_or_skip(&["innodb-buffer-pool-size=32M", &page_size]) else { return };
    let target = server.plain_target();
    let options = options(&[("LOOP", loop_place)]);
    let verdicts = suite::run(&|| open(&target, &options), &mut |_, _| true).expect("an empty server");
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

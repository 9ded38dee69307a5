//! The suite on the double that speaks the wire protocol, and on a server of yours:
//! `SLOB_TEST_ORACLE=oracle://USER:PASSWORD@//HOST:PORT/SERVICE cargo test -p slob-engine-oracle --test it -- --ignored`.

use slob_engine_oracle::KIND;
use slob_testing::work;

#[test]
#[ignore = "needs an Oracle server, named by SLOB_TEST_ORACLE"]
fn passes_the_contract_suite() {
    let target = std::env::var("SLOB_TEST_ORACLE").unwrap();
    work::passes_the_contract_suite(&|| work::open(&KIND, &target, &[]));
}

#[cfg(feature = "thin")]
#[rstest::rstest]
#[case("19c")]
#[case("23ai")]
fn the_double_passes_it(#[case] description: &str) {
    let Some(bed) = crate::wire::Bed::start(description) else { return };
    let open = || bed.open_with(&bed.oracle.target(), &[]);
    work::passes_the_contract_suite(&open);
    assert!(open().unwrap().schemas().unwrap().is_empty());
}

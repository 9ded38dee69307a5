//! The suite on a server of yours: `SLOB_TEST_ORACLE=oracle://USER:PASSWORD@//HOST:PORT/SERVICE cargo test -p slob-engine-oracle
//! --test it -- --ignored`.

use slob_engine_oracle::KIND;
use slob_testing::work;

#[test]
#[ignore = "needs an Oracle server, named by SLOB_TEST_ORACLE"]
fn passes_the_contract_suite() {
    let target = std::env::var("SLOB_TEST_ORACLE").unwrap();
    work::passes_the_contract_suite(&|| work::open(&KIND, &target, &[]));
}

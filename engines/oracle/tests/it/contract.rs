//! The suite on a server of yours: `SLOB_TEST_ORACLE=oracle://USER:PASSWORD@//HOST:PORT/SERVICE cargo test -p slob-engine-oracle
//! --test it -- --ignored`.

use slob_engine::{OpenSpec, Purpose, suite};
use slob_engine_oracle::KIND;
use slob_spec::EngineOptions;

#[test]
#[ignore = "needs an Oracle server, named by SLOB_TEST_ORACLE"]
fn passes_the_contract_suite() {
    let target: slob_spec::Target = std::env::var("SLOB_TEST_ORACLE").unwrap().parse().unwrap();
    let open = || (KIND.open)(&OpenSpec::new(target.clone(), Purpose::Load, EngineOptions::default()));
    let verdicts = suite::run(&open, &mut |_, _| true).unwrap();
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

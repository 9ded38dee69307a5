//! The null engine passes the contract suite.
#![allow(clippy::unwrap_used)]

use slob_engine::{OpenSpec, Purpose, null, suite};
use slob_spec::EngineOptions;

fn open(target: &str) -> OpenSpec {
    OpenSpec::new(target.parse().unwrap(), Purpose::Load, EngineOptions::default())
}

#[test]
fn passes_the_contract_suite() {
    for target in ["null:", "null:?latency_us=20"] {
        let verdicts = suite::run(&|| (null::KIND.open)(&open(target)), &mut |_, _| true).unwrap();
        let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
        assert!(failed.is_empty(), "{target}: {failed:?}");
    }
}

#[test]
fn refuses_options_that_it_does_not_have() {
    for target in ["null:?latency=1", "null:?latency_us=soon"] {
        let error = (null::KIND.open)(&open(target)).err().unwrap();
        assert_eq!(error.kind(), slob_engine::ErrorKind::Usage);
    }
}

//! The PostgreSQL engine passes the contract suite, on each version that is installed, with both loops.

mod cluster;
mod common;

use cluster::{Cluster, Version};
use common::{open, options, plain_target};
use rstest::rstest;
use slob_engine::suite;

#[rstest]
#[case(Version::V15, "server")]
#[case(Version::V15, "client")]
#[case(Version::V18, "server")]
#[case(Version::V18, "client")]
fn passes_the_contract_suite(#[case] version: Version, #[case] loop_place: &str) {
    let Some(cluster) = Cluster::start_or_skip(version, &[("shared_buffers", "16MB")]) else { return };
    let target = plain_target(&cluster);
    let options = options(&[("LOOP", loop_place)]);
    let verdicts = suite::run(&|| open(&target, &options), &mut |_, _| true).expect("an empty database");
    let failed: Vec<_> = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

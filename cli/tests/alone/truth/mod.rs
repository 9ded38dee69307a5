//! A bench of lies: runs that look like what they are not, each beside an independent witness, and honest runs that must not be
//! accused. The order is random; `DRILLS=full` repeats each 20 times and counts missed lies and accused runs for
//! docs/evidence.md. Otherwise each has a few tries, since other work spoils what is measured.

mod edits;
mod honest;
mod lies;
mod neighbours;

use std::thread;

use slob_facts::{Question, Verdict, verdicts};
use slob_record::{Record, read_record};

use crate::alone;
use crate::common::{Folder, Random, is_full};
use slob_testing::evidence::shows;

/// Repeats of a case with `DRILLS=full`.
const FULL: usize = 20;

/// Tries of a case without it.
const TRIES: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum Sort {
    /// Nothing is wrong: each accusation is false.
    Honest,
    /// Something is wrong, and a verdict must say so.
    Lie,
}

struct Case {
    sort: Sort,
    name: &'static str,
    witness: &'static str,
    expected: &'static str,
    /// Other work could spoil it. Cases without a measurement hold beside each other.
    measures: bool,
    /// The error says what was falsely said or not said; `None` where the case can't be carried out.
    carry_out: fn(&mut Random) -> Option<Outcome>,
}

type Outcome = Result<(), String>;

fn verdict(folder: &Folder, question: Question) -> Verdict {
    let all = verdicts(&latest(folder));
    all.into_iter().find(|verdict| verdict.question == question).unwrap()
}

fn latest(folder: &Folder) -> Record {
    read_record(&folder.last_run()).unwrap()
}

/// All numbers that a record holds twice must agree.
fn agrees_with_itself(folder: &Folder) -> Result<(), String> {
    let verified = folder.slob("verify --run latest");
    let differ: Vec<&str> = verified.stdout.lines().filter(|line| line.starts_with("DIFFERS")).collect();
    if verified.code == 0 {
        Ok(())
    } else {
        Err(format!("{}; {}", verified.stderr.trim(), differ.join("; ")))
    }
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

#[test]
fn lies_are_found_and_honest_runs_are_not_accused() {
    let _alone = alone();
    let mut random = Random::new();
    let mut cases: Vec<Case> = honest::cases().into_iter().chain(lies::cases()).collect();
    let wanted = std::env::var("DRILLS_CASE").unwrap_or_default();
    cases.retain(|case| case.name.contains(&wanted));
    random.shuffle(&mut cases);
    let (measured, others): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.measures);
    let mut wrong = thread::scope(|scope| {
        let others = others.into_iter().map(|case| {
            let mut own = Random::of(random.next());
            (case, scope.spawn(move || case.outcomes(&mut own)))
        });
        let others: Vec<_> = others.collect();
        let wrong = others.into_iter().map(|(case, outcomes)| case.wrong(&outcomes.join().unwrap()));
        wrong.collect::<Vec<_>>().concat()
    });
    wrong.extend(measured.into_iter().flat_map(|case| case.wrong(&case.outcomes(&mut random))));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

impl Case {
    /// Without `DRILLS=full` the first right outcome ends the tries. All tries draw the same, so that none hides what another
    /// found.
    fn outcomes(&self, random: &mut Random) -> Vec<Outcome> {
        let (times, seed) = (if is_full() { FULL } else { TRIES }, random.next());
        let mut outcomes = Vec::new();
        while outcomes.len() < times && (is_full() || !outcomes.last().is_some_and(Outcome::is_ok)) {
            let mut same = Random::of(seed);
            let Some(outcome) = (self.carry_out)(if is_full() { random } else { &mut same }) else { break };
            outcomes.push(outcome);
        }
        outcomes
    }

    fn wrong(&self, outcomes: &[Outcome]) -> Vec<String> {
        let errors: Vec<&String> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        let sort = if self.sort == Sort::Lie { "missed" } else { "accused" };
        shows(
            &format!("{} (witness: {}): {}", self.name, self.witness, self.expected),
            format!("{} of {} {sort}", errors.len(), outcomes.len()),
        );
        let spoiled_only = !is_full() && outcomes.last().is_some_and(Outcome::is_ok);
        let wrong = errors.into_iter().filter(|_| !spoiled_only);
        wrong.map(|error| format!("{}: {error}", self.name)).collect()
    }
}

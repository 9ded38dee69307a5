//! Claims of views, and the verdicts that forbid them. `docs/reference/verdicts.md` holds the table as this file prints it.

use itertools::Itertools;

use crate::figure;
use crate::question::{Grade, Question};
use crate::table::{Column, Table};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Storage,
    /// A comparison of platforms as they are, limits included: a throttle may be what makes one slower.
    Compared,
    Carried,
}

/// Causes of BAD verdicts that are a limit of the platform itself.
pub(crate) const LIMITS: [&str; 3] = ["full", "confined", "io_limited"];

struct Rule {
    claim: Claim,
    says: &'static str,
    by: &'static str,
    /// Empty for the verdicts that the figure rests on.
    rests_on: &'static [Question],
    permits: &'static [&'static str],
    beside: &'static str,
}

const RULES: [Rule; 3] = [
    Rule {
        claim: Claim::Storage,
        says: "this is what the storage can do",
        by: "the page of a run, the index of runs, `slob compare --platforms`, the labels of other views",
        rests_on: &[],
        permits: &[],
        beside: "which verdict is BAD; the figure is marked or left out",
    },
    Rule {
        claim: Claim::Compared,
        says: "faster, slower, higher, lower; changed since; met; within limits; protects",
        by: "`slob compare`, `slob trend`, `slob gate`, `slob search`, the matrix of neighbours",
        rests_on: &[],
        permits: &LIMITS,
        beside: "the settings and limits that differ, the noise or the interval, and which run of a side is BAD",
    },
    Rule {
        claim: Claim::Carried,
        says: "carries N times; this run is a demand",
        by: "`slob search PROFILE`, campaigns with `demand`",
        rests_on: &CARRIED,
        permits: &[],
        beside: "what broke beyond, the steps that others spoiled, the figures of the demand that the test did not make; \
                 reads that are not physical count with `--count-cached` alone",
    },
];

/// A search looks for full CPUs and an uneven rate, and production has both: neither forbids a step.
pub const CARRIED: [Question; 2] = [Question::Accounted, Question::Complete];

impl Claim {
    fn rule(self) -> &'static Rule {
        RULES.iter().find(|rule| rule.claim == self).unwrap_or(&RULES[0])
    }

    /// A limit that only some runs had forbids the claim: their mean is of two platforms.
    pub(crate) fn is_forbidden_by(self, answer: Grade, cause: &str, of_all: bool) -> bool {
        answer == Grade::Bad && !(of_all && self.rule().permits.contains(&cause))
    }
}

pub fn markdown() -> String {
    let titles = |questions: &[Question]| questions.iter().map(|question| question.title()).join(", ");
    let row = |rule: &Rule| {
        let permits = match rule.permits.iter().map(|cause| format!("`{cause}`")).join(", ") {
            none if none.is_empty() => "nothing".to_owned(),
            causes => format!("{causes}, if all repeats have it"),
        };
        let forbidding = match rule.rests_on {
            [] => "those that the figure rests on".to_owned(),
            questions => titles(questions),
        };
        [rule.says.to_owned(), rule.by.to_owned(), forbidding, permits, rule.beside.to_owned()]
    };
    let columns = ["claim", "made by", "BAD verdicts that forbid it", "causes that do not", "said beside it"];
    let claims = Table::new(columns.map(Column::left)).with_rows(RULES.iter().map(row));
    let figures = || figure::ALL.iter().filter(|figure| !figure.rests_on.is_empty());
    let row = |questions: &[Question]| {
        let own = figures().filter(|figure| figure.rests_on == questions);
        [titles(questions), own.map(|figure| format!("`{}`", figure.name)).join(", ")]
    };
    let groups = figures().map(|figure| figure.rests_on).unique();
    let figures = Table::new(["verdicts", "figures that rest on them"].map(Column::left));
    let figures = figures.with_rows(groups.map(row));
    format!("{}\n{}", claims.markdown(), figures.markdown())
}

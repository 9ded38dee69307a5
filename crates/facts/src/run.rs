//! A run: its figures, and what they are worth.

use std::cell::OnceCell;
use std::ops::Deref;

use slob_record::Record;

use crate::claim::Claim;
use crate::figure::{Figure, Figures};
use crate::question::{Grade, Question};
use crate::verdicts::{Judged, Verdict, judge};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Sound,
    Invalid(Question),
}

#[derive(Debug)]
pub struct Run<'a> {
    figures: Figures<'a>,
    verdicts: OnceCell<[Verdict; 5]>,
    judged: OnceCell<Vec<Judged>>,
}

impl<'a> Deref for Run<'a> {
    type Target = Figures<'a>;

    fn deref(&self) -> &Figures<'a> {
        &self.figures
    }
}

impl<'a> Run<'a> {
    pub fn of(record: &'a Record) -> Self {
        Self { figures: Figures::of(record), verdicts: OnceCell::new(), judged: OnceCell::new() }
    }

    /// Needs no series, unless more than the brief verdicts is used.
    pub fn judged_before(record: &'a Record, verdicts: Vec<Judged>) -> Self {
        Self { judged: verdicts.into(), ..Self::of(record) }
    }

    pub fn verdicts(&self) -> &[Verdict; 5] {
        self.verdicts.get_or_init(|| judge(&self.figures))
    }

    pub fn judged(&self) -> &[Judged] {
        self.judged.get_or_init(|| self.verdicts().iter().map(Judged::from).collect())
    }

    /// Unknown if an earlier judgement lacks the question.
    pub fn answer(&self, question: Question) -> Grade {
        let judged = self.judged().iter().find(|judged| judged.question == question);
        judged.map_or(Grade::Unknown, |judged| judged.answer)
    }

    pub fn is_good(&self) -> bool {
        self.judged().iter().all(|judged| judged.answer == Grade::Good)
    }

    pub fn standing(&self, figure: &Figure, claim: Claim) -> Standing {
        let forbids = |judged: &&Judged| claim.is_forbidden_by(judged.answer, &judged.cause, true);
        let judged = |question: &Question| self.judged().iter().find(|judged| judged.question == *question);
        let bad = figure.rests_on.iter().filter_map(judged).find(forbids);
        bad.map_or(Standing::Sound, |judged| Standing::Invalid(judged.question))
    }
}

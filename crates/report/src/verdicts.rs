//! Five answers in plain words: what the figures of a run are worth.

mod accounted;
mod complete;
mod cpu_bound;
mod physical;
mod steady;

use slob_record::Record;

pub(crate) use self::accounted::{Rule, counter_pairs};
use crate::figure::Figures;

/// What is asked of every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// Did the physical reads reach the device?
    Physical,
    /// Do independent counters agree?
    Accounted,
    /// Was the CPU the limit instead of the storage?
    CpuBound,
    /// Was the load even over the window, and alone on the host?
    Steady,
    /// Did everything run as planned, on sound data?
    Complete,
}

impl Question {
    /// The question in a word or two.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Physical => "Physical?",
            Self::Accounted => "Accounted?",
            Self::CpuBound => "CPU-bound?",
            Self::Steady => "Steady?",
            Self::Complete => "Complete?",
        }
    }
}

/// What the answer means for the run's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// They can be relied on.
    Good,
    /// What would decide it is not known.
    Unknown,
    /// They need a second look.
    Doubt,
    /// They do not show what they seem to show.
    Bad,
}

impl Answer {
    /// The answer in a word, for tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "GOOD",
            Self::Unknown => "UNKNOWN",
            Self::Doubt => "DOUBT",
            Self::Bad => "BAD",
        }
    }
}

/// An answer with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was asked.
    pub question: Question,
    /// What came of it.
    pub answer: Answer,
    /// The answer in words, with the numbers it rests on.
    pub sentence: String,
    /// Further reasons and figures, a sentence each; may be empty.
    pub details: Vec<String>,
}

impl Verdict {
    fn new(question: Question, answer: Answer, sentence: impl Into<String>) -> Self {
        Self { question, answer, sentence: sentence.into(), details: Vec::new() }
    }

    fn unknown(question: Question, sentence: impl Into<String>) -> Self {
        Self::new(question, Answer::Unknown, sentence)
    }

    fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// `good` if nothing was found; else the worst finding (the first of equals) speaks and the others are details.
    fn worst_of(mut findings: Vec<Finding>, good: Self) -> Self {
        let Some(worst) = findings.iter().map(|finding| finding.answer).max() else { return good };
        let index = findings.iter().position(|finding| finding.answer == worst).unwrap_or_default();
        let speaker = findings.remove(index);
        let others = findings.into_iter().map(|finding| finding.sentence);
        let details = others.chain(good.details).collect();
        Self { question: good.question, answer: speaker.answer, sentence: speaker.sentence, details }
    }

    /// This verdict unless something was found beside it: then the worst finding speaks, and what would have been
    /// said remains as the first detail.
    fn qualified_by(mut self, findings: Vec<Finding>) -> Self {
        if !findings.is_empty() {
            self.details.insert(0, self.sentence.clone());
        }
        Self::worst_of(findings, self)
    }
}

/// One reason for a verdict other than good.
struct Finding {
    answer: Answer,
    sentence: String,
}

impl Finding {
    fn new(answer: Answer, sentence: impl Into<String>) -> Self {
        Self { answer, sentence: sentence.into() }
    }
}

/// The answers to all questions, in the order of [`Question`].
#[must_use]
pub fn verdicts(record: &Record) -> [Verdict; 5] {
    verdicts_by(&Figures::of(record))
}

/// The same for figures that are already there.
pub(crate) fn verdicts_by(figures: &Figures<'_>) -> [Verdict; 5] {
    [
        physical::judge(figures),
        accounted::judge(figures),
        cpu_bound::judge(figures),
        steady::judge(figures),
        complete::judge(figures.record),
    ]
}

/// Why there is nothing to say of a run without a window.
const NO_WINDOW: &str = "The run ended before its measured window: there is nothing to judge.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_speaks_and_nothing_is_lost() {
        let good = || Verdict::new(Question::Steady, Answer::Good, "fine").with_detail("detail");
        assert_eq!(Verdict::worst_of(vec![], good()), good());
        let findings = vec![
            Finding::new(Answer::Doubt, "first doubt"),
            Finding::new(Answer::Bad, "bad"),
            Finding::new(Answer::Doubt, "second doubt"),
        ];
        let verdict = Verdict::worst_of(findings, good());
        assert_eq!((verdict.answer, verdict.sentence.as_str()), (Answer::Bad, "bad"));
        assert_eq!(verdict.details, ["first doubt", "second doubt", "detail"]);
        assert_eq!(good().qualified_by(vec![]), good());
        let beside = good().qualified_by(vec![Finding::new(Answer::Doubt, "doubt")]);
        assert_eq!(
            (beside.sentence.as_str(), beside.details),
            ("doubt", vec!["fine".into(), "detail".into()])
        );
    }

    #[test]
    fn every_question_is_answered_in_order() {
        use Question::{Accounted, Complete, CpuBound, Physical, Steady};
        for record in [crate::fixture::direct_read_run(), crate::fixture::failed_run()] {
            let questions = verdicts(&record).map(|verdict| verdict.question);
            assert_eq!(questions, [Physical, Accounted, CpuBound, Steady, Complete]);
        }
    }
}

//! What the verdicts say of the window so far. Three questions only: nobody can tell before the end whether all counters agree
//! and whether the run is complete.

use slob_report::{Answer, Question};

use super::state::{RunState, Stage};

/// An answer that may still change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hint {
    pub(super) question: Question,
    pub(super) answer: Answer,
    pub(super) sentence: String,
}

const QUESTIONS: [Question; 3] = [Question::Physical, Question::CpuBound, Question::Steady];

/// The verdicts' own answers.
pub(super) fn hints(state: &RunState) -> [Hint; 3] {
    let too_early = match state.stage {
        Stage::Window => "Too early to tell.",
        _ => "The window has not begun.",
    };
    QUESTIONS.map(|question| match state.verdicts.iter().find(|verdict| verdict.question == question) {
        Some(verdict) => Hint { question, answer: verdict.answer, sentence: verdict.sentence() },
        None => Hint { question, answer: Answer::Unknown, sentence: too_early.to_owned() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::state::fixture::{self, RUN};
    use slob_record::Record;
    use slob_report::verdicts;

    #[test]
    fn nothing_is_said_before_the_window_and_too_early_in_it() {
        for (window_s, words) in [(0, "The window has not begun."), (3, "Too early to tell.")] {
            let hints = hints(&fixture::state(window_s, |_, second| second));
            assert!(
                hints.iter().all(|hint| hint.answer == Answer::Unknown && hint.sentence == words),
                "{hints:?}"
            );
        }
    }

    #[test]
    fn the_words_are_those_of_the_report() {
        let state = fixture::state(30, |_, second| second);
        for hint in hints(&state) {
            let verdict = state.verdicts.iter().find(|verdict| verdict.question == hint.question).unwrap();
            assert_eq!((hint.answer, hint.sentence), (verdict.answer, verdict.sentence()));
        }
    }

    /// Sessions tell of themselves when they end; until then their time is that of all operations.
    #[test]
    fn a_record_so_far_is_called_what_the_whole_one_is() {
        let whole: Record = serde_json::from_str(RUN).unwrap();
        let so_far = Record { sessions: Vec::new(), verification: None, ..whole.clone() };
        let named = |record: &Record| {
            let of_window =
                verdicts(record).into_iter().filter(|verdict| QUESTIONS.contains(&verdict.question));
            of_window
                .map(|verdict| (verdict.question, verdict.answer, verdict.sentence()))
                .collect::<Vec<_>>()
        };
        assert_eq!(named(&so_far), named(&whole));
    }
}

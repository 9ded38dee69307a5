//! The verdicts of runs that are compared: those of each run in brief, and of a group the worst answer to each question.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::claim::{Claim, LIMITS};
use crate::format::plural;
use crate::question::{Grade, Question};

/// A verdict in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    pub question: Question,
    pub answer: Grade,
    pub cause: String,
    pub sentence: String,
}

impl From<&Verdict> for Judged {
    fn from(verdict: &Verdict) -> Self {
        let Verdict { question, answer, .. } = *verdict;
        Self { question, answer, cause: verdict.finding.cause(), sentence: verdict.sentence() }
    }
}

/// The worst answer to a question in a group of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worst {
    pub question: Question,
    pub answer: Grade,
    pub cause: String,
    /// Runs with this answer.
    pub runs: usize,
    /// Runs that were judged.
    pub of: usize,
    /// The sentence of the first run with this answer. A limit of the platform speaks only if all have one.
    pub sentence: String,
}

impl Worst {
    pub fn cell(&self) -> String {
        match self.answer {
            Grade::Bad | Grade::Doubt if self.of > 1 => {
                format!("{} {}/{}", self.answer.word(), self.runs, self.of)
            }
            answer => answer.word().to_owned(),
        }
    }

    /// `Physical? of buffered is BAD (2 of 3 runs): No: ...`.
    pub fn words(&self, name: &str) -> String {
        let (title, answer) = (self.question.title(), self.answer.word());
        let runs = match self.of {
            1 => String::new(),
            of => format!(" ({} of {})", self.runs, plural(of as u64, "run")),
        };
        format!("{title} of {name} is {answer}{runs}: {}", self.sentence)
    }
}

/// The worst answers of a group, in the order of the questions; none if nothing judged its runs, as those of AWR reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct GroupVerdicts(Vec<Worst>);

impl GroupVerdicts {
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a [Judged]>) -> Self {
        let mut all: Vec<Worst> = Vec::new();
        let rank = |answer, cause: &str| (answer, !LIMITS.contains(&cause));
        for verdict in runs.into_iter().flatten() {
            let Judged { question, answer, ref cause, ref sentence } = *verdict;
            let Some(worst) = all.iter_mut().find(|worst| worst.question == question) else {
                let (cause, sentence) = (cause.clone(), sentence.clone());
                all.push(Worst { question, answer, cause, runs: 1, of: 1, sentence });
                continue;
            };
            worst.of += 1;
            worst.runs = match answer.cmp(&worst.answer) {
                Ordering::Less => worst.runs,
                Ordering::Equal => worst.runs + 1,
                Ordering::Greater => 1,
            };
            if rank(answer, cause) > rank(worst.answer, &worst.cause) {
                (worst.answer, worst.cause, worst.sentence) = (answer, cause.clone(), sentence.clone());
            }
        }
        Self(all)
    }

    /// True if every verdict of every run is good; false if nothing judged them.
    pub fn are_good(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|worst| worst.answer == Grade::Good)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn of_answer(&self, answer: Grade) -> impl Iterator<Item = &Worst> {
        self.0.iter().filter(move |worst| worst.answer == answer)
    }

    pub fn worst(&self, question: Question) -> Option<&Worst> {
        self.0.iter().find(|worst| worst.question == question)
    }

    /// The first answer that forbids a claim about figures that rest on these verdicts.
    pub fn against(&self, rests_on: &[Question], claim: Claim) -> Option<&Worst> {
        let mut worst = rests_on.iter().filter_map(|question| self.worst(*question));
        worst.find(|worst| claim.is_forbidden_by(worst.answer, &worst.cause, worst.runs == worst.of))
    }

    /// The worst answer with the questions that have it: `BAD: Physical?, Steady?`; `GOOD` if all are.
    pub fn in_short(&self) -> Option<String> {
        let worst = self.0.iter().map(|worst| worst.answer).max()?;
        let titles: Vec<&str> =
            self.0.iter().filter(|one| one.answer == worst).map(|one| one.question.title()).collect();
        Some(match worst {
            Grade::Good => worst.word().to_owned(),
            _ => format!("{}: {}", worst.word(), titles.join(", ")),
        })
    }
}

/// Why a figure of these groups can't be compared: the BAD verdicts that it rests on, of each group by its name.
pub fn refusal(groups: &[(&str, &GroupVerdicts)], rests_on: &[Question]) -> Option<String> {
    let against =
        |verdicts: &GroupVerdicts, name: &str| Some(verdicts.against(rests_on, Claim::Compared)?.words(name));
    let bad = groups.iter().filter_map(|(name, verdicts)| against(verdicts, name));
    let bad: Vec<String> = bad.collect();
    (!bad.is_empty()).then(|| bad.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Run, figure};
    use slob_testing::records;

    #[test]
    fn a_group_is_as_good_as_its_worst_run() {
        let [sound, cached] = [records::direct_read_run(), records::page_cache_run()];
        let [sound, cached] = [&sound, &cached].map(|record| Run::of(record).judged().to_vec());
        let of = |runs: &[&Vec<Judged>]| GroupVerdicts::of(runs.iter().map(|run| run.as_slice()));
        let mixed = of(&[&sound, &cached, &cached]);
        let bad = mixed.against(figure::PHYSICAL_READS_PER_S.rests_on, Claim::Storage).unwrap();
        assert_eq!((bad.question, bad.runs, bad.of), (Question::Physical, 2, 3));
        assert!(mixed.in_short().unwrap().starts_with("BAD: Physical?"));
        assert!(mixed.against(figure::DEVICE_WRITES_PER_S.rests_on, Claim::Storage).is_none());
        assert!(of(&[&sound, &sound]).are_good() && !mixed.are_good() && !of(&[]).are_good());
        let words =
            refusal(&[("a", &of(&[&sound])), ("b", &mixed)], figure::PHYSICAL_READS_PER_S.rests_on).unwrap();
        assert!(words.starts_with("Physical? of b is BAD (2 of 3 runs): No: your OS page cache"), "{words}");
    }

    /// A group behind a throttle was left out of every comparison, and 'it is 95 % slower' was nowhere.
    #[test]
    fn a_limit_of_the_platform_forbids_no_comparison() {
        let judged = |cause: &str| Judged {
            question: Question::CpuToSpare,
            answer: Grade::Bad,
            cause: cause.into(),
            sentence: cause.into(),
        };
        let [limited, client] = ["io_limited", "client_side_full"].map(|cause| [judged(cause)]);
        let reads = figure::PHYSICAL_READS_PER_S.rests_on;
        let of = |runs: &[&[Judged; 1]]| GroupVerdicts::of(runs.iter().map(|run| run.as_slice()));
        let throttled = of(&[&limited, &limited]);
        assert!(throttled.against(reads, Claim::Storage).is_some());
        assert_eq!(refusal(&[("b", &throttled)], reads), None);
        let free = [Judged { answer: Grade::Good, ..judged("free") }];
        assert!(refusal(&[("b", &of(&[&limited, &free]))], reads).is_some(), "a mean of two platforms");
        for mixed in [of(&[&limited, &client]), of(&[&client, &limited])] {
            let worst = mixed.against(reads, Claim::Compared).unwrap();
            assert_eq!((worst.cause.as_str(), worst.runs, worst.of), ("client_side_full", 2, 2));
        }
    }
}

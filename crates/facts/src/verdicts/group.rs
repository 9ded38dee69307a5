//! The verdicts of compared runs, and the worst answers of a group.

use std::cmp::Ordering;

use itertools::Itertools;
use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::claim::{Claim, LIMITS};
use crate::format::plural;
use crate::question::{Grade, Question};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    pub question: Question,
    pub answer: Grade,
    pub cause: String,
    pub sentence: String,
}

impl Judged {
    /// `Complete? is BAD: No: ...`, without a full stop.
    pub fn words(&self) -> String {
        let sentence = self.sentence.trim_end_matches('.');
        format!("{} is {}: {sentence}", self.question.title(), self.answer.word())
    }
}

impl From<&Verdict> for Judged {
    fn from(verdict: &Verdict) -> Self {
        let Verdict { question, answer, .. } = *verdict;
        Self { question, answer, cause: verdict.finding.cause(), sentence: verdict.sentence() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worst {
    pub question: Question,
    pub answer: Grade,
    pub cause: String,
    pub runs: usize,
    pub of: usize,
    /// Empty unless the answer is BAD.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// A limit of the platform speaks only if all runs with this answer have one.
    pub sentence: String,
    #[serde(skip)]
    is_of_all: bool,
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

    /// `Physical? of buffered is BAD (1 of 3 runs: 20261121T010000Z-b): No: ...`
    pub fn words(&self, name: &str) -> String {
        const MOST: usize = 3;
        let (title, answer) = (self.question.title(), self.answer.word());
        let which = match self.ids.get(..MOST).filter(|_| self.ids.len() > MOST) {
            _ if self.runs == self.of || self.ids.is_empty() => String::new(),
            Some(first) => format!(": {} and {} more", first.join(", "), self.ids.len() - MOST),
            None => format!(": {}", self.ids.join(", ")),
        };
        let runs = match self.of {
            1 => String::new(),
            of => format!(" ({} of {}{which})", self.runs, plural(of as u64, "run")),
        };
        format!("{title} of {name} is {answer}{runs}: {}", self.sentence)
    }
}

/// An answer that is no limit of the platform comes before an equal one that is.
fn rank(answer: Grade, cause: &str) -> (Grade, bool) {
    (answer, !LIMITS.contains(&cause))
}

/// In the order of the questions; empty if nothing judged the runs, as AWR reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct GroupVerdicts(Vec<Worst>);

impl GroupVerdicts {
    pub fn of<'a>(runs: impl IntoIterator<Item = (&'a str, &'a [Judged])>) -> Self {
        let mut all: Vec<Worst> = Vec::new();
        let judged = runs.into_iter().flat_map(|(id, judged)| judged.iter().map(move |one| (id, one)));
        for (id, verdict) in judged {
            let Judged { question, answer, ref cause, ref sentence } = *verdict;
            let ids = || Vec::from_iter((answer == Grade::Bad).then(|| id.to_owned()));
            let Some(worst) = all.iter_mut().find(|worst| worst.question == question) else {
                let (cause, sentence) = (cause.clone(), sentence.clone());
                let ids = ids();
                all.push(Worst { question, answer, cause, runs: 1, of: 1, ids, sentence, is_of_all: true });
                continue;
            };
            worst.of += 1;
            match answer.cmp(&worst.answer) {
                Ordering::Less => {}
                Ordering::Equal => {
                    worst.runs += 1;
                    worst.ids.append(&mut ids());
                }
                Ordering::Greater => (worst.runs, worst.ids) = (1, ids()),
            }
            if rank(answer, cause) > rank(worst.answer, &worst.cause) {
                (worst.answer, worst.cause, worst.sentence) = (answer, cause.clone(), sentence.clone());
            }
        }
        all.iter_mut().for_each(|worst| worst.is_of_all = worst.runs == worst.of);
        Self(all)
    }

    pub fn joined(groups: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Worst> = Vec::new();
        for mut next in groups.into_iter().flat_map(|group| group.0) {
            let Some(worst) = all.iter_mut().find(|worst| worst.question == next.question) else {
                all.push(next);
                continue;
            };
            let of = worst.of + next.of;
            match next.answer.cmp(&worst.answer) {
                Ordering::Less => {}
                Ordering::Equal => {
                    worst.runs += next.runs;
                    worst.ids.append(&mut next.ids);
                    worst.is_of_all &= next.is_of_all;
                    if rank(next.answer, &next.cause) > rank(worst.answer, &worst.cause) {
                        (worst.cause, worst.sentence) = (next.cause, next.sentence);
                    }
                }
                Ordering::Greater => *worst = next,
            }
            worst.of = of;
        }
        Self(all)
    }

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

    pub fn against(&self, rests_on: &[Question], claim: Claim) -> Option<&Worst> {
        self.all_against(rests_on, claim).next()
    }

    pub fn all_against(&self, rests_on: &[Question], claim: Claim) -> impl Iterator<Item = &Worst> {
        let worst = rests_on.iter().filter_map(|question| self.worst(*question));
        worst.filter(move |worst| claim.is_forbidden_by(worst.answer, &worst.cause, worst.is_of_all))
    }

    /// `BAD: Physical?, Steady?`; `GOOD` if all are.
    pub fn in_short(&self) -> Option<String> {
        let worst = self.0.iter().map(|worst| worst.answer).max()?;
        let titles =
            self.0.iter().filter(|one| one.answer == worst).map(|one| one.question.title()).join(", ");
        Some(match worst {
            Grade::Good => worst.word().to_owned(),
            _ => format!("{}: {titles}", worst.word()),
        })
    }
}

pub fn refusal(groups: &[(&str, &GroupVerdicts)], rests_on: &[Question]) -> Option<String> {
    let mut against = groups
        .iter()
        .filter_map(|(name, verdicts)| Some(verdicts.against(rests_on, Claim::Compared)?.words(name)));
    Some(against.join(" ")).filter(|bad| !bad.is_empty())
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
        let of = |runs: &[&Vec<Judged>]| GroupVerdicts::of(runs.iter().map(|run| ("r", run.as_slice())));
        let mixed = of(&[&sound, &cached, &cached]);
        let bad = mixed.against(figure::PHYSICAL_READS_PER_S.rests_on, Claim::Storage).unwrap();
        assert_eq!((bad.question, bad.runs, bad.of), (Question::Physical, 2, 3));
        assert!(mixed.in_short().unwrap().starts_with("BAD: Physical?"));
        assert!(mixed.against(figure::DEVICE_WRITES_PER_S.rests_on, Claim::Storage).is_none());
        assert!(of(&[&sound, &sound]).are_good() && !mixed.are_good() && !of(&[]).are_good());
        let words =
            refusal(&[("a", &of(&[&sound])), ("b", &mixed)], figure::PHYSICAL_READS_PER_S.rests_on).unwrap();
        assert!(words.contains("of b is BAD (2 of 3 runs: r, r): No: your OS page cache"), "{words}");
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
        let of = |runs: &[&[Judged; 1]]| GroupVerdicts::of(runs.iter().map(|run| ("r", run.as_slice())));
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

    /// A sweep whose last step filled the CPUs was compared at no number of sessions.
    #[test]
    fn a_limit_that_all_repeats_of_a_step_have_forbids_no_comparison() {
        let judged = |answer, cause: &str| {
            let (cause, sentence) = (cause.to_owned(), cause.to_owned());
            [Judged { question: Question::CpuToSpare, answer, cause, sentence }]
        };
        let [full, free] = [judged(Grade::Bad, "full"), judged(Grade::Good, "free")];
        let step = |runs: [&[Judged; 1]; 2]| GroupVerdicts::of(runs.map(|run| ("r", run.as_slice())));
        let [few, many, mixed] = [[&free, &free], [&full, &full], [&free, &full]].map(step);
        let against = |steps: [&GroupVerdicts; 2]| {
            let joined = GroupVerdicts::joined(steps.map(Clone::clone));
            let worst = joined.worst(Question::CpuToSpare).unwrap();
            let (runs, of) = (worst.runs, worst.of);
            (runs, of, joined.against(&Question::ALL, Claim::Compared).is_some())
        };
        assert_eq!(against([&few, &many]), (2, 4, false));
        assert_eq!(against([&many, &few]), (2, 4, false));
        assert_eq!(against([&many, &mixed]), (3, 4, true));
        assert_eq!(against([&mixed, &few]), (1, 4, true));
    }

    #[test]
    fn bad_runs_are_named_unless_all_are_bad() {
        let judged = |answer: Grade| {
            let (cause, sentence) = (String::new(), "why".to_owned());
            [Judged { question: Question::Steady, answer, cause, sentence }]
        };
        let [good, bad] = [Grade::Good, Grade::Bad].map(judged);
        let words = |bads: usize| {
            let ids: Vec<String> = (0..6).map(|run| format!("r{run}")).collect();
            let run = |(at, id): (usize, &'_ String)| (id.clone(), if at < bads { &bad } else { &good });
            let runs: Vec<_> = ids.iter().enumerate().map(run).collect();
            let all = GroupVerdicts::of(runs.iter().map(|(id, judged)| (id.as_str(), judged.as_slice())));
            all.worst(Question::Steady).unwrap().words("b")
        };
        assert!(words(1).ends_with("of b is BAD (1 of 6 runs: r0): why"), "{}", words(1));
        assert!(words(5).ends_with("of b is BAD (5 of 6 runs: r0, r1, r2 and 2 more): why"), "{}", words(5));
        assert!(words(6).ends_with("of b is BAD (6 of 6 runs): why"), "{}", words(6));
    }
}

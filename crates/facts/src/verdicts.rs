//! Five answers for each run: what its figures are worth. A [`Finding`] holds measured numbers; its sentence is made last.

mod accounted;
mod complete;
mod cpu_to_spare;
mod group;
mod physical;
mod steady;

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};
use slob_measure::Counter;
use slob_record::Record;

pub use self::accounted::{AccountedFinding, Pair};
pub use self::accounted::{Rule, counter_pairs};
pub use self::complete::CompleteFinding;
pub use self::cpu_to_spare::{ConfinedServer, CpuFinding, DeviceLoad, IoLimit, SessionsCpu};
pub use self::group::{GroupVerdicts, Judged, Worst, refusal};
pub use self::physical::{Hits, PhysicalFinding, Witness, Writes};
pub use self::steady::SteadyFinding;
use crate::figure::Figures;
use crate::question::{Grade, Question};
use crate::thresholds::{SPOILED, Threshold};

#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub question: Question,
    pub answer: Grade,
    pub finding: Finding,
    pub others: Vec<Finding>,
}

impl Verdict {
    fn new<F>(question: Question, of: fn(F) -> Finding, findings: Vec<F>) -> Self {
        let mut findings = findings.into_iter().map(of);
        let finding = findings.next().unwrap_or(Finding::Any(AnyFinding::NoWindow));
        Self { question, answer: finding.judgement().answer(), finding, others: findings.collect() }
    }

    pub fn sentence(&self) -> String {
        self.finding.sentence()
    }

    pub fn details(&self) -> Vec<String> {
        let of_other = |other: &Finding| std::iter::once(other.sentence()).chain(other.judgement().details());
        self.finding.judgement().details().chain(self.others.iter().flat_map(of_other)).collect()
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = self.finding.json();
        json["question"] = json!(self.question);
        json["answer"] = json!(self.answer);
        json["others"] = self.others.iter().map(Finding::json).collect();
        json.serialize(serializer)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Finding {
    Any(AnyFinding),
    Physical(PhysicalFinding),
    Accounted(AccountedFinding),
    CpuToSpare(CpuFinding),
    Steady(SteadyFinding),
    Complete(CompleteFinding),
}

impl Finding {
    fn judgement(&self) -> Judgement {
        match self {
            Self::Any(finding) => finding.judgement(),
            Self::Physical(finding) => finding.judgement(),
            Self::Accounted(finding) => finding.judgement(),
            Self::CpuToSpare(finding) => finding.judgement(),
            Self::Steady(finding) => finding.judgement(),
            Self::Complete(finding) => finding.judgement(),
        }
    }

    pub fn sentence(&self) -> String {
        self.judgement().sentence()
    }

    pub fn threshold(&self) -> Option<&'static Threshold> {
        self.judgement().threshold
    }

    pub fn remedy(&self) -> Option<Cow<'static, str>> {
        self.judgement().remedy
    }

    /// True for an observation that changes how the figures of a run are read.
    pub fn is_caution(&self) -> bool {
        matches!(
            self,
            Self::Steady(SteadyFinding::NotSettled { .. })
                | Self::CpuToSpare(CpuFinding::ProbeLimited { .. })
        )
    }

    pub fn cause(&self) -> String {
        self.json()["cause"].as_str().unwrap_or_default().to_owned()
    }

    fn json(&self) -> Json {
        let mut json = json!(self);
        json["sentence"] = json!(self.sentence());
        json["remedy"] = json!(self.remedy());
        json["threshold"] = json!(self.threshold().map(|threshold| threshold.name));
        json
    }
}

/// A sentence continues its grade's opening; that of an observation is whole.
macro_rules! findings {
    ($findings:ident {$(
        $(#[$about:meta])*
        $cause:ident $({ $($number:ident: $type:ty),* $(,)? })? =
            $judgement:expr => $sentence:literal $(, $word:expr)* $(,)?;
    )*}) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "cause", content = "numbers", rename_all = "snake_case")]
        pub enum $findings {$(
            $(#[$about])*
            $cause $({ $($number: $type),* })?,
        )*}

        impl $findings {
            // Not every sentence shows every number.
            #[allow(unused_variables)]
            pub(in crate::verdicts) fn judgement(&self) -> crate::verdicts::Judgement {
                match self {$(
                    Self::$cause $({ $($number),* })? => $judgement.with(format!($sentence $(, $word)*)),
                )*}
            }
        }
    };
}
use findings;

const COUNTERS_MISSING: &str = "the database's counters of this window are missing: the server was restarted, its statistics were \
     reset, or it did not answer; the notes say more";

findings! {
    AnyFinding {
        NoWindow = UNKNOWN => "the run ended before its measured window.";
    }
}

fn worst_first<F>(mut findings: Vec<F>, judgement: fn(&F) -> Judgement) -> Vec<F> {
    let answer = |finding: &F| judgement(finding).answer();
    let worst = findings.iter().map(answer).max();
    if let Some(index) = findings.iter().position(|finding| Some(answer(finding)) == worst) {
        let speaker = findings.remove(index);
        findings.insert(0, speaker);
    }
    findings
}

struct Judgement {
    /// `None` for an observation, which decides nothing.
    answer: Option<Grade>,
    threshold: Option<&'static Threshold>,
    sentence: String,
    detail: Option<String>,
    remedy: Option<Cow<'static, str>>,
    /// True if the sentence ends with the remedy.
    remedy_in_sentence: bool,
}

const GOOD: Judgement = Judgement::new(Some(Grade::Good));
const UNKNOWN: Judgement = Judgement::new(Some(Grade::Unknown));
const DOUBT: Judgement = Judgement::new(Some(Grade::Doubt));
const BAD: Judgement = Judgement::new(Some(Grade::Bad));
const OBSERVATION: Judgement = Judgement::new(None);

fn bad_if(is_bad: bool, bad: &'static Threshold, doubt: &'static Threshold) -> Judgement {
    if is_bad { BAD.by(bad) } else { DOUBT.by(doubt) }
}

impl Judgement {
    const fn new(answer: Option<Grade>) -> Self {
        let sentence = String::new();
        Self { answer, threshold: None, sentence, detail: None, remedy: None, remedy_in_sentence: false }
    }

    fn by(self, threshold: &'static Threshold) -> Self {
        Self { threshold: Some(threshold), ..self }
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    fn remedy(self, remedy: impl Into<Option<&'static str>>) -> Self {
        Self { remedy: remedy.into().map(Cow::Borrowed), ..self }
    }

    /// The record's remedy for its own platform replaces the general one.
    fn own_remedy(self, remedy: Option<&String>) -> Self {
        Self { remedy: remedy.map(|remedy| Cow::Owned(remedy.clone())).or(self.remedy), ..self }
    }

    fn advice(self, remedy: &'static str) -> Self {
        Self { remedy_in_sentence: true, ..self.remedy(remedy) }
    }

    fn with(self, sentence: String) -> Self {
        Self { sentence, ..self }
    }

    fn answer(&self) -> Grade {
        self.answer.unwrap_or(Grade::Good)
    }

    fn sentence(&self) -> String {
        let words = match self.answer {
            Some(grade) => format!("{}: {}", grade.opening(), self.sentence),
            None => self.sentence.clone(),
        };
        match self.remedy.as_ref().filter(|_| self.remedy_in_sentence) {
            Some(remedy) => format!("{words} {remedy}"),
            None => words,
        }
    }

    fn details(self) -> impl Iterator<Item = String> {
        let apart = self.remedy.filter(|_| !self.remedy_in_sentence);
        self.detail.into_iter().chain(apart.map(Cow::into_owned))
    }
}

pub fn verdicts(record: &Record) -> [Verdict; 5] {
    judge(&Figures::of(record))
}

pub fn judge(figures: &Figures<'_>) -> [Verdict; 5] {
    let complete = Verdict::new(Question::Complete, Finding::Complete, complete::judge(figures.record));
    if !figures.is_measured() {
        let unknown = |question| Verdict::new(question, Finding::Any, vec![AnyFinding::NoWindow]);
        let [physical, accounted, cpu_to_spare, steady, _] = Question::ALL.map(unknown);
        return [physical, accounted, cpu_to_spare, steady, complete];
    }
    [
        Verdict::new(Question::Physical, Finding::Physical, physical::judge(figures)),
        Verdict::new(Question::Accounted, Finding::Accounted, accounted::judge(figures)),
        Verdict::new(Question::CpuToSpare, Finding::CpuToSpare, cpu_to_spare::judge(figures)),
        Verdict::new(Question::Steady, Finding::Steady, steady::judge(figures)),
        complete,
    ]
}

pub fn spoiled_by_others(record: &Record, verdicts: &[Verdict]) -> Option<String> {
    let is_others = |finding: &&Finding| match finding {
        Finding::CpuToSpare(CpuFinding::Others { .. }) => true,
        Finding::Steady(SteadyFinding::ForeignReads { percent, .. }) => percent.0 >= SPOILED.value,
        _ => false,
    };
    let findings =
        || verdicts.iter().flat_map(|verdict| std::iter::once(&verdict.finding).chain(&verdict.others));
    let others = findings().find(is_others).map(Finding::sentence);
    // A database that checkpoints all the time does so in each window.
    let lone_checkpoint = record.counters.get(Counter::Checkpoints) == Some(1);
    others.or(lone_checkpoint.then(|| "One checkpoint ended in this window.".to_owned()))
}

#[cfg(test)]
mod tests;

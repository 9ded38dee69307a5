//! Five answers for each run: what its figures are worth. An answer rests on a [`Finding`], which holds the measured numbers;
//! its sentence is made from them last.

mod accounted;
mod complete;
mod cpu_bound;
mod physical;
mod steady;
pub mod thresholds;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value as Json, json};
use slob_record::Record;

pub use self::accounted::{AccountedFinding, Pair};
pub(crate) use self::accounted::{Rule, counter_pairs};
pub use self::complete::CompleteFinding;
pub use self::cpu_bound::{ConfinedServer, CpuFinding, DeviceLoad};
pub use self::physical::{Hits, PhysicalFinding, Witness, Writes};
pub use self::steady::SteadyFinding;
use self::thresholds::Threshold;
use crate::figure::Figures;

/// A question about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// All questions in the order of the report.
    pub const ALL: [Self; 5] =
        [Self::Physical, Self::Accounted, Self::CpuBound, Self::Steady, Self::Complete];

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

/// The meaning of a verdict for the run's figures, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Answer {
    /// They can be relied on.
    Good,
    /// The deciding quantities were not measured.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The question.
    pub question: Question,
    /// The answer.
    pub answer: Answer,
    /// The finding that decided.
    pub finding: Finding,
    /// Further findings, in the order of their weight.
    pub others: Vec<Finding>,
}

impl Verdict {
    /// The first finding decides.
    fn new<F: Into<Finding>>(question: Question, findings: Vec<F>) -> Self {
        let mut findings = findings.into_iter().map(Into::into);
        let finding = findings.next().unwrap_or(Finding::NoWindow);
        let answer = finding.judgement().answer.unwrap_or(Answer::Good);
        Self { question, answer, finding, others: findings.collect() }
    }

    /// The answer in words, with the numbers that it rests on.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.finding.sentence()
    }

    /// Further reasons, remedies and numbers, a sentence each.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        let own = self.finding.judgement().into_sentences().into_iter().skip(1);
        let others = self.others.iter().flat_map(|other| other.judgement().into_sentences());
        own.chain(others).collect()
    }
}

/// As an object: question, answer, the deciding finding's fields, and the others.
impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = self.finding.json();
        json["question"] = json!(self.question);
        json["answer"] = json!(self.answer);
        json["others"] = self.others.iter().map(Finding::json).collect();
        json.serialize(serializer)
    }
}

/// A reason for an answer, with the numbers that were measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The run ended before its window.
    NoWindow,
    /// About 'Physical?'.
    Physical(PhysicalFinding),
    /// About 'Accounted?'.
    Accounted(AccountedFinding),
    /// About 'CPU-bound?'.
    CpuBound(CpuFinding),
    /// About 'Steady?'.
    Steady(SteadyFinding),
    /// About 'Complete?'.
    Complete(CompleteFinding),
}

impl Finding {
    fn judgement(&self) -> Judgement {
        match self {
            Self::NoWindow => {
                Judgement::unknown("The run ended before its measured window: there is nothing to judge.")
            }
            Self::Physical(finding) => finding.judgement(),
            Self::Accounted(finding) => finding.judgement(),
            Self::CpuBound(finding) => finding.judgement(),
            Self::Steady(finding) => finding.judgement(),
            Self::Complete(finding) => finding.judgement(),
        }
    }

    /// The finding in words.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.judgement().into_sentences().swap_remove(0)
    }

    /// The threshold that it passed, if there is one.
    #[must_use]
    pub fn threshold(&self) -> Option<&'static Threshold> {
        self.judgement().threshold
    }

    /// What helps against it, if anything is known.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        self.judgement().remedy.map(|remedy| remedy.text)
    }

    /// Stable name for machines.
    #[must_use]
    pub fn cause(&self) -> String {
        self.json()["cause"].as_str().unwrap_or_default().to_owned()
    }

    /// As an object: the cause, its numbers, the threshold, and the words.
    fn json(&self) -> Json {
        let cause_and_numbers = match self {
            Self::NoWindow => Ok(json!({ "cause": "no_window" })),
            Self::Physical(finding) => serde_json::to_value(finding),
            Self::Accounted(finding) => serde_json::to_value(finding),
            Self::CpuBound(finding) => serde_json::to_value(finding),
            Self::Steady(finding) => serde_json::to_value(finding),
            Self::Complete(finding) => serde_json::to_value(finding),
        };
        // No finding has a key that is not a text, or a type that fails.
        let mut json = cause_and_numbers.unwrap_or_default();
        json["sentence"] = json!(self.sentence());
        json["remedy"] = json!(self.remedy());
        json["threshold"] = json!(self.threshold().map(|threshold| threshold.name));
        json
    }
}

macro_rules! findings {
    ($($question:ident($finding:ty)),*) => {$(
        impl From<$finding> for Finding {
            fn from(finding: $finding) -> Self {
                Self::$question(finding)
            }
        }

        impl Judge for $finding {
            fn answer(&self) -> Answer {
                self.judgement().answer.unwrap_or(Answer::Good)
            }
        }
    )*};
}

findings! {
    Physical(PhysicalFinding), Accounted(AccountedFinding), CpuBound(CpuFinding), Steady(SteadyFinding),
    Complete(CompleteFinding)
}

/// A finding about one question.
trait Judge {
    fn answer(&self) -> Answer;
}

/// The findings with the worst one first, the first of equals.
fn worst_first<F: Judge>(mut findings: Vec<F>) -> Vec<F> {
    let worst = findings.iter().map(Judge::answer).max();
    if let Some(index) = findings.iter().position(|finding| Some(finding.answer()) == worst) {
        let speaker = findings.remove(index);
        findings.insert(0, speaker);
    }
    findings
}

/// The meaning of a finding, and its words.
struct Judgement {
    /// `None` for an observation, which decides nothing.
    answer: Option<Answer>,
    sentence: String,
    detail: Option<String>,
    remedy: Option<Remedy>,
    threshold: Option<&'static Threshold>,
}

#[derive(Clone, Copy)]
struct Remedy {
    text: &'static str,
    /// True if the sentence ends with it.
    in_sentence: bool,
}

impl Judgement {
    fn new(answer: impl Into<Option<Answer>>, sentence: impl Into<String>) -> Self {
        let (answer, sentence) = (answer.into(), sentence.into());
        Self { answer, sentence, detail: None, remedy: None, threshold: None }
    }

    fn good(sentence: impl Into<String>) -> Self {
        Self::new(Answer::Good, sentence)
    }

    fn unknown(sentence: impl Into<String>) -> Self {
        Self::new(Answer::Unknown, sentence)
    }

    fn doubt(sentence: impl Into<String>) -> Self {
        Self::new(Answer::Doubt, sentence)
    }

    fn bad(sentence: impl Into<String>) -> Self {
        Self::new(Answer::Bad, sentence)
    }

    /// BAD if the finding is serious, else DOUBT.
    fn bad_if(is_bad: bool, sentence: impl Into<String>) -> Self {
        Self::new(if is_bad { Answer::Bad } else { Answer::Doubt }, sentence)
    }

    fn observation(sentence: impl Into<String>) -> Self {
        Self::new(None, sentence)
    }

    fn by(self, threshold: &'static Threshold) -> Self {
        Self { threshold: Some(threshold), ..self }
    }

    fn detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    fn remedy(self, text: &'static str) -> Self {
        Self { remedy: Some(Remedy { text, in_sentence: false }), ..self }
    }

    /// A remedy that ends the sentence.
    fn advice(self, text: &'static str) -> Self {
        Self { remedy: Some(Remedy { text, in_sentence: true }), ..self }
    }

    /// The sentence, and then the detail and the remedy.
    fn into_sentences(self) -> Vec<String> {
        let (mut sentence, remedy) = (self.sentence, self.remedy);
        if let Some(remedy) = remedy.filter(|remedy| remedy.in_sentence) {
            sentence = format!("{sentence} {}", remedy.text);
        }
        let apart = remedy.filter(|remedy| !remedy.in_sentence).map(|remedy| remedy.text.to_owned());
        std::iter::once(sentence).chain(self.detail).chain(apart).collect()
    }
}

/// The answers to all questions about a record, in the order of [`Question`].
#[must_use]
pub fn verdicts(record: &Record) -> [Verdict; 5] {
    judge(&Figures::of(record))
}

pub(crate) fn judge(figures: &Figures<'_>) -> [Verdict; 5] {
    let complete = Verdict::new(Question::Complete, complete::judge(figures.record));
    if !figures.is_measured() {
        let unknown = |question| Verdict::new(question, vec![Finding::NoWindow]);
        let [physical, accounted, cpu_bound, steady, _] = Question::ALL.map(unknown);
        return [physical, accounted, cpu_bound, steady, complete];
    }
    [
        Verdict::new(Question::Physical, physical::judge(figures)),
        Verdict::new(Question::Accounted, accounted::judge(figures)),
        Verdict::new(Question::CpuBound, cpu_bound::judge(figures)),
        Verdict::new(Question::Steady, steady::judge(figures)),
        complete,
    ]
}

#[cfg(test)]
mod tests;

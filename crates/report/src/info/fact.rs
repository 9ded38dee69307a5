//! What is known of a run in words.

use jiff::Timestamp;
use slob_record::Status;

use super::column::Fact;
use crate::figure::Figures;
use crate::timed::timed_events;
use crate::verdicts::{Question, verdicts_by};

/// Defines facts and the list of them: name, source, and how each is got.
macro_rules! facts {
    ($(#[$doc:meta])* $list:ident, needs_series: $series:literal:
        $($fact:ident = $name:literal, $source:literal, $get:expr;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $source, ".")]
            pub const $fact: Fact = Fact { name: $name, source: $source, needs_series: $series, get: $get };
        )*
        $(#[$doc])* pub(super) const $list: &[Fact] = &[$($fact),*];
    };
}

facts! {
    /// What was run, on what.
    RUN, needs_series: false:
    ID = "id", "the run's folder", |figures| Some(figures.record.id.clone());
    NAME = "name", "RUN_NAME", |figures| Some(figures.record.name.clone());
    STATUS = "status", "completed, interrupted or failed", |figures| Some(status_word(&figures.record.status).into());
    STARTED = "started", "when the sessions were started (UTC)", |figures| Some(second(figures.record.started));
    ENDED = "ended", "when they had all stopped (UTC)", |figures| Some(second(figures.record.ended));
    TARGET = "target", "TARGET, without a password", |figures| Some(figures.record.target.clone());
    PRODUCT = "product", "the server's product", |figures| Some(figures.record.server.product.clone());
    VERSION = "version", "the server's version", |figures| Some(figures.record.server.version.clone());
    SLOB_VERSION = "slob_version", "the release that ran the test", |figures| Some(figures.record.slob_version.clone());
    HOST = "host", "the host's name", |figures| Some(figures.record.host.as_ref()?.info.hostname.clone());
    DEVICE = "device", "the block device behind the data", |figures| {
        let device = figures.record.host.as_ref()?.device.as_ref()?;
        Some(device.device.top.as_ref()?.name.clone())
    };
    FILE_SYSTEM = "file_system", "the file system of the data", |figures| {
        Some(figures.record.host.as_ref()?.device.as_ref()?.device.file_system.clone())
    };
    REDO_STRESS = "redo_stress", "REDO_STRESS", |figures| Some(figures.record.workload.redo_stress.clone());
}

facts! {
    /// What came of it.
    WAITS, needs_series: false:
    TOP_WAIT = "top_wait", "what took most of DB time: the first of the top timed events",
        |figures| timed_events(figures).into_iter().next().map(|event| event.name);
}

facts! {
    /// What the figures are worth.
    VERDICTS, needs_series: true:
    PHYSICAL = "physical", "the verdict 'Physical?'", |figures| answer(figures, Question::Physical);
    ACCOUNTED = "accounted", "the verdict 'Accounted?'", |figures| answer(figures, Question::Accounted);
    CPU_BOUND = "cpu_bound", "the verdict 'CPU-bound?'", |figures| answer(figures, Question::CpuBound);
    STEADY = "steady", "the verdict 'Steady?'", |figures| answer(figures, Question::Steady);
    COMPLETE = "complete", "the verdict 'Complete?'", |figures| answer(figures, Question::Complete);
}

fn answer(figures: &Figures<'_>, question: Question) -> Option<String> {
    let verdicts = verdicts_by(figures);
    let verdict = verdicts.iter().find(|verdict| verdict.question == question)?;
    Some(verdict.answer.word().to_owned())
}

/// A moment to the second, in UTC, as in a run's id but for people.
fn second(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// How a run ended, in a word.
#[must_use]
pub fn status_word(status: &Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Interrupted => "interrupted",
        Status::Failed { .. } => "failed",
    }
}

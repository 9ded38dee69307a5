//! A run at so many times a demand.

use serde::Serialize;
use slob_profile::{Bucket, Figures, Histograms};
use slob_record::Record;

use crate::analysis::CurvePoint;
use crate::format::percent;
use crate::verdicts::{Answer, Question, verdicts};

/// A rate of which less than this is done is not kept, in percent.
const KEPT_PERCENT: f64 = 95.0;

/// What a step came to.
#[derive(Clone, Debug, Serialize)]
pub struct HeadroomStep {
    /// How many times the demand.
    pub factor: f64,
    /// The run's id.
    pub run: String,
    /// Operations per second that were to start.
    pub rate: u32,
    /// Sessions.
    pub sessions: u32,
    /// How much of the rate was done, in percent.
    pub kept_percent: f64,
    /// What the platform did.
    pub figures: Figures,
    /// Histograms of its waits, where it measures them.
    #[serde(skip)]
    pub histograms: Histograms,
    /// The limit that broke, in words; absent if it held.
    pub broke: Option<String>,
    /// Why it proves nothing, if so.
    pub not_counted: Option<String>,
    /// What held it back, in a sentence.
    pub reason: String,
    /// Question, answer and sentence of each verdict.
    pub verdicts: Vec<[String; 3]>,
}

impl HeadroomStep {
    /// The step of a run whose figures are known; `limit` is the latency limit that it passed. With `count_cached`, reads that
    /// the page cache served count. `None` if it measured nothing.
    #[must_use]
    pub fn of(
        record: &Record,
        factor: f64,
        figures: Figures,
        histograms: Histograms,
        limit: Option<String>,
        count_cached: bool,
    ) -> Option<Self> {
        let point = CurvePoint::of(record, limit.is_some())?;
        let rate = record.workload.rate_per_s.unwrap_or_default();
        let kept_percent = 100.0 * point.operations_per_s / f64::from(rate.max(1));
        let late = (kept_percent < KEPT_PERCENT).then(|| {
            format!("the rate is not kept: {} % of {rate} operations/s were done", percent(kept_percent))
        });
        let verdicts = verdicts(record);
        let physical = verdicts.iter().find(|verdict| verdict.question == Question::Physical);
        let cached = physical.filter(|verdict| verdict.answer == Answer::Bad && !count_cached);
        let in_words = verdicts.iter().map(|verdict| {
            let sentence = verdict.sentence.clone();
            [verdict.question.title().to_owned(), verdict.answer.word().to_owned(), sentence]
        });
        Some(Self {
            factor,
            run: record.id.clone(),
            rate,
            sessions: record.workload.sessions(),
            kept_percent,
            figures,
            histograms,
            broke: limit.or(late),
            not_counted: cached.map(|verdict| {
                format!(
                    "its reads were not physical: {} --count-cached counts them nevertheless.",
                    verdict.sentence
                )
            }),
            reason: point.reason,
            verdicts: in_words.collect(),
        })
    }
}

/// Buckets as shares of all waits, in percent.
pub(super) fn shares(buckets: &[Bucket]) -> Vec<(f64, f64, f64)> {
    let all: f64 = buckets.iter().map(|bucket| bucket.waits).sum();
    let of = |bucket: &Bucket| {
        // What is open ends where a bucket of its size would.
        let to_us = bucket.to_us.unwrap_or(bucket.from_us * 2.0);
        (bucket.from_us, to_us, 100.0 * bucket.waits / all)
    };
    buckets.iter().filter(|bucket| bucket.waits > 0.0 && all > 0.0).map(of).collect()
}

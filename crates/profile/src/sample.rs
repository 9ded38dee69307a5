//! What a source says of an interval, before anything of it is believed.

use jiff::civil::DateTime;

use crate::figure::Figures;
use crate::model::{Histograms, IMPOSSIBLE_PER_S, Interval, LeftOut, Subject};

/// Clocks and snapshots may be this much apart: seconds, and as a share of the interval.
const APART_S: f64 = 30.0;
const APART_SHARE: f64 = 0.05;

/// An interval as a source tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The database.
    pub subject: Subject,
    /// Where it comes from: a file, a run, a target.
    pub source: String,
    /// The instance, where it is of one among several.
    pub instance: Option<String>,
    /// When it began, by the source's clock.
    pub begin: Option<DateTime>,
    /// When it ended.
    pub end: Option<DateTime>,
    /// How long it was, in seconds, by a clock that does not jump where the source has one.
    pub seconds: Option<f64>,
    /// What was done in it.
    pub figures: Figures,
    /// How long waits took.
    pub histograms: Histograms,
    /// Why the source itself does not believe it.
    pub faults: Vec<String>,
}

impl Sample {
    /// The interval, or why it is none.
    pub(crate) fn checked(self) -> Result<Interval, LeftOut> {
        let refuse = |why: String| LeftOut { source: self.source.clone(), begin: self.begin, why };
        if let Some(fault) = self.faults.first() {
            return Err(refuse(fault.clone()));
        }
        let Some(begin) = self.begin else { return Err(refuse("it does not say when it began".into())) };
        let by_clock = self.end.map(|end| end.duration_since(begin).as_secs_f64());
        let Some(seconds) = self.seconds.or(by_clock) else {
            return Err(refuse("it does not say how long it was".into()));
        };
        if seconds <= 0.0 || !seconds.is_finite() {
            return Err(refuse(format!("it ended before it began ({seconds:.0} s): a clock jumped")));
        }
        if let Some(by_clock) = by_clock
            && (by_clock - seconds).abs() > APART_S.max(APART_SHARE * seconds)
        {
            return Err(refuse(format!(
                "a clock jumped: it lasted {seconds:.0} s, but its times are {by_clock:.0} s apart"
            )));
        }
        let wrong = self.figures.iter().find(|(_, value)| !(0.0..IMPOSSIBLE_PER_S).contains(value));
        if let Some((figure, value)) = wrong {
            return Err(refuse(format!(
                "{} is {value:.0} {}: a counter wrapped or was reset",
                figure.title(),
                figure.unit()
            )));
        }
        if self.figures.is_empty() {
            return Err(refuse("it has no figures".into()));
        }
        Ok(Interval {
            source: self.source,
            instance: self.instance,
            begin,
            seconds,
            figures: self.figures,
            histograms: self.histograms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figure;

    fn sample() -> Sample {
        Sample {
            source: "a".into(),
            begin: Some("2026-11-20T10:00".parse().unwrap()),
            end: Some("2026-11-20T11:00".parse().unwrap()),
            seconds: Some(3601.0),
            figures: [(Figure::Commits, 5.0)].into(),
            ..Sample::default()
        }
    }

    fn why(sample: Sample) -> String {
        sample.checked().unwrap_err().why
    }

    #[test]
    fn a_sound_one_is_an_interval_of_its_own_length() {
        assert_eq!(sample().checked().unwrap().seconds, 3601.0);
        let by_clock = Sample { seconds: None, ..sample() };
        assert_eq!(by_clock.checked().unwrap().seconds, 3600.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrapped = Sample { figures: [(Figure::RedoBytes, -7.0)].into(), ..sample() };
        assert!(why(wrapped).contains("Redo is -7 bytes/s: a counter wrapped"));
        let far = Sample { figures: [(Figure::RedoBytes, 2e17)].into(), ..sample() };
        assert!(why(far).contains("wrapped"));
        let jumped = Sample { seconds: Some(7200.0), ..sample() };
        assert!(why(jumped).contains("a clock jumped: it lasted 7200 s, but its times are 3600 s apart"));
        let back = Sample { end: sample().begin, seconds: None, ..sample() };
        assert!(why(back).contains("a clock jumped"));
        assert!(why(Sample { begin: None, ..sample() }).contains("when it began"));
        assert!(why(Sample { figures: Figures::default(), ..sample() }).contains("no figures"));
        assert_eq!(why(Sample { faults: vec!["restarted".into()], ..sample() }), "restarted");
    }
}

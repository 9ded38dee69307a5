//! The rate of an open loop: `100`, or a step function of time such as `100@0s,400@60s`.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::types::{BadValue, format_seconds, parse_seconds, whole};

const MOST_PER_SECOND: u64 = 100_000_000;
const MOST_STEPS: usize = 1500;

/// Operations per second of all sessions, from the begin of the window on. The first rate also holds in the warm-up.
///
/// The first step begins at 0, times rise, and one rate is above 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSchedule(Arc<[RateStep]>);

/// `from` is in whole microseconds of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    pub from: Duration,
    /// Nothing is due at 0.
    pub per_second: u32,
}

impl RateSchedule {
    pub fn constant(per_second: NonZeroU32) -> Self {
        Self(Arc::new([RateStep { from: Duration::ZERO, per_second: per_second.get() }]))
    }

    /// Steps must be in order, few, and have an operation.
    pub fn new(steps: Vec<RateStep>) -> Result<Self, BadValue> {
        if steps.first().is_none_or(|first| !first.from.is_zero()) {
            return Err(BadValue::expected(
                "the first rate of a schedule from 0s on, such as 100@0s,400@60s",
            ));
        }
        if !steps.is_sorted_by(|one, next| one.from < next.from) {
            return Err(BadValue::expected("times of a schedule that rise, such as 100@0s,400@60s"));
        }
        if steps.len() > MOST_STEPS {
            return Err(BadValue::expected(format!("at most {MOST_STEPS} rates in a schedule")));
        }
        if steps.iter().all(|step| step.per_second == 0) {
            return Err(BadValue::expected("a rate above 0 in a schedule"));
        }
        Ok(Self(steps.into()))
    }

    pub fn steps(&self) -> &[RateStep] {
        &self.0
    }

    pub fn only(&self) -> Option<u32> {
        match *self.0 {
            [RateStep { per_second, .. }] => Some(per_second),
            _ => None,
        }
    }

    pub fn range(&self) -> (u32, u32) {
        let rates = || self.0.iter().map(|step| step.per_second);
        (rates().min().unwrap_or(0), rates().max().unwrap_or(0))
    }

    /// Steps have a begin and an end in seconds of the window.
    pub fn spans(&self) -> impl Iterator<Item = (f64, f64, u32)> {
        let ends = self.0.iter().skip(1).map(|next| next.from.as_secs_f64()).chain([f64::INFINITY]);
        self.0.iter().zip(ends).map(|(step, end_s)| (step.from.as_secs_f64(), end_s, step.per_second))
    }

    /// Negative moments lie in the warm-up.
    pub fn operations_between(&self, begin_s: f64, end_s: f64) -> f64 {
        let of_span = |(nth, (from_s, to_s, rate)): (usize, (f64, f64, u32))| {
            let from_s = if nth == 0 { f64::NEG_INFINITY } else { from_s };
            (end_s.min(to_s) - begin_s.max(from_s)).max(0.0) * f64::from(rate)
        };
        self.spans().enumerate().map(of_span).sum()
    }

    pub(crate) fn permitted() -> String {
        format!(
            "a whole number from 0 to {MOST_PER_SECOND}, or rates with the time from which on each holds: 100@0s,400@60s"
        )
    }

    /// `None` for `0`.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, BadValue> {
        let bad = || BadValue::expected(Self::permitted());
        let rate = |text: &str| whole(text).filter(|rate| *rate <= MOST_PER_SECOND).ok_or_else(bad);
        if !text.contains('@') {
            return Ok(NonZeroU32::new(rate(text)? as u32).map(Self::constant));
        }
        let step = |text: &str| {
            let (per_second, from) = text.trim().split_once('@').ok_or_else(bad)?;
            let from = parse_seconds(from).ok_or_else(bad)?;
            Ok(RateStep { from, per_second: rate(per_second)? as u32 })
        };
        Self::new(text.split(',').map(step).collect::<Result<_, _>>()?).map(Some)
    }
}

impl FromStr for RateSchedule {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        Self::parse(text)?.ok_or_else(|| BadValue::expected("a rate above 0"))
    }
}

impl fmt::Display for RateSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rate) = self.only() {
            return rate.fmt(f);
        }
        for (nth, RateStep { from, per_second }) in self.0.iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            write!(f, "{comma}{per_second}@{}s", format_seconds(*from))?;
        }
        Ok(())
    }
}

/// Earlier releases saved a number.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Saved {
    Constant(NonZeroU32),
    Steps(Vec<SavedStep>),
}

#[derive(Serialize, Deserialize)]
struct SavedStep {
    from_s: f64,
    per_s: u32,
}

impl Serialize for RateSchedule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let saved = |step: &RateStep| SavedStep { from_s: step.from.as_secs_f64(), per_s: step.per_second };
        let constant = self.only().and_then(NonZeroU32::new).map(Saved::Constant);
        constant.unwrap_or_else(|| Saved::Steps(self.0.iter().map(saved).collect())).serialize(to)
    }
}

impl<'de> Deserialize<'de> for RateSchedule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let steps = match Saved::deserialize(from)? {
            Saved::Constant(rate) => return Ok(Self::constant(rate)),
            Saved::Steps(steps) => steps,
        };
        let step = |SavedStep { from_s, per_s }: SavedStep| {
            // Saved seconds are whole microseconds, so rounding is exact.
            let micros = (from_s * 1e6).round();
            let is_time = (0.0..1e18).contains(&micros);
            let from = is_time.then(|| Duration::from_micros(micros as u64));
            Some(RateStep { from: from?, per_second: per_s })
        };
        let steps = steps.into_iter().map(step).collect::<Option<_>>();
        Self::new(steps.ok_or_else(|| D::Error::custom("the times of the rate are not seconds"))?)
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("100", "100")]
    #[case("100@0s", "100")]
    #[case("100@0s,400@60s", "100@0s,400@60s")]
    #[case("100@0, 0@1m, 400@1.5h", "100@0s,0@60s,400@5400s")]
    #[case("0@0,5@.25", "0@0s,5@0.25s")]
    fn rates_and_schedules_are_read(#[case] text: &str, #[case] shown: &str) {
        let schedule: RateSchedule = text.parse().unwrap();
        assert_eq!(schedule.to_string(), shown);
        assert_eq!(shown.parse(), Ok(schedule.clone()));
        let saved = serde_json::to_string(&schedule).unwrap();
        assert_eq!(serde_json::from_str::<RateSchedule>(&saved).unwrap(), schedule, "{saved}");
    }

    #[rstest]
    #[case("", "a whole number from 0")]
    #[case("0", "above 0")]
    #[case("0@0s,0@60s", "above 0")]
    #[case("100@10s", "from 0s on")]
    #[case("100@0s,400@60s,200@60s", "that rise")]
    #[case("100@0s,400", "a whole number from 0")]
    #[case("100@0s,", "a whole number from 0")]
    #[case("100@0s,400@-1s", "a whole number from 0")]
    #[case("100@0s,100000001@5s", "a whole number from 0")]
    #[case("1.5@0s", "a whole number from 0")]
    fn bad_schedules_are_refused_with_the_reason(#[case] text: &str, #[case] reason: &str) {
        let permitted = text.parse::<RateSchedule>().unwrap_err().permitted;
        assert!(permitted.contains(reason), "{permitted}");
    }

    #[test]
    fn a_constant_rate_is_saved_as_by_earlier_releases() {
        assert_eq!(serde_json::to_string(&"400".parse::<RateSchedule>().unwrap()).unwrap(), "400");
        assert!(serde_json::from_str::<RateSchedule>("0").is_err());
        assert!(serde_json::from_str::<RateSchedule>(r#"[{"from_s":1e300,"per_s":1}]"#).is_err());
    }

    #[test]
    fn operations_are_counted_across_steps() {
        let schedule: RateSchedule = "100@0s,400@60s,0@61s".parse().unwrap();
        let between = |begin_s, end_s| schedule.operations_between(begin_s, end_s);
        assert_eq!(between(0.0, 60.0), 6000.0);
        assert_eq!(between(-10.0, 0.0), 1000.0);
        assert_eq!(between(59.5, 60.5), 250.0);
        assert_eq!(between(60.0, 1e6), 400.0);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9@,.smh ]{0,24}|\\PC{0,24}") {
            if let Ok(schedule) = text.parse::<RateSchedule>() {
                prop_assert_eq!(schedule.to_string().parse::<RateSchedule>(), Ok(schedule));
            }
        }
    }
}

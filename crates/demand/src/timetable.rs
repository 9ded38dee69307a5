//! A stretch of production as the steps of a run's rate.

use std::time::Duration;

use jiff::civil::DateTime;
use slob_facts::format::length;
use slob_spec::{Kind, RateSchedule, RateStep};

use crate::goal::{Goal, Pairs, Target};
use crate::options::parse_time;
use crate::profile::DemandError;
use crate::{Parameters, Slot, Stretch};

const LENGTH: Kind = Kind::Duration { min_s: 60, max_s: 366 * 86_400 };
/// Shorter steps have no samples of their own.
const LEAST_STEP_S: u64 = 2;

/// Begins of intervals are seconds of the replay.
pub struct Timetable {
    pub slots: Vec<Slot>,
    pub begins_s: Vec<u64>,
    pub seconds: u64,
    pub notes: Vec<String>,
    pub compress: f64,
}

/// A slot after a gap too short for a step begins earlier.
fn without_short_gaps(slots: Vec<Slot>, compress: f64) -> Vec<Slot> {
    let mut left_out_s = 0.0;
    let mut kept = Vec::new();
    for slot in slots {
        if slot.production.is_none() && slot.seconds / compress < LEAST_STEP_S as f64 {
            left_out_s += slot.seconds;
        } else {
            kept.push(Slot { from_s: slot.from_s - left_out_s, ..slot });
        }
    }
    kept
}

impl Timetable {
    pub fn of(
        goal: &Goal,
        from: Option<&str>,
        length_text: &str,
        compress: f64,
    ) -> Result<Self, DemandError> {
        let moment = |text: &str| {
            let why = format!("'{text}' is no moment: say one such as 2026-11-20 or '2026-11-20 08:00'");
            text.replacen(' ', "T", 1).parse::<DateTime>().map_err(|_| DemandError::Usage(why))
        };
        let from = from.map(moment).transpose()?;
        let seconds = parse_time(LENGTH, length_text).ok_or_else(|| {
            DemandError::Usage(format!("--for is '{length_text}'; it must be {}", LENGTH.permitted()))
        })?;
        if !(1.0..=86_400.0).contains(&compress) {
            return Err(DemandError::Usage("--compress must be from 1 to 86400".to_owned()));
        }
        let stretch = goal.profile.stretch(&goal.choice, &goal.demand, from, seconds.as_secs_f64());
        let Stretch { slots, mut notes } = stretch.map_err(|error| DemandError::Usage(error.to_string()))?;
        let of_profile = slots.len();
        let slots = without_short_gaps(slots, compress);
        if slots.len() < of_profile {
            notes.push(format!("Gaps of the profile that leave less than {LEAST_STEP_S} s are left out."));
        }
        let at = |from_s: f64| (from_s / compress).round() as u64;
        let begins_s: Vec<u64> = slots.iter().map(|slot| at(slot.from_s)).collect();
        let seconds = slots.last().map_or(0, |last| at(last.from_s + last.seconds));
        let ends = begins_s.iter().skip(1).copied().chain([seconds]);
        let too_short =
            begins_s.iter().zip(ends).zip(&slots).find(|((begin, end), _)| *begin + LEAST_STEP_S > *end);
        if let Some((_, slot)) = too_short {
            let most = (slot.seconds / LEAST_STEP_S as f64 / 1.5).floor();
            let advice = match most >= 1.0 {
                true => format!("say --compress {most} at most"),
                false => "profile longer intervals".to_owned(),
            };
            return Err(DemandError::Usage(format!(
                "--compress {compress} leaves less than {LEAST_STEP_S} s for the {} from {} on: {advice}",
                length(slot.seconds),
                slot.begin_words()
            )));
        }
        if slots.len() < 2 {
            let why = "the stretch has a single interval, in which nothing changes: take --at and `slob plan` for it";
            return Err(DemandError::Usage(why.to_owned()));
        }
        Ok(Self { slots, begins_s, seconds, notes, compress })
    }

    /// In proportion to those of the whole demand.
    pub fn rates(&self, whole: u32, multiply: f64) -> Vec<u32> {
        self.slots.iter().map(|slot| (f64::from(whole) * slot.share * multiply).round() as u32).collect()
    }

    /// A run from interval number `first` on, and its seconds.
    pub fn pairs(
        &self,
        target: &Target,
        mix: &Parameters,
        rates: &[u32],
        first: usize,
    ) -> Result<(Pairs, u64), DemandError> {
        let begin_s = self.begins_s[first];
        let step = |(at_s, rate): (&u64, &u32)| RateStep {
            from: Duration::from_secs(at_s - begin_s),
            per_second: *rate,
        };
        let steps = self.begins_s.iter().zip(rates).skip(first).map(step).collect();
        let schedule = RateSchedule::new(steps).map_err(|error| {
            DemandError::Usage(format!(
                "this stretch can't be replayed: expected {error}; say --multiply, or another one"
            ))
        })?;
        let seconds = self.seconds - begin_s;
        let mut pairs = target.pairs(mix);
        pairs.retain(|(key, _)| *key != "RATE");
        pairs.extend([
            ("RATE", schedule.to_string()),
            ("RUN_TIME", seconds.to_string()),
            ("UNTIL_STEADY", "FALSE".to_owned()),
        ]);
        Ok((pairs, seconds))
    }
}

//! A stretch of a profile to be replayed interval by interval. Its rate follows one figure; [`Stretch::notes`] says how far the
//! others follow.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::Serialize;
use slob_facts::Question;
use slob_facts::format::length;

use crate::demand::{By, Choice, ChoiceError, Demand, at_moment, chosen};
use crate::figure::{Figure, Figures};
use crate::limits::is_page_cache;
use crate::profile::{Interval, Profile};
use crate::summary::moment;

const DIFFERS: f64 = 0.1;
/// A time without an interval is a gap from this share of the interval before on.
const GAP: f64 = 0.1;

#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// In order, without overlaps.
    pub slots: Vec<Slot>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slot {
    pub begin: DateTime,
    pub seconds: f64,
    /// Seconds from the begin of the stretch.
    #[serde(skip)]
    pub from_s: f64,
    /// Multiple of the demand; 0 where nothing is known.
    pub share: f64,
    pub production: Option<Interval>,
}

impl Slot {
    /// By the mean of production's reads, which says nothing of its storage then.
    pub fn has_cached_reads(&self) -> bool {
        let read_us = self.production.as_ref().and_then(|own| own.figures.get(Figure::ReadUs));
        read_us.is_some_and(|us| us > 0.0 && is_page_cache(us))
    }
}

impl Profile {
    /// Intervals from a moment on, or of the day of `choice`; `demand` must be that of `choice`. Fails without intervals or their
    /// ordering figure.
    pub fn stretch(
        &self,
        choice: &Choice,
        demand: &Demand,
        from: Option<DateTime>,
        seconds: f64,
    ) -> Result<Stretch, ChoiceError> {
        let by = if choice.by == By::Each { By::Reads } else { choice.by };
        let whole = self.together();
        let from = match from {
            Some(moment) => moment,
            None => {
                let day = chosen(&whole.intervals, choice.at, by)?.middle().date();
                day.to_datetime(jiff::civil::Time::midnight())
            }
        };
        let since = |moment: DateTime| moment.duration_since(from).as_secs_f64();
        let is_within = |interval: &&Interval| (0.0..seconds).contains(&since(interval.middle()));
        let own: Vec<&Interval> = whole.intervals.iter().filter(is_within).collect();
        let Some(first) = own.first() else {
            at_moment(&whole.intervals, from)?;
            return Err(ChoiceError::ByUnknown(by.words()));
        };
        let at_point = by.value(&demand.figures).filter(|value| *value > 0.0);
        let at_point = at_point.ok_or(ChoiceError::ByUnknown(by.words()))?;
        let factor = choice.grow * choice.peak_factor.unwrap_or(1.0);
        let begin = first.begin;
        let mut slots: Vec<Slot> = Vec::new();
        for interval in &own {
            let from_s = interval.begin.duration_since(begin).as_secs_f64();
            if let Some(last) = slots.last() {
                let end_s = last.from_s + last.seconds;
                if from_s - end_s > GAP * last.seconds {
                    let seconds = from_s - end_s;
                    let begin = last.production.as_ref().map_or(last.begin, Interval::end);
                    slots.push(Slot { begin, seconds, from_s: end_s, share: 0.0, production: None });
                }
            }
            let share = by.value(&interval.figures).map_or(0.0, |value| value * factor / at_point);
            let production = Interval { figures: interval.figures.times(factor), ..(*interval).clone() };
            let (begin, seconds) = (interval.begin, interval.seconds);
            slots.push(Slot { begin, seconds, from_s, share, production: Some(production) });
        }
        let notes = notes(&slots, by, &demand.figures);
        Ok(Stretch { slots, notes })
    }
}

impl Slot {
    pub fn begin_words(&self) -> String {
        moment(self.begin, self.seconds)
    }

    pub fn end_words(&self) -> String {
        let length = SignedDuration::try_from_secs_f64(self.seconds).unwrap_or_default();
        moment(self.begin.saturating_add(length), self.seconds)
    }
}

fn notes(slots: &[Slot], by: By, at_point: &Figures) -> Vec<String> {
    const FIGURES: [(&str, Figure); 4] = [
        ("logical reads", Figure::LogicalReads),
        ("reads", Figure::ReadRequests),
        ("redo", Figure::RedoBytes),
        ("commits", Figure::Commits),
    ];
    let known = || slots.iter().filter_map(|slot| Some((slot, slot.production.as_ref()?)));
    let all = known().count();
    let mut notes = vec![format!("One mix of operations is replayed; its rate follows {}.", by.words())];
    for (name, figure) in FIGURES {
        let Some(value) = at_point.get(figure) else { continue };
        let shares = known().filter_map(|(slot, own)| {
            let production = own.figures.get(figure).filter(|value| *value > 0.0)?;
            Some((slot, slot.share * value / production))
        });
        let other: Vec<(&Slot, f64)> = shares.filter(|(_, share)| (share - 1.0).abs() > DIFFERS).collect();
        let worst = other.iter().max_by(|one, other| one.1.ln().abs().total_cmp(&other.1.ln().abs()));
        if let Some((slot, share)) = worst {
            notes.push(format!(
                "In {} of {all} intervals that asks for more than 10 % more or less {name} than production's; most at {}: {:.0} % of it.",
                other.len(),
                slot.begin_words(),
                100.0 * share
            ));
        }
    }
    for question in Question::ALL {
        let of_slot = known()
            .filter_map(|(slot, own)| Some((slot, own.bad.iter().find(|bad| bad.question == question)?)));
        let bad: Vec<_> = of_slot.collect();
        if let Some((slot, first)) = bad.first() {
            let (of, begin) = (bad.len(), slot.begin_words());
            notes.push(format!(
                "In {of} of {all} intervals, first at {begin}, production's {}.",
                first.words()
            ));
        }
    }
    let gaps: Vec<&Slot> = slots.iter().filter(|slot| slot.production.is_none()).collect();
    if let Some(first) = gaps.first() {
        let lost: f64 = gaps.iter().map(|gap| gap.seconds).sum();
        notes.push(format!(
            "Of {} nothing is known, first from {} on: nothing is due then.",
            length(lost),
            first.begin_words()
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Source, Subject};

    /// Hours of a day by their reads and redo; hours without any are missing.
    fn profile(reads: &[f64]) -> Profile {
        let day: DateTime = "2026-11-20T00:00".parse().unwrap();
        let interval = |(hour, reads): (i64, &f64)| Interval {
            source: "test".into(),
            instance: None,
            begin: day.saturating_add(jiff::Span::new().hours(hour)),
            seconds: 3600.0,
            figures: [(Figure::ReadRequests, *reads), (Figure::RedoBytes, 1e6), (Figure::Commits, 10.0)]
                .into(),
            histograms: Default::default(),
            bad: Vec::new(),
        };
        let intervals = (0..).zip(reads).filter(|(_, reads)| **reads >= 0.0).map(interval).collect();
        Profile { intervals, ..Profile::new(Source::Reports, Subject::default()) }
    }

    fn stretch(profile: &Profile, from: Option<&str>, hours: f64) -> Result<Stretch, ChoiceError> {
        let choice = Choice { grow: 2.0, ..Choice::default() };
        let demand = profile.demand(&choice).unwrap();
        profile.stretch(&choice, &demand, from.map(|text| text.parse().unwrap()), hours * 3600.0)
    }

    #[test]
    fn the_day_of_the_peak_follows_its_reads() {
        let mut reads = vec![50.0; 24];
        reads.extend([100.0, 400.0, 200.0]);
        let day = stretch(&profile(&reads), None, 24.0).unwrap();
        let shares: Vec<f64> = day.slots.iter().map(|slot| slot.share).collect();
        assert_eq!(shares, [0.25, 1.0, 0.5]);
        assert_eq!((day.slots[2].from_s, day.slots[2].seconds), (7200.0, 3600.0));
        // Growth is of the demand and of what it is compared with.
        assert_eq!(day.slots[1].production.as_ref().unwrap().figures.reads(), Some(800.0));
        assert!(
            day.notes.iter().any(|note| note.contains("redo") && note.contains("In 2 of 3")),
            "{:?}",
            day.notes
        );
    }

    #[test]
    fn a_gap_is_a_rest_that_is_said() {
        let day = stretch(&profile(&[100.0, -1.0, 300.0]), Some("2026-11-20T00:00"), 24.0).unwrap();
        assert_eq!(
            day.slots.iter().map(|slot| (slot.from_s, slot.share > 0.0)).collect::<Vec<_>>(),
            [(0.0, true), (3600.0, false), (7200.0, true)]
        );
        assert!(day.notes.last().unwrap().contains("nothing is known"), "{:?}", day.notes);
    }

    /// 'Carries production' was said of the rate that a control group had held production to.
    #[test]
    fn a_bad_run_in_the_stretch_is_said() {
        let mut profile = profile(&[100.0, 400.0, 200.0]);
        let held = slob_facts::verdicts::verdicts(&slob_testing::records::page_cache_run());
        let held = held.iter().map(slob_facts::Judged::from).find(|one| one.answer == slob_facts::Grade::Bad);
        profile.intervals[2].bad.extend(held);
        let notes = stretch(&profile, None, 24.0).unwrap().notes;
        let words = "In 1 of 3 intervals, first at 2026-11-20 02:00, production's Physical? is BAD: No:";
        assert!(notes.iter().any(|note| note.starts_with(words)), "{notes:?}");
    }

    #[test]
    fn intervals_of_one_minute_have_names_of_their_own() {
        let slot = |second: i8, seconds| Slot {
            begin: DateTime::new(2026, 11, 20, 17, 31, second, 0).unwrap(),
            seconds,
            from_s: 0.0,
            share: 0.0,
            production: None,
        };
        assert_eq!(slot(5, 5.0).begin_words(), "2026-11-20 17:31:05");
        assert_eq!(slot(5, 5.0).end_words(), "2026-11-20 17:31:10");
        assert_eq!(slot(0, 3600.0).end_words(), "2026-11-20 18:31");
    }

    #[test]
    fn a_time_without_intervals_is_refused() {
        let error = stretch(&profile(&[100.0, 300.0]), Some("2026-12-01T00:00"), 24.0).unwrap_err();
        assert!(error.to_string().contains("nearest begins at 2026-11-20 01:00"), "{error}");
        assert_eq!(stretch(&profile(&[100.0, 300.0]), None, 24.0).unwrap().slots.len(), 2);
    }
}

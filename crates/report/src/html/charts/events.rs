//! Top timed events as bars.

use crate::counters::ratio;
use crate::figure::{self, Figures};
use crate::format::{count, fixed, percent};
use crate::html::plot::{Absent, Axis, Bar, Bars, Chart, Colour, Drawing, Trace, Unit};
use crate::timed::{Timed, timed_events};

/// How many events are shown.
const MOST_BARS: usize = 10;
/// Longest name that is written beside its bar.
const NAME_LETTERS: usize = 28;

/// What DB time was spent on.
pub(super) fn chart(figures: &Figures<'_>) -> Chart {
    Chart {
        id: "top-events".into(),
        title: "Top timed events".into(),
        about: "Where the sessions' time went within the window, longest first.".into(),
        source: if figures.record.server.embedded {
            "the clock around each read, write and sync".into()
        } else {
            "the database's wait events".into()
        },
        body: drawing(figures),
    }
}

fn drawing(figures: &Figures<'_>) -> Result<Drawing, Absent> {
    let mut events = timed_events(figures);
    events.truncate(MOST_BARS);
    if events.is_empty() {
        return super::absent("this database reports no wait events, or the run ended before its window");
    }
    let bar = |(index, event): (usize, &Timed)| Bar {
        at: -(index as f64),
        width: 0.7,
        length: event.time_s,
        hover: hover(event, figure::DB_TIME_S.of(figures)),
    };
    let bars = Bars {
        name: "time".into(),
        colour: Colour::Reads,
        opacity: Bars::OPACITY,
        bars: events.iter().enumerate().map(bar).collect(),
        horizontal: true,
    };
    let mut y = Axis::linear("", Unit::Plain);
    y.names = events.iter().enumerate().map(|(index, event)| (-(index as f64), short(&event.name))).collect();
    let drawing =
        Drawing::new(Axis::linear("seconds, all sessions", Unit::Plain), y, vec![Trace::Bars(bars)]);
    Ok(Drawing { height_px: 90 + 32 * events.len() as u32, ..drawing })
}

fn hover(event: &Timed, db_time_s: Option<f64>) -> String {
    let share = db_time_s.and_then(|db_time_s| ratio(100.0 * event.time_s, db_time_s));
    let share = share.map(|share| format!(", {} % of DB time", percent(share))).unwrap_or_default();
    let waits = event.waits.map(|waits| format!(", {} waits", count(waits))).unwrap_or_default();
    format!("{}: {} s{share}{waits}", event.name, fixed(event.time_s, 1))
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME_LETTERS {
        return name.to_owned();
    }
    name.chars().take(NAME_LETTERS - 1).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_longest_is_on_top() {
        let record = fixture::page_cache_run();
        let drawing = drawing(&Figures::of(&record)).unwrap();
        let [Trace::Bars(bars)] = &drawing.traces[..] else { panic!("{:?}", drawing.traces) };
        assert_eq!((bars.bars[0].at, bars.bars[0].length), (0.0, 140.0));
        assert!(bars.bars[0].hover.contains("29,538,360 waits"), "{}", bars.bars[0].hover);
        assert_eq!(drawing.y.names[2], (-2.0, "client read".into()));
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(short(&"n".repeat(40)).chars().count(), NAME_LETTERS);
    }
}

//! A profile as a page: the week in charts, a heat map by hour and day, tables.

use slob_profile::{Figure, Interval, Profile, Summary};

use super::{text, words};
use crate::format::plural;
use crate::html::document::{self, Document};
use crate::html::plot::{Absent, Axis, Chart, Colour, Drawing, Line, MeasuredBar, MeasuredBars, Trace, Unit};
use crate::html::{blocks, escape};
use crate::page::Page;

/// What is drawn over time, with its colour.
const CHARTS: [(Figure, Colour); 7] = [
    (Figure::ReadRequests, Colour::Reads),
    (Figure::ReadBlocks, Colour::Reads),
    (Figure::WriteBlocks, Colour::Updates),
    (Figure::RedoBytes, Colour::Redo),
    (Figure::Commits, Colour::Updates),
    (Figure::DbTime, Colour::Database),
    (Figure::ReadUs, Colour::Device),
];
/// What has a map of the week.
const MAPS: [Figure; 3] = [Figure::ReadRequests, Figure::RedoBytes, Figure::Commits];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MOMENTS: usize = 5;

/// Profiles as one HTML file that needs no network.
#[must_use]
pub fn profile_page(profiles: &[Profile]) -> String {
    let wholes: Vec<Profile> = profiles.iter().map(Profile::together).collect();
    let charts: Vec<Vec<Chart>> =
        wholes.iter().enumerate().map(|(at, profile)| charts(profile, at)).collect();
    let main: String = profiles
        .iter()
        .zip(&wholes)
        .zip(&charts)
        .enumerate()
        .map(|(at, ((profile, whole), charts))| {
            // Alone it has the page's heading.
            let heading = (profiles.len() > 1).then(|| profile.subject.words());
            section(heading, profile, whole, charts, at)
        })
        .collect();
    let names: Vec<String> = profiles.iter().map(|profile| profile.subject.words()).collect();
    let header = match profiles {
        [only] => format!("<h1>{}</h1>\n", escape::text(&text::title(only))),
        many => {
            let lead = format!("{}: {}", plural(many.len() as u64, "database"), names.join(", "));
            format!("<h1>Profiles</h1>\n<p class=\"lead\">{}</p>\n", escape::text(&lead))
        }
    };
    Document {
        title: format!("Profile: {}", names.join(", ")),
        header,
        main: document::NO_CHARTS.to_owned() + &main,
        said: "From the intervals of the profile alone.".into(),
        slob_version: env!("CARGO_PKG_VERSION"),
        holds: String::new(),
        charts: charts.iter().flatten().collect(),
    }
    .html()
}

fn section(
    heading: Option<String>,
    profile: &Profile,
    whole: &Profile,
    charts: &[Chart],
    at: usize,
) -> String {
    let heading = heading.map(|heading| format!("<h2>{}</h2>\n", escape::text(&heading))).unwrap_or_default();
    let containers: String = charts.iter().map(Chart::container).collect();
    let mut page = Page::new();
    text::all(&mut page, profile);
    let maps: String = MAPS.iter().filter_map(|figure| week(whole, *figure)).collect();
    let maps = if maps.is_empty() { maps } else { format!("<div class=\"part\">\n{maps}</div>\n") };
    format!(
        "<section id=\"profile-{}\">\n{heading}<div class=\"part\">\n{}</div>\n{maps}<div class=\"charts\">\n{containers}</div>\n</section>\n",
        at + 1,
        blocks::html(&page.into_blocks())
    )
}

fn charts(profile: &Profile, at: usize) -> Vec<Chart> {
    let over_time = CHARTS
        .iter()
        .filter(|(figure, _)| profile.intervals.iter().any(|one| one.figures.get(*figure).is_some()))
        .map(|(figure, colour)| over_time(profile, *figure, *colour, at));
    let by_hour = Summary::of(profile).into_iter().flat_map(|summary| {
        MAPS.iter().filter_map(|figure| by_hour(&summary, *figure, at)).collect::<Vec<_>>()
    });
    over_time.chain(by_hour).collect()
}

fn unit(figure: Figure) -> (Unit, f64) {
    match figure.unit() {
        "us" => (Unit::Seconds, 1e-6),
        "bytes/s" => (Unit::Plain, 1e-6),
        "s/s" => (Unit::Plain, 1.0),
        _ => (Unit::Count, 1.0),
    }
}

fn axis_title(figure: Figure) -> &'static str {
    match figure.unit() {
        "us" => "mean",
        "bytes/s" => "MB/s",
        "s/s" => "sessions",
        unit => unit,
    }
}

/// A line over the intervals, level over each; it breaks where there is none.
fn over_time(profile: &Profile, figure: Figure, colour: Colour, at: usize) -> Chart {
    let (unit, scale) = unit(figure);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let first = profile.intervals.first().map(|first| first.begin);
    let hours = |moment: jiff::civil::DateTime| {
        first.map_or(0.0, |first| moment.duration_since(first).as_secs_f64() / 3600.0)
    };
    let mut last_end = None;
    for interval in &profile.intervals {
        let (begin, end) = (hours(interval.begin), hours(interval.end()));
        if last_end.is_some_and(|last| begin - last > 0.05 * (end - begin)) {
            x.push(begin);
            y.push(None);
        }
        let value = interval.figures.get(figure).map(|value| value * scale);
        x.extend([begin, end]);
        y.extend([value, value]);
        last_end = Some(end);
    }
    let axis = Axis { names: moments(profile, &hours), ..Axis::linear("begin", Unit::Plain) };
    let line = Line::new(figure.title(), colour, unit, x, y);
    let drawing = Drawing {
        is_timeline: true,
        ..Drawing::new(axis, Axis::linear(axis_title(figure), unit), vec![Trace::Line(line)])
    };
    Chart {
        id: format!("over-time-{}-{}", figure.name(), at + 1).into(),
        title: figure.title().to_owned(),
        about: "The mean of each interval; nothing where there is none.".into(),
        source: words::source(profile.source).to_owned(),
        body: if profile.intervals.is_empty() {
            Err(Absent("there is no interval".into()))
        } else {
            Ok(drawing)
        },
    }
}

/// Names of some moments, evenly apart.
fn moments(profile: &Profile, hours: &dyn Fn(jiff::civil::DateTime) -> f64) -> Vec<(f64, String)> {
    let step = profile.intervals.len().div_ceil(MOMENTS).max(1);
    let name = |interval: &Interval| interval.begin.strftime("%a %m-%d\n%H:%M").to_string();
    profile.intervals.iter().step_by(step).map(|interval| (hours(interval.begin), name(interval))).collect()
}

/// Means by hour of the day as bars.
fn by_hour(summary: &Summary, figure: Figure, at: usize) -> Option<Chart> {
    let own = summary.figure(figure)?;
    let (unit, scale) = unit(figure);
    let bar = |(hour, value): (usize, &Option<f64>)| {
        let value = (*value)?;
        Some(MeasuredBar {
            at: hour as f64 + 0.5,
            width: 0.9,
            value: value * scale,
            interval: None,
            hover: format!("{hour:02}:00 to {:02}:00: {}", hour + 1, words::shown(figure, value)),
        })
    };
    let bars: Vec<MeasuredBar> = own.by_hour.iter().enumerate().filter_map(bar).collect();
    if bars.len() < 2 {
        return None;
    }
    let bars = MeasuredBars { name: figure.title().to_owned(), colour: Colour::Variant(0), bars };
    let axis = Axis::linear("hour of the day", Unit::Plain).ranging(0.0, 24.0);
    Some(Chart {
        id: format!("by-hour-{}-{}", figure.name(), at + 1).into(),
        title: format!("{} by hour of the day", figure.title()),
        about: "Means over all days of the intervals whose middle lies in the hour.".into(),
        source: "the intervals of the profile".into(),
        body: Ok(Drawing::new(axis, Axis::linear(axis_title(figure), unit), vec![Trace::Measured(bars)])),
    })
}

/// The week as a table whose cells are the darker the more there was: it is read without scripts too.
fn week(profile: &Profile, figure: Figure) -> Option<String> {
    let mut sums = [[(0.0, 0.0); 24]; 7];
    for interval in &profile.intervals {
        let middle = interval.middle();
        let day = usize::from(middle.weekday().since(jiff::civil::Weekday::Monday).unsigned_abs());
        let cell = &mut sums[day][usize::from(middle.hour().unsigned_abs())];
        if let Some(value) = interval.figures.get(figure) {
            *cell = (cell.0 + value * interval.seconds, cell.1 + interval.seconds);
        }
    }
    let mean = |(sum, seconds): (f64, f64)| (seconds > 0.0).then(|| sum / seconds);
    let cells: Vec<Vec<Option<f64>>> =
        sums.iter().map(|day| day.iter().map(|cell| mean(*cell)).collect()).collect();
    let most = cells.iter().flatten().flatten().copied().fold(0.0, f64::max);
    if cells.iter().flatten().flatten().count() < 24 || most <= 0.0 {
        return None;
    }
    let cell = |value: &Option<f64>| match value {
        None => "<td></td>".to_owned(),
        Some(value) => format!(
            "<td class=\"heat h{}\" title=\"{}\"></td>",
            (5.0 * value / most).ceil().clamp(0.0, 5.0),
            escape::text(&words::shown(figure, *value))
        ),
    };
    let row = |(day, name): (usize, &&str)| {
        format!("<tr><th>{name}</th>{}</tr>\n", cells[day].iter().map(cell).collect::<String>())
    };
    let rows: String = DAYS.iter().enumerate().map(row).collect();
    let hours: String = (0..24).map(|hour| format!("<th>{hour:02}</th>")).collect();
    Some(format!(
        "<h3>{} by hour and day, up to {}</h3>\n<table class=\"week\"><tr><th></th>{hours}</tr>\n{rows}</table>\n",
        escape::text(figure.title()),
        escape::text(&words::shown(figure, most))
    ))
}

#[cfg(test)]
mod tests {
    use slob_profile::{Sample, Source, Subject, collect};

    use super::*;

    fn profile(name: &str) -> Profile {
        let sample = Sample {
            subject: Subject { name: name.into(), ..Subject::default() },
            begin: Some("2026-11-20T10:00".parse().unwrap()),
            seconds: Some(60.0),
            figures: [(Figure::Commits, 5.0)].into(),
            ..Sample::default()
        };
        collect(vec![sample], Source::Live).remove(0)
    }

    #[test]
    fn a_profile_alone_has_one_heading_and_each_of_several_its_own() {
        let alone = profile_page(&[profile("PROD")]);
        assert!(alone.contains("<h1>Profile of PROD</h1>"));
        assert_eq!(alone.split("<main>").nth(1).unwrap().matches(">PROD<").count(), 0);
        let both = profile_page(&[profile("PROD"), profile("TEST")]);
        for name in ["PROD", "TEST"] {
            assert_eq!(both.matches(&format!("<h2>{name}</h2>")).count(), 1);
        }
    }
}

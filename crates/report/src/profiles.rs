//! Profiles of databases, plans made from them, and headroom, as text and as pages.

mod headroom;
mod headrooms;
mod plan;
mod replay;

pub use self::headroom::Headroom;
pub use self::headrooms::{Headrooms, Platform, SearchResult};
pub use self::plan::{PlanView, plan_conf, plan_table};
pub use self::replay::Replay;

use itertools::Itertools;
use jiff::civil::{DateTime, Weekday};
use slob_demand::{
    Change, Figure, FigureSummary, Interval, NotModelled, Place, Profile, Source, Subject, Summary, diff,
    is_page_cache, not_modelled,
};
use slob_measure::WorkingSet;

use slob_facts::format::{
    duration_us, fixed, length, or_absent, percent, plain_number, plural, signed_percent, significant, size,
};
use slob_facts::thresholds::FLASH_READ;
use slob_page::chart::{Axis, Bar, Bars, Chart, Colour, Drawing, Line, Trace, Unit};
use slob_page::escape;
use slob_page::layout::{Section, View, lead};
use slob_page::{Column, Page, Table};

const MOST_LISTED: usize = 12;

fn with_unit(figure: Figure, value: f64) -> String {
    amount(figure.unit(), value)
}

fn amount(unit: &str, value: f64) -> String {
    match unit {
        "us" => duration_us(value),
        "bytes/s" if value > 0.0 && value < 1e6 => format!("{} kB/s", significant(value / 1e3)),
        "bytes/s" => format!("{} MB/s", significant(value / 1e6)),
        "s/s" => significant(value),
        "" | "1/s" => format!("{} /s", significant(value)),
        unit => format!("{} {unit}", significant(value)),
    }
}

fn source_words(source: Source) -> &'static str {
    match source {
        Source::Reports => "AWR and Statspack reports",
        Source::Live => "the server's own counters",
        Source::Runs => "runs of this program",
        Source::Mixed => "several sources",
    }
}

pub fn profile_text(profile: &Profile, columns: Option<usize>) -> String {
    let mut page = Page::default();
    page.section(&title(profile));
    write_profile(&mut page, profile);
    page.into_text(columns)
}

fn title(profile: &Profile) -> String {
    format!("Profile of {}", profile.subject.words())
}

fn write_profile(page: &mut Page, profile: &Profile) {
    let (summary, whole) = (Summary::of(profile), profile.together());
    write_facts(page, profile, &whole, summary.as_ref());
    let Some(summary) = summary else {
        return page.paragraph("No interval is left: there is nothing to show.");
    };
    write_figures(page, &summary);
    if summary.intervals > 1 {
        page.section("Worst intervals");
        page.table(&worst_intervals(&summary));
    }
    let hours = (0..24).map(|hour| format!("{hour:02}:00")).collect_vec();
    page.table_under("By hour of the day (means)", &by_time(&summary, "Hour", &hours, |own| &own.by_hour));
    let days =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"].map(str::to_owned);
    page.table_under("By day of the week (means)", &by_time(&summary, "Day", &days, |own| &own.by_weekday));
    page.section("What this does not show");
    page.list(&summary.hides);
    let reads = |interval: &&Interval| interval.figures.reads().unwrap_or(0.0);
    let peak = whole.intervals.iter().max_by(|one, other| reads(one).total_cmp(&reads(other)));
    let not_modelled = peak.map(|peak| not_modelled(&peak.figures, profile.subject.block_bytes));
    let title = "Not in a test that is made from this (at the peak of reads)";
    page.table_under(title, &not_modelled_table(&not_modelled.unwrap_or_default()));
}

fn write_facts(page: &mut Page, profile: &Profile, whole: &Profile, summary: Option<&Summary>) {
    if let Some(id) = &profile.subject.id {
        page.fact("Number", id);
    }
    page.fact("From", source_words(profile.source));
    for (name, of) in FACTS {
        page.fact(name, &of(&profile.subject, summary).unwrap_or_else(|| NOT_KNOWN.into()));
    }
    let set = profile.subject.facts.working_set.as_ref();
    if let Some(WorkingSet::Unknown { why: origin } | WorkingSet::Estimate { method: origin, .. }) = set {
        page.fact("", origin);
    }
    page.fact("To load", &to_load(set));
    if let Some(sentence) = page_cache_sentence(whole) {
        page.fact("Page cache", &sentence);
    }
    if let Some(summary) = summary {
        let [shortest, _, longest] = summary.lengths_s.map(length);
        let lengths = if shortest == longest { shortest } else { format!("{shortest} to {longest}") };
        let [from, to] = [summary.from, summary.to].map(|at| at.strftime("%Y-%m-%d %H:%M"));
        let count = plural(summary.intervals as u64, "interval");
        page.fact("Intervals", &format!("{count} of {lengths}, {from} to {to}"));
        let gaps = summary.gaps.iter().map(|gap| {
            let [from, to] = [gap.from, gap.to].map(|at| at.strftime("%Y-%m-%d %H:%M:%S"));
            format!("{from} to {to}")
        });
        write_list(page, "Gap", gaps, " gaps");
    }
    let instances = profile.instances();
    if !instances.is_empty() {
        let of = if instances.len() > 1 { "together: figures are those of all" } else { "alone" };
        page.fact("Instances", &format!("{} ({of})", instances.join(", ")));
    }
    let bad = whole.intervals.iter().flat_map(|own| own.bad.iter().map(|bad| (&own.source, bad)));
    let bad: Vec<String> = bad.map(|(source, bad)| format!("{source}: {}", bad.words())).collect();
    write_list(page, "Not sound", bad.into_iter(), " BAD verdicts");
    let left_out = whole.left_out.iter().map(|left| format!("{}: {}", left.source, left.why));
    write_list(page, "Left out", left_out, "");
}

const NOT_KNOWN: &str = "not known";

type FactOf = fn(&Subject, Option<&Summary>) -> Option<String>;
const FACTS: [(&str, FactOf); 6] = [
    ("Version", |subject, _| subject.version.clone()),
    ("CPUs", |subject, _| Some(subject.cpus?.to_string())),
    ("Data", |subject, _| subject.facts.database_bytes.map(size)),
    ("Cache", |subject, _| subject.facts.cache_bytes.map(size)),
    ("Hits", |_, summary| Some(format!("{} % of the logical reads", percent(summary?.hit_percent?)))),
    ("Working set", |subject, _| working_set(subject.facts.working_set.as_ref()?)),
];

fn known_facts(profile: &Profile) -> Option<String> {
    let Subject { version, cpus, facts, .. } = &profile.subject;
    let hits = Summary::of(profile).and_then(|summary| summary.hit_percent);
    let facts = [
        version.clone(),
        cpus.map(|cpus| plural(u64::from(cpus), "CPU")),
        facts.database_bytes.map(|bytes| format!("{} of data", size(bytes))),
        facts.cache_bytes.map(|bytes| format!("{} of cache", size(bytes))),
        hits.map(|hits| format!("{} % of the logical reads hit", percent(hits))),
    ];
    Some(facts.into_iter().flatten().join(", ")).filter(|known| !known.is_empty())
}

fn working_set(of: &WorkingSet) -> Option<String> {
    match of {
        WorkingSet::Unknown { .. } => None,
        WorkingSet::Estimate { bytes, bound, .. } => Some(format!("{} {}", bound.words(), size(*bytes))),
    }
}

/// The physical reads of a plan are misses, so its data must exceed the cache.
fn to_load(set: Option<&WorkingSet>) -> String {
    const WHY: &str = "physical reads of a plan are blocks that the cache lacks";
    let size = match set.and_then(working_set) {
        Some(set) => format!("{set}; more if that fits into"),
        None => "more than".to_owned(),
    };
    format!("SCALE x schemas of {size} the target's cache, since {WHY}")
}

fn page_cache_sentence(profile: &Profile) -> Option<String> {
    let (cached, known) = page_cache_intervals(profile)?;
    (cached > 0).then(|| {
        format!(
            "it served reads in {cached} of {}: their mean read is shorter than flash needs ({} us), and says nothing of the device",
            plural(known as u64, "interval"),
            plain_number(FLASH_READ.value)
        )
    })
}

pub fn page_cache_intervals(profile: &Profile) -> Option<(usize, usize)> {
    let known = profile.intervals.iter().filter_map(|interval| interval.figures.get(Figure::ReadUs));
    let (cached, known) =
        known.fold((0, 0), |(cached, known), us| (cached + usize::from(is_page_cache(us)), known + 1));
    (known > 0).then_some((cached, known))
}

/// Short enough for a line of a terminal.
pub fn interval_words(interval: &Interval) -> String {
    let per_s = |name: &str, value: Option<f64>| Some(format!("{name} {}/s", significant(value?)));
    let redo = interval.figures.get(Figure::RedoBytes);
    let redo = redo.map(|redo| format!("redo {}", with_unit(Figure::RedoBytes, redo)));
    let commits = per_s("commits", interval.figures.get(Figure::Commits));
    [per_s("reads", interval.figures.reads()), redo, commits].into_iter().flatten().join(", ")
}

fn write_list(page: &mut Page, name: &str, lines: impl ExactSizeIterator<Item = String>, noun: &str) {
    let more = lines.len().saturating_sub(MOST_LISTED);
    lines.take(MOST_LISTED).for_each(|line| page.fact(name, &line));
    if more > 0 {
        page.fact("", &format!("and {more} more{noun}"));
    }
}

const FIGURE_HEAD: &str = "Per second, or mean";

fn write_figures(page: &mut Page, summary: &Summary) {
    page.section("Figures");
    if summary.intervals == 1 {
        let row =
            |own: &FigureSummary| [own.figure.title().to_owned(), with_unit(own.figure, own.peak.value)];
        let table = Table::of_numbers(Column::left(FIGURE_HEAD), ["Of the one interval"]);
        return page.table(&table.with_rows(summary.figures.iter().map(row)));
    }
    let [median, p95, peak] = ["Median", "p95", "Peak"].map(Column::right);
    let table = Table::new([Column::left(FIGURE_HEAD), median, p95, peak, Column::left("Peak at")]);
    page.table(&table.with_rows(summary.figures.iter().map(|own| {
        let [median, p95, peak] =
            [&own.median, &own.p95, &own.peak].map(|of| with_unit(own.figure, of.value));
        [own.figure.title().to_owned(), median, p95, peak, begin_of(&own.peak)]
    })));
    page.paragraph(
        "Each figure has its own median, 95th percentile and peak, possibly from different intervals.",
    );
}

/// Seconds matter for intervals shorter than a minute.
fn begin_of(place: &Place) -> String {
    let form = if place.seconds < 60.0 { "%a %Y-%m-%d %H:%M:%S" } else { "%a %Y-%m-%d %H:%M" };
    place.begin.strftime(form).to_string()
}

fn worst_intervals(summary: &Summary) -> Table {
    // Blocks only where requests are unknown.
    let reads = match summary.figure(Figure::ReadRequests) {
        Some(_) => Figure::ReadRequests,
        None => Figure::ReadBlocks,
    };
    let [by, begin, from] = ["By", "Begin", "From"].map(Column::left);
    let mut table = Table::new([by, Column::right("Value"), begin, from.at_most(44)]);
    let figures = [reads, Figure::RedoBytes, Figure::Commits, Figure::DbTime];
    for own in figures.into_iter().filter_map(|figure| summary.figure(figure)) {
        for place in &own.worst {
            let (title, value) = (own.figure.title().to_owned(), with_unit(own.figure, place.value));
            table.row([title, value, begin_of(place), place.source.clone()]);
        }
    }
    table
}

fn by_time(
    summary: &Summary,
    first: &str,
    names: &[String],
    of: fn(&FigureSummary) -> &[Option<f64>],
) -> Table {
    let figures = [
        (Figure::ReadRequests, "Reads/s"),
        (Figure::WriteRequests, "Writes/s"),
        (Figure::RedoBytes, "Redo MB/s"),
        (Figure::Commits, "Commits/s"),
        (Figure::DbTime, "Active"),
    ];
    let known = figures.into_iter().filter_map(|(figure, head)| Some((summary.figure(figure)?, head)));
    let (figures, heads): (Vec<&FigureSummary>, Vec<&str>) = known.unzip();
    let row = |(at, name): (usize, &String)| {
        let values = figures.iter().map(|own| of(own).get(at).copied().flatten()).collect_vec();
        let cells = figures.iter().zip(&values).map(|(own, value)| {
            let scale = if own.figure.unit() == "bytes/s" { 1e-6 } else { 1.0 };
            or_absent(*value, |value| fixed(value * scale, 1))
        });
        let is_known = values.iter().any(Option::is_some);
        is_known.then(|| [name.clone()].into_iter().chain(cells).collect_vec())
    };
    let rows = names.iter().enumerate().filter_map(row).collect_vec();
    let table = Table::of_numbers(Column::left(first), &heads);
    if rows.len() > 1 { table.with_rows(rows) } else { table }
}

fn not_modelled_table(list: &[NotModelled]) -> Table {
    let columns = [Column::left("What"), Column::right("Amount"), Column::left("Share")];
    Table::new(columns).with_rows(list.iter().map(|line| {
        let share = or_absent(line.percent, |share| format!("{} % of {}", percent(share), line.of));
        [line.what.to_owned(), amount(line.unit, line.amount), share]
    }))
}

pub fn profile_diff_text(one: &Profile, other: &Profile, columns: Option<usize>) -> String {
    let mut page = Page::default();
    page.section("Profiles compared");
    for (name, profile) in [("First", one), ("Second", other)] {
        let count = plural(profile.together().intervals.len() as u64, "interval");
        let (subject, source) = (profile.subject.words(), source_words(profile.source));
        page.fact(name, &format!("{subject}: {count}, from {source}"));
    }
    let (Some(first), Some(second)) = (Summary::of(one), Summary::of(other)) else {
        page.paragraph("One of them holds no interval.");
        return page.into_text(columns);
    };
    page.section("Facts");
    let mut table = Table::new(["", "First", "Second"].map(Column::left));
    for (name, of) in FACTS {
        let known = [(one, &first), (other, &second)].map(|(own, summary)| of(&own.subject, Some(summary)));
        if known.iter().any(Option::is_some) {
            let [one, other] = known.map(|value| value.unwrap_or_else(|| NOT_KNOWN.into()));
            table.row([name.to_owned(), one, other]);
        }
    }
    page.table(&table);
    page.section("Figures");
    let heads = ["p95", "p95, second", "%", "Peak", "Peak, second", "%"];
    let mut table = Table::of_numbers(Column::left(FIGURE_HEAD), heads);
    for change in diff(&first, &second) {
        let pair = |of: [f64; 2]| {
            let [one, other] = of.map(|value| with_unit(change.figure, value));
            [one, other, or_absent(Change::percent(of), signed_percent)]
        };
        table.row([&[change.figure.title().to_owned()][..], &pair(change.p95), &pair(change.peak)].concat());
    }
    page.table(&table);
    page.into_text(columns)
}

const OVER_TIME: [(Figure, Colour); 7] = [
    (Figure::ReadRequests, Colour::Reads),
    (Figure::ReadBlocks, Colour::Reads),
    (Figure::WriteBlocks, Colour::Updates),
    (Figure::RedoBytes, Colour::Redo),
    (Figure::Commits, Colour::Updates),
    (Figure::DbTime, Colour::Database),
    (Figure::ReadUs, Colour::Device),
];
const BY_HOUR: [Figure; 3] = [Figure::ReadRequests, Figure::RedoBytes, Figure::Commits];

pub fn profile_page(profiles: &[Profile]) -> String {
    let names = profiles.iter().map(|profile| profile.subject.words()).join(", ");
    let (heading, lead) = match profiles {
        [only] => (title(only), String::new()),
        many => {
            let names = format!("{}: {names}", plural(many.len() as u64, "database"));
            ("Profiles".to_owned(), lead(&names))
        }
    };
    let section = |(profile, nth): (&Profile, u32)| {
        let whole = profile.together();
        let title = if profiles.len() > 1 { profile.subject.words() } else { String::new() };
        let maps: String = BY_HOUR.iter().filter_map(|figure| week_map(&whole, *figure)).collect();
        let maps = if maps.is_empty() { maps } else { format!("<div class=\"part\">\n{maps}</div>\n") };
        Section::new(format!("profile-{nth}"), title)
            .linked_as("")
            .part("", |page| write_profile(page, profile))
            .raw(&maps)
            .charts(charts(&whole, nth))
    };
    View {
        title: format!("Profile: {names}"),
        heading,
        lead,
        sections: profiles.iter().zip(1..).map(section).collect(),
        source: "From the intervals of the profile alone.".into(),
    }
    .html()
}

fn charts(profile: &Profile, nth: u32) -> Vec<Chart> {
    let is_known = |(figure, _): &&(Figure, Colour)| {
        profile.intervals.iter().any(|own| own.figures.get(*figure).is_some())
    };
    let over_time = OVER_TIME.iter().filter(is_known);
    let over_time = over_time.map(|(figure, colour)| over_time_chart(profile, *figure, *colour, nth));
    let summary = Summary::of(profile);
    let by_hour = BY_HOUR.iter().filter_map(|figure| by_hour_chart(summary.as_ref()?, *figure, nth));
    over_time.chain(by_hour).collect()
}

fn axis(figure: Figure) -> (Axis, f64) {
    match figure.unit() {
        "us" => (Axis::linear("mean", Unit::Seconds), 1e-6),
        "bytes/s" => (Axis::linear("MB/s", Unit::Plain), 1e-6),
        "s/s" => (Axis::linear("sessions", Unit::Plain), 1.0),
        unit => (Axis::linear(unit, Unit::Count), 1.0),
    }
}

fn over_time_chart(profile: &Profile, figure: Figure, colour: Colour, nth: u32) -> Chart {
    let first = profile.intervals.first().map(|first| first.begin);
    let hours = |at: DateTime| first.map_or(0.0, |first| at.duration_since(first).as_secs_f64() / 3600.0);
    let (y_axis, scale) = axis(figure);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for interval in &profile.intervals {
        let (begin, end) = (hours(interval.begin), hours(interval.end()));
        if x.last().is_some_and(|last| begin - last > 0.05 * (end - begin)) {
            x.push(begin);
            y.push(None);
        }
        x.extend([begin, end]);
        y.extend([interval.figures.get(figure).map(|value| value * scale); 2]);
    }
    let (first, last) = (profile.intervals.first(), profile.intervals.last());
    let ticks = first.zip(last).map(|(first, last)| ticks(first.begin, last.end())).unwrap_or_default();
    let labels = ticks.into_iter().map(|(at, label)| (hours(at), label));
    let line = Trace::Line(Line::new(figure.title(), colour, x, y));
    let drawing = Drawing::new(Axis::linear("begin", Unit::Plain).named(labels), y_axis, vec![line]);
    Chart {
        id: format!("over-time-{}-{nth}", figure.name()),
        title: figure.title().to_owned(),
        about: "The mean of each interval; nothing where there is none.".into(),
        source: source_words(profile.source).to_owned(),
        body: Ok(Drawing { is_timeline: true, ..drawing }),
    }
}

fn ticks(from: DateTime, to: DateTime) -> Vec<(DateTime, String)> {
    const MOST: f64 = 6.0;
    const MINUTE: i32 = 60;
    const HOUR: i32 = 60 * MINUTE;
    const DAY: i32 = 24 * HOUR;
    let parts = [1, 2, 5, 10, 15, 30];
    let hours = [1, 2, 3, 6, 12].map(|hours| hours * HOUR);
    let days = (0..12).map(|doubled| DAY << doubled);
    let mut steps = parts.into_iter().chain(parts.map(|minutes| minutes * MINUTE)).chain(hours).chain(days);
    let seconds = to.duration_since(from).as_secs_f64();
    let Some(step) = steps.find(|step| seconds / f64::from(*step) <= MOST) else { return Vec::new() };
    let form = match step {
        ..MINUTE => "%H:%M:%S",
        MINUTE..HOUR => "%H:%M",
        HOUR..DAY => "%a %m-%d\n%H:%M",
        _ => "%a %Y-%m-%d",
    };
    let midnight = from.date().to_datetime(jiff::civil::Time::midnight());
    let past = midnight.duration_until(from).as_secs_f64() / f64::from(step);
    let at = |nth: i64| midnight.checked_add(jiff::SignedDuration::from_secs(nth * i64::from(step))).ok();
    let round = (past.ceil() as i64..).map_while(at).take_while(|at| *at <= to);
    round.map(|at| (at, at.strftime(form).to_string())).collect()
}

fn by_hour_chart(summary: &Summary, figure: Figure, nth: u32) -> Option<Chart> {
    let (y, scale) = axis(figure);
    let bar = |(hour, value): (u32, &Option<f64>)| {
        let value = (*value)?;
        let hover = format!("{hour:02}:00 to {:02}:00: {}", hour + 1, with_unit(figure, value));
        Some(Bar::new(f64::from(hour) + 0.5, 0.9, value * scale, hover))
    };
    let bars: Vec<Bar> = (0..).zip(&summary.figure(figure)?.by_hour).filter_map(bar).collect();
    let x = Axis::linear("hour of the day", Unit::Plain).ranging(0.0, 24.0);
    (bars.len() > 1).then(|| Chart {
        id: format!("by-hour-{}-{nth}", figure.name()),
        title: format!("{} by hour of the day", figure.title()),
        about: "Means over all days of the intervals whose middle lies in the hour.".into(),
        source: "the intervals of the profile".into(),
        body: Ok(Drawing::new(x, y, vec![Trace::Bars(Bars::new(figure.title(), Colour::Variant(0), bars))])),
    })
}

/// A table needs no script. `None` below 24 hours.
fn week_map(profile: &Profile, figure: Figure) -> Option<String> {
    // Value times seconds, and seconds, of each hour of each day.
    let mut sums = [[(0.0, 0.0); 24]; 7];
    for interval in &profile.intervals {
        let middle = interval.middle();
        let day = usize::from(middle.weekday().since(Weekday::Monday).unsigned_abs());
        let cell = &mut sums[day][usize::from(middle.hour().unsigned_abs())];
        if let Some(value) = interval.figures.get(figure) {
            *cell = (cell.0 + value * interval.seconds, cell.1 + interval.seconds);
        }
    }
    let means = sums.map(|day| day.map(|(sum, seconds)| (seconds > 0.0).then(|| sum / seconds)));
    let most = means.iter().flatten().flatten().copied().fold(0.0, f64::max);
    if means.iter().flatten().flatten().count() < 24 || most <= 0.0 {
        return None;
    }
    let cell = |value: &Option<f64>| match value {
        None => "<td></td>".to_owned(),
        Some(value) => {
            let (shade, title) = ((5.0 * value / most).ceil().clamp(0.0, 5.0), with_unit(figure, *value));
            format!("<td class=\"heat h{shade}\" title=\"{}\"></td>", escape::text(&title))
        }
    };
    let row = |(name, day): (&str, &[Option<f64>; 24])| {
        format!("<tr><th>{name}</th>{}</tr>\n", day.iter().map(cell).collect::<String>())
    };
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let rows: String = days.into_iter().zip(&means).map(row).collect();
    let hours: String = (0..24).map(|hour| format!("<th>{hour:02}</th>")).collect();
    let title = format!("{} by hour and day, up to {}", figure.title(), with_unit(figure, most));
    Some(format!(
        "<h3>{}</h3>\n<table class=\"week\"><tr><th></th>{hours}</tr>\n{rows}</table>\n",
        escape::text(&title)
    ))
}

#[cfg(test)]
mod tests {
    use slob_demand::{Sample, Subject, collect};

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
    fn a_single_profile_has_one_heading_and_each_of_several_its_own() {
        let alone = profile_page(&[profile("PROD")]);
        assert!(alone.contains("<h1>Profile of PROD</h1>"));
        assert_eq!(alone.split("<main>").nth(1).unwrap().matches(">PROD<").count(), 0);
        let both = profile_page(&[profile("PROD"), profile("TEST")]);
        for name in ["PROD", "TEST"] {
            assert_eq!(both.matches(&format!("<h2>{name}</h2>")).count(), 1);
        }
    }

    #[test]
    fn ticks_of_short_and_long_watches_are_round_and_differ() {
        let labels = |to: &str| -> Vec<String> {
            let [from, to] = ["2026-11-23T10:00:07", to].map(|at| at.parse().unwrap());
            ticks(from, to).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(
            labels("2026-11-23T10:00:17"),
            ["10:00:08", "10:00:10", "10:00:12", "10:00:14", "10:00:16"]
        );
        assert_eq!(labels("2026-11-23T10:05:00"), ["10:01", "10:02", "10:03", "10:04", "10:05"]);
        let day = ["Mon 11-23\n12:00", "Mon 11-23\n18:00", "Tue 11-24\n00:00", "Tue 11-24\n06:00"];
        assert_eq!(labels("2026-11-24T10:00:00"), day);
        for seconds in (2..3_000_000).step_by(997) {
            let from: DateTime = "2026-11-23T10:00:07.3".parse().unwrap();
            let ticks = ticks(from, from.saturating_add(jiff::SignedDuration::from_secs(seconds)));
            let mut labels: Vec<_> = ticks.iter().map(|(_, label)| label).collect();
            labels.dedup();
            assert!((1..=7).contains(&labels.len()) && labels.len() == ticks.len(), "{seconds}: {labels:?}");
        }
    }

    #[test]
    fn reads_below_the_latency_of_flash_are_said_to_be_the_page_caches() {
        let mut cached = profile("PROD");
        assert_eq!(page_cache_intervals(&cached), None);
        cached.intervals[0].figures.set(Figure::ReadUs, 23.0);
        let text = profile_text(&cached, None);
        assert!(
            text.contains("it served reads in 1 of 1 interval: their mean read is shorter than flash"),
            "{text}"
        );
        cached.intervals[0].figures.set(Figure::ReadUs, 400.0);
        assert_eq!(page_cache_intervals(&cached), Some((0, 1)));
        assert!(!profile_text(&cached, None).contains("Page cache"));
    }

    #[test]
    fn what_a_planner_asks_and_the_source_lacks_is_not_known() {
        let mut profile = profile("PROD");
        let text = profile_text(&profile, None);
        for (name, _) in FACTS {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line.ends_with(NOT_KNOWN), "{line}");
        }
        profile.subject.facts.cache_bytes = Some(728 << 20);
        profile.subject.facts.working_set = Some(WorkingSet::Estimate {
            bytes: 360 << 20,
            bound: slob_measure::Bound::About,
            method: "x".into(),
        });
        let text = profile_text(&profile, None);
        assert!(text.contains("728.0 MiB") && text.contains("SCALE x schemas of about 360.0 MiB"), "{text}");
    }
}

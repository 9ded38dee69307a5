//! A profile as text.

use slob_profile::{Change, Figure, FigureSummary, Profile, Summary, diff, length, not_modelled};

use super::words;
use crate::format::{ABSENT, fixed, or_absent, percent, plural, signed_percent};
use crate::page::{Column, Page, Table};

/// What is looked at first: its worst intervals are named.
const WORST: [Figure; 5] =
    [Figure::ReadRequests, Figure::ReadBlocks, Figure::RedoBytes, Figure::Commits, Figure::DbTime];
/// What is shown by hour and by weekday.
const BY_TIME: [(Figure, &str); 5] = [
    (Figure::ReadRequests, "Reads/s"),
    (Figure::WriteRequests, "Writes/s"),
    (Figure::RedoBytes, "Redo MB/s"),
    (Figure::Commits, "Commits/s"),
    (Figure::DbTime, "Active"),
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// So much that is left out is named one by one.
const MOST_NAMED: usize = 12;

/// A profile: what it is of, its figures, when they were highest, what it can't show.
#[must_use]
pub fn profile_text(profile: &Profile) -> String {
    let mut page = Page::new();
    page.section(&title(profile));
    all(&mut page, profile);
    page.into_text()
}

/// What is said above it.
pub(super) fn title(profile: &Profile) -> String {
    format!("Profile of {}", profile.subject.words())
}

/// All of it as blocks of a page, without its title.
pub(super) fn all(page: &mut Page, profile: &Profile) {
    head(page, profile);
    let Some(summary) = Summary::of(profile) else {
        page.paragraph("No interval is left: there is nothing to show.");
        return;
    };
    figures(page, &summary);
    worst(page, &summary);
    by_time(page, &summary);
    hides(page, &summary);
    beside(page, profile);
}

/// What it is of, and what was left out.
fn head(page: &mut Page, profile: &Profile) {
    let subject = &profile.subject;
    if let Some(id) = &subject.id {
        page.fact("Number", id);
    }
    page.fact("From", words::source(profile.source));
    if let Some(version) = &subject.version {
        page.fact("Version", version);
    }
    if let Some(summary) = Summary::of(profile) {
        let [shortest, _, longest] = summary.lengths_s.map(length);
        let lengths = if shortest == longest { shortest } else { format!("{shortest} to {longest}") };
        let (from, to) = (summary.from.strftime("%Y-%m-%d %H:%M"), summary.to.strftime("%Y-%m-%d %H:%M"));
        let count = plural(summary.intervals as u64, "interval");
        page.fact("Intervals", &format!("{count} of {lengths}, {from} to {to}"));
        for gap in summary.gaps.iter().take(MOST_NAMED) {
            let moment = |at: jiff::civil::DateTime| at.strftime("%Y-%m-%d %H:%M:%S").to_string();
            page.fact("Gap", &format!("{} to {}", moment(gap.from), moment(gap.to)));
        }
        if let Some(more) = summary.gaps.len().checked_sub(MOST_NAMED + 1) {
            page.fact("", &format!("and {} more gaps", more + 1));
        }
    }
    let instances = profile.instances();
    if !instances.is_empty() {
        let of = if instances.len() > 1 { "together: figures are those of all" } else { "alone" };
        page.fact("Instances", &format!("{} ({of})", instances.join(", ")));
    }
    let whole = profile.together();
    for left in whole.left_out.iter().take(MOST_NAMED) {
        page.fact("Left out", &format!("{}: {}", left.source, left.why));
    }
    if let Some(more) = whole.left_out.len().checked_sub(MOST_NAMED + 1) {
        page.fact("", &format!("and {} more", more + 1));
    }
}

fn figures(page: &mut Page, summary: &Summary) {
    page.section("Figures");
    if summary.intervals == 1 {
        let mut table =
            Table::new([Column::left("Per second, or mean"), Column::right("Of the one interval")]);
        for own in &summary.figures {
            table.row([own.figure.title().to_owned(), words::shown(own.figure, own.peak.value)]);
        }
        page.table(&table);
        return;
    }
    let columns = ["Median", "p95", "Peak"].map(Column::right);
    let columns = [vec![Column::left("Per second, or mean")], columns.into(), vec![Column::left("Peak at")]];
    let mut table = Table::new(columns.concat());
    for own in &summary.figures {
        let cell = |value: f64| words::shown(own.figure, value);
        table.row([
            own.figure.title().to_owned(),
            cell(own.median.value),
            cell(own.p95.value),
            cell(own.peak.value),
            words::moment(&own.peak),
        ]);
    }
    page.table(&table);
    page.paragraph(
        "Each figure has its own median, 95th percentile and peak, possibly from different intervals.",
    );
}

fn worst(page: &mut Page, summary: &Summary) {
    if summary.intervals < 2 {
        return;
    }
    page.section("Worst intervals");
    let mut table = Table::new([
        Column::left("By"),
        Column::right("Value"),
        Column::left("Begin"),
        Column::left("From").at_most(44),
    ]);
    let reads_by_requests = summary.figure(Figure::ReadRequests).is_some();
    for own in WORST.iter().filter_map(|figure| summary.figure(*figure)) {
        if own.figure == Figure::ReadBlocks && reads_by_requests {
            continue;
        }
        for place in &own.worst {
            table.row([
                own.figure.title().to_owned(),
                words::shown(own.figure, place.value),
                words::moment(place),
                place.source.clone(),
            ]);
        }
    }
    page.table(&table);
}

fn by_time(page: &mut Page, summary: &Summary) {
    let shown: Vec<(&FigureSummary, &str)> =
        BY_TIME.iter().filter_map(|(figure, head)| Some((summary.figure(*figure)?, *head))).collect();
    let mut part = |title: &str, first: &str, names: &[String], of: fn(&FigureSummary) -> &[Option<f64>]| {
        let known = |at: usize| shown.iter().any(|(own, _)| of(own).get(at).copied().flatten().is_some());
        let places: Vec<usize> = (0..names.len()).filter(|at| known(*at)).collect();
        if places.len() < 2 {
            return;
        }
        page.section(title);
        let columns = shown.iter().map(|(_, head)| Column::right(head));
        let mut table = Table::new([Column::left(first)].into_iter().chain(columns).collect::<Vec<_>>());
        for at in places {
            let cells = shown.iter().map(|(own, _)| {
                let scale = if own.figure.unit() == "bytes/s" { 1e-6 } else { 1.0 };
                or_absent(of(own).get(at).copied().flatten(), |value| fixed(value * scale, 1))
            });
            table.row([names[at].clone()].into_iter().chain(cells).collect::<Vec<_>>());
        }
        page.table(&table);
    };
    let hours: Vec<String> = (0..24).map(|hour| format!("{hour:02}:00")).collect();
    part("By hour of the day (means)", "Hour", &hours, |own| &own.by_hour);
    part("By day of the week (means)", "Day", &DAYS.map(str::to_owned), |own| &own.by_weekday);
}

fn hides(page: &mut Page, summary: &Summary) {
    page.section("What this does not show");
    summary.hides.iter().for_each(|sentence| page.hanging("  -", sentence));
    page.hanging(
        "  -",
        "How much of the data was active: counters do not tell, and the size of a test has to be chosen.",
    );
}

/// What a test made from this leaves out, at the peak by reads.
fn beside(page: &mut Page, profile: &Profile) {
    let whole = profile.together();
    let reads = |interval: &&slob_profile::Interval| interval.figures.reads().unwrap_or(0.0);
    let Some(peak) = whole.intervals.iter().max_by(|one, other| reads(one).total_cmp(&reads(other))) else {
        return;
    };
    let list = not_modelled(&peak.figures, profile.subject.block_bytes);
    if list.is_empty() {
        return;
    }
    page.section("Not in a test that is made from this (at the peak of reads)");
    page.table(&not_modelled_table(&list));
}

/// What the method does not model.
pub(super) fn not_modelled_table(list: &[slob_profile::NotModelled]) -> Table {
    let mut table = Table::new([Column::left("What"), Column::right("Amount"), Column::left("Share")]);
    for line in list {
        let share = line
            .percent
            .map_or_else(|| ABSENT.to_owned(), |share| format!("{} % of {}", percent(share), line.of));
        table.row([line.what.to_owned(), words::amount(line.unit, line.amount), share]);
    }
    table
}

/// Two profiles side by side.
#[must_use]
pub fn profile_diff_text(one: &Profile, other: &Profile) -> String {
    let mut page = Page::new();
    page.section("Profiles compared");
    for (name, profile) in [("First", one), ("Second", other)] {
        let whole = profile.together();
        let count = plural(whole.intervals.len() as u64, "interval");
        page.fact(
            name,
            &format!("{}: {count}, from {}", profile.subject.words(), words::source(profile.source)),
        );
    }
    let (Some(first), Some(second)) = (Summary::of(one), Summary::of(other)) else {
        page.paragraph("One of them holds no interval.");
        return page.into_text();
    };
    page.section("Figures");
    let heads = ["p95", "p95, second", "%", "Peak", "Peak, second", "%"].map(Column::right);
    let mut table = Table::new([vec![Column::left("Per second, or mean")], heads.into()].concat());
    for change in diff(&first, &second) {
        let pair = |of: [f64; 2]| {
            let [one, other] = of.map(|value| words::shown(change.figure, value));
            [one, other, or_absent(Change::percent(of), signed_percent)]
        };
        table.row(
            [vec![change.figure.title().to_owned()], pair(change.p95).into(), pair(change.peak).into()]
                .concat(),
        );
    }
    page.table(&table);
    page.into_text()
}

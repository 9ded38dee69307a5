//! Names that a column of a text report cut where it ends. HTML has them whole.

use std::collections::BTreeMap;

use crate::kind::Format;

/// Columns of events: histograms from 12.2 on and before, Statspack, top events and comparisons, Statspack's top events.
pub(crate) const EVENTS: [usize; 5] = [25, 26, 28, 30, 41];
/// Columns of instance activity: comparisons, AWR, Statspack.
pub(crate) const STATISTICS: [usize; 3] = [30, 32, 33];
/// Columns of the time model: Statspack, AWR, comparisons.
pub(crate) const TIME_MODEL: [usize; 3] = [35, 42, 45];
/// Columns of the operating system's statistics: single reports, comparisons.
pub(crate) const OS_STATISTICS: [usize; 2] = [25, 35];
/// Columns of the functions of I/O: AWR, Statspack.
pub(crate) const FUNCTIONS: [usize; 2] = [15, 18];

/// What a name stands for among the lines of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Found<'a, T> {
    /// For none of them.
    None,
    /// For this one.
    One(&'a T),
    /// For any of several, whose names the column cut to the same: nobody can tell which.
    Several,
}

impl<'a, T> Found<'a, T> {
    /// The line, if it is known which.
    pub(crate) fn one(self) -> Option<&'a T> {
        match self {
            Self::One(line) => Some(line),
            Self::None | Self::Several => None,
        }
    }
}

/// Whether a name is what a column of one of these widths leaves of another one.
pub(crate) fn is_cut(name: &str, whole: &str, widths: &[usize]) -> bool {
    // Where a column ends at a blank, the name is shorter by it.
    let is_left = |width: &usize| whole.get(..*width).is_some_and(|left| left.trim_end() == name);
    whole.len() > name.len()
        && whole.starts_with(name)
        && widths.iter().any(|width| *width < whole.len() && is_left(width))
}

/// The line of a name: the one of just this name, or else the only one where text cut it, or where the name asked for
/// was taken from such a text.
pub(crate) fn find<'a, T>(
    lines: &'a [T],
    name: impl Fn(&T) -> &str,
    wanted: &str,
    (format, widths): (Format, &[usize]),
) -> Found<'a, T> {
    if let Some(line) = lines.iter().find(|line| name(line) == wanted) {
        return Found::One(line);
    }
    let fits = |line: &&T| {
        let is_of_text = format == Format::Text && is_cut(name(line), wanted, widths);
        is_of_text || is_cut(wanted, name(line), widths)
    };
    let mut fitting = lines.iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(line), None) => Found::One(line),
        (Some(_), Some(_)) => Found::Several,
        (None, _) => Found::None,
    }
}

/// A name with the lines that two reports have of it.
pub(crate) type Paired<'a, T> = (&'a str, [Option<&'a T>; 2]);

/// The lines of two reports, side by side: those of the same name, and where text cut it the only one that it can be,
/// under the longer of their names. Of lines with the same name the first is taken.
pub(crate) fn pairs<'a, T>(
    [first, second]: [(&'a [T], Format); 2],
    name: impl Fn(&'a T) -> &'a str,
    widths: &[usize],
) -> Vec<Paired<'a, T>> {
    let index = |lines: &'a [T]| -> BTreeMap<&'a str, &'a T> {
        lines.iter().rev().map(|line| (name(line), line)).collect()
    };
    let indices = [index(first.0), index(second.0)];
    let alone = |lines: &'a [T], others: &BTreeMap<&'a str, &'a T>| -> Vec<&'a str> {
        lines.iter().map(&name).filter(|name| !others.contains_key(name)).collect()
    };
    let (of_first, of_second) = (alone(first.0, &indices[1]), alone(second.0, &indices[0]));
    let is_same = |one: &str, other: &str| {
        (first.1 == Format::Text && is_cut(one, other, widths))
            || (second.1 == Format::Text && is_cut(other, one, widths))
    };
    let mut partners: BTreeMap<&str, &str> = BTreeMap::new();
    for one in &of_first {
        if let Some(other) = only(of_second.iter().filter(|other| is_same(one, other)))
            && only(of_first.iter().filter(|one| is_same(one, other))).is_some()
        {
            partners.insert(one, other);
            partners.insert(other, one);
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    let all = first.0.iter().chain(second.0).map(&name).filter(|name| seen.insert(*name));
    let of_side = |own: &'a str, side: usize| {
        indices[side].get(own).or_else(|| indices[side].get(partners.get(own)?)).copied()
    };
    all.filter(|own| indices[0].contains_key(own) || !partners.contains_key(own))
        .map(|own| {
            let longer = partners.get(own).copied().filter(|other| other.len() > own.len()).unwrap_or(own);
            (longer, [of_side(own, 0), of_side(own, 1)])
        })
        .collect()
}

/// The item of an iterator that has no other.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let item = items.next()?;
    items.next().is_none().then_some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(lines: &'a [&'a str], wanted: &str, format: Format) -> Found<'a, &'a str> {
        super::find(lines, |line| line, wanted, (format, &EVENTS))
    }

    #[test]
    fn a_name_is_cut_only_where_a_column_ends_and_only_in_text() {
        let whole = "control file sequential read";
        for cut in ["control file sequential r", "control file sequential re"] {
            assert_eq!(find(&[cut], whole, Format::Text), Found::One(&cut));
            assert_eq!(find(&[cut], whole, Format::Html), Found::None);
        }
        assert_eq!(find(&["control file sequential rea"], whole, Format::Text), Found::None);
        // The 28th character is a blank.
        let (whole, cut) = ("log file switch (checkpoint incomplete)", "log file switch (checkpoint");
        assert_eq!(find(&[cut], whole, Format::Text), Found::One(&cut));
    }

    #[test]
    fn the_same_name_goes_before_one_that_begins_with_it_and_two_that_could_be_it_are_none() {
        let [long, whole] = ["cell single block physical read: RDMA", "cell single block physical read"];
        assert_eq!(find(&[long, whole], whole, Format::Html), Found::One(&whole));
        assert_eq!(find(&[long], whole, Format::Html), Found::None);
        let cut = "cell single block physical";
        assert_eq!(find(&[cut], whole, Format::Text), Found::One(&cut));
        assert_eq!(find(&[cut, cut], whole, Format::Text), Found::Several);
    }

    #[test]
    fn lines_of_text_and_html_are_paired_where_only_one_fits() {
        let text = ["DB CPU", "bytes received via SQL*Net from", "redo synch time overhead count ("];
        let html = [
            "redo synch time overhead count (<2 msec)",
            "redo synch time overhead count (<8 msec)",
            "bytes received via SQL*Net from client",
            "DB CPU",
        ];
        let names = |sides| {
            let pairs: Vec<Paired<'_, &str>> = pairs(sides, |line| line, &STATISTICS);
            pairs.into_iter().map(|(name, [one, other])| (name, one.is_some(), other.is_some())).collect()
        };
        let both: Vec<(&str, bool, bool)> = names([(&text, Format::Text), (&html, Format::Html)]);
        let alone = [(text[2], true, false), (html[0], false, true), (html[1], false, true)];
        assert_eq!(both[..2], [("DB CPU", true, true), (html[2], true, true)]);
        assert_eq!(both[2..], alone);
        let turned: Vec<(&str, bool, bool)> = names([(&html, Format::Html), (&text, Format::Text)]);
        assert_eq!(turned.iter().filter(|(_, one, other)| *one && *other).count(), 2, "{turned:?}");
        // Names of HTML are whole: what begins alike is something else.
        let cut = ["bytes received via SQL*Net from"];
        let whole: Vec<(&str, bool, bool)> = names([(&cut, Format::Html), (&html, Format::Html)]);
        assert_eq!(whole.len(), 5);
    }
}

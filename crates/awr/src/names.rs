//! Names that a column of a text report cut where it ends. HTML has them whole.

use crate::kind::Format;

/// Columns of events: histograms from 12.2 on and before, Statspack, top events and comparisons, Statspack's top events.
pub(crate) const EVENTS: [usize; 5] = [25, 26, 28, 30, 41];
/// Columns of instance activity: comparisons, AWR, Statspack.
pub(crate) const STATISTICS: [usize; 3] = [30, 32, 33];

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
    widths
        .iter()
        .any(|width| *width < whole.len() && whole.get(..*width).is_some_and(|left| left.trim_end() == name))
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
        (None, _) => Found::None,
        (Some(line), None) => Found::One(line),
        (Some(_), Some(_)) => Found::Several,
    }
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
}

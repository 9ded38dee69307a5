//! Bounds of figures, as `read-p99 < 2ms`: the one grammar of gates, GATE, and the limits of searches and plans.

use std::fmt;
use std::str::FromStr;

use itertools::Itertools;
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use crate::figure::{self, Figure, Lead};
use crate::format::{Format, fixed, significant};
use crate::table::Cell;

pub fn figure_named(name: &str) -> Result<&'static Figure, NoFigure> {
    let wanted = plain(name);
    let longer = [("", ""), ("", "operation_"), ("read_", "physical_read_"), ("redo_", "redo_sync_")];
    let known = longer.into_iter().find_map(|(begin, instead)| {
        let whole = format!("{instead}{}", wanted.strip_prefix(begin)?);
        figure::named(&whole).or_else(|| figure::named(&format!("{whole}_us")))
    });
    let by_short = || figure::ALL.iter().find(|figure| plain(figure.short) == wanted);
    known.or_else(by_short).ok_or_else(|| NoFigure { name: name.trim().to_owned() })
}

/// A figure as it was asked for: `p99` is of operations, or of responses where these lead. `operation-p99` is of operations
/// everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub figure: &'static Figure,
    follows_lead: bool,
}

impl Asked {
    pub fn led_by(self, lead: Lead) -> Self {
        let figure = if self.follows_lead { lead.instead_of(self.figure) } else { self.figure };
        Self { figure, ..self }
    }
}

impl FromStr for Asked {
    type Err = NoFigure;

    fn from_str(name: &str) -> Result<Self, NoFigure> {
        Ok(Self { figure: figure_named(name)?, follows_lead: !plain(name).starts_with("operation") })
    }
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace(['-', ' '], "_").replace("99.9", "999")
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no figure '{name}'{near}: `slob list --columns help` lists them, beside the short ones: iops, read-p99, p99",
    near = did_you_mean(name, figure::ALL.iter().map(|figure| figure.name)))]
pub struct NoFigure {
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr)]
enum Side {
    #[strum(serialize = "<=")]
    AtMost,
    #[strum(serialize = ">=")]
    AtLeast,
    #[strum(serialize = "<")]
    Below,
    #[strum(serialize = ">")]
    Above,
}

#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub asked: Asked,
    side: Side,
    pub amount: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBound {
    #[error("'{0}' is no bound; use one such as 'read-p99 < 2ms' or 'iops >= 40000'")]
    Form(String),
    #[error(transparent)]
    Name(#[from] NoFigure),
    #[error("'{amount}' is no amount of {figure}; its unit is {unit}")]
    Amount { amount: String, figure: &'static str, unit: &'static str },
    #[error("'{amount}' has no unit; say which, such as {amount}us, {amount}ms or {amount}s")]
    NoUnit { amount: String },
}

impl Bound {
    /// The bound as it counts for runs with this lead.
    pub fn led_by(self, lead: Lead) -> Self {
        Self { asked: self.asked.led_by(lead), ..self }
    }

    pub fn holds(&self, value: f64) -> bool {
        match self.side {
            Side::AtMost => value <= self.amount,
            Side::AtLeast => value >= self.amount,
            Side::Below => value < self.amount,
            Side::Above => value > self.amount,
        }
    }

    /// True if all that is less than a value that holds does, too.
    pub fn is_upper(&self) -> bool {
        matches!(self.side, Side::AtMost | Side::Below)
    }

    /// Shows enough digits to tell the value from the amount.
    pub fn shown_beside(&self, value: f64) -> String {
        const MOST_DECIMALS: usize = 12;
        let words = shown(self.asked.figure, value);
        if value == self.amount || words != shown(self.asked.figure, self.amount) {
            return words;
        }
        let longer =
            |decimals| Some(fixed(value, decimals)).filter(|number| *number != fixed(self.amount, decimals));
        match (1..=MOST_DECIMALS).find_map(longer) {
            Some(number) => format!("{number} {}", self.asked.figure.unit).trim_end().to_owned(),
            None => words,
        }
    }
}

#[derive(Clone, Debug, derive_more::Display)]
#[display("{text}")]
pub struct LatencyLimit {
    text: String,
    bound: Bound,
}

impl LatencyLimit {
    pub fn us(&self) -> f64 {
        self.bound.amount
    }

    /// The figure that the limit is of in runs with this lead.
    pub fn figure_in(&self, lead: Lead) -> &'static Figure {
        self.bound.asked.led_by(lead).figure
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLimit {
    #[error(
        "'{0}' is not a limit; use WHAT=TIME such as p99=2ms, mean=500us, read-p99=2ms or response-p99=10ms"
    )]
    Form(String),
    #[error("'{0}' is not a limit; use WHAT=TIME such as p99=2ms: {1}")]
    Bound(String, BadBound),
}

impl PartialEq for LatencyLimit {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl FromStr for LatencyLimit {
    type Err = BadLimit;

    fn from_str(text: &str) -> Result<Self, BadLimit> {
        let text = text.trim().to_owned();
        // `p99=2ms` is the older form.
        let is_older = !text.contains(['<', '>']);
        let whole = if is_older { text.replacen('=', "<=", 1) } else { text.clone() };
        let bound: Bound = match whole.parse() {
            Ok(bound) => bound,
            Err(BadBound::Form(_)) => return Err(BadLimit::Form(text)),
            Err(error) => return Err(BadLimit::Bound(text, error)),
        };
        let Bound { asked: Asked { figure, .. }, side, amount: us } = bound;
        match figure.unit == "us" && matches!(side, Side::AtMost | Side::Below) && us > 0.0 {
            true => Ok(Self { text, bound }),
            false => Err(BadLimit::Form(text)),
        }
    }
}

pub fn shown(figure: &Figure, value: f64) -> String {
    match figure.unit {
        "us" => Cell::Number(value, Format::Duration).show(),
        "" => significant(value),
        unit => format!("{} {unit}", significant(value)),
    }
}

/// A duration needs a unit, unless the figure's name was typed with it.
fn amount(figure: &'static Figure, name: &str, text: &str) -> Result<f64, BadBound> {
    let bad = || BadBound::Amount { amount: text.to_owned(), figure: figure.name, unit: figure.unit };
    let end = text.find(|char: char| !matches!(char, '0'..='9' | '.' | '-' | '+')).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let number = || number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(bad);
    match figure.unit {
        "us" if unit.is_empty() && !plain(name).ends_with("_us") => {
            number()?;
            Err(BadBound::NoUnit { amount: text.to_owned() })
        }
        "us" => slob_awr::duration_us(text, Some(1.0)).map(|duration| duration.value).ok_or_else(bad),
        own if unit.is_empty() || unit.eq_ignore_ascii_case(own) => number(),
        _ => Err(bad()),
    }
}

impl FromStr for Bound {
    type Err = BadBound;

    fn from_str(text: &str) -> Result<Self, BadBound> {
        let parts = Side::iter().find_map(|side| Some((side, text.split_once(<&str>::from(side))?)));
        let (side, (name, typed)) = parts.ok_or_else(|| BadBound::Form(text.to_owned()))?;
        let asked: Asked = name.parse()?;
        Ok(Self { asked, side, amount: amount(asked.figure, name.trim(), typed.trim())? })
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.asked.figure.name,
            <&str>::from(self.side),
            shown(self.asked.figure, self.amount)
        )
    }
}

/// The names most similar to `wanted`, the best first: those that contain it, then those with a similar spelling.
pub fn similar_names<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 5;
    /// Least similarity (Jaro-Winkler, 0 to 1).
    const SIMILAR: f64 = 0.75;
    let similarity = |name: &str| {
        let contains = !wanted.is_empty() && name.contains(wanted);
        strsim::jaro_winkler(wanted, name) + if contains { 1.0 } else { 0.0 }
    };
    let similar = names.map(|name| (similarity(name), name)).filter(|(similarity, _)| *similarity >= SIMILAR);
    let best_first = similar.sorted_by(|a, b| b.0.total_cmp(&a.0)).map(|(_, name)| name);
    best_first.dedup().take(MOST).collect()
}

/// ` (did you mean sessions?)`; empty without similar names.
pub fn did_you_mean(wanted: &str, names: impl Iterator<Item = &'static str>) -> String {
    let near = similar_names(wanted, names).join(", ");
    if near.is_empty() { String::new() } else { format!(" (did you mean {near}?)") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("read-p99 < 2ms", "physical_read_p99_us < 2.00 ms")]
    #[case("iops>=40000", "physical_reads_per_s >= 40,000 blocks/s")]
    #[case("operation_p99_us <= 1500", "operation_p99_us <= 1.50 ms")]
    #[case("operation_p99 < 2ms", "operation_p99_us < 2.00 ms")]
    #[case("operation-p99-US < 1500", "operation_p99_us < 1.50 ms")]
    #[case("p99.9 < 1s", "operation_p999_us < 1.00 s")]
    #[case("redo-p99 <= 0.5min", "redo_sync_p99_us <= 30.0 s")]
    #[case("response-mean < 20ms", "response_mean_us < 20.0 ms")]
    fn bounds_are_read_and_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(text.parse::<Bound>().unwrap().to_string(), shown);
    }

    #[rstest]
    #[case("fast", "is no bound")]
    #[case("readp99 < 2ms", "did you mean")]
    #[case("p98<2ms", "there is no figure 'p98'")]
    #[case("p9.9<2ms", "there is no figure 'p9.9'")]
    #[case("sessions = 8", "is no bound")]
    #[case("iops > 2ms", "'2ms' is no amount of physical_reads_per_s; its unit is blocks/s")]
    #[case("read-p99 < 2 parsecs", "is no amount of physical_read_p99_us")]
    #[case("iops > many", "'many' is no amount")]
    #[case("p99<-ms", "'-ms' is no amount")]
    fn what_is_no_bound_is_refused(#[case] text: &str, #[case] words: &str) {
        let error = text.parse::<Bound>().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    /// `p99 < 2` meant two microseconds without a word.
    #[test]
    fn a_duration_without_a_unit_is_refused() {
        let error = "p99 < 2".parse::<Bound>().unwrap_err().to_string();
        assert_eq!(error, "'2' has no unit; say which, such as 2us, 2ms or 2s");
    }

    #[rstest]
    #[case("p99 < 2ms", "response_p99_us")]
    #[case("p99.9 < 2ms", "response_p999_us")]
    #[case("op. p99 < 2ms", "response_p99_us")]
    #[case("operation-p99 < 2ms", "operation_p99_us")]
    #[case("read-p99 < 2ms", "physical_read_p99_us")]
    fn a_short_name_is_of_the_duration_that_leads(#[case] text: &str, #[case] of_response: &str) {
        let bound: Bound = text.parse().unwrap();
        assert_eq!(bound.led_by(Lead::Operation).asked.figure.name, bound.asked.figure.name);
        assert_eq!(bound.led_by(Lead::Response).asked.figure.name, of_response);
    }

    #[test]
    fn a_limit_is_an_upper_bound_of_a_duration() {
        for (text, name, us) in [
            ("p99=2ms", "operation_p99_us", 2000.0),
            ("mean=500us", "operation_mean_us", 500.0),
            ("read-p99=1.5ms", "physical_read_p99_us", 1500.0),
            ("response-p99 <= 20ms", "response_p99_us", 20e3),
            ("p99.9=1s", "operation_p999_us", 1e6),
        ] {
            let limit: LatencyLimit = text.parse().unwrap();
            let figure = limit.figure_in(Lead::Operation);
            assert_eq!((figure.name, limit.us(), limit.to_string().as_str()), (name, us, text));
        }
        for bad in ["p99", "p99=2", "p98=2ms", "p99=-2ms", "p99=0ms", "p99=xms", "=2ms", "p99>2ms", "iops=3"]
        {
            let error = bad.parse::<LatencyLimit>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{bad}' is not a limit")), "{error}");
        }
    }

    #[test]
    fn a_value_just_below_its_threshold_is_told_from_it() {
        let busy = |amount: &str| format!("device_busy_percent < {amount}").parse::<Bound>().unwrap();
        assert_eq!(busy("100").shown_beside(99.997), "99.997 %");
        assert_eq!(busy("100").shown_beside(100.0), shown(busy("100").asked.figure, 100.0));
        assert_eq!(busy("100").shown_beside(97.0), shown(busy("100").asked.figure, 97.0));
        assert_eq!("read-p99 < 2ms".parse::<Bound>().unwrap().shown_beside(1999.999), "1,999.999 us");
    }

    /// Each name in a table of runs, and each name of a figure, names one figure.
    #[test]
    fn every_name_and_short_name_is_known() {
        for figure in figure::ALL {
            assert_eq!(figure_named(figure.name).unwrap().name, figure.name);
            assert_eq!(figure_named(&figure.short.to_uppercase()).unwrap().name, figure.name);
        }
    }

    #[test]
    fn similar_names_come_first_and_others_not_at_all() {
        let names = ["physical_reads_per_s", "physical_writes_per_s", "host", "redo_mb_per_s"];
        assert_eq!(similar_names("physical_read_per_s", names.into_iter())[0], "physical_reads_per_s");
        assert_eq!(similar_names("redo", names.into_iter()), ["redo_mb_per_s"]);
        assert!(similar_names("zzz", names.into_iter()).is_empty());
    }
}

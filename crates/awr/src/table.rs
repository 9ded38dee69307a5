use jiff::civil::DateTime;

use crate::figure::{Figure, MIB, bytes, duration_us, number, prefix};
use crate::report::ShareOf;
use crate::sections::moment;

#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    pub(crate) tables: Vec<Table>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) sections: Vec<(String, usize)>,
    pub(crate) db_inst: Option<(String, String)>,
    pub(crate) cut_tables: Vec<String>,
    /// Titles of comparisons have seconds with decimals.
    pub(crate) periods: Vec<[Figure; 2]>,
    pub(crate) held: HeldBytes,
    /// The rest was not read because of [`MOST_HELD`].
    pub(crate) is_too_large: bool,
    /// The report's own end was found.
    pub(crate) is_complete: bool,
    pub(crate) last_line: usize,
}

/// Bytes in memory, by a generous count. A report of 50 MB has less.
pub(crate) const MOST_HELD: usize = 400 * 1024 * 1024;
/// Bytes besides cells, with the figures that are made of them.
const ROW: usize = 256;
const TABLE: usize = 2048;
pub(crate) const TEXT: usize = 40;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldBytes(pub(crate) usize);

impl HeldBytes {
    pub(crate) fn is_too_much(self) -> bool {
        self.0 > MOST_HELD
    }

    pub(crate) fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a String>) {
        self.0 += ROW + cells.into_iter().map(|text| TEXT + text.len()).sum::<usize>();
    }

    pub(crate) fn table(&mut self, title: &str) {
        self.0 += TABLE + title.len();
    }

    pub(crate) fn heads(&mut self, heads: &[Head]) {
        self.0 += 6 * heads.iter().map(|head| 2 * TEXT + head.group.len() + head.name.len()).sum::<usize>();
    }
}

/// `Buffer Cache: 292M 292M`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) section: String,
    pub(crate) label: String,
    pub(crate) values: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Row>,
}

/// Lower case without blanks, because releases break lines differently.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Head {
    pub(crate) group: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) cells: Vec<String>,
}

pub(crate) type Field<T> = (&'static str, Set<T>);
type Set<T> = fn(&mut T, Cell<'_>);

pub(crate) trait FromRow: Default + 'static {
    const FIELDS: &'static [Field<Self>];

    /// False for rows without the figures that matter.
    fn is_complete(&self) -> bool;
}

/// A field names the method of [`Cell`] that reads it and the headings of its column. A condition of complete rows may follow.
macro_rules! rows {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $vis:vis $field:ident: $type:ty $(= $read:ident($headings:expr))?,)*
        }
        $(if $is_complete:expr;)?
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct $name {
            $($(#[$field_meta])* $vis $field: $type,)*
        }

        impl FromRow for $name {
            const FIELDS: &'static [Field<Self>] =
                &[$($(($headings, |row, cell| row.$field = cell.$read()),)?)*];

            fn is_complete(&self) -> bool {
                let conditions: &[fn(&Self) -> bool] = &[$($is_complete)?];
                conditions.iter().all(|is_met| is_met(self))
            }
        }
    )*};
}
pub(crate) use rows;

/// The first column always fills this field. Fields after it are read from other columns.
pub(crate) const FIRST: &str = "^";

const NO_HEAD: &Head = &Head { group: String::new(), name: String::new() };

#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) head: &'a Head,
}

impl Cell<'_> {
    pub(crate) fn words(self) -> Option<String> {
        self.text.map(str::to_owned)
    }

    pub(crate) fn text(self) -> String {
        self.words().unwrap_or_default()
    }

    /// The number of a footnote is cut off.
    pub(crate) fn name(self) -> String {
        self.text.map_or("", without_footnote).to_owned()
    }

    pub(crate) fn number(self) -> Option<Figure> {
        self.text.and_then(number)
    }

    /// The whole of the heading's percentages.
    pub(crate) fn share_of(self) -> Option<ShareOf> {
        let names = |word: &str| self.head.name.contains(word) || self.head.group.contains(word);
        Some(match (names("bgtime"), names("dbtime")) {
            (true, _) => ShareOf::BackgroundTime,
            (_, true) => ShareOf::DbTime,
            _ => ShareOf::CallTime,
        })
    }

    pub(crate) fn is_yes(self) -> Option<bool> {
        self.text.map(|text| text.eq_ignore_ascii_case("yes"))
    }

    pub(crate) fn value(self) -> Option<f64> {
        self.number().map(|figure| figure.value)
    }

    pub(crate) fn id<N: std::str::FromStr>(self) -> Option<N> {
        self.text.and_then(|text| text.replace(',', "").parse().ok())
    }

    pub(crate) fn bytes(self) -> Option<Figure> {
        self.text.and_then(bytes)
    }

    /// In bytes.
    pub(crate) fn mib(self) -> Option<Figure> {
        Some(self.number()?.times(MIB))
    }

    /// In seconds.
    pub(crate) fn minutes(self) -> Option<Figure> {
        Some(self.number()?.times(60.0))
    }

    /// Microseconds, by the cell's own unit or that of the heading.
    pub(crate) fn duration(self) -> Option<Figure> {
        duration_us(self.text?, unit_us(&self.head.all()))
    }

    /// Microseconds; the cell is in milliseconds where nothing names a unit.
    pub(crate) fn duration_ms(self) -> Option<Figure> {
        duration_us(self.text?, unit_us(&self.head.all()).or(Some(1e3)))
    }

    pub(crate) fn moment(self) -> Option<DateTime> {
        self.text.and_then(moment)
    }
}

impl Head {
    pub(crate) fn of(group: &str, name: &str) -> Self {
        Self { group: squeeze(group), name: squeeze(name) }
    }

    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.group, self.name)
    }
}

struct Pattern<'p> {
    is_wanted: bool,
    is_of_all: bool,
    group: Option<&'p str>,
    name: &'p str,
    has_star: bool,
}

impl<'p> Pattern<'p> {
    fn of(text: &'p str) -> Self {
        let (is_wanted, text) = text.strip_prefix('!').map_or((true, text), |rest| (false, rest));
        let (is_of_all, text) = text.strip_prefix('+').map_or((false, text), |rest| (true, rest));
        let (group, name) = text.split_once('>').map_or((None, text), |(group, name)| (Some(group), name));
        Self { is_wanted, is_of_all, group, name, has_star: name.contains('*') }
    }

    fn fits(&self, head: &Head) -> bool {
        let fits = match self.is_of_all {
            true => like(&head.all(), self.name),
            false if !self.has_star && head.name != self.name => false,
            false => like(&head.name, self.name) && self.group.is_none_or(|group| like(&head.group, group)),
        };
        fits == self.is_wanted
    }
}

/// Patterns have `|` between. `*` is any text, `group>name` asks for the group too, and `+` joins group and name. `&` joins
/// patterns, of which one after `!` must not fit.
pub(crate) fn find_head<'t>(
    heads: &(impl Iterator<Item = (usize, &'t Head)> + Clone),
    patterns: &str,
) -> Option<(usize, &'t Head)> {
    let found = patterns.split('|').filter_map(|pattern| {
        let mut parts = pattern.split('&').map(Pattern::of);
        let first = parts.next()?;
        heads.clone().find(|(_, head)| first.fits(head) && parts.clone().all(|part| part.fits(head)))
    });
    found.min_by_key(|(at, _)| *at)
}

/// A heading's brackets name the unit.
fn unit_us(heading: &str) -> Option<f64> {
    let units = [("(ms)", 1e3), ("(us)", 1.0), ("(cs)", 1e4), ("(s)", 1e6)];
    units.into_iter().find(|(unit, _)| heading.contains(unit)).map(|(_, us)| us)
}

pub(crate) fn like(text: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').map_or((None, rest), |(middle, end)| (Some(middle), end));
    for part in middle.into_iter().flat_map(|middle| middle.split('*')) {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

fn squeeze(text: &str) -> String {
    text.chars()
        .filter(|symbol| !symbol.is_whitespace() && *symbol != '\u{a0}')
        .flat_map(char::to_lowercase)
        .collect()
}

impl Table {
    pub(crate) fn columns(&self) -> impl Iterator<Item = (usize, &Head)> + Clone {
        self.heads.iter().enumerate()
    }

    pub(crate) fn column(&self, patterns: &str) -> Option<usize> {
        find_head(&self.columns(), patterns).map(|(at, _)| at)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.heads.iter().any(|head| head.name == name)
    }

    pub(crate) fn lines<T: FromRow>(&self) -> impl Iterator<Item = T> {
        Columns::of(&self.columns(), T::FIELDS).lines(&self.rows).filter(T::is_complete)
    }

    pub(crate) fn fill<T>(&self, row: &Row, value: &mut T, fields: &[Field<T>]) {
        Columns::of(&self.columns(), fields).fill(row, value);
    }
}

/// Fields without a column are left out.
pub(crate) struct Columns<'t, T>(Vec<(usize, &'t Head, Set<T>)>);

impl<'t, T> Columns<'t, T> {
    pub(crate) fn of<'f>(
        heads: &(impl Iterator<Item = (usize, &'t Head)> + Clone),
        fields: impl IntoIterator<Item = &'f Field<T>>,
    ) -> Self
    where
        T: 'f,
    {
        let mut after_name = 0;
        let column = |(patterns, set): &Field<T>| {
            if *patterns == FIRST {
                after_name = 1;
                return Some((0, NO_HEAD, *set));
            }
            let (at, head) = find_head(&heads.clone().skip(after_name), patterns)?;
            Some((at, head, *set))
        };
        Self(fields.into_iter().filter_map(column).collect())
    }

    pub(crate) fn fill(&self, row: &Row, value: &mut T) {
        for (column, head, set) in &self.0 {
            set(value, Cell { text: row.text(Some(*column)), head });
        }
    }

    pub(crate) fn lines<'r>(self, rows: impl IntoIterator<Item = &'r Row>) -> impl Iterator<Item = T>
    where
        T: Default,
    {
        rows.into_iter().map(move |row| {
            let mut line = T::default();
            self.fill(row, &mut line);
            line
        })
    }
}

impl Row {
    pub(crate) fn text(&self, column: Option<usize>) -> Option<&str> {
        let text = self.cells.get(column?)?.trim_ascii();
        (!text.is_empty()).then_some(text)
    }

    pub(crate) fn number(&self, column: Option<usize>) -> Option<Figure> {
        self.text(column).and_then(number)
    }

    pub(crate) fn name(&self) -> &str {
        self.cells.first().map_or("", |cell| without_footnote(cell.trim_ascii()))
    }
}

/// `log file sync [1]` without its number.
fn without_footnote(name: &str) -> &str {
    match name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((name, note)) if !note.is_empty() && note.bytes().all(|byte| byte.is_ascii_digit()) => {
            name.trim_end()
        }
        _ => name,
    }
}

impl Document {
    pub(crate) fn begin_section(&mut self, title: &str, line: usize) {
        self.held.0 += ROW + title.len();
        self.sections.push((title.to_owned(), line));
    }

    /// Takes the labels with values of a section, from the pieces of each of its lines.
    pub(crate) fn take_pairs<P: AsRef<str>>(
        &mut self,
        section: &str,
        lines: impl IntoIterator<Item = impl IntoIterator<Item = P>>,
    ) {
        // Statements are full of colons, and have no labels.
        if section.starts_with("SQL ordered by") || section.starts_with("Top SQL") {
            return;
        }
        for line in lines {
            let pairs = pairs(section, line);
            for pair in &pairs {
                self.held.row([&pair.section, &pair.label].into_iter().chain(&pair.values));
            }
            if self.held.is_too_much() {
                break;
            }
            self.pairs.extend(pairs);
        }
    }

    /// Turns decimal commas, as in `1.234,5`, into points. The elapsed minutes, which always have two decimals, show which it is.
    pub(crate) fn with_decimal_points(mut self) -> Self {
        let elapsed = self.pairs.iter().find(|pair| pair.label.eq_ignore_ascii_case("elapsed"));
        let minutes = elapsed.and_then(|pair| pair.values.first()?.split_whitespace().next());
        let has_comma = minutes.is_some_and(|minutes| {
            let cut = minutes.len().saturating_sub(3);
            minutes.get(cut..).is_some_and(|end| end.starts_with(','))
        });
        if has_comma {
            let cells =
                self.tables.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| &mut row.cells);
            let values = self.pairs.iter_mut().flat_map(|pair| &mut pair.values);
            cells.chain(values).for_each(exchange_points);
        }
        self
    }

    /// `(Elapsed time: 901.55 sec  DB time: 6404.55 sec)`
    pub(crate) fn take_periods(&mut self, title: &str) {
        let seconds = |text: &str| {
            let (figure, rest) = prefix(text)?;
            rest.trim_start().starts_with("sec").then_some(figure)
        };
        if self.periods.is_empty() {
            let periods = title.split("Elapsed time:").skip(1);
            let times = periods.map(|text| Some([seconds(text)?, seconds(text.split_once("DB time:")?.1)?]));
            self.periods =
                times.collect::<Option<Vec<_>>>().filter(|times| times.len() == 2).unwrap_or_default();
        }
    }
}

fn exchange_points(text: &mut String) {
    let number = text.trim_start_matches('-');
    let is_part = |symbol: char| symbol.is_ascii_digit() || matches!(symbol, '.' | ',');
    let number = &number[..number.find(|symbol| !is_part(symbol)).unwrap_or(number.len())];
    let (whole, decimals) = number.split_once(',').unwrap_or((number, "0"));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split('.');
    let first_is_short = groups.next().is_some_and(|first| first.len() <= 3 || !whole.contains('.'));
    let are_threes = groups.all(|group| group.len() == 3);
    if !number.is_empty() && first_is_short && are_threes && whole.split('.').chain([decimals]).all(is_digits)
    {
        let exchange = |symbol: char| match symbol {
            '.' => ',',
            ',' => '.',
            other => other,
        };
        *text = text.chars().map(exchange).collect();
    }
}

fn pairs(section: &str, pieces: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    let mut label = String::new();
    for piece in pieces {
        let piece = piece.as_ref().trim();
        let split = if piece.contains(':') { piece.rsplit_once(": ") } else { None };
        let (head, tail) = match split {
            Some((head, tail)) if is_value(tail) => (Some(head), Some(tail)),
            _ if is_value(piece) => (None, Some(piece)),
            _ => (piece.strip_suffix(':').or(Some(piece)), None),
        };
        if let Some(head) = head {
            if !label.is_empty() {
                label.push(' ');
            }
            label.push_str(head.trim());
            if piece.ends_with(':') || tail.is_some() {
                let label = std::mem::take(&mut label).split_whitespace().collect::<Vec<_>>().join(" ");
                found.push(Pair { section: section.to_owned(), label, values: Vec::new() });
            }
        }
        if let (Some(value), Some(last)) = (tail, found.last_mut()) {
            last.values.push(value.trim().to_owned());
        }
    }
    found
}

fn is_value(text: &str) -> bool {
    let text = text.trim();
    let begins_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    begins_number(text)
        || text.starts_with('#')
        || text == "N/A"
        || text.strip_prefix('-').is_some_and(begins_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::FileIo;

    #[test]
    fn patterns_describe_headings() {
        let head = Head::of("Wait Time", "Avg Wait (ms)");
        for patterns in [
            "avgwait(ms)",
            "total|avgwait(ms)",
            "avg*",
            "*wait*",
            "*(ms)",
            "a*w*(ms)",
            "waittime>avg*",
            "*time>*",
            "+waittimeavg*",
            "*avg*&!*total*",
            "!*bg*>*&*wait*",
        ] {
            assert!(find_head(&[(0, &head)].into_iter(), patterns).is_some(), "{patterns}");
        }
        for patterns in [
            "avg",
            "*ms",
            "avgwait(ms)*x",
            "time>avg*",
            "+avg*",
            "*avg*&*total*",
            "!*wait*",
            "*wait*avg*",
            "",
        ] {
            assert!(find_head(&[(0, &head)].into_iter(), patterns).is_none(), "{patterns}");
        }
    }

    #[test]
    fn rows_become_values_by_headings() {
        let heads = ["Writes", "Reads", "Av Rd(ms)", "Writes"].map(|name| Head::of("", name)).to_vec();
        let row = |cells: [&str; 4]| Row { line: 1, cells: cells.map(str::to_owned).to_vec() };
        let rows = vec![row(["USERS [1]", "1,200", "2.5", "7"]), row(["", "", "", "3"])];
        let lines: Vec<FileIo> = Table { title: String::new(), heads, rows }.lines().collect();
        let [line] = &lines[..] else { panic!("a row without reads is no line: {lines:?}") };
        // The first column is the name, whatever its heading.
        assert_eq!(line.tablespace, "USERS");
        let values = [line.reads, line.read_us, line.writes].map(|figure| figure.unwrap().value);
        assert_eq!(values, [1200.0, 2500.0, 7.0]);
    }

    fn read(line: &str) -> Vec<(String, Vec<String>)> {
        let pieces = line.trim().split("  ").filter(|piece| !piece.trim().is_empty());
        pairs("", pieces).into_iter().map(|pair| (pair.label, pair.values)).collect()
    }

    #[test]
    fn labels_may_hold_blanks_and_touch_their_value() {
        let own = |label: &str, values: &[&str]| {
            (label.to_owned(), values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
        };
        let expected = [own("Buffer Hit %", &["99.68"]), own("In-memory Sort %", &["100.00"])];
        assert_eq!(read("            Buffer  Hit   %:   99.68    In-memory Sort %:  100.00"), expected);
        let expected = [own("Shared Pool Size", &["51,170M", "51,626M"]), own("Log Buffer", &["1,543,604K"])];
        assert_eq!(read("   Shared Pool Size:    51,170M    51,626M      Log Buffer: 1,543,604K"), expected);
        assert_eq!(read("  Buffer Cache:  "), [own("Buffer Cache", &[])]);
    }
}

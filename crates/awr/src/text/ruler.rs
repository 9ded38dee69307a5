//! Rulers: lines of dashes whose runs are a table's columns.

use std::ops::Range;

/// No table has more columns; a line of more runs is no ruler.
const COLUMNS: usize = 100;

/// The runs of a line of dashes and tildes; `None` if it is none. A line of tildes alone underlines a title or a sum.
pub(super) fn ruler(line: &str) -> Option<Vec<Range<usize>>> {
    if !begins_rule(line)
        || !line.contains('-')
        || !line.bytes().all(|byte| matches!(byte, b'-' | b'~' | b' '))
        || is_terminator(line)
    {
        return None;
    }
    let runs = runs(line);
    (runs.len() <= COLUMNS).then_some(runs)
}

fn runs(line: &str) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = None;
    for (at, byte) in line.bytes().chain([b' ']).enumerate() {
        match (byte, start) {
            (b' ', Some(from)) => {
                runs.push(from..at);
                start = None;
            }
            (b' ', None) => {}
            (_, None) => start = Some(at),
            (_, Some(_)) => {}
        }
    }
    runs
}

/// Whether a line begins as a rule does: most do not, and there are many.
fn begins_rule(line: &str) -> bool {
    line.bytes().find(|byte| *byte != b' ').is_some_and(|byte| matches!(byte, b'-' | b'~'))
}

/// The rule that ends a section: indented, one run, longer than any column.
pub(super) fn is_terminator(line: &str) -> bool {
    if !begins_rule(line) {
        return false;
    }
    let rule = line.trim_start();
    line.len() - rule.len() >= 10 && rule.len() >= 52 && rule.bytes().all(|byte| byte == b'-')
}

/// Whether each run of `below` that lies under `above` lies there wholly, and there are more of them: a heading that
/// several columns share.
pub(super) fn groups(above: &[Range<usize>], below: &[Range<usize>]) -> bool {
    let inside = |run: &Range<usize>, over: &Range<usize>| over.start <= run.start && run.end <= over.end;
    let covered = below.iter().filter(|run| above.iter().any(|over| inside(run, over))).count();
    covered > above.len() || (covered == above.len() && covered > 1 && above.len() < below.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ruler_is_no_terminator_and_no_underline() {
        assert_eq!(ruler("--- -- ----").unwrap(), [0..3, 4..6, 7..11]);
        assert_eq!(ruler("~~~~ ----").unwrap(), [0..4, 5..9]);
        assert!(ruler("~~~~~~~~~").is_none() && ruler("").is_none() && ruler("a --- b").is_none());
        let rule = format!("{}{}", " ".repeat(26), "-".repeat(54));
        assert!(is_terminator(&rule) && ruler(&rule).is_none());
        // The heading over a histogram's columns looks like it, but is shorter.
        assert!(ruler(&format!("{}{}", " ".repeat(33), "-".repeat(47))).is_some());
    }
}

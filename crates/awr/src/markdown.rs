//! Reports that a tool turned from HTML to Markdown, line by line back to HTML.

#[derive(Default)]
pub(crate) struct Markdown {
    in_table: bool,
    /// True if pipes frame the lines of the table, in place of separating cells alone.
    is_framed: bool,
}

impl Markdown {
    /// The HTML of a line. The line below shows whether this one is a table's heading.
    pub(crate) fn html(&mut self, line: &str, below: &str) -> String {
        let line = line.trim();
        if is_separator(line) {
            return String::new();
        }
        if is_separator(below.trim()) {
            self.is_framed = below.trim().starts_with('|');
            let end = if self.in_table { "</table>" } else { "" };
            self.in_table = true;
            return format!("{end}<table>{}", self.row(line, "th"));
        }
        if self.in_table && line.contains('|') {
            return self.row(line, "td");
        }
        let end = if std::mem::take(&mut self.in_table) { "</table>" } else { "" };
        let title = line.trim_start_matches('#');
        let text = escaped(title.trim());
        match line.len() - title.len() {
            0 if line.starts_with("* ") || line.starts_with("- ") => format!("{end}<ul><li>{text}</li></ul>"),
            0 => format!("{end}<p>{text}</p>"),
            level => format!("{end}<h{level}>{text}</h{level}>", level = level.min(5)),
        }
    }

    fn row(&self, line: &str, tag: &str) -> String {
        let line = if self.is_framed { line.trim_matches('|') } else { line };
        let cell = |cell: &str| format!("<{tag}>{}</{tag}>", escaped(cell.trim()));
        format!("<tr>{}</tr>", line.split('|').map(cell).collect::<String>())
    }
}

/// True for `---|---`, with colons or without.
fn is_separator(line: &str) -> bool {
    line.contains("---")
        && line.contains('|')
        && line.bytes().all(|byte| matches!(byte, b'-' | b'|' | b':' | b' '))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace("\\|", "|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let mut markdown = Markdown::default();
        let below = |at: usize| lines.get(at + 1).copied().unwrap_or_default();
        lines.iter().enumerate().map(|(at, line)| markdown.html(line, below(at))).collect()
    }

    #[test]
    fn pipes_separate_cells_or_frame_lines() {
        let row = "<table><tr><th></th><th>Begin</th></tr><tr><td>a</td><td>1</td></tr><p></p>";
        assert_eq!(html("| Begin\n---|---\na| 1\n").replace("</table>", ""), row.replace("<p></p>", ""));
        assert_eq!(
            html("| x | y |\n|---|---|\n| a | 1 |"),
            "<table><tr><th>x</th><th>y</th></tr><tr><td>a</td><td>1</td></tr>"
        );
        assert_eq!(html("### Time Model\n"), "<h3>Time Model</h3>");
    }
}

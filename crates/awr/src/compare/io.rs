//! I/O by function and type of file of a comparison.

use super::Side;
use crate::figure::number;
use crate::report::IoLine;

impl Side<'_> {
    /// Functions and types of files are columns here, and there is a table for data and one for requests.
    pub(super) fn io(&self, lines: &mut Vec<IoLine>, title: &str) {
        let Some(row) = self.table.rows.first() else { return };
        let is_data = title.contains("data rate");
        for (column, head) in self.table.heads.iter().enumerate().filter(|(_, head)| head.name == self.word())
        {
            let Some(figure) = row.text(Some(column)).and_then(number) else { continue };
            let (name, is_write) = io_name(&head.group);
            let at = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
                lines.push(IoLine { name: name.clone(), ..IoLine::default() });
                lines.len() - 1
            });
            let line = &mut lines[at];
            let field = match (is_data, is_write) {
                (true, false) => &mut line.read_bytes_per_s,
                (true, true) => &mut line.written_bytes_per_s,
                (false, false) => &mut line.reads_per_s,
                (false, true) => &mut line.writes_per_s,
            };
            *field = Some(if is_data { figure.times(1024.0 * 1024.0) } else { figure });
        }
    }
}

/// `totalreads` is the reads of `TOTAL:`; and so on.
fn io_name(group: &str) -> (String, bool) {
    let is_write = group.contains("write") || group == "dbwr" || group == "lgwr";
    let name = match group {
        "totalreads" | "totalwrites" => "TOTAL:",
        "buffercachereads" => "Buffer Cache Reads",
        "directreads" => "Direct Reads",
        "directwrites" => "Direct Writes",
        "dbwr" => "DBWR",
        "lgwr" => "LGWR",
        "datafilereads" | "datafilewrites" => "Data File",
        "tempfilereads" | "tempfilewrites" => "Temp File",
        "logfilereads" | "logfilewrites" => "Log File",
        other => other,
    };
    (name.to_owned(), is_write)
}

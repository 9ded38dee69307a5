//! What `awr_info` printed.

use slob_awr::info::{is_pipes, read_pipes};
use slob_page::Answer;
use slob_report::analysis::{Analysis, Options, Run, run_of_row, slob_r_tables, variants_of};

use super::damage::{self, SCRIPT};
use super::each;

const OLDER: &str = include_str!("../../../../crates/report/src/analysis/fixtures/awr_info_older.txt");
const NEWER: &str = "FILE|SESSIONS|ELAPSED|DB CPU|DB Tm|EXECUTES|LIO|PREADS|READ_MBS|PWRITES|WRITE_MBS|REDO_MBS|DFSR_LAT|DPR_LAT|DFPR_LAT|DFPW_LAT|LFPW_LAT|TOP WAIT|
raw.8.1|8|300|3.1|7.9|1000|64000|60000|469|100|0.8|0.1|120||||400|db file sequential read 2999 80.0|
raw.8.2|8|301|3.2|7.8|1010|64100|60100|470|101|0.8|0.1|121||||401|db file sequential read 2999 80.0|
xfs.8.1|8|300|3.3|7.7|900|60000|50000|390|90|0.7|0.1|140||||500|db file sequential read 2999 80.0|
xfs.8.2|8|299|3.4|7.6|910|60100|50100|391|91|0.7|0.1|141||||501|db file sequential read 2999 80.0|
";
const WORDS: &[&str] = &["|", "\n", "||||", "FILE|", "1e308", "-", ".", "NaN", "SESSIONS|", " "];

#[test]
fn damaged_summaries_do_no_harm() {
    each("awr_info", 500, 64, |random| {
        let text = damage::text(if random.one_in(2) { OLDER } else { NEWER }, WORDS, random);
        if !is_pipes(&text) {
            return;
        }
        let runs: Vec<Run> = match read_pipes(&text) {
            Ok(rows) => rows.iter().map(run_of_row).collect(),
            Err(error) => return assert!(!error.to_string().is_empty()),
        };
        let variants = variants_of(runs.iter().map(|run| run.label.as_str()));
        let scale = random.one_in(2).then(|| variants.first().map(|variant| variant.name.clone())).flatten();
        let options = Options { scale, ..Options::default() };
        let Ok(analysis) = Analysis::of(&runs, &variants, &slob_r_tables(), &options) else { return };
        assert!(!analysis.text(None).is_empty() && !analysis.csv().is_empty());
        serde_json::to_string(&analysis).unwrap();
        // Pages are large; some show what all would.
        if random.one_in(8) {
            assert!(!analysis.html().contains(SCRIPT));
        }
    });
}

//! Statements and segments as rows.

use crate::common::with_sections;
use slob_awr::info::{Named, Value, Work};

const SECTIONS: &str = include_str!("../fixtures/parts/work.txt");

#[test]
fn statements_and_segments_are_rows_beside_their_report() {
    let named = Named::new("a.txt", with_sections(SECTIONS));
    let rows = |work: Work| -> Vec<String> {
        let plain = |cell: Option<Value>| cell.map(|cell| cell.plain()).unwrap_or_default();
        let rows = work.rows(&named);
        assert!(rows.iter().all(|row| row.len() == work.heads().len()), "{rows:?}");
        rows.into_iter().map(|row| row.into_iter().map(plain).collect::<Vec<_>>().join("|")).collect()
    };
    // The statement that took most time comes first.
    let [update, select] = &rows(Work::Statements)[..] else { panic!("{:?}", rows(Work::Statements)) };
    let share = |seconds: f64| 100.0 * seconds / named.report.db_time_s().unwrap().value;
    assert!(
        update.starts_with("a.txt|TEST|test|2024-03-01 10:00:00|") && update.ends_with("|update t set a = 2"),
        "{update}"
    );
    let [update, select] = [update, select].map(|row| row.split('|').skip(6).collect::<Vec<_>>());
    assert_eq!(update[..4], ["9xxd5h0qcg0bf", "", "", "60"]);
    assert_eq!(update[4].parse::<f64>().unwrap(), (share(60.0) * 1e4).round() / 1e4);
    assert_eq!(select[..4], ["82ud5h0qcg0bf", "a module", "", "4"]);
    let expected = ["900000", "1000", "", "0.004", "", "", "", "", "select count(*) from t where a = 1"];
    assert_eq!(select[8..], expected);
    let segments = rows(Work::Segments);
    assert_eq!(segments.len(), 3);
    assert!(segments[1].ends_with("|Logical Reads|BENCH|USERS|CF2||TABLE||99505248|28.25"), "{segments:?}");
    assert!(segments[2].ends_with("|Logical Reads|||CF3||TABLE||1|0"), "{segments:?}");
    assert!(segments[0].ends_with("|Physical Reads|BENCH|USERS|CF1||TABLE||598220|99.5"), "{segments:?}");
}

use super::*;
use crate::figure::Figure;
use crate::fixture;

fn columns_of(names: &[&str]) -> Vec<Column> {
    names.iter().map(|name| column(name).unwrap()).collect()
}

#[test]
fn the_columns_of_awr_info_in_its_order() {
    let records =
        [fixture::direct_read_run(), fixture::page_cache_run(), fixture::update_run(), fixture::failed_run()];
    let (heads, columns): (Vec<_>, Vec<_>) =
        AWR_COLUMNS.into_iter().map(|(head, column)| (head.text(), column)).unzip();
    let rows: Vec<Cells> = records.iter().map(|record| cells(record, &columns)).collect();
    let text = as_pipes(&heads, &rows);
    assert!(text.starts_with(
        "FILE|SESSIONS|ELAPSED|DB CPU|DB Tm|EXECUTES|LIO|PREADS|READ_MBS|PWRITES|WRITE_MBS|REDO_MBS|DFSR_LAT|DPR_LAT|\
         DFPR_LAT|DFPW_LAT|LFPW_LAT|TOP WAIT|\n"
    ));
    assert!(text.lines().all(|line| line.matches('|').count() == 18 && line.ends_with('|')), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn latencies_of_named_events_come_first() {
    let mut record = fixture::update_run();
    let mean = |record: &Record, figure: &Figure| figure.of(&Figures::of(record));
    let measured = mean(&record, &figure::PHYSICAL_READ_MEAN_US);
    assert_eq!(mean(&record, &figure::SINGLE_READ_MEAN_US), measured);
    assert_eq!(mean(&record, &figure::DIRECT_READ_MEAN_US), None);
    let event = |name: &str, waits| slob_measure::WaitEvent {
        name: name.into(),
        class: "I/O".into(),
        waits,
        time_us: 9_000,
        background: false,
    };
    record.events = vec![event("db file sequential read", Some(3)), event("direct path read", None)];
    assert_eq!(mean(&record, &figure::SINGLE_READ_MEAN_US), Some(3_000.0));
    // Sampled: there is a time, but no number of waits to divide it by.
    assert_eq!(mean(&record, &figure::DIRECT_READ_MEAN_US), None);
    assert!(mean(&record, &figure::LOG_WRITE_MEAN_US).is_some());
    // The server's own processes write the log; what sessions waited for goes first all the same.
    record
        .events
        .push(slob_measure::WaitEvent { background: true, ..event("log file parallel write", Some(9)) });
    assert_eq!(mean(&record, &figure::LOG_WRITE_MEAN_US), Some(1_000.0));
    let own = slob_measure::WaitEvent { background: true, ..event("db file sequential read", Some(9)) };
    record.events.insert(0, own);
    assert_eq!(mean(&record, &figure::SINGLE_READ_MEAN_US), Some(3_000.0));
}

#[test]
fn unknown_is_empty_and_null_and_zero_is_zero() {
    let record = fixture::failed_run();
    let columns = columns_of(&["name", "sessions", "physical_reads_per_s", "update_pct"]);
    let rows = [cells(&record, &columns)];
    assert_eq!(as_csv(&columns, &rows), "name,sessions,physical_reads_per_s,update_pct\ndirect,4,,0\n");
    let json: serde_json::Value = serde_json::from_str(&as_json(&columns, &rows)).unwrap();
    assert_eq!(json[0]["physical_reads_per_s"], serde_json::Value::Null);
    assert_eq!((&json[0]["update_pct"], &json[0]["sessions"]), (&0.into(), &4.into()));
}

#[test]
fn cells_can_not_break_their_form() {
    let mut record = fixture::failed_run();
    record.name = "a,b\"c|d\ne".into();
    let columns = columns_of(&["name"]);
    let rows = [cells(&record, &columns)];
    assert_eq!(as_csv(&columns, &rows), "name\n\"a,b\"\"c|d\ne\"\n");
    assert_eq!(as_pipes(&["NAME"], &rows), "NAME|\na,b\"c/d/e|\n");
}

#[test]
fn names_are_unique_and_every_column_has_a_source() {
    let mut names: Vec<&str> = all_columns().map(|column| column.name()).collect();
    assert!(names.len() > 80 && all_columns().all(|column| !column.source().is_empty()));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all_columns().count());
    assert_eq!(near_columns("physical_read_per_s")[0], "physical_reads_per_s");
}

/// What a column says of a run must not depend on whether its series was read, unless it says so.
#[test]
fn only_columns_that_say_so_need_the_series() {
    for whole in [fixture::direct_read_run(), fixture::page_cache_run(), fixture::update_run()] {
        let without = slob_record::Record { series: slob_stats::Series::new(0, 2), ..whole.clone() };
        let (whole, without) = (Figures::of(&whole), Figures::of(&without));
        for column in all_columns().filter(|column| !column.needs_series()) {
            assert_eq!(column.value(&whole), column.value(&without), "{}", column.name());
        }
        assert_ne!(column("steady").unwrap().value(&whole), column("steady").unwrap().value(&without));
    }
}

//! Tests of all views together.

use serde_json::Value;

use crate::analysis::Metric;
use crate::columns::{all_columns, cells, table};
use crate::field::field;
use crate::html::run_page;
use crate::text_report;
use slob_facts::recheck::digest_in_report;
use slob_facts::{Run, figure};
use slob_record::digest_of;
use slob_testing::records;

/// An entry in the table of figures suffices: no view has a list of its own.
#[test]
fn every_figure_is_in_every_view() {
    for record in [records::direct_read_run(), records::page_cache_run(), records::update_run()] {
        let figures = Run::of(&record);
        let columns: Vec<_> = all_columns().collect();
        let runs =
            table(columns.iter().map(|column| column.name), &columns, [cells(&Run::of(&record), &columns)]);
        let (csv, json) = (runs.csv(), serde_json::from_str::<Value>(&runs.json()).unwrap());
        let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let page = run_page(&record);
        let fields = field(&record, "figures").unwrap();
        for figure in figure::ALL {
            let name = figure.name;
            let value = figure.of(&figures);
            let agrees = |found: &Value| match value {
                None => found.is_null(),
                Some(value) => (found.as_f64().unwrap() - value).abs() <= 1e-4 * value.abs().max(1.0),
            };
            assert!(heads.contains(&name), "CSV: {name}");
            assert!(agrees(&json[0][name]), "JSON: {name}");
            assert!(agrees(&fields[name]), "field: {name}");
            let metric = Metric::named(name);
            assert!(matches!(metric, Ok(Metric::Figure(found)) if found.name == name), "analysis: {name}");
            // Parameters are among the facts of the run.
            let in_page = page.contains(&format!("<code>{name}</code>"));
            assert_eq!(in_page, figure.is_measured(), "HTML: {name}");
        }
    }
}

#[test]
fn a_report_holds_the_digest_of_its_record() {
    let record = records::direct_read_run();
    let report = text_report(&record, None);
    assert_eq!(digest_in_report(&report), Some(&*digest_of(&record).unwrap()));
    let mut edited = record;
    edited.configuration[0].value.push('0');
    assert_ne!(digest_in_report(&report), Some(&*digest_of(&edited).unwrap()));
    assert_eq!(digest_in_report("a report of an older release"), None);
}

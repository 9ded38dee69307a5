//! More sessions than the CPUs can serve: every view leads with the time that sessions needed for a response.

use crate::common::{Folder, unwrapped};

fn place(text: &str, words: &str) -> usize {
    text.find(words).unwrap_or_else(|| panic!("no '{words}' in\n{text}"))
}

/// An operation of one cached block takes no longer than what this program does for it, so sessions wait outside operations.
#[test]
fn responses_lead_in_every_view_of_a_crowded_run() {
    let folder = Folder::loaded(1, "4M");
    let crowd = |name: &str| {
        folder.slob(format!("run -s 1 -t 256 --work-unit 1 --update-pct 0 --name {name}")).success()
    };
    let summary = unwrapped(&crowd("crowd").stdout);
    assert!(place(&summary, "; responses (mean ") < place(&summary, "operations alone (mean "), "{summary}");
    assert!(summary.contains(" of 256 sessions in flight"), "{summary}");
    let listed = &folder.slob("list --json").json()[0];
    let number = |name: &str| listed[name].as_f64().unwrap();
    assert_eq!(listed["leads"], "response", "{listed}");
    assert!(number("response_p99_us") >= number("operation_p99_us"), "{listed}");
    assert!(number("average_active_sessions") < 256.0, "{listed}");
    let table = folder.slob("list").success().stdout;
    assert!(place(&table, "RESPONSE P99") < place(&table, "OP P99"), "{table}");
    let report = folder.slob("report crowd").success().stdout;
    let key =
        unwrapped(&report[place(&report, "Key figures")..].lines().take(6).collect::<Vec<_>>().join(" "));
    assert!(key.contains("response") && key.contains("flight"), "{report}");
    let page = std::fs::read_to_string(folder.last_run().join("report.html")).unwrap();
    assert!(place(&page, "p99 of a response") < place(&page, "Physical reads/s (IOPS)"));
    // On a busy machine the window may end late: the gate then can't tell, by the same figure.
    let gate = folder.slob("gate crowd --require 'p99 < 1us'");
    assert!([1, 4].contains(&gate.code) && gate.stdout.contains("response_p99_us < "), "{}", gate.all());
    let law = &folder.slob("list --json --columns little_percent,accounted").json()[0];
    assert!((law["little_percent"].as_f64().unwrap() - 100.0).abs() < 1.0, "{law}");
    crowd("again");
    let compared = folder.slob("compare crowd again --json").json();
    let latencies =
        compared["metrics"].as_array().unwrap().iter().filter(|one| one["section"] == "Latency (us)");
    let names: Vec<&str> = latencies.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!((&compared["leads"], names[0]), (&"response".into(), "response_mean_us"), "{names:?}");
    assert!(names.contains(&"operation_mean_us"), "{names:?}");
}

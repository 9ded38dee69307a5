//! One field of a record, by its path: names of the saved record with dots between, as `window.seconds`.
//!
//! A position (`sessions.0.rows`), a `name` or a `key` names an element of a list. Further fields are
//! - for each histogram `min_us`, `mean_us`, `max_us` and percentiles such as `p50_us` and `p9999_us` (99.99 %);
//! - `figures.NAME`: every [column](crate::columns::Column) of a table of runs;
//! - `verdicts.QUESTION`: each [verdict](slob_facts::Verdict) with its finding.

use serde_json::{Map, Value, json};
use slob_record::Record;
use slob_stats::Histogram;

use crate::columns::all_columns;
use slob_facts::bound::similar_names;
use slob_facts::measured::{mean_us, percentile_us};
use slob_facts::{Run, figure_named};

const FIGURES: &str = "figures";
const VERDICTS: &str = "verdicts";

#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    #[error("the record has no field '{path}': {} has no '{part}'{}", place(parent), hint(near))]
    Unknown { path: String, parent: String, part: String, near: Vec<String> },
    #[error("writing the record as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

fn place(parent: &str) -> String {
    if parent.is_empty() { "it".into() } else { format!("'{parent}'") }
}

fn hint(near: &[String]) -> String {
    if near.is_empty() {
        String::new()
    } else {
        format!("; there is {} (`slob report --json` shows all)", near.join(", "))
    }
}

pub fn field(record: &Record, path: &str) -> Result<Value, FieldError> {
    let mut at = match path.split('.').next() {
        Some(FIGURES) => json!({ FIGURES: figures(record) }),
        Some(VERDICTS) => json!({ VERDICTS: verdicts(record) }),
        _ => serde_json::to_value(record)?,
    };
    let mut parent = String::new();
    for part in path.split('.') {
        let of_figure = Some(part).filter(|_| parent == FIGURES).and_then(|name| figure_named(name).ok());
        let part = of_figure.map_or(part, |figure| figure.name);
        at = step(&mut at, part).ok_or_else(|| FieldError::Unknown {
            path: path.to_owned(),
            near: near(&at, part, parent.is_empty()),
            parent: parent.clone(),
            part: part.to_owned(),
        })?;
        if !parent.is_empty() {
            parent.push('.');
        }
        parent.push_str(part);
    }
    Ok(at)
}

fn figures(record: &Record) -> Value {
    let figures = Run::of(record);
    Value::Object(
        all_columns().map(|column| (column.name.to_owned(), column.cell(&figures).json())).collect(),
    )
}

fn verdicts(record: &Record) -> Value {
    let verdicts = slob_facts::verdicts::verdicts(record);
    let named = verdicts.iter().map(|verdict| {
        let json = json!(verdict);
        (json["question"].as_str().unwrap_or_default().to_owned(), json)
    });
    Value::Object(named.collect())
}

fn step(at: &mut Value, part: &str) -> Option<Value> {
    match at {
        Value::Object(members) => {
            members.get_mut(part).map(Value::take).or_else(|| of_histogram(members, part))
        }
        Value::Array(elements) => {
            let index = part.parse().ok();
            let index = index.or_else(|| elements.iter().position(|element| title(element) == Some(part)));
            elements.get_mut(index?).map(Value::take)
        }
        _ => None,
    }
}

fn title(element: &Value) -> Option<&str> {
    element.get("name").or_else(|| element.get("key")).and_then(Value::as_str)
}

fn of_histogram(members: &Map<String, Value>, part: &str) -> Option<Value> {
    if !is_histogram(members) {
        return None;
    }
    let histogram: Histogram = serde_json::from_value(Value::Object(members.clone())).ok()?;
    let us = |percent| json!(percentile_us(&histogram, percent));
    match part {
        "mean_us" => Some(json!(mean_us(&histogram))),
        "min_us" => Some(us(0.0)),
        "max_us" => Some(us(100.0)),
        _ => percentile_named(part).map(us),
    }
}

fn is_histogram(members: &Map<String, Value>) -> bool {
    members.contains_key("buckets") && members.contains_key("unit")
}

/// `p50_us` is 50, `p99_us` 99, `p999_us` 99.9.
fn percentile_named(part: &str) -> Option<f64> {
    let digits = part.strip_prefix('p')?.strip_suffix("_us")?;
    let all_digits = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let (whole, decimals) = digits.split_at_checked(2).unwrap_or((digits, ""));
    all_digits.then(|| format!("{whole}.{decimals}0").parse().ok()).flatten()
}

fn near(at: &Value, part: &str, at_top: bool) -> Vec<String> {
    const FEW: usize = 8;
    let mut names: Vec<String> = match at {
        Value::Object(members) => members.keys().cloned().collect(),
        Value::Array(elements) => elements.iter().filter_map(title).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if at_top {
        names.extend([FIGURES, VERDICTS].map(str::to_owned));
    }
    if at.as_object().is_some_and(is_histogram) {
        names.extend(["mean_us", "p50_us", "p99_us", "p999_us", "max_us"].map(str::to_owned));
    }
    let alike = similar_names(part, names.iter().map(String::as_str));
    if alike.is_empty() {
        names.into_iter().take(FEW).collect()
    } else {
        alike.into_iter().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use slob_testing::records;

    #[rstest]
    #[case("window.seconds", json!(60.0))]
    #[case("status.state", json!("completed"))]
    #[case("counters.physical_reads", json!(1_170_432))]
    #[case("configuration.UPDATE_PCT.value", json!("0"))]
    #[case("server.settings.log sync.value", json!("every commit"))]
    #[case("sessions.0.session", json!(0))]
    #[case("figures.physical_reads_per_s", json!(19_507.2))]
    #[case("figures.iops", json!(19_507.2))]
    #[case("figures.redo_mb_per_s", Value::Null)]
    #[case("workload.hot_spot", Value::Null)]
    #[case("verdicts.physical.answer", json!("GOOD"))]
    #[case("verdicts.physical.cause", json!("delivered"))]
    #[case("verdicts.physical.numbers.blocks", json!(1_170_432))]
    #[case("verdicts.accounted.threshold", json!("counters_differ"))]
    fn fields_by_path(#[case] path: &str, #[case] expected: Value) {
        assert_eq!(field(&records::direct_read_run(), path).unwrap(), expected);
    }

    #[test]
    fn histograms_have_percentiles() {
        let record = records::direct_read_run();
        let latency = &record.operations[&slob_measure::OpKind::Select].latency;
        let us = |name: &str| field(&record, &format!("operations.select.latency.{name}")).unwrap().as_f64();
        assert_eq!(us("p99_us"), percentile_us(latency, 99.0));
        assert_eq!(us("p999_us"), percentile_us(latency, 99.9));
        assert_eq!(us("p5_us"), percentile_us(latency, 5.0));
        assert_eq!(us("max_us"), percentile_us(latency, 100.0));
        assert_eq!(us("mean_us"), mean_us(latency));
        assert_eq!(us("count"), Some(18_000.0));
    }

    #[rstest]
    #[case("windw.seconds", "it has no 'windw'; there is window")]
    #[case("counters.physical_read", "'counters' has no 'physical_read'; there is physical_reads")]
    #[case("operations.select.latency.p99", "p99_us")]
    #[case("configuration.UPDATE_PC", "UPDATE_PCT")]
    #[case("figures.iop", "'figures' has no 'iop'; there is iops_per_core, iops_per_db_core")]
    #[case("window.seconds.more", "'window.seconds' has no 'more'")]
    #[case("", "it has no ''")]
    fn a_missing_field_is_named_with_similar_ones(#[case] path: &str, #[case] expected: &str) {
        let message = field(&records::direct_read_run(), path).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

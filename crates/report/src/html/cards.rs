//! The top of a page: how the run ended, five figures, five verdicts.

use slob_measure::OpKind;
use slob_record::{Record, Status};

use super::escape;
use crate::figure::{self, Figures};
use crate::format::{duration_us, fixed, percent, plural};
use crate::latencies::percentile_us;
use crate::sections::ABOVE_PROBE;
use crate::verdicts::{Answer, Verdict};

/// Anything but a completed run, in large letters.
pub(super) fn banner(record: &Record) -> String {
    let (class, head, said) = match &record.status {
        Status::Completed => return String::new(),
        Status::Interrupted if record.window.is_none() => {
            ("doubt", "Interrupted", "By the user, before the measured window: nothing was measured.")
        }
        Status::Interrupted => ("doubt", "Interrupted", "By the user. The results up to then are valid."),
        Status::Failed { error } => ("bad", "Failed", error.as_str()),
    };
    format!(
        "<div class=\"banner {class}\" role=\"alert\"><strong>{head}</strong> {}</div>\n",
        escape::text(said)
    )
}

/// A figure with its name and what it is exactly.
struct Card {
    name: &'static str,
    /// Number and unit, or why there is none.
    value: Result<(String, &'static str), String>,
    about: String,
    source: &'static str,
}

/// The five figures.
pub(super) fn figures(record: &Record, figures: &Figures<'_>) -> String {
    let cards = [
        iops(figures),
        read_p99(record, figures),
        cost(record, figures),
        redo(record, figures),
        ceiling(record, figures),
    ];
    format!("<div class=\"cards\">\n{}</div>\n", cards.iter().map(html).collect::<String>())
}

fn html(card: &Card) -> String {
    let value = match &card.value {
        Ok((number, unit)) => format!(
            "<p class=\"value\">{}<span class=\"unit\">{}</span></p>",
            escape::text(number),
            escape::text(unit)
        ),
        Err(reason) => {
            format!("<p class=\"value none\">&ndash;</p><p class=\"absent\">{}</p>", escape::prose(reason))
        }
    };
    format!(
        "<div class=\"card\"><h3>{}</h3>{value}<p>{}</p><p class=\"source\">Source: {}</p></div>\n",
        escape::text(card.name),
        escape::prose(&card.about),
        escape::text(card.source)
    )
}

/// Why a figure is absent: nothing was measured, or else as said.
fn reason(figures: &Figures<'_>, else_reason: &str) -> String {
    if !figures.is_measured() { "Nothing was measured.".into() } else { else_reason.into() }
}

fn iops(figures: &Figures<'_>) -> Card {
    let logical = figure::LOGICAL_READS_PER_S.of(figures);
    let logical = logical.map(|rate| format!("; {} logical", fixed(rate, 0))).unwrap_or_default();
    Card {
        name: "Physical IOPS",
        value: figure::PHYSICAL_READS_PER_S
            .of(figures)
            .map(|rate| (fixed(rate, 0), " /s"))
            .ok_or_else(|| reason(figures, "The database does not count its physical reads.")),
        about: format!("Blocks per second that the buffer cache asked for{logical}"),
        source: "the database's counters",
    }
}

/// The database's own measure of a read, or else the SELECT's latency shared among its blocks.
fn read_p99(record: &Record, figures: &Figures<'_>) -> Card {
    let operation = figure::OPERATION_P99_US.of(figures).map(duration_us);
    if let Some(p99_us) = figure::PHYSICAL_READ_P99_US.of(figures) {
        let operation = operation.map(|p99| format!("; p99 of a whole operation {p99}")).unwrap_or_default();
        let (number, unit) = with_unit(p99_us);
        let (number, about, source) = if figure::PHYSICAL_READ_P99_US.is_bound(figures) {
            let about = "Upper bound of the bucket in which the database counts such a read";
            (format!("\u{2264} {number}"), about, "the database's own histogram of its waits")
        } else {
            (number, "Each single read, from call to return", "the database's clock around each read")
        };
        return Card {
            name: "p99 of a physical read",
            value: Ok((number, unit)),
            about: format!("{about}{operation}"),
            source,
        };
    }
    let blocks = record.workload.work_unit;
    let select = record.window.and_then(|_| record.operations.get(&OpKind::Select));
    let p99_us = select.and_then(|select| percentile_us(&select.latency, 99.0)).filter(|_| blocks > 0);
    Card {
        name: "p99 of a SELECT, per block",
        value: p99_us
            .map(|p99_us| with_unit(p99_us / f64::from(blocks)))
            .ok_or_else(|| reason(figures, "No SELECT ended within the window.")),
        about: format!(
            "p99 of whole SELECTs divided by their {}: this database does not time single reads",
            plural(u64::from(blocks), "block")
        ),
        source: "the clock around each operation",
    }
}

/// A duration as number and unit.
fn with_unit(us: f64) -> (String, &'static str) {
    let text = duration_us(us);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let unit = match unit {
        "us" => " \u{b5}s",
        "ms" => " ms",
        _ => " s",
    };
    (number.to_owned(), unit)
}

fn cost(record: &Record, figures: &Figures<'_>) -> Card {
    let each = figure::DB_CPU_US_PER_PHYSICAL_READ.of(figures);
    let each = each.map(|us| format!(": {} for each read", duration_us(us)));
    Card {
        name: "IOPS per DB-CPU-s",
        value: figure::PHYSICAL_READS_PER_DB_CPU_S.of(figures).map(|rate| (fixed(rate, 0), "")).ok_or_else(
            || {
                let unseen = "The CPU of the database's processes can't be seen from here.";
                reason(
                    figures,
                    if record.db_cpu.is_none() { unseen } else { "No physical reads were counted." },
                )
            },
        ),
        about: format!(
            "Physical reads for each second of the database's CPU time{}",
            each.unwrap_or_default()
        ),
        source: "the database's counters; /proc",
    }
}

fn redo(record: &Record, figures: &Figures<'_>) -> Card {
    let syncs = figure::REDO_SYNCS_PER_S
        .of(figures)
        .map(|rate| format!("; flushed to storage {} times/s", fixed(rate, 1)));
    let none = if record.workload.update_pct == 0 {
        "This run had no updates, and no redo was counted."
    } else {
        "The database does not count its redo."
    };
    Card {
        name: "Redo",
        value: figure::REDO_MB_PER_S
            .of(figures)
            .map(|mb| (fixed(mb, 1), " MB/s"))
            .ok_or_else(|| reason(figures, none)),
        about: format!("Log written; MB are 10\u{2076} bytes{}", syncs.unwrap_or_default()),
        source: "the database's counters",
    }
}

fn ceiling(record: &Record, figures: &Figures<'_>) -> Card {
    let missing = || match &record.probe {
        _ if figures.is_above_probe() => format!("Reads from the device: {ABOVE_PROBE}"),
        None => "The device was not probed: `slob probe` shows what it can do.".into(),
        Some(_) => "The probe does not fit this run: see the section on it.".into(),
    };
    let of = figure::CEILING_IOPS
        .of(figures)
        .map(|iops| format!(" of {} IOPS", fixed(iops, 0)))
        .unwrap_or_default();
    Card {
        name: "Of the device's ceiling",
        value: figure::PERCENT_OF_CEILING
            .of(figures)
            .map(|share| (percent(share), " %"))
            .ok_or_else(|| reason(figures, &missing())),
        about: format!("The run's reads from the device, in percent{of} without a database"),
        source: "the kernel's counters; the saved probe",
    }
}

/// The verdicts, each with its reasons.
pub(super) fn verdicts(verdicts: &[Verdict]) -> String {
    let rows: String = verdicts.iter().map(verdict).collect();
    format!("<div class=\"verdicts\">\n{rows}</div>\n")
}

fn verdict(verdict: &Verdict) -> String {
    let details: String =
        verdict.details.iter().map(|detail| format!("<li>{}</li>", escape::prose(detail))).collect();
    let more = if details.is_empty() {
        String::new()
    } else {
        format!("<details><summary>Why</summary><ul>{details}</ul></details>")
    };
    format!(
        "<div class=\"verdict\"><h3>{}</h3><span class=\"badge {}\">{}</span><div><p>{}</p>{more}</div></div>\n",
        escape::text(verdict.question.title()),
        class(verdict.answer),
        verdict.answer.word(),
        escape::prose(&verdict.sentence)
    )
}

fn class(answer: Answer) -> &'static str {
    match answer {
        Answer::Good => "good",
        Answer::Unknown => "unknown",
        Answer::Doubt => "doubt",
        Answer::Bad => "bad",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use slob_measure::LatencyKind;

    #[test]
    fn a_read_that_is_not_measured_is_said_to_be_a_share_of_a_select() {
        let record = fixture::page_cache_run();
        let html = figures(&record, &Figures::of(&record));
        assert!(html.contains("p99 of a SELECT, per block") && html.contains("their 64 blocks"), "{html}");
        let record = fixture::direct_read_run();
        assert!(figures(&record, &Figures::of(&record)).contains("p99 of a physical read"));
    }

    #[test]
    fn a_bound_is_not_shown_as_the_time_of_each_read() {
        let mut record = fixture::direct_read_run();
        let total = slob_measure::WaitTotal { waits: 1000, time_us: 140_000 };
        fixture::with_exact(&mut record, LatencyKind::PhysicalRead, total);
        let html = figures(&record, &Figures::of(&record));
        assert!(
            html.contains("<p class=\"value\">\u{2264} ") && html.contains("Upper bound of the bucket"),
            "{html}"
        );
        assert!(!html.contains("Each read by itself"), "{html}");
    }

    #[test]
    fn what_was_not_measured_is_no_zero() {
        let record = fixture::failed_run();
        let html = figures(&record, &Figures::of(&record));
        assert_eq!(html.matches("Nothing was measured.").count(), 5);
        assert!(!html.contains(">0<"), "{html}");
    }

    #[test]
    fn a_failed_run_stands_out() {
        let record = fixture::failed_run();
        assert!(banner(&record).contains("<strong>Failed</strong> connecting session 3"));
        assert_eq!(banner(&fixture::direct_read_run()), "");
    }
}

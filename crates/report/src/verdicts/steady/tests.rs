use rstest::rstest;

use super::*;
use crate::fixture::{self, with_device_read_share, with_series};
use slob_record::Record;

fn verdict(record: &Record) -> Verdict {
    judge(&Figures::of(record))
}

/// A run whose operations of each second are given.
fn with_rates(of_second: impl Fn(u64) -> u64) -> Record {
    let mut record = fixture::direct_read_run();
    with_series(&mut record, 72, of_second);
    record
}

#[rstest]
#[case::even(|s| 300 + s % 7, Answer::Good, "Yes: 303 operations/s")]
#[case::noisy(|s| 300 + 90 * (s % 2), Answer::Doubt, "vary by 13.")]
#[case::wild(|s| 300 + 400 * (s % 2), Answer::Bad, "vary by 40.")]
#[case::falling(|s| 1000 - 2 * s, Answer::Doubt, "fell by 12.0 %")]
#[case::collapsing(|s| 1000 - 10 * s, Answer::Bad, "fell by")]
#[case::rising(|s| 1000 + 2 * s, Answer::Doubt, "rose by")]
#[case::barely_rising(|s| 10_000 + 5 * s, Answer::Good, "trend +2.9 %")]
#[case::one_stall(|s| if s == 40 { 20 } else { 3000 }, Answer::Doubt, "1 of 60")]
#[case::stalls(|s| if s % 10 == 0 { 20 } else { 300 }, Answer::Bad, "6 of 60")]
#[case::slow(|_| 3, Answer::Unknown, "Too slow")]
fn the_series_decides(#[case] of_second: fn(u64) -> u64, #[case] answer: Answer, #[case] words: &str) {
    let verdict = verdict(&with_rates(of_second));
    assert_eq!(verdict.answer, answer, "{verdict:?}");
    let said = verdict.sentence.contains(words) || verdict.details.iter().any(|d| d.contains(words));
    assert!(said, "{verdict:?}");
}

#[test]
fn a_second_in_which_nothing_was_reported_is_a_stall() {
    let mut record = fixture::direct_read_run();
    let mut series = slob_stats::Series::new(0, 1800);
    for second in (0..72).filter(|second| *second != 40) {
        series.push(second, fixture::interval(300)).unwrap();
    }
    record.series = series;
    let verdict = verdict(&record);
    assert_eq!(verdict.answer, Answer::Doubt);
    assert!(verdict.sentence.contains("began at second 40"), "{verdict:?}");
}

#[test]
fn a_short_window_tells_nothing() {
    let mut record = fixture::direct_read_run();
    record.window.as_mut().unwrap().seconds = 9.0;
    let short = verdict(&record);
    assert_eq!(short.answer, Answer::Unknown);
    assert!(short.sentence.contains("9 intervals of 1 s"), "{short:?}");
    record.window.as_mut().unwrap().seconds = 10.0;
    assert_eq!(verdict(&record).answer, Answer::Good, "a window of 10 s holds 10 intervals");
}

#[test]
fn a_trend_that_may_be_chance_is_not_printed_as_one() {
    let even = verdict(&with_rates(|s| 3000 + 90 * (s * 7 % 5)));
    assert_eq!(even.answer, Answer::Good, "{even:?}");
    assert!(even.sentence.contains("no trend found, within +-"), "{even:?}");
    assert!(!even.sentence.contains("over the window"), "{even:?}");
}

#[test]
fn a_window_too_noisy_to_show_a_trend_is_not_called_steady() {
    let mut record = with_rates(|s| 3000 + 500 * (s * 7 % 3));
    record.window.as_mut().unwrap().seconds = 10.0;
    let noisy = verdict(&record);
    assert_eq!(noisy.answer, Answer::Doubt, "{noisy:?}");
    let said = noisy.sentence.contains("would go unnoticed")
        || noisy.details.iter().any(|detail| detail.contains("would go unnoticed"));
    assert!(said, "{noisy:?}");
}

#[test]
fn other_programs_are_named() {
    let mut record = fixture::direct_read_run();
    with_device_read_share(&mut record, 1.2);
    let reads = verdict(&record);
    assert_eq!(reads.answer, Answer::Doubt);
    assert!(reads.sentence.contains("16.7 % of what the device read"), "{reads:?}");

    let mut record = fixture::direct_read_run();
    let cpu = record.host.as_mut().unwrap().cpu.as_mut().unwrap();
    let moved = 0.1 * cpu.total_s();
    cpu.user_s += moved;
    cpu.idle_s -= moved;
    let cpu = verdict(&record);
    assert_eq!(cpu.answer, Answer::Doubt);
    assert!(cpu.sentence.contains("other programs"), "{cpu:?}");
}

#[test]
fn what_others_did_may_be_unknown() {
    let mut record = fixture::direct_read_run();
    record.host = None;
    let without_host = verdict(&record);
    assert_eq!(without_host.answer, Answer::Good);
    assert!(
        without_host.details[0].contains("CPU use and device reads could not be measured"),
        "{without_host:?}"
    );
    assert_eq!(verdict(&fixture::failed_run()).answer, Answer::Unknown);
}

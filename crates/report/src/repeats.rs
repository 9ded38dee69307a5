//! What repeats of one test say together: mean, spread and noise of the key figures.

use slob_facts::{figure, format::fixed};
use slob_record::Record;
use slob_stats::summary::{coefficient_of_variation, maximum, mean, mean_interval, minimum};

use crate::group::{Group, write_verdicts};
use crate::page::{Column, Page, Table};
use crate::{Confidence, change::shown_percent};

/// A figure that a BAD verdict forbids has the reason instead of a mean.
pub fn repeats_text(name: &str, records: &[Record]) -> String {
    let group = Group::of(name, records);
    let mut page = Page::default();
    page.section(&format!("{} runs of {name}", records.len()));
    write_verdicts(&mut page, &[(name, &group.verdicts)]);
    let heads = ["Figure", "Mean", "Smallest", "Largest", "CV %", "Noise %"];
    let mut table = Table::new(heads.iter().enumerate().map(|(at, head)| match at {
        0 => Column::left(head),
        _ => Column::right(head),
    }));
    let mut refused = Vec::new();
    for figure in figure::KEY_IN_ROWS {
        let values = match group.known(figure) {
            Ok(values) => values,
            Err(why) => {
                refused.push(format!("{}: {why}.", figure.heading));
                continue;
            }
        };
        let Some(mean) = mean(&values) else { continue };
        let shown = |value: Option<f64>| value.map_or_else(String::new, |value| figure.in_unit(value));
        let interval = mean_interval(&values, Confidence::default().ratio());
        let noise = interval.map(|(low, high)| 100.0 * (high - low) / 2.0 / mean);
        table.row([
            figure.heading.to_owned(),
            shown(Some(mean)),
            shown(minimum(&values)),
            shown(maximum(&values)),
            coefficient_of_variation(&values).map_or_else(String::new, |cv| fixed(100.0 * cv, 1)),
            noise.filter(|noise| noise.is_finite()).map_or_else(String::new, shown_percent),
        ]);
    }
    page.table(&table);
    refused.iter().for_each(|why| page.hanging("  -", why));
    page.paragraph(&format!(
        "The mean of more such runs lies within the noise of this one, at {} % confidence. Compare: `slob compare {name} OTHER`.",
        fixed(100.0 * Confidence::default().ratio(), 0)
    ));
    page.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_testing::records;

    #[test]
    fn repeats_have_a_mean_a_spread_and_a_noise_and_bad_ones_a_reason() {
        let good = [records::direct_read_run(), records::direct_read_run()];
        let text = repeats_text("raw", &good);
        assert!(text.contains("2 runs of raw") && text.contains("Noise %"), "{text}");
        let bad = [records::direct_read_run(), records::page_cache_run()];
        let text = repeats_text("raw", &bad);
        assert!(text.contains("Physical? of raw is BAD (1 of 2 runs"), "{text}");
    }
}

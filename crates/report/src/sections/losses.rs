//! Sessions that lost their database and what became of them.

use slob_record::{LossRecord, Record};

use crate::format::{count, fixed};
use crate::page::{Column, Page, Table};

/// Rows of the table.
const SHOWN: usize = 20;

pub(super) fn write(page: &mut Page, record: &Record) {
    let Some(first) = record.losses.first() else { return };
    page.section("Lost sessions");
    let back = record.losses.iter().filter_map(|loss| Some((loss.at_s, loss.back_s?)));
    let outages: Vec<f64> = back.map(|(at_s, back_s)| back_s - at_s).collect();
    let longest = outages.iter().copied().fold(0.0, f64::max);
    page.paragraph(&format!(
        "{} {} of a session's database, the first {} s after the start; {} reconnected, after {} s at most. \
         Operations under way at that moment failed; sessions that reconnected repeated them.",
        count(record.losses.len() as u64),
        if record.losses.len() == 1 { "loss" } else { "losses" },
        fixed(first.at_s, 1),
        count(outages.len() as u64),
        fixed(longest, 2)
    ));
    let name = |index: u32| {
        let endpoint = record.endpoints.get(index as usize);
        endpoint.map_or_else(|| "-".to_owned(), |endpoint| endpoint.endpoint.clone())
    };
    let mut table = Table::new([
        Column::right("At s"),
        Column::right("Session"),
        Column::left("Endpoint").at_most(24),
        Column::right("Back after s"),
        Column::left("On").at_most(24),
        Column::left("Error").at_most(40),
    ]);
    for loss in record.losses.iter().take(SHOWN) {
        table.row(row(loss, &name));
    }
    page.table(&table);
    let more = record.losses.len().saturating_sub(SHOWN);
    if more > 0 {
        page.paragraph(&format!("{more} more are in run.json."));
    }
}

fn row(loss: &LossRecord, name: &dyn Fn(u32) -> String) -> Vec<String> {
    let after = loss.back_s.map(|back_s| fixed(back_s - loss.at_s, 2));
    vec![
        fixed(loss.at_s, 2),
        loss.session.to_string(),
        name(loss.endpoint),
        after.unwrap_or_else(|| "never".to_owned()),
        loss.back_endpoint.map_or_else(|| "-".to_owned(), name),
        // What keeps it away tells more than what drove it away.
        loss.refused.as_ref().filter(|_| loss.back_s.is_none()).unwrap_or(&loss.error).clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_loss_has_a_row_up_to_twenty() {
        let mut record = fixture::direct_read_run();
        let loss = |session: u32| LossRecord {
            session,
            endpoint: 0,
            at_s: 3.0 + f64::from(session),
            error: "the server went away".into(),
            back_s: (session > 0).then(|| 3.5 + f64::from(session)),
            back_endpoint: (session > 0).then_some(1),
            refused: Some("schema 1 is not loaded".into()),
        };
        record.losses = (0..25).map(loss).collect();
        let text = Page::text_by(write, &record).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.matches("went away").count(), 19, "{text}");
        assert_eq!(text.matches("not loaded").count(), 1, "{text}");
        assert!(text.contains("25 losses") && text.contains("24 reconnected, after 0.50 s"), "{text}");
        assert!(text.contains("never") && text.contains("5 more are in run.json"), "{text}");
    }
}

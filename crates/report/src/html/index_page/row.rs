//! One run among all.

use serde::{Deserialize, Serialize};
use slob_record::Record;

use super::escape;
use crate::figure::{self, Figures};
use crate::format::{ABSENT, count, duration_us, or_absent};
use crate::info::status_word;
use crate::verdicts::{Answer, verdicts};
use crate::window::operation_rates;

/// Points of a curve: as many as can be told apart in its width.
const POINTS: usize = 48;
/// Size of a curve in pixels.
const SIZE: (f64, f64) = (120.0, 28.0);

/// Columns of numbers: on a narrow screen, where there are no columns, each number has its name beside it.
const SESSIONS: &str = "Sessions";
const UPDATES: &str = "Updates %";
const IOPS: &str = "IOPS";
const P99: &str = "p99";

/// The sortable columns: head, class.
pub(super) const HEADS: [(&str, &str); 10] = [
    ("Started (UTC)", ""),
    ("Run", ""),
    ("Target", ""),
    ("Host", ""),
    ("Device", ""),
    (SESSIONS, "n"),
    (UPDATES, "n"),
    (IOPS, "n"),
    (P99, "n"),
    ("Verdicts", ""),
];

/// What the page of all runs shows of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexRow {
    /// Its id, which is its folder's name.
    pub id: String,
    /// RUN_NAME.
    pub name: String,
    /// `completed`, `interrupted` or `failed`.
    pub status: String,
    /// When it was started, UTC, to the minute.
    pub started: String,
    /// TARGET, without a password.
    pub target: String,
    /// The host's name; `None` if it was not looked at.
    pub host: Option<String>,
    /// The block device behind the data; `None` if it is not known.
    pub device: Option<String>,
    /// Schemas x threads.
    pub sessions: u32,
    /// UPDATE_PCT.
    pub update_pct: u8,
    /// Physical reads per second of the window.
    pub iops: Option<f64>,
    /// Operations per second of the window.
    pub operations_per_s: Option<f64>,
    /// 99th percentile of operations, in microseconds.
    pub p99_us: Option<f64>,
    /// The verdicts' answers in the order of their questions: `GOOD`, `DOUBT`, `BAD`, `UNKNOWN`.
    pub verdicts: Vec<String>,
    /// Operations per second over the window, at most 48 points.
    pub curve: Vec<f64>,
}

impl IndexRow {
    /// Of a run, with its series.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let figures = Figures::of(record);
        let host = record.host.as_ref();
        let device = host.and_then(|host| Some(host.device.as_ref()?.device.top.as_ref()?.name.clone()));
        let rates: Vec<f64> = operation_rates(record).iter().map(|rate| rate.operations_per_s).collect();
        Self {
            id: record.id.clone(),
            name: record.name.clone(),
            status: status_word(&record.status).to_owned(),
            started: record.started.strftime("%Y-%m-%d %H:%M").to_string(),
            target: record.target.clone(),
            host: host.map(|host| host.info.hostname.clone()),
            device,
            sessions: record.workload.sessions(),
            update_pct: record.workload.update_pct,
            iops: figure::PHYSICAL_READS_PER_S.of(&figures),
            operations_per_s: figure::OPERATIONS_PER_S.of(&figures),
            p99_us: figure::OPERATION_P99_US.of(&figures),
            verdicts: verdicts(record).iter().map(|verdict| verdict.answer.word().to_owned()).collect(),
            curve: thinned(&rates),
        }
    }

    /// The row of the table.
    pub(super) fn html(&self) -> String {
        let (id, href) = (escape::text(&self.id), escape::text(&format!("{}/report.html", self.id)));
        let answers =
            ["Physical?", "Accounted?", "CPU-bound?", "Steady?", "Complete?"].iter().zip(&self.verdicts);
        let lights: String = answers
            .map(|(question, answer)| {
                let class = answer.to_lowercase();
                format!(
                    "<span class=\"light {}\" title=\"{question} {}\"></span>",
                    escape::text(&class),
                    escape::text(answer)
                )
            })
            .collect();
        let state = match self.status.as_str() {
            "completed" => String::new(),
            other => format!(
                " <span class=\"badge {}\">{other}</span>",
                if other == "failed" { "bad" } else { "doubt" }
            ),
        };
        let plain = |value: &str| format!("<td data-value=\"{0}\">{0}</td>", escape::text(value));
        let number = |name: &str, value: Option<f64>, shown: String| {
            let exact = value.map(|value| value.to_string()).unwrap_or_default();
            format!(
                "<td class=\"n\" data-name=\"{name}\" data-value=\"{exact}\">{}</td>",
                escape::text(&shown)
            )
        };
        [
            format!(
                "<tr data-target=\"{}\" data-host=\"{}\" data-device=\"{}\" data-sessions=\"{}\" data-verdicts=\"{}\">",
                escape::text(&self.target),
                escape::text(self.host.as_deref().unwrap_or_default()),
                escape::text(self.device.as_deref().unwrap_or_default()),
                self.sessions,
                escape::text(&self.summed_up().join("|"))
            ),
            format!("<td><input type=\"checkbox\" value=\"{id}\" aria-label=\"Compare {id}\"></td>"),
            plain(&self.started),
            format!("<td data-value=\"{0}\"><a href=\"{href}\" title=\"{id}\">{0}</a>{state}</td>", escape::text(&self.name)),
            plain(&self.target),
            plain(self.host.as_deref().unwrap_or(ABSENT)),
            plain(self.device.as_deref().unwrap_or(ABSENT)),
            number(SESSIONS, Some(f64::from(self.sessions)), count(u64::from(self.sessions))),
            number(UPDATES, Some(f64::from(self.update_pct)), self.update_pct.to_string()),
            number(IOPS, self.iops, or_absent(self.iops, |iops| count(iops.round() as u64))),
            number(P99, self.p99_us, or_absent(self.p99_us, duration_us)),
            format!("<td data-value=\"{}\">{lights}</td>", escape::text(&self.verdicts.join(" "))),
            format!("<td>{}</td></tr>\n", self.curve_html()),
        ]
        .concat()
    }

    /// What the verdicts can be filtered by.
    fn summed_up(&self) -> Vec<&'static str> {
        let any = |answer: Answer| self.verdicts.iter().any(|word| word == answer.word());
        let mut words = Vec::new();
        if self.verdicts.iter().all(|word| word == Answer::Good.word()) {
            words.push("all good");
        }
        for (answer, said) in
            [(Answer::Bad, "a BAD"), (Answer::Doubt, "a DOUBT"), (Answer::Unknown, "an UNKNOWN")]
        {
            if any(answer) {
                words.push(said);
            }
        }
        words
    }

    /// A small curve from zero to its highest point.
    fn curve_html(&self) -> String {
        let most = self.curve.iter().copied().fold(0.0, f64::max);
        if self.curve.len() < 2 || most <= 0.0 {
            return ABSENT.into();
        }
        let (width, height) = SIZE;
        let step = width / (self.curve.len() - 1) as f64;
        let points: Vec<String> = self
            .curve
            .iter()
            .enumerate()
            .map(|(at, rate)| {
                format!("{:.1},{:.1}", at as f64 * step, 1.0 + (height - 2.0) * (1.0 - rate / most))
            })
            .collect();
        let about =
            or_absent(self.operations_per_s, |rate| format!("{} operations/s", count(rate.round() as u64)));
        format!(
            "<svg class=\"curve\" viewBox=\"0 0 {width} {height}\" role=\"img\"><title>{about}</title><polyline \
             points=\"{}\"/></svg>",
            points.join(" ")
        )
    }
}

/// Means of neighbours, so that no more than [`POINTS`] are left.
fn thinned(rates: &[f64]) -> Vec<f64> {
    let each = rates.len().div_ceil(POINTS).max(1);
    let mean = |part: &[f64]| (10.0 * part.iter().sum::<f64>() / part.len() as f64).round() / 10.0;
    rates.chunks(each).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_mean() {
        assert!(thinned(&[]).is_empty());
        assert_eq!(thinned(&[1.0, 2.0]), [1.0, 2.0]);
        let long: Vec<f64> = (0..480).map(f64::from).collect();
        let few = thinned(&long);
        assert_eq!((few.len(), few[0], few[47]), (48, 4.5, 474.5));
    }
}

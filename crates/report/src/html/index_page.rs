//! All runs of a folder on one page.

use std::collections::BTreeMap;

use itertools::Itertools;
use maud::{Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};
use slob_record::Record;

use crate::columns::status_word;
use crate::group::without_repeat;
use slob_facts::format::{ABSENT, count, or_absent, plural};
use slob_facts::measured::{device_name, operation_rates};
use slob_facts::settings::told_apart_by;
use slob_facts::{Claim, Figure, Grade, Judged, Lead, Question, Run, Standing, figure};
use slob_page::escape::{self, text};
use slob_page::layout;

/// A narrow screen has no columns: each number has its name beside it.
fn numbers() -> impl Iterator<Item = &'static Figure> {
    [&figure::SESSIONS, &figure::UPDATE_PCT].into_iter().chain(Lead::Response.key_in_rows().iter().copied())
}

/// The places of the numbers that runs with this lead show.
fn shown(lead: Lead) -> impl Iterator<Item = (usize, &'static Figure)> {
    let is_key = move |figure: &Figure| lead.key_in_rows().iter().any(|key| key.name == figure.name);
    numbers().enumerate().filter(move |(at, figure)| *at < 2 || is_key(figure))
}

/// The rows are kept within the page, so that the next page need not read their records again.
const ROWS: (&str, &str) = ("<script type=\"application/json\" id=\"rows\">", "</script>");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherPage {
    pub kind: String,
    pub name: String,
    pub href: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexRow {
    pub id: String,
    name: String,
    status: String,
    started: String,
    target: String,
    host: Option<String>,
    device: Option<String>,
    numbers: Vec<IndexNumber>,
    lead: Lead,
    operations_per_s: Option<f64>,
    verdicts: Vec<Judged>,
    curve: Vec<f64>,
    settings: BTreeMap<String, String>,
    digest: Option<String>,
    pub is_signed: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct IndexNumber {
    value: Option<f64>,
    shown: String,
    invalid: Option<Question>,
}

impl IndexRow {
    pub fn of(record: &Record) -> Self {
        let figures = Run::of(record);
        let host = record.host.as_ref();
        let rates: Vec<f64> = operation_rates(record).iter().map(|rate| rate.operations_per_s).collect();
        let number = |figure: &Figure| IndexNumber {
            value: figure.of(&figures),
            shown: figure.show(&figures),
            invalid: match (figure.of(&figures), figures.standing(figure, Claim::Storage)) {
                (Some(_), Standing::Invalid(question)) => Some(question),
                _ => None,
            },
        };
        Self {
            id: record.id.clone(),
            name: record.name.clone(),
            status: status_word(&record.status).to_owned(),
            started: record.started.strftime("%Y-%m-%d %H:%M").to_string(),
            target: record.target.clone(),
            host: host.map(|host| host.info.hostname.clone()),
            device: device_name(record).map(str::to_owned),
            numbers: numbers().map(number).collect(),
            lead: figures.lead(),
            operations_per_s: figure::OPERATIONS_PER_S.of(&figures),
            verdicts: figures.judged().to_vec(),
            curve: thinned(&rates),
            settings: told_apart_by(record),
            digest: record.digest.clone(),
            is_signed: false,
        }
    }

    pub fn is_good(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.answer == Grade::Good)
    }

    fn html(&self, lead: Lead) -> Markup {
        let plain = |value: &str| {
            let value = PreEscaped(text(value));
            html! { td data-value=(value) { (value) } }
        };
        let optional =
            |value: &Option<String>| value.as_deref().map(text).map(PreEscaped).unwrap_or_default();
        let sessions = self.numbers[0].value.map(|sessions| sessions.to_string());
        let answers: Vec<&str> = self.verdicts.iter().map(|verdict| verdict.answer.word()).collect();
        let id = PreEscaped(text(&self.id));
        html! {
            tr data-target=(PreEscaped(text(&self.target))) data-host=(optional(&self.host))
                data-device=(optional(&self.device)) data-sessions=(sessions.unwrap_or_default())
                data-verdicts=(self.filters().join("|"))
            {
                td { input type="checkbox" value=(id) aria-label={ "Compare " (id) }; }
                (plain(&self.started))
                td data-value=(PreEscaped(text(&self.name))) {
                    a href={ (id) "/report.html" } title=(id) { (PreEscaped(text(&self.name))) }
                    " " (self.record_links())
                    @if self.status != "completed" {
                        " " span class={ "badge " (if self.status == "failed" { "bad" } else { "doubt" }) } { (self.status) }
                    }
                }
                (plain(&self.target))
                (plain(self.host.as_deref().unwrap_or(ABSENT)))
                (plain(self.device.as_deref().unwrap_or(ABSENT)))
                @for (figure, number) in shown(lead).map(|(at, figure)| (figure, &self.numbers[at])) {
                    td class="n" data-name=(figure.short) data-is-set[figure.is_of_workload()]
                        data-value=(number.value.map(|value| value.to_string()).unwrap_or_default())
                    {
                        (number.html())
                    }
                }
                td data-value=(answers.join(" ")) { (self.lights()) }
                td { (self.curve_html()) }
            }
        }
    }

    /// Each number of the row can be checked by these.
    fn record_links(&self) -> Markup {
        let id = PreEscaped(text(&self.id));
        let digest = self.digest.as_deref().map_or_else(String::new, |digest| format!("SHA-256 {digest}"));
        html! {
            span class="hint" {
                a href={ (id) "/run.json" } title=(PreEscaped(text(&digest))) { "record" }
                @if self.is_signed { " " a href={ (id) "/run.json.sig" } { "signature" } }
            }
        }
    }

    fn lights(&self) -> Markup {
        html! {
            @for verdict in &self.verdicts {
                span class={ "light " (verdict.answer.word().to_lowercase()) }
                    title={ (verdict.question.title()) " " (verdict.answer.word()) } {}
            }
        }
    }

    /// Runs with the same of it are repeats of one test.
    fn test(&self) -> (&str, &str, &BTreeMap<String, String>) {
        (without_repeat(&self.name), &self.target, &self.settings)
    }

    fn filters(&self) -> Vec<&'static str> {
        let any = |answer: Grade| self.verdicts.iter().any(|verdict| verdict.answer == answer);
        let some = [(Grade::Bad, "a BAD"), (Grade::Doubt, "a DOUBT"), (Grade::Unknown, "an UNKNOWN")];
        let some = some.into_iter().filter(|(answer, _)| any(*answer)).map(|(_, words)| words);
        self.is_good().then_some("all good").into_iter().chain(some).collect()
    }

    fn curve_html(&self) -> Markup {
        const SIZE: (f64, f64) = (120.0, 28.0);
        let most = self.curve.iter().copied().fold(0.0, f64::max);
        if self.curve.len() < 2 || most <= 0.0 {
            return html! { (ABSENT) };
        }
        let (width, height) = SIZE;
        let step = width / (self.curve.len() - 1) as f64;
        let point = |(at, rate): (usize, &f64)| {
            format!("{:.1},{:.1}", at as f64 * step, 1.0 + (height - 2.0) * (1.0 - rate / most))
        };
        let points: Vec<String> = self.curve.iter().enumerate().map(point).collect();
        let about =
            or_absent(self.operations_per_s, |rate| format!("{} operations/s", count(rate.round() as u64)));
        html! {
            svg class="curve" viewBox={ "0 0 " (width) " " (height) } role="img" {
                title { (about) }
                polyline points=(points.join(" ")) {}
            }
        }
    }
}

impl IndexNumber {
    fn html(&self) -> Markup {
        html! {
            @match self.invalid {
                Some(question) => s title={ (question.title()) " " (Grade::Bad.word()) } { (self.shown) },
                None => (self.shown),
            }
        }
    }
}

/// The lowest and the highest run of a test. Where the database does not count its reads, operations stand for them.
fn ends<'a>(runs: &[&'a IndexRow]) -> Option<(&'static Figure, [(&'a IndexRow, &'a IndexNumber); 2])> {
    let of = |figure: &'static Figure| {
        let at = numbers().position(|other| other.name == figure.name)?;
        let known = runs.iter().filter_map(|run| Some((run.numbers[at].value?, *run)));
        let (low, high) = known.minmax_by(|(a, _), (b, _)| a.total_cmp(b)).into_option()?;
        Some((figure, [low.1, high.1].map(|run| (run, &run.numbers[at]))))
    };
    of(&figure::PHYSICAL_READS_PER_S).or_else(|| of(&figure::OPERATIONS_PER_S))
}

/// The lowest run of each test is beside the highest: the best of several alone says little.
fn repeats(rows: &[&IndexRow]) -> Markup {
    let tests = rows.iter().copied().into_group_map_by(|row| row.test()).into_iter();
    let tests = tests.filter(|(_, runs)| runs.len() > 1);
    let tests = tests.sorted_by(|(_, a), (_, b)| b[0].id.cmp(&a[0].id)).collect_vec();
    html! {
        @if !tests.is_empty() {
            section id="repeats" {
                h2 { "Repeats" }
                div class="part scroll" {
                    table {
                        thead { tr { @for head in ["Test", "Target", "Runs", "Figure", "Lowest", "Highest"] { th scope="col" { (head) } } } }
                        tbody {
                            @for ((name, target, _), runs) in tests {
                                tr {
                                    td { (PreEscaped(text(name))) }
                                    td { (PreEscaped(text(target))) }
                                    td class="n" { (runs.len()) }
                                    @if let Some((figure, ends)) = ends(&runs) {
                                        td { (figure.short) }
                                        @for (run, number) in ends {
                                            td {
                                                a href={ (PreEscaped(text(&run.id))) "/report.html" } title=(PreEscaped(text(&run.id))) { (number.html()) }
                                                " " (run.lights())
                                            }
                                        }
                                    } @else {
                                        td { (ABSENT) } td { (ABSENT) } td { (ABSENT) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Means of neighbours: the width shows at most 48 points.
fn thinned(rates: &[f64]) -> Vec<f64> {
    const POINTS: usize = 48;
    let each = rates.len().div_ceil(POINTS).max(1);
    let mean = |part: &[f64]| (10.0 * part.iter().sum::<f64>() / part.len() as f64).round() / 10.0;
    rates.chunks(each).map(mean).collect()
}

/// `where_else` is the option for these runs, such as ` --results-dir DIR`; empty for the usual folder. A live page shows what its
/// server sends of runs under way.
pub fn index_page(rows: &[IndexRow], others: &[OtherPage], where_else: &str, is_live: bool) -> String {
    const BEFORE: [&str; 5] = ["Started (UTC)", "Run", "Target", "Host", "Device"];
    const FILTERS: [(&str, &str); 5] = [
        ("target", "Target"),
        ("host", "Host"),
        ("device", "Device"),
        ("sessions", "Sessions"),
        ("verdicts", "Verdict"),
    ];
    let mut newest_first: Vec<&IndexRow> = rows.iter().collect();
    newest_first.sort_by(|a, b| b.id.cmp(&a.id));
    let words = BEFORE.map(|name| (name, ""));
    let lead = Lead::of_all(rows.iter().map(|row| row.lead));
    let numbers = shown(lead).map(|(_, figure)| (figure.short, "n"));
    let heads = words.into_iter().chain(numbers).chain([("Verdicts", "")]);
    let header = html! {
        h1 { "Runs" }
        p class="lead" id="count" { (plural(rows.len() as u64, "run")) }
    };
    let main = html! {
        @if is_live { section id="live" aria-live="polite" {} }
        div class="filters" {
            input type="search" id="search" placeholder="Filter by words" aria-label="Filter by words";
            @for (of, name) in FILTERS {
                select data-of=(of) aria-label=(name) { option value="" { (name) ": any" } }
            }
        }
        div class="compare" id="compare" data-where=(PreEscaped(text(where_else))) hidden {
            div class="scroll" { table id="side-by-side" {} }
            p class="hint" {
                "Whether a difference is more than noise: " code id="command" {} " " button type="button" id="copy" { "Copy" }
            }
        }
        div class="part scroll" {
            table id="runs" {
                thead {
                    tr {
                        th scope="col" { span class="hint" { "Compare" } }
                        @for (name, class) in heads {
                            th class=(class) scope="col" { button type="button" { (name) } }
                        }
                        th scope="col" { (figure::OPERATIONS_PER_S.short) " over time" }
                    }
                }
                tbody { @for row in &newest_first { (row.html(lead)) } }
            }
        }
        (repeats(&newest_first))
        @if !others.is_empty() {
            section id="others" {
                h2 { "Other pages" }
                div class="part" {
                    ul {
                        @for page in others {
                            li {
                                a href=(page.href) { (PreEscaped(text(&page.name))) } " "
                                span class="hint" { (PreEscaped(text(&page.kind))) }
                            }
                        }
                    }
                }
            }
        }
    };
    let footer = html! {
        p {
            (made_here()) " the records beside this page, anew after each run. This page needs no network and sends nothing."
        }
    };
    let kept = serde_json::to_value(rows).map(|rows| escape::json(&rows)).unwrap_or_default();
    let data = html! { (PreEscaped(ROWS.0)) (PreEscaped(kept)) (PreEscaped(ROWS.1)) };
    layout::index(&header, &main, &footer, &data, is_live)
}

fn made_here() -> &'static str {
    concat!("Made by OpenSLOB ", env!("CARGO_PKG_VERSION"), " from")
}

pub fn is_index_page(page: &str) -> bool {
    page.contains(ROWS.0)
}

pub fn rows_of_page(page: &str) -> Vec<IndexRow> {
    let rows = || {
        let (_, rest) = page.split_once(ROWS.0).filter(|_| page.contains(&format!("<p>{}", made_here())))?;
        let rows: Vec<IndexRow> = serde_json::from_str(rest.split_once(ROWS.1)?.0).ok()?;
        rows.iter().all(|row| row.numbers.len() == numbers().count()).then_some(rows)
    };
    rows().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slob_testing::records;

    #[test]
    fn a_page_gives_its_rows_back_and_shows_the_newest_first() {
        let rows = [records::direct_read_run(), records::update_run(), records::failed_run()]
            .map(|run| IndexRow::of(&run));
        let page = index_page(&rows, &[], "", false);
        assert_eq!(rows_of_page(&page), rows);
        let at = |row: &IndexRow| page.find(&format!("value=\"{}\"", row.id)).unwrap();
        assert!(at(&rows[2]) < at(&rows[1]) && at(&rows[1]) < at(&rows[0]));
        assert_eq!(rows_of_page(&page.replace("Made by OpenSLOB", "Made by")), []);
        assert_eq!(rows_of_page("no page"), []);
    }

    #[test]
    fn names_can_not_become_elements() {
        let mut record = records::direct_read_run();
        record.target = "</script><script>alert(1)</script>\"".into();
        let other = OtherPage { kind: "campaign".into(), name: "<b>".into(), href: "a\"b/index.html".into() };
        let page = index_page(&[IndexRow::of(&record)], &[other], "", false);
        assert!(!page.contains("<script>alert") && !page.contains("<b>") && !page.contains("a\"b"));
        assert_eq!(rows_of_page(&page)[0].target, record.target);
    }

    #[test]
    fn an_unknown_figure_is_no_zero() {
        let row = IndexRow::of(&records::failed_run());
        let unknown = row.numbers[2..].iter().all(|number| number.value.is_none());
        assert!(unknown && row.operations_per_s.is_none() && row.curve.is_empty(), "{row:?}");
        let html = row.html(Lead::Operation).into_string();
        assert_eq!(html.matches("data-value=\"\">-<").count(), 4, "{html}");
    }

    #[test]
    fn a_figure_that_rests_on_a_bad_verdict_is_struck_through() {
        let struck = |record| {
            IndexRow::of(&record)
                .html(Lead::Operation)
                .into_string()
                .matches("<s title=\"Physical? BAD\">")
                .count()
        };
        assert_eq!((struck(records::page_cache_run()), struck(records::direct_read_run())), (3, 0));
    }

    #[test]
    fn a_crowded_run_shows_the_responses_of_all() {
        let rows = [records::direct_read_run(), records::crowded_run()].map(|run| IndexRow::of(&run));
        let heads = |rows: &[IndexRow]| {
            let page = index_page(rows, &[], "", false);
            [figure::RESPONSE_P99_US, figure::OPERATION_P99_US]
                .map(|of| page.find(&format!(">{}<", of.short)))
        };
        assert!(matches!(heads(&rows), [Some(response), Some(operation)] if response < operation));
        assert!(matches!(heads(&rows[..1]), [None, Some(_)]));
    }

    #[test]
    fn a_long_curve_keeps_its_mean() {
        assert!(thinned(&[]).is_empty());
        assert_eq!(thinned(&[1.0, 2.0]), [1.0, 2.0]);
        let long: Vec<f64> = (0..480).map(f64::from).collect();
        let few = thinned(&long);
        assert_eq!((few.len(), few[0], few[47]), (48, 4.5, 474.5));
    }
}

//! The page of AWR reports in a browser. Marks are counted: charts with axes and no marks look drawn to everything else.

use std::fs;
use std::path::PathBuf;

use jiff::ToSpan;
use jiff::civil::{DateTime, date};
use serde_json::json;

use crate::browser::Browser;
use crate::common::{Folder, awr_fixture};

/// Opens the page of reports of an hour from 1 March 2014, each so many hours after the first, with wait classes. User I/O takes
/// `io_s(place)`.
fn open(browser: &mut Browser, folder: &Folder, hours: &[i64], io_s: impl Fn(usize) -> f64) -> PathBuf {
    let fixture = fs::read_to_string(awr_fixture("awr_12201.txt")).unwrap();
    let events = "Foreground Wait Events                         DB/Inst";
    let (head, tail) = fixture.split_once(events).unwrap();
    let head = head.replace("01-Mar-24 07:15", "01-Jan-14 07:15");
    let (start, rest) = head.split_once("01-Mar-24 10:00:00").unwrap();
    let (middle, end) = rest.split_once("01-Mar-24 10:10:00").unwrap();
    let first = date(2014, 3, 1).at(10, 0, 0, 0);
    fs::create_dir(folder.at("reports")).unwrap();
    for (place, hour) in hours.iter().enumerate() {
        let begin = first.checked_add(hour.hours()).unwrap();
        let snapshot = |moment: DateTime| moment.strftime("%d-%b-%y %H:%M:%S").to_string();
        let [begin, after] = [begin, begin.checked_add(1.hour()).unwrap()].map(snapshot);
        let head = [start, &begin, middle, &after, end].concat();
        let classes = format!(
            "Foreground Wait Class                          DB/Inst: TEST/test  Snaps: 10-11\n\n\
             \x20                                     %Time       Total Wait\n\
             Wait Class                      Waits -outs         Time (s)  Avg wait  %DB time\n\
             -------------------- ---------------- ----- ---------------- --------- ---------\n\
             User I/O                      600,100     0 {:>16.0}    1.50ms      75.0\n\
             \x20                         ------------------------------------------------------\n\n",
            io_s(place)
        );
        fs::write(folder.at(&format!("reports/{place:04}.txt")), head + &classes + events + tail).unwrap();
    }
    folder.slob("awr page reports -o page.html").success();
    browser.view(1400, 900, false);
    browser.open(&folder.at("page.html"));
    folder.at("page.html")
}

fn count(browser: &mut Browser, chart: &str, selector: &str) -> u64 {
    let all = format!("document.querySelectorAll('[data-chart={chart}] {selector}')");
    let is_drawn = "mark.getAttribute('d') !== 'M0,0Z' && mark.getBBox().width > 0.5";
    browser.value(&format!("[...{all}].filter((mark) => {is_drawn}).length")).as_u64().unwrap()
}

const STACK: &str = "line-1";
const EVENTS: &str = "line-2";
const HEAT: &str = "heat-1";
/// User I/O and CPU.
const CLASSES: u64 = 2;

#[test]
fn thirty_daily_reports_have_thirty_marks() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::new();
    let days: Vec<i64> = (0..30).map(|day| 24 * day).collect();
    open(&mut browser, &folder, &days, |_| 900.0);
    assert_eq!(count(&mut browser, STACK, ".bars .point path"), 30 * CLASSES);
    let lines = browser.value("document.querySelectorAll('[data-chart=line-2] .scatter').length");
    assert_eq!(count(&mut browser, EVENTS, ".scatterlayer .js-line"), 30 * lines.as_u64().unwrap());
    for chart in ["line-3", "line-4", "line-5"] {
        assert!(count(&mut browser, chart, ".scatterlayer .js-line") >= 30, "{chart}");
    }
    let widths = browser.value(&format!(
        "(() => {{ const place = document.querySelector('[data-chart={HEAT}]'), x = place._fullLayout.xaxis; \
         const [map] = place.data; return map.x.slice(1).map((edge, at) => [x.d2p(edge) - x.d2p(map.x[at]), \
         map.z.some((row) => row[at] !== null)]); }})()"
    ));
    let widths = widths.as_array().unwrap();
    let filled: Vec<f64> =
        widths.iter().filter(|column| column[1] == true).map(|column| column[0].as_f64().unwrap()).collect();
    assert_eq!((filled.len(), widths.len()), (30, 59));
    assert!(filled.iter().all(|width| *width > 2.0), "{filled:?}");
}

#[test]
fn two_of_four_reports_that_touch_share_a_line_and_the_others_are_drawn() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::new();
    open(&mut browser, &folder, &[0, 1, 5, 9], |place| if place == 3 { 90_000.0 } else { 900.0 });
    assert_eq!(count(&mut browser, STACK, ".bars .point path"), 4 * CLASSES);
    let lines = browser.value("document.querySelectorAll('[data-chart=line-2] .scatter').length");
    assert_eq!(count(&mut browser, EVENTS, ".scatterlayer .js-line"), 3 * lines.as_u64().unwrap());
    // Bars are as wide as their hours: the gap between them is three hours.
    let gap = browser.value(
        "(() => { const [first, second, third] = [...document.querySelectorAll('[data-chart=line-1] .bars .point path')] \
         .map((mark) => mark.getBBox()); return [second.x - first.x - first.width, third.x - second.x - second.width, \
         first.width]; })()",
    );
    let [touching, apart, hour] = [0, 1, 2].map(|at: usize| gap[at].as_f64().unwrap());
    assert!(touching.abs() < 1.5 && (apart - 3.0 * hour).abs() < 4.0, "{gap}");
    // The axis follows what is visible.
    let high = "document.querySelector('[data-chart=line-1]').layout.yaxis.range[1]";
    let whole = browser.value(high).as_f64().unwrap();
    let zoom = json!({ "xaxis.range[0]": "2014-03-01 10:00", "xaxis.range[1]": "2014-03-01 16:30" });
    browser.value(&format!(
        "Plotly.relayout(document.querySelector('[data-chart=line-2]'), {zoom}).then(() => true)"
    ));
    let part = browser.value_once(high, &format!("value < {whole} / 2")).as_f64().unwrap();
    assert!(whole > 20.0 && part < 10.0, "{whole} and {part}");
}

#[test]
fn reports_without_times_stand_in_a_row_with_their_names() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::new();
    // All three are of one hour.
    open(&mut browser, &folder, &[0, 0, 0], |_| 900.0);
    assert_eq!(count(&mut browser, STACK, ".bars .point path"), 3 * CLASSES);
    let ticks = browser.value("document.querySelector('[data-chart=line-1]').layout.xaxis.ticktext.length");
    assert_eq!(ticks, 3);
}

#[test]
fn many_reports_are_merged_by_pixel_and_parted_when_zoomed_into() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let mut sizes = Vec::new();
    // 501 hours in a row and five years of days.
    for (count_of_reports, step) in [(501, 1), (1826, 24)] {
        let folder = Folder::new();
        let hours: Vec<i64> = (0..count_of_reports).map(|place| step * place).collect();
        let page = open(&mut browser, &folder, &hours, |place| (200 + 37 * place % 700) as f64);
        let bars = count(&mut browser, STACK, ".bars .point path");
        assert!((100 * CLASSES..500 * CLASSES).contains(&bars), "{bars} bars");
        let strokes = browser.value(
            "[...document.querySelectorAll('[data-chart=line-1] .bars .point path')].filter((mark) => \
             getComputedStyle(mark).strokeWidth !== '0px' && getComputedStyle(mark).stroke !== 'none').length",
        );
        assert_eq!(strokes, 0, "a stroke around thin bars makes them black");
        let elements = browser.value("document.querySelectorAll('path').length").as_u64().unwrap();
        assert!(elements < 3000, "{elements} elements are slow");
        sizes.push(fs::metadata(&page).unwrap().len());
        // Thirty intervals.
        let zoom = format!(
            "(() => {{ const place = document.querySelector('[data-chart=line-1]'); const [from] = \
             place.layout.xaxis.range.map(Number); return Plotly.relayout(place, {{ 'xaxis.range': [from, from + 30 * \
             {step} * 3.6e6 + (place.layout.xaxis.range[1] - from) / 201] }}).then(() => true); }})()"
        );
        browser.value(&zoom);
        let shown =
            "document.querySelector('[data-chart=line-2]').data[0].x.filter((at) => at !== null).length";
        browser.value_once(shown, "value < 130");
        let bars = count(&mut browser, STACK, ".bars .point path");
        assert!((28 * CLASSES..=32 * CLASSES).contains(&bars), "{bars} bars in a part of {count_of_reports}");
    }
    // The chart library is 1.9 MB of each.
    assert!(sizes[1] < 3 * sizes[0], "{sizes:?}");
}

//! The HTML report of a real run in a real browser: drawn, legible, printable, and silent on the network.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::browser::Browser;
use crate::common::{AWR_INFO, Folder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slob_testing::tries::{ensure, until};

/// CSS pixels of a page of US Letter between its margins, the lower one of the usual sizes.
const PAGE_HEIGHT_PX: f64 = (279.4 - 2.0 * 14.0) / 25.4 * 96.0;

/// A shop could name its server so.
const EVIL: &str =
    "</script><script>globalThis.evil=1</script><img src=x onerror=\"globalThis.evil=1\">&amp;'";

/// Runs of a few seconds, one of them in `second`, with a probe. All tests that only look share them.
fn run() -> Arc<Folder> {
    static RUN: Mutex<Weak<Folder>> = Mutex::new(Weak::new());
    let mut run = RUN.lock().unwrap_or_else(PoisonError::into_inner);
    run.upgrade().unwrap_or_else(|| {
        let made = Arc::new(made());
        made.slob("run -s 2 -t 1 --run-time 2 --warmup 1 --results-dir second").success();
        *run = Arc::downgrade(&made);
        made
    })
}

/// Sessions think, and leave the CPUs to the browser.
fn loaded() -> Folder {
    let folder = Folder::loaded(2, "8M");
    let thinking = "THINK_TM_FREQUENCY=1\nTHINK_TM_MIN=.02\nTHINK_TM_MAX=.03\n";
    folder.write("slob.conf", &(folder.read("slob.conf") + thinking));
    folder
}

fn made() -> Folder {
    let folder = loaded();
    let probe = "probe . --seconds 0.2 --size-mb 16 --sessions 4 --depths 16";
    folder.slob(probe).success();
    folder.slob("run -s 2 -t 2 --run-time 3 --warmup 1 --update-pct 10").success();
    folder
}

/// Pictures are kept for people.
fn kept(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("html_report");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn keep(name: &str, base64: &str) -> Vec<u8> {
    let bytes = STANDARD.decode(base64).unwrap();
    fs::write(kept(name), &bytes).unwrap();
    bytes
}

fn charts(browser: &mut Browser) -> Vec<(String, [f64; 4])> {
    let places = browser.value(
        "[...document.querySelectorAll('[data-chart]')].map((place) => { const box = place.getBoundingClientRect(); \
         return [place.dataset.chart, box.x + scrollX, box.y + scrollY, box.width, box.height]; })",
    );
    let place = |chart: &Value| {
        let at = |index: usize| chart[index].as_f64().unwrap();
        (chart[0].as_str().unwrap().to_owned(), [at(1), at(2), at(3), at(4)])
    };
    places.as_array().unwrap().iter().map(place).collect()
}

/// Every chart is drawn and whole in a window of that width, and nothing lies beyond the edge. Without a page, the open one draws
/// itself again in the other scheme.
fn drawn(
    browser: &mut Browser,
    page: Option<&Path>,
    (view, width, dark): (&str, u32, bool),
) -> Vec<(String, [f64; 4])> {
    match page {
        Some(page) => {
            browser.view(width, 900, dark);
            browser.open(page);
        }
        None => browser.redraw(width, dark),
    }
    let picture = browser.picture(width);
    keep(&format!("{view}.png"), &picture);
    let charts = charts(browser);
    let halves: Vec<_> = charts.iter().map(|(_, place)| place.map(|at| at / 2.0)).collect();
    for ((chart, place), colours) in charts.iter().zip(colours(browser, &picture, &halves)) {
        // A chart without marks has more, from its text.
        assert!(colours > 40, "{chart} in {view} has {colours} colours");
        assert!(place[0] >= 0.0 && place[0] + place[2] <= f64::from(width), "{chart} in {view} is cut");
    }
    let bare = browser.value(
        "[...document.querySelectorAll('[data-chart]')].filter((chart) => ![...chart.querySelectorAll('.js-line, \
         .plot .point, .plot .points path, .hm image')].some((mark) => { const { width, height } = mark.getBBox(); return width + height > 0.5; })) \
         .map((chart) => chart.dataset.chart)",
    );
    assert_eq!(bare, json!([]), "without marks in {view}");
    let sideways = browser.value("document.documentElement.scrollWidth - innerWidth");
    assert!(sideways.as_f64().unwrap() <= 0.0, "the page is too wide in {view} by {sideways}");
    charts
}

/// Different colours in parts of a picture, counted by the browser itself.
fn colours(browser: &mut Browser, picture: &str, places: &[[f64; 4]]) -> Vec<u64> {
    let count = format!(
        "(async () => {{ const image = new Image(); image.src = 'data:image/png;base64,{picture}'; await image.decode(); \
         const canvas = document.createElement('canvas'); canvas.width = image.width; canvas.height = image.height; \
         const pen = canvas.getContext('2d', {{ willReadFrequently: true }}); pen.drawImage(image, 0, 0); \
         const dots = (place) => new Uint32Array(pen.getImageData(...place).data.buffer); \
         return {places:?}.map((place) => new Set(dots(place)).size); }})()"
    );
    serde_json::from_value(browser.value(&count)).unwrap()
}

fn assert_silent(browser: &Browser, page: &Path) {
    let own = format!("file://{}", page.display());
    for event in &browser.events {
        let said = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = said["request"]["url"].as_str().unwrap();
                assert!(url == own || url.starts_with("data:"), "a request: {url}");
            }
            "Log.entryAdded" => assert_ne!(said["entry"]["level"], "error", "{said}"),
            "Runtime.consoleAPICalled" => {
                assert!(said["type"] != "error" && said["type"] != "warning", "{said}");
            }
            "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => panic!("{event}"),
            _ => {}
        }
    }
}

fn hovered(browser: &mut Browser, chart: &str, [x, y, width, height]: [f64; 4]) -> String {
    let labels = format!(
        "[...document.querySelectorAll('[data-chart=\"{chart}\"] .hoverlayer text')].map((text) => text.textContent).join(' ')"
    );
    browser.value(&format!("scrollTo({{ top: {y} - 100, behavior: 'instant' }})"));
    let scrolled = browser.value("scrollY").as_f64().unwrap();
    let mut shares = [0.5, 0.45, 0.55, 0.6].into_iter().cycle();
    until(|| {
        let share = shares.next().unwrap();
        let at = json!({ "type": "mouseMoved", "x": x + share * width, "y": y - scrolled + 0.6 * height });
        browser.call("Input.dispatchMouseEvent", &at);
        let shown = browser.value_within(Duration::from_millis(2500), &labels, "/\\d/.test(value)");
        let shown = shown.as_str().unwrap().to_owned();
        ensure(shown.contains(|letter: char| letter.is_ascii_digit()), || {
            format!("{chart} shows no figure under the pointer: {shown}")
        })?;
        Ok(shown)
    })
}

#[test]
fn a_run_writes_its_page_and_report_writes_it_again() {
    let folder = made();
    let written = folder.last_run().join("report.html");
    let page = fs::read_to_string(&written).unwrap();
    assert!(page.len() < 3 << 20, "{} bytes", page.len());
    fs::remove_file(&written).unwrap();
    folder.slob("report last --html").says(&["report.html"]).silently();
    assert_eq!(fs::read_to_string(&written).unwrap(), page, "the page is made from the record alone");
    folder.slob("report last --html -o other.html").success();
    assert_eq!(folder.read("other.html"), page);
    assert_eq!(folder.slob("report --html -o -").success().stdout, page);
    assert_eq!(folder.slob("report -o x").code, 2, "-o is for --html");
    folder.slob("report --compare-probe").prints(&["Through the database, 4 sessions"]);
}

#[test]
fn every_chart_is_drawn_in_light_and_dark_and_on_a_phone() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = run();
    let page = folder.last_run().join("report.html");
    let mut backgrounds = Vec::new();
    for (opened, view) in [
        (Some(&*page), ("phone", 390, false)),
        (None, ("dark", 1400, true)),
        (None, ("desktop", 1400, false)),
    ] {
        let charts = drawn(&mut browser, opened, view);
        assert!(charts.len() >= 12, "{charts:?}");
        backgrounds.push(browser.value("getComputedStyle(document.body).backgroundColor"));
        assert_silent(&browser, &page);
    }
    assert_ne!(backgrounds[0], backgrounds[1]);
    assert_eq!(backgrounds[0], backgrounds[2]);
}

#[test]
fn charts_show_figures_zoom_together_and_change_their_theme() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = run();
    let page = folder.last_run().join("report.html");
    browser.view(1400, 900, false);
    browser.open(&page);
    the_heat_map_is_linear(&mut browser);
    for (chart, place) in charts(&mut browser) {
        hovered(&mut browser, &chart, place);
    }
    browser.value(
        "Plotly.relayout(document.querySelector('[data-chart=reads-over-time]'), {'xaxis.range': [1, 2]}).then(() => true)",
    );
    let range = "document.querySelector('[data-chart=latency-heat-map]').layout.xaxis.range";
    let is_one_to_two = "JSON.stringify(value) === '[1,2]'";
    assert_eq!(browser.value_once(range, is_one_to_two), json!([1, 2]));
    let paper = "getComputedStyle(document.body).backgroundColor + document.querySelector(\
                 '[data-chart=reads-over-time]').layout.font.color";
    let light = browser.value(paper);
    browser.value("document.getElementById('theme').click()");
    let dark = browser.value(paper);
    assert_ne!(light, dark);
    // It says so for a moment only, which must not be missed.
    browser.value(
        "globalThis.labels = []; globalThis.button = document.querySelector('#raw button.copy'); \
         new MutationObserver(() => labels.push(button.textContent)).observe(button, { childList: true }); true",
    );
    browser.click("#raw button.copy");
    assert_eq!(browser.value_once("labels", "value.length > 0")[0], "Copied");
    assert_silent(&browser, &page);
}

#[test]
fn it_prints_without_cutting_a_chart() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = run();
    let page = folder.last_run().join("report.html");
    // A printed page is light, whatever the screen is.
    browser.view(1400, 900, true);
    browser.open(&page);
    let printed =
        browser.call("Page.printToPDF", &json!({ "printBackground": true, "preferCSSPageSize": false }));
    let pdf = keep("report.pdf", printed["data"].as_str().unwrap());
    let text = String::from_utf8_lossy(&pdf);
    let pages = text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count();
    // It had eighteen.
    assert!((3..=6).contains(&pages), "{pages} pages");
    browser.call("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    let boxes = browser.value(
        "[...document.querySelectorAll('.chart')].map((chart) => [chart.id, chart.getBoundingClientRect().height, \
         getComputedStyle(chart).breakInside])",
    );
    for chart in boxes.as_array().unwrap() {
        assert!(chart[1].as_f64().unwrap() < PAGE_HEIGHT_PX, "{chart}");
        assert_eq!(chart[2], "avoid", "{chart}");
    }
    assert_silent(&browser, &page);
}

#[test]
fn what_a_record_says_is_shown_and_never_run() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = run();
    let mut record = folder.last_record();
    record["server"]["version"] = EVIL.into();
    record["name"] = EVIL.into();
    record["notes"] = json!([EVIL]);
    record["events"] = json!([{ "name": EVIL, "class": EVIL, "waits": 1, "time_us": 1_000_000 }]);
    record["server"]["settings"] = json!([{ "name": EVIL, "value": EVIL }]);
    record["configuration"] = json!([{ "key": EVIL, "value": EVIL, "origin": EVIL }]);
    record["status"] = json!({ "state": "failed", "error": EVIL });
    let folder = Folder::new();
    folder.write("evil.json", &record.to_string());
    folder.slob("report evil.json --html -o evil.html").success();
    let page = folder.at("evil.html");
    browser.view(1400, 900, false);
    browser.open(&page);
    assert_eq!(browser.value("typeof globalThis.evil"), "undefined");
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    let heading = browser.value("document.querySelector('h1').textContent");
    assert!(heading.as_str().unwrap().contains(EVIL), "{heading}");
    let banner = browser.value("document.querySelector('.banner.bad').textContent");
    assert!(banner.as_str().unwrap().contains(EVIL), "{banner}");
    // Even a script in the page is not run.
    browser.value(
        "const slipped = document.createElement('script'); slipped.textContent = 'globalThis.evil = 1'; \
         document.body.append(slipped)",
    );
    assert_eq!(browser.value("typeof globalThis.evil"), "undefined");
}

#[test]
fn two_runs_are_laid_over_each_other() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = run();
    folder.slob("diff latest second --html -o both.html").says(&["wrote both.html"]).silently();
    let page = folder.at("both.html");
    let of_phone = drawn(&mut browser, Some(&page), ("diff-dark-phone", 390, true));
    let charts = drawn(&mut browser, None, ("diff", 1400, false));
    assert!(of_phone.len() >= 12 && charts.len() >= 12, "{of_phone:?} {charts:?}");
    let (latency, place) = charts.into_iter().find(|(chart, _)| chart == "latency-over-time").unwrap();
    let shown = hovered(&mut browser, &latency, place);
    assert!(shown.contains("first: p99") && shown.contains("second: p99"), "{shown}");
    assert_silent(&browser, &page);
}

fn line_names(browser: &mut Browser, chart: &str) -> Value {
    browser.value(&format!("document.querySelector('[data-chart={chart}]').data.map((line) => line.name)"))
}

#[test]
fn three_groups_are_in_one_chart_for_each_figure() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = loaded();
    for (group, threads) in [("metal", 2), ("kvm", 1), ("xen", 2)] {
        for _ in 0..2 {
            let run =
                format!("run -s 2 -t {threads} --run-time 1 --warmup 0 --results-dir {group} --name {group}");
            folder.slob(run).success();
        }
    }
    folder.slob("diff metal kvm xen").prints(&["metal", "Host load average", "+-"]);
    let json = folder.slob("diff metal kvm xen --json").json();
    assert_eq!(json["groups"][1]["name"], "kvm");
    folder.slob("diff metal kvm xen --html -o three.html").success();
    let page = folder.at("three.html");
    drawn(&mut browser, Some(&page), ("diff-three-dark-phone", 400, true));
    drawn(&mut browser, None, ("diff-three", 1280, false));
    for chart in ["distribution-operations", "operations-over-time-line0", "latency-over-time-line2"] {
        assert_eq!(line_names(&mut browser, chart), json!(["metal", "kvm", "xen"]), "{chart}");
    }
    assert_silent(&browser, &page);
}

/// It is first, and has the mean on top.
fn the_heat_map_is_linear(browser: &mut Browser) {
    assert_eq!(charts(browser)[0].0, "latency-heat-map");
    let data = "document.querySelector('[data-chart=latency-heat-map]').data";
    // Each interval adds up to 100 %, and the scale ends at the largest cell.
    let sums = browser
        .value(&format!("{data}[0].z[0].map((_, at) => {data}[0].z.reduce((sum, row) => sum + row[at], 0))"));
    let is_whole = |sum: &Value| (sum.as_f64().unwrap() - 100.0).abs() < 0.1 || sum == 0;
    assert!(sums.as_array().unwrap().iter().all(is_whole), "{sums}");
    assert_eq!(browser.value(&format!("{data}[0].zmax - Math.max(...{data}[0].z.flat())")), 0);
    assert_eq!(line_names(browser, "latency-heat-map")[1], "mean of all");
}

#[test]
fn an_analysis_has_its_charts() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::new();
    let analyze = format!("analyze {AWR_INFO} --variants XFS,EXT3,RAW --relative-to RAW --html");
    folder.slob(analyze).says(&["wrote compare.html"]).silently();
    let page = folder.at("compare.html");
    let views = [("analysis-dark-phone", 390, true), ("analysis", 1400, false)];
    for (opened, view) in [Some(&*page), None].into_iter().zip(views) {
        let charts = drawn(&mut browser, opened, view);
        // Means, ratios and a sweep of each of four tables.
        assert_eq!(charts.len(), 12, "{charts:?}");
    }
    let bars = browser.value("document.querySelectorAll('#means-1 path.yerror').length");
    assert!(bars.as_u64().unwrap() > 3, "{bars} error bars");
    assert_silent(&browser, &page);
}

#[test]
fn error_bars_are_intervals_and_repeated_colours_have_patterns() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::new();
    let mut text = "FILE|WRITERS|READERS|PREADS|PWRITES|REDO|\n".to_owned();
    for variant in 0..10 {
        for (run, reads) in (1..).zip([100, 110, 120]) {
            text += &format!("V{variant}-run{run}.0.8|0|8|{reads}|0|0|\n");
        }
    }
    folder.write("info.txt", &text);
    folder.slob("analyze info.txt --html").success();
    browser.view(1400, 900, false);
    browser.open(&folder.at("compare.html"));
    let bars =
        |value: &str| format!("document.querySelector('[data-chart=means-1]').data.map((bars) => {value})");
    // Student's t of three values with a standard deviation of 10: 4.303 x 10 / sqrt(3).
    for end in ["array", "arrayminus"] {
        let distance = browser.value(&bars(&format!("bars.error_y.{end}[0]")));
        assert!((distance[0].as_f64().unwrap() - 24.84).abs() < 0.01, "{end}: {distance}");
    }
    let colours = browser.value(&bars("bars.marker.color"));
    let patterns = browser.value(&bars("bars.marker.pattern?.shape"));
    assert!(colours[9] == colours[1] && colours[9] != colours[2], "{colours}");
    assert!(patterns[9] == "/" && patterns[7].is_null(), "{patterns}");
}

/// Repeats of a level must not be joined in a zigzag.
#[test]
fn a_knees_points_are_levels_and_say_their_sessions() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::new();
    let flags = "-s 1 --max-sessions 2 --run-time 1 --warmup 0 --repeats 2 --target null:?latency_us=2000";
    folder.slob(format!("saturate {flags} --html -o knee.html")).success();
    let page = folder.at("knee.html");
    drawn(&mut browser, Some(&page), ("knee-phone", 400, false));
    drawn(&mut browser, None, ("knee", 1280, true));
    let labels = browser.value("document.querySelector('[data-chart=operation-latency]').data[0].text");
    assert_eq!(labels, json!(["1", "2"]));
    assert_silent(&browser, &page);
}

#[test]
fn pages_of_a_campaign_fit_wide_and_narrow_windows() {
    let Some(mut browser) = Browser::start_or_skip() else { return };
    let folder = Folder::new();
    folder.write(
        "plan.toml",
        "directory = \"c\"\nsessions = [1, 2]\nrepeats = 17\nmodels = [\"all\"]\n\
         settings = { TARGET = \"null:\", WORK_LOOP = 10, WARMUP = 0 }\n\
         [[model]]\nname = \"all\"\nmetric = \"operations_per_s\"\n[[variant]]\nname = \"a\"\n",
    );
    folder.slob("campaign plan.toml").success();
    folder.slob("trend c --metric operations_per_s --html").success();
    folder.slob("analyze c --html").success();
    for (page, least) in [("trend", 1), ("compare", 2)] {
        let path = folder.at(&format!("{page}.html"));
        for (opened, width) in [(Some(&*path), 400), (None, 1280)] {
            let dark = opened.is_none();
            let charts = drawn(&mut browser, opened, (&format!("{page}-{width}"), width, dark));
            assert!(charts.len() >= least, "{page}: {charts:?}");
        }
    }
    // 'Overall' has an interval, too.
    let ends = browser.value("document.querySelector('[data-chart=means-1]').data[0].error_y.array");
    assert!((0..3).all(|bar| ends[bar].as_f64().unwrap() > 0.0), "{ends}");
    assert_silent(&browser, &folder.at("compare.html"));
}

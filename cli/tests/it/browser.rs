//! A browser without a window, driven by the Chrome DevTools Protocol over a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slob_testing::available;
use slob_testing::tries::{PATIENCE, Seen, ensure};

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A page takes a CPU for as long as it draws: more of them at a time would only wait for each other.
const MOST_AT_A_TIME: usize = 2;

/// Each browser ends when this process closes its pipe.
static POOL: Mutex<Pool> = Mutex::new(Pool { idle: Vec::new(), taken: 0 });
static GIVEN_BACK: Condvar = Condvar::new();

struct Pool {
    /// Those that no test uses.
    idle: Vec<Pipe>,
    /// Those that tests use or start.
    taken: usize,
}

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A test's place among those that use a browser.
struct Place;

impl Place {
    fn take() -> Self {
        let full = |pool: &mut Pool| pool.taken == MOST_AT_A_TIME;
        GIVEN_BACK.wait_while(pool(), full).unwrap_or_else(PoisonError::into_inner).taken += 1;
        Self
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        pool().taken -= 1;
        GIVEN_BACK.notify_one();
    }
}

struct Pipe {
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    last_id: u64,
    session: Option<String>,
}

/// A test has it alone. The next one gets it without storage and cookies, and with the chart library compiled.
pub(crate) struct Browser {
    pipe: Option<Pipe>,
    /// Events of the protocol since the page was opened.
    pub(crate) events: Vec<Value>,
    _place: Place,
}

impl Drop for Browser {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        self.value("localStorage.clear()");
        self.call("Network.clearBrowserCookies", &json!({}));
        self.call("Emulation.clearDeviceMetricsOverride", &json!({}));
        self.call("Emulation.setEmulatedMedia", &json!({ "media": "", "features": [] }));
        self.call("Page.navigate", &json!({ "url": "about:blank" }));
        pool().idle.extend(self.pipe.take());
    }
}

impl Browser {
    pub(crate) fn start_or_skip() -> Option<Self> {
        let place = Place::take();
        let idle = pool().idle.pop();
        if idle.is_some() {
            return Some(Self { pipe: idle, events: Vec::new(), _place: place });
        }
        let runs = |name: &&&str| {
            let called =
                Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            called.is_ok_and(|status| status.success())
        };
        let missing = || "no browser is installed; .ci/install-test-servers installs one".to_owned();
        let name = available(NAMES.iter().find(runs).copied().ok_or_else(missing))?;
        Some(Self::start(name, place))
    }

    fn start(name: &str, place: Place) -> Self {
        // The browser reads commands from descriptor 3 and answers on 4; the shell makes them of stdin and stdout. However this
        // process ends, the pipe is closed: then the browser ends, and a second shell removes its profile.
        let script = r#"exec 3<&0 4>&1; { "$@" "--user-data-dir=$0"; rm -rf "$0"; } </dev/null >/dev/null &"#;
        let profile = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap().keep();
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(profile)
            .args([name, "--headless=new", "--no-startup-window", "--no-sandbox", "--disable-gpu"])
            // Containers have 64 MB of it, which a picture of a whole page does not fit into.
            .arg("--disable-dev-shm-usage")
            .args([
                "--hide-scrollbars",
                "--no-first-run",
                "--remote-debugging-pipe",
                "--force-color-profile=srgb",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let messages = BufReader::new(child.stdout.take().unwrap());
        child.wait().unwrap();
        let pipe = Pipe { commands, messages, last_id: 0, session: None };
        let mut browser = Self { pipe: Some(pipe), events: Vec::new(), _place: place };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", &attach);
        browser.pipe.as_mut().unwrap().session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.try_call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The error is the protocol's.
    fn try_call(&mut self, method: &str, parameters: &Value) -> Seen<Value> {
        let pipe = self.pipe.as_mut().unwrap();
        pipe.last_id += 1;
        let id = pipe.last_id;
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &pipe.session {
            command["sessionId"] = session.as_str().into();
        }
        pipe.commands.write_all(format!("{command}\0").as_bytes()).unwrap();
        pipe.commands.flush().unwrap();
        loop {
            let message = self.message();
            if message["id"] == id {
                ensure(message["error"].is_null(), || message["error"].to_string())?;
                return Ok(message["result"].clone());
            }
            self.events.push(message);
        }
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.pipe.as_mut().unwrap().messages.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Awaited if it is a promise.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        self.try_value(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// A page that loads itself again meanwhile is an error.
    pub(crate) fn try_value(&mut self, expression: &str) -> Seen<Value> {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.try_call("Runtime.evaluate", &parameters)?;
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        Ok(result["result"]["value"].clone())
    }

    /// The value as soon as the page itself finds that the condition on `value` holds, or after [`PATIENCE`].
    pub(crate) fn value_once(&mut self, expression: &str, is: &str) -> Value {
        self.value_within(PATIENCE, expression, is)
    }

    /// As [`Self::value_once`], with less patience.
    pub(crate) fn value_within(&mut self, patience: Duration, expression: &str, is: &str) -> Value {
        let seconds = patience.as_secs_f64();
        self.value(&format!(
            "(async () => {{ const end = performance.now() + 1000 * {seconds}; for (;;) {{ const value = {expression}; \
             if ({is} || performance.now() > end) return value; \
             await new Promise((resume) => setTimeout(resume, 20)); }} }})()"
        ))
    }

    pub(crate) fn click(&mut self, selector: &str) {
        let click = format!("document.querySelector('{selector}').click()");
        let result = self.call("Runtime.evaluate", &json!({ "expression": click, "userGesture": true }));
        assert!(result["exceptionDetails"].is_null(), "{selector}: {}", result["exceptionDetails"]);
    }

    /// CSS pixels.
    pub(crate) fn view(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } });
        self.call("Emulation.setEmulatedMedia", &json!({ "features": [scheme] }));
    }

    /// Waits until the page says that its charts are drawn.
    pub(crate) fn open(&mut self, file: &Path) {
        self.open_link(&format!("file://{}", file.display()));
    }

    pub(crate) fn open_link(&mut self, link: &str) {
        self.events.clear();
        self.call("Page.navigate", &json!({ "url": link }));
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.value("document.documentElement?.dataset.ready ?? ''").as_str() {
                Some("yes") => return,
                Some("no") => panic!("the charts could not be drawn: {:#?}", self.events),
                _ => assert!(Instant::now() < deadline, "the charts are not drawn: {:#?}", self.events),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Gives the open page another width and scheme, in which it draws itself again.
    pub(crate) fn redraw(&mut self, width: u32, dark: bool) {
        self.view(width, 900, dark);
        let scheme = if dark { "dark" } else { "light" };
        let behind = format!(
            "(() => {{ const root = document.documentElement, text = getComputedStyle(root).getPropertyValue('--c-text').trim(); \
             const isBehind = (chart) => chart.layout.font.color !== text || chart._fullLayout.width !== chart.clientWidth \
             || chart._fullLayout.height !== chart.clientHeight; \
             return [root.dataset.theme].filter((theme) => theme !== '{scheme}').concat([...document.querySelectorAll(\
             '[data-chart]')].filter(isBehind).map((chart) => chart.dataset.chart)); }})()"
        );
        let behind = self.value_once(&behind, "value.length === 0");
        assert_eq!(behind, json!([]), "not drawn again, {width} pixels wide and {scheme}");
    }

    /// PNG in base64 of the whole page, at half its size.
    pub(crate) fn picture(&mut self, width: u32) -> String {
        let height = self.value("document.documentElement.scrollHeight");
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 0.5 });
        let parameters =
            json!({ "format": "png", "captureBeyondViewport": true, "clip": clip, "optimizeForSpeed": true });
        self.call("Page.captureScreenshot", &parameters)["data"].as_str().unwrap().to_owned()
    }
}

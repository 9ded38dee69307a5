//! The dashboard on a real terminal, of tmux: it fits, ends with `q`, and leaves the terminal as it was. Elsewhere there are
//! plain lines.

use std::path::Path;
use std::process::Output;

use crate::common::{Folder, SLOB, installed, wait_until};
use rstest::rstest;
use slob_testing::tries::{ensure, shown_within, until};

/// A terminal of a server of its own.
struct Tmux<'a> {
    folder: &'a Folder,
}

impl<'a> Tmux<'a> {
    /// A shell in the folder, on a terminal of this size. `None`, with a line on stderr, without tmux.
    fn start_or_skip(folder: &'a Folder, (columns, rows): (u16, u16)) -> Option<Self> {
        installed("tmux", "-V")?;
        let tmux = Self { folder };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let shell = ["new-session", "-d", "-x", &columns, "-y", &rows, "env", "PS1=ready> ", "sh"];
        let started = tmux.call(&shell);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        tmux.until("the shell's prompt", |screen| screen.contains("ready>"));
        Some(tmux)
    }

    fn call(&self, arguments: &[&str]) -> Output {
        let mut tmux = self.folder.command_of("tmux", "-S tmux -u -f /dev/null");
        tmux.args(arguments).env("LC_ALL", "C.UTF-8").env_remove("TMUX").output().unwrap()
    }

    fn say(&self, line: &str) {
        self.call(&["send-keys", "-l", line]);
        self.key("Enter");
    }

    fn key(&self, key: &str) {
        self.call(&["send-keys", key]);
    }

    fn screen(&self) -> String {
        String::from_utf8(self.call(&["capture-pane", "-p"]).stdout).unwrap()
    }

    fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        until(|| {
            let screen = self.screen();
            if is(&screen) { Ok(screen) } else { Err(format!("no {what}:\n{screen}")) }
        })
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.call(&["kill-server"]);
    }
}

/// True once the window has begun: a run that ends while its sessions connect leaves no record.
fn shows_figures(screen: &str) -> bool {
    ["slob run", "p99", "CPU"].iter().all(|word| screen.contains(word))
        && screen.lines().any(|line| line.starts_with("window "))
}

fn assert_fits(screen: &str, (columns, rows): (u16, u16)) {
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines.len() <= usize::from(rows), "{} lines:\n{screen}", lines.len());
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(widest <= usize::from(columns), "{widest} columns:\n{screen}");
}

#[rstest]
#[case::small((80, 24))]
#[case::large((200, 50))]
fn a_run_is_shown_ends_with_q_and_gives_the_terminal_back(#[case] size: (u16, u16)) {
    let folder = Folder::loaded(2, "8M");
    let Some(tmux) = Tmux::start_or_skip(&folder, size) else { return };
    tmux.say(&format!("{SLOB} run -s 2 -t 2 --rate 200 --run-time 600; echo code $?"));
    let screen = tmux.until("dashboard", shows_figures);
    assert_fits(&screen, size);
    for word in ["reads", "redo", "sessions", "q: end the run"] {
        assert!(screen.to_lowercase().contains(word), "no '{word}' on\n{screen}");
    }
    // Another size, and back.
    tmux.call(&["resize-window", "-x", "60", "-y", "18"]);
    let resized = tmux.until("dashboard of another size", |screen| {
        shows_figures(screen) && screen.lines().all(|line| line.chars().count() <= 60)
    });
    assert_fits(&resized, (60, 18));
    tmux.call(&["resize-window", "-x", &size.0.to_string(), "-y", &size.1.to_string()]);
    // Drawn again: crossterm loses a key that arrives in the same moment as another size.
    tmux.until("dashboard of the first size", |screen| {
        shows_figures(screen) && screen.lines().any(|line| line.chars().count() > 60)
    });
    tmux.key("q");
    // Not the word in the command itself.
    let after = tmux.until("end", |screen| screen.contains("code 1"));
    assert!(after.contains("code 130") || after.contains("code 1"), "{after}");
    assert_eq!(folder.last_record()["status"]["state"], "interrupted");
    assert!(folder.last_record()["window"]["seconds"].as_f64().unwrap() > 0.0);
    assert_is_given_back(&tmux);
}

/// `slob list` had 130 columns, `slob conf` 277, and reports 100 on every terminal. Pipes and files stay as they are.
#[test]
fn results_fit_a_narrow_terminal() {
    let folder = Folder::loaded(2, "8M");
    let Some(tmux) = Tmux::start_or_skip(&folder, (80, 100)) else { return };
    for name in ["a-first-run-with-a-long-name", "again"] {
        folder.slob(format!("run --run-time 1 --warmup 0 --name {name} --plain")).success();
    }
    let calls = [
        "list",
        "list --columns id,target,iops,read-p99,operations_per_s,p99,redo_mb_per_s,started",
        "conf",
        "report",
        "report --summary",
        "doctor",
        "compare latest~1 latest",
        "gate --require complete --require 'iops > 1'",
    ];
    for (number, call) in calls.iter().enumerate() {
        let end = format!("ended {number}");
        // Six columns are left out there, and the note on them is wider than that.
        let most = if *call == "list" { 70 } else { 80 };
        tmux.say(&format!("clear; COLUMNS={most} {SLOB} {call}; echo en''ded {number}"));
        tmux.until(&end, |screen| screen.contains(&end));
        // Lines that the terminal broke are whole here.
        let shown = tmux.call(&["capture-pane", "-p", "-J", "-S", "-"]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        let lines = shown.lines().map(str::trim_end).filter(|line| !line.contains("en''ded"));
        let wide: Vec<&str> = lines.filter(|line| line.chars().count() > most).collect();
        assert!(wide.is_empty(), "{call}:\n{}", wide.join("\n"));
        if *call == "list" {
            assert!(shown.contains("Not shown: NAME, TARGET, STATUS"), "{shown}");
        }
    }
    let piped = folder.slob("list").success().stdout;
    assert!(piped.contains("TARGET") && piped.lines().any(|line| line.chars().count() > 80), "{piped}");
    assert!(folder.slob("report").success().stdout.contains(&"=".repeat(100)));
}

fn assert_is_given_back(tmux: &Tmux<'_>) {
    tmux.say("clear; stty -a | grep -ow -e '-*echo'; echo $((6 * 7)) again");
    let screen = tmux.until("shell", |screen| screen.contains("42 again"));
    assert!(screen.lines().any(|line| line.trim() == "echo"), "{screen}");
    let cursor = tmux.call(&["display-message", "-p", "#{cursor_flag} #{alternate_on}"]);
    assert_eq!(String::from_utf8_lossy(&cursor.stdout).trim(), "1 0");
}

#[test]
fn ctrl_c_ends_a_run_gracefully() {
    let folder = Folder::loaded(1, "8M");
    let Some(tmux) = Tmux::start_or_skip(&folder, (80, 24)) else { return };
    tmux.say(&format!("{SLOB} run 1 --rate 200 --run-time 600"));
    tmux.until("dashboard", shows_figures);
    tmux.key("C-c");
    tmux.until("prompt", |screen| screen.trim_end().ends_with("ready>"));
    assert_eq!(folder.last_record()["status"]["state"], "interrupted");
    assert_is_given_back(&tmux);
}

#[test]
fn with_plain_or_on_a_dumb_terminal_there_are_lines() {
    let folder = Folder::loaded(1, "8M");
    let Some(tmux) = Tmux::start_or_skip(&folder, (120, 40)) else { return };
    let mut calls = 0;
    for call in [format!("{SLOB} run 1 --run-time 3 --plain"), format!("TERM=dumb {SLOB} run 1 --run-time 3")]
    {
        shown_within(3, || {
            calls += 1;
            tmux.say(&format!("clear; {call} >report 2>/dev/tty; echo en''ded {calls}"));
            let mut was_alternate = false;
            let ended = format!("ended {calls}\n");
            let screen = until(|| {
                let alternate = tmux.call(&["display-message", "-p", "#{alternate_on}"]);
                was_alternate |= String::from_utf8_lossy(&alternate.stdout).trim() == "1";
                let screen = tmux.screen();
                if screen.contains(&ended) { Ok(screen) } else { Err(screen) }
            });
            assert!(!was_alternate, "{call} took the screen");
            // A busy machine may leave out a second.
            ensure(screen.matches("reads/s").count() >= 2, || format!("a line for each second:\n{screen}"))
        });
    }
}

/// Outlives its terminal, and says how the command ended.
const WATCH: &str = "trap : HUP
\"$@\" &
wait $!; code=$?
while kill -0 $! 2>/dev/null; do wait $!; code=$?; done
echo $code >code.new; mv code.new code
";

#[rstest]
#[case::with_a_dashboard("")]
#[case::with_lines("--plain")]
fn a_run_whose_terminal_is_closed_ends_as_by_ctrl_c(#[case] flag: &str) {
    let folder = Folder::loaded(1, "8M");
    let Some(tmux) = Tmux::start_or_skip(&folder, (80, 24)) else { return };
    folder.write("watch", WATCH);
    tmux.say(&format!("sh ./watch {SLOB} run 1 --rate 200 --run-time 600 {flag}"));
    tmux.until("figures", |screen| screen.contains("op/s") || shows_figures(screen));
    tmux.call(&["kill-server"]);
    wait_until("it does not end", || folder.at("code").exists());
    assert_eq!(folder.read("code").trim(), "130");
    assert_eq!(folder.last_record()["status"]["state"], "interrupted");
}

#[test]
fn a_load_is_shown() {
    let folder = Folder::new();
    let Some(tmux) = Tmux::start_or_skip(&folder, (80, 24)) else { return };
    // Long enough to be seen: the display waits until a load is worth one.
    let load = "setup --target sqlite:./d --scale 256M --load-parallel-degree 1 16";
    tmux.say(&format!("{SLOB} {load}"));
    let screen =
        tmux.until("dashboard of a load", |screen| screen.contains("slob setup") && screen.contains("MB/s"));
    assert_fits(&screen, (80, 24));
    tmux.key("q");
    tmux.until("prompt", |screen| screen.trim_end().ends_with("ready>"));
    assert_is_given_back(&tmux);
}

#[test]
fn a_bar_is_of_characters_that_the_locale_has() {
    let folder = Folder::new();
    let Some(tmux) = Tmux::start_or_skip(&folder, (80, 24)) else { return };
    let mut calls = 0;
    for (locale, full) in [("C", '#'), ("C.UTF-8", '█')] {
        // The bar is there for seconds, and a busy machine may look after them.
        let screen = shown_within(3, || {
            calls += 1;
            let probe = "probe . --size-mb 16 --seconds 0.5 --sessions 1,2 --depths 4";
            tmux.say(&format!("clear; LC_ALL={locale} {SLOB} {probe}; echo en''ded {calls}"));
            let has_bar =
                |screen: &str| screen.lines().any(|line| line.contains(full) && line.contains(" % "));
            let has_ended = |screen: &str| screen.contains(&format!("ended {calls}\n"));
            let seen = tmux.until("bar", |screen| has_bar(screen) || has_ended(screen));
            tmux.until("end", has_ended);
            if has_bar(&seen) { Ok(seen) } else { Err(seen) }
        });
        assert!(full == '█' || screen.is_ascii(), "{screen}");
    }
}

#[rstest]
#[case::a_run("run 1 --run-time 2")]
#[case::a_load("setup 1")]
#[case::the_help("run --help")]
#[case::a_list("list")]
#[case::a_refusal("run 1 --update-pct 1000")]
fn what_is_piped_has_no_control_codes(#[case] line: &str) {
    let folder = Folder::loaded(1, "8M");
    let called = folder.slob_with_env(line, &[("TERM", "xterm-256color"), ("CLICOLOR", "1")]);
    for (name, text) in [("stdout", &called.stdout), ("stderr", &called.stderr)] {
        let code = text.chars().find(|letter| letter.is_control() && *letter != '\n');
        assert_eq!(code, None, "{name}: {text:?}");
    }
    assert!(Path::new(SLOB).exists() && !(called.stdout.is_empty() && called.stderr.is_empty()));
}

//! Runs that start together, each as a process `slob run --member` that speaks lines of JSON on stdin and stdout. Passwords go
//! that way too. A member whose stdin ends stops in order, so that none outlives the program that started it.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use signal_hook::consts::SIGTERM;
use signal_hook::low_level;
use slob_campaign::Ended;
use slob_facts::measured::neighbour_use;
use slob_live::second;
use slob_record::{Neighbour, NeighbourUse, Record, Together};
use slob_run::{CommonStart, RunEvent, RunObserver};
use slob_spec::{Entry, Origin, Secret, Settings, Value};

use super::measuring::{Coordinator, Extras, ended_of, measure_member};
use crate::failure::{Failure, Outcome};
use crate::{interrupt, output, registry, settings};

/// Time from the last connected session to the start: members sample their servers meanwhile.
const NOTICE: Duration = Duration::from_secs(1);
const POLL_EVERY: Duration = Duration::from_millis(100);
/// A member that has ended waits so long for the others' use.
const PATIENCE: Duration = Duration::from_secs(60);

/// From the program to a member. `Used` holds the use of every member, by its name.
#[derive(Serialize, Deserialize)]
enum Order {
    Prepare(Preparation),
    Start { at: Timestamp, neighbours: Vec<Neighbour> },
    Used(BTreeMap<String, NeighbourUse>),
}

/// From a member to the program: all sessions are connected, a second, the window is over, the end.
#[derive(Serialize, Deserialize)]
enum Report {
    Ready { run: String },
    Second(String),
    Used(Option<NeighbourUse>),
    Ended(End),
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) name: String,
    pub(super) run: Option<String>,
    pub(super) ended: Ended,
}

#[derive(Serialize, Deserialize)]
struct Preparation {
    step: String,
    name: String,
    /// Key, text and origin of each value that is not a shipped default.
    values: Vec<(String, String, String)>,
    password: Option<String>,
}

impl Preparation {
    fn of(step: &str, name: &str, settings: &Settings) -> Self {
        let text = |value: &Value| match value {
            Value::Secret(secret) => secret.expose().to_owned(),
            other => other.to_string(),
        };
        let value = |entry: &Entry| {
            let is_set = match entry.origin() {
                Origin::ShippedDefault => false,
                // The member takes them from its load.
                Origin::DeletedDefault => !settings::LOADED.contains(&entry.param().key),
                _ => true,
            };
            let text = entry.value().map(text).unwrap_or_default();
            is_set.then(|| (entry.param().key.to_owned(), text, entry.origin().to_string()))
        };
        let mut values: Vec<_> = settings.entries().filter_map(value).collect();
        // Sizes are checked in blocks.
        values.sort_by_key(|(key, ..)| key != "BLOCK_SZ");
        let password = match settings.value("TARGET") {
            Some(Value::Target(target)) => target.password().map(|secret| secret.expose().to_owned()),
            _ => None,
        };
        Self { step: step.to_owned(), name: name.to_owned(), values, password }
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        let table = registry::table();
        let mut settings = Settings::resolve(&table, None, &[], &[])?.settings;
        for (key, text, origin) in self.values.drain(..) {
            settings = settings.overridden(&table, &[(key, text)], &origin)?.settings;
        }
        Ok(match self.password.take() {
            Some(password) => settings.with_password(Secret::new(password)),
            None => settings,
        })
    }
}

/// The others complete if one fails; if fewer than two of several can start, none does.
pub(super) fn measure_together(
    step: &str,
    members: &[(&str, &Settings)],
    stop: &AtomicBool,
) -> Result<Vec<End>, Failure> {
    let (sender, reports) = mpsc::channel();
    let started = members.iter().enumerate().map(|(at, (name, settings))| {
        let reports = sender.clone();
        Member::start(step, name, settings, move |report| drop(reports.send((at, report))))
    });
    let mut members = started.collect::<Result<Vec<Member>, Failure>>()?;
    drop(sender);
    let _lines = output::is_interactive().then(|| {
        let all = MultiProgress::new();
        for member in &mut members {
            let line = all.add(slob_live::line());
            line.set_message(format!("{:<10} connecting", member.name));
            member.line = Some(line);
        }
        all
    });
    let mut members = Members { all: members, reports, stop };
    members.listen(|member| member.run.is_some());
    members.begin();
    members.listen(|member| member.used.is_some());
    let used = members.all.iter().filter_map(|member| Some((member.name.clone(), member.used.clone()??)));
    let used: BTreeMap<String, NeighbourUse> = used.collect();
    members.all.iter_mut().for_each(|member| member.send(&Order::Used(used.clone())));
    members.listen(|_| false);
    Ok(members.all.into_iter().map(Member::end).collect())
}

struct Members<'a> {
    all: Vec<Member>,
    reports: Receiver<(usize, Option<Report>)>,
    stop: &'a AtomicBool,
}

impl Members<'_> {
    fn listen(&mut self, is_reached: fn(&Member) -> bool) {
        while self.all.iter().any(|member| !member.is_gone && !is_reached(member)) {
            if self.stop.load(Ordering::Relaxed) {
                self.all.iter_mut().for_each(Member::dismiss);
            }
            match self.reports.recv_timeout(POLL_EVERY) {
                Ok((at, report)) => self.all[at].take(report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn begin(&mut self) {
        let is_ready = |member: &Member| !member.is_gone && member.ended.is_none();
        let ready: Vec<Neighbour> =
            self.all.iter().filter(|member| is_ready(member)).filter_map(Member::neighbour).collect();
        if self.all.len() > 1 && ready.len() < 2 {
            self.all.iter_mut().for_each(Member::dismiss);
            return;
        }
        let at = Timestamp::now() + SignedDuration::try_from(NOTICE).unwrap_or_default();
        for member in self.all.iter_mut() {
            let neighbours = ready.iter().filter(|other| other.name != member.name).cloned().collect();
            member.send(&Order::Start { at, neighbours });
        }
    }
}

struct Member {
    name: String,
    target: String,
    process: Child,
    /// `None` when the member is to stop.
    orders: Option<ChildStdin>,
    line: Option<ProgressBar>,
    run: Option<String>,
    used: Option<Option<NeighbourUse>>,
    ended: Option<End>,
    is_gone: bool,
}

impl Member {
    fn start(
        step: &str,
        name: &str,
        settings: &Settings,
        report: impl Fn(Option<Report>) + Send + 'static,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| failed!("starting a process for {name}: {error}");
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        command.args(["run", "--member"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(failed)?;
        if let Some(output) = process.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                lines.filter_map(|line| serde_json::from_str(&line).ok()).for_each(|said| report(Some(said)));
                report(None);
            });
        }
        let prepare = Order::Prepare(Preparation::of(step, name, settings));
        let (name, target) = (name.to_owned(), settings::shown(settings, "TARGET").unwrap_or_default());
        let (orders, line, run, used, ended) = (process.stdin.take(), None, None, None, None);
        let mut member = Self { name, target, process, orders, line, run, used, ended, is_gone: false };
        member.send(&prepare);
        Ok(member)
    }

    /// A member that is gone gets no order; its end says why.
    fn send(&mut self, order: &Order) {
        let Some(orders) = &mut self.orders else { return };
        if let Ok(mut line) = serde_json::to_vec(order) {
            line.push(b'\n');
            let _ = orders.write_all(&line).and_then(|()| orders.flush());
        }
    }

    fn dismiss(&mut self) {
        self.orders = None;
    }

    fn take(&mut self, report: Option<Report>) {
        match report {
            Some(Report::Ready { run }) => self.run = Some(run),
            Some(Report::Second(text)) => {
                self.line.iter().for_each(|line| line.set_message(format!("{:<10} {text}", self.name)));
            }
            Some(Report::Used(used)) => self.used = Some(used),
            Some(Report::Ended(end)) => self.ended = Some(end),
            None => {
                self.is_gone = true;
                self.line.iter().for_each(ProgressBar::finish_and_clear);
            }
        }
    }

    fn neighbour(&self) -> Option<Neighbour> {
        let run = self.run.clone()?;
        Some(Neighbour { name: self.name.clone(), target: self.target.clone(), run, used: None })
    }

    fn end(mut self) -> End {
        let status = self.process.wait();
        let (name, run) = (self.name, None);
        self.ended.unwrap_or_else(|| {
            let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            End { name, run, ended: Ended::Failed { error: format!("its process ended with {how}") } }
        })
    }
}

pub(super) fn member() -> Outcome {
    let stop = interrupt::flag()?;
    let orders = orders();
    let Ok(Order::Prepare(mut preparation)) = orders.recv() else {
        return Err(Failure::usage(
            "--member is for `slob campaign` and `slob saturate`, which start this themselves",
        ));
    };
    let (step, name) = (preparation.step.clone(), preparation.name.clone());
    let follower = Follower { step, name, orders, stop: &stop, started: OnceCell::new() };
    let extras = Extras { coordinator: Some(&follower), ..Extras::default() };
    let whose = format!("{}: ", follower.name);
    let settings = preparation.settings();
    let measured =
        settings.and_then(|settings| measure_member(&settings, extras, &stop, &mut Seconds, &whose));
    let (run, ended) = ended_of(measured);
    report(&Report::Ended(End { name: follower.name, run, ended }));
    Ok(ExitCode::SUCCESS)
}

/// The end of stdin stops this program in order.
fn orders() -> Receiver<Order> {
    let (sender, orders) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(order) = serde_json::from_str(&line) else { break };
            let _ = sender.send(order);
        }
        drop(sender);
        let _ = low_level::raise(SIGTERM);
    });
    orders
}

fn report(report: &Report) {
    if let Ok(line) = serde_json::to_string(report) {
        let _ = writeln!(io::stdout().lock(), "{line}");
    }
}

struct Follower<'a> {
    step: String,
    name: String,
    orders: Receiver<Order>,
    stop: &'a AtomicBool,
    started: OnceCell<(Timestamp, Vec<Neighbour>)>,
}

impl Follower<'_> {
    fn order_within(&self, patience: Option<Duration>) -> Option<Order> {
        let begun = Instant::now();
        loop {
            match self.orders.recv_timeout(POLL_EVERY) {
                Ok(order) => return Some(order),
                Err(RecvTimeoutError::Timeout)
                    if !self.stop.load(Ordering::Relaxed)
                        && patience.is_none_or(|patience| begun.elapsed() < patience) => {}
                Err(_) => return None,
            }
        }
    }
}

impl Coordinator for Follower<'_> {
    fn start(&self) -> &dyn CommonStart {
        self
    }

    fn conclude(&self, record: &Record) -> Option<Together> {
        let (start, mut neighbours) = self.started.get().cloned()?;
        report(&Report::Used(neighbour_use(record)));
        if let Some(Order::Used(mut used)) = self.order_within(Some(PATIENCE)) {
            neighbours.iter_mut().for_each(|neighbour| neighbour.used = used.remove(&neighbour.name));
        }
        Some(Together { step: self.step.clone(), name: self.name.clone(), start, neighbours })
    }
}

impl CommonStart for Follower<'_> {
    fn agree(&self, run_id: &str) -> Option<Instant> {
        report(&Report::Ready { run: run_id.to_owned() });
        let Some(Order::Start { at, neighbours }) = self.order_within(None) else { return None };
        let now = (Instant::now(), Timestamp::now());
        let wait = Duration::try_from(at.duration_since(now.1)).unwrap_or_default();
        self.started.set((at, neighbours)).ok()?;
        Some(now.0 + wait)
    }
}

struct Seconds;

impl RunObserver for Seconds {
    fn on_run(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::Tick(tick) = event {
            report(&Report::Second(second(tick)));
        }
    }
}

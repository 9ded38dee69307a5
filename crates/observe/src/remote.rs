//! An observer on another host. One that ends or hangs costs figures, and is started again. One with implausible samples is not
//! asked again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use slob_engine::Clues;
use slob_spec::SshHost;

use crate::protocol::{Hello, Reply, Request};
use crate::sample::{HostSample, ServerFigures};
use crate::ssh::{INTERRUPTED, NEVER, ProgramCopy, Ssh};

/// Connecting and logging in take time.
const HELLO_PATIENCE: Duration = Duration::from_secs(30);
/// A slow line delays the copy of this program.
const COPY_PATIENCE: Duration = Duration::from_secs(600);
/// A run must not wait for a hanging observer.
const SAMPLE_PATIENCE: Duration = Duration::from_secs(3);
/// A search reads all processes and their sockets.
const FIND_PATIENCE: Duration = Duration::from_secs(30);
/// A step, or a part of its scratch file, takes so long at most.
const PROBE_PATIENCE: Duration = Duration::from_secs(3600);
const MOST_STARTS: u32 = 5;

#[derive(Debug)]
pub(crate) struct RemoteObserver {
    client: PathBuf,
    host: SshHost,
    copy: bool,
    state: State,
    /// A successor repeats the searches.
    searches: Vec<Search>,
    check: SampleCheck,
    starts: u32,
    opened: Instant,
    faults: Vec<String>,
}

#[derive(Clone, Debug)]
struct Search {
    at: Instant,
    clues: Clues,
    asker: Option<u32>,
}

#[derive(Debug)]
enum State {
    Up(Box<Link>),
    Starting(Start),
    /// The reason why there is no observer.
    Down(String),
}

/// Nothing waits for it. Its drop ends what it has started.
#[derive(Debug)]
struct Start {
    thread: Option<JoinHandle<Result<Link, String>>>,
    stop: Arc<AtomicBool>,
}

impl Drop for Start {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[derive(Debug)]
pub(crate) struct SentRequest {
    number: u64,
    at: Instant,
    pub(crate) observer: u32,
}

impl RemoteObserver {
    pub(crate) fn open(client: &Path, host: SshHost, copy: bool, stop: &AtomicBool) -> Self {
        let client = client.to_path_buf();
        let state = match Link::open(&client, &host, copy, stop) {
            Ok(link) => State::Up(Box::new(link)),
            Err(fault) => State::Down(fault),
        };
        let (searches, check, faults) = (Vec::new(), SampleCheck::default(), Vec::new());
        Self { client, host, copy, state, searches, check, starts: 1, opened: Instant::now(), faults }
    }

    pub(crate) fn hello(&self) -> Result<&Hello, &str> {
        match &self.state {
            State::Up(link) => Ok(&link.hello),
            State::Starting(_) => Err("it is being started again"),
            State::Down(why) => Err(why),
        }
    }

    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }

    pub(crate) fn request(
        &mut self,
        request: Request,
        progress: &mut dyn FnMut(Reply) -> bool,
        stop: &AtomicBool,
    ) -> Result<Reply, String> {
        let is_probe = matches!(request, Request::Probe { .. });
        if let Request::Find { clues, asker } = &request {
            self.searches.push(Search { at: Instant::now(), clues: clues.clone(), asker: *asker });
        }
        let State::Up(link) = &mut self.state else {
            return Err(self.hello().err().unwrap_or_default().to_owned());
        };
        let reply = link.request(request, progress, stop);
        reply.inspect_err(|fault| match (is_probe, fault == INTERRUPTED) {
            // The probe ends with its connection.
            (true, _) => self.state = State::Down(fault.clone()),
            // The late answer is ignored by its number.
            (false, true) => {}
            (false, false) => self.lose(fault),
        })
    }

    pub(crate) fn request_sample(&mut self, edge: bool) -> Option<SentRequest> {
        self.take_successor();
        let State::Up(link) = &mut self.state else { return None };
        let at = Instant::now();
        match link.ssh.send(Request::Sample { edge }) {
            Ok(number) => Some(SentRequest { number, at, observer: self.starts }),
            Err(fault) => {
                self.lose(&fault);
                None
            }
        }
    }

    /// `None` if it is late or implausible.
    pub(crate) fn receive_sample(&mut self, sent: &SentRequest) -> Option<(HostSample, Duration)> {
        let State::Up(link) = &mut self.state else { return None };
        let cpus = link.hello.host.cpus_online;
        let (came, sample) = link.receive_sample(sent).inspect_err(|fault| self.lose(fault)).ok()?;
        let timed = TimedSample { asked: sent.at, came, observer: sent.observer, sample };
        if let Err(lie) = self.check.check(&timed, cpus) {
            self.faults.push(format!(
                "The observer of ssh:{} is not believed: {lie}. It is not asked again, and its figures are missing.",
                self.host
            ));
            self.state = State::Down(lie);
            return None;
        }
        Some((timed.sample, came - sent.at))
    }

    /// Starts another observer without waiting for it.
    fn lose(&mut self, fault: &str) {
        let host = &self.host;
        let after_s = self.opened.elapsed().as_secs_f64();
        let again = self.starts < MOST_STARTS;
        let then = if again { "it is started again" } else { "it is not started again" };
        self.faults.push(format!("The observer of ssh:{host} failed after {after_s:.1} s: {fault}; {then}, and figures of the time between are missing."));
        // This drops the old connection first.
        self.state = State::Down(fault.to_owned());
        if !again {
            return;
        }
        self.starts += 1;
        let (client, host) = (self.client.clone(), self.host.clone());
        let (copy, searches) = (self.copy, self.searches.clone());
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let start = move || Link::open(&client, &host, copy, &stopped)?.repeat(searches, &stopped);
        if let Ok(thread) = thread::Builder::new().name("observer".into()).spawn(start) {
            self.state = State::Starting(Start { thread: Some(thread), stop });
        }
    }

    fn take_successor(&mut self) {
        let State::Starting(start) = &mut self.state else { return };
        let Some(thread) = start.thread.take_if(|thread| thread.is_finished()) else { return };
        self.state = State::Down("the thread that started it ended".into());
        match thread.join() {
            Ok(Ok(link)) => self.state = State::Up(Box::new(link)),
            Ok(Err(fault)) => {
                self.faults
                    .push(format!("The observer of ssh:{} could not be started again: {fault}.", self.host));
                self.state = State::Down(fault);
            }
            Err(_) => {}
        }
    }
}

#[derive(Debug)]
struct Link {
    ssh: Ssh,
    hello: Hello,
}

impl Link {
    /// The error is a reason and a remedy, to follow a colon.
    fn open(client: &Path, host: &SshHost, with_copy: bool, stop: &AtomicBool) -> Result<Self, String> {
        let copy = with_copy.then(ProgramCopy::of_this_program).transpose()?;
        let patience = if with_copy { COPY_PATIENCE } else { HELLO_PATIENCE };
        let mut ssh = Ssh::start(client, host, copy)?;
        let hello = ssh.hello(host, patience, stop)?;
        Ok(Self { ssh, hello })
    }

    /// Samples lack a server that is missing now.
    fn repeat(mut self, searches: Vec<Search>, stop: &AtomicBool) -> Result<Self, String> {
        for Search { at, clues, asker } in searches {
            let find = Request::Find { clues: clues.after(at.elapsed()), asker };
            self.request(find, &mut |_| true, stop)?;
        }
        Ok(self)
    }

    /// Waits while `progress` returns true.
    fn request(
        &mut self,
        request: Request,
        progress: &mut dyn FnMut(Reply) -> bool,
        stop: &AtomicBool,
    ) -> Result<Reply, String> {
        let is_probe = matches!(request, Request::Probe { .. });
        let patience = if is_probe { PROBE_PATIENCE } else { FIND_PATIENCE };
        let number = self.ssh.send(request)?;
        loop {
            let (_, reply) = self.ssh.wait(number, Instant::now() + patience, stop)?;
            // Other requests make no progress.
            if !is_probe || !matches!(reply, Reply::Progress { .. }) {
                return Ok(reply);
            }
            if !progress(reply) {
                return Err(INTERRUPTED.into());
            }
        }
    }

    fn receive_sample(&mut self, sent: &SentRequest) -> Result<(Instant, HostSample), String> {
        // The last samples of a stopped run are waited for.
        let (came, reply) = self.ssh.wait(sent.number, sent.at + SAMPLE_PATIENCE, &NEVER)?;
        let Reply::Sample(sample) = reply else { return Err("its answer is none to the question".into()) };
        Ok((came, *sample))
    }
}

#[derive(Clone, Debug)]
struct TimedSample {
    asked: Instant,
    came: Instant,
    observer: u32,
    sample: HostSample,
}

#[derive(Debug, Default)]
struct SampleCheck {
    first: Option<TimedSample>,
    last: Option<TimedSample>,
}

impl SampleCheck {
    fn check(&mut self, now: &TimedSample, cpus: Option<u32>) -> Result<(), String> {
        for earlier in self.first.iter().chain(&self.last) {
            now.check_clock(earlier)?;
            now.check_cpu(earlier, cpus)?;
        }
        self.first.get_or_insert_with(|| now.clone());
        self.last = Some(now.clone());
        Ok(())
    }
}

impl TimedSample {
    /// Honest clocks differ by less.
    const CLOCK_ERROR: f64 = 0.02;
    /// An addition to the tolerance.
    const CLOCK_SLACK_S: f64 = 0.02;
    /// The kernel counts CPU times in ticks and adds them up now and then.
    const CPU_ERROR: f64 = 0.1;
    /// An addition for each CPU.
    const CPU_SLACK_S: f64 = 0.5;

    fn check_clock(&self, earlier: &Self) -> Result<(), String> {
        let theirs_s = self.sample.at_s - earlier.sample.at_s;
        let shortest_s = self.asked.saturating_duration_since(earlier.came).as_secs_f64();
        let longest_s = (self.came - earlier.asked).as_secs_f64();
        let permitted = shortest_s * (1.0 - Self::CLOCK_ERROR) - Self::CLOCK_SLACK_S
            ..=longest_s * (1.0 + Self::CLOCK_ERROR) + Self::CLOCK_SLACK_S;
        if permitted.contains(&theirs_s) {
            return Ok(());
        }
        Err(format!("its clock went on by {theirs_s:.2} s while {longest_s:.2} s went by"))
    }

    /// CPU times neither go back nor exceed what all CPUs have.
    fn check_cpu(&self, earlier: &Self, cpus: Option<u32>) -> Result<(), String> {
        let (now, before) = (&self.sample, &earlier.sample);
        let slack_s = Self::CPU_SLACK_S * f64::from(cpus.unwrap_or(1));
        let went_back = |now_s: f64, before_s: f64, slack_s: f64| {
            let back_s = before_s - now_s;
            let words = || format!("its CPU time went back by {back_s:.1} s");
            if back_s > slack_s { Err(words()) } else { Ok(()) }
        };
        if let Some((now, before)) = now.cpu.zip(before.cpu) {
            went_back(now.total_s(), before.total_s(), slack_s)?;
        }
        let same_observer = self.observer == earlier.observer;
        for (now, before) in now.servers.iter().zip(&before.servers).filter(|_| same_observer) {
            let Some((now, before)) = now.as_ref().zip(before.as_ref()) else { continue };
            let sums = |figures: &ServerFigures| [figures.cpu, figures.sessions_cpu];
            for (now, before) in sums(&now.figures).into_iter().zip(sums(&before.figures)) {
                let Some((now, before)) = now.zip(before) else { continue };
                went_back(now.total_s(), before.total_s(), Self::CLOCK_SLACK_S)?;
            }
        }
        let since = now.since(before, same_observer).unwrap_or_default();
        let of_host = since.cpu.map(|cpu| cpu.total_s());
        let of_servers = since.servers.iter().flatten().filter_map(|server| Some(server.cpu?.total_s()));
        let used_s = of_servers.chain(of_host).fold(0.0, f64::max);
        let passed_s = now.at_s - before.at_s;
        let most_s = cpus.map(|cpus| f64::from(cpus) * passed_s * (1.0 + Self::CPU_ERROR) + slack_s);
        match most_s.filter(|most_s| used_s > *most_s) {
            Some(most_s) => {
                Err(format!("it tells of {used_s:.1} s of CPU time where there were {most_s:.1}"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use slob_host::{CpuSplit, CpuTimes};

    use super::*;
    use crate::ServerSample;
    use crate::ssh::tests::client;

    /// The first start says hello and ends; the second one says nothing.
    #[test]
    fn an_observer_that_is_being_started_ends_with_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let second = folder.path().join("second");
        let silent = "trap '' TERM; echo $$ > $second.new; mv $second.new $second; exec sleep 1000";
        let before = format!("second={}; mkdir $second.first || {{ {silent}; }}", second.display());
        let client = client(folder.path(), &before, "");
        let mut observer = RemoteObserver::open(&client, "localhost".parse().unwrap(), false, &NEVER);
        while !second.exists() {
            if let Some(sent) = observer.request_sample(false) {
                assert!(observer.receive_sample(&sent).is_none());
            }
            thread::sleep(Duration::from_millis(5));
        }
        let process = std::fs::read_to_string(&second).unwrap();
        drop(observer);
        assert!(!Path::new("/proc").join(process.trim()).exists(), "ssh outlives the run");
    }

    fn sample(at_s: f64, host_s: f64, db_s: f64) -> HostSample {
        let none = CpuTimes {
            user_s: host_s,
            nice_s: 0.0,
            system_s: 0.0,
            idle_s: 0.0,
            iowait_s: 0.0,
            irq_s: 0.0,
            softirq_s: 0.0,
            steal_s: 0.0,
        };
        let cpu = Some(CpuSplit { user_s: db_s, system_s: 0.0 });
        let figures = ServerFigures { cpu, ..ServerFigures::default() };
        let server = ServerSample { processes: 1, found: 1, figures };
        HostSample { at_s, cpu: Some(none), servers: vec![Some(server)], ..HostSample::default() }
    }

    /// Checks samples at these seconds of the client, after a first one.
    fn check(later: &[(f64, HostSample)]) -> Result<(), String> {
        let begun = Instant::now();
        let at = |seconds: f64, sample: HostSample| {
            let asked = begun + Duration::from_secs_f64(seconds);
            TimedSample { asked, came: asked + Duration::from_millis(1), observer: 1, sample }
        };
        let mut check = SampleCheck::default();
        check.check(&at(0.0, sample(100.0, 50.0, 5.0)), Some(2)).unwrap();
        later.iter().try_for_each(|(seconds, sample)| check.check(&at(*seconds, sample.clone()), Some(2)))
    }

    fn check_second(second: HostSample) -> Result<(), String> {
        check(&[(10.0, second)])
    }

    #[test]
    fn more_cpu_time_than_two_cpus_have_in_ten_seconds_is_refused() {
        assert_eq!(check_second(sample(110.0, 70.0, 24.0)), Ok(()));
        assert!(check_second(sample(110.0, 70.0, 60.0)).unwrap_err().contains("CPU time"));
        assert!(check_second(sample(110.0, 150.0, 5.0)).unwrap_err().contains("CPU time"));
    }

    #[test]
    fn cpu_time_that_goes_back_is_refused() {
        for second in [sample(110.0, 0.0, 24.0), sample(110.0, 70.0, 4.9)] {
            assert!(check_second(second).unwrap_err().contains("went back"));
        }
        // The kernel takes back a little of the idle time.
        assert_eq!(check_second(sample(110.0, 49.9, 5.0)), Ok(()));
    }

    #[test]
    fn a_clock_of_another_speed_is_refused() {
        assert_eq!(check_second(sample(110.1, 70.0, 5.0)), Ok(()));
        for at_s in [90.0, 100.0, 105.0, 110.5, 115.0, 1e9] {
            assert!(check_second(sample(at_s, 50.0, 5.0)).unwrap_err().contains("clock"), "{at_s}");
        }
    }

    #[test]
    fn a_clock_at_half_speed_is_refused_though_each_step_is_short() {
        let steps: Vec<_> = (1..=20).map(|n| 0.03 * f64::from(n)).collect();
        let honest: Vec<_> = steps.iter().map(|s| (*s, sample(100.0 + s, 50.0 + s, 5.0))).collect();
        assert_eq!(check(&honest), Ok(()));
        let half: Vec<_> = steps.iter().map(|s| (*s, sample(100.0 + s / 2.0, 50.0 + s, 5.0))).collect();
        assert!(check(&half).unwrap_err().contains("clock"));
    }
}

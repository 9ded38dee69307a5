//! Tests that every engine of a server passes, with one loaded schema.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use slob_engine::{
    Counter, Counters, Engine, EngineError, EngineKind, ErrorKind, OpOutcome, Outcome, Session, Snapshot,
    WaitEvent,
};
use slob_method::{Batch, Op};
use slob_spec::RedoStress;

use crate::container::Container;
use crate::damage;
use crate::process::Served;
use crate::tries::{ensure, shown_within, until};
use crate::work::{self, FIRST, LOAD, batch, executed, load_schema, median, took};

pub trait TestServer {
    fn served(&self) -> &Served;

    fn plain_target(&self) -> String;

    fn plain_target_at(&self, host: IpAddr, port: u16) -> String;

    fn run(&self, statements: &str);

    fn number(&self, sql: &str) -> i64;

    fn busy_sessions(&self) -> i64;

    /// Ends its batch, or its connection.
    fn end_busy_session(&self, with_connection: bool);

    fn kill(&mut self);

    /// A power failure kills all processes at once.
    fn power_off(&mut self) {
        self.kill();
    }

    fn restart(&mut self);

    /// It listens at the container's address too.
    fn restart_contained(&mut self, container: Arc<Container>);

    /// The drop of the value unlocks it.
    fn lock_main_table(&self) -> Box<dyn Any>;
}

pub struct Loaded<S> {
    pub server: S,
    pub target: String,
    pub engine: Box<dyn Engine>,
    kind: EngineKind,
}

impl<S: TestServer> Loaded<S> {
    pub fn new(server: S, kind: EngineKind, flags: &[(&str, &str)]) -> Self {
        let target = server.plain_target();
        let engine = work::open(&kind, &target, flags).expect("it opens");
        load_schema(engine.as_ref(), &LOAD, FIRST);
        Self { server, target, engine, kind }
    }

    pub fn reopened(&self, flags: &[(&str, &str)]) -> Box<dyn Engine> {
        work::open(&self.kind, &self.target, flags).expect("it opens")
    }

    pub fn session(&self, redo: RedoStress) -> Box<dyn Session> {
        work::session(self.engine.as_ref(), 0, redo).expect("it opens")
    }

    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot().expect("readable")
    }

    pub fn counted(&self, work: impl FnOnce()) -> Counters {
        let before = self.snapshot();
        work();
        self.snapshot().since(&before).counters
    }
}

pub fn passes_the_contract_suite(server: &impl TestServer, kind: EngineKind, flags: &[(&str, &str)]) {
    let target = server.plain_target();
    work::passes_the_contract_suite(&|| work::open(&kind, &target, flags));
}

/// `{}` is the schema's name in `damages`, and its number in `drop`.
pub fn survives_damage(server: &impl TestServer, kind: EngineKind, damages: &[&str], drop: &str) {
    let target = server.plain_target();
    let open = || work::open(&kind, &target, &[]);
    let mut break_schema = |schema, words: &str| server.run(&words.replace("{}", &format!("slob{schema}")));
    damage::survives_damage(open, damages, &mut break_schema, drop);
}

/// `check` gets the counters of 100 UPDATEs of 8 rows.
pub fn redo_follows_the_updates<S: TestServer>(loaded: &Loaded<S>, check: impl Fn(&Counters)) {
    let mut bytes = Vec::new();
    for (redo, nonce) in [(RedoStress::Lite, 5), (RedoStress::Lite, 6), (RedoStress::Heavy, 7)] {
        let mut session = loaded.session(redo);
        let counters = loaded.counted(|| {
            executed(session.as_mut(), &batch(100, 8, nonce, 100), None);
            session.publish().expect("published");
        });
        check(&counters);
        bytes.push(counters.get(Counter::RedoBytes).expect("known to every role") as f64);
    }
    assert!(bytes[2] > 3.0 * bytes[1], "LITE, LITE, HEAVY: {bytes:?}");
}

/// The time without samples is the event `not_sampled`.
pub fn the_sampler_reconnects<S: TestServer>(
    loaded: &Loaded<S>,
    is_state: fn(&WaitEvent) -> bool,
    not_sampled: &str,
    end_its_connection: impl FnOnce(),
) {
    let mut session = loaded.session(RedoStress::Lite);
    loaded.snapshot();
    let mut sampled_until = |is_wanted: &dyn Fn(&WaitEvent) -> bool, least_us: u64| {
        until(|| {
            executed(session.as_mut(), &batch(0, 64, 1, 500), None);
            let events = loaded.snapshot().total().events;
            let time_us = events.iter().filter(|event| is_wanted(event)).map(|event| event.time_us).sum();
            if time_us > least_us { Ok(time_us) } else { Err(format!("{events:?}")) }
        })
    };
    let before_us: u64 = sampled_until(&is_state, 0);
    end_its_connection();
    sampled_until(&|event| event.name == not_sampled, 0);
    sampled_until(&is_state, before_us + 300_000);
}

/// A request, the end of a connection, or of the server end a batch. Returns the errors.
pub fn errors_say_what_ended_a_batch<S: TestServer>(loaded: &mut Loaded<S>) -> Vec<EngineError> {
    let ops = batch(0, 1, 3, 500).ops().iter().map(|op| Op { pause_us: 100_000, ..*op }).collect::<Vec<_>>();
    let mut ended_by = |end: fn(&mut S), kind: ErrorKind| {
        let (mut session, slow) = (loaded.session(RedoStress::Lite), Batch::from(ops.clone()));
        let worker = thread::spawn(move || session.execute(&slow, None, &mut Outcome::new()));
        let is_busy = || ensure(loaded.server.busy_sessions() > 0, || "the session is idle".to_owned());
        until(is_busy);
        end(&mut loaded.server);
        let error = worker.join().expect("no panic").expect_err("it was ended");
        assert_eq!(error.kind(), kind, "{error}");
        error
    };
    let errors = vec![
        ended_by(|server| server.end_busy_session(false), ErrorKind::Fatal),
        ended_by(|server| server.end_busy_session(true), ErrorKind::Connection),
        ended_by(S::kill, ErrorKind::Connection),
    ];
    assert!(errors[2].to_string().contains("session 0"), "{errors:?}");
    errors
}

/// A deadline ends a stretch between operations, and the next call goes on. Returns how long each of three
/// calls might take, and its outcome.
pub fn a_deadline_ends_a_stretch<S: TestServer>(
    loaded: &Loaded<S>,
    mut batch: Batch,
    patience: Duration,
) -> Vec<(Duration, Outcome)> {
    let mut session = loaded.session(RedoStress::Lite);
    let all = batch.ops().len();
    // The first call may prepare statements.
    let mut done =
        executed(session.as_mut(), &batch, Some(Instant::now() + Duration::from_millis(1))).ops().len();
    batch.advance(done);
    let outcomes = [(); 3].map(|()| {
        // A busy machine may reach no operation within the first.
        let patiences = (0..4).map(|power| patience * 4_u32.pow(power));
        let of = |patience| (patience, executed(session.as_mut(), &batch, Some(Instant::now() + patience)));
        let done_some = |(_, outcome): &(Duration, Outcome)| !outcome.ops().is_empty();
        let (patience, outcome) = patiences.map(of).find(done_some).expect("operations");
        let count = outcome.ops().len();
        assert!(count > 0 && count < batch.ops().len(), "{count} of {}", batch.ops().len());
        batch.advance(count);
        done += count;
        (patience, outcome)
    });
    assert_eq!(batch.ops().len(), all - done, "the other operations are left");
    outcomes.into()
}

/// Compares the server's own durations, in turns.
pub fn a_stretch_costs_less_than_statements<S: TestServer>(loaded: &Loaded<S>) {
    let apart = loaded.reopened(&[("LOOP", "statement")]);
    assert_eq!(apart.server().expect("an answer").capabilities.joined_blocks, 0);
    let mut sessions = [&loaded.engine, &apart]
        .map(|engine| work::session(engine.as_ref(), 0, RedoStress::Lite).expect("it opens"));
    let batch = batch(0, 3, 1, 2000);
    shown_within(3, || {
        let mut sums = [Vec::new(), Vec::new()];
        for _ in 0..5 {
            for (session, sums) in sessions.iter_mut().zip(&mut sums) {
                sums.push(took(&executed(session.as_mut(), &batch, None)));
            }
        }
        let [joined, apart] = sums.map(median);
        ensure(joined * 5 < apart * 4, || format!("{joined} ns as one statement, {apart} ns as 2000"))
    });
}

pub fn is_in_order(outcome: &Outcome) -> bool {
    let in_order = |pair: &[OpOutcome]| pair[0].start_ns + pair[0].duration_ns <= pair[1].start_ns;
    outcome.ops().windows(2).all(in_order)
}

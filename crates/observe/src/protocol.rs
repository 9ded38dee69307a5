//! The protocol between client and observer: a line of JSON for each message.
//!
//! After a [`Hello`], each question has one answer with its number, in order; a probe sends its progress before. Unknown fields
//! are ignored.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slob_engine::Clues;
use slob_host::{Device, HostInfo, MachineSettings, ProbePlan, ProbeResult};

use crate::local::LocalObserver;
use crate::{FoundServer, HostSample};

/// Both sides must have the same version.
pub const PROTOCOL: u32 = 2;
/// A host with a thousand disks has a far shorter line.
pub(crate) const LONGEST_LINE: usize = 4 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Its [`PROTOCOL`].
    pub slob_observe: u32,
    pub version: String,
    pub host: HostInfo,
    /// Observers with the same boot are on one host.
    pub boot: Option<String>,
    /// A number means the same process within a pid namespace.
    pub numbering: Option<String>,
    pub machine: Option<MachineSettings>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbered<T> {
    pub number: u64,
    /// It has a field of its own: serde reads no maps with numbers as keys from flattened fields or tagged enumerations.
    pub body: T,
}

pub(crate) type Question = Numbered<Request>;
pub type Answer = Numbered<Reply>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    Find {
        clues: Clues,
        /// A client's process on the same host, whose CPU time is not others'.
        asker: Option<u32>,
    },
    #[serde(rename = "look")]
    Sample {
        /// Only edges read figures that need a file of each process.
        edge: bool,
    },
    /// Measures the device behind a folder.
    Probe { plan: ProbePlan },
    /// Samples at later edges have the trace. Reads of whole blocks are those of data files.
    Trace { block_bytes: u32 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Found(Box<FoundServer>),
    /// The reason follows.
    NotFound(String),
    #[serde(rename = "sight")]
    Sample(Box<HostSample>),
    /// The unit is bytes or steps.
    Progress {
        done: u64,
        of: u64,
        at: String,
    },
    Probed {
        result: Box<ProbeResult>,
        device: Option<Box<Device>>,
    },
    Tracing,
    Failed(String),
}

impl Hello {
    /// The error is the beginning of the line.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        parse(line)
    }
}

impl Answer {
    /// Refuses samples with implausible times. The error is the beginning of the line.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let answer: Self = parse(line)?;
        match &answer.body {
            Reply::Sample(sample) if !sample.is_plausible() => Err("a sight with times that can't be".into()),
            _ => Ok(answer),
        }
    }
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    const SHOWN: usize = 60;
    serde_json::from_slice(line).map_err(|_| {
        let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
        format!("'{}'", printable(&start))
    })
}

/// Removes control characters of a remote host's text.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}

pub fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut observer = LocalObserver::default();
    send(output, &LocalObserver::hello())?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let Question { number, body: request } = serde_json::from_slice(&line)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("no question: {error}")))?;
        let mut sent = Ok(());
        let reply = observer.answer(request, &mut |progress| {
            if sent.is_ok() {
                sent = send(output, &Answer { number, body: progress });
            }
            sent.is_ok()
        });
        sent?;
        send(output, &Answer { number, body: reply })?;
    }
}

pub(crate) fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use slob_host::{
        BlockId, CpuSplit, CpuTimes, DeviceCounters, Disk, GroupLimits, GroupUse, IoInterface, ProbeStep,
        ProcessIo, StepFigures, StepKind, UntilCliff,
    };
    use slob_measure::{KernelTrace, Requests, SlowReads, Span};
    use slob_stats::{Histogram, TokenBucket};

    use super::*;
    use crate::{ServerFigures, ServerSample};

    fn returns<T: Clone + Debug + PartialEq + Serialize + DeserializeOwned>(bodies: &[T]) {
        for body in bodies {
            let message = Numbered { number: 7, body: body.clone() };
            let line = serde_json::to_string(&message).unwrap();
            let read: Result<Numbered<T>, _> = serde_json::from_str(&line);
            assert!(read.as_ref().is_ok_and(|read| *read == message), "{read:?} of {line}");
        }
    }

    fn histogram() -> Histogram {
        let mut histogram = Histogram::new();
        [1, 3, 70_000, u64::from(u32::MAX)].into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    fn device() -> Device {
        let id = BlockId { name: "sda".into(), major: 8, minor: 0 };
        Device {
            path: "/srv".into(),
            file_system: "xfs".into(),
            mount_point: "/".into(),
            mount_source: "/dev/sda".into(),
            mount_options: vec!["rw".into()],
            top: Some(id.clone()),
            stack: vec!["sda".into()],
            disks: vec![Disk {
                id,
                model: Some("disk".into()),
                rotational: Some(false),
                scheduler: Some("none".into()),
                nr_requests: Some(64),
                logical_block_bytes: Some(512),
                physical_block_bytes: Some(4096),
                size_bytes: Some(1 << 40),
            }],
            cached_below: true,
            cached_device: Some("loop0".into()),
            memory: Some("zram".into()),
            note: Some("a note".into()),
        }
    }

    fn sample() -> HostSample {
        let cpu = Some(CpuSplit { user_s: 1.5, system_s: 0.25 });
        let counters = DeviceCounters {
            used: slob_host::DeviceUse { reads: 1, reads_merged: Some(2), ..Default::default() },
            discards: Some(1),
            flushes: Some(2),
            in_flight: 3,
            disk_read_bytes: Some(4),
        };
        let figures = ServerFigures {
            cpu,
            sessions_cpu: cpu,
            io: Some(ProcessIo { read_chars: 1, ..ProcessIo::default() }),
            data: Some(counters),
            log: Some(counters),
            group: Some(GroupUse { cpu_s: Some(0.5), periods: Some(9), ..GroupUse::default() }),
        };
        let requests = Requests {
            device: "sda".into(),
            span: Span::ReadInDevice.name().into(),
            bytes: 4096,
            requests: 9,
            time_ns: 1000,
        };
        HostSample {
            at_s: 12.5,
            cpu: CpuTimes::read().ok(),
            others_cpu_s: Some(3.25),
            load_1m: Some(0.5),
            memory_available_bytes: Some(1 << 33),
            trace: Some(KernelTrace {
                spans: Span::ALL.into_iter().map(|span| (span, histogram())).collect(),
                slow_reads: [
                    (1 << 10, SlowReads { reads: 5, in_device: 3 }),
                    (1 << 20, SlowReads::default()),
                ]
                .into(),
                requests: vec![requests],
            }),
            servers: vec![Some(ServerSample { processes: 3, found: 1, figures }), None],
        }
    }

    /// A sample with a trace never did: the keys of its slow reads are numbers.
    #[test]
    fn every_message_with_everything_in_it_is_read_as_it_was_sent() {
        let clues = Clues {
            pid: Some(1),
            names: vec!["postgres".into()],
            age_s: Some(1.5),
            port: Some(5432),
            client_port: Some(40_000),
            socket: Some("/s".into()),
            pid_file: Some("/p".into()),
            child: Some(7),
            has_children: true,
            data: Some("/srv".into()),
            log: Some("/log".into()),
            log_files: vec!["/log".into()],
            small_pages: Some("advice".into()),
        };
        let plan = ProbePlan { until_cliff_s: Some(2700.0), ..ProbePlan::new("/srv") };
        returns(&[
            Request::Find { clues, asker: Some(9) },
            Request::Sample { edge: true },
            Request::Probe { plan: plan.clone() },
            Request::Trace { block_bytes: 8192 },
        ]);
        let found = FoundServer {
            pid: 1,
            name: "postgres".into(),
            how: "by its port".into(),
            data: Some(device()),
            log: Some(device()),
            path: Some("/srv".into()),
            free_bytes: Some(1 << 40),
            limits: Some(GroupLimits {
                version: 2,
                path: "/".into(),
                cpus: Some(0.5),
                ..GroupLimits::default()
            }),
            cpus_allowed: Some(2),
            lacking: vec!["a sentence".into()],
        };
        let figures = StepFigures {
            operations: 4,
            seconds: 1.5,
            iops: 2.5,
            mb_per_s: 3.5,
            mean_us: 4.5,
            p50_us: 5.5,
            p99_us: 6.5,
            p999_us: 7.5,
            max_us: 8.5,
            cpu_us_per_op: Some(9.5),
            latency_ns: histogram(),
        };
        let step = ProbeStep {
            kind: StepKind::AsyncRead,
            sessions_or_depth: 16,
            interface: Some(IoInterface::IoUring),
            figures: Some(figures),
            error: Some("an error".into()),
            note: Some("a note".into()),
            device: None,
        };
        let bucket = TokenBucket { burst_per_s: 3000.0, base_per_s: 300.0, lasts_s: 2000.0, credits: 5.4e6 };
        let until_cliff =
            Some(UntilCliff { step: step.clone(), iops: vec![3000.0, 300.0], bucket: Some(bucket) });
        let result =
            Box::new(ProbeResult { plan, steps: vec![step], until_cliff, limits: None, interrupted: true });
        returns(&[
            Reply::Found(Box::new(found)),
            Reply::NotFound("a reason".into()),
            Reply::Sample(Box::new(sample())),
            Reply::Progress { done: 1, of: 2, at: "a step".into() },
            Reply::Probed { result, device: Some(Box::new(device())) },
            Reply::Tracing,
            Reply::Failed("a reason".into()),
        ]);
    }
}

//! The protocol between client and observer: a line of JSON for each message.
//!
//! The observer begins with a [`Hello`]. Then each question has one answer with the same number, in order; a probe sends its
//! progress before. Unknown fields are ignored, so that a later release may add some.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slob_engine::Clues;
use slob_host::{Device, HostInfo, MachineSettings, ProbePlan, ProbeResult};

use crate::local::LocalObserver;
use crate::{FoundServer, HostSample};

/// Both sides must have the same version.
pub const PROTOCOL: u32 = 1;
/// Far longer than the line of a host with a thousand disks.
pub(crate) const LONGEST_LINE: usize = 4 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Its [`PROTOCOL`].
    pub slob_observe: u32,
    pub version: String,
    pub host: HostInfo,
    /// The kernel's name for this boot: two observers with the same name are on one host.
    pub boot: Option<String>,
    /// The pid namespace of the observer: within it, a number means the same process.
    pub numbering: Option<String>,
    pub machine: Option<MachineSettings>,
    /// True if it knows requests for a trace.
    #[serde(default)]
    pub traces: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Numbered<T> {
    pub number: u64,
    #[serde(flatten)]
    pub body: T,
}

pub(crate) type Question = Numbered<Request>;
pub type Answer = Numbered<Reply>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub(crate) enum Request {
    Find {
        clues: Clues,
        /// The client's process, if it is on the same host. Its CPU time is not others'.
        asker: Option<u32>,
    },
    #[serde(rename = "look")]
    Sample {
        /// True at an edge of the window: figures that need a file of each process are read then.
        edge: bool,
    },
    /// Measure the device behind a folder.
    Probe { plan: ProbePlan },
    /// Trace all servers that were found, for later samples at edges. Reads of whole blocks are those of data files.
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
    /// Progress of a probe, in bytes or steps.
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
    /// The reason of a failed probe, or of a trace that could not begin.
    Failed(String),
}

impl Hello {
    /// Fails with the beginning of a line that is no hello.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        parse(line)
    }
}

impl Answer {
    /// Reads an answer, and refuses a sample with implausible times. Fails with the beginning of a line that is no answer.
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

/// Text of a remote host for a message, without control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}

/// Says hello, then answers questions until the input ends. Fails on input that is no question, or if output fails.
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

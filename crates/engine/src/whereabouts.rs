//! What is known of where a server runs, for whoever looks for it on its host.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A server, and what it can be found by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whereabouts {
    /// The first of [`crate::Engine::endpoints`] that leads to it, counted from 0.
    pub endpoint: usize,
    /// The name or address of the endpoint's host; `None` where it is reached without a network.
    pub host: Option<String>,
    /// What it can be found by.
    pub clues: Clues,
}

/// What a server says of itself, and an engine knows of its product. Paths, and numbers of processes, are as the server sees
/// them: in a container they are not those of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clues {
    /// The process itself, in the numbers of its host: it was named by the user, or is this program's own.
    pub pid: Option<u32>,
    /// How the names of its processes begin.
    pub names: Vec<String>,
    /// How long ago it was started, in seconds, when it is looked for.
    pub age_s: Option<f64>,
    /// The port that it listens on.
    pub port: Option<u16>,
    /// The port of the other end of a connection that is open, as the server sees it.
    pub client_port: Option<u16>,
    /// The unix socket that it listens on.
    pub socket: Option<PathBuf>,
    /// The file that holds its process's number.
    pub pid_file: Option<PathBuf>,
    /// The process that serves a connection, if it has one for each: a child of the server's first one.
    pub child: Option<u32>,
    /// Whether it has a process for each session.
    pub has_children: bool,
    /// Where its data lie. A path that is not absolute lies in the folder that the server works in.
    pub data: Option<PathBuf>,
    /// Where its log lies, in the same way.
    pub log: Option<PathBuf>,
}

impl Whereabouts {
    /// Of a database that is part of this process, with its data there.
    #[must_use]
    pub fn embedded(data: Option<PathBuf>) -> Self {
        Self { clues: Clues { pid: Some(std::process::id()), data, ..Clues::default() }, ..Self::default() }
    }
}

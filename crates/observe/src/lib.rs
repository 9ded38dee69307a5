//! The database's host, wherever it is: who the server's processes are there, and what they and their devices did.
//!
//! An [`Observer`] looks at the host that it runs on. It is asked by [`Question`]s and answers with [`Answer`]s, in this process
//! or as `slob observe` at the other end of an ssh connection ([`serve`]): the code is the same, and so are the figures. An
//! [`Eye`] is either of both to whoever asks. What comes from afar is input: it is checked, and never believed further than it can
//! be.
//!
//! Nothing here opens a port or changes anything on a host, but for `--observe-copy`, whose copy has no name for longer than its
//! creation takes.
#![forbid(unsafe_code)]

mod eye;
mod find;
mod host_id;
mod message;
mod observer;
mod place;
mod remote;
mod serve;
mod server;
mod sight;

pub use eye::{Asked, Eye, Seen};
pub use message::{Answer, Hello, PROTOCOL, Question, Told};
pub use observer::Observer;
pub use serve::serve;
pub use sight::{Between, Found, ServerFigures, ServerSight, Sight};

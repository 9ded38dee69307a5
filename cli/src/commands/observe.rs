//! `slob observe`: looking at the host that it runs on, for a run elsewhere.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use crate::failure::{Failure, Outcome};

pub(crate) fn observe() -> Outcome {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    match slob_observe::serve(&mut input, &mut output) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // Who asked is gone, which is how it ends when a run is killed.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::usage(format!(
            "observing: {error}; this command is started by `slob run --observe ssh:HOST`, and reads its questions from stdin"
        ))),
    }
}

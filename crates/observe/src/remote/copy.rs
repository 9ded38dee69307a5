//! This program, sent to a host that has none.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

/// This program's own file, with its length and sum.
#[derive(Debug)]
pub(super) struct Copy {
    file: File,
    bytes: u64,
    sum: String,
}

impl Copy {
    /// The file that this process was started from, even if it was replaced since.
    ///
    /// # Errors
    /// If it can't be read.
    pub(super) fn of_this_program() -> Result<Self, String> {
        let read = || -> io::Result<Self> {
            let mut file = File::open(Path::new("/proc/self/exe"))?;
            let mut sum = Sha256::new();
            let mut piece = vec![0; 1 << 16];
            let mut bytes = 0;
            loop {
                let read = file.read(&mut piece)?;
                if read == 0 {
                    break;
                }
                sum.update(&piece[..read]);
                bytes += read as u64;
            }
            file.rewind()?;
            let sum = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(Self { file, bytes, sum })
        };
        read().map_err(|error| format!("reading this program's own file: {error}"))
    }

    /// What takes it in: a file that nobody else may read, has no name any more before the first byte is written, and is gone
    /// with the last process that has it open, however that ends. Nothing in here but two numbers is not the same for everybody.
    pub(super) fn command(&self) -> String {
        let Self { bytes, sum, .. } = self;
        // A file that is open for writing can't be run: it is opened again for reading.
        format!(
            "exec sh -c 'umask 077; f=$(mktemp) || exit 125; exec 3>\"$f\" 4<\"$f\" || exit 125; chmod 700 \"$f\"; rm -f \"$f\"; \
             head -c {bytes} >&3; exec 3>&-; \
             s=$(sha256sum </proc/self/fd/4) || exit 124; \
             case \"$s\" in {sum}*) exec /proc/self/fd/4 observe 4<&4 ;; *) echo \"the copy of slob arrived damaged\" >&2; exit 123 ;; esac'"
        )
    }

    /// Sends it.
    ///
    /// # Errors
    /// If it can't be read or nobody takes it.
    pub(super) fn send(&mut self, to: &mut impl Write) -> io::Result<()> {
        let sent = io::copy(&mut (&mut self.file).take(self.bytes), to)?;
        if sent == self.bytes { to.flush() } else { Err(io::Error::other("this program's file was cut")) }
    }
}

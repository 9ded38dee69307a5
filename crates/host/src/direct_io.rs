//! Whether a folder's file system takes direct I/O.

use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags};
use serde::{Deserialize, Serialize};

use crate::HostError;
use crate::buffer::AlignedBuffer;
use crate::scratch::{Caching, Scratch};

/// The answer of a file system to `O_DIRECT`.
///
/// `Supported` says that the calls work, not that a device is behind them: some file systems in memory accept
/// `O_DIRECT` and serve it from memory. [`Device::behind`](crate::Device::behind) tells what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "direct_io", rename_all = "snake_case")]
pub enum DirectIo {
    /// A block was written and read back.
    Supported {
        /// What addresses of buffers must be a multiple of.
        memory_alignment_bytes: u32,
        /// What offsets and lengths must be a multiple of.
        offset_alignment_bytes: u32,
        /// True if the kernel gave these alignments (statx, Linux 6.1 and later); else they are those of the trial,
        /// which work but need not be the smallest.
        told_by_kernel: bool,
    },
    /// The file system refuses it.
    Unsupported {
        /// The system's answer.
        reason: String,
    },
}

/// What nearly every device and file system is content with.
const TRIAL_BLOCK: usize = 4096;

/// Tries direct I/O in `dir`: creates a scratch file with `O_DIRECT`, writes a block, reads it back, and leaves
/// nothing behind.
///
/// # Errors
/// The folder is missing or not writable, or the block could be written but not read back. A plain refusal of
/// direct I/O is not an error but [`DirectIo::Unsupported`].
pub fn supports_direct_io(dir: &Path) -> Result<DirectIo, HostError> {
    let scratch = Scratch::create(dir)?;
    let file = match scratch.reopen(Caching::Direct) {
        Ok(file) => file,
        Err(HostError::DirectIoRefused { source, .. }) => {
            return Ok(DirectIo::Unsupported { reason: source.to_string() });
        }
        Err(other) => return Err(other),
    };
    let told = rustix::fs::statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        .ok()
        .filter(|stat| StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::DIOALIGN));
    if told.is_some_and(|stat| stat.stx_dio_offset_align == 0) {
        return Ok(DirectIo::Unsupported {
            reason: "the kernel reports that this file system has none".into(),
        });
    }
    let block = told.map_or(TRIAL_BLOCK, |stat| TRIAL_BLOCK.max(stat.stx_dio_offset_align as usize));
    if let Err(e) = write_and_read_back(&file, block, dir)? {
        return Ok(DirectIo::Unsupported { reason: e.to_string() });
    }
    let trial = block as u32;
    Ok(DirectIo::Supported {
        memory_alignment_bytes: told.map_or(trial, |stat| stat.stx_dio_mem_align),
        offset_alignment_bytes: told.map_or(trial, |stat| stat.stx_dio_offset_align),
        told_by_kernel: told.is_some(),
    })
}

/// The inner error is the refusal of an aligned block; the outer one is anything that must not be taken for it.
fn write_and_read_back(
    file: &std::fs::File,
    block: usize,
    dir: &Path,
) -> Result<std::io::Result<()>, HostError> {
    let mut buffer = AlignedBuffer::new(block);
    buffer.as_mut_slice().fill(0xa5);
    if let Err(e) = file.write_all_at(buffer.as_slice(), 0) {
        let refused = e.raw_os_error() == Some(libc::EINVAL);
        return if refused { Ok(Err(e)) } else { Err(HostError::io("write a scratch file in", dir)(e)) };
    }
    buffer.as_mut_slice().fill(0);
    file.read_exact_at(buffer.as_mut_slice(), 0).map_err(HostError::io("read a scratch file in", dir))?;
    if buffer.as_slice().iter().any(|byte| *byte != 0xa5) {
        return Err(HostError::unexpected(dir, "a block written with direct I/O reads back different"));
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_holds_for_a_file_opened_by_hand() {
        use std::os::unix::fs::OpenOptionsExt;
        let dir = tempfile::tempdir().unwrap();
        let answer = supports_direct_io(dir.path()).unwrap();
        assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "the scratch file is gone");
        let opened = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(libc::O_DIRECT)
            .open(dir.path().join("by-hand"));
        match answer {
            DirectIo::Supported { memory_alignment_bytes, offset_alignment_bytes, .. } => {
                assert!(opened.is_ok());
                assert!(memory_alignment_bytes.is_power_of_two() && offset_alignment_bytes.is_power_of_two());
            }
            DirectIo::Unsupported { .. } => assert!(opened.is_err()),
        }
    }

    #[test]
    fn proc_takes_no_files_at_all() {
        let error = supports_direct_io("/proc".as_ref()).unwrap_err();
        assert!(matches!(error, HostError::NotWritable { .. }), "{error}");
    }
}

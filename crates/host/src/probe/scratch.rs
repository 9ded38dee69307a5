//! The scratch file, and random data and offsets for it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use slob_stats::Shuffler;

use crate::HostError;

/// It has no name and disappears with its last descriptor, even after a kill.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: PathBuf,
    file: File,
}

impl Scratch {
    pub(super) fn create(dir: &Path) -> Result<Self, HostError> {
        let path = dir.to_path_buf();
        match fs::metadata(dir) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(HostError::NotAFolder { path }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(HostError::NoSuchPath { path }),
            Err(e) => return Err(HostError::io("open", dir)(e)),
        }
        match Self::open_anonymous(dir).or_else(|_| Self::open_and_unlink(dir)) {
            Ok(file) => Ok(Self { dir: path, file }),
            Err(source) => Err(HostError::NotWritable { path, source }),
        }
    }

    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        options
    }

    fn open_anonymous(dir: &Path) -> io::Result<File> {
        Self::options().custom_flags(libc::O_TMPFILE).open(dir)
    }

    /// Some file systems lack `O_TMPFILE`.
    fn open_and_unlink(dir: &Path) -> io::Result<File> {
        let mut attempt = 0_u32;
        loop {
            let path = dir.join(format!(".slob-scratch-{}-{attempt}", std::process::id()));
            match Self::options().create_new(true).open(&path) {
                Ok(file) => {
                    fs::remove_file(&path)?;
                    return Ok(file);
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
                Err(e) => return Err(e),
            }
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// An open file description of its own shares no locks and counters in the kernel. `/proc` must allow it.
    pub(super) fn reopen(&self, direct: bool) -> Result<File, HostError> {
        let flags = if direct { libc::O_DIRECT } else { 0 };
        let by_number = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(by_number);
        let opened = match opened {
            // Some file systems can't open an unlinked file again: all sessions then share one description.
            Err(e) if e.raw_os_error() != Some(libc::EINVAL) => self.share(direct),
            other => other,
        };
        opened.map_err(|source| {
            let path = self.dir.clone();
            match direct {
                true => HostError::DirectIoRefused { path, source },
                false => HostError::Io { action: "reopen the scratch file in", path, source },
            }
        })
    }

    fn share(&self, direct: bool) -> io::Result<File> {
        let file = self.file.try_clone()?;
        if direct {
            rustix::fs::fcntl_setfl(&file, OFlags::DIRECT)?;
        }
        Ok(file)
    }

    pub(super) fn cache(&self) -> Result<(), HostError> {
        let read = || io::copy(&mut &self.reopen(false).map_err(io::Error::other)?, &mut io::sink());
        read().map(drop).map_err(HostError::io("read the scratch file in", &self.dir))
    }

    pub(super) fn sync(&self) -> Result<(), HostError> {
        self.file.sync_all().map_err(HostError::io("sync the scratch file in", &self.dir))
    }
}

/// An offset costs nothing beside a read.
#[derive(Clone, Debug)]
pub(super) struct Random(Shuffler);

impl Random {
    /// Each session has a stream.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut of_stream = Shuffler::new(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        Self(Shuffler::new(of_stream.next_u64())) // neighbouring streams start far apart
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound as usize) as u64
    }

    /// The length is a multiple of 8. No storage can compress the data.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&self.0.next_u64().to_le_bytes());
        }
    }

    /// Each 512-byte sector changes, so that no storage can deduplicate it. New data would cost far more.
    pub(super) fn restamp(&mut self, bytes: &mut [u8]) {
        for sector in bytes.chunks_mut(512) {
            sector[..8].copy_from_slice(&self.0.next_u64().to_le_bytes());
        }
    }
}

/// It visits each block once and no two neighbours in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scatter {
    blocks: u64,
    stride: u64,
}

impl Scatter {
    pub(super) fn new(blocks: u64) -> Self {
        // Multiples of the golden ratio lie far apart; a stride without a common divisor visits every block.
        let mut stride = (blocks as f64 * 0.618_033_988_75) as u64;
        while stride > 1 && divisor(stride, blocks) > 1 {
            stride -= 1;
        }
        Self { blocks, stride: stride.max(1) }
    }

    pub(super) fn place(self, visited: u64) -> u64 {
        (u128::from(visited) * u128::from(self.stride) % u128::from(self.blocks)) as u64
    }
}

fn divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn is_empty(dir: &Path) -> bool {
        fs::read_dir(dir).unwrap().next().is_none()
    }

    #[test]
    fn neither_way_of_creating_leaves_a_name() {
        let dir = tempfile::tempdir().unwrap();
        for open in [Scratch::open_anonymous, Scratch::open_and_unlink] {
            let file = open(dir.path()).unwrap();
            assert!(is_empty(dir.path()));
            let scratch = Scratch { dir: dir.path().to_path_buf(), file };
            scratch.reopen(false).unwrap().write_all_at(b"abc", 5).unwrap();
            let mut back = [0; 3];
            scratch.share(false).unwrap().read_exact_at(&mut back, 5).unwrap();
            assert_eq!(&back, b"abc", "all descriptors are of one file");
            assert!(is_empty(dir.path()));
        }
    }

    #[test]
    fn a_bad_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = Scratch::create(&dir.path().join("missing")).unwrap_err();
        assert!(matches!(missing, HostError::NoSuchPath { .. }), "{missing}");
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let not_a_folder = Scratch::create(&file).unwrap_err();
        assert!(matches!(not_a_folder, HostError::NotAFolder { .. }), "{not_a_folder}");
        let read_only = Scratch::create("/proc".as_ref()).unwrap_err();
        assert!(matches!(read_only, HostError::NotWritable { .. }), "{read_only}");
    }

    #[test]
    fn offsets_are_uniform() {
        const BINS: u64 = 100;
        let mut random = Random::new(1, 0);
        let mut counts = [0.0_f64; BINS as usize];
        for _ in 0..100_000 {
            counts[random.below(BINS) as usize] += 1.0;
        }
        // Pearson's chi-square with 99 degrees of freedom is below 148.2 in 99.9 % of all cases; the seed is fixed.
        let chi_square: f64 = counts.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 148.2, "{chi_square}");
    }

    proptest::proptest! {
        #[test]
        fn offsets_stay_within_the_file(seed: u64, stream: u64, bound in 1_u64..) {
            let mut random = Random::new(seed, stream);
            proptest::prop_assert!((0..100).all(|_| random.below(bound) < bound));
        }
    }

    #[test]
    fn streams_and_stamps_differ() {
        let mut first = Random::new(1, 0);
        let mut second = Random::new(1, 1);
        assert_ne!(first.0.next_u64(), second.0.next_u64());
        let mut block = vec![0; 8192];
        first.fill(&mut block);
        let before = block.clone();
        first.restamp(&mut block);
        assert!(before.chunks(512).zip(block.chunks(512)).all(|(a, b)| a[..8] != b[..8] && a[8..] == b[8..]));
    }
}

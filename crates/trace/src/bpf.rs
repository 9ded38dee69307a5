//! The system call bpf(2): maps, programs, and raw tracepoints. Everything ends with its file descriptor.

use std::ffi::CString;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const MAP_CREATE: u32 = 0;
const MAP_UPDATE: u32 = 2;
const MAP_LOOKUP: u32 = 1;
const MAP_NEXT_KEY: u32 = 4;
const PROG_LOAD: u32 = 5;
const RAW_TRACEPOINT_OPEN: u32 = 17;

const HASH: u32 = 1;
const ARRAY: u32 = 2;
const RAW_TRACEPOINT_PROGRAM: u32 = 17;
const MMAPABLE: u32 = 1 << 10;

/// The kernel accepts trailing zeros after `union bpf_attr`.
const ATTRIBUTES: usize = 128;

/// Fields have the order of `union bpf_attr`.
#[derive(Default)]
struct Attributes(Vec<u8>);

impl Attributes {
    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    /// Addresses are aligned to eight bytes.
    fn address<T>(mut self, of: *const T) -> Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend((of as u64).to_ne_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn call(mut self, command: u32) -> io::Result<i32> {
        self.0.resize(ATTRIBUTES, 0);
        // SAFETY: the buffer holds `ATTRIBUTES` bytes, and what its addresses point to outlives the call.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), ATTRIBUTES) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    fn open(self, command: u32) -> io::Result<OwnedFd> {
        let fd = self.call(command)?;
        // SAFETY: these commands return a descriptor of ours.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// Keys have `K` bytes, values `V`.
#[derive(Debug)]
pub(crate) struct Hash<const K: usize, const V: usize>(OwnedFd);

impl<const K: usize, const V: usize> Hash<K, V> {
    pub(crate) fn new(entries: u32) -> io::Result<Self> {
        let attributes = Attributes::default().u32(HASH).u32(K as u32).u32(V as u32).u32(entries);
        attributes.open(MAP_CREATE).map(Self)
    }

    pub(crate) fn set(&self, key: [u8; K], value: [u8; V]) -> io::Result<()> {
        let attributes = Attributes::default().u32(self.0.as_raw_fd() as u32);
        attributes.address(key.as_ptr()).address(value.as_ptr()).u64(0).call(MAP_UPDATE).map(drop)
    }

    /// Entries that come or go meanwhile may be missing.
    pub(crate) fn entries(&self) -> io::Result<Vec<([u8; K], [u8; V])>> {
        let fd = self.0.as_raw_fd() as u32;
        let (mut entries, mut last): (Vec<_>, Option<[u8; K]>) = (Vec::new(), None);
        loop {
            let mut key = [0; K];
            let from = last.as_ref().map_or(std::ptr::null(), |last| last.as_ptr());
            match Attributes::default().u32(fd).address(from).address(key.as_mut_ptr()).call(MAP_NEXT_KEY) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entries),
                Err(error) => return Err(error),
            }
            let mut value = [0; V];
            let found = Attributes::default().u32(fd).address(key.as_ptr()).address(value.as_mut_ptr());
            if found.call(MAP_LOOKUP).is_ok() {
                entries.push((key, value));
            }
            last = Some(key);
        }
    }
}

impl<const K: usize, const V: usize> AsFd for Hash<K, V> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The kernel and this process share one value of an array.
#[derive(Debug)]
pub(crate) struct Counters {
    fd: OwnedFd,
    address: NonNull<libc::c_void>,
    count: usize,
}

// SAFETY: the memory is mapped until the drop, and read by atomic loads only.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let bytes = count * size_of::<u64>();
        let attributes = Attributes::default().u32(ARRAY).u32(4).u32(bytes as u32).u32(1).u32(MMAPABLE);
        let fd = attributes.open(MAP_CREATE)?;
        // SAFETY: a new mapping; the kernel checks descriptor and size.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(address).filter(|_| address != libc::MAP_FAILED) {
            Some(address) => Ok(Self { fd, address, count }),
            None => Err(io::Error::last_os_error()),
        }
    }

    fn slots(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `count` aligned values of eight bytes until the drop.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr().cast(), self.count) }
    }

    pub(crate) fn set(&self, index: usize, value: u64) {
        self.slots()[index].store(value, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Vec<u64> {
        self.slots().iter().map(|slot| slot.load(Ordering::Relaxed)).collect()
    }
}

impl AsFd for Counters {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, whose slices cannot outlive `self`.
        unsafe { libc::munmap(self.address.as_ptr(), self.count * size_of::<u64>()) };
    }
}

/// It is detached on drop, or at the end of the process.
#[derive(Debug)]
pub(crate) struct Attached {
    _program: OwnedFd,
    _link: OwnedFd,
}

/// The error may hold the end of the verifier's log.
pub(crate) fn attach(tracepoint: &str, instructions: &[u8]) -> io::Result<Attached> {
    let program = load(instructions, &mut []).or_else(|refusal| match refusal.raw_os_error() {
        // Only a refused program is worth a second attempt, with the log.
        Some(libc::EINVAL | libc::EACCES | libc::E2BIG) => {
            let mut log = vec![0; 1 << 20];
            load(instructions, &mut log).map_err(|error| with_log(&error, &log))
        }
        _ => Err(refusal),
    })?;
    let name = CString::new(tracepoint)?;
    let attributes = Attributes::default().address(name.as_ptr()).u32(program.as_raw_fd() as u32);
    let link = attributes.open(RAW_TRACEPOINT_OPEN)?;
    Ok(Attached { _program: program, _link: link })
}

fn load(instructions: &[u8], log: &mut [u8]) -> io::Result<OwnedFd> {
    let count = (instructions.len() / 8) as u32;
    let attributes = Attributes::default()
        .u32(RAW_TRACEPOINT_PROGRAM)
        .u32(count)
        .address(instructions.as_ptr())
        // Reading the kernel's structures demands a licence compatible with the GPL.
        .address(c"Dual MIT/GPL".as_ptr());
    let (level, buffer) = if log.is_empty() { (0, std::ptr::null()) } else { (1, log.as_ptr()) };
    attributes.u32(level).u32(log.len() as u32).address(buffer).open(PROG_LOAD)
}

fn with_log(error: &io::Error, log: &[u8]) -> io::Error {
    let log = String::from_utf8_lossy(log.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
    let lines: Vec<&str> = log.lines().collect();
    let end = lines[lines.len().saturating_sub(8)..].join("; ");
    io::Error::new(error.kind(), format!("{error}: {end}"))
}

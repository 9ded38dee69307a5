//! Ends connections of this process from outside of their libraries, which needs `unsafe`.

use std::fs;
use std::mem;
use std::os::fd::RawFd;

/// Calls that wait for a peer then fail. Unnamed pairs of sockets, by which threads wake each other, stay open.
pub fn end_connections() {
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let is_socket = |entry: &fs::DirEntry| {
        fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    };
    for entry in descriptors.filter(is_socket) {
        if let Some(descriptor) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            end_connection(descriptor);
        }
    }
}

#[allow(unsafe_code)]
fn end_connection(descriptor: RawFd) {
    // SAFETY: all zeros are a valid address without a family.
    let mut address: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut length = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address has room for `length` bytes. A descriptor that was closed meanwhile is an error.
    let named = unsafe { libc::getpeername(descriptor, (&raw mut address).cast(), &raw mut length) } == 0;
    let is_pair = i32::from(address.ss_family) == libc::AF_UNIX
        && length as usize <= mem::size_of::<libc::sa_family_t>();
    if named && is_pair {
        return;
    }
    // SAFETY: it takes no memory. Another file of that number is no socket, or a connection that has to end too.
    unsafe { libc::shutdown(descriptor, libc::SHUT_RDWR) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::thread;

    /// The call ends connections of the whole process, so one test holds all cases.
    #[test]
    fn a_call_that_waits_for_a_peer_returns_and_pairs_stay_open() {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut network = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let path = folder.path().join("socket");
        let _named = UnixListener::bind(&path).unwrap();
        let mut local = UnixStream::connect(&path).unwrap();
        let (pair, _other) = UnixStream::pair().unwrap();
        let descriptors = [network.as_raw_fd(), local.as_raw_fd()];
        let waiting = [
            thread::spawn(move || network.read(&mut [0]).map_err(|error| error.kind())),
            thread::spawn(move || local.read(&mut [0]).map_err(|error| error.kind())),
        ];
        descriptors.into_iter().for_each(end_connection);
        end_connection(pair.as_raw_fd());
        assert_eq!(waiting.map(|thread| thread.join().unwrap()), [Ok(0), Ok(0)]);
        pair.set_nonblocking(true).unwrap();
        let kind = (&pair).read(&mut [0]).unwrap_err().kind();
        assert_eq!(kind, std::io::ErrorKind::WouldBlock, "the pair is open");
    }
}

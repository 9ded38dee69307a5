//! A wire between the program and a server that can be made slow, be cut, or go silent.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use slob_testing::tries::{ensure, until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Passes everything on, after that long.
    Delay(Duration),
    /// Closes every connection, also new ones.
    Cut,
    /// Acknowledges everything and passes nothing on: to the kernel of either side the other one is alive.
    Silent,
}

/// Its threads end with the test's process.
pub(crate) struct Wire {
    port: u16,
    state: Arc<State>,
}

struct State {
    weather: Mutex<Weather>,
    changed: Condvar,
    carried: AtomicU64,
}

impl State {
    /// `None` if the connection is to end.
    fn delay(&self) -> Option<Duration> {
        let mut weather = self.weather.lock().unwrap();
        loop {
            match *weather {
                Weather::Delay(delay) => return Some(delay),
                Weather::Cut => return None,
                Weather::Silent => weather = self.changed.wait(weather).unwrap(),
            }
        }
    }
}

impl Wire {
    /// From an address of this machine to a server's port.
    pub(crate) fn lay(from: IpAddr, to: u16) -> Self {
        let listener = TcpListener::bind((from, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            weather: Mutex::new(Weather::Delay(Duration::ZERO)),
            changed: Condvar::new(),
            carried: AtomicU64::new(0),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().map(Result::unwrap) {
                if shared.delay().is_some() {
                    let far = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, to))).unwrap();
                    carry(&near, &far, &shared);
                    carry(&far, &near, &shared);
                }
            }
        });
        Self { port, state }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn has_carried(&self, bytes: u64) {
        let carried = || self.state.carried.load(Ordering::Relaxed);
        until(|| ensure(carried() >= bytes, || format!("{} of {bytes} bytes were carried", carried())));
    }

    pub(crate) fn set(&self, weather: Weather) {
        *self.state.weather.lock().unwrap() = weather;
        self.state.changed.notify_all();
    }
}

/// Until one of both ends closes.
fn carry(from: &TcpStream, to: &TcpStream, state: &Arc<State>) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    let state = Arc::clone(state);
    from.set_nodelay(true).unwrap();
    from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        loop {
            let read = from.read(&mut bytes);
            let Some(delay) = state.delay() else { break };
            match read {
                Ok(0) => break,
                Ok(count) => {
                    thread::sleep(delay);
                    if state.delay().is_none() || to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                    state.carried.fetch_add(count as u64, Ordering::Relaxed);
                }
                // Nothing came: time to look at the weather.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}

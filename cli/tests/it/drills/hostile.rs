//! Hostile or sick servers: they send a byte a second, rows without end, or announce more than any memory holds.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;
use rustix::process::Signal;
use slob_testing::evidence::shows;
use slob_testing::tries::{ensure, shown_within};

use crate::common::{Folder, ended, signal};

/// On one connection.
type Peer = fn(&mut TcpStream) -> std::io::Result<()>;

/// A port of loopback at which each connection meets the peer, and the word that one has.
fn listen(peer: Peer) -> (u16, Receiver<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (met, has_met) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = met.send(());
            // A client that has left is an error.
            thread::spawn(move || drop(peer(&mut stream)));
        }
    });
    (port, has_met)
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind][..], &length, body].concat()
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [first, second, third, _] = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&[first, second, third, number][..], body].concat()
}

fn a_byte_a_second(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes.iter().cycle() {
        stream.write_all(&[*byte])?;
        thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

fn endless(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let many = bytes.repeat(1 + (1 << 20) / bytes.len());
    loop {
        stream.write_all(&many)?;
    }
}

/// Without encryption.
fn postgres_start(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 4096];
    if stream.read(&mut bytes)? == 8 {
        stream.write_all(b"N")?;
        stream.read(&mut bytes).map(drop)?;
    }
    Ok(())
}

fn postgres_login(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_start(stream)?;
    stream.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat())?;
    stream.read(&mut [0; 4096]).map(drop)
}

fn postgres_byte_a_second(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_login(stream)?;
    a_byte_a_second(stream, &message(b'N', &[0; 200]))
}

fn postgres_small_messages(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_login(stream)?;
    a_byte_a_second(stream, &message(b'N', &[0]))
}

fn postgres_endless_rows(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_login(stream)?;
    let column = [&b"a\0"[..], &[0; 6], &25_u32.to_be_bytes(), &[0, 0, 0, 0, 0, 0, 0, 0]].concat();
    stream.write_all(&message(b'T', &[&[0, 1][..], &column].concat()))?;
    endless(stream, &message(b'D', &[&[0, 1, 0, 0, 0, 5][..], b"hello"].concat()))
}

fn postgres_endless_parameters(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_start(stream)?;
    stream.write_all(&message(b'R', &[0; 4]))?;
    endless(stream, &message(b'S', b"name\0value\0"))
}

fn postgres_long_message(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_start(stream)?;
    stream.write_all(&[&[b'E'][..], &0x7fff_ffff_u32.to_be_bytes()].concat())?;
    endless(stream, &[b'x'; 1024])
}

fn postgres_silence(stream: &mut TcpStream) -> std::io::Result<()> {
    postgres_start(stream)?;
    thread::sleep(Duration::from_secs(600));
    Ok(())
}

/// The first packet of a server of MySQL, of version 10 of its protocol.
fn mysql_greeting() -> Vec<u8> {
    let salt = [b'x'; 8];
    let mut body = [&[10][..], b"8.0.36\0", &[1, 0, 0, 0], &salt, &[0]].concat();
    // Capabilities with PLUGIN_AUTH and SECURE_CONNECTION, the letters, the state.
    body.extend([0xff, 0xf7, 45, 2, 0, 0xff, 0x81, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    body.extend([[b'x'; 12].as_slice(), b"\0mysql_native_password\0"].concat());
    packet(0, &body)
}

fn mysql_login(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(&mysql_greeting())?;
    stream.read(&mut [0; 4096]).map(drop)?;
    stream.write_all(&packet(2, &[0, 0, 0, 2, 0, 0, 0]))?;
    stream.read(&mut [0; 4096]).map(drop)
}

fn mysql_byte_a_second(stream: &mut TcpStream) -> std::io::Result<()> {
    mysql_login(stream)?;
    a_byte_a_second(stream, &packet(1, &[b'x'; 2000]))
}

fn mysql_endless_rows(stream: &mut TcpStream) -> std::io::Result<()> {
    mysql_login(stream)?;
    let name = |name: &str| [&[name.len() as u8][..], name.as_bytes()].concat();
    let names = ["def", "", "", "", "a", ""].map(name).concat();
    let column = [&names[..], &[12, 45, 0, 255, 0, 0, 0, 253, 0, 0, 0, 0, 0]].concat();
    stream.write_all(&[packet(1, &[1]), packet(2, &column), packet(3, &[0xfe, 0, 0, 2, 0])].concat())?;
    let rows: Vec<u8> = (4..=255).chain(0..4).flat_map(|number| packet(number, b"\x05hello")).collect();
    endless(stream, &rows)
}

fn mysql_endless_packet(stream: &mut TcpStream) -> std::io::Result<()> {
    for number in 0_u8.. {
        stream.write_all(&[255, 255, 255, number])?;
        stream.write_all(&vec![b'x'; 0xff_ffff])?;
    }
    Ok(())
}

fn mysql_slow_greeting(stream: &mut TcpStream) -> std::io::Result<()> {
    a_byte_a_second(stream, &packet(0, &[10; 2000]))
}

/// MiB of a process that is still there.
fn peak_mib(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? >> 10)
}

/// Ends the command by one SIGTERM; returns its time to end and its largest memory.
fn ends(scheme: &str, peer: Peer, command: &str) -> (Duration, u64) {
    const MEETING: Duration = Duration::from_secs(2);
    let query = if scheme == "mysql" { "?defaults-file=/dev/null" } else { "db" };
    let folder = Folder::new();
    let (port, has_met) = listen(peer);
    let target = format!("{scheme}://user@127.0.0.1:{port}/{query}");
    let mut child = folder.start(command.replace("TARGET", &target));
    has_met.recv_timeout(Duration::from_secs(60)).expect("the program meets the peer");
    let (met, mut peak) = (Instant::now(), 0);
    let mut look = |child: &mut Child| {
        peak = peak.max(peak_mib(child).unwrap_or(0));
        thread::sleep(Duration::from_millis(20));
        child.try_wait().unwrap().is_none()
    };
    while met.elapsed() < MEETING && look(&mut child) {}
    let begun = Instant::now();
    if child.try_wait().unwrap().is_none() {
        signal(&child, Signal::TERM);
    }
    while look(&mut child) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{command}: alive a minute after SIGTERM");
    }
    let took = begun.elapsed();
    ended(child);
    (took, peak)
}

/// Five seconds, and what a busy machine may take: see docs/evidence.md.
const MOST: Duration = Duration::from_secs(15);
/// Memory of the program, and 64 MiB of a server's answer.
const MOST_MIB: u64 = 64 + 200;

#[rstest]
#[case::postgres_a_byte_a_second_after_the_login("postgres", postgres_byte_a_second)]
#[case::postgres_small_messages_a_byte_a_second("postgres", postgres_small_messages)]
#[case::postgres_endless_rows("postgres", postgres_endless_rows)]
#[case::postgres_endless_parameters_before_the_login("postgres", postgres_endless_parameters)]
#[case::postgres_declares_two_gigabytes_before_the_login("postgres", postgres_long_message)]
#[case::postgres_silent_before_the_login("postgres", postgres_silence)]
#[case::mysql_a_byte_a_second_after_the_login("mysql", mysql_byte_a_second)]
#[case::mysql_a_byte_a_second_before_the_login("mysql", mysql_slow_greeting)]
#[case::mysql_endless_rows("mysql", mysql_endless_rows)]
#[case::mysql_endless_packet_before_the_login("mysql", mysql_endless_packet)]
fn one_sigterm_ends_any_command_whatever_a_peer_does(#[case] scheme: &str, #[case] peer: Peer) {
    let commands =
        ["run --plain --target TARGET --run-time 600", "verify --target TARGET", "setup --target TARGET 1"];
    let (mut slowest, mut largest) = (Duration::ZERO, 0);
    shown_within(3, || {
        let ending = commands.map(|command| {
            thread::spawn({
                let (scheme, peer) = (scheme.to_owned(), peer);
                move || (command, ends(&scheme, peer, command))
            })
        });
        for (command, (took, peak_mib)) in ending.map(|thread| thread.join().unwrap()) {
            assert!(peak_mib < MOST_MIB, "{command}: {peak_mib} MiB");
            (slowest, largest) = (slowest.max(took), largest.max(peak_mib));
            ensure(took < MOST, || format!("{command}: {took:?}, {peak_mib} MiB"))?;
        }
        Ok(())
    });
    shows(
        "one SIGTERM ends run, verify and setup at a hostile peer",
        format!("after {:.1} s, {largest} MiB at most", slowest.as_secs_f64()),
    );
}

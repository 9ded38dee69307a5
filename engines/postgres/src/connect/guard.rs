//! Limits what a server may send: the client library holds whole messages, and most answers, in memory.

use std::cell::Cell;
use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use postgres::Socket;
use postgres::config::SslMode;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::tls::Connect;

/// Parameters and authentication before the login are about a kilobyte.
const LOGIN_BYTES: u64 = 1 << 20;
/// Limits a message, and an answer in memory.
const ANSWER_BYTES: u64 = 64 << 20;
const MESSAGE_TIME: Duration = Duration::from_secs(30);
const SLOWEST: u64 = 10_000;

thread_local! {
    static ANSWER_LIMIT: Cell<u64> = const { Cell::new(ANSWER_BYTES) };
}

/// While it lives, answers to this thread may have any length, as their rows are visited one by one.
pub(crate) struct AnyLength(());

impl AnyLength {
    pub(crate) fn begin() -> Self {
        ANSWER_LIMIT.set(u64::MAX);
        Self(())
    }
}

impl Drop for AnyLength {
    fn drop(&mut self) {
        ANSWER_LIMIT.set(ANSWER_BYTES);
    }
}

struct Messages {
    is_logged_in: bool,
    header: [u8; 5],
    header_bytes: usize,
    left: u64,
    /// Latest end of the message.
    end: Option<Instant>,
    answer: u64,
}

impl Messages {
    const fn new() -> Self {
        Self { is_logged_in: false, header: [0; 5], header_bytes: 0, left: 0, end: None, answer: 0 }
    }

    fn take(&mut self, mut bytes: &[u8], now: Instant) -> io::Result<()> {
        self.answer += bytes.len() as u64;
        let (limit, state) = match self.is_logged_in {
            true => (ANSWER_LIMIT.get(), "in one answer"),
            false => (LOGIN_BYTES, "before the login"),
        };
        if self.answer > limit {
            return Err(refused(format!("the server sent more than {limit} bytes {state}")));
        }
        while let [first, rest @ ..] = bytes {
            if self.left > 0 {
                let taken = self.left.min(bytes.len() as u64);
                self.left -= taken;
                bytes = &bytes[taken as usize..];
            } else {
                self.end.get_or_insert(now + MESSAGE_TIME);
                self.header[self.header_bytes] = *first;
                self.header_bytes += 1;
                bytes = rest;
                if self.header_bytes < self.header.len() {
                    continue;
                }
                self.begin(now)?;
            }
            if self.left == 0 {
                (self.header_bytes, self.end) = (0, None);
            }
        }
        match self.end {
            Some(end) if now > end => Err(refused("a message of the server did not end in time".to_owned())),
            _ => Ok(()),
        }
    }

    /// A message's length counts itself.
    fn begin(&mut self, now: Instant) -> io::Result<()> {
        const READY_FOR_QUERY: u8 = b'Z';
        let [kind, length @ ..] = self.header;
        let length = u64::from(u32::from_be_bytes(length));
        let limit = if self.is_logged_in { ANSWER_BYTES } else { LOGIN_BYTES };
        self.left = length.checked_sub(4).filter(|left| *left <= limit).ok_or_else(|| {
            refused(format!(
                "the server announced a message of {length} bytes, which no PostgreSQL server sends here"
            ))
        })?;
        self.is_logged_in |= kind == READY_FOR_QUERY;
        self.header_bytes = 0;
        self.end = Some(now + MESSAGE_TIME + Duration::from_secs(self.left / SLOWEST));
        Ok(())
    }
}

fn refused(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

type Encrypted = <Connect as MakeTlsConnect<Socket>>::Stream;

enum Transport {
    Plain(Socket),
    Encrypted(Box<Encrypted>),
}

pub(super) struct Guarded {
    transport: Transport,
    messages: Messages,
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Transport::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        })?;
        Poll::Ready(self.messages.take(&buffer.filled()[before..], Instant::now()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.messages.is_logged_in {
            self.messages.answer = 0;
        }
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(context),
            Transport::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl TlsStream for Guarded {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.transport {
            Transport::Plain(_) => ChannelBinding::none(),
            Transport::Encrypted(stream) => stream.channel_binding(),
        }
    }
}

/// The library hands the socket over before anything is sent (`sslnegotiation` is `direct`), so encryption is requested here.
#[derive(Clone)]
pub(super) struct Guard(pub(super) Option<(SslMode, Connect)>);

impl MakeTlsConnect<Socket> for Guard {
    type Stream = Guarded;
    type TlsConnect = GuardedConnect;
    type Error = Box<dyn Error + Sync + Send>;

    fn make_tls_connect(&mut self, host: &str) -> Result<GuardedConnect, Self::Error> {
        let encrypted = self.0.as_mut().map(|(mode, connect)| Ok((*mode, connect.make_tls_connect(host)?)));
        Ok(GuardedConnect(
            encrypted
                .transpose()
                .map_err(|error: <Connect as MakeTlsConnect<Socket>>::Error| Self::Error::from(error))?,
        ))
    }
}

pub(super) struct GuardedConnect(Option<(SslMode, <Connect as MakeTlsConnect<Socket>>::TlsConnect)>);

impl TlsConnect<Socket> for GuardedConnect {
    type Stream = Guarded;
    type Error = Box<dyn Error + Sync + Send>;
    type Future = Pin<Box<dyn Future<Output = Result<Guarded, Self::Error>> + Send>>;

    fn connect(self, mut stream: Socket) -> Self::Future {
        /// Length 8, and the code of the protocol's documentation, 'SSLRequest'.
        const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
        let guarded = |transport| Guarded { transport, messages: Messages::new() };
        Box::pin(async move {
            let Some((mode, connect)) = self.0 else { return Ok(guarded(Transport::Plain(stream))) };
            stream.write_all(&SSL_REQUEST).await?;
            let mut answer = [0];
            stream.read_exact(&mut answer).await?;
            match (answer, mode) {
                ([b'S'], _) => {
                    let stream = connect.connect(stream).await?;
                    Ok(guarded(Transport::Encrypted(Box::new(stream))))
                }
                (_, SslMode::Prefer) => Ok(guarded(Transport::Plain(stream))),
                _ => Err("server does not support TLS".into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: usize) -> Vec<u8> {
        let length = u32::try_from(body + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, &vec![0; body]].concat()
    }

    fn take_all(messages: &mut Messages, bytes: &[u8], piece: usize) -> io::Result<()> {
        bytes.chunks(piece).try_for_each(|piece| messages.take(piece, Instant::now()))
    }

    #[test]
    fn an_honest_login_passes_in_pieces_of_any_length() {
        let all =
            [message(b'R', 4), message(b'S', 300), message(b'K', 8), message(b'Z', 1), message(b'D', 70_000)];
        for piece in [1, 2, 3, 5, 7, 4096, 1 << 20] {
            let mut messages = Messages::new();
            take_all(&mut messages, &all.concat(), piece).unwrap();
            assert!(messages.is_logged_in && messages.left == 0 && messages.end.is_none(), "{piece}");
        }
    }

    #[test]
    fn endless_parameters_before_the_login_are_refused() {
        let mut messages = Messages::new();
        let error = (0..100_000).find_map(|_| take_all(&mut messages, &message(b'S', 100), 4096).err());
        assert!(error.unwrap().to_string().contains("1048576 bytes before the login"));
    }

    #[test]
    fn a_declared_length_is_refused_before_the_message_comes() {
        for (length, is_logged_in) in [(1_u32 << 31, false), (2 << 20, false), (65 << 20, true), (3, true)] {
            let mut messages = Messages { is_logged_in, ..Messages::new() };
            let header = [&[b'D'][..], &length.to_be_bytes()].concat();
            assert!(take_all(&mut messages, &header, 5).is_err(), "{length}");
        }
    }

    #[test]
    fn a_byte_a_second_is_not_awaited_forever() {
        let (mut messages, begin) = (Messages { is_logged_in: true, ..Messages::new() }, Instant::now());
        let bytes = message(b'D', 1000);
        let mut seconds = (0..).zip(&bytes);
        let error = seconds.find_map(|(second, byte)| {
            Some((second, messages.take(&[*byte], begin + Duration::from_secs(second)).err()?))
        });
        assert!(matches!(error, Some((31..40, _))), "{error:?}");
    }

    #[test]
    fn endless_rows_are_refused_unless_they_are_visited_one_by_one() {
        let row = message(b'D', 1 << 20);
        let endless = || {
            let mut messages = Messages { is_logged_in: true, ..Messages::new() };
            (0..100).find_map(|_| take_all(&mut messages, &row, 1 << 16).err())
        };
        assert!(endless().unwrap().to_string().contains("in one answer"));
        let any_length = AnyLength::begin();
        assert!(endless().is_none());
        drop(any_length);
        assert!(endless().is_some());
    }
}

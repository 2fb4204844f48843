//! Dialling: name lookup, TCP with the options a mail session wants, and the TLS handshake.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mail::{Cx, Fault, FaultKind, Stage};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::settings::Settings;
use super::tls;

/// The next address is tried when one has not answered within this time (RFC 8305).
const STAGGER: Duration = Duration::from_millis(250);

/// Plain or encrypted bytes.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub(super) async fn connect(settings: &Settings, cx: &Cx) -> Result<TcpStream, Fault> {
    cx.enter(Stage::Connect);
    let fault = |kind| Fault::new(kind, Stage::Connect);
    let host = settings.host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((host, settings.port)).await;
    let addresses: Vec<SocketAddr> = match found {
        Ok(addresses) => addresses.collect(),
        Err(_) => return Err(fault(FaultKind::HostNotFound)),
    };
    if addresses.is_empty() {
        return Err(fault(FaultKind::HostNotFound));
    }
    cx.count_round_trip();
    let stream = first_to_answer(addresses).await.map_err(|error| {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionRefused => FaultKind::Refused,
            io::ErrorKind::TimedOut => FaultKind::TimedOut,
            _ => FaultKind::Unreachable,
        };
        Fault::saying(kind, Stage::Connect, error.to_string())
    })?;
    prepare(&stream);
    Ok(stream)
}

async fn first_to_answer(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut last = io::Error::from(io::ErrorKind::NotConnected);
    if let Some(address) = waiting.next() {
        attempts.spawn(TcpStream::connect(address));
    }
    while !attempts.is_empty() {
        match tokio::time::timeout(STAGGER, attempts.join_next()).await {
            Ok(Some(Ok(Ok(stream)))) => return Ok(stream),
            Ok(Some(Ok(Err(error)))) => last = error,
            Ok(Some(Err(_)) | None) | Err(_) => {}
        }
        if let Some(address) = waiting.next() {
            attempts.spawn(TcpStream::connect(address));
        }
    }
    Err(last)
}

/// One write is one packet, and a peer that vanished is noticed by the kernel within seconds.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let socket = socket2::SockRef::from(stream);
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5));
    let _ = socket.set_tcp_keepalive(&keepalive);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = socket.set_tcp_user_timeout(Some(Duration::from_secs(20)));
}

pub(super) async fn encrypt(
    settings: &Settings,
    cx: &Cx,
    stream: TcpStream,
) -> Result<Stream, Fault> {
    cx.enter(Stage::Tls);
    let fault = |kind, said: String| Fault::saying(kind, Stage::Tls, said);
    let roots = settings.roots.clone();
    let config = tokio::task::spawn_blocking(move || roots.config()).await;
    let config = config
        .map_err(|_| fault(FaultKind::TlsFailed, String::new()))?
        .map_err(|error| fault(tls::kind_of(&error), error.to_string()))?;
    let host = settings
        .host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let name = ServerName::try_from(host)
        .map_err(|error| fault(FaultKind::TlsFailed, error.to_string()))?;
    cx.count_round_trip();
    let handshake = TlsConnector::from(Arc::clone(&config)).connect(name, stream);
    match handshake.await {
        Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
        Err(error) => {
            let inner = error
                .get_ref()
                .and_then(|e| e.downcast_ref::<rustls::Error>());
            let kind = match inner {
                Some(inner) => tls::kind_of(inner),
                None if ended(error.kind()) => FaultKind::Lost,
                None => FaultKind::TlsFailed,
            };
            Err(fault(kind, error.to_string()))
        }
    }
}

/// The other side went away, which says nothing about how it was spoken to.
fn ended(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    )
}

/// What the system has for us that was not read yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pending {
    Nothing,
    Octets,
    /// Nothing will ever come: the other side has left.
    End,
}

impl Stream {
    /// Asks the system and not the runtime, which may not have looked yet. Never waits.
    pub(super) fn pending(&self) -> Pending {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        let mut octet = [MaybeUninit::uninit()];
        match socket2::SockRef::from(stream).peek(&mut octet) {
            Ok(0) => Pending::End,
            Ok(_) => Pending::Octets,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Pending::Nothing,
            Err(_) => Pending::End,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

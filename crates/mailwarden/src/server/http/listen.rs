//! Connections: how many, how long, how slow. It knows nothing of what is said over them.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::doors::{Bounds, Door, Doors, Standing};
use super::gate::Gate;
use super::settings::{Front, Settings};
use super::steady::{Link, Steady};
use super::tls::Tls;
use crate::watched::Unserved;

const BOUNDS: Bounds = Bounds {
    in_all: 2_048,
    unproven: 512,
    from_one: 1_024,
};
/// So long a client may take for the head of a request, or be idle. Longer than balancers keep a connection, so that
/// they give it up and not we.
const HEAD: Duration = Duration::from_secs(75);
/// And so long until it has proven who it is.
const UNPROVEN: Duration = Duration::from_secs(10);
/// So long nothing of an answer may be taken.
const UNREAD: Duration = Duration::from_secs(30);
/// Bytes of a head, and its lines.
const HEAD_BYTES: usize = 32 << 10;
const HEADERS: usize = 64;
/// What a client still sends after it was refused is read for so long, so that it gets to read why.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 256 << 10;

pub(super) struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    doors: Arc<Doors>,
    tls: Option<Arc<Tls>>,
}

/// So many may have come that are not greeted yet, as far as the system allows. Whoever finds no room there tries again a second
/// later, and all clients of a team may come at once.
const UNGREETED: u32 = 4_096;

fn bound(wanted: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match wanted {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As `TcpListener::bind` does: connections of a process before this one may linger.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(wanted)?;
    socket.listen(UNGREETED)
}

impl Listener {
    pub(super) async fn bind(settings: &Settings) -> anyhow::Result<Self> {
        let tls = settings.tls.clone().map(Tls::read).transpose()?;
        let wanted = SocketAddr::new(settings.host, settings.port);
        let tcp = bound(wanted).with_context(|| format!("cannot listen on {wanted}"))?;
        let address = tcp.local_addr()?;
        let from_one = match settings.front {
            Front::Clients => BOUNDS.from_one,
            Front::Proxy => usize::MAX,
        };
        Ok(Self {
            tcp,
            address,
            doors: Doors::new(Bounds { from_one, ..BOUNDS }),
            tls: tls.map(Arc::new),
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    /// Until `ending` is closed. Ends when no connection is left.
    pub(super) async fn serve(self, gate: Arc<Gate>, ending: watch::Receiver<()>) {
        let (held, all_gone) = watch::channel(());
        let mut over = ending.clone();
        loop {
            // INVARIANT: nothing here waits for a client.
            let accepted = tokio::select! {
                accepted = self.tcp.accept() => accepted,
                _ = over.changed() => break,
            };
            let Ok((stream, peer)) = accepted else {
                // Too many open files, or a connection that was gone at once: neither ends the service.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let local = stream.local_addr().unwrap_or(self.address);
            let Some(door) = self.doors.enter(peer, local) else {
                gate.turned_away(peer, Unserved::TooManyConnections);
                continue;
            };
            let _ = stream.set_nodelay(true);
            let conversation = Conversation {
                gate: Arc::clone(&gate),
                door,
                ending: ending.clone(),
            };
            let (tls, place) = (self.tls.clone(), all_gone.clone());
            tokio::spawn(async move {
                conversation.hold(stream, tls).await;
                drop(place);
            });
        }
        drop((self.tcp, all_gone));
        held.closed().await;
    }
}

struct Conversation {
    gate: Arc<Gate>,
    door: Arc<Door>,
    ending: watch::Receiver<()>,
}

impl Conversation {
    async fn hold(self, stream: TcpStream, tls: Option<Arc<Tls>>) {
        let (gate, door) = (Arc::clone(&self.gate), Arc::clone(&self.door));
        let turned_away = |why| gate.turned_away(door.peer, why);
        // Whoever has to make room hears nothing more.
        tokio::select! {
            () = door.hung_up() => turned_away(Unserved::TooManyConnections),
            () = self.talk(stream, tls) => {}
        }
    }

    async fn talk(self, stream: TcpStream, tls: Option<Arc<Tls>>) {
        let link: Box<dyn Link> = match tls {
            None => Box::new(stream),
            Some(tls) => {
                let shaking = tokio::time::timeout(UNPROVEN, tls.acceptor().accept(stream));
                match shaking.await {
                    Ok(Ok(stream)) => Box::new(stream),
                    _ => return self.gate.turned_away(self.door.peer, Unserved::Tls),
                }
            }
        };
        self.requests(Steady::new(link, UNREAD)).await;
    }

    /// Request after request.
    async fn requests(mut self, link: Steady) {
        let (gate, door) = (Arc::clone(&self.gate), Arc::clone(&self.door));
        let service = service_fn(move |request| {
            let (gate, door) = (Arc::clone(&gate), Arc::clone(&door));
            Box::pin(async move { Ok::<_, Infallible>(gate.answer(request, &door).await) })
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_header_size(HEAD_BYTES)
            .max_buf_size(2 * HEAD_BYTES)
            .max_headers(HEADERS)
            .half_close(false)
            .serve_connection(TokioIo::new(link), service);
        let late = tokio::time::sleep(UNPROVEN);
        tokio::pin!(late);
        let (mut watched, mut over, mut renewed) = (true, false, false);
        let ended = loop {
            tokio::select! {
                ended = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break ended,
                () = &mut late, if watched => match self.door.standing() {
                    Standing::Proven => watched = false,
                    // Whoever vouches for it may be slow, but is not waited for longer than this.
                    Standing::Asked if !renewed => {
                        renewed = true;
                        late.as_mut().reset(Instant::now() + UNPROVEN);
                    }
                    Standing::Asked | Standing::Nobody => {
                        return self.gate.turned_away(self.door.peer, Unserved::Unproven);
                    }
                },
                _ = self.ending.changed(), if !over => {
                    Pin::new(&mut connection).graceful_shutdown();
                    over = true;
                }
            }
        };
        match ended {
            Ok(()) => hang_up(connection.into_parts().io.into_inner()).await,
            Err(error) => {
                if let Some(why) = unserved(&error) {
                    self.gate.turned_away(self.door.peer, why);
                }
            }
        }
    }
}

/// What we ended a connection for; nothing, where its client did, or was idle.
fn unserved(error: &hyper::Error) -> Option<Unserved> {
    let inner = std::error::Error::source(error).and_then(|inner| inner.downcast_ref());
    let unread = |inner: &io::Error| inner.kind() == io::ErrorKind::TimedOut;
    match error.is_parse() {
        true => Some(Unserved::BadHead),
        false => inner.is_some_and(unread).then_some(Unserved::Unread),
    }
}

/// In order: says so, and hears out for a moment whoever is still speaking. Else what it was told would be lost.
async fn hang_up(mut link: Steady) {
    let hearing = async {
        if link.shutdown().await.is_err() {
            return;
        }
        let mut buffer = [0; 4 << 10];
        let mut heard = 0;
        while heard < LINGER_BYTES {
            match link.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(more) => heard += more,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, hearing).await;
}

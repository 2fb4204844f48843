//! Connections: how many, how long, how slow. It knows nothing of what is said over them.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::gate::Peer;
use super::settings::Settings;

/// Connections at a time.
const MOST: usize = 2_048;
/// So long a client may take for the head of a request, or be idle.
const HEAD: Duration = Duration::from_secs(30);
/// Bytes of a head.
const HEAD_BYTES: usize = 32 << 10;
const HEADERS: usize = 64;

pub(super) struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
}

impl Listener {
    pub(super) async fn bind(settings: &Settings) -> anyhow::Result<Self> {
        let wanted = SocketAddr::new(settings.host, settings.port);
        let tcp = TcpListener::bind(wanted)
            .await
            .with_context(|| format!("cannot listen on {wanted}"))?;
        let address = tcp.local_addr()?;
        Ok(Self { tcp, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Until `ending`; then calls under way get as long as `drain`.
    pub(super) async fn serve(
        self,
        router: Router,
        ending: impl Future<Output = anyhow::Result<()>>,
        drain: Duration,
    ) -> anyhow::Result<()> {
        let room = Arc::new(Semaphore::new(MOST));
        let (stop, stopping) = watch::channel(());
        let accepting = async {
            loop {
                let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                    return;
                };
                let Ok((stream, peer)) = self.tcp.accept().await else {
                    // Too many open files, or a connection that was gone at once: neither ends the service.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                };
                let _ = stream.set_nodelay(true);
                let (router, stopping) = (router.clone(), stopping.clone());
                tokio::spawn(async move {
                    converse(stream, peer, router, stopping).await;
                    drop(place);
                });
            }
        };
        let told = tokio::select! {
            told = ending => told,
            () = accepting => Ok(()),
        };
        drop(self.tcp);
        let _ = stop.send(());
        drop(stopping);
        let _ = tokio::time::timeout(drain, stop.closed()).await;
        told
    }
}

/// One connection, request after request.
async fn converse(
    stream: tokio::net::TcpStream,
    peer: SocketAddr,
    router: Router,
    mut stopping: watch::Receiver<()>,
) {
    let service = router.layer(axum::Extension(Peer(peer)));
    let mut rules = http1::Builder::new();
    rules
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .half_close(false);
    let connection =
        rules.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopping.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

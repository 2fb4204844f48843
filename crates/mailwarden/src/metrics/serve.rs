//! The operators' own address: `/metrics`, and health beside it. Whoever asks there, slowly or often, holds up nobody.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::Metrics;
use crate::config::{Problem, Problems, Said, Setting};
use crate::server::health;
use crate::watched::Watched;

const ADDRESS: Setting = Setting {
    option: "--metrics-addr",
    variable: "MAILWARDEN_METRICS_ADDR",
};
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Connections at a time; more are closed at once.
const MOST: usize = 16;
/// So long a head of a request may take, and so long the whole of it.
const HEAD: Duration = Duration::from_secs(3);
const WHOLE: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 8 << 10;

/// Where to listen; nowhere, unless somebody says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address(SocketAddr);

impl Address {
    /// What the command line says, else the environment.
    pub(crate) fn chosen(option: Option<&str>) -> Result<Option<Self>, Problems> {
        let set = || std::env::var_os(ADDRESS.variable).filter(|value| !value.is_empty());
        let text = option
            .map(str::to_owned)
            .or_else(|| set().map(|value| value.to_string_lossy().into_owned()));
        let Some(text) = text else { return Ok(None) };
        let address = Self::parse(&text).ok_or_else(|| {
            let what = "must be a port, which is this machine's alone, or an address and a port, such as 0.0.0.0:9464";
            let said = Said::of(option.as_ref());
            Problems(vec![Problem::setting(ADDRESS, said, what)])
        })?;
        Ok(Some(address))
    }

    /// A port alone is one of the loopback address.
    fn parse(text: &str) -> Option<Self> {
        let port = text.strip_prefix(':').unwrap_or(text).parse().ok();
        let here = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let address = port.map(here).or_else(|| text.parse().ok());
        address.map(Self)
    }
}

/// Listens until it is aborted. The address is told: a port 0 is another one by then.
pub(crate) async fn serve(
    address: Address,
    metrics: Arc<Metrics>,
    watched: Watched,
) -> anyhow::Result<JoinHandle<()>> {
    let listener = TcpListener::bind(address.0).await;
    let listener =
        listener.with_context(|| format!("metrics cannot be served on {}", address.0))?;
    crate::logs::notice(&format!(
        "metrics on http://{}/metrics",
        listener.local_addr()?
    ));
    let router = router(metrics, watched, Names::at(listener.local_addr()?));
    Ok(tokio::spawn(accept(listener, router)))
}

/// By what this address may be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Names {
    /// By numbers or as localhost. Whoever names it otherwise and reaches it is a browser that was led here by a forged name.
    OfThisMachine,
    /// Others know it by names that are not known here.
    Any,
}

impl Names {
    fn at(address: SocketAddr) -> Self {
        match address.ip().is_loopback() {
            true => Self::OfThisMachine,
            false => Self::Any,
        }
    }

    fn hold(self, host: &str) -> bool {
        let Ok(host) = host.parse::<Authority>() else {
            return false;
        };
        let name = host.host();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        self == Self::Any
            || name.eq_ignore_ascii_case("localhost")
            || bare.parse::<IpAddr>().is_ok()
    }
}

fn router(metrics: Arc<Metrics>, watched: Watched, names: Names) -> Router {
    let shown = get(show).with_state((metrics, watched.clone()));
    Router::new()
        .route("/metrics", shown)
        .merge(health::routes(watched))
        .layer(axum::middleware::from_fn_with_state(names, plain))
}

/// Pages in browsers have no business here.
async fn plain(State(names): State<Names>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let mut hosts = headers.get_all(HOST).iter();
    let named = hosts.all(|host| host.to_str().is_ok_and(|host| names.hold(host)));
    match named && !headers.contains_key(ORIGIN) {
        true => next.run(request).await,
        false => StatusCode::FORBIDDEN.into_response(),
    }
}

async fn show(State((metrics, watched)): State<(Arc<Metrics>, Watched)>) -> Response {
    match metrics.render(&watched).await {
        Ok(text) => {
            let kind = (CONTENT_TYPE, HeaderValue::from_static(TYPE));
            ([kind], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn accept(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a connection that was gone at once.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(WHOLE, answer(stream, router)).await;
            drop(place);
        });
    }
}

async fn answer(stream: TcpStream, router: Router) {
    let mut rules = http1::Builder::new();
    rules
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .half_close(false);
    let service = TowerToHyperService::new(router);
    let _ = rules.serve_connection(TokioIo::new(stream), service).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_alone_goes_by_no_name_of_others() {
        let [here, everywhere] =
            ["127.0.0.1:9464", "0.0.0.0:9464"].map(|address| Names::at(address.parse().unwrap()));
        for host in [
            "127.0.0.1:9464",
            "localhost:9464",
            "[::1]:9464",
            "LocalHost",
        ] {
            assert!(here.hold(host) && everywhere.hold(host), "{host}");
        }
        for host in ["rebound.example:9464", "127.0.0.1.example", "one:9464"] {
            assert!(!here.hold(host) && everywhere.hold(host), "{host}");
        }
        assert!(!here.hold("") && !everywhere.hold("a b"));
    }

    #[test]
    fn a_port_alone_is_this_machines() {
        for (text, expected) in [
            ("9464", Some("127.0.0.1:9464")),
            (":0", Some("127.0.0.1:0")),
            ("0.0.0.0:9464", Some("0.0.0.0:9464")),
            ("[::1]:1", Some("[::1]:1")),
            ("", None),
            ("70000", None),
            ("localhost", None),
            ("0.0.0.0", None),
        ] {
            let parsed = Address::parse(text).map(|address| address.0.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }
}

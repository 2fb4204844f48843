//! What every request passes before anything of it is read: where it is meant to go, where it comes from, whose it is.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::roster::Roster;
use super::settings::Settings;

#[derive(Clone)]
pub(super) struct Gate {
    roster: Arc<Roster>,
    /// Names that this server goes by.
    names: Arc<Vec<String>>,
}

impl Gate {
    pub(super) fn new(roster: Arc<Roster>, settings: &Settings, _: SocketAddr) -> Self {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "[::1]"]
            .map(str::to_owned)
            .into();
        names.push(match settings.host {
            std::net::IpAddr::V4(host) => host.to_string(),
            std::net::IpAddr::V6(host) => format!("[{host}]"),
        });
        Self {
            roster,
            names: Arc::new(names),
        }
    }

    /// INVARIANT: a page in a browser that has tricked it into coming here names another host.
    fn is_meant_here(&self, request: &Request) -> bool {
        let mut named = request.headers().get_all(HOST).iter();
        let (Some(one), None) = (named.next(), named.next()) else {
            return false;
        };
        let host = one
            .to_str()
            .ok()
            .and_then(|text| text.parse::<Authority>().ok());
        host.is_some_and(|host| {
            self.names
                .iter()
                .any(|name| name.eq_ignore_ascii_case(host.host()))
        })
    }
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub SocketAddr);

pub(super) async fn pass(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    if !gate.is_meant_here(&request) {
        return (
            StatusCode::FORBIDDEN,
            "this server does not go by that name\n",
        )
            .into_response();
    }
    if !is_of_no_page_but_ours(request.headers()) {
        return (
            StatusCode::FORBIDDEN,
            "pages of that origin are not served\n",
        )
            .into_response();
    }
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let address = peer.map_or_else(String::new, |peer| format!("http:{peer}"));
    let caller = bearer(request.headers()).and_then(|token| gate.roster.find(token, &address));
    let Some(caller) = caller else {
        let mut response = (
            StatusCode::UNAUTHORIZED,
            "bring a token: Authorization: Bearer ...\n",
        )
            .into_response();
        let challenge = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        return response;
    };
    // From here on nobody needs it.
    request.headers_mut().remove(AUTHORIZATION);
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// No page, or one that this very server could have sent: scheme apart, its origin is what Host says, which was looked at.
fn is_of_no_page_but_ours(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    headers.get_all(ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().ok();
        let authority = origin.and_then(|origin| {
            let https = origin.strip_prefix("https://");
            https.or_else(|| origin.strip_prefix("http://"))
        });
        matches!((authority, host), (Some(authority), Some(host)) if authority.eq_ignore_ascii_case(host))
    })
}

/// One token, or none: two headers are no proof.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut brought = headers.get_all(AUTHORIZATION).iter();
    let (Some(one), None) = (brought.next(), brought.next()) else {
        return None;
    };
    let (scheme, token) = one.to_str().ok()?.split_once(' ')?;
    let token = token.trim_start_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

//! The way of a request: whom it is meant for, where it comes from, whose it is, and only then what it says.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use gateway::{Again, Caller, Gateway, HELD_BACK, Pace};
use http_body_util::Full;
use hyper::body::Incoming;
use mail::Cx;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use serde_json::Value;
use tokio::sync::watch;

use super::Form;
use super::alone;
use super::answers::{self, Answer};
use super::body::{Room, Unread};
use super::doors::Door;
use super::metadata::{self, Ask};
use super::names::{self, Astray, Names};
use super::passed::{Moment, Passed, Refused};
use super::refusals::{Refusals, Why};
use super::roster::{Roster, Shown, Unproven};
use super::sessions::{Entered, Sessions};
use super::streams::{Listening, Streams};
use super::told::Told;
use crate::server::Answering;
use crate::server::health;
use crate::server::mcp::{Alone, Server};
use crate::watched::{Unserved, Watched};

const MCP: &str = "/mcp";
const MCP_WITH_SLASH: &str = "/mcp/";
pub(super) const SESSION: &str = "mcp-session-id";
/// What a request of the revision of 2026-07-28 asks for, without its body.
pub(super) const ASKS: &str = "mcp-method";
const LISTEN: &str = "subscriptions/listen";
/// And of which tool.
pub(super) const NAMES: &str = "mcp-name";
/// What is limited; all else passes, so that whoever may call nothing can still end what it began.
const CALLS: [&str; 3] = ["tools/call", "resources/read", "completion/complete"];
/// After this there may be room for a body again.
const NO_ROOM: Duration = Duration::from_secs(1);
/// An issuer that did not answer is not asked again before.
const ISSUER_AWAY: Duration = Duration::from_secs(30);
/// Timers know no longer times.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Everything that requests share.
pub(super) struct Gate {
    pub gateway: Arc<Gateway>,
    pub watched: Watched,
    pub names: Names,
    pub roster: Arc<Roster>,
    pub refusals: Refusals,
    pub sessions: Arc<Sessions>,
    /// Calls that need no more than an answer.
    pub calls: Server,
    pub mcp: StreamableHttpService<Answering, Sessions>,
    /// Where the client would rather have events.
    pub mcp_events: StreamableHttpService<Answering, Sessions>,
    /// The same two for requests outside of any session, where sessions are allowed.
    pub sessionless: StreamableHttpService<Answering, Sessions>,
    pub sessionless_events: StreamableHttpService<Answering, Sessions>,
    pub room: Room,
    pub streams: Arc<Streams>,
    /// Counts how often the configuration was read again.
    pub reloaded: watch::Receiver<u64>,
    /// Closed when this process ends.
    pub ending: watch::Receiver<()>,
}

impl Gate {
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        door: &Arc<Door>,
    ) -> axum::http::Response<Told> {
        let mut busy = door.begin();
        let looked = self
            .names
            .look(request.uri(), request.headers(), door.local);
        let (origin, answer) = match looked {
            // Balancers have no token, and go by addresses; they are told nothing that either would be needed for.
            _ if health::is_asked(request.uri().path()) => {
                (None, self.health(&request).await.into())
            }
            Ok(origin) => {
                let answer = self.route(request, door, origin.as_ref()).await;
                (origin, answer)
            }
            Err(astray) => {
                let (why, answer) = astray_answer(astray);
                let named = || names::shown(astray, request.headers());
                self.refusals.turned_away(door.peer.ip(), why, named);
                (None, answer.into())
            }
        };
        let Passed {
            answer,
            until,
            held,
            at,
        } = answer;
        if at == Moment::Later {
            // INVARIANT: who is held back takes nobody's room: of all who are known, its connection is the first to go. So there
            // are never more of them than connections, and all of them together are refused no more often than that in a second.
            let held_back = busy.hold_back();
            self.hold_back().await;
            busy = held_back.go_on();
        }
        let mut answer = answer.map(|body| {
            let told = Told::new(body, (busy, held));
            match until {
                Some(until) => told.until(until),
                None => told,
            }
        });
        if let Some(origin) = origin {
            answers::readable_by(origin, answer.headers_mut());
        }
        answer
    }

    /// Somebody is not served, and there is no more to say of it.
    pub(super) fn turned_away(&self, peer: SocketAddr, why: Unserved) {
        self.refusals.turned_away(peer.ip(), why, || None);
    }

    /// INVARIANT: paths are compared as they were written; what is spelled otherwise is another.
    /// The one exception is `/mcp/`, which some clients send for `/mcp`.
    async fn route(
        &self,
        request: Request<Incoming>,
        door: &Arc<Door>,
        page: Option<&HeaderValue>,
    ) -> Passed {
        match request.uri().path() {
            MCP | MCP_WITH_SLASH if page.is_some() && request.method() == Method::OPTIONS => {
                answers::preflight().into()
            }
            MCP | MCP_WITH_SLASH => {
                let passed = self.mcp(request, door).await;
                passed.unwrap_or_else(Passed::from)
            }
            metadata::BELOW | metadata::OF_MCP => {
                metadata::answer(request.method(), self.roster.vouched().as_deref()).into()
            }
            _ => {
                self.turned_away(door.peer, Unserved::Path);
                answers::not_found().into()
            }
        }
    }

    async fn health(&self, request: &Request<Incoming>) -> Answer {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return answers::method_not_allowed("GET, HEAD");
        }
        let (status, said) = health::of(request.uri().path(), &self.watched).await;
        answers::json(status, &said)
    }

    async fn mcp(
        &self,
        mut request: Request<Incoming>,
        door: &Arc<Door>,
    ) -> Result<Passed, Refused> {
        let method = request.method();
        if ![Method::POST, Method::GET, Method::DELETE].contains(method) {
            self.turned_away(door.peer, Unserved::Method);
            return Err(Refused::now(answers::method_not_allowed(
                "POST, GET, DELETE",
            )));
        }
        let Shown {
            caller,
            until: proven,
        } = self.shown(request.headers(), door).await?;
        door.proven();
        // From here on nobody needs it, and nothing may pass it on.
        request.headers_mut().remove(AUTHORIZATION);
        if request.headers().contains_key(ASKS) {
            let headers = request.headers();
            self.pace(&caller, || Called::by_head(headers)).await?;
        }
        let turned_away = |why| {
            move |refused| {
                self.turned_away(door.peer, why);
                refused
            }
        };
        let session = self.session(request.headers(), &caller);
        let session = session.map_err(turned_away(Unserved::Session))?;
        let stream = self.stream(&request, &caller);
        let stream = stream.map_err(turned_away(Unserved::TooManyStreams))?;
        let until = stream
            .is_some()
            .then(|| self.as_long_as_known(&caller, proven));
        let form = match wants_events(request.headers()) {
            true => Form::Events,
            false => Form::Json,
        };
        let (mut parts, body) = request.into_parts();
        let read = self.room.read(&caller, &parts.headers, body).await;
        let read = read.map_err(|unread| {
            self.turned_away(door.peer, unread.into());
            Refused::now(match unread {
                Unread::NoRoom => answers::busy(NO_ROOM),
                Unread::TooLarge => answers::refusal(StatusCode::PAYLOAD_TOO_LARGE, ""),
                Unread::Slow => answers::refusal(StatusCode::REQUEST_TIMEOUT, ""),
                Unread::Broken => answers::refusal(StatusCode::BAD_REQUEST, ""),
            })
        })?;
        // INVARIANT: the body decides: no component has compared the head with it yet, and in
        // older revisions none does.
        self.pace(&caller, || Called::by_body(&read.bytes)).await?;
        let sent = Sent::of(&parts.headers);
        let accepts = both_accepted(&mut parts.headers);
        if parts.method == Method::POST
            && form == Form::Json
            && accepts == Accepts::Ours
            && let Some(call) = alone::read(&parts.headers, &read.bytes)
        {
            return Ok(Passed {
                answer: self.answer_alone(&caller, call).await,
                until: None,
                held: Some(Box::new((session, stream, read.room))),
                at: Moment::Now,
            });
        }
        let service = match (form, self.is_without_session(&parts, &read.bytes)) {
            (Form::Events, false) => &self.mcp_events,
            (Form::Json, false) => &self.mcp,
            (Form::Events, true) => &self.sessionless_events,
            (Form::Json, true) => &self.sessionless,
        };
        parts.extensions.insert(caller.clone());
        let request = Request::from_parts(parts, Full::new(read.bytes));
        let answer = self.sessions.of(&caller, service.handle(request)).await;
        Ok(Passed {
            answer: tidied(answer, sent),
            until: until.map(|until| Box::pin(until) as _),
            held: Some(Box::new((session, stream, read.room))),
            at: Moment::Now,
        })
    }

    /// Whether a client that could have a session asks without one: it is served as where there are none.
    fn is_without_session(&self, parts: &Parts, body: &[u8]) -> bool {
        self.sessions.are_allowed()
            && parts.method == Method::POST
            && !parts.headers.contains_key(SESSION)
            && !is_initialize(body)
    }

    /// Who stumbles stumbles alone: the connection goes on.
    async fn answer_alone(&self, caller: &Caller, call: Alone) -> Answer {
        let mut call = pin!(self.calls.call_alone(caller, call));
        let told = poll_fn(|cx| {
            let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
            match polled {
                Ok(polled) => polled.map(Some),
                Err(_) => Poll::Ready(None),
            }
        });
        match told.await {
            Some(told) => answers::message(&told),
            None => answers::fell(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// INVARIANT: nothing of a request but its head is read before this.
    async fn shown(&self, headers: &HeaderMap, door: &Door) -> Result<Shown, Refused> {
        let token = bearer(headers);
        let found = match token {
            None => Err(Unproven::Nobody(Why::NoToken)),
            Some(token) => {
                self.roster
                    .find(token, &format!("http:{}", door.peer))
                    .await
            }
        };
        let unproven = match found {
            Ok(shown) => return Ok(shown),
            Err(unproven) => unproven,
        };
        let (why, ask) = match &unproven {
            // INVARIANT: whose token may be good is not told to throw it away.
            Unproven::Unknown => {
                self.refusals.record(door.peer.ip(), Why::IssuerAway).await;
                return Err(Refused::now(answers::busy(ISSUER_AWAY)));
            }
            Unproven::Nobody(Why::NoToken) => (Why::NoToken, Ask::NoToken),
            Unproven::Nobody(why) => (*why, Ask::InvalidToken),
            Unproven::Short(scopes) => (Why::Scope, Ask::Scopes(scopes)),
        };
        // INVARIANT: the record is durable before the answer leaves.
        self.refusals.record(door.peer.ip(), why).await;
        let vouched = self.roster.vouched();
        Err(Refused::now(metadata::challenge(vouched.as_deref(), ask)))
    }

    /// The one place where a caller is told to come back later before its call is made. What is called is looked for only
    /// where it matters.
    async fn pace(
        &self,
        caller: &Caller,
        called: impl FnOnce() -> Option<Called>,
    ) -> Result<(), Refused> {
        if self.gateway.pace_of(caller) == Pace::Open {
            return Ok(());
        }
        let Some(Called { tool, id }) = called() else {
            return Ok(());
        };
        if let Some(wait) = self.gateway.turn_away_at_once(caller, &tool) {
            return Err(Refused::later(answers::crowded(&id, wait)));
        }
        let refusing = Cx::new();
        let refused = self.gateway.refuse_known_excess(caller, &refusing, &tool);
        match refused.await {
            Some(refused) => {
                let answer = answers::excess(&id, &refused);
                Err(match refused.again {
                    Again::First => Refused::now(answer),
                    Again::OneOfMany => Refused::later(answer),
                })
            }
            None => Ok(()),
        }
    }

    /// Whoever is refused again and again is answered a second later. So a connection asks once a second at most, and one who
    /// asks without end costs others little.
    async fn hold_back(&self) {
        let mut ending = self.ending.clone();
        tokio::select! {
            () = tokio::time::sleep(HELD_BACK) => {}
            _ = ending.changed() => {}
        }
    }

    fn session(&self, headers: &HeaderMap, caller: &Caller) -> Result<Option<Entered>, Refused> {
        let Some(named) = headers.get(SESSION).filter(|_| self.sessions.are_allowed()) else {
            return Ok(None);
        };
        let entered = named
            .to_str()
            .ok()
            .and_then(|id| self.sessions.enter(id, caller));
        let none = || answers::refusal(StatusCode::NOT_FOUND, "there is no such session\n");
        entered.map(Some).ok_or_else(|| Refused::now(none()))
    }

    /// A place for who wants to listen.
    fn stream(
        &self,
        request: &Request<Incoming>,
        caller: &Caller,
    ) -> Result<Option<Listening>, Refused> {
        let asks = request.headers().get(ASKS);
        if request.method() != Method::GET && asks.is_none_or(|asks| asks != LISTEN) {
            return Ok(None);
        }
        let full = || answers::busy(Duration::from_secs(30));
        let place = self.streams.begin(caller);
        place.map(Some).ok_or_else(|| Refused::now(full()))
    }

    /// Over when the caller is none any more, its proof is over, or this process ends.
    fn as_long_as_known(
        &self,
        caller: &Caller,
        until: Option<SystemTime>,
    ) -> impl Future<Output = ()> + Send + Sync + 'static {
        let (roster, caller) = (Arc::clone(&self.roster), caller.clone());
        let (mut reloaded, mut ending) = (self.reloaded.clone(), self.ending.clone());
        async move {
            while roster.knows(&caller) {
                tokio::select! {
                    changed = reloaded.changed() => if changed.is_err() {
                        let _ = ending.changed().await;
                        return;
                    },
                    _ = ending.changed() => return,
                    () = over(until) => return,
                }
            }
        }
    }
}

/// A call, by what names it; its tool is empty where none is named.
struct Called {
    tool: String,
    /// Nothing while the body is not read.
    id: Value,
}

impl Called {
    fn by_head(headers: &HeaderMap) -> Option<Self> {
        let word = |name| headers.get(name).and_then(|value| value.to_str().ok());
        word(ASKS)
            .filter(|asks| CALLS.contains(asks))
            .map(|_| Self {
                tool: word(NAMES).unwrap_or_default().to_owned(),
                id: Value::Null,
            })
    }

    fn by_body(bytes: &[u8]) -> Option<Self> {
        let mut message: Value = serde_json::from_slice(bytes).ok()?;
        let asks = message.get("method").and_then(Value::as_str)?;
        CALLS.contains(&asks).then(|| Self {
            tool: message
                .pointer("/params/name")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            id: message.get_mut("id").map(Value::take).unwrap_or_default(),
        })
    }
}

/// Whether a message asks for a session to begin.
fn is_initialize(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Message {
        method: Option<String>,
    }
    let message: Option<Message> = serde_json::from_slice(body).ok();
    message.and_then(|message| message.method).as_deref() == Some("initialize")
}

/// When a proof is over; one without an end never is.
async fn over(until: Option<SystemTime>) {
    match until {
        Some(until) => {
            let left = until.duration_since(SystemTime::now());
            tokio::time::sleep(left.unwrap_or_default().min(LONGEST_WAIT)).await;
        }
        None => std::future::pending().await,
    }
}

fn astray_answer(astray: Astray) -> (Unserved, Answer) {
    let (why, status, words) = match astray {
        Astray::Unclear => (
            Unserved::UnclearHost,
            StatusCode::BAD_REQUEST,
            "say once whom this is for\n",
        ),
        Astray::AnotherHost => (
            Unserved::Host,
            StatusCode::FORBIDDEN,
            "this server does not go by that name\n",
        ),
        Astray::AnotherOrigin => (
            Unserved::Origin,
            StatusCode::FORBIDDEN,
            "pages of that origin are not served\n",
        ),
    };
    (why, answers::refusal(status, words))
}

/// One token, or none: two headers are no proof.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut brought = headers.get_all(AUTHORIZATION).iter();
    let (Some(one), None) = (brought.next(), brought.next()) else {
        return None;
    };
    let (scheme, token) = one.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Where events are named and JSON is not, or later.
fn wants_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let accept = accept.unwrap_or_default();
    match (
        accept.find("text/event-stream"),
        accept.find("application/json"),
    ) {
        (Some(events), Some(json)) => events < json,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// QUIRK: the protocol library wants both kinds of answers named, and knows no wildcard; some clients name one.
fn both_accepted(headers: &mut HeaderMap) -> Accepts {
    let named = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let fits = named.is_none_or(|named| {
        ["text/event-stream", "application/json", "*/*"]
            .iter()
            .any(|kind| named.contains(kind))
    });
    if !fits {
        return Accepts::Otherwise;
    }
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(ACCEPT, both);
    Accepts::Ours
}

/// Whether a client takes any of the kinds of answers that there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepts {
    Ours,
    Otherwise,
}

/// QUIRK: the protocol library tells in plain text what its parsers stumbled over, and calls bad JSON a wrong type.
fn tidied(answer: Answer, sent: Sent) -> Answer {
    if answer.status().is_success() || answer.headers().contains_key(CONTENT_TYPE) {
        return answer;
    }
    match (answer.status(), sent) {
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, Sent::Json) => answers::unreadable(),
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, Sent::Otherwise) => answers::plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send one JSON-RPC message as application/json\n",
        ),
        (status, _) if status.is_server_error() => answers::fell(status),
        _ => answer,
    }
}

/// What a body says that it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Json,
    Otherwise,
}

impl Sent {
    fn of(headers: &HeaderMap) -> Self {
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        match kind.is_some_and(|kind| kind.starts_with(b"application/json")) {
            true => Self::Json,
            false => Self::Otherwise,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whoever may call nothing can still end what it began, and answer what it was asked.
    #[test]
    fn only_calls_are_held_to_limits() {
        let body = |message: Value| Called::by_body(message.to_string().as_bytes());
        for method in [
            "initialize",
            "tools/list",
            "notifications/cancelled",
            "ping",
        ] {
            assert!(body(json!({ "jsonrpc": "2.0", "id": 1, "method": method })).is_none());
            let mut headers = HeaderMap::new();
            headers.insert(ASKS, HeaderValue::from_static(method));
            assert!(Called::by_head(&headers).is_none());
        }
        assert!(body(json!({ "jsonrpc": "2.0", "id": 1, "result": {} })).is_none());
        assert!(Called::by_body(b"").is_none());
        for method in CALLS {
            let params = json!({ "name": "search" });
            let called = body(json!({ "id": "a", "method": method, "params": params })).unwrap();
            assert_eq!((called.tool.as_str(), called.id), ("search", json!("a")));
            let mut headers = HeaderMap::new();
            headers.insert(ASKS, HeaderValue::from_static(method));
            headers.insert(NAMES, HeaderValue::from_static("search"));
            let called = Called::by_head(&headers).unwrap();
            assert_eq!((called.tool.as_str(), called.id), ("search", Value::Null));
        }
    }
}

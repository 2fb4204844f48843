//! A provider on this machine: discovery, codes with PKCE, refresh tokens that rotate and whose reuse ends the login,
//! a device flow. It answers as it is told, and counts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::super::proof;

pub(super) struct Provider {
    pub issuer: String,
    pub state: Arc<Mutex<State>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
pub(super) struct State {
    pub issuer: String,
    /// How many times tokens were asked for with a refresh token.
    pub refreshes: usize,
    pub polls: usize,
    pub requests: Vec<String>,
    pub rotates: Rotates,
    pub expires_in: Option<u64>,
    pub scope: Option<String>,
    /// The refresh token that is good now, and those that were.
    pub current: Option<String>,
    pub former: Vec<String>,
    pub issued: usize,
    /// The code that was given out: its challenge and its redirect.
    pub code: Option<(String, String, String)>,
    /// Answers that come before any of its own.
    pub script: VecDeque<String>,
    pub metadata: Option<Value>,
    /// What it answers instead of saying where it is asked.
    pub undiscovered: Option<String>,
    /// What there is at every other address.
    pub elsewhere: Option<String>,
    pub gate: Option<Arc<Notify>>,
    pub without_refresh_token: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Rotates {
    #[default]
    Never,
    Always,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Provider {
    pub(super) async fn start(current: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            issuer: issuer.clone(),
            current: current.map(str::to_owned),
            expires_in: Some(3600),
            ..State::default()
        }));
        let serving = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self {
            issuer,
            state,
            task,
        }
    }

    pub(super) fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }

    pub(super) fn refreshes(&self) -> usize {
        self.state.lock().unwrap().refreshes
    }

    pub(super) fn current(&self) -> Option<String> {
        self.state.lock().unwrap().current.clone()
    }
}

/// `400 {"error":"invalid_grant"}`, as a script says it.
pub(super) fn answer(status: u16, fields: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{fields}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

async fn serve(mut stream: TcpStream, state: Arc<Mutex<State>>) {
    let Some((line, body)) = request(&mut stream).await else {
        return;
    };
    let token = line.starts_with("POST /token");
    let gate = {
        let mut state = state.lock().unwrap();
        state.requests.push(format!("{line}\n{body}"));
        state.refreshes += usize::from(token && body.contains("grant_type=refresh_token"));
        state.gate.clone().filter(|_| token)
    };
    if let Some(gate) = gate {
        gate.notified().await;
    }
    let reply = {
        let mut state = state.lock().unwrap();
        let scripted = if token {
            state.script.pop_front()
        } else {
            None
        };
        scripted.unwrap_or_else(|| reply(&mut state, &line, &body))
    };
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut octets = Vec::new();
    loop {
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.ok()?;
        if read == 0 {
            return None;
        }
        octets.extend_from_slice(&more[..read]);
        let text = String::from_utf8_lossy(&octets).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, value)| value.parse().unwrap());
        if body.len() >= length {
            let line = head.lines().next().unwrap_or_default().to_owned();
            return Some((line, body.to_owned()));
        }
    }
}

fn reply(state: &mut State, line: &str, body: &str) -> String {
    let fields = reqwest::Url::parse(&format!("http://x/?{body}")).unwrap();
    let field = |name: &str| {
        let found = fields.query_pairs().find(|(it, _)| it == name);
        found.map(|(_, value)| value.into_owned())
    };
    let refuse = |error: &str| answer(400, "", &json!({ "error": error }).to_string());
    if line.starts_with("GET /.well-known/openid-configuration") {
        if let Some(reply) = &state.undiscovered {
            return reply.clone();
        }
        let issuer = &state.issuer;
        let usual = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "device_authorization_endpoint": format!("{issuer}/device"),
            "code_challenge_methods_supported": ["S256"],
        });
        let said = state.metadata.clone().unwrap_or(usual);
        return answer(200, "", &said.to_string());
    }
    if line.starts_with("POST /device") {
        let said = json!({
            "device_code": "device-code-1",
            "user_code": "ABCD-EFGH",
            "verification_uri": format!("{}/activate", state.issuer),
            "expires_in": 600,
            "interval": 1,
        });
        return answer(200, "", &said.to_string());
    }
    if !line.starts_with("POST /token") {
        let nothing = || answer(404, "", "{}");
        return state.elsewhere.clone().unwrap_or_else(nothing);
    }
    match field("grant_type").as_deref() {
        Some("refresh_token") => {
            let used = field("refresh_token");
            if used.is_none() || used != state.current {
                // Reuse of a former token ends the login: whoever has the newest one may be the thief.
                if used.is_some_and(|it| state.former.contains(&it)) {
                    state.current = None;
                }
                return refuse("invalid_grant");
            }
            let rotated = state.rotates == Rotates::Always;
            if rotated {
                let next = format!("refresh-secret-{}", state.issued + 2);
                state.former.extend(state.current.replace(next));
            }
            give(state, rotated)
        }
        Some("authorization_code") => {
            let Some((code, challenge, redirect)) = state.code.take() else {
                return refuse("invalid_grant");
            };
            let verifier = field("code_verifier").unwrap_or_default();
            let fits = field("code").as_deref() == Some(&*code)
                && proof::challenge(&verifier.into()) == challenge
                && field("redirect_uri").as_deref() == Some(&*redirect);
            if !fits {
                return refuse("invalid_grant");
            }
            state.current = Some(format!("refresh-secret-login-{}", state.issued));
            give(state, true)
        }
        Some("urn:ietf:params:oauth:grant-type:device_code") => {
            state.polls += 1;
            state.current = Some("refresh-secret-device".to_owned());
            give(state, true)
        }
        _ => refuse("unsupported_grant_type"),
    }
}

fn give(state: &mut State, shown: bool) -> String {
    state.issued += 1;
    let mut said = json!({
        "access_token": format!("access-secret-{}", state.issued),
        "token_type": "Bearer",
    });
    if let Some(seconds) = state.expires_in {
        said["expires_in"] = json!(seconds);
    }
    if let Some(scope) = &state.scope {
        said["scope"] = json!(scope);
    }
    if shown && !state.without_refresh_token {
        said["refresh_token"] = json!(state.current);
    }
    answer(200, "", &said.to_string())
}

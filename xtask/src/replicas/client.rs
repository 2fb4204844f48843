//! A client of both replicas: it asks them by turns, and keeps what it is told of records. Whoever cannot be reached is
//! passed over; what broke off is for whoever asked to ask again.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::model::{Heard, Receipt};
use crate::load::{Agent, Answer};

/// Longer than any call may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the replicas are at present.
pub(super) struct Routes {
    addresses: Mutex<[SocketAddr; 2]>,
}

impl Routes {
    pub(super) fn new(addresses: [SocketAddr; 2]) -> Self {
        Self {
            addresses: Mutex::new(addresses),
        }
    }

    pub(super) fn lead(&self, replica: usize, address: SocketAddr) {
        let mut addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = addresses.get_mut(replica) {
            *place = address;
        }
    }

    fn of(&self, replica: usize) -> Option<SocketAddr> {
        let addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        addresses.get(replica).copied()
    }
}

pub(super) struct Client {
    routes: Arc<Routes>,
    token: String,
    agents: [Option<Agent>; 2],
    turn: usize,
    pub heard: Heard,
}

impl Client {
    /// The first question goes to the replica of this number.
    pub(super) fn new(routes: Arc<Routes>, token: String, first: usize) -> Self {
        Self {
            routes,
            token,
            agents: [None, None],
            turn: first,
            heard: Heard::default(),
        }
    }

    /// Asks whoever is next; who refuses the connection is passed over once.
    pub(super) async fn ask(&mut self, tool: &str, arguments: &Value) -> io::Result<Value> {
        self.heard.asked += 1;
        let arguments = arguments.to_string();
        let answer = match self.ask_next(tool, &arguments).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                self.heard.refused += 1;
                self.ask_next(tool, &arguments).await
            }
            answer => answer,
        };
        match answer {
            Ok(answer) => {
                self.heard.take(&answer);
                Ok(answer.body)
            }
            Err(error) => {
                self.heard.broken += 1;
                Err(error)
            }
        }
    }

    async fn ask_next(&mut self, tool: &str, arguments: &str) -> io::Result<Answer> {
        let replica = self.turn % 2;
        self.turn += 1;
        let address = self.routes.of(replica).ok_or(io::ErrorKind::NotFound)?;
        let token = &self.token;
        let agent = self
            .agents
            .get_mut(replica)
            .ok_or(io::ErrorKind::NotFound)?;
        let agent = match agent {
            Some(agent) if agent.address() == address => agent,
            agent => agent.insert(Agent::new(address, token.clone())),
        };
        let asked = tokio::time::timeout(PATIENCE, agent.ask(tool, arguments)).await;
        asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Heard {
    fn take(&mut self, answer: &Answer) {
        self.answered += 1;
        match Receipt::of(&answer.body) {
            Some(receipt) => self.receipts.push(receipt),
            None => {
                let says = format!("{} {}", answer.status, code(&answer.body));
                *self.without.entry(says).or_default() += 1;
            }
        }
    }
}

/// What an answer says of itself, in a word.
pub(super) fn code(body: &Value) -> String {
    let text = |place: &str| body.pointer(place).and_then(Value::as_str);
    let data = "/result/structuredContent/data";
    let code = text("/error/data/code")
        .or_else(|| text("/error/data/reason"))
        .or_else(|| text(&format!("{data}/code")))
        .or_else(|| text(&format!("{data}/reason")))
        .or_else(|| text(&format!("{data}/issues/0/code")))
        .or_else(|| text(&format!("{data}/status")));
    match (code, text("/error/message")) {
        (Some(code), _) => code.to_owned(),
        (None, Some(message)) => message.chars().take(80).collect(),
        (None, None) => "an answer of another kind".to_owned(),
    }
}

//! The measurements: each attack alone, the other call alone, and all of them at once.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::McpClient;
use testkit::mcp::{RequestId, RpcError};

use super::world::World;
use crate::samples::Samples;

pub(crate) const ROUNDS: usize = 10;
/// Of each attack alone.
const TIMES: usize = 5;
/// Between two calls of the bystander, whether or not the one before was answered.
const PACE: Duration = Duration::from_millis(2);
const CALM_CALLS: usize = 500;
const BYSTANDER: &str = "imap_list_accounts";

/// All attacks at once.
pub(crate) struct Crowd {
    /// From the request to its answer, in the order of the mails; all requests were written at once.
    pub answers: Vec<Duration>,
    pub bystander: Samples,
    /// The program's, at the end.
    pub peak_memory: u64,
}

/// One attack, alone on an open connection.
pub(crate) struct Alone {
    pub name: &'static str,
    pub bytes: usize,
    pub times: Samples,
    /// Of the bystander meanwhile.
    pub beside: Samples,
}

pub(crate) fn one_by_one(world: &World) -> Vec<Alone> {
    let mut alone = Vec::new();
    for mail in &world.mails {
        let [mut times, mut beside] = [Samples::default(), Samples::default()];
        for _ in 0..TIMES {
            let mut client = warm(world);
            let begun = Instant::now();
            let id = client.send_call("imap_get_message", mail.arguments());
            beside.append(bystander(&mut client, &[id]));
            let (answer, came) = client.wait_timed(id);
            expect_ok(mail.name, answer);
            times.add(came - begun);
        }
        alone.push(Alone {
            name: mail.name,
            bytes: mail.bytes,
            times,
            beside,
        });
    }
    alone
}

/// The bystander with nobody beside it.
pub(crate) fn calm(world: &World) -> Samples {
    let mut client = warm(world);
    let mut calls = Vec::new();
    for _ in 0..CALM_CALLS {
        calls.push((Instant::now(), client.send_call(BYSTANDER, json!({}))));
        thread::sleep(PACE);
    }
    collected(&mut client, calls)
}

pub(crate) fn at_once(world: &World) -> Crowd {
    let mut client = warm(world);
    let begun = Instant::now();
    let reads: Vec<RequestId> = world
        .mails
        .iter()
        .map(|mail| client.send_call("imap_get_message", mail.arguments()))
        .collect();
    let bystander = bystander(&mut client, &reads);
    let answers = reads.into_iter().zip(&world.mails).map(|(id, mail)| {
        let (answer, came) = client.wait_timed(id);
        expect_ok(mail.name, answer);
        came - begun
    });
    Crowd {
        answers: answers.collect(),
        bystander,
        peak_memory: client.peak_rss(),
    }
}

/// Its calls until these have their answers.
fn bystander(client: &mut McpClient, reads: &[RequestId]) -> Samples {
    let mut calls = Vec::new();
    while !reads.iter().all(|id| client.has_answer(*id)) {
        calls.push((Instant::now(), client.send_call(BYSTANDER, json!({}))));
        thread::sleep(PACE);
    }
    collected(client, calls)
}

/// A program that has logged in, and read no message.
fn warm(world: &World) -> McpClient {
    let mut client = world.client();
    client.call("imap_list_mailboxes", json!({}));
    client
}

fn collected(client: &mut McpClient, calls: Vec<(Instant, RequestId)>) -> Samples {
    let mut times = Samples::default();
    for (begun, id) in calls {
        let (answer, came) = client.wait_timed(id);
        expect_ok(BYSTANDER, answer);
        times.add(came - begun);
    }
    times
}

fn expect_ok(what: &str, answer: Result<Value, RpcError>) {
    let answer = answer.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let status = &answer["structuredContent"]["data"]["status"];
    let fine = answer["isError"] != true && (status.is_null() || status != "failed");
    assert!(fine, "{what}: {answer}");
}

//! A client that changes its own messages, one change after the other, each under a key of its own until it is known
//! what became of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::mailgen::Rng;
use tokio::time::Instant;

use super::change::Own;
use super::client::{Client, code};
use super::model::{Lying, Told};

/// By then a change must have come to its end, whatever was killed meanwhile.
const PATIENCE: Duration = Duration::from_secs(180);
/// Before the same is asked for again.
const PAUSE: Duration = Duration::from_millis(200);
/// Between one change and the next.
const BREATH: Duration = Duration::from_millis(30);

/// The one reason for which an undoing may be refused here.
const FLAGS_UNKNOWN: &str = "what its flags were before is not known";

/// What became of a change.
enum Became {
    Done(Value),
    /// Nothing is changed.
    Undone(Value),
    /// It should not be so.
    Lost(String),
}

pub(super) async fn work(
    number: usize,
    letters: Vec<Lying>,
    shared: Vec<Lying>,
    mut client: Client,
    over: Arc<AtomicBool>,
) -> Told {
    let mut own = Own::new(number, letters, shared);
    let mut told = Told::default();
    let mut rng = Rng::new(17, number as u64);
    let mut count = 0usize;
    while !over.load(Ordering::Relaxed) {
        let Some((at, change)) = own.pick(&mut rng) else {
            told.wrong.push(format!(
                "writer {number} knows of no letter any more where it lies"
            ));
            break;
        };
        count += 1;
        let key = format!("writer-{number}-change-{count}");
        let Some((tool, arguments)) = own.call(at, &change, &key) else {
            break;
        };
        let from = own.letters.get(at).map(|letter| letter.spot.clone());
        let kind = from.map_or(tool, |from| change.told(tool, &from));
        let begun = Instant::now();
        let became = settle(&mut client, &mut told, tool, &arguments).await;
        let took = u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX);
        match became {
            Became::Done(data) => {
                told.settled.push(took);
                *told.done.entry(kind).or_default() += 1;
                if let Err(why) = own.done(at, change, &key, &data) {
                    told.wrong.push(format!("{key}: {tool}: {why}: {data}"));
                }
            }
            Became::Undone(data) => {
                told.settled.push(took);
                let issue = data.pointer("/issues/0/code").and_then(Value::as_str);
                let why = format!("{kind}: {}", issue.unwrap_or("no reason"));
                *told.undone.entry(why).or_default() += 1;
                own.not_done(at, &data);
            }
            Became::Lost(why) => {
                told.wrong.push(format!("{key}: {tool} {arguments}: {why}"));
                own.lose_sight(at);
            }
        }
        tokio::time::sleep(BREATH).await;
    }
    told.lying.append(&mut own.letters);
    told.lying.append(&mut own.made);
    told.heard = client.heard;
    told
}

/// Asks with the same key until it is known what became of it, as a client does that was cut off.
async fn settle(client: &mut Client, told: &mut Told, tool: &str, arguments: &Value) -> Became {
    let begun = Instant::now();
    let mut asked = 0;
    let mut last = String::new();
    while begun.elapsed() < PATIENCE {
        if asked > 0 {
            told.repeats += 1;
            tokio::time::sleep(PAUSE).await;
        }
        asked += 1;
        told.again += usize::from(asked == 2);
        let body = match client.ask(tool, arguments).await {
            Ok(body) => body,
            Err(error) => {
                last = error.to_string();
                continue;
            }
        };
        match read(&body) {
            Read::Final(became) => return became,
            Read::Again(says) => *told.waits.entry(says).or_default() += 1,
        }
        last = body.to_string();
    }
    Became::Lost(format!(
        "asked {asked} times, it did not come to an end: {last}"
    ))
}

enum Read {
    Final(Became),
    /// Ask again, with what was said.
    Again(String),
}

fn read(body: &Value) -> Read {
    let data = body.pointer("/result/structuredContent/data");
    let state = data.and_then(|data| data.get("transaction_state")?.as_str());
    let refused = body.pointer("/error/data/details");
    let refused_state = refused.and_then(|details| details.get("transaction_state")?.as_str());
    match (state, data) {
        (Some("done"), Some(data)) => return Read::Final(Became::Done(data.clone())),
        (Some("undone"), Some(data)) => return Read::Final(Became::Undone(data.clone())),
        (Some("needs_operator"), _) => {
            return Read::Final(Became::Lost(format!("a person is asked: {body}")));
        }
        _ => {}
    }
    if refused_state == Some("undone") {
        return Read::Final(Became::Undone(refused.cloned().unwrap_or_default()));
    }
    // A flag that was found to be set after a kill: what was before it nobody has seen. It is said before anything is tried.
    let message = body.pointer("/error/message").and_then(Value::as_str);
    if let Some((_, why)) = message.and_then(|said| said.split_once("this cannot be undone: ")) {
        return Read::Final(match why.starts_with(FLAGS_UNKNOWN) {
            true => Became::Undone(json!({ "issues": [{ "code": FLAGS_UNKNOWN }] })),
            false => Became::Lost(body.to_string()),
        });
    }
    let says = code(body);
    // Nothing that changes by itself.
    match says.as_str() {
        "denied"
        | "invalid_input"
        | "not_found"
        | "auth_failed"
        | "message_not_visible"
        | "capability_missing" => Read::Final(Became::Lost(body.to_string())),
        _ => Read::Again(says),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_at_its_end_ends_the_asking() {
        let answer = |state: &str| {
            json!({ "result": { "structuredContent": { "data": {
            "status": "failed", "transaction_state": state, "issues": [{ "code": state }] } } } })
        };
        assert!(matches!(
            read(&answer("done")),
            Read::Final(Became::Done(_))
        ));
        assert!(matches!(
            read(&answer("undone")),
            Read::Final(Became::Undone(_))
        ));
        assert!(matches!(
            read(&answer("needs_operator")),
            Read::Final(Became::Lost(_))
        ));
        assert!(matches!(read(&answer("unknown")), Read::Again(says) if says == "unknown"));
        let error = |code: &str| json!({ "error": { "code": -32603, "message": "m", "data": { "code": code } } });
        let mut late = error("conflict");
        assert!(matches!(read(&late), Read::Again(_)));
        late["error"]["message"] = json!("conflict: this cannot be undone: it is gone");
        assert!(matches!(read(&late), Read::Final(Became::Lost(_))));
        late["error"]["message"] = json!(format!(
            "conflict: this cannot be undone: {FLAGS_UNKNOWN}; x"
        ));
        assert!(matches!(read(&late), Read::Final(Became::Undone(_))));
        assert!(matches!(read(&error("internal")), Read::Again(_)));
        assert!(matches!(
            read(&error("not_found")),
            Read::Final(Became::Lost(_))
        ));
    }
}

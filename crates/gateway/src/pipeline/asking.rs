//! Asking a person before something is lost, where whoever serves the caller can reach one.
//!
//! How a person is reached is not known here, nor that it was one who answered: a client may answer by itself.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::Ctx;
use crate::Refusal;
use crate::tools::Tool;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// As long lives what says which question an answer belongs to.
const LIFETIME: SignedDuration = SignedDuration::from_secs(600);
/// Ours are shorter; more is not looked at.
const MOST_STATE: usize = 256;

/// Whether, and how, the person behind a call can be asked.
#[derive(Debug, Default)]
pub enum Asking {
    /// Not at all: what the arguments say has to be enough.
    #[default]
    Cannot,
    /// While the call waits. Dropping the other end, or the question, is a no.
    Now(oneshot::Sender<Question>),
    /// By ending the call with the question; it is made again with what came back.
    Later(Option<Returned>),
}

/// What a person is asked while a call waits.
#[derive(Debug)]
pub struct Question {
    words: String,
    answer: oneshot::Sender<Consent>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consent {
    Given,
    Withheld,
}

/// What a call is ended with, so that a person is asked and the call made again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    pub words: String,
    /// Sealed: the question was asked of this caller, for this tool with these arguments. It comes back with the answer.
    pub state: String,
}

/// What came with a call that is made again. All of it is the client's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Returned {
    pub state: Option<String>,
    pub answer: Option<Consent>,
}

impl Question {
    /// In plain words, of which none came from mail.
    pub fn words(&self) -> &str {
        &self.words
    }

    pub fn answer(self, answer: Consent) {
        // Whoever asked may have lost patience.
        let _ = self.answer.send(answer);
    }

    /// Ends when the answer is not waited for any more.
    pub async fn given_up(&mut self) {
        self.answer.closed().await;
    }
}

impl Asking {
    /// Before the arguments are read and gone. Nobody is asked about a tool by which nothing is lost.
    pub(super) fn about<T: Tool>(self, arguments: &Map<String, Value>) -> Pending {
        match self {
            _ if !T::ANNOTATIONS.destructive => Pending::Cannot,
            Self::Cannot => Pending::Cannot,
            Self::Now(client) => Pending::Now(client),
            Self::Later(returned) => Pending::Later(digest(arguments), returned),
        }
    }
}

/// [`Asking`], of a call with certain arguments.
pub(super) enum Pending {
    Cannot,
    Now(oneshot::Sender<Question>),
    Later([u8; 32], Option<Returned>),
}

impl Pending {
    /// Ends well when it may be done: nothing is lost by it, nobody can be asked, or a person agreed.
    pub(super) async fn settle<T: Tool>(
        self,
        ctx: &Ctx<'_>,
        args: &T::Args,
    ) -> Result<(), Refusal> {
        if matches!(self, Self::Cannot) {
            return Ok(());
        }
        let Some(words) = T::question(ctx, args).await? else {
            return Ok(());
        };
        match self {
            Self::Cannot => Ok(()),
            Self::Now(client) => {
                put(client, words.clone()).await?;
                // INVARIANT: what is done is what was agreed to, however long that took.
                match T::question(ctx, args).await? {
                    Some(now) if now != words => Err(Refusal::overtaken()),
                    _ => Ok(()),
                }
            }
            Self::Later(arguments, returned) => {
                let seal = Seal {
                    caller: ctx.caller.as_str(),
                    tool: T::NAME,
                    arguments,
                    words: &words,
                };
                match seal.answered(ctx, returned)? {
                    Some(Consent::Given) => Ok(()),
                    Some(Consent::Withheld) => Err(Refusal::not_agreed("declined")),
                    None => Err(seal.ask(ctx)),
                }
            }
        }
    }
}

async fn put(client: oneshot::Sender<Question>, words: String) -> Result<(), Refusal> {
    let (answer, answered) = oneshot::channel();
    let question = Question { words, answer };
    let how = match client.send(question) {
        Err(_) => "the client is gone",
        Ok(()) => match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(Consent::Given)) => return Ok(()),
            Ok(Ok(Consent::Withheld)) => "declined",
            Ok(Err(_)) => "no answer came",
            Err(_) => "no answer came in 10 minutes",
        },
    };
    Err(Refusal::not_agreed(how))
}

/// What a question that comes back was about.
struct Seal<'a> {
    caller: &'a str,
    tool: &'static str,
    arguments: [u8; 32],
    /// If other words would be said now, what was agreed to is something else.
    words: &'a str,
}

impl Seal<'_> {
    /// None where it is still to be asked.
    fn answered(
        &self,
        ctx: &Ctx<'_>,
        returned: Option<Returned>,
    ) -> Result<Option<Consent>, Refusal> {
        let Some(Returned { state, answer }) = returned else {
            return Ok(None);
        };
        match state {
            Some(state) if self.opens(ctx.cursor_key(), &state, ctx.now) => Ok(answer),
            Some(_) => Err(Refusal::invalid(
                "requestState is not of this call, or older than 10 minutes, so nobody was asked; make the call again \
                 without requestState and inputResponses",
            )),
            None if answer.is_some() => Err(Refusal::invalid(
                "an answer came without the requestState of its question; make the call again without inputResponses",
            )),
            None => Ok(None),
        }
    }

    fn ask(&self, ctx: &Ctx<'_>) -> Refusal {
        match self.close(ctx.cursor_key(), ctx.now) {
            Some(state) => Refusal::asks(Asked {
                words: self.words.to_owned(),
                state,
            }),
            None => Refusal::not_agreed("no random numbers to seal the question with"),
        }
    }

    fn close(&self, key: &crate::CursorKey, now: Timestamp) -> Option<String> {
        let expires = now.checked_add(LIFETIME).ok()?.as_second();
        key.enclose(&expires.to_be_bytes(), &self.bytes())
    }

    fn opens(&self, key: &crate::CursorKey, state: &str, now: Timestamp) -> bool {
        let opened = match state.len() {
            ..=MOST_STATE => key.disclose(state, &self.bytes()),
            _ => None,
        };
        let expires = opened.and_then(|plain| plain.try_into().ok());
        expires.is_some_and(|expires| now.as_second() <= i64::from_be_bytes(expires))
    }

    /// NUL stands neither in a caller nor in a tool, so no two look the same.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = ["question 1", self.caller, self.tool, ""]
            .join("\0")
            .into_bytes();
        bytes.extend_from_slice(&self.arguments);
        bytes.extend_from_slice(self.words.as_bytes());
        bytes
    }
}

/// The same for the same arguments in another order.
fn digest(arguments: &Map<String, Value>) -> [u8; 32] {
    let mut arguments = Value::Object(arguments.clone());
    arguments.sort_all_objects();
    Sha256::digest(arguments.to_string().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CursorKey;
    use proptest::prelude::*;
    use serde_json::json;

    const KEY: [u8; 32] = [1; 32];

    fn seal() -> Seal<'static> {
        Seal {
            caller: "owner",
            tool: "imap_delete_message",
            arguments: [3; 32],
            words: "Delete it?",
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn sealed() -> String {
        seal().close(&CursorKey::new(KEY), at(1_000)).unwrap()
    }

    fn opens(seal: &Seal<'_>, state: &str, second: i64) -> bool {
        seal.opens(&CursorKey::new(KEY), state, at(second))
    }

    #[test]
    fn a_state_is_good_for_its_question_for_ten_minutes() {
        let state = sealed();
        assert!(state.len() <= MOST_STATE, "{}", state.len());
        for (second, good) in [
            (1_000, true),
            (1_600, true),
            (1_601, false),
            (99_999, false),
        ] {
            assert_eq!(opens(&seal(), &state, second), good, "{second}");
        }
        assert!(!seal().opens(&CursorKey::new([2; 32]), &state, at(1_001)));
    }

    #[test]
    fn a_state_is_good_for_no_other_question() {
        let state = sealed();
        for other in [
            Seal {
                caller: "somebody",
                ..seal()
            },
            Seal {
                tool: "another_tool",
                ..seal()
            },
            Seal {
                arguments: [4; 32],
                ..seal()
            },
            Seal {
                words: "Delete it for good?",
                ..seal()
            },
        ] {
            assert!(!opens(&other, &state, 1_001));
        }
    }

    #[test]
    fn neither_cursors_nor_other_tokens_are_states() {
        let key = CursorKey::new(KEY);
        let expires = 2_000_i64.to_be_bytes();
        for purpose in ["cursor 1\0owner\0work\0INBOX", "", "question 1"] {
            let token = key.enclose(&expires, purpose.as_bytes()).unwrap();
            assert!(!opens(&seal(), &token, 1_001), "{purpose}");
        }
        let short = key.enclose(b"2000", &seal().bytes()).unwrap();
        assert!(!opens(&seal(), &short, 1_001));
        let long = key.enclose(&[0; 400], &seal().bytes()).unwrap();
        assert!(!opens(&seal(), &long, 1_001));
    }

    #[test]
    fn arguments_are_the_same_in_any_order_and_other_ones_are_not() {
        let of = |value: Value| digest(value.as_object().unwrap());
        let one = of(json!({ "a": 1, "b": { "c": [1, 2], "d": "x" } }));
        assert_eq!(one, of(json!({ "b": { "d": "x", "c": [1, 2] }, "a": 1 })));
        for other in [
            json!({ "a": 2, "b": { "c": [1, 2], "d": "x" } }),
            json!({ "a": 1, "b": { "c": [2, 1], "d": "x" } }),
            json!({ "a": 1 }),
            json!({}),
        ] {
            assert_ne!(one, of(other));
        }
    }

    proptest! {
        #[test]
        fn no_text_is_taken_for_a_state(text in "\\PC{0,300}") {
            prop_assert!(!opens(&seal(), &text, 1_001));
        }
    }
}

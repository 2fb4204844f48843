//! Conversations: which messages belong together by their references, who answers whom, and what can be said of the whole.
//!
//! RFC 5256 REFERENCES without its last steps: nothing is merged by subject, so a stranger with the same subject stays
//! outside. Finds no message: what is given is all there is, and ids that nobody bears are told as missing.

mod conversation;
mod copies;
mod groups;
mod head;
mod subject;

pub use conversation::{Conversation, Node, Turn, conversation};
pub use copies::{Likeness, Text, copies};
pub use groups::partition;
pub use head::{Head, Participant, Spoken, head};

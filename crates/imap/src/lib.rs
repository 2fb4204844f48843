//! The IMAP protocol (RFC 3501, RFC 9051 and friends) without I/O.
//!
//! Commands become bytes, bytes become responses, and [`Connection`] matches pipelined replies to their commands.
//! Nothing here opens a socket, and nothing trusts a server's lengths, counts or nesting: see [`Limits`].
//!
//! Reading is tolerant: what is not understood is kept raw and costs only itself, never the rest of its line.
//! Writing is strict: a [`Command`] cannot hold an argument that would end early or begin another command.

mod capability;
mod code;
pub mod command;
mod connection;
mod date;
mod expected_responses;
mod fetch;
mod frame;
mod limits;
mod list;
mod response;
mod search;
mod sequence;
mod status;
mod structure;
mod thread;
pub mod utf7;
mod value;

pub use capability::Capabilities;
pub use code::{AppendUid, CopyUid, PermanentFlags};
pub use command::{BadArgument, Bearer, Command, InitialResponse, Literals};
pub use connection::{Connection, Event, Leftover, Overrun, Tag};
pub use expected_responses::{ExpectedResponses, Verdict};
pub use fetch::{Fetch, SectionData};
pub use frame::{FrameError, Framer};
pub use limits::Limits;
pub use list::{List, MailboxStatus};
pub use response::{Data, Response};
pub use search::{Esearch, PartialResult};
pub use sequence::SequenceSet;
pub use status::{Code, Status, StatusKind};
pub use structure::{BodyStructure, Leaf, Multipart};
pub use thread::ThreadId;
pub use value::{Malformed, Value};

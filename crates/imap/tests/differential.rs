//! What we write, imap-codec reads; what imap-codec writes, we read. Two authors of one grammar must agree.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what is wrong by ending"
)]

#[path = "differential/changes.rs"]
mod changes;
#[path = "differential/commands.rs"]
mod commands;
#[path = "differential/lexer.rs"]
mod lexer;
#[path = "differential/responses.rs"]
mod responses;

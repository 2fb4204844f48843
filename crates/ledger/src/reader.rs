//! The thread that reads, beside the one that writes: nobody who asks waits for a disk.

use std::sync::mpsc::Receiver;

use rusqlite::Connection;

/// A question, which answers itself.
pub(crate) type Question = Box<dyn FnOnce(&Connection) + Send>;

/// Ends when nobody can ask any more.
pub(crate) fn run(conn: Connection, questions: Receiver<Question>) {
    while let Ok(question) = questions.recv() {
        question(&conn);
    }
}

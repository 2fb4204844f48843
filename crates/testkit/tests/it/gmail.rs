//! The simulated Gmail, talked to by the bare client: lines in, lines out.

mod changing;
mod entering;
mod reading;
mod strained;

use testkit::gmail::{PASSWORD, Place, USER};
use testkit::{Gmail, RawImap};

/// A small message with an id of its own.
fn letter(id: &str, subject: &str) -> String {
    format!(
        "Date: Thu, 1 Jan 2026 00:00:00 +0000\r\nFrom: Bob <bob@example.com>\r\nTo: alice@gmail.com\r\n\
         Subject: {subject}\r\nMessage-ID: <{id}@example.com>\r\n\r\nHello {id}.\r\n"
    )
}

fn enter(gmail: &Gmail) -> RawImap {
    let mut imap = RawImap::connect(gmail.port());
    imap.login(USER, PASSWORD);
    imap
}

/// Logged in, with a mailbox open.
fn open(gmail: &Gmail, place: &Place) -> RawImap {
    let mut imap = enter(gmail);
    imap.command(&format!("SELECT \"{}\"", gmail.name(place)));
    imap
}

/// Says each line and compares all that comes back, a line per response. In both, `{name}` stands for a value given.
fn converse(imap: &mut RawImap, values: &[(&str, String)], table: &[(&str, &str)]) {
    let filled = |text: &str| {
        let fill = |text: String, (name, value): &(&str, String)| {
            text.replace(&format!("{{{name}}}"), value)
        };
        values.iter().fold(text.to_owned(), fill)
    };
    for (say, want) in table {
        let reply = imap.try_command(&filled(say));
        assert_eq!(reply.text(), filled(want), "{say}");
    }
}

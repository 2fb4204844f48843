//! Whether the first message of a file is none, but what an IMAP server keeps of the folder.
//!
//! QUIRK: c-client (UW IMAP, Pine, Alpine) writes such a message, and nothing but its header tells it from others. A sender can
//! write the same, and what is taken for the folder's is shown to nobody. So all of it must be as c-client writes it, and
//! nothing may be there that delivery adds (`Received`, `Return-Path`): whatever is in doubt is a message.

use super::status;

const SENDER: &[u8] = b"MAILER-DAEMON";
const SUBJECT: &[u8] = b"DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA";

/// What was seen of a header so far.
pub(super) struct Internal {
    verdict: Verdict,
    says: [Said; 3],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Nothing speaks against it.
    Possible,
    Message,
}

/// Whether a field that must be there was: sender, subject, data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Once,
    NotYet,
}

impl Internal {
    /// With the line that begins the message.
    pub(super) fn begin(separator: &[u8]) -> Self {
        let mut words = separator.split(|byte| *byte == b' ');
        let is_internal = words.next() == Some(b"From") && words.next() == Some(SENDER);
        Self {
            verdict: match is_internal {
                true => Verdict::Possible,
                false => Verdict::Message,
            },
            says: [Said::NotYet; 3],
        }
    }

    /// A line of its header. c-client folds none.
    pub(super) fn line(&mut self, line: &[u8]) {
        if self.verdict == Verdict::Possible && !self.fits(line) {
            self.verdict = Verdict::Message;
        }
    }

    pub(super) fn is_the_folders(&self) -> bool {
        self.verdict == Verdict::Possible && self.says == [Said::Once; 3]
    }

    fn fits(&mut self, line: &[u8]) -> bool {
        let Some(colon) = memchr::memchr(b':', line) else {
            return false;
        };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        let [sender, subject, data] = &mut self.says;
        match name.to_ascii_lowercase().as_slice() {
            b"from" => is_sender(value) && sender.say(),
            b"subject" => value == SUBJECT && subject.say(),
            b"x-imap" => data.say(),
            b"date" | b"message-id" => true,
            _ => status::own(line).is_some(),
        }
    }
}

impl Said {
    /// False where it was said before.
    fn say(&mut self) -> bool {
        std::mem::replace(self, Self::Once) == Self::NotYet
    }
}

/// `Mail System Internal Data <MAILER-DAEMON@host>`.
fn is_sender(value: &[u8]) -> bool {
    let Some(open) = memchr::memrchr(b'<', value) else {
        return false;
    };
    let address = value.get(open + 1..).unwrap_or_default();
    address
        .strip_prefix(SENDER)
        .is_some_and(|rest| rest.starts_with(b"@") && rest.ends_with(b">"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGINS: &str = "From MAILER-DAEMON Mon Nov  3 10:12:30 2025";
    const WHOLE: [&str; 6] = [
        "Date: 03 Nov 2025 10:12:30 +0000",
        "From: Mail System Internal Data <MAILER-DAEMON@host.example>",
        "Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA",
        "Message-ID: <1762164750@host.example>",
        "X-IMAP: 1762164750 0000000007 $Forwarded",
        "Status: RO",
    ];

    fn judged(begins: &str, lines: &[&str]) -> bool {
        let mut internal = Internal::begin(begins.as_bytes());
        lines.iter().for_each(|line| internal.line(line.as_bytes()));
        internal.is_the_folders()
    }

    #[test]
    fn what_a_server_writes_is_the_folders() {
        assert!(judged(BEGINS, &WHOLE));
        assert!(judged(BEGINS, &WHOLE[1..5]));
        for begins in [
            "From a@b Mon Nov  3 10:12:30 2025",
            "From MAILER-DAEMON@b Mon Nov  3 10:12:30 2025",
            "From - MAILER-DAEMON Mon Nov  3 10:12:30 2025",
        ] {
            assert!(!judged(begins, &WHOLE), "{begins}");
        }
    }

    #[test]
    fn what_lacks_something_or_has_more_is_a_message() {
        for missing in [1, 2, 4] {
            let mut lines = WHOLE.to_vec();
            lines.remove(missing);
            assert!(!judged(BEGINS, &lines), "{missing}");
        }
        for more in [
            "Received: from x by y; Mon, 3 Nov 2025 10:12:30 +0000",
            "Return-Path: <>",
            "To: lena@kettenwerk.example",
            "Content-Type: text/html",
            "From: Mail System Internal Data <MAILER-DAEMON@host.example>",
            "From: eve@example.org",
            "Subject: Invoice",
            "X-IMAP: 1 2",
            " folded",
            "no field",
        ] {
            for at in [0, WHOLE.len()] {
                let mut lines = WHOLE.to_vec();
                lines.insert(at, more);
                assert!(!judged(BEGINS, &lines), "{more} {at}");
            }
        }
        for sender in ["x <eve@MAILER-DAEMON>", "MAILER-DAEMON", "<MAILER-DAEMON>"] {
            assert!(!is_sender(sender.as_bytes()), "{sender}");
        }
    }
}

//! One store with everything in it that a reader of Apple Mail has to get right: kinds of mailboxes, places of files,
//! forms of files, and conversations.

use super::emlx::{Count, Trailer};
use super::letter::{Letter, Stored};
use super::{ACCOUNT, AppleStore, Generation, Mailbox};

/// ROWIDs that tests ask for by name.
pub mod rows {
    /// At the edges of the directories, and with the prefix trap: 123, 12345 and 123456.
    pub const PLACED: [i64; 6] = [123, 218, 9_865, 12_345, 123_456, 1_277_162];
    pub const FLAGGED: i64 = 301;
    pub const DELETED: i64 = 302;
    pub const LABELLED: i64 = 400;
    pub const ONLY_ALL: i64 = 401;
    pub const EWS: i64 = 410;
    pub const LOCAL: i64 = 411;
    pub const KUNDER: i64 = 412;
    pub const TWIN: i64 = 413;
    pub const XML_IN_BODY: i64 = 500;
    pub const BARE_COUNT: i64 = 501;
    pub const COUNT_TOO_BIG: i64 = 502;
    pub const NO_TRAILER: i64 = 503;
    pub const CRLF: i64 = 504;
    pub const LATIN_9: i64 = 505;
    pub const HTML_ONLY: i64 = 506;
    pub const PARTIAL: i64 = 507;
    pub const HEADER_ONLY: i64 = 508;
    pub const OTHER_NAME: i64 = 509;
    pub const MISSING: i64 = 510;
    pub const NO_EMLX: i64 = 511;
    pub const QUESTION: i64 = 600;
    pub const ANSWER: i64 = 601;
    pub const ANSWER_COPY: i64 = 602;
    pub const ANSWER_DELETED: i64 = 603;
    pub const ANSWER_TRASHED: i64 = 604;
    pub const RENAMED: i64 = 605;
    pub const STRANGERS: [i64; 3] = [610, 611, 612];
    pub const SAME_SUBJECT: i64 = 613;
    pub const ORPHANS: [i64; 2] = [620, 621];
    pub const LOOP: [i64; 2] = [630, 631];
    pub const UNNAMED: i64 = 640;
    pub const CONVERSED: i64 = 650;
    /// The first of five hundred, each an answer to the one before it alone.
    pub const CHAIN: i64 = 2_000;
    pub const LINKS: i64 = 500;
}

/// The store and its mailboxes.
pub struct Cases {
    pub store: AppleStore,
    pub inbox: Mailbox,
    pub sent: Mailbox,
    pub archive: Mailbox,
    pub trash: Mailbox,
    pub all_mail: Mailbox,
    pub label: Mailbox,
    pub ews: Mailbox,
    pub local: Mailbox,
}

pub const GMAIL: &str = "3CB71D52-6A1C-4E0D-9A59-0D3B7C6A1B22";
pub const EXCHANGE: &str = "40611D52-6A1C-4E0D-9A59-0D3B7C6A1B33";
pub const ON_MY_MAC: &str = "66C71D52-6A1C-4E0D-9A59-0D3B7C6A1B44";

fn mail(id: &str, subject: &str, more: &str) -> String {
    format!(
        "From: Anna <anna@kettenwerk.example>\r\nTo: Ben <ben@kettenwerk.example>\r\nSubject: {subject}\r\n\
         Date: Thu, 1 Jan 2026 00:00:00 +0000\r\nMessage-ID: <{id}>\r\n{more}MIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\r\nThis is {id}.\r\n"
    )
}

fn names(ids: &[&str]) -> String {
    let list: Vec<String> = ids.iter().map(|id| format!("<{id}>")).collect();
    let parent = list.last().cloned().unwrap_or_default();
    format!(
        "References: {}\r\nIn-Reply-To: {parent}\r\n",
        list.join("\r\n ")
    )
}

impl Cases {
    pub fn new(generation: Generation) -> Self {
        let mut store = AppleStore::of(generation);
        let at = |account: &str, path: &str| match generation {
            Generation::Ancient => format!("imap://anna%40{account}@mail.example/{path}"),
            _ => format!("imap://{account}/{path}"),
        };
        let all_mail = store.mailbox(&at(GMAIL, "%5BGmail%5D/All%20Mail"));
        let local = match generation {
            Generation::Ancient => "local:///Recovered%20(%F0%9F%8C%88)".to_owned(),
            _ => format!("local://{ON_MY_MAC}/Recovered%20(%F0%9F%8C%88)"),
        };
        let mut cases = Self {
            inbox: store.mailbox(&at(ACCOUNT, "INBOX")),
            sent: store.mailbox(&at(ACCOUNT, "Sent%20Messages")),
            archive: store.mailbox(&at(ACCOUNT, "Archive")),
            trash: store.mailbox(&at(ACCOUNT, "Deleted%20Messages")),
            all_mail,
            label: store.label(&at(GMAIL, "INBOX"), all_mail),
            ews: store.mailbox(&format!("ews://{EXCHANGE}/Inbox")),
            local: store.mailbox(&local),
            store,
        };
        cases.places();
        cases.mailboxes(&at(ACCOUNT, "Archive/Kund%C3%A9r"), &at(GMAIL, "Archive"));
        cases.files();
        // What came by here is in the file; what comes later only in the log.
        cases.store.checkpoint();
        cases.conversations();
        cases
    }

    fn put(&mut self, mailbox: Mailbox, row: i64, raw: impl Into<Vec<u8>>) {
        self.store.message(mailbox, Letter::new(raw).row(row));
    }

    fn places(&mut self) {
        for row in rows::PLACED {
            self.put(
                self.inbox,
                row,
                mail(&format!("placed.{row}@x"), "Placed", ""),
            );
        }
        let flagged = Letter::new(mail("flagged@x", "Flagged", ""))
            .row(rows::FLAGGED)
            .marked(1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 24);
        self.store.message(self.inbox, flagged);
        let deleted = Letter::new(mail("deleted@x", "Deleted", ""))
            .row(rows::DELETED)
            .marked(1 << 1);
        self.store.message(self.inbox, deleted);
    }

    fn mailboxes(&mut self, kunder: &str, twin: &str) {
        let labelled = Letter::new(mail("labelled@x", "Labelled", ""))
            .row(rows::LABELLED)
            .labels(&[self.label]);
        self.store.message(self.all_mail, labelled);
        self.put(self.all_mail, rows::ONLY_ALL, mail("only@x", "Only", ""));
        self.put(self.ews, rows::EWS, mail("ews@x", "Exchange", ""));
        self.put(self.local, rows::LOCAL, mail("local@x", "Local", ""));
        let (kunder, twin) = (self.store.mailbox(kunder), self.store.mailbox(twin));
        self.put(kunder, rows::KUNDER, mail("kunder@x", "Kunder", ""));
        self.put(twin, rows::TWIN, mail("twin@x", "Twin", ""));
    }

    fn files(&mut self) {
        let whole = |row: i64, text: String, count, trailer| {
            Letter::new(text)
                .row(row)
                .stored(Stored::Whole(count, trailer))
        };
        let xml =
            mail("xml@x", "XML", "") + "<?xml version=\"1.0\"?>\r\n<plist>no trailer</plist>\r\n";
        let big = mail("big@x", "Count", "") + "<?xml in the text?>\r\n";
        let latin = [
            mail("latin@x", "Latin", "")
                .replace("utf-8", "iso-8859-15")
                .into_bytes(),
            b"Gr\xfc\xdfe f\xfcr 5 \xa4\r\n".to_vec(),
        ]
        .concat();
        let html = mail("html@x", "HTML", "").replace("text/plain", "text/html")
            + "<p>Only <b>this</b>.</p>\r\n";
        for letter in [
            whole(rows::XML_IN_BODY, xml, Count::Padded, Trailer::There),
            whole(
                rows::BARE_COUNT,
                mail("bare@x", "Count", ""),
                Count::Bare,
                Trailer::There,
            ),
            whole(rows::COUNT_TOO_BIG, big, Count::TooBig, Trailer::There),
            whole(
                rows::NO_TRAILER,
                mail("bald@x", "Trailer", ""),
                Count::Padded,
                Trailer::Missing,
            ),
            Letter::new(mail("crlf@x", "CRLF", ""))
                .row(rows::CRLF)
                .stored(Stored::AsItIs),
            Letter::new(latin).row(rows::LATIN_9),
            Letter::new(html).row(rows::HTML_ONLY),
            Letter::new(mail("missing@x", "Missing", &names(&["question@x"])))
                .row(rows::MISSING)
                .stored(Stored::Nothing),
            Letter::new(mail("noemlx@x", "No file", ""))
                .row(rows::NO_EMLX)
                .stored(Stored::Octets(b"half a fi".to_vec())),
            partial().row(rows::PARTIAL),
            header_only().row(rows::HEADER_ONLY),
            other_name().row(rows::OTHER_NAME),
        ] {
            self.store.message(self.inbox, letter);
        }
    }

    fn conversations(&mut self) {
        self.put(self.inbox, rows::QUESTION, mail("question@x", "Plan", ""));
        let answer = || mail("answer@x", "Re: Plan", &names(&["question@x"]));
        self.put(self.sent, rows::ANSWER, answer());
        self.put(self.archive, rows::ANSWER_COPY, answer());
        let deleted = Letter::new(answer())
            .row(rows::ANSWER_DELETED)
            .marked(1 << 1);
        self.store.message(self.inbox, deleted);
        self.put(self.trash, rows::ANSWER_TRASHED, answer());
        let renamed = mail(
            "renamed@x",
            "Something else",
            &names(&["question@x", "answer@x"]),
        );
        self.put(self.inbox, rows::RENAMED, renamed);
        for row in rows::STRANGERS {
            self.put(
                self.inbox,
                row,
                mail(&format!("stranger.{row}@x"), "Invoice", ""),
            );
        }
        self.put(self.inbox, rows::SAME_SUBJECT, mail("same@x", "Plan", ""));
        for row in rows::ORPHANS {
            let orphan = mail(&format!("orphan.{row}@x"), "Re: Lost", &names(&["lost@x"]));
            self.put(self.inbox, row, orphan);
        }
        let [one, two] = rows::LOOP;
        self.put(
            self.inbox,
            one,
            mail("loop.1@x", "Loop", &names(&["loop.2@x"])),
        );
        self.put(
            self.inbox,
            two,
            mail("loop.2@x", "Loop", &names(&["loop.1@x"])),
        );
        let unnamed = Letter::new(mail("unnamed@x", "Unnamed", ""))
            .row(rows::UNNAMED)
            .unnamed();
        self.store.message(self.inbox, unnamed);
        for (row, id) in [
            (rows::CONVERSED, "conversed.1@x"),
            (rows::CONVERSED + 1, "conversed.2@x"),
        ] {
            let letter = Letter::new(mail(id, "Apple says so", ""))
                .row(row)
                .conversation(77);
            self.store.message(self.inbox, letter);
        }
    }

    /// Adds [`rows::CHAIN`] and what follows it.
    #[must_use]
    pub fn chained(mut self) -> Self {
        for step in 0..rows::LINKS {
            let id = |step: i64| format!("chain.{step}@x");
            let reply = match step {
                0 => String::new(),
                later => format!("In-Reply-To: <{}>\r\n", id(later - 1)),
            };
            self.put(
                self.archive,
                rows::CHAIN + step,
                mail(&id(step), "Chain", &reply),
            );
        }
        self
    }
}

fn multipart(id: &str, parts: &[&str]) -> String {
    let mut text = mail(id, "Parts", "").replace(
        "text/plain; charset=utf-8\r\n\r\n",
        "multipart/mixed; boundary=\"outer\"\r\n\r\n",
    );
    for part in parts {
        text.push_str(&format!("--outer\r\n{part}\r\n"));
    }
    text + "--outer--\r\n"
}

/// What stands inside the attachment of [`rows::PARTIAL`].
pub const INSIDE: &[u8] =
    b"The attachment, \xf0\x9f\x8c\x88 and all of it, long enough for a second line in base64.\n";

fn partial() -> Letter {
    let text = multipart(
        "partial@x",
        &[
            "Content-Type: text/plain; charset=utf-8\r\n\r\nSee below.\r\n",
            "Content-Type: multipart/related; boundary=\"inner\"\r\n\r\n--inner\r\nContent-Type: text/html\r\n\r\n<p>See\
             </p>\r\n--inner\r\nContent-Type: text/plain; name=\"inside.txt\"\r\nContent-Transfer-Encoding: base64\r\n\
             Content-Disposition: attachment; filename=\"inside.txt\"\r\nX-Apple-Content-Length: 112\r\n\r\n\r\n\
             --inner--\r\n",
            "Content-Type: application/pdf; name=\"away.pdf\"\r\nContent-Transfer-Encoding: base64\r\n\
             X-Apple-Content-Length: 4000\r\n\r\n",
        ],
    );
    Letter::new(text)
        .stored(Stored::Partial)
        .sidecar("2.2", "inside.txt", INSIDE)
}

fn header_only() -> Letter {
    let text = multipart(
        "bodiless@x",
        &["Content-Type: text/plain; charset=utf-8\r\nX-Apple-Content-Length: 900\r\n\r\n"],
    );
    Letter::new(text).stored(Stored::Partial)
}

fn other_name() -> Letter {
    let text = multipart(
        "other@x",
        &[
            "Content-Type: text/plain\r\n\r\nThe picture.\r\n",
            "Content-Type: image/png; name=\"a/b\"\r\nContent-Transfer-Encoding: base64\r\n\
             X-Apple-Content-Length: 12\r\n\r\n",
        ],
    );
    Letter::new(text)
        .stored(Stored::Partial)
        .sidecar("2", "a_b.png", b"\x89PNG\r\n\x1a\n")
}

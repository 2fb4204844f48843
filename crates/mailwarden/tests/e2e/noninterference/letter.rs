//! Messages whose facts are known because the test made them so.

use testkit::{Delivery, Flag};

use super::dice::Dice;

const DAY: u64 = 86_400;
const BOUNDARY: &str = "=_between";

/// Ages no rule and no criterion comes within two days of, so that it does not matter when a test runs.
const AGES: [u64; 7] = [3, 10, 45, 100, 200, 400, 800];

/// What a header says, and the sender that counts.
const SENDERS: [(Option<&str>, Option<&str>); 15] = [
    (Some("Anna <anna@good.example>"), Some("anna@good.example")),
    (Some("ANNA@GOOD.Example"), Some("anna@good.example")),
    (Some("otto@good.example"), Some("otto@good.example")),
    (
        Some("\"anna@good.example\" <mal@evil.example>"),
        Some("mal@evil.example"),
    ),
    (
        Some("=?utf-8?q?anna=40good=2Eexample?= <mal@evil.example>"),
        Some("mal@evil.example"),
    ),
    // Several senders, or a group: which one counts is unknown.
    (Some("mal@evil.example, anna@good.example"), None),
    (Some("anna@good.example, mal@evil.example"), None),
    (Some("Team: anna@good.example;"), None),
    (
        Some("=?utf-8?q?J=C3=B6rg?= <j@xn--mller-kva.example>"),
        Some("j@xn--mller-kva.example"),
    ),
    (
        Some("j@XN--MLLER-KVA.example"),
        Some("j@xn--mller-kva.example"),
    ),
    (Some("bob@sub.good.example"), Some("bob@sub.good.example")),
    (
        Some("good.example@evil.example"),
        Some("good.example@evil.example"),
    ),
    (Some("root"), None),
    (Some("undisclosed:;"), None),
    (None, None),
];

/// Header fields, the recipients (as written on the wire and as people read them), and whether these are all.
type Recipients = (
    &'static [(&'static str, &'static str)],
    &'static [(&'static str, &'static str)],
    bool,
);

const TEAM: (&str, &str) = ("team@corp.example", "team@corp.example");
const OTHER: (&str, &str) = ("x@other.example", "x@other.example");
const BOOKS: (&str, &str) = ("b@xn--bcher-kva.example", "b@bücher.example");

const RECIPIENTS: [Recipients; 10] = [
    (&[("To", "team@corp.example")], &[TEAM], true),
    (
        &[("To", "Team <TEAM@Corp.example>, x@other.example")],
        &[TEAM, OTHER],
        true,
    ),
    (
        &[("To", "x@other.example"), ("Cc", "team@corp.example")],
        &[OTHER, TEAM],
        true,
    ),
    (&[("To", "b@xn--bcher-kva.example")], &[BOOKS], true),
    (&[("To", "\"team\" <x@other.example>")], &[OTHER], true),
    (
        &[("To", "All: team@corp.example, x@other.example;")],
        &[TEAM, OTHER],
        true,
    ),
    (&[("Cc", "x@other.example")], &[OTHER], true),
    (&[("To", "undisclosed-recipients:;")], &[], false),
    (&[("To", "root, x@other.example")], &[], false),
    (&[], &[], false),
];

/// What a header says, and how it reads in lower case.
const SUBJECTS: [(&str, &str); 6] = [
    ("Rechnung 42", "rechnung 42"),
    ("=?utf-8?q?GEHEIM_f=C3=BCr_alle?=", "geheim für alle"),
    ("=?iso-8859-1?q?=DCber?= die Rechnung", "über die rechnung"),
    ("=?utf-8?b?UmVjaG51bmcgw7xiZXI=?=", "rechnung über"),
    ("uber", "uber"),
    ("Re: Re: [list] hello", "re: re: [list] hello"),
];

const DATES: [Option<&str>; 3] = [
    Some("Tue, 03 Nov 2026 09:12:00 +0100"),
    Some("yesterday"),
    None,
];

const FILES: [(&str, &str); 5] = [
    ("application/pdf", "pdf"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("image/png", "png"),
    ("text/calendar", "ics"),
];

pub(super) const KEYWORDS: [&str; 3] = ["$Forwarded", "urgent", "private"];

/// Everything that a message is made of, from what METADATA shows to what FULL does.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub(super) age: u64,
    pub(super) flags: Vec<Flag>,
    pub(super) keywords: Vec<&'static str>,
    /// As many octets at least.
    pub(super) least: usize,
    pub(super) envelope: Envelope,
    pub(super) headers: Headers,
    pub(super) body: Body,
    pub(super) attached: Vec<Attached>,
}

#[derive(Clone, Debug)]
pub(super) struct Envelope {
    date: Option<&'static str>,
    from: (Option<&'static str>, Option<&'static str>),
    recipients: Recipients,
    /// What stands there, and how it reads.
    subject: Option<(String, String)>,
    pub(super) word: String,
}

#[derive(Clone, Debug)]
pub(super) struct Headers {
    pub(super) word: String,
    lines: Vec<String>,
    /// Whether there can be attachments: the header tells.
    mixed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) word: String,
    html: bool,
    lines: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Attached {
    pub(super) word: String,
    kind: (&'static str, &'static str),
    lines: usize,
}

/// What a policy judges by.
pub(super) struct Facts<'a> {
    pub(super) from: Option<&'a str>,
    pub(super) recipients: &'a [(&'a str, &'a str)],
    pub(super) all_recipients: bool,
    pub(super) subject: Option<&'a str>,
    pub(super) has_attachment: bool,
    pub(super) age: u64,
    pub(super) size: u64,
}

impl Letter {
    pub(super) fn random(dice: &mut Dice) -> Self {
        let mixed = !dice.once_in(3);
        Self {
            age: DAY * AGES[dice.roll(AGES.len())] + DAY / 2,
            flags: flags(dice),
            keywords: KEYWORDS.into_iter().filter(|_| dice.once_in(4)).collect(),
            least: [0, 0, 3_000, 12_000][dice.roll(4)],
            envelope: Envelope::random(dice),
            headers: Headers::random(dice, mixed),
            body: Body::random(dice),
            attached: attachments(dice, mixed),
        }
    }

    /// Another message that looks the same to whoever may see so much of it.
    pub(super) fn beyond(&self, level: mail::Level, dice: &mut Dice) -> Self {
        use mail::Level;
        let mut other = Self::random(dice);
        if level >= Level::Metadata {
            other.age = self.age;
            other.flags.clone_from(&self.flags);
            other.keywords.clone_from(&self.keywords);
            other.least = self.least;
        }
        if level >= Level::Envelope {
            other.envelope = self.envelope.clone();
        }
        if level >= Level::Headers {
            other.headers = self.headers.clone();
            other.attached = attachments(dice, self.headers.mixed);
        }
        if level >= Level::Body {
            other.body = self.body.clone();
        }
        if level >= Level::Full {
            other.attached.clone_from(&self.attached);
        }
        other
    }

    /// A message that does not look the same to whoever may see just so much of it.
    pub(super) fn mutated(&self, level: mail::Level, dice: &mut Dice) -> Self {
        use mail::Level;
        let mut other = self.clone();
        match level {
            Level::None | Level::Count => {}
            Level::Metadata => match self.flags.contains(&Flag::Answered) {
                true => other.flags.retain(|flag| *flag != Flag::Answered),
                false => other.flags.push(Flag::Answered),
            },
            Level::Envelope => {
                while other.envelope.subject == self.envelope.subject {
                    other.envelope.subject = subject(dice, &mut other.envelope.word);
                }
            }
            Level::Headers => other.headers.word = dice.word(),
            Level::Body => other.body.word = dice.word(),
            Level::Full if other.attached.is_empty() => other.body.word = dice.word(),
            Level::Full => other.attached[0].word = dice.word(),
        }
        other
    }

    pub(super) fn raw(&self) -> Vec<u8> {
        let mut text = self.header();
        match self.headers.mixed {
            false => {
                text.push_str(&self.body.plain());
            }
            true => {
                let mut part = |head: &str, body: &str| {
                    text.push_str(&format!("--{BOUNDARY}\r\n{head}\r\n\r\n{body}\r\n"));
                };
                match self.body.html {
                    true => part("Content-Type: text/html; charset=utf-8", &self.body.page()),
                    false => part(
                        "Content-Type: text/plain; charset=utf-8",
                        &self.body.plain(),
                    ),
                }
                for one in &self.attached {
                    part(&one.head(), &one.text());
                }
                text.push_str(&format!("--{BOUNDARY}--\r\n"));
            }
        }
        fill(&mut text, self.least);
        text.into_bytes()
    }

    fn header(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name}: {value}\r\n"));
        let envelope = &self.envelope;
        if let Some(date) = envelope.date {
            line("Date", date);
        }
        if let Some(from) = envelope.from.0 {
            line("From", from);
        }
        for (name, value) in envelope.recipients.0 {
            line(name, value);
        }
        if let Some((subject, _)) = &envelope.subject {
            line("Subject", subject);
        }
        line("Message-ID", &format!("<{}@id.example>", self.headers.word));
        line("X-Note", &self.headers.word);
        for each in &self.headers.lines {
            text.push_str(each);
            text.push_str("\r\n");
        }
        text.push_str("MIME-Version: 1.0\r\nContent-Type: ");
        match self.headers.mixed {
            true => text.push_str(&format!("multipart/mixed; boundary=\"{BOUNDARY}\"\r\n\r\n")),
            false => text.push_str("text/plain; charset=utf-8\r\n\r\n"),
        }
        text
    }

    /// `octets` are those of [`Self::raw`].
    pub(super) fn facts(&self, octets: usize) -> Facts<'_> {
        let (_, recipients, all_recipients) = self.envelope.recipients;
        Facts {
            from: self.envelope.from.1,
            recipients,
            all_recipients,
            subject: self
                .envelope
                .subject
                .as_ref()
                .map(|(_, read)| read.as_str()),
            has_attachment: !self.attached.is_empty(),
            age: self.age,
            size: octets as u64,
        }
    }

    pub(super) fn delivery(&self, now: u64) -> Delivery {
        Delivery::new(self.raw())
            .at(now - self.age)
            .flags(&self.flags)
    }

    /// Words that stand in this message alone, wherever.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = vec![
            self.envelope.word.clone(),
            self.headers.word.clone(),
            self.body.word.clone(),
        ];
        words.extend(self.attached.iter().map(|one| one.word.clone()));
        words
    }
}

impl Envelope {
    fn random(dice: &mut Dice) -> Self {
        let mut word = String::new();
        Self {
            date: *dice.pick(&DATES),
            from: *dice.pick(&SENDERS),
            recipients: *dice.pick(&RECIPIENTS),
            subject: subject(dice, &mut word),
            word,
        }
    }

    pub(super) fn sender(&self) -> Option<&'static str> {
        self.from.1
    }
}

fn subject(dice: &mut Dice, word: &mut String) -> Option<(String, String)> {
    *word = dice.word();
    let (written, read) = dice.pick(&SUBJECTS);
    let subject = (format!("{written} {word}"), format!("{read} {word}"));
    (!dice.once_in(8)).then_some(subject)
}

impl Headers {
    fn random(dice: &mut Dice, mixed: bool) -> Self {
        let odd = [
            "Reply-To: secret@evil.example",
            "Bcc: team@corp.example",
            "X-Priority: 1 (Highest)",
            "Received: from a by b; Tue, 03 Nov 2026 09:12:00 +0100",
            "Authentication-Results: mx.example; spf=pass; dkim=fail",
            "List-Unsubscribe: <https://evil.example/u>",
            "In-Reply-To: <none@id.example>",
            "X-\u{fc}: \u{202e}odd",
        ];
        Self {
            word: dice.word(),
            lines: odd
                .into_iter()
                .filter(|_| dice.once_in(3))
                .map(str::to_owned)
                .collect(),
            mixed,
        }
    }
}

impl Body {
    fn random(dice: &mut Dice) -> Self {
        Self {
            word: dice.word(),
            html: dice.once_in(3),
            lines: dice.roll(8),
        }
    }

    fn plain(&self) -> String {
        let mut text = format!("Dear all, {}.\r\n", self.word);
        (0..self.lines).for_each(|line| text.push_str(&format!("Line {line} of the text.\r\n")));
        text
    }

    fn page(&self) -> String {
        let lines = self.plain().replace("\r\n", "<br>\r\n");
        format!("<p>{lines}</p><p style=\"display:none\">unseen</p>\r\n")
    }
}

impl Attached {
    fn head(&self) -> String {
        let ((kind, end), word) = (self.kind, &self.word);
        format!(
            "Content-Type: {kind}; name=\"{word}.{end}\"\r\n\
             Content-Disposition: attachment; filename=\"{word}.{end}\""
        )
    }

    fn text(&self) -> String {
        let line = format!("{},1,2,3\r\n", self.word);
        line.repeat(1 + self.lines)
    }
}

fn attachments(dice: &mut Dice, mixed: bool) -> Vec<Attached> {
    let most = if mixed { dice.roll(3) } else { 0 };
    let one = |dice: &mut Dice| Attached {
        word: dice.word(),
        kind: *dice.pick(&FILES),
        lines: dice.roll(5),
    };
    (0..most).map(|_| one(dice)).collect()
}

fn flags(dice: &mut Dice) -> Vec<Flag> {
    let all = [Flag::Seen, Flag::Flagged, Flag::Answered, Flag::Draft];
    all.into_iter().filter(|_| dice.once_in(3)).collect()
}

/// Lines behind the end, where no view looks, until it is large enough.
fn fill(text: &mut String, least: usize) {
    let missing = least.saturating_sub(text.len());
    let signs = (1..=missing).map(|at| match at % 72 {
        71 if at < missing => '\r',
        0 => '\n',
        _ => 'z',
    });
    text.extend(signs);
}

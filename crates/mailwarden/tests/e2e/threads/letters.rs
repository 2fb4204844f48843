//! Letters that answer each other. Where they lie is the test's business.

use testkit::{Delivery, Flag};

/// 2026-03-05 08:00 UTC and so many days later.
pub(crate) fn day(number: u64) -> u64 {
    1_772_697_600 + number * 86_400
}

/// A letter about a kiln, from Anna to Alice, unless more is said.
#[derive(Clone)]
pub(crate) struct Letter {
    id: String,
    from: String,
    subject: String,
    after: Vec<String>,
    time: u64,
    more: String,
    text: String,
    flags: Vec<Flag>,
}

impl Letter {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            from: "Anna Adler <anna@talk.example>".to_owned(),
            subject: "The kiln".to_owned(),
            after: Vec::new(),
            time: day(1),
            more: String::new(),
            text: "About the kiln.".to_owned(),
            flags: Vec::new(),
        }
    }

    pub(crate) fn from(mut self, from: &str) -> Self {
        from.clone_into(&mut self.from);
        self
    }

    pub(crate) fn subject(mut self, subject: &str) -> Self {
        subject.clone_into(&mut self.subject);
        self
    }

    /// The messages it stands under, the one that it answers last.
    pub(crate) fn after(mut self, ids: &[&str]) -> Self {
        self.after = ids.iter().map(|id| format!("<{id}>")).collect();
        self
    }

    pub(crate) fn on(mut self, time: u64) -> Self {
        self.time = time;
        self
    }

    /// Lines of the header.
    pub(crate) fn header(mut self, lines: &str) -> Self {
        self.more.push_str(lines);
        self
    }

    pub(crate) fn says(mut self, text: &str) -> Self {
        text.clone_into(&mut self.text);
        self
    }

    pub(crate) fn flags(mut self, flags: &[Flag]) -> Self {
        flags.clone_into(&mut self.flags);
        self
    }

    pub(crate) fn delivery(&self) -> Delivery {
        let mut links = String::new();
        if let Some(parent) = self.after.last() {
            let all = self.after.join("\r\n ");
            links = format!("References: {all}\r\nIn-Reply-To: {parent}\r\n");
        }
        let kind = match self.more.contains("Content-Type:") {
            true => "",
            false => "Content-Type: text/plain; charset=utf-8\r\n",
        };
        let time = jiff::Timestamp::from_second(self.time.try_into().unwrap()).unwrap();
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(1));
        let date = time.to_zoned(zone).strftime("%a, %d %b %Y %H:%M:%S %z");
        let raw = format!(
            "Date: {date}\r\nFrom: {}\r\nTo: Alice <alice@talk.example>\r\nSubject: {}\r\nMessage-ID: <{}>\r\n\
             {links}MIME-Version: 1.0\r\n{kind}{}\r\n{}\r\n",
            self.from, self.subject, self.id, self.more, self.text,
        );
        Delivery::new(raw).at(self.time).flags(&self.flags)
    }
}

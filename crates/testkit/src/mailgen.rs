//! Synthetic mail in any amount: message `i` of a seed is always the same bytes. Well-formed only; oddities are in
//! [`crate::fixtures`].

mod body;
mod encode;
mod rng;
mod words;

use crate::delivery::{Date, Delivery, Flag};
pub(crate) use encode::base64_lines;
use encode::encoded_words;
pub use rng::Rng;
use std::fmt::Write as _;
use words::Vocabulary;

/// 2016-01-01; a million messages end before 2026.
const EPOCH: u64 = 1_451_606_400;
const SPACING: u64 = 300;

const PEOPLE: [(&str, &str, &str); 12] = [
    ("Anna Adler", "anna.adler", "example.com"),
    ("Bruno Björk", "bruno", "example.org"),
    ("Chloé Costa", "chloe.costa", "mail.example.net"),
    ("Dmitri Dvořák", "dvorak", "corp.example"),
    ("Elif Eriksson", "elif", "uni.example"),
    ("Fatima Fischer", "f.fischer", "example.com"),
    ("Göran García", "goran.garcia", "shop.example"),
    ("花子 田中", "hanako", "example.org"),
    ("Igor Ivanov", "igor", "corp.example"),
    ("José Jansen", "jose.jansen", "example.net"),
    ("Кирилл Ковальский", "kirill", "uni.example"),
    ("Lena Lopez", "lena", "example.com"),
];
const TOPICS: [&str; 6] = [
    "Überweisung",
    "Счёт-фактура",
    "請求書のご案内",
    "Réunion d’équipe",
    "فاتورة",
    "📦 Paket",
];
const LISTS: [&str; 5] = ["dev", "announce", "ops", "team-berlin", "issues"];

/// A source of messages, each a pure function of the seed and its number.
#[derive(Clone, Debug)]
pub struct Mailgen {
    seed: u64,
    vocabulary: Vocabulary,
}

impl Mailgen {
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            vocabulary: Vocabulary::new(),
        }
    }

    /// Message `i`: holds the word `uniq{i}x` in its text, and no message before it is younger.
    pub fn message(&self, i: u64) -> Delivery {
        let mut rng = Rng::new(self.seed, i);
        let unix_time = EPOCH + i * SPACING + rng.below(SPACING);
        let thread = (i > 20 && rng.percent(50)).then(|| i - 1 - rng.below(19));
        let mut raw = self.header(&mut rng, i, unix_time, thread).into_bytes();
        body::write(&mut raw, &mut rng, &self.vocabulary, i, thread);
        Delivery {
            raw,
            unix_time,
            flags: flags(&mut rng),
        }
    }

    /// Messages `0..count`.
    pub fn messages(&self, count: u64) -> impl Iterator<Item = Delivery> + '_ {
        (0..count).map(|i| self.message(i))
    }

    fn header(&self, rng: &mut Rng, i: u64, unix_time: u64, thread: Option<u64>) -> String {
        let (name, local, domain) = *rng.pick(&PEOPLE);
        let date = rfc5322_date(unix_time);
        let mut out = String::with_capacity(2048);
        let _ = write!(
            out,
            "Return-Path: <{local}@{domain}>\r\n\
             Received: from mx{}.{domain} (mx.{domain} [192.0.2.{}])\r\n\tby in.example.com with ESMTPS id {:08X};\r\n\t{date}\r\n\
             Authentication-Results: in.example.com; dkim={} header.d={domain}; spf=pass\r\n\tsmtp.mailfrom={domain}\r\n\
             Date: {date}\r\nFrom: {} <{local}@{domain}>\r\n",
            rng.below(9),
            1 + rng.below(254),
            rng.below(1 << 32),
            if rng.percent(90) { "pass" } else { "fail" },
            encoded_words(name),
        );
        let list = rng.percent(30).then(|| *rng.pick(&LISTS));
        match list {
            Some(list) => {
                let _ = write!(
                    out,
                    "To: {list}@lists.example.org\r\nList-Id: {list} list <{list}.lists.example.org>\r\n\
                     List-Unsubscribe: <mailto:{list}-leave@lists.example.org>\r\nPrecedence: list\r\n"
                );
            }
            None => out.push_str("To: Alice <alice@example.com>\r\n"),
        }
        if rng.percent(25) {
            let (name, local, domain) = *rng.pick(&PEOPLE);
            let _ = write!(out, "Cc: {} <{local}@{domain}>\r\n", encoded_words(name));
        }
        let _ = write!(out, "Message-ID: {}\r\n", self.message_id(i));
        if let Some(parent) = thread {
            let grandparent = parent.saturating_sub(1 + rng.below(5));
            let (parent, grandparent) = (self.message_id(parent), self.message_id(grandparent));
            let _ = write!(
                out,
                "In-Reply-To: {parent}\r\nReferences: {grandparent}\r\n {parent}\r\n"
            );
        }
        let reply = if thread.is_some() { "Re: " } else { "" };
        let topic = if rng.percent(10) {
            format!("{} ", rng.pick(&TOPICS))
        } else {
            String::new()
        };
        let subject = self
            .vocabulary
            .sentence(rng)
            .trim_end_matches(['.', '?', '!']);
        let _ = write!(
            out,
            "Subject: {}\r\nMIME-Version: 1.0\r\n",
            encoded_words(&format!("{reply}{topic}{subject}"))
        );
        out
    }

    fn message_id(&self, i: u64) -> String {
        format!("<m{i}.s{}@gen.example>", self.seed)
    }
}

fn flags(rng: &mut Rng) -> Vec<Flag> {
    [(Flag::Flagged, 5), (Flag::Answered, 10), (Flag::Seen, 80)]
        .into_iter()
        .filter_map(|(flag, percent)| rng.percent(percent).then_some(flag))
        .collect()
}

fn rfc5322_date(unix_time: u64) -> String {
    let date = Date::from_unix(unix_time);
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} +0000",
        date.weekday_name,
        date.day,
        date.month_name,
        date.year,
        date.hour,
        date.minute,
        date.second
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_depends_on_seed_and_number_only() {
        let (one, again, other) = (Mailgen::new(1), Mailgen::new(1), Mailgen::new(2));
        let all: Vec<_> = one.messages(300).collect();
        assert_eq!(all[123], again.message(123));
        assert_ne!(all[123].raw, other.message(123).raw);
        assert!(all.is_sorted_by_key(|message| message.unix_time));
    }

    #[test]
    fn the_mix_has_everything() {
        let all: Vec<_> = Mailgen::new(1)
            .messages(500)
            .map(|message| message.raw)
            .collect();
        let text = String::from_utf8_lossy(&all.concat()).into_owned();
        for sign in [
            "In-Reply-To:",
            "List-Id:",
            "=?utf-8?B?",
            "multipart/alternative",
            "multipart/mixed",
            "text/calendar",
            "quoted-printable",
            "Content-Transfer-Encoding: base64",
            "8bit",
            "iso-8859-1",
            "windows-1252",
            "iso-2022-jp",
            "Content-Disposition: attachment",
            "filename*=utf-8''",
        ] {
            assert!(text.contains(sign), "no {sign}");
        }
        assert!(text.contains("uniq7x") || text.contains("uniq8x"));
        for raw in &all {
            let bare = memchr::memchr_iter(b'\n', raw).any(|at| raw[at - 1] != b'\r');
            assert!(
                !bare && raw.ends_with(b"\r\n"),
                "{}",
                String::from_utf8_lossy(raw)
            );
            assert!(
                raw.split(|byte| *byte == b'\n')
                    .all(|line| line.len() < 999)
            );
        }
    }

    #[test]
    fn dates_are_right() {
        assert_eq!(rfc5322_date(EPOCH), "Fri, 01 Jan 2016 00:00:00 +0000");
        assert_eq!(
            rfc5322_date(1_709_210_096),
            "Thu, 29 Feb 2024 12:34:56 +0000"
        );
    }
}

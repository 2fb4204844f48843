//! Facts: what a policy may look at in a message, in the one form in which it is compared.
//!
//! The same forms are made from what mail says and from what a policy says, so that both sides are spelled alike.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

/// What is known about one message. What is not known is absent, never a default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Facts<'a> {
    /// The one sender, in the form of [`MailAddress`].
    pub from: Option<&'a str>,
    pub recipients: Recipients<'a>,
    /// In the form of [`Folded`].
    pub subject: Option<&'a str>,
    pub has_attachment: Option<bool>,
    /// INTERNALDATE in seconds since 1970.
    pub arrived: Option<i64>,
    /// RFC822.SIZE in octets.
    pub size: Option<u64>,
}

/// All To and Cc addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recipients<'a> {
    /// In the form of [`MailAddress`], one a line.
    pub lines: &'a str,
    /// Every recipient that the message names is among them, and it names at least one.
    pub known: Known,
}

/// Whether a list is all there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Known {
    Whole,
    #[default]
    NotWhole,
}

impl<'a> Recipients<'a> {
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        self.lines.lines()
    }
}

/// A domain in the one form in which domains are compared: lower case, IDN as A-labels, no dot at the end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Domain(String);

impl Domain {
    /// `None` for what can be no domain of a mail address.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let ascii = idna::domain_to_ascii_cow(text.as_bytes(), idna::AsciiDenyList::EMPTY).ok()?;
        let fits = |byte: u8| byte.is_ascii_graphic() && !b"@<>,;()*\"\\".contains(&byte);
        let good = !ascii.is_empty()
            && ascii.len() <= 253
            && ascii.bytes().all(fits)
            && ascii.split('.').all(|label| !label.is_empty());
        (good && spelled(text, &ascii)).then(|| Self(ascii.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether each label is written as one of its two forms, case and composition aside. What only becomes a domain by
/// leaving signs out or changing them (full-width letters, soft hyphens, other dots) is meant to deceive, and no search for the
/// domain would find it.
fn spelled(text: &str, ascii: &str) -> bool {
    let same = |(label, form): (&str, &str)| {
        if label.is_ascii() {
            return label.eq_ignore_ascii_case(form);
        }
        let (unicode, _) = idna::domain_to_unicode(form);
        !unicode.is_ascii() && Folded::new(label) == Folded::new(&unicode)
    };
    let (written, formed) = (text.split('.'), ascii.split('.'));
    text.is_ascii()
        || written.clone().count() == formed.clone().count() && written.zip(formed).all(same)
}

/// `local@domain` in the one form in which addresses are compared: both halves without regard to case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MailAddress(String);

impl MailAddress {
    pub fn new(local: &str, domain: &str) -> Option<Self> {
        let Folded(local) = Folded::new(local);
        let good = !local.is_empty()
            && local.len() <= 1_024
            && !local.chars().any(|c| c.is_control() || c.is_whitespace());
        let domain = Domain::new(domain)?;
        good.then(|| Self(format!("{local}@{}", domain.as_str())))
    }

    /// Reads `local@domain`; the last `@` is the one between them.
    pub fn parse(text: &str) -> Option<Self> {
        let (local, domain) = text.rsplit_once('@')?;
        Self::new(local, domain)
    }

    /// In the form of [`Domain`].
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Text in the one form in which substrings are looked for: NFC, without regard to case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Folded(String);

impl Folded {
    pub fn new(text: &str) -> Self {
        if text.is_ascii() {
            return Self(text.to_ascii_lowercase());
        }
        // Lower case may take a composed letter apart (İ), so the form is taken afterwards.
        let lower: String = text.nfc().flat_map(char::to_lowercase).collect();
        Self(lower.nfc().collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Folded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may be a subject.
        write!(f, "Folded({} bytes)", self.0.len())
    }
}

/// Facts that stand on their own, text and all.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct FactsBuf {
    pub from: Option<MailAddress>,
    pub recipients: Vec<MailAddress>,
    pub recipients_known: Known,
    pub subject: Option<Folded>,
    pub has_attachment: Option<bool>,
    pub arrived: Option<i64>,
    pub size: Option<u64>,
}

impl FactsBuf {
    /// The recipients as [`Recipients::lines`] wants them.
    pub fn recipient_lines(&self) -> String {
        let lines: Vec<&str> = self.recipients.iter().map(MailAddress::as_str).collect();
        lines.join("\n")
    }

    /// `lines` are [`recipient_lines`](Self::recipient_lines).
    pub fn borrow<'a>(&'a self, lines: &'a str) -> Facts<'a> {
        Facts {
            from: self.from.as_ref().map(MailAddress::as_str),
            recipients: Recipients {
                lines,
                known: self.recipients_known,
            },
            subject: self.subject.as_ref().map(Folded::as_str),
            has_attachment: self.has_attachment,
            arrived: self.arrived,
            size: self.size,
        }
    }
}

impl fmt::Debug for FactsBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FactsBuf(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_one_spelling() {
        for (text, want) in [
            ("Hornbach.DE", Some("hornbach.de")),
            ("hornbach.de.", Some("hornbach.de")),
            ("müller.example", Some("xn--mller-kva.example")),
            ("MÜLLER.example", Some("xn--mller-kva.example")),
            ("mu\u{308}ller.example", Some("xn--mller-kva.example")),
            ("xn--mller-kva.example", Some("xn--mller-kva.example")),
            ("XN--MLLER-KVA.EXAMPLE", Some("xn--mller-kva.example")),
            ("my_host", Some("my_host")),
            ("[192.0.2.1]", Some("[192.0.2.1]")),
            ("", None),
            (".", None),
            ("a..b", None),
            ("a b", None),
            ("a@b", None),
            ("*.example", None),
            ("a\nb", None),
            ("hornbach.de..", None),
            (
                "bücher.xn--mller-kva.example",
                Some("xn--bcher-kva.xn--mller-kva.example"),
            ),
            (
                "BÜCHER.İx.example",
                Some("xn--bcher-kva.xn--ix-rub.example"),
            ),
            ("ᎠᎡ.example", Some("xn--58dc.example")),
            ("ｈornbach.de", None),
            ("horn\u{ad}bach.de", None),
            ("hornbach。de", None),
            ("mar\u{212a}t.de", None),
            ("mü。example.de", None),
            ("xn--hornbach-.de", None),
        ] {
            let domain = Domain::new(text);
            assert_eq!(domain.as_ref().map(Domain::as_str), want, "{text:?}");
        }
    }

    #[test]
    fn addresses_have_one_spelling() {
        for (text, want) in [
            ("Alice@Example.COM.", Some("alice@example.com")),
            ("o'neil+x@example.com", Some("o'neil+x@example.com")),
            ("a@b@example.com", Some("a@b@example.com")),
            ("JÖRG@müller.example", Some("jörg@xn--mller-kva.example")),
            ("alice", None),
            ("@example.com", None),
            ("a b@example.com", None),
            ("a\nb@example.com", None),
        ] {
            let address = MailAddress::parse(text);
            assert_eq!(address.as_ref().map(MailAddress::as_str), want, "{text:?}");
        }
    }

    #[test]
    fn folding_is_stable() {
        for (text, want) in [
            ("RECHNUNG", "rechnung"),
            ("U\u{308}BER", "über"),
            ("ÜBER", "über"),
            ("İ", "i\u{307}"),
        ] {
            let folded = Folded::new(text);
            assert_eq!(folded.as_str(), want, "{text}");
            assert_eq!(Folded::new(folded.as_str()), folded, "{text}");
        }
    }
}

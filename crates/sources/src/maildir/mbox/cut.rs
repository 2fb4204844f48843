//! Where one message ends and the next begins, line by line.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use mail::Flag;
use sha2::{Digest as _, Sha256};

use super::Quoting;
use super::internal::Internal;
use super::lines::Line;
use super::separator;
use super::status;
use super::unquote::is_quoted;

/// So many messages of one file are told apart.
const MOST_MESSAGES: usize = 2_000_000;
/// So much of a text is part of what a message is.
const MOST_TEXT: usize = 4 * 1024;
/// The end of one message, the line that begins the next, and its first field.
const BETWEEN: u64 = 1_200;
/// The name of a field, and what ends it.
const FIELD_NAME: u64 = 80;

/// One message as it was cut.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) separator: u64,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) size: u64,
    pub(super) quoting: Quoting,
    /// Seconds since 1970.
    pub(super) sent: i64,
    pub(super) flags: Vec<Flag>,
    pub(super) identity: [u8; 16],
}

/// Takes lines, gives messages.
pub(super) struct Cutter {
    cuts: Vec<Cut>,
    open: Option<Open>,
    /// Where an empty line began, if the last line was one.
    blank: Option<u64>,
    /// Where the last line ended.
    after: u64,
    /// The same file once more, to look ahead in.
    probe: File,
}

/// A message whose end was not met yet.
struct Open {
    separator: u64,
    begin: u64,
    sent: i64,
    /// Whether the line that begins it told when it came; if not, its header may.
    dated: Dated,
    part: Part,
    /// The last field was one that programs write for themselves: so are the lines that go on with it.
    own: Own,
    /// What its header says of the length of the text.
    length: Option<u64>,
    /// The end that its header tells, where that fits.
    told: Option<u64>,
    /// Lines whose quoting is taken away.
    quoted: u64,
    flags: Vec<Flag>,
    digest: Sha256,
    text: usize,
    internal: Internal,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Header,
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dated {
    Yes,
    No,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Yes,
    No,
}

impl Cutter {
    pub(super) fn new(probe: File) -> Self {
        Self {
            cuts: Vec::new(),
            open: None,
            blank: None,
            after: 0,
            probe,
        }
    }

    pub(super) fn take(&mut self, line: &Line<'_>) -> io::Result<()> {
        match self.begins(line)? {
            Some((sent, dated)) => self.begin(line, sent, dated)?,
            None => self.go_on(line)?,
        }
        self.blank = line.is_blank().then_some(line.offset);
        self.after = line.after();
        Ok(())
    }

    pub(super) fn end(mut self) -> io::Result<Vec<Cut>> {
        self.close()?;
        Ok(self.cuts)
    }

    /// When the message came that begins here, if one does: after an empty line, or where the one before said it ends.
    ///
    /// QUIRK: some programs leave out the empty line, and some the date. A header must follow then, or it is a sentence.
    fn begins(&mut self, line: &Line<'_>) -> io::Result<Option<(i64, Dated)>> {
        if !line.head.starts_with(b"From ") {
            return Ok(None);
        }
        let before = self.open.as_ref();
        let in_header = before.is_some_and(|open| open.part == Part::Header);
        let (may, is_apart) = match before.and_then(|open| open.told) {
            Some(told) => (line.offset >= told, true),
            None => (
                !in_header || self.blank.is_some(),
                self.blank.is_some() || before.is_none(),
            ),
        };
        let sent = separator::sent(line.head).map(|sent| (sent, Dated::Yes));
        if !may || (sent.is_some() && is_apart) {
            return Ok(sent.filter(|_| may));
        }
        let undated = || is_apart && separator::is_undated(line.head);
        if (sent.is_some() || undated()) && self.header_at(line.after())? {
            let latest = self.cuts.last().map_or(0, |cut| cut.sent);
            return Ok(sent.or(Some((latest, Dated::No))));
        }
        Ok(None)
    }

    fn header_at(&mut self, place: u64) -> io::Result<bool> {
        self.probe.seek(SeekFrom::Start(place))?;
        let mut here = Vec::new();
        self.probe
            .by_ref()
            .take(FIELD_NAME)
            .read_to_end(&mut here)?;
        Ok(separator::is_header(&here))
    }

    fn begin(&mut self, line: &Line<'_>, sent: i64, dated: Dated) -> io::Result<()> {
        self.close()?;
        let mut digest = Sha256::new();
        digest.update(line.head);
        self.open = Some(Open {
            separator: line.offset,
            begin: line.after(),
            sent,
            dated,
            part: Part::Header,
            own: Own::No,
            length: None,
            told: None,
            quoted: 0,
            flags: Vec::new(),
            digest,
            text: 0,
            internal: Internal::begin(line.head),
        });
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        // The empty line before the next message belongs to neither.
        let end = open.told.or(self.blank).unwrap_or(self.after);
        let end = end.max(open.begin);
        if open.separator == 0 && open.internal.is_the_folders() {
            return Ok(());
        }
        if self.cuts.len() >= MOST_MESSAGES {
            let why = "too many messages in one file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut identity = [0; 16];
        let digest = open.digest.finalize();
        identity
            .iter_mut()
            .zip(digest)
            .for_each(|(to, from)| *to = from);
        self.cuts.push(Cut {
            separator: open.separator,
            begin: open.begin,
            end,
            size: (end - open.begin).saturating_sub(open.quoted),
            quoting: match open.told {
                Some(_) => Quoting::Verbatim,
                None => Quoting::Prefixed,
            },
            sent: open.sent,
            flags: open.flags,
            identity,
        });
        Ok(())
    }

    fn go_on(&mut self, line: &Line<'_>) -> io::Result<()> {
        let Some(open) = &mut self.open else {
            let why = "no mbox file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        };
        match open.part {
            Part::Text => open.text(line),
            Part::Header if line.is_blank() => {
                open.part = Part::Text;
                if let Some(end) = open.length.and_then(|long| line.after().checked_add(long))
                    && fits(&mut self.probe, end)?
                {
                    open.told = Some(end);
                }
            }
            Part::Header => open.header(line.head),
        }
        Ok(())
    }
}

impl Open {
    fn header(&mut self, line: &[u8]) {
        self.internal.line(line);
        if self.dated == Dated::No
            && let Some(sent) = dated(line)
        {
            self.sent = sent;
            self.dated = Dated::Yes;
        }
        let goes_on = matches!(line.first(), Some(b' ' | b'\t'));
        if goes_on && self.own == Own::Yes {
            return;
        }
        match status::own(line).filter(|_| !goes_on) {
            Some((name, value)) => {
                self.own = Own::Yes;
                status::read(name, value, &mut self.flags);
                if name == "content-length" && self.length.is_none() {
                    self.length = number(value);
                }
            }
            None => {
                self.own = Own::No;
                self.digest.update(b"\n");
                self.digest.update(line);
            }
        }
    }

    fn text(&mut self, line: &Line<'_>) {
        let mut head = line.head;
        if self.told.is_none() && is_quoted(head) {
            self.quoted += 1;
            head = head.get(1..).unwrap_or_default();
        }
        // Neither line ends nor empty lines: the end of the last message is written differently once another follows.
        let room = MOST_TEXT.saturating_sub(self.text);
        let taken = head.get(..room).unwrap_or(head);
        if !taken.is_empty() {
            self.digest.update(b"\n");
            self.digest.update(taken);
            self.text += taken.len();
        }
    }
}

/// Whether a message that ends here is followed by another, or by nothing. QUIRK: lengths are wrong where a program that
/// does not know of them changed a message, and senders write them too.
fn fits(probe: &mut File, end: u64) -> io::Result<bool> {
    probe.seek(SeekFrom::Start(end.saturating_sub(1)))?;
    let mut here = Vec::new();
    probe.by_ref().take(BETWEEN).read_to_end(&mut here)?;
    let Some((last, rest)) = here.split_first() else {
        return Ok(false);
    };
    let begins = |rest: &[u8]| rest.is_empty() || separator::begins(rest);
    let behind_blank = rest
        .strip_prefix(b"\r\n")
        .or_else(|| rest.strip_prefix(b"\n"));
    let fits = behind_blank.is_some_and(begins) || (*last == b'\n' && begins(rest));
    Ok(fits || rest.is_empty())
}

/// The time that a `Date` field tells, if this line is one.
fn dated(line: &[u8]) -> Option<i64> {
    const NAME: &[u8] = b"date:";
    let (name, value) = line.split_at_checked(NAME.len())?;
    let value = std::str::from_utf8(value).ok()?.trim();
    let zoned = jiff::fmt::rfc2822::parse(value);
    let found = zoned.ok().filter(|_| name.eq_ignore_ascii_case(NAME))?;
    Some(found.timestamp().as_second())
}

fn number(value: &[u8]) -> Option<u64> {
    let digits = (1..=18).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok())?
}

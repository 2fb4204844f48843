//! What parent and child say to each other: a line of words, then bytes.
//!
//! A request is `extract FORMAT MAX_CHARS LENGTH` and the attachment, or `probe WHAT`. A reply is
//! `text CUT EMPTY HIDDEN UNCERTAIN LENGTH`, as many lines `REASON CHARS` and `REASON START END`,
//! and the text; `fault NAME`, or `probed` and its findings. Reasons are numbers. The parent
//! believes nothing that a reply says beyond what it can check.

use std::io::{self, Read, Write};

use mail::{
    EmptyReason, ExtractFault, ExtractedText, Format, HidingReason, MAX_UNCERTAIN_RUNS, Raw,
    UncertainRun,
};

use crate::protections::{Protection, State};

/// Of the first line, either way.
pub(crate) const MAX_LINE: usize = 80;
/// Bytes of the lines between the first one and the text.
pub(crate) const MAX_REASONS_BYTES: usize =
    (MAX_UNCERTAIN_RUNS + HidingReason::ALL.len()) * MAX_REASON_LINE;
/// Three numbers.
const MAX_REASON_LINE: usize = 48;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Extract {
        format: Format,
        max_chars: usize,
        length: usize,
    },
    Probe(Probe),
}

/// What the child tries to do although it must not be able to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Nothing: it tells what it could put in force.
    Report,
    File,
    Socket,
    Program,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Text(ExtractedText),
    Fault(ExtractFault),
    Probed(Vec<Protection>),
}

impl Probe {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Report, "report"),
        (Self::File, "file"),
        (Self::Socket, "socket"),
        (Self::Program, "program"),
    ];

    fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(probe, _)| *probe == self);
        known.map_or("", |(_, name)| name)
    }
}

impl Request {
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Extract {
                format,
                max_chars,
                length,
            } => format!("extract {} {max_chars} {length}\n", format.name()),
            Self::Probe(probe) => format!("probe {}\n", probe.name()),
        }
    }

    /// The line of a request; what follows it is left unread.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let line = read_line(from)?;
        let words: Vec<&str> = line.split(' ').collect();
        let number = |text: &str| text.parse().map_err(|_| strange());
        match words.as_slice() {
            ["extract", format, max_chars, length] => Ok(Self::Extract {
                format: Format::named(format).ok_or_else(strange)?,
                max_chars: number(max_chars)?,
                length: number(length)?,
            }),
            ["probe", what] => {
                let known = Probe::ALL.iter().find(|(_, name)| name == what);
                known
                    .map(|(probe, _)| Self::Probe(*probe))
                    .ok_or_else(strange)
            }
            _ => Err(strange()),
        }
    }
}

impl Reply {
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Text(done) => {
                let bytes = done.text.bytes();
                let cut = u8::from(done.cut);
                let empty = EmptyReason::ALL
                    .iter()
                    .position(|reason| Some(*reason) == done.empty);
                let empty = empty.map_or_else(|| "-".to_owned(), |at| at.to_string());
                let (hidden, uncertain) = (done.hidden.len(), done.uncertain.len());
                writeln!(
                    to,
                    "text {cut} {empty} {hidden} {uncertain} {}",
                    bytes.len()
                )?;
                for (reason, chars) in &done.hidden {
                    writeln!(to, "{} {chars}", number_of(*reason))?;
                }
                for run in &done.uncertain {
                    writeln!(to, "{} {} {}", number_of(run.reason), run.start, run.end)?;
                }
                to.write_all(bytes)?;
            }
            Self::Fault(fault) => {
                let known = FAULTS.iter().find(|(known, _)| known == fault);
                writeln!(to, "fault {}", known.map_or("crashed", |(_, name)| name))?;
            }
            Self::Probed(found) => {
                writeln!(to, "probed")?;
                for Protection { name, state } in found {
                    match state {
                        State::InForce => writeln!(to, "{name}\tin force")?,
                        State::Missing(why) => writeln!(to, "{name}\t{why}")?,
                    }
                }
            }
        }
        to.flush()
    }

    /// A whole reply, or nothing when it is none.
    pub(crate) fn parse(bytes: &[u8], max_chars: usize) -> Option<Self> {
        let end = bytes
            .iter()
            .take(MAX_LINE)
            .position(|octet| *octet == b'\n')?;
        let (line, rest) = bytes.split_at_checked(end)?;
        let rest = rest.get(1..)?;
        let words: Vec<&str> = std::str::from_utf8(line).ok()?.split(' ').collect();
        match words.as_slice() {
            ["text", cut, empty, hidden, uncertain, length] => {
                let (hidden, rest) = hidden_counts(rest, hidden.parse().ok()?)?;
                let (uncertain, rest) = uncertain_runs(rest, uncertain.parse().ok()?)?;
                let text = std::str::from_utf8(rest).ok()?;
                let whole = length.parse() == Ok(rest.len());
                let chars = text.chars().count();
                let inside = uncertain.last().is_none_or(|run| run.end <= chars);
                if !whole || chars > max_chars || !inside {
                    return None;
                }
                let empty = match *empty {
                    "-" => None,
                    number => Some(*EmptyReason::ALL.get(number.parse::<usize>().ok()?)?),
                };
                Some(Self::Text(ExtractedText {
                    text: Raw::copied(rest),
                    cut: *cut == "1",
                    hidden,
                    uncertain,
                    empty,
                }))
            }
            ["fault", name] => {
                let known = FAULTS.iter().find(|(_, known)| known == name);
                known.map(|(fault, _)| Self::Fault(*fault))
            }
            ["probed"] => {
                let lines = std::str::from_utf8(rest).ok()?.lines();
                let found = lines.map(|line| {
                    let (name, state) = line.split_once('\t')?;
                    Some(Protection {
                        name: name.to_owned(),
                        state: match state {
                            "in force" => State::InForce,
                            why => State::Missing(why.to_owned()),
                        },
                    })
                });
                found.collect::<Option<Vec<_>>>().map(Self::Probed)
            }
            _ => None,
        }
    }
}

fn number_of(reason: HidingReason) -> usize {
    let known = HidingReason::ALL.iter().position(|one| *one == reason);
    known.unwrap_or_default()
}

/// Numbers of one line, the first of them a reason.
fn reason_line(bytes: &[u8]) -> Option<(HidingReason, Vec<usize>, &[u8])> {
    let end = bytes
        .iter()
        .take(MAX_REASON_LINE)
        .position(|octet| *octet == b'\n')?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let mut numbers = line.split(' ').map(|word| word.parse::<usize>().ok());
    let reason = HidingReason::ALL.get(numbers.next()??)?;
    let numbers = numbers.collect::<Option<Vec<_>>>()?;
    Some((*reason, numbers, bytes.get(end + 1..)?))
}

type Counts = Vec<(HidingReason, usize)>;

fn hidden_counts(mut bytes: &[u8], lines: usize) -> Option<(Counts, &[u8])> {
    let mut counts = Counts::new();
    if lines > HidingReason::ALL.len() {
        return None;
    }
    for _ in 0..lines {
        let (reason, numbers, rest) = reason_line(bytes)?;
        let [chars] = numbers.as_slice() else {
            return None;
        };
        counts.push((reason, *chars));
        bytes = rest;
    }
    Some((counts, bytes))
}

/// In order, none empty, none overlapping another.
fn uncertain_runs(mut bytes: &[u8], lines: usize) -> Option<(Vec<UncertainRun>, &[u8])> {
    let mut runs: Vec<UncertainRun> = Vec::new();
    if lines > MAX_UNCERTAIN_RUNS {
        return None;
    }
    for _ in 0..lines {
        let (reason, numbers, rest) = reason_line(bytes)?;
        let [start, end] = *numbers.as_slice() else {
            return None;
        };
        if start >= end || runs.last().is_some_and(|last| start < last.end) {
            return None;
        }
        runs.push(UncertainRun { start, end, reason });
        bytes = rest;
    }
    Some((runs, bytes))
}

/// What a child may say of itself; that it took too long is for the parent to say.
const FAULTS: [(ExtractFault, &str); 5] = [
    (ExtractFault::TooLarge, "too-large"),
    (ExtractFault::Encrypted, "encrypted"),
    (ExtractFault::Malformed, "malformed"),
    (ExtractFault::Bomb, "bomb"),
    (ExtractFault::Crashed, "crashed"),
];

fn read_line(from: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut octet = [0];
    loop {
        from.read_exact(&mut octet)?;
        match octet {
            [b'\n'] => break,
            [other] if line.len() < MAX_LINE => line.push(other),
            _ => return Err(strange()),
        }
    }
    String::from_utf8(line).map_err(|_| strange())
}

fn strange() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_as_they_were() {
        let probes = Probe::ALL.map(|(probe, _)| Request::Probe(probe));
        let jobs = Format::ALL.map(|format| Request::Extract {
            format,
            max_chars: 50_000,
            length: 5_242_880,
        });
        for request in probes.into_iter().chain(jobs) {
            let line = request.line();
            assert!(line.len() <= MAX_LINE);
            assert_eq!(
                Request::read(&mut line.as_bytes()).expect("a request"),
                request
            );
        }
        for strange in [
            "",
            "extract pdf 1\n",
            "extract exe 1 1\n",
            "probe all\n",
            "quit\n",
        ] {
            assert!(Request::read(&mut strange.as_bytes()).is_err(), "{strange}");
        }
        assert!(Request::read(&mut [b'a'; 1_000].as_slice()).is_err());
    }

    #[test]
    fn replies_come_back_as_they_were() {
        let text = Reply::Text(ExtractedText {
            text: Raw::copied("fünf\nlines".as_bytes()),
            cut: true,
            hidden: vec![(HidingReason::Marked, 7), (HidingReason::Colour, 3)],
            uncertain: vec![
                UncertainRun {
                    start: 0,
                    end: 4,
                    reason: HidingReason::Conditional,
                },
                UncertainRun {
                    start: 5,
                    end: 10,
                    reason: HidingReason::NotUnderstood,
                },
            ],
            empty: None,
        });
        let empty = Reply::Text(ExtractedText {
            empty: Some(EmptyReason::Scanned),
            ..ExtractedText::default()
        });
        let probed = Reply::Probed(vec![
            Protection {
                name: "memory".to_owned(),
                state: State::InForce,
            },
            Protection {
                name: "files".to_owned(),
                state: State::Missing("no landlock".to_owned()),
            },
        ]);
        let faults = FAULTS.map(|(fault, _)| Reply::Fault(fault));
        for reply in [text, empty, probed].into_iter().chain(faults) {
            let mut bytes = Vec::new();
            reply.write(&mut bytes).expect("written");
            assert_eq!(Reply::parse(&bytes, 10), Some(reply));
        }
    }

    #[test]
    fn a_reply_that_is_none_is_not_believed() {
        for bytes in [
            &b""[..],
            b"text 0 - 0 0 5\nabc",
            b"text 0 - 0 0 2\nabc",
            b"text 0 - 0 0 2\n\xFF\xFE",
            b"text 0 - -1 0 2\nab",
            b"text 0 9 0 0 0\n",
            b"text 0 - 0 0 12\nabcdefghijkl",
            b"text 0 - 99 0 2\nab",
            b"text 0 - 1 0 2\n99 1\nab",
            b"text 0 - 1 0 2\n0 1 2\nab",
            b"text 0 - 0 1 2\n0 0 3\nab",
            b"text 0 - 0 1 2\n0 1 1\nab",
            b"text 0 - 0 2 2\n0 0 2\n0 1 2\nab",
            b"text 0 - 0 1001 2\nab",
            b"fault timed-out\n",
            b"fault crashed",
            b"probed\nno tab\n",
            b"hello\n",
        ] {
            assert_eq!(Reply::parse(bytes, 10), None, "{bytes:?}");
        }
    }
}

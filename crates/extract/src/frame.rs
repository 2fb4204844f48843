//! What parent and child say to each other: a line of words, then bytes.
//!
//! A request is `extract FORMAT MAX_CHARS LENGTH` and the attachment, or `probe WHAT`. A reply is
//! `text CUT HIDDEN INVISIBLE LENGTH` and the text, `fault NAME`, or `probed` and its findings. The parent believes
//! nothing that a reply says beyond what it can check.

use std::io::{self, Read, Write};

use mail::{ExtractFault, ExtractedText, Format, Raw};

use crate::protections::{Protection, State};

/// Of the first line, either way.
pub(crate) const MAX_LINE: usize = 80;

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
                let (hidden, invisible) = (done.hidden, done.invisible);
                writeln!(to, "text {cut} {hidden} {invisible} {}", bytes.len())?;
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
            ["text", cut, hidden, invisible, length] => {
                let text = std::str::from_utf8(rest).ok()?;
                let whole = length.parse() == Ok(rest.len());
                if !whole || text.chars().count() > max_chars {
                    return None;
                }
                Some(Self::Text(ExtractedText {
                    text: Raw::copied(rest),
                    cut: *cut == "1",
                    hidden: hidden.parse().ok()?,
                    invisible: invisible.parse().ok()?,
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
            hidden: 7,
            invisible: 3,
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
        for reply in [text, probed].into_iter().chain(faults) {
            let mut bytes = Vec::new();
            reply.write(&mut bytes).expect("written");
            assert_eq!(Reply::parse(&bytes, 10), Some(reply));
        }
    }

    #[test]
    fn a_reply_that_is_none_is_not_believed() {
        for bytes in [
            &b""[..],
            b"text 0 0 0 5\nabc",
            b"text 0 0 0 2\nabc",
            b"text 0 0 0 2\n\xFF\xFE",
            b"text 0 -1 0 2\nab",
            b"text 0 0 0 12\nabcdefghijkl",
            b"fault timed-out\n",
            b"fault crashed",
            b"probed\nno tab\n",
            b"hello\n",
        ] {
            assert_eq!(Reply::parse(bytes, 10), None, "{bytes:?}");
        }
    }
}

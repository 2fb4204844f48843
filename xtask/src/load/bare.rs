//! IMAP without anything around it: commands written ahead of their answers, of which only the tags are looked at.

use std::io;

use memchr::memmem;
use testkit::mailgen::Rng;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::mix::Read;
use super::world::{Mailbox, login};

/// A connection with INBOX open.
pub(super) struct Bare {
    stream: TcpStream,
    heard: Vec<u8>,
    tags: u64,
}

/// A read on its way: what is still to be sent once the tag has come back.
struct Asked {
    tag: u64,
    rest: std::vec::IntoIter<Vec<String>>,
}

impl Bare {
    pub(super) async fn open(port: u16, account: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let mut bare = Self {
            stream,
            heard: Vec::new(),
            tags: 0,
        };
        let mut out = Vec::new();
        bare.push(&[login(account)], &mut out);
        let last = bare.push(&["EXAMINE INBOX".to_owned()], &mut out);
        bare.stream.write_all(&out).await?;
        while bare.next_tag().await? != last {}
        Ok(bare)
    }

    /// Reads until then with so many questions open at a time; how many were answered.
    pub(super) async fn work(
        &mut self,
        mailbox: &Mailbox,
        depth: usize,
        rng: &mut Rng,
        until: Instant,
    ) -> io::Result<usize> {
        let mut open: Vec<Asked> = Vec::new();
        let mut done = 0;
        loop {
            let mut out = Vec::new();
            while open.len() < depth && Instant::now() < until {
                let Some(read) = Read::pick(mailbox, rng) else {
                    break;
                };
                let mut rest = read.commands().into_iter();
                let first = rest.next().unwrap_or_default();
                let tag = self.push(&first, &mut out);
                open.push(Asked { tag, rest });
            }
            if open.is_empty() {
                return Ok(done);
            }
            if !out.is_empty() {
                self.stream.write_all(&out).await?;
            }
            let tag = self.next_tag().await?;
            let Some(at) = open.iter().position(|asked| asked.tag == tag) else {
                continue;
            };
            let mut asked = open.remove(at);
            match asked.rest.next() {
                Some(next) => {
                    let mut out = Vec::new();
                    asked.tag = self.push(&next, &mut out);
                    self.stream.write_all(&out).await?;
                    open.push(asked);
                }
                None => done += 1,
            }
        }
    }

    fn push(&mut self, commands: &[String], out: &mut Vec<u8>) -> u64 {
        for command in commands {
            self.tags += 1;
            out.extend_from_slice(format!("a{} {command}\r\n", self.tags).as_bytes());
        }
        self.tags
    }

    /// The next tag that was answered by OK.
    async fn next_tag(&mut self) -> io::Result<u64> {
        loop {
            if let Some(tag) = take_tag(&mut self.heard)? {
                return Ok(tag);
            }
            self.heard.reserve(64 << 10);
            if self.stream.read_buf(&mut self.heard).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Takes all up to the end of the next tagged line. In generated mail no line begins like one.
fn take_tag(heard: &mut Vec<u8>) -> io::Result<Option<u64>> {
    let mut from = 0;
    while let Some(at) = memmem::find(heard.get(from..).unwrap_or_default(), b"\r\na") {
        let begin = from + at + 2;
        let line = heard.get(begin..).unwrap_or_default();
        let Some(end) = memmem::find(line, b"\r\n") else {
            break;
        };
        let line = String::from_utf8_lossy(line.get(..end).unwrap_or_default()).into_owned();
        let mut words = line.split(' ');
        let tag = words
            .next()
            .and_then(|word| word.strip_prefix('a')?.parse::<u64>().ok());
        let status = words.next().unwrap_or_default();
        match (tag, status) {
            (Some(tag), "OK") => {
                // The line break stays: the next tagged line is found behind it.
                heard.drain(..begin + end);
                return Ok(Some(tag));
            }
            (Some(_), "NO" | "BAD") => return Err(io::Error::other(line)),
            _ => from = begin,
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_one_after_the_other() {
        let mut heard = b"* OK hello\r\n* 1 EXISTS\r\na1 OK done\r\na2 OK done\r\n* x".to_vec();
        assert_eq!(take_tag(&mut heard).unwrap(), Some(1));
        assert_eq!(take_tag(&mut heard).unwrap(), Some(2));
        assert_eq!(take_tag(&mut heard).unwrap(), None);
        let mut refused = b"* x\r\na3 NO not now\r\n".to_vec();
        assert!(take_tag(&mut refused).is_err());
    }
}

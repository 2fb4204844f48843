//! One connection of a scripted server: commands in, whatever the script says out. Knows no command by itself.

use super::Record;
use crate::literal::{self, Literal, Sending};
use imap_codec::CommandCodec;
use imap_codec::decode::Decoder;
use imap_codec::imap_types::command::Command;
use memchr::memchr;
use socket2::SockRef;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

/// Ends a script whose client has left; not a failure.
pub(super) struct ClientGone;

/// The script's end of a connection.
#[derive(Debug)]
pub struct Session {
    stream: Arc<TcpStream>,
    buffer: Vec<u8>,
    number: usize,
    tag: String,
    closing: Closing,
    record: Arc<Record>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    Orderly,
    Reset,
}

/// A whole command as it came, literals included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Empty for a line that is none, such as `DONE`.
    pub tag: String,
    /// Everything, tag and final CRLF included.
    pub bytes: Vec<u8>,
}

impl Received {
    /// As text, without the final CRLF.
    pub fn text(&self) -> String {
        let line = self.bytes.strip_suffix(b"\r\n").unwrap_or(&self.bytes);
        String::from_utf8_lossy(line).into_owned()
    }

    /// Whether `word` occurs in it, in any case.
    pub fn mentions(&self, word: &str) -> bool {
        self.text().to_uppercase().contains(&word.to_uppercase())
    }

    /// As imap-codec understands it; none for a command that is malformed or of an extension it does not know.
    pub fn decode(&self) -> Option<Command<'_>> {
        let (rest, command) = CommandCodec::default().decode(&self.bytes).ok()?;
        rest.is_empty().then_some(command)
    }

    /// Panics unless imap-codec can read it.
    pub fn assert_well_formed(&self) {
        assert!(
            self.decode().is_some(),
            "imap-codec cannot read {:?}",
            self.text()
        );
    }
}

impl Session {
    pub(super) fn new(stream: Arc<TcpStream>, number: usize, record: Arc<Record>) -> Self {
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            buffer: Vec::new(),
            number,
            tag: String::new(),
            closing: Closing::Orderly,
            record,
        }
    }

    /// Which connection this is, from 0: later ones may be treated differently.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Sends the greeting, as it is.
    pub fn greet(&mut self, text: &str) {
        self.send(text.as_bytes());
    }

    /// Greets and answers until the client is logged in, announcing `capabilities` before and after.
    pub fn log_in(&mut self, capabilities: &str) {
        self.greet(&format!("* OK [CAPABILITY {capabilities}] hello\r\n"));
        loop {
            let command = self.command();
            let text = command.text();
            match text
                .split(' ')
                .nth(1)
                .unwrap_or_default()
                .to_uppercase()
                .as_str()
            {
                "LOGIN" => break,
                "AUTHENTICATE" => {
                    if text.split(' ').count() < 4 {
                        self.send(b"+ \r\n");
                        self.line();
                    }
                    break;
                }
                "CAPABILITY" => self.reply(&format!(
                    "* CAPABILITY {capabilities}\r\n{{tag}} OK done\r\n"
                )),
                _ => self.ok(),
            }
        }
        self.reply(&format!(
            "{{tag}} OK [CAPABILITY {capabilities}] logged in\r\n"
        ));
    }

    /// Reads the next command, which must hold `word` (in any case).
    pub fn expect(&mut self, word: &str) -> Received {
        let command = self.command();
        assert!(
            command.mentions(word),
            "expected {word}, but the client said {:?}",
            command.text()
        );
        command
    }

    /// Reads the next command, whatever it is. Literals are asked for.
    pub fn command(&mut self) -> Received {
        let mut bytes = self.line();
        while let Some(Literal { size, sending }) = literal::announced(&bytes) {
            if sending == Sending::Synchronising {
                self.send(b"+ go on\r\n");
            }
            while self.buffer.len() < size {
                self.fill();
            }
            bytes.extend(self.buffer.drain(..size));
            bytes.extend(self.line());
        }
        let first = String::from_utf8_lossy(&bytes).into_owned();
        let tag = first.split_once(' ').map(|(tag, _)| tag.to_owned());
        let command = Received {
            tag: tag.unwrap_or_default(),
            bytes,
        };
        if !command.tag.is_empty() {
            self.tag.clone_from(&command.tag);
        }
        self.record.command(command.clone());
        command
    }

    /// Reads one line as it is, CRLF included: `DONE`, or a SASL response. Not recorded.
    pub fn line(&mut self) -> Vec<u8> {
        loop {
            if let Some(end) = memchr(b'\n', &self.buffer) {
                return self.buffer.drain(..=end).collect();
            }
            self.fill();
        }
    }

    /// Forgets what came in one piece with the last command, as a server does that does not expect anything.
    pub fn drop_unread(&mut self) {
        self.buffer.clear();
    }

    /// Sends text in which `{tag}` stands for the last command's tag.
    pub fn reply(&mut self, text: &str) {
        self.send(text.replace("{tag}", &self.tag).as_bytes());
    }

    /// `* text`
    pub fn untagged(&mut self, text: &str) {
        self.send(format!("* {text}\r\n").as_bytes());
    }

    /// Answers an `EXAMINE`: a folder of so many messages, of generation 7.
    pub fn examined(&mut self, exists: u32) {
        self.untagged(&format!("{exists} EXISTS"));
        self.untagged("OK [UIDVALIDITY 7] ok");
        self.ok();
    }

    /// `tag OK done`
    pub fn ok(&mut self) {
        self.reply("{tag} OK done\r\n");
    }

    /// `tag NO text`
    pub fn no(&mut self, text: &str) {
        self.reply(&format!("{{tag}} NO {text}\r\n"));
    }

    /// `tag BAD text`
    pub fn bad(&mut self, text: &str) {
        self.reply(&format!("{{tag}} BAD {text}\r\n"));
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        if self.stream.as_ref().write_all(bytes).is_err() {
            resume_unwind(Box::new(ClientGone));
        }
    }

    /// Ends the stream in an orderly way, and the script with it.
    pub fn close(&mut self) -> ! {
        resume_unwind(Box::new(ClientGone))
    }

    /// Resets the connection, and ends the script.
    pub fn reset(&mut self) -> ! {
        self.closing = Closing::Reset;
        resume_unwind(Box::new(ClientGone))
    }

    /// Says nothing more until the client leaves or the test ends.
    pub fn stall(&mut self) -> ! {
        loop {
            self.fill();
            self.buffer.clear();
        }
    }

    pub(super) fn finish(self) {
        if self.closing == Closing::Reset {
            let _ = SockRef::from(self.stream.as_ref()).set_linger(Some(Duration::ZERO));
            return;
        }
        let _ = self.stream.shutdown(Shutdown::Write);
        // Closing over unread bytes would be a reset.
        while matches!(self.stream.as_ref().read(&mut [0; 4096]), Ok(n) if n > 0) {}
    }

    fn fill(&mut self) {
        let mut chunk = [0; 16 * 1024];
        match self.stream.as_ref().read(&mut chunk) {
            Ok(n) if n > 0 => self.buffer.extend_from_slice(&chunk[..n]),
            _ => resume_unwind(Box::new(ClientGone)),
        }
    }
}

//! `mailwarden login` as a person at a terminal sees it, and whoever sends something to its listener. Knows no provider.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use testkit::http::parameter;

use crate::directory::Printed;

/// A login under way. Whoever drops it ends it.
pub(crate) struct Login {
    child: Child,
    out: BufReader<ChildStdout>,
    seen: String,
    dir: PathBuf,
}

impl Login {
    pub(crate) fn start(mut command: Command, dir: &Path) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            out: BufReader::new(child.stdout.take().unwrap()),
            child,
            seen: String::new(),
            dir: dir.to_owned(),
        }
    }

    /// The address that is to be opened.
    pub(crate) fn address(&mut self) -> String {
        self.line(|line| line.starts_with("http"))
    }

    /// The next line that fits.
    pub(super) fn line(&mut self, fits: impl Fn(&str) -> bool) -> String {
        loop {
            let mut line = String::new();
            if self.out.read_line(&mut line).unwrap() == 0 {
                let mut said = String::new();
                let stderr = self.child.stderr.as_mut().unwrap();
                stderr.read_to_string(&mut said).unwrap();
                panic!("it ended: {}{said}", self.seen);
            }
            self.seen.push_str(&line);
            if fits(line.trim_end()) {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Types a line in.
    pub(super) fn paste(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
    }

    pub(crate) fn end(mut self) -> Printed {
        // What is typed in no more.
        drop(self.child.stdin.take());
        let mut stdout = std::mem::take(&mut self.seen).into_bytes();
        self.out.read_to_end(&mut stdout).unwrap();
        let mut stderr = Vec::new();
        let said = self.child.stderr.as_mut().unwrap();
        said.read_to_end(&mut stderr).unwrap();
        let output = Output {
            status: self.child.wait().unwrap(),
            stdout,
            stderr,
        };
        Printed::new(&self.dir, &output)
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the answer to this address is awaited: `127.0.0.1:PORT`.
pub(super) fn ear(address: &str) -> String {
    let redirect = parameter(address, "redirect_uri").unwrap();
    let rest = redirect.strip_prefix("http://").unwrap();
    rest.split('/').next().unwrap().to_owned()
}

/// What the listener answers to these bytes: all of it, or nothing where the connection is refused or cut.
pub(super) fn say(ear: &str, request: &[u8]) -> String {
    let Ok(mut stream) = TcpStream::connect(ear) else {
        return String::new();
    };
    // A listener that has heard enough may be gone before everything is sent.
    let _ = stream.write_all(request);
    let mut page = Vec::new();
    let _ = stream.read_to_end(&mut page);
    String::from_utf8_lossy(&page).into_owned()
}

/// A GET of this path and query, as a browser sends it.
pub(super) fn get(ear: &str, target: &str) -> String {
    let request = format!("GET {target} HTTP/1.1\r\nHost: {ear}\r\nAccept: text/html\r\n\r\n");
    say(ear, request.as_bytes())
}

/// The status of a page.
pub(super) fn status(page: &str) -> &str {
    page.split(' ').nth(1).unwrap_or("none")
}

//! A program that serves MCP over HTTP: started, looked at, told to end. Sends no request.

use super::McpHttp;
use crate::mcp::inbox::{Inbox, Stream, tail};
use crate::ports::LOOPBACK;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub struct HttpServer {
    child: Child,
    /// What it says on stderr.
    said: Arc<Inbox>,
    address: SocketAddr,
}

impl HttpServer {
    /// Starts `command`, which has all its arguments, and waits until it says where it listens.
    pub fn spawn(command: Command) -> Self {
        Self::try_spawn(command).unwrap_or_else(|(status, stderr)| {
            panic!("the program ended at once ({status}):\n{stderr}")
        })
    }

    /// The same; a program that ends without having listened is an error, with what it said.
    pub fn try_spawn(mut command: Command) -> Result<Self, (ExitStatus, String)> {
        command
            // What it has open is counted here, which the system refuses of a process that is
            // locked up.
            .env("TESTKIT_TRACEABLE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let stdout = BufReader::new(child.stdout.take().expect("a piped stdout"));
        let stderr = BufReader::new(child.stderr.take().expect("a piped stderr"));
        let said = Arc::new(Inbox::default());
        let listens = thread::spawn({
            let said = Arc::clone(&said);
            move || said.fill(Stream::Stderr, stderr)
        });
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match told.recv_timeout(left) {
                Ok(line) => {
                    if let Some(address) = listening_on(&line) {
                        return Ok(Self {
                            child,
                            said,
                            address,
                        });
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let status = child.wait().expect("the program's end");
                    let _ = listens.join();
                    return Err((status, said.read(|mail| mail.stderr.clone())));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let _ = child.kill();
                    let stderr = said.read(|mail| mail.stderr.clone());
                    panic!("the program listens nowhere; stderr:\n{}", tail(&stderr));
                }
            }
        }
    }

    /// Where it can be reached from here.
    pub fn address(&self) -> SocketAddr {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(LOOPBACK);
        }
        address
    }

    /// A client of 2025-11-25 that has not introduced itself yet.
    pub fn client(&self, token: &str) -> McpHttp {
        McpHttp::new(self.address(), Some(token))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the program wrote to stderr so far.
    pub fn stderr(&self) -> String {
        self.said.read(|mail| mail.stderr.clone())
    }

    /// Waits until stderr holds `text`.
    pub fn await_stderr(&self, text: &str) {
        let found = self.said.wait(PATIENCE, Stream::Stderr, |mail| {
            mail.stderr.contains(text).then_some(())
        });
        if let Err(missing) = found {
            panic!("no {text:?} on stderr: {missing}\n{}", tail(&self.stderr()));
        }
    }

    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Has it read its configuration again.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the program to exit; none if it is still there after `timeout`.
    pub fn wait_exit(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + timeout;
        loop {
            let status = self.child.try_wait().expect("ask for the program's state");
            if status.is_some() || Instant::now() >= deadline {
                return status;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Resident memory in bytes.
    pub fn rss(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.expect("the memory of a program that lives") * 1024
    }

    /// Files and sockets that it holds.
    pub fn descriptors(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.pid()));
        open.expect("the files of a program that lives").count()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("send a signal");
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn listening_on(line: &str) -> Option<SocketAddr> {
    let (_, url) = line.split_once("listening on ")?;
    let (_, rest) = url.split_once("://")?;
    rest.split('/').next()?.parse().ok()
}

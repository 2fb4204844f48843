//! The program while it serves over HTTP: where, and what it says on stderr. Dropping it kills it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

#[derive(Debug)]
pub struct Served {
    child: Child,
    port: u16,
    log: Arc<Mutex<String>>,
}

impl Served {
    /// A command that was told to serve over HTTP on loopback; returns when it has said at which port.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = child.stdout.take().expect("a pipe");
        let stderr = child.stderr.take().expect("a pipe");
        let log = Arc::new(Mutex::new(String::new()));
        let reader = keep(BufReader::new(stderr), Arc::clone(&log));
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let address = line.strip_prefix("listening on http://127.0.0.1:")?;
            address.strip_suffix("/mcp")?.parse().ok()
        });
        let Some(port) = port else {
            let _ = child.wait();
            let _ = reader.join();
            panic!(
                "{command:?} does not serve:\n{}",
                log.lock().expect("a log")
            );
        };
        Self { child, port, log }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// What it said on stderr so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("a log").clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads all of it, so that the program never blocks on it.
fn keep(lines: BufReader<std::process::ChildStderr>, log: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            let mut log = log.lock().expect("a log");
            log.push_str(&line);
            log.push('\n');
        }
    })
}

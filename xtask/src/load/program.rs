//! The program under load as a process: started, watched from outside, told to read its configuration again, ended.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ticks of the kernel's clock in a second, as Linux shows them to programs.
const TICKS: f64 = 100.0;
/// A process that is told to end has ten seconds; the rest is for a machine that is busy.
const ENDING: Duration = Duration::from_secs(15);
/// Whoever takes longer does not answer.
const ANSWERS: Duration = Duration::from_secs(5);

pub(crate) struct Program {
    child: Child,
    pub address: SocketAddr,
}

/// How large a process is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sight {
    pub rss: u64,
    pub descriptors: usize,
}

impl Program {
    /// Serves HTTP on a port of its own choosing.
    pub(crate) fn start(
        program: &Path,
        config: &Path,
        state: &Path,
        more: &[(&str, &str)],
    ) -> Result<Self, String> {
        Self::launch(program, config, state, more, Stdio::inherit())
    }

    /// The same, with what it says of itself at the end of a file.
    pub(crate) fn start_logged(
        program: &Path,
        config: &Path,
        state: &Path,
        more: &[(&str, &str)],
        log: &Path,
    ) -> Result<Self, String> {
        let log = fs::OpenOptions::new().create(true).append(true).open(log);
        let log = log.map_err(|error| error.to_string())?;
        Self::launch(program, config, state, more, Stdio::from(log))
    }

    fn launch(
        program: &Path,
        config: &Path,
        state: &Path,
        more: &[(&str, &str)],
        says: Stdio,
    ) -> Result<Self, String> {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let ours = ["MAIL_", "MAILWARDEN_", "IMAP_MCP_"];
            if name
                .to_str()
                .is_some_and(|name| ours.iter().any(|one| name.starts_with(one)))
            {
                command.env_remove(&name);
            }
        }
        command
            .args(["http", "--port", "0"])
            .env("IMAP_MCP_CONFIG_DIR", config)
            .env("MAILWARDEN_STATE_DIR", state)
            .envs(more.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(says);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let said = child.stdout.take().map(BufReader::new);
        let mut line = String::new();
        if let Some(mut said) = said {
            said.read_line(&mut line)
                .map_err(|error| error.to_string())?;
        }
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix("/mcp")?.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!(
                    "the program did not say where it listens: {line:?}"
                ))
            }
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether this token is taken; nothing where the program does not answer.
    pub(super) fn knows(&self, token: &str) -> Option<bool> {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(ANSWERS)).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        let status: u16 = line.split(' ').nth(1)?.parse().ok()?;
        Some(status != 401)
    }

    pub(super) fn look(&self) -> Sight {
        let place = PathBuf::from(format!("/proc/{}", self.pid()));
        let status = fs::read_to_string(place.join("status")).unwrap_or_default();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            kilobytes.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        Sight {
            rss: kilobytes.unwrap_or_default() * 1_024,
            descriptors: fs::read_dir(place.join("fd")).map_or(0, Iterator::count),
        }
    }

    /// Seconds of processor time so far.
    pub(super) fn processor(&self) -> f64 {
        processor_of(self.pid())
    }

    /// Has it read its configuration again.
    pub(super) fn reload(&self) -> io::Result<()> {
        self.signal("HUP")
    }

    /// By SIGTERM, in order; how long that took.
    pub(crate) fn end(&mut self) -> Result<Duration, String> {
        let begun = Instant::now();
        self.signal("TERM").map_err(|error| error.to_string())?;
        while begun.elapsed() < ENDING {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(begun.elapsed()),
                Some(status) => return Err(format!("the program ended by {status}")),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(format!(
            "the program did not end within {} s",
            ENDING.as_secs()
        ))
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn signal(&self, name: &str) -> io::Result<()> {
        let status = Command::new("kill")
            .args(["-s", name, &self.pid().to_string()])
            .status()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other("the program is gone")),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Seconds of processor time of a process, and of its children that it has buried.
pub(super) fn processor_of(pid: u32) -> f64 {
    fields(pid).map_or(0.0, |fields| {
        let ticks: u64 = fields
            .iter()
            .skip(11)
            .take(4)
            .filter_map(|text| text.parse::<u64>().ok())
            .sum();
        ticks as f64 / TICKS
    })
}

/// The same for all processes of a group.
pub(super) fn processor_of_group(leader: u32) -> f64 {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let members = pids.filter(|pid| {
        let group = fields(*pid).and_then(|fields| fields.get(2)?.parse::<u32>().ok());
        group == Some(leader)
    });
    members.map(processor_of).sum()
}

/// Of `/proc/PID/stat`, from the state on: the name before it may hold anything.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Connections to this port of the machine that are open.
pub(super) fn connections_to(port: u16) -> usize {
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let end = format!(":{port:04X}");
    let open = table.lines().filter(|line| {
        let mut fields = line.split_whitespace();
        let remote = fields.nth(2).unwrap_or_default();
        remote.ends_with(&end) && fields.next() == Some("01")
    });
    open.count()
}

/// The release build, made if it has to be.
pub(crate) fn built() -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = target.join("release/mailwarden");
    match program.is_file() {
        true => Ok(program),
        false => Err(format!(
            "{} is not there: cargo build --release",
            program.display()
        )),
    }
}

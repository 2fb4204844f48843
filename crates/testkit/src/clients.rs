//! MCP clients that others wrote, as their packages come (see `clients/` beside `src/`): the SDKs of Python and TypeScript, and
//! the inspector. A test sends them on errands and looks at what they bring; what is right is the test's business.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

/// Which library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// PyPI `mcp` 2, for both eras.
    Python,
    /// npm `@modelcontextprotocol/sdk` 1, which knows the older revisions only.
    TypeScript1,
    /// npm `@modelcontextprotocol/client` 2, for both eras.
    TypeScript2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Revisions with a handshake.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// How the program under test is reached.
#[derive(Clone, Debug)]
pub enum Way {
    Http {
        url: String,
        token: String,
    },
    Stdio {
        command: Vec<String>,
        environment: BTreeMap<String, String>,
    },
}

/// A client that is connected. Dropping it ends it.
#[derive(Debug)]
pub struct Errands {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Era {
    pub fn word(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    /// What is agreed on.
    pub fn revision(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }
}

impl Way {
    /// A command as a client is told it: its words, and the variables that were set on it.
    pub fn stdio(command: &Command) -> Self {
        let text = |text: &OsStr| text.to_str().expect("a command in UTF-8").to_owned();
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let set = command.get_envs();
        let set = set.filter_map(|(name, value)| Some((text(name), text(value?))));
        Self::Stdio {
            command: words.map(text).collect(),
            environment: set.collect(),
        }
    }
}

impl Errands {
    pub fn start(sdk: Sdk, era: Era, way: &Way) -> Self {
        let mut to = match way {
            Way::Http { url, token } => json!({ "url": url, "token": token }),
            Way::Stdio {
                command,
                environment,
            } => json!({ "command": command, "environment": environment }),
        };
        to["era"] = json!(era.word());
        let mut command = match sdk {
            Sdk::Python => {
                let mut command = Command::new(packages().join("python/bin/python"));
                command.arg(script("errands.py"));
                command
            }
            Sdk::TypeScript1 | Sdk::TypeScript2 => {
                to["sdk"] = json!(if sdk == Sdk::TypeScript1 { "v1" } else { "v2" });
                let mut command = Command::new(node());
                command.arg(script("errands.mjs"));
                command
            }
        };
        command.arg(to.to_string()).arg(packages());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            requests,
            answers,
        }
    }

    /// What came of it: the result, or the error as the library gives it.
    pub fn run(&mut self, errand: &Value) -> Result<Value, Value> {
        let pipe = self.requests.as_mut().expect("a pipe");
        // A client that is gone is told about below, with what it said.
        let _ = writeln!(pipe, "{errand}").and_then(|()| pipe.flush());
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        if !matches!(read, Ok(length) if length > 0) {
            let mut said = String::new();
            let stderr = self.child.stderr.as_mut().expect("a pipe");
            let _ = stderr.read_to_string(&mut said);
            panic!("the client ended at {errand}:\n{said}");
        }
        let mut answer: Value = serde_json::from_str(&line).expect("a line of JSON");
        match answer.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(answer["ok"].take()),
        }
    }
}

impl Drop for Errands {
    fn drop(&mut self) {
        drop(self.requests.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The inspector's command line, with these words.
pub fn inspector<I: AsRef<OsStr>>(words: impl IntoIterator<Item = I>) -> Output {
    let mut command = Command::new(node());
    command
        .arg(packages().join("node_modules/.bin/mcp-inspector"))
        .arg("--cli")
        .args(words);
    command.stdin(Stdio::null());
    let output = command.output();
    output.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"))
}

/// Where install.sh has put them.
pub(crate) fn packages() -> PathBuf {
    let root = std::env::var_os("MAILWARDEN_CLIENTS_ROOT").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/testkit/clients"),
        PathBuf::from,
    );
    assert!(
        root.join("node_modules/@modelcontextprotocol").is_dir(),
        "no MCP clients at {}: run crates/testkit/install.sh",
        root.display()
    );
    root
}

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("clients")
        .join(name)
}

/// Node 22.19 or later: beside the packages, or else the system's.
pub(crate) fn node() -> PathBuf {
    let own = packages().join("node_modules/.bin/node");
    let node = if own.is_file() { own } else { "node".into() };
    let printed = Command::new(&node).arg("--version").output();
    let printed = printed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = printed.unwrap_or_default();
    let mut numbers = version.trim().trim_start_matches('v').split('.');
    let mut number = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    let enough = (number(), number()) >= (Some(22), Some(19));
    assert!(
        enough,
        "the MCP clients need Node.js 22.19 or later, and {} is '{}': install one, or run crates/testkit/install.sh",
        node.display(),
        version.trim()
    );
    node
}

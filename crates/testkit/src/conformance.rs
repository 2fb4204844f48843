//! The official conformance suite (npm `@modelcontextprotocol/conformance`), run against a server on this machine. It sends no
//! token, so a loopback proxy adds one; what the results mean is the caller's business.

use crate::clients::{node, packages, script};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// One statement of a scenario.
#[derive(Clone, Debug)]
pub struct Check {
    pub id: String,
    /// As the suite spells it: SUCCESS, FAILURE, WARNING, SKIPPED, INFO.
    pub status: String,
    pub message: String,
    /// Whether it failed for want of something to call.
    pub untestable: bool,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The checks of each scenario, by its name.
    pub scenarios: BTreeMap<String, Vec<Check>>,
    /// Scenarios that the suite ran and does not count, and why.
    pub not_scored: BTreeMap<String, String>,
    /// What it printed.
    pub printed: String,
}

impl Check {
    pub fn failed(&self) -> bool {
        self.status == "FAILURE"
    }
}

impl Run {
    /// All scenarios of a requirement set, at `/mcp` of this port, with this token.
    pub fn of(requirements: &str, port: u16, token: &str) -> Self {
        let proxy = Proxy::start(port, token);
        let dir = tempfile::tempdir().expect("make a directory for results");
        let url = format!("http://127.0.0.1:{}/mcp", proxy.port);
        let mut command = Command::new(node());
        command
            .arg(packages().join("node_modules/.bin/conformance"))
            .args(["server", "--url", &url, "--requirements", requirements])
            .arg("--output-dir")
            .arg(dir.path())
            .stdin(Stdio::null());
        let output = command.output().expect("run the conformance suite");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        let run = Self {
            scenarios: read(dir.path()),
            not_scored: not_scored(&printed),
            printed,
        };
        assert!(
            !run.scenarios.is_empty(),
            "the conformance suite left no results:\n{}",
            run.printed
        );
        run
    }
}

/// The proxy, gone when dropped.
struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    fn start(upstream: u16, token: &str) -> Self {
        let mut child = Command::new(node())
            .arg(script("bearer.mjs"))
            .arg(upstream.to_string())
            .env("BEARER", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start the proxy that adds a token");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("read the proxy's port");
        let port = line.trim().parse().expect("the proxy's port");
        Self { child, port }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Directories are named `server-SCENARIO-TIME`.
fn read(dir: &Path) -> BTreeMap<String, Vec<Check>> {
    let mut scenarios = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("list the results") {
        let path = entry.expect("list the results").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| {
            let name = name.strip_prefix("server-")?;
            name.get(..name.len().checked_sub("-2026-11-16T11-44-10-143Z".len())?)
        });
        let text = std::fs::read(path.join("checks.json")).unwrap_or_default();
        let checks: Vec<Value> = serde_json::from_slice(&text).unwrap_or_default();
        let name = name.expect("a directory of results").to_owned();
        scenarios.insert(name, checks.iter().map(check).collect());
    }
    scenarios
}

fn check(json: &Value) -> Check {
    let text = |field: &str| json[field].as_str().unwrap_or_default().to_owned();
    Check {
        id: text("id"),
        status: text("status"),
        message: text("errorMessage"),
        untestable: json["details"]["untestable"] == true,
    }
}

/// Lines such as `  ✓ http-header-validation (pending)`, after the summary.
fn not_scored(printed: &str) -> BTreeMap<String, String> {
    let Some((_, list)) = printed.split_once("Not scored for ") else {
        return BTreeMap::new();
    };
    let lines = list.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches(['✓', '✗']).trim();
        let (name, why) = line.strip_suffix(')')?.split_once(" (")?;
        Some((name.to_owned(), why.to_owned()))
    });
    lines.collect()
}

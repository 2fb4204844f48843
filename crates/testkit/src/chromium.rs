//! What a reader sees of an HTML page, by headless Chromium: a second opinion for our own renderer.
//!
//! Many pages go through one run of the browser. Nothing is loaded from anywhere, and pages run no scripts, as in mail.

use crate::process::{ServerProcess, scratch_dir};
use base64::Engine as _;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Frames that one page of the browser holds at most; there is a limit at 1,000.
const AT_ONCE: usize = 400;

/// A run beyond this is stuck (a loaded machine is slow, not stuck).
const PATIENCE: Duration = Duration::from_secs(240);

const HARNESS: &str = include_str!("chromium/harness.html");
const WALKER: &str = include_str!("chromium/walker.js");

/// An installed browser.
#[derive(Clone, Debug)]
pub struct Chromium {
    program: PathBuf,
}

/// One page as it is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The visible words; blocks stand on lines of their own.
    pub text: String,
    /// The words that nobody sees, each with the reason.
    pub unseen: Vec<(String, String)>,
}

impl Chromium {
    /// The first browser installed; `MAILWARDEN_CHROMIUM` names another one, or by a path to nothing none at all.
    pub fn find() -> Option<Self> {
        let known = ["chromium", "chromium-browser", "google-chrome"];
        let candidates = match std::env::var_os("MAILWARDEN_CHROMIUM") {
            Some(named) => vec![PathBuf::from(named)],
            None => known.map(|name| Path::new("/usr/bin").join(name)).to_vec(),
        };
        let program = candidates.into_iter().find(|path| path.is_file())?;
        Some(Self { program })
    }

    /// Looks at each page in a window of 900 by 1200 pixels, on a screen in light mode.
    pub fn look(&self, pages: &[&str]) -> Vec<Seen> {
        pages
            .chunks(AT_ONCE)
            .flat_map(|some| self.run(some))
            .collect()
    }

    fn run(&self, pages: &[&str]) -> Vec<Seen> {
        let dir = scratch_dir();
        let harness = dir.path().join("harness.html");
        let result = dir.path().join("dom.html");
        // In a script element `</` would end it.
        let listed = Value::from(pages.to_vec())
            .to_string()
            .replace('<', "\\u003c");
        let page = HARNESS
            .replace("{walker}", WALKER)
            .replace("{pages}", &listed);
        std::fs::write(&harness, page).expect("write the harness page");
        let mut command = Command::new("sh");
        command
            .args(["-c", r#"out=$1; shift; exec "$@" >"$out""#, "chromium"])
            .arg(&result)
            .arg(&self.program)
            .args(FLAGS)
            .arg(format!(
                "--user-data-dir={}",
                dir.path().join("profile").display()
            ))
            .arg("--dump-dom")
            .arg(format!("file://{}", harness.display()))
            .env("HOME", dir.path())
            .env_remove("DBUS_SESSION_BUS_ADDRESS");
        let mut process = ServerProcess::spawn(command, dir.path());
        let ended = process.await_exit(PATIENCE);
        process.kill();
        let dom = std::fs::read_to_string(&result).unwrap_or_default();
        let log = || crate::process::read_logs(dir.path(), &[]);
        let seen = read(&dom)
            .unwrap_or_else(|| panic!("Chromium gave no result ({ended:?}); its log:\n{}", log()));
        assert_eq!(seen.len(), pages.len(), "one result for each page");
        seen
    }
}

const FLAGS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1000,1300",
];

fn read(dom: &str) -> Option<Vec<Seen>> {
    let (_, rest) = dom.split_once("id=\"result\">")?;
    let (encoded, _) = rest.split_once('<')?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .ok()?;
    let results: Value = serde_json::from_slice(&bytes).ok()?;
    results.as_array()?.iter().map(seen).collect()
}

fn seen(page: &Value) -> Option<Seen> {
    let text = page["seen"]
        .as_str()
        .unwrap_or_else(|| panic!("the walker failed: {}", page["error"]));
    let unseen = page["unseen"].as_array()?.iter().map(|pair| {
        let part = |at: usize| pair[at].as_str().unwrap_or_default().to_owned();
        (part(0), part(1))
    });
    Some(Seen {
        text: text.to_owned(),
        unseen: unseen.collect(),
    })
}

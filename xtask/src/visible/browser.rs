//! Headless Chromium, driven by its DevTools protocol over a pipe. Nothing is loaded from the
//! network and pages run no scripts, as in a mail program.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tree::Outcome;

/// An answer that takes longer is never coming.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Time after the load event for animations to begin.
const SETTLE_TIME: Duration = Duration::from_millis(60);

/// A pixel differs when one of its channels does by more than this, of 255 levels.
const UNSEEN_LEVELS: u8 = 24;

/// Width and height of the window.
pub(super) const WINDOW: (u64, u64) = (900, 1200);

/// Screens of one page that are drawn at most, on either axis.
const MAX_SCREENS: u64 = 6;

/// The address of every page; its requests are answered by this file.
const PAGE_URL: &str = "https://mail.example/";

/// Ends short animations and stops the others, so that two pictures of a page are equal.
const FREEZE: &str = "for (const animation of document.getAnimations()) {
    if (Number(animation.effect.getComputedTiming().endTime) <= 2000) animation.finish();
    else animation.pause();
}
document.querySelectorAll('marquee').forEach(marquee => marquee.stop())";

const FLAGS: [&str; 16] = [
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
    "--disable-features=IsolateOrigins,site-per-process,Translate",
    "--disable-site-isolation-trials",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
];

/// A running browser. It ends when the value is dropped.
pub(super) struct Browser {
    process: Child,
    connection: Arc<Connection>,
    _profile: TempDir,
}

/// One tab.
pub(super) struct Tab {
    connection: Arc<Connection>,
    session: String,
    target: String,
    loads: Receiver<()>,
}

/// A picture of a tab as Chromium encodes it. Equal pixels have equal encodings.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Shot(String);

struct Connection {
    commands: Mutex<(u64, ChildStdin)>,
    answers: Mutex<HashMap<u64, Sender<Outcome<Value>>>>,
    tabs: Mutex<HashMap<String, TabState>>,
}

struct TabState {
    /// The page that answers the next request for a document.
    page: Option<String>,
    loaded: Sender<()>,
}

impl Browser {
    pub(super) fn start() -> Outcome<Self> {
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .map(|name| Path::new("/usr/bin").join(name))
            .into_iter()
            .find(|path| path.is_file())
            .ok_or("no Chromium found; install it with `apt-get install chromium`")?;
        let profile =
            tempfile::tempdir().map_err(|error| format!("temporary directory: {error}"))?;
        let mut process = Command::new("sh")
            .args([
                "-c",
                r#"exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1"#,
                "sh",
            ])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start Chromium: {error}"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("Chromium has no pipe".to_owned());
        };
        let connection = Arc::new(Connection {
            commands: Mutex::new((0, input)),
            answers: Mutex::default(),
            tabs: Mutex::default(),
        });
        let reader = Arc::clone(&connection);
        thread::spawn(move || reader.read(output));
        Ok(Self {
            process,
            connection,
            _profile: profile,
        })
    }

    pub(super) fn version(&self) -> Outcome<String> {
        let version = self
            .connection
            .call(None, "Browser.getVersion", json!({}))?;
        Ok(text(&version, "/product").replace("Chrome/", "Chromium "))
    }

    pub(super) fn tab(&self) -> Outcome<Tab> {
        let url = json!({"url": "about:blank"});
        let target = self.connection.call(None, "Target.createTarget", url)?;
        let target = text(&target, "/targetId");
        let attach = json!({"targetId": target, "flatten": true});
        let session = self
            .connection
            .call(None, "Target.attachToTarget", attach)?;
        let session = text(&session, "/sessionId");
        let (loaded, loads) = channel();
        let state = TabState { page: None, loaded };
        lock(&self.connection.tabs).insert(session.clone(), state);
        let tab = Tab {
            connection: Arc::clone(&self.connection),
            session,
            target,
            loads,
        };
        tab.call("Page.enable", json!({}))?;
        tab.call("Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]}))?;
        tab.call(
            "Emulation.setScriptExecutionDisabled",
            json!({"value": true}),
        )?;
        let (width, height) = WINDOW;
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        tab.call("Emulation.setDeviceMetricsOverride", size)?;
        Ok(tab)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.connection.send(None, "Browser.close", &json!({}));
        for _ in 0..50 {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Tab {
    pub(super) fn load(&self, page: &str) -> Outcome<()> {
        while self.loads.try_recv().is_ok() {}
        if let Some(state) = lock(&self.connection.tabs).get_mut(&self.session) {
            state.page = Some(page.to_owned());
        }
        self.call("Page.navigate", json!({"url": PAGE_URL}))?;
        match self.loads.recv_timeout(ANSWER_TIMEOUT) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return Err("a page did not load".to_owned()),
            Err(RecvTimeoutError::Disconnected) => return Err("Chromium ended".to_owned()),
        }
        thread::sleep(SETTLE_TIME);
        self.evaluate(FREEZE)?;
        Ok(())
    }

    /// Where the window has to be to show all of the page: left and top.
    pub(super) fn screens(&self) -> Outcome<Vec<(u64, u64)>> {
        let size = self.evaluate(
            "(page => [page.scrollWidth, page.scrollHeight])(document.scrollingElement ?? document.documentElement)",
        )?;
        let count = |axis: usize, window: u64| {
            let length = size.get(axis).and_then(Value::as_u64).unwrap_or_default();
            length.div_ceil(window).clamp(1, MAX_SCREENS)
        };
        let (columns, rows) = (count(0, WINDOW.0), count(1, WINDOW.1));
        let screens = (0..rows)
            .flat_map(|row| (0..columns).map(move |column| (column * WINDOW.0, row * WINDOW.1)));
        Ok(screens.collect())
    }

    /// A picture of each screen.
    pub(super) fn shots(&self, screens: &[(u64, u64)]) -> Outcome<Vec<Shot>> {
        let shot = |(left, top): &(u64, u64)| {
            if screens.len() > 1 {
                let to = format!("scrollTo({{left: {left}, top: {top}, behavior: 'instant'}})");
                self.evaluate(&to)?;
            }
            self.capture(json!({"format": "png", "optimizeForSpeed": true}))
        };
        screens.iter().map(shot).collect()
    }

    /// A picture of the page beyond the window.
    pub(super) fn shot_of(&self, (width, height): (u64, u64)) -> Outcome<Shot> {
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        self.capture(json!({
            "format": "png", "optimizeForSpeed": true, "captureBeyondViewport": true, "clip": clip,
        }))
    }

    fn capture(&self, how: Value) -> Outcome<Shot> {
        let shot = self.call("Page.captureScreenshot", how)?;
        Ok(Shot(text(&shot, "/data")))
    }

    /// Runs an instrument of ours in the page, whose own scripts stay off, and returns its value.
    pub(super) fn evaluate(&self, expression: &str) -> Outcome<Value> {
        let how = json!({"expression": expression, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", how)?;
        if let Some(fault) = answer.pointer("/exceptionDetails") {
            return Err(format!("the instrument failed: {fault}"));
        }
        Ok(answer
            .pointer_mut("/result/value")
            .map(Value::take)
            .unwrap_or_default())
    }

    fn call(&self, method: &str, params: Value) -> Outcome<Value> {
        self.connection.call(Some(&self.session), method, params)
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        lock(&self.connection.tabs).remove(&self.session);
        let target = json!({"targetId": self.target});
        let _ = self.connection.send(None, "Target.closeTarget", &target);
    }
}

impl Connection {
    fn call(&self, session: Option<&str>, method: &str, params: Value) -> Outcome<Value> {
        let answer = self.send(session, method, &params)?;
        answer
            .recv_timeout(ANSWER_TIMEOUT)
            .map_err(|error| format!("{method}: {error}"))?
            .map_err(|error| format!("{method}: {error}"))
    }

    fn send(
        &self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Outcome<Receiver<Outcome<Value>>> {
        let (answered, answer) = channel();
        let mut commands = lock(&self.commands);
        commands.0 += 1;
        let id = commands.0;
        let mut command = json!({"id": id, "method": method, "params": params});
        if let (Some(session), Some(command)) = (session, command.as_object_mut()) {
            command.insert("sessionId".to_owned(), session.into());
        }
        lock(&self.answers).insert(id, answered);
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        commands
            .1
            .write_all(&bytes)
            .map_err(|error| format!("Chromium ended: {error}"))?;
        Ok(answer)
    }

    fn read(&self, output: ChildStdout) {
        let mut output = BufReader::with_capacity(1 << 20, output);
        let mut bytes = Vec::new();
        while output.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
            bytes.pop();
            if let Ok(message) = serde_json::from_slice(&bytes) {
                self.receive(message);
            }
            bytes.clear();
        }
        lock(&self.answers).clear();
        lock(&self.tabs).clear();
    }

    fn receive(&self, mut message: Value) {
        if let Some(id) = message.get("id").and_then(Value::as_u64) {
            if let Some(answered) = lock(&self.answers).remove(&id) {
                let answer = match message.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(message
                        .get_mut("result")
                        .map(Value::take)
                        .unwrap_or_default()),
                };
                let _ = answered.send(answer);
            }
            return;
        }
        let session = text(&message, "/sessionId");
        match text(&message, "/method").as_str() {
            "Page.loadEventFired" => {
                if let Some(tab) = lock(&self.tabs).get(&session) {
                    let _ = tab.loaded.send(());
                }
            }
            "Fetch.requestPaused" => self.answer_request(&session, &message),
            _ => {}
        }
    }

    /// Answers the request for the page with the page, and fails every other one. `Aborted` makes a
    /// page that refreshes itself stay.
    fn answer_request(&self, session: &str, message: &Value) {
        let id = text(message, "/params/requestId");
        let is_document = text(message, "/params/resourceType") == "Document";
        let page = lock(&self.tabs)
            .get_mut(session)
            .filter(|_| is_document)
            .and_then(|tab| tab.page.take());
        let _ = match page {
            Some(page) => {
                let kind = json!([{"name": "Content-Type", "value": "text/html; charset=utf-8"}]);
                let answer = json!({
                    "requestId": id, "responseCode": 200, "responseHeaders": kind, "body": STANDARD.encode(page),
                });
                self.send(Some(session), "Fetch.fulfillRequest", &answer)
            }
            None => {
                let reason = if is_document {
                    "Aborted"
                } else {
                    "ConnectionFailed"
                };
                let failure = json!({"requestId": id, "errorReason": reason});
                self.send(Some(session), "Fetch.failRequest", &failure)
            }
        };
    }
}

impl Shot {
    /// How many pixels differ by more than a person overlooks.
    pub(super) fn difference(&self, other: &Self) -> Outcome<usize> {
        Ok(self
            .differing(other)?
            .into_iter()
            .filter(|differs| *differs)
            .count())
    }

    /// Which pixels differ, row by row; none when all are equal.
    pub(super) fn differing(&self, other: &Self) -> Outcome<Vec<bool>> {
        if self == other {
            return Ok(Vec::new());
        }
        let far = |our: &[u8], their: &[u8]| {
            let mut levels = our.iter().zip(their);
            levels.any(|(our, their)| our.abs_diff(*their) > UNSEEN_LEVELS)
        };
        let (ours, theirs) = (self.pixels()?, other.pixels()?);
        let pairs = ours.chunks_exact(4).zip(theirs.chunks_exact(4));
        Ok(pairs.map(|(our, their)| far(our, their)).collect())
    }

    fn pixels(&self) -> Outcome<Vec<u8>> {
        let fault = |error: &dyn std::fmt::Display| format!("a picture cannot be read: {error}");
        let bytes = STANDARD.decode(&self.0).map_err(|error| fault(&error))?;
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::ALPHA | png::Transformations::EXPAND);
        let mut reader = decoder.read_info().map_err(|error| fault(&error))?;
        let mut pixels = vec![0; reader.output_buffer_size().unwrap_or_default()];
        reader
            .next_frame(&mut pixels)
            .map_err(|error| fault(&error))?;
        Ok(pixels)
    }
}

fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The trap around small programs: what is counted, what a deed leaves behind, and that nothing outlives its handle.

mod deeds;
mod ends;
mod mcp;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::trap::{Kind, Outcome, Plan, Trapped, Watch};

/// A folder of a test's own, under the name that the kernel has for it.
struct Folder {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            path: dir.path().canonicalize().unwrap(),
            _dir: dir,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// Calls of these kinds in this folder.
    fn watch(&self, kinds: impl IntoIterator<Item = Kind>) -> Watch {
        Watch::of(kinds).under(&self.path)
    }
}

/// A script that runs in the folder.
fn script(interpreter: &str, text: &str, folder: &Path) -> Command {
    let mut command = Command::new(interpreter);
    command.args(["-c", text]).current_dir(folder);
    command
}

/// Appends three lines of eight bytes to `log`, each with a call of its own.
const THREE_LINES: &str = "for n in 1 2 3; do printf 'line %s.\\n' $n >> log; done";

/// Runs a shell script to its end in a new folder.
fn run(text: &str, plan: impl FnOnce(&Folder) -> Plan) -> (Folder, Outcome) {
    let folder = Folder::new();
    let trapped = Trapped::spawn(script("sh", text, &folder.path), plan(&folder));
    let outcome = trapped.wait();
    (folder, outcome)
}

/// Everything that a program says until it closes the stream.
fn said(stream: Option<impl Read>) -> String {
    let mut text = String::new();
    stream.unwrap().read_to_string(&mut text).unwrap();
    text
}

//! What a person sees: text on stdout, with colours where they help. Never used while stdout carries MCP.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

/// Colours only for eyes: not into pipes, and not when asked not to (`NO_COLOR`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    colours: bool,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            colours: wanted && io::stdout().is_terminal(),
        }
    }

    /// How many characters fit into a line: `COLUMNS`, what the terminal says, or 100.
    pub(crate) fn columns(&self) -> usize {
        let told = std::env::var("COLUMNS").ok();
        let told = told.and_then(|columns| columns.trim().parse().ok());
        told.or_else(terminal_columns).unwrap_or(100).clamp(40, 120)
    }

    /// How much of a line is shown where lines are cut. Nothing is cut on its way into a file or another program.
    pub(crate) fn cut_at(&self) -> Option<usize> {
        let told = std::env::var_os("COLUMNS").is_some();
        (told || io::stdout().is_terminal()).then(|| self.columns())
    }

    pub(crate) fn line(&self, text: impl Display) {
        // A reader that went away is no reason to fail.
        let _ = writeln!(io::stdout(), "{text}");
    }

    pub(crate) fn bold(&self, text: impl Display) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(&self, text: impl Display) -> String {
        self.paint("2", text)
    }

    pub(crate) fn good(&self, text: impl Display) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(&self, text: impl Display) -> String {
        self.paint("31", text)
    }

    pub(crate) fn warn(&self, text: impl Display) -> String {
        self.paint("33", text)
    }

    fn paint(&self, code: &str, text: impl Display) -> String {
        if self.colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

/// Asks `stty`, which is there wherever there are terminals with a `tty`; elsewhere nobody knows.
fn terminal_columns() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let output = std::process::Command::new("stty")
        .arg("size")
        .stdin(std::fs::File::open("/dev/tty").ok()?)
        .stderr(std::process::Stdio::null())
        .output()
        .ok()?;
    let size = String::from_utf8(output.stdout).ok()?;
    let columns = size.split_whitespace().nth(1)?.parse().ok()?;
    (columns > 0).then_some(columns)
}

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

//! What holds for all accounts: trust, time limits, whether anything is changed, how errors travel.

use std::path::PathBuf;
use std::time::Duration;

use gateway::Deletes;
use mail::UncertainText;
use sources::imap::{Roots, Timeouts};

use super::{IMAP, Reader};
use crate::config::changes::{Gate, SETTLE};
use crate::config::{ErrorStyle, TextStyle};

const APPEND_TIMEOUT: &str = "IMAP_MCP_APPEND_TIMEOUT";

/// What all accounts have in common.
pub(in crate::config) struct Shared {
    pub roots: Roots,
    pub(super) allow_plaintext: bool,
    pub max_connections: usize,
    pub timeouts: Timeouts,
}

impl Reader {
    pub(super) fn shared(&mut self) -> Shared {
        let default = Timeouts::default();
        let connect = self.milliseconds("CONNECT_TIMEOUT_MS", default.connect);
        let greeting = self.milliseconds("GREETING_TIMEOUT_MS", default.greeting);
        let socket = self.milliseconds("SOCKET_TIMEOUT_MS", default.socket);
        let append = self.append_timeout(default.append);
        Shared {
            roots: self.roots(),
            allow_plaintext: self.boolean("ALLOW_PLAINTEXT"),
            max_connections: self.number("MAX_CONNECTIONS", 1, 16).unwrap_or(4) as usize,
            timeouts: Timeouts {
                connect,
                greeting,
                socket,
                append,
                ..default
            },
        }
    }

    fn roots(&mut self) -> Roots {
        let Some(path) = self.wide.get("CA_CERT_PATH").cloned() else {
            return Roots::system();
        };
        Roots::with_file(&PathBuf::from(&path)).unwrap_or_else(|bad| {
            self.problem("MAIL_IMAP_CA_CERT_PATH", &bad.to_string());
            Roots::system()
        })
    }

    fn boolean(&mut self, name: &str) -> bool {
        let word = self
            .wide
            .get(name)
            .map(|value| value.trim().to_ascii_lowercase());
        match word.as_deref() {
            Some("true" | "1" | "yes") => true,
            None | Some("false" | "0" | "no") => false,
            Some(_) => {
                self.problem(&format!("{IMAP}{name}"), "must be true or false");
                false
            }
        }
    }

    pub(super) fn gate(&mut self) -> Gate {
        match (
            self.boolean("WRITE_ENABLED"),
            self.wide.get("WRITE_ENABLED"),
        ) {
            (true, _) => Gate::Open,
            (false, Some(_)) => Gate::Closed,
            (false, None) => Gate::Unsaid,
        }
    }

    pub(super) fn settle(&mut self) -> Duration {
        self.milliseconds("SETTLE_TIMEOUT_MS", SETTLE)
    }

    pub(super) fn deletes(&mut self) -> Deletes {
        let word = self.wide.get("DELETE");
        let word = word.map(|value| value.trim().to_ascii_lowercase());
        match word.as_deref() {
            None | Some("trash") => Deletes::ToTrash,
            Some("expunge") => Deletes::ForGood,
            Some(_) => {
                self.problem("MAIL_IMAP_DELETE", "must be trash or expunge");
                Deletes::ToTrash
            }
        }
    }

    /// Of all callers together.
    pub(super) fn calls_at_once(&mut self) -> Option<usize> {
        let text = self.calls_at_once.as_ref()?;
        match text.trim().parse() {
            Ok(number @ 1..=100_000) => Some(number),
            _ => {
                let what = "must be a whole number from 1 to 100000";
                self.problem(super::CALLS_AT_ONCE, what);
                None
            }
        }
    }

    pub(super) fn uncertain_text(&mut self) -> UncertainText {
        let word = self.uncertain_text.as_deref().unwrap_or("show");
        let word = word.trim().to_ascii_lowercase();
        UncertainText::from_name(&word).unwrap_or_else(|| {
            self.problem(super::UNCERTAIN_TEXT, "must be show or withhold");
            UncertainText::default()
        })
    }

    /// In seconds, unlike the others: it is of another contract.
    fn append_timeout(&mut self, default: Duration) -> Duration {
        let Some(text) = self.gateway.get(APPEND_TIMEOUT) else {
            return default;
        };
        match text.trim().parse::<u64>() {
            Ok(seconds @ 1..=3_600) => Duration::from_secs(seconds),
            _ => {
                self.problem(
                    APPEND_TIMEOUT,
                    "must be a whole number of seconds from 1 to 3600",
                );
                default
            }
        }
    }

    fn milliseconds(&mut self, name: &str, default: Duration) -> Duration {
        let given = self.number(name, 100, 3_600_000);
        given.map_or(default, Duration::from_millis)
    }

    fn number(&mut self, name: &str, low: u64, high: u64) -> Option<u64> {
        let text = self.wide.get(name)?.trim().to_owned();
        match text.parse::<u64>() {
            Ok(number) if (low..=high).contains(&number) => Some(number),
            _ => {
                let what = format!("must be a whole number from {low} to {high}");
                self.problem(&format!("{IMAP}{name}"), &what);
                None
            }
        }
    }

    pub(super) fn errors(&mut self) -> Option<ErrorStyle> {
        let word = self.wide.get("ERRORS")?.trim().to_ascii_lowercase();
        match word.as_str() {
            "protocol" => Some(ErrorStyle::Protocol),
            "result" => Some(ErrorStyle::Result),
            _ => {
                self.problem("MAIL_IMAP_ERRORS", "must be protocol or result");
                None
            }
        }
    }

    pub(super) fn text_style(&mut self) -> Option<TextStyle> {
        let word = self.text.as_ref()?.trim().to_ascii_lowercase();
        match word.as_str() {
            "readable" => Some(TextStyle::Readable),
            "json" => Some(TextStyle::Json),
            _ => {
                self.problem(super::TEXT, "must be readable or json");
                None
            }
        }
    }
}

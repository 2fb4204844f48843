//! Faults of servers, a file for each whose remedy stands by itself, named after the fault; `register` lists all of them.
//!
//! What is found out about a server is kept for all sessions of its account. Nothing here opens a connection or tries again:
//! it says what is so, and who asked acts on it.

pub(super) mod crowded;
pub(super) mod cut_short;
pub(super) mod echo;
pub(super) mod false_esearch;
pub(super) mod false_list;
pub(super) mod id_first;
pub(super) mod moving_uids;
pub(super) mod no_mailbox;
pub(super) mod own_authority;
mod register;
pub(super) mod short_lines;
pub(super) mod words_for_codes;

use std::sync::atomic::{AtomicU8, Ordering};

pub use register::{Quirk, REGISTER, Tried};

/// What may be found out about a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finding {
    /// It has to know us before anything is opened, and nothing may follow `ID` before that is answered.
    IdGoesAlone,
    /// An answer of `ESEARCH` was true.
    EsearchHolds,
    /// It offers `ESEARCH` and answers wrongly.
    EsearchLies,
    /// It offers `LIST-EXTENDED` and answers wrongly.
    ListLies,
    /// It is one of those that never give a UID to another message.
    UidsStay,
}

impl Finding {
    fn bit(self) -> u8 {
        match self {
            Self::IdGoesAlone => 1,
            Self::EsearchHolds => 2,
            Self::EsearchLies => 4,
            Self::ListLies => 8,
            Self::UidsStay => 16,
        }
    }

    /// For the account's owner; none of what is no fault, or costs nothing.
    fn remark(self) -> Option<&'static str> {
        match self {
            Self::EsearchLies => Some(
                "the server offers ESEARCH and answers it wrongly; it is searched without, so that nothing is missed",
            ),
            Self::ListLies => Some(
                "the server offers LIST-EXTENDED and answers it wrongly; folders are listed without, and without counts",
            ),
            Self::IdGoesAlone | Self::EsearchHolds | Self::UidsStay => None,
        }
    }
}

/// What was found out about the server of one account.
#[derive(Default, Debug)]
pub(super) struct Findings(AtomicU8);

impl Findings {
    pub(super) fn has(&self, finding: Finding) -> bool {
        self.0.load(Ordering::Relaxed) & finding.bit() != 0
    }

    pub(super) fn note(&self, finding: Finding, host: &str) {
        let before = self.0.fetch_or(finding.bit(), Ordering::Relaxed);
        if before & finding.bit() == 0
            && let Some(remark) = finding.remark()
        {
            tracing::warn!(host, "{remark}");
        }
    }

    pub(super) fn remarks(&self) -> Vec<&'static str> {
        let all = [Finding::EsearchLies, Finding::ListLies];
        let found = all.into_iter().filter(|finding| self.has(*finding));
        found.filter_map(Finding::remark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_stays_found_and_is_told() {
        let findings = Findings::default();
        for finding in [
            Finding::IdGoesAlone,
            Finding::EsearchHolds,
            Finding::EsearchLies,
            Finding::ListLies,
            Finding::UidsStay,
        ] {
            assert!(!findings.has(finding));
            findings.note(finding, "mail.example.org");
            assert!(findings.has(finding));
        }
        let remarks = findings.remarks();
        assert!(remarks[0].contains("ESEARCH") && remarks[1].contains("LIST-EXTENDED"));
    }

    #[test]
    fn each_has_a_name_of_its_own_and_a_remedy_that_is_there() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        for (at, quirk) in REGISTER.iter().enumerate() {
            let path = format!("{root}/{}", quirk.at);
            assert!(std::path::Path::new(&path).is_file(), "{path}");
            let twice = REGISTER.iter().skip(at + 1);
            assert!(twice.clone().all(|other| other.name != quirk.name));
        }
    }

    #[test]
    fn each_file_of_this_folder_is_named() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/imap/quirks");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name != "mod.rs" && name != "register.rs" {
                let at = format!("crates/sources/src/imap/quirks/{name}");
                assert!(REGISTER.iter().any(|quirk| quirk.at == at), "{name}");
            }
        }
    }
}

//! `docs/quirks.md`: the faults of servers that are known and worked around.
//!
//! The register stands where the remedies do, in `sources`, which this program does not import. It is a file of words without
//! imports, so that it can be read here as well, and no arrow has to be drawn for a table.

#[expect(unreachable_pub, reason = "it is public where it stands")]
#[path = "../../../crates/sources/src/imap/quirks/register.rs"]
mod register;

use super::NOTE;
use super::markdown::Table;
use register::{REGISTER, Tried};

pub(super) fn page() -> String {
    let mut table = Table::new(&["fault", "who has it", "what is done", "what a caller hears"]);
    for quirk in REGISTER {
        let name = format!("[{}](../{})", quirk.name, quirk.at);
        table.row(&[&name, quirk.who, quirk.remedy, quirk.told]);
    }
    let mut sources = Table::new(&["fault", "where that is from", "its test runs against"]);
    for quirk in REGISTER {
        let tried = match quirk.tried {
            Tried::Scripted => "a scripted server".to_owned(),
            Tried::Real(program) => format!("{program} itself"),
        };
        sources.row(&[quirk.name, quirk.evidence, &tried]);
    }
    format!(
        "# Faults of servers\n\n{NOTE}\n\nMail servers do not all keep to the standards. What follows is known here and worked \
         around, by the fault and not by the vendor wherever the fault shows itself.\n\n{}\n## Where that is from\n\nNone of \
         this was tried against the large services themselves: that needs accounts there, and the tests need no network. What \
         is said of Google, Microsoft, Apple, Yahoo, NetEase, STRATO, Fastmail and Proton comes from their documents and from \
         public reports, and the tests play it with a server that says what those reports say. Dovecot and Cyrus run in the \
         tests as they are. If a service behaves otherwise, please report it.\n\n{}",
        table.into_text(),
        sources.into_text()
    )
}

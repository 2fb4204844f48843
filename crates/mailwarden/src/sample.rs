//! A small sample mailbox, built into the program: the mail of a bicycle-chain maker, nobody in it real.
//!
//! The messages are the `.eml` files in `crates/mailwarden/sample/`; [`MESSAGES`] is the one list of them.
//! A listed file that is missing does not compile, and a file that is not listed fails a test.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use State::{Cur, New};

/// Writes the sample mailbox as a Maildir++ tree and answers how many messages it holds.
///
/// `dir` is created when it is missing. INVARIANT: a directory that holds anything is refused, so that
/// nobody's mail is ever mixed with the sample.
pub(crate) fn write_to(dir: &Path) -> io::Result<usize> {
    fs::create_dir_all(dir)?;
    if fs::read_dir(dir)?.next().is_some() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the directory for the sample mailbox is not empty",
        ));
    }
    for (number, message) in MESSAGES.iter().enumerate() {
        deliver(dir, number, message)?;
    }
    Ok(MESSAGES.len())
}

/// One message of the sample.
struct Message {
    /// Folder and file in `sample/`, ASCII only.
    path: &'static str,
    state: State,
    bytes: &'static [u8],
}

enum State {
    /// Not yet seen by any mail program: in `new/`.
    New,
    /// In `cur/`, with these Maildir flags in ASCII order.
    Cur(&'static str),
}

/// As a mail program delivers: into `tmp/`, dated, then renamed to its place.
fn deliver(dir: &Path, number: usize, message: &Message) -> io::Result<()> {
    let folder = dir.join(maildir_name(message.path));
    for place in ["tmp", "new", "cur"] {
        fs::create_dir_all(folder.join(place))?;
    }
    let seconds = sent_at(message)?;
    let unique = format!("{seconds}.M{number}P1.sample");
    let (place, name) = match message.state {
        New => ("new", unique.clone()),
        Cur(flags) => ("cur", format!("{unique}:2,{flags}")),
    };
    let written = folder.join("tmp").join(unique);
    let mut file = File::create_new(&written)?;
    file.write_all(message.bytes)?;
    file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))?;
    drop(file);
    fs::rename(written, folder.join(place).join(name))
}

/// Maildir++: INBOX is the root, a subfolder of `A` called `B` is `.A.B`, names in modified UTF-7.
fn maildir_name(path: &str) -> String {
    match path.split_once('/').map_or("INBOX", |(folder, _)| folder) {
        "INBOX" => String::new(),
        "Projekte-Uebersicht" => ".Projekte.&ANw-bersicht".to_owned(),
        plain => format!(".{plain}"),
    }
}

/// The message's `Date` in seconds since 1970.
fn sent_at(message: &Message) -> io::Result<u64> {
    let lines = message.bytes.split(|byte| *byte == b'\n');
    lines
        .take_while(|line| !line.is_empty())
        .find_map(|line| line.strip_prefix(b"Date: "))
        .and_then(|date| {
            jiff::fmt::rfc2822::DateTimeParser::new()
                .parse_timestamp(date)
                .ok()
        })
        .and_then(|sent| u64::try_from(sent.as_second()).ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a sample without a date"))
}

macro_rules! sample {
    ($path:literal, $state:expr) => {
        Message {
            path: $path,
            state: $state,
            bytes: include_bytes!(concat!("../sample/", $path)),
        }
    };
}

#[rustfmt::skip]
const MESSAGES: &[Message] = &[
    sample!("INBOX/2026-08-19-0702-bare-question.eml", Cur("S")),
    sample!("INBOX/2026-08-23-2016-paul-kite.eml", Cur("S")),
    sample!("INBOX/2026-09-24-1031-noa-hebrew.eml", Cur("S")),
    sample!("INBOX/2026-09-28-1945-application-zoe.eml", Cur("F")),
    sample!("INBOX/2026-10-02-0333-damaged-order.eml", Cur("S")),
    sample!("INBOX/2026-10-05-2114-tomas-signed-backup.eml", Cur("S")),
    sample!("INBOX/2026-10-08-1602-sokolnik-enquiry.eml", Cur("RS")),
    sample!("INBOX/2026-10-12-1200-framebuilders-digest.eml", Cur("S")),
    sample!("INBOX/2026-10-15-1200-rad-und-regel.eml", Cur("S")),
    sample!("INBOX/2026-10-20-0841-bell-enquiry.eml", Cur("RS")),
    sample!("INBOX/2026-10-22-1905-re-bell-two-deliveries.eml", Cur("RS")),
    sample!("INBOX/2026-10-23-0718-juergen-capacity.eml", Cur("S")),
    sample!("INBOX/2026-10-26-1320-read-receipt-bell.eml", Cur("S")),
    sample!("INBOX/2026-10-28-1337-scan.eml", Cur("S")),
    sample!("INBOX/2026-10-29-2133-re-bell-payment.eml", Cur("FRS")),
    sample!("INBOX/2026-10-31-1720-ingrid-christmas.eml", Cur("RS")),
    sample!("INBOX/2026-11-02-0412-hosting-invoice.eml", Cur("S")),
    sample!("INBOX/2026-11-03-0912-re-bell-order.eml", Cur("S")),
    sample!("INBOX/2026-11-04-1105-lefevre-prices.eml", Cur("RS")),
    sample!("INBOX/2026-11-05-0850-lefevre-out-of-office.eml", Cur("S")),
    sample!("INBOX/2026-11-05-1302-bounce.eml", Cur("S")),
    sample!("INBOX/2026-11-06-1415-lefevre-invoice.eml", Cur("F")),
    sample!("INBOX/2026-11-06-1755-anna-forward-fair-photo.eml", Cur("PS")),
    sample!("INBOX/2026-11-07-0600-spoke-and-word-44.eml", Cur("S")),
    sample!("INBOX/2026-11-08-2203-paul-christmas.eml", Cur("")),
    sample!("INBOX/2026-11-09-0830-tax-advisor.eml", Cur("FS")),
    sample!("INBOX/2026-11-09-1640-anna-bell-customs.eml", Cur("F")),
    sample!("INBOX/2026-11-10-0658-password-reset.eml", Cur("S")),
    sample!("INBOX/2026-11-11-1022-invitation-stocktaking.eml", Cur("")),
    sample!("INBOX/2026-11-12-1731-parcel-on-its-way.eml", New),
    sample!("INBOX/2026-11-13-0214-ci-build-failed.eml", Cur("")),
    sample!("INBOX/2026-11-13-1147-phishing-account-review.eml", Cur("")),
    sample!("Sent/2026-06-09-1011-re-tanaka-pins.eml", Cur("S")),
    sample!("Sent/2026-06-26-0710-re-summer-outing.eml", Cur("S")),
    sample!("Sent/2026-07-15-0926-re-chain-skips.eml", Cur("S")),
    sample!("Sent/2026-07-17-0802-re-chain-replacement.eml", Cur("S")),
    sample!("Sent/2026-09-03-0815-re-fair-power.eml", Cur("S")),
    sample!("Sent/2026-09-24-1305-re-noa-hebrew.eml", Cur("S")),
    sample!("Sent/2026-10-20-1522-re-bell-enquiry.eml", Cur("S")),
    sample!("Sent/2026-10-26-1148-re-bell-quote-118.eml", Cur("S")),
    sample!("Sent/2026-10-30-0902-re-bell-payment.eml", Cur("S")),
    sample!("Sent/2026-11-01-1040-re-christmas.eml", Cur("S")),
    sample!("Sent/2026-11-05-0850-re-lefevre-order.eml", Cur("S")),
    sample!("Archive/2026-05-20-0900-insurance.eml", Cur("S")),
    sample!("Archive/2026-05-28-1212-old-order-alpine.eml", Cur("S")),
    sample!("Archive/2026-06-08-0930-tanaka-pins.eml", Cur("RS")),
    sample!("Archive/2026-06-11-1719-re-tanaka-certificate.eml", Cur("S")),
    sample!("Archive/2026-06-25-1644-summer-outing.eml", Cur("RS")),
    sample!("Archive/2026-07-14-2010-chain-skips.eml", Cur("RS")),
    sample!("Archive/2026-07-16-1844-re-chain-photo.eml", Cur("RS")),
    sample!("Archive/2026-08-01-1130-re-chain-thanks.eml", Cur("S")),
    sample!("Archive/2026-08-10-1100-power-tariff.eml", Cur("S")),
    sample!("Projekte-Uebersicht/2026-09-01-1005-fair-overview.eml", Cur("RS")),
    sample!("Projekte-Uebersicht/2026-09-02-2247-re-fair-power.eml", Cur("S")),
    sample!("Projekte-Uebersicht/2026-09-14-1430-fair-confirmation.eml", Cur("S")),
    sample!("Projekte-Uebersicht/2026-09-18-2358-fair-sketch.eml", Cur("S")),
    sample!("Projekte-Uebersicht/2026-10-01-1412-juergen-exhibits.eml", Cur("")),
    sample!("Projekte-Uebersicht/2026-10-05-0900-fair-jour-fixe.eml", Cur("S")),
    sample!("Drafts/2026-11-14-1820-draft-camille.eml", Cur("DS")),
    sample!("Junk/2026-08-27-1409-ceo-fraud.eml", Cur("S")),
    sample!("Junk/2026-10-18-0211-watches-zero-width.eml", Cur("S")),
    sample!("Junk/2026-11-08-0540-seo-white-text.eml", Cur("")),
    sample!("Junk/2026-11-11-2359-fake-parcel.eml", Cur("")),
    sample!("Trash/2026-11-01-0800-canteen.eml", Cur("ST")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn files_below(dir: &Path) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                let inner = files_below(&entry.path());
                found.extend(inner.iter().map(|below| format!("{name}/{below}")));
            } else {
                found.insert(name);
            }
        }
        found
    }

    #[test]
    fn every_file_is_listed_once() {
        let mut on_disk = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sample"));
        on_disk.retain(|file| file.ends_with(".eml"));
        let listed: Vec<String> = MESSAGES.iter().map(|m| m.path.to_owned()).collect();
        assert_eq!(listed.len(), on_disk.len());
        assert_eq!(BTreeSet::from_iter(listed), on_disk);
    }

    #[test]
    fn it_becomes_a_maildir() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(write_to(dir.path()).unwrap(), MESSAGES.len());
        let written = files_below(dir.path());
        assert_eq!(written.len(), MESSAGES.len());
        for want in ["cur/", "new/", ".Sent/cur/", ".Projekte.&ANw-bersicht/cur/"] {
            assert!(written.iter().any(|file| file.starts_with(want)), "{want}");
        }
        for file in &written {
            let (place, name) = file.rsplit_once('/').unwrap();
            assert_eq!(place.ends_with("cur"), name.contains(":2,"), "{file}");
            let seconds: u64 = name.split_once('.').unwrap().0.parse().unwrap();
            let modified = fs::metadata(dir.path().join(file)).unwrap().modified();
            assert_eq!(modified.unwrap(), UNIX_EPOCH + Duration::from_secs(seconds));
        }
        assert!(dir.path().join(".Projekte.&ANw-bersicht/tmp").is_dir());
    }

    #[test]
    fn a_directory_with_anything_in_it_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("letter"), "dear").unwrap();
        let error = write_to(dir.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            files_below(dir.path()),
            BTreeSet::from(["letter".to_owned()])
        );
    }

    #[test]
    fn flags_stand_in_ascii_order() {
        for message in MESSAGES {
            if let Cur(flags) = message.state {
                assert!(
                    flags.as_bytes().is_sorted() && flags.chars().all(|f| "DFPRST".contains(f))
                );
            }
        }
    }
}

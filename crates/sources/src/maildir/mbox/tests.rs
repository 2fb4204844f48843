//! mbox files as they are cut, numbered and read, against files made for each test.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::folders::{Make, Place};
use super::super::open::Shelf;
use super::super::scan::Sharing;
use super::*;

const FROM: &str = "From a@b Mon Nov  3 10:12:30 2025";
const INTERNAL: &str = "From MAILER-DAEMON Mon Nov  3 10:12:30 2025";
const INTERNAL_HEADER: &str = "Date: 3 Nov 2025 10:12:30 +0000\n\
    From: Mail System Internal Data <MAILER-DAEMON@host.example>\n\
    Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\n\
    Message-ID: <1762164750@host.example>\n";

struct Box_ {
    dir: TempDir,
}

impl Box_ {
    fn new(octets: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("box"), octets).unwrap();
        Self { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("box")
    }

    fn place(&self) -> Place {
        Place::new("box", self.dir.path(), "box", Make::Mbox)
    }

    fn scan(&self) -> io::Result<Scan> {
        self.place().read(&Stop::default())
    }

    fn is_mbox(&self) -> bool {
        is_mbox(&self.place().store, Path::new("box"))
    }

    /// In the order of the file.
    fn entries(&self) -> Vec<Entry> {
        let mut found = self.scan().unwrap().entries;
        found.sort_by_key(|entry| entry.within().unwrap().begin);
        found
    }

    fn octets(&self, entry: &Entry) -> Vec<u8> {
        let stop = Stop::default();
        let mut shelf = Shelf::new(self.place(), &stop);
        let read = shelf.read(entry, |opened| Ok((opened.stored, opened.bytes(u64::MAX)?)));
        let (size, octets) = read.unwrap().unwrap();
        assert_eq!(size, octets.len() as u64);
        octets.to_vec()
    }

    fn all(&self) -> Vec<String> {
        let entries = self.entries();
        let text = |entry| String::from_utf8_lossy(&self.octets(entry)).into_owned();
        entries.iter().map(text).collect()
    }
}

fn all(text: &str) -> Vec<String> {
    let lf = Box_::new(text.as_bytes()).all();
    let crlf = Box_::new(text.replace('\n', "\r\n").as_bytes()).all();
    let made_lf: Vec<String> = crlf.iter().map(|text| text.replace("\r\n", "\n")).collect();
    // Lengths in headers count octets, so that they fit for one of the two.
    if !text.contains("Content-Length") {
        assert_eq!(made_lf, lf, "lines end one way or the other");
    }
    lf
}

#[test]
fn messages_end_where_the_next_begins() {
    for (text, want) in [
        ("", &[][..]),
        ("{F}\n", &[""]),
        ("{F}\nA: b\n\none\n", &["A: b\n\none\n"]),
        ("{F}\nA: b\n\none\n\n", &["A: b\n\none\n"]),
        ("{F}\nA: b\n\none\n\n\n", &["A: b\n\none\n\n"]),
        (
            "{F}\nA: b\n\none\n\n{F}\nC: d\n\ntwo\n\n",
            &["A: b\n\none\n", "C: d\n\ntwo\n"],
        ),
        // Without an empty line it is a sentence, unless a header follows.
        ("{F}\nA: b\n\none\n{F}\ntwo\n", &["A: b\n\none\n{F}\ntwo\n"]),
        (
            "{F}\nA: b\n\none\n{F}\nC: d\n\ntwo\n",
            &["A: b\n\none\n", "C: d\n\ntwo\n"],
        ),
        (
            "{F}\nA: b\n{F}\nC: d\n\ntwo\n",
            &["A: b\n{F}\nC: d\n\ntwo\n"],
        ),
        // Without a date it takes a header, too.
        (
            "From -\nA: b\n\none\n\nFrom - \nC: d\n\ntwo\n\nFrom a@b\nE: f\n\nthree\n",
            &["A: b\n\none\n", "C: d\n\ntwo\n", "E: f\n\nthree\n"],
        ),
        (
            "{F}\nA: b\n\none\n\nFrom a@b\nto c@d\n\nFrom -\n\nx\n",
            &["A: b\n\none\n\nFrom a@b\nto c@d\n\nFrom -\n\nx\n"],
        ),
        (
            "{F}\nA: b\n\none\nFrom -\nC: d\n",
            &["A: b\n\none\nFrom -\nC: d\n"],
        ),
        (
            "{F}\nA: b\n\none\n\nFrom here on\n",
            &["A: b\n\none\n\nFrom here on\n"],
        ),
        ("{F}\nA: b\n\n{F}\nC: d\n\n", &["A: b\n", "C: d\n"]),
        ("{F}\n\n{F}\n\n", &["", ""]),
        // Quoting is taken away in the text, once.
        (
            "{F}\nA: b\n>From c\n\n>From x\n>>From y\n> From z\nx >From\n>Fromage\n",
            &["A: b\n>From c\n\nFrom x\n>From y\n> From z\nx >From\n>Fromage\n"],
        ),
        ("{F}\nA: b\n\nno end", &["A: b\n\nno end"]),
        // What an IMAP server keeps of the folder is no message.
        (
            "{I}X-IMAP: 1 2\n\nx\n\n{F}\nA: b\n\none\n",
            &["A: b\n\none\n"],
        ),
        // A sender hides nothing by the same words.
        (
            "{F}\nX-IMAP: 1 2\n\nx\n\n{F}\nA: b\n\none\n",
            &["X-IMAP: 1 2\n\nx\n", "A: b\n\none\n"],
        ),
        (
            "{F}\nA: b\n\none\n\n{I}X-IMAP: 1 2\n\nx\n",
            &["A: b\n\none\n", "{H}X-IMAP: 1 2\n\nx\n"],
        ),
        (
            "{I}X-IMAP: 1 2\nReceived: x\n\nx\n",
            &["{H}X-IMAP: 1 2\nReceived: x\n\nx\n"],
        ),
        (
            "{F}\nA: b\n\none\n\n{F}\nX-IMAP: 1 2\n\nx\n",
            &["A: b\n\none\n", "X-IMAP: 1 2\n\nx\n"],
        ),
    ] {
        let filled = |text: &str| {
            let text = text.replace("{I}", &format!("{INTERNAL}\n{{H}}"));
            text.replace("{F}", FROM).replace("{H}", INTERNAL_HEADER)
        };
        let text = filled(text);
        let want: Vec<String> = want.iter().map(|one| filled(one)).collect();
        assert_eq!(all(&text), want, "{text:?}");
    }
}

#[test]
fn a_length_counts_where_it_fits() {
    let inner = format!("one\n\n{FROM}\n\n>From x\n");
    let long = inner.len();
    for (length, end, want) in [
        // It holds a line that would cut it, and what looks quoted is not.
        (long, "\n{F}\nC: d\n\ntwo\n", 2),
        (long, "{F}\nC: d\n\ntwo\n", 2),
        (long, "", 1),
        (long, "\n", 1),
        // Else lines count: three, the second of which begins in the text of the first.
        (long + 2, "\n{F}\nC: d\n\ntwo\n", 3),
        (long - 1, "\n{F}\nC: d\n\ntwo\n", 3),
        (0, "\n{F}\nC: d\n\ntwo\n", 3),
        (999_999, "\n{F}\nC: d\n\ntwo\n", 3),
    ] {
        let end = end.replace("{F}", FROM);
        let text = format!("{FROM}\nContent-Length: {length}\n\n{inner}{end}");
        let found = all(&text);
        assert_eq!(found.len(), want, "{length} {end:?}");
        if want < 3 {
            assert_eq!(found[0], format!("Content-Length: {length}\n\n{inner}"));
        } else {
            assert_eq!(found[1], "\nFrom x\n");
        }
    }
}

#[test]
fn what_is_no_mbox_is_refused() {
    for text in ["x", "\n", "A: b\n\n", "From here on\n", "\nFrom "] {
        let file = Box_::new(text.as_bytes());
        assert!(file.scan().is_err(), "{text:?}");
        assert!(!file.is_mbox());
    }
    assert!(Box_::new(format!("{FROM}\n").as_bytes()).is_mbox());
    assert!(!Box_::new(b"").is_mbox());
}

fn written(messages: &[(&str, &str)]) -> String {
    let one = |(status, name): &(&str, &str)| {
        format!("{FROM}\nMessage-ID: <{name}>\n{status}Subject: {name}\n\nbody of {name}\n\n")
    };
    messages.iter().map(one).collect()
}

fn uids(text: &str) -> Vec<Uid> {
    let entries = Box_::new(text.as_bytes()).entries();
    entries.iter().map(|entry| entry.uid).collect()
}

#[test]
fn a_message_keeps_its_number() {
    let before = uids(&written(&[("", "a"), ("", "b"), ("", "c")]));
    let [a, b, c] = before[..] else {
        panic!("{before:?}")
    };
    let status = "Status: RO\nX-Status: A\nX-Keywords: x y\n z\nX-UID: 7\nContent-Length: 9\n";
    for (messages, want) in [
        (
            &[("", "a"), ("", "b"), ("", "c"), ("", "d")][..],
            vec![a, b, c],
        ),
        (&[("", "b"), ("", "c")], vec![b, c]),
        (&[("", "c"), ("", "a")], vec![c, a]),
        (&[(status, "a"), ("", "b"), (status, "c")], vec![a, b, c]),
    ] {
        let found = uids(&written(messages));
        assert_eq!(found[..want.len()], want, "{messages:?}");
    }
    // However the last one ends before another is added.
    let whole = written(&[("", "a")]);
    for cut in 0..3 {
        let cut = whole.get(..whole.len() - cut).unwrap();
        assert_eq!(uids(cut), [a], "{cut:?}");
    }
    assert_eq!(
        uids(&whole.replace('\n', "\r\n")),
        [a],
        "a program may write it anew"
    );
    // A number is a promise: ids are handed out and come back after an upgrade.
    assert_eq!(a, Uid(4_244_209_103));
}

#[test]
fn the_same_message_twice_has_two_numbers() {
    let two = uids(&written(&[("", "a"), ("", "a")]));
    assert_ne!(two[0], two[1]);
    let one = uids(&written(&[("", "a")]));
    assert_eq!(two[0], one[0]);
    let three = uids(&written(&[("", "a"), ("", "b"), ("", "a")]));
    assert_eq!((three[0], three[2]), (two[0], two[1]));
}

#[test]
fn flags_and_order() {
    let text = written(&[("Status: RO\n", "a"), ("X-Status: F\n", "b"), ("", "c")]);
    let file = Box_::new(text.as_bytes());
    let entries = file.entries();
    let shown: Vec<(bool, usize)> = entries
        .iter()
        .map(|entry| (entry.is_unread(), entry.flags().len()))
        .collect();
    assert_eq!(shown, [(false, 1), (true, 1), (true, 0)]);
    let newest = file.scan().unwrap().entries;
    let begins: Vec<u64> = newest.iter().map(|e| e.within().unwrap().begin).collect();
    assert!(begins.is_sorted_by(|a, b| a > b), "the last is the newest");
    assert_eq!(newest[0].arrived().unwrap().as_second(), 1_762_164_750);
}

#[test]
fn a_file_that_is_written_to_meanwhile_is_followed() {
    let file = Box_::new(written(&[("", "a"), ("", "b")]).as_bytes());
    let b = file.entries()[1].clone();
    let append = |text: &str| {
        let mut open = fs::File::options().append(true).open(file.path()).unwrap();
        open.write_all(text.as_bytes()).unwrap();
    };
    append(&written(&[("", "c")]));
    assert!(file.octets(&b).ends_with(b"body of b\n"), "it grew");
    fs::write(file.path(), written(&[("Status: RO\n", "b"), ("", "a")])).unwrap();
    let stop = Stop::default();
    let mut shelf = Shelf::new(file.place(), &stop);
    let mut reads = 0;
    let read = shelf.read(&b, |opened| {
        reads += 1;
        if reads == 1 {
            fs::write(file.path(), written(&[("", "a"), ("Status: RO\n", "b")])).unwrap();
        }
        Ok((opened.entry.flags().len(), opened.bytes(u64::MAX)?))
    });
    let (flags, octets) = read.unwrap().unwrap();
    assert_eq!((reads, flags), (2, 1));
    assert!(octets.ends_with(b"body of b\n"), "it was written anew");
    fs::write(file.path(), written(&[("", "a")])).unwrap();
    let mut shelf = Shelf::new(file.place(), &stop);
    assert!(shelf.open(&b).unwrap().is_none(), "it is gone");
}

/// As mboxrd writes it.
fn quoted(message: &[u8], end: &[u8]) -> Vec<u8> {
    let mut out = FROM.as_bytes().to_vec();
    out.extend_from_slice(end);
    let mut text = false;
    for line in message.split_inclusive(|byte| *byte == b'\n') {
        if text && line.trim_ascii_start_by(b'>').starts_with(b"From ") {
            out.push(b'>');
        }
        text |= line == end;
        out.extend_from_slice(line);
    }
    out.extend_from_slice(end);
    out
}

trait TrimStart {
    fn trim_ascii_start_by(&self, byte: u8) -> &[u8];
}

impl TrimStart for [u8] {
    fn trim_ascii_start_by(&self, byte: u8) -> &[u8] {
        let from = self.iter().take_while(|one| **one == byte).count();
        &self[from..]
    }
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(FROM.as_bytes().to_vec()),
        "(>{0,3})From [a-z]{0,3}".prop_map(String::into_bytes),
        Just(Vec::new()),
        Just(b">".to_vec()),
        Just(vec![b'>'; 2_000]),
        Just(vec![b'x'; 70_000]),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|mut octets| {
            octets.retain(|byte| !matches!(byte, b'\n' | b'\r'));
            octets
        }),
    ]
}

fn message() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(line(), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(
        bodies in proptest::collection::vec(message(), 0..6),
        crlf in any::<bool>(),
    ) {
        let end: &[u8] = if crlf { b"\r\n" } else { b"\n" };
        let messages: Vec<Vec<u8>> = bodies.iter().enumerate().map(|(at, lines)| {
            let mut message = [format!("Subject: {at}").as_bytes(), end, end].concat();
            for line in lines {
                message.extend_from_slice(line);
                message.extend_from_slice(end);
            }
            message
        }).collect();
        let file: Vec<u8> = messages.iter().flat_map(|one| quoted(one, end)).collect();
        let file = Box_::new(&file);
        let entries = file.entries();
        let read: Vec<Vec<u8>> = entries.iter().map(|entry| file.octets(entry)).collect();
        prop_assert_eq!(read, messages);
    }

    /// Whatever follows a first line, nothing panics, and the messages lie one behind the other.
    #[test]
    fn anything_is_cut_somehow(lines in proptest::collection::vec(prop_oneof![
        line(),
        Just(b"Content-Length: 40".to_vec()),
        Just(b"Content-Length: 18446744073709551615".to_vec()),
        Just(b"Status: R".to_vec()),
    ], 0..40)) {
        let mut text = [FROM.as_bytes(), b"\n"].concat();
        for line in lines {
            text.extend_from_slice(&line);
            text.push(b'\n');
        }
        let file = Box_::new(&text);
        let mut at = 0;
        for entry in file.entries() {
            let slice = entry.within().unwrap();
            prop_assert!(at <= slice.separator && slice.separator < slice.begin);
            prop_assert!(slice.begin <= slice.end && slice.end <= text.len() as u64);
            at = slice.end;
            if entry.sharing == Sharing::Alone {
                file.octets(&entry);
            }
        }
    }
}

/// The file is cut, then another program puts links where it was, and then its messages are read.
#[cfg(unix)]
#[test]
fn a_link_put_in_its_place_is_not_followed() {
    let stop = Stop::default();
    for swapped in ["work", "work/box"] {
        let home = tempfile::tempdir().unwrap();
        for (store, text) in [("mail", "inside"), ("outside", "beyond")] {
            let directory = home.path().join(store).join("work");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("box"), format!("{FROM}\nA: {text}\n\n")).unwrap();
        }
        let root = home.path().join("mail");
        let place = Place::new("work/box", &root, "work/box", Make::Mbox);
        let scan = place.read(&stop).unwrap();
        let (here, away) = (root.join(swapped), home.path().join("away"));
        fs::rename(&here, away).unwrap();
        std::os::unix::fs::symlink(home.path().join("outside").join(swapped), &here).unwrap();
        let mut shelf = Shelf::new(place.clone(), &stop);
        let read = shelf.read(&scan.entries[0], |opened| opened.bytes(1_000));
        assert!(read.ok().flatten().is_none(), "{swapped}");
        assert!(place.read(&stop).is_err(), "{swapped}");
        assert!(!is_mbox(&place.store, &place.path), "{swapped}");
    }
}

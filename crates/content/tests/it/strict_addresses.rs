//! Policies know an address only where Python's `email`, a second strict parser, reads the same
//! one.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use mail::{FactsBuf, Summary, SummaryHeader, Uid};
use testkit::AddressHeader;

/// Header fields that are read, unless `MAILWARDEN_HEADER_FIELDS` is another number.
const FIELDS: u64 = 100_000;

/// Reads one field value per line, in hex, and answers with the number of its groups and its
/// addresses, or with `!` for a field that has a defect. Dots in display names are obsolete syntax
/// that ordinary mail has, and policies read a domain with a dot at its end.
const PYTHON: &str = r#"
import re, sys
from email.headerregistry import HeaderRegistry

registry = HeaderRegistry()
HARMLESS = ("period in 'phrase'", "comment found without atom", "local-part contains non-ASCII characters)")

def addresses(value):
    header = registry("to", re.sub("\r?\n(?=[ \t])", "", value.decode()))
    if any(str(defect) not in HARMLESS for defect in header.defects):
        return None
    found = []
    for one in header.addresses:
        domain = one.domain
        if not domain.startswith("["):
            domain = domain.encode("idna").decode().lower()
        found.append(one.username.lower() + "@" + domain)
    kinds = ["group" if group.display_name is not None else "" for group in header.groups]
    return "\x1f".join([str(len(kinds) - kinds.count("")), *found])

for line in sys.stdin:
    value = bytes.fromhex(line)
    value = re.sub(rb"(?<=[^\s.<>@,;])\.(?=[>(,;]|\s+[>(,;]|\s*$)", b"", value)
    try:
        answer = addresses(value)
    except Exception:
        answer = None
    sys.stdout.write(("!" if answer is None else answer) + "\n")
"#;

/// The addresses of a field, as Python reads them, and how many groups it has.
type Judgement = Option<(usize, Vec<String>)>;

#[expect(clippy::disallowed_methods, reason = "Python's parser is the judge")]
fn judge(values: &[Vec<u8>]) -> Vec<Judgement> {
    let mut child = Command::new("python3")
        .args(["-c", PYTHON])
        .env("PYTHONIOENCODING", "utf-8:surrogateescape")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut stdin = child.stdin.take().unwrap();
    let hex = |value: &Vec<u8>| value.iter().map(|byte| format!("{byte:02x}")).collect();
    let lines: Vec<String> = values.iter().map(hex).collect();
    let text = lines.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    answer.lines().map(judgement).collect()
}

fn judgement(line: &str) -> Judgement {
    if line == "!" {
        return None;
    }
    let mut words = line.split('\u{1f}');
    let groups = words.next()?.parse().unwrap();
    Some((groups, words.map(str::to_owned).collect()))
}

#[expect(clippy::disallowed_methods, reason = "a longer run is asked for")]
fn wanted_fields() -> u64 {
    std::env::var("MAILWARDEN_HEADER_FIELDS").map_or(FIELDS, |count| count.parse().unwrap())
}

fn facts(block: &[u8]) -> FactsBuf {
    content::facts(&Summary {
        store_id: None,
        uid: Uid(1),
        order: 0,
        flags: None,
        arrived: None,
        size: None,
        header: Some(SummaryHeader::Fields(content::list_fields(block, false))),
        structure: None,
        text: None,
    })
}

/// The values of the fields of that name, by splitting lines.
fn values(block: &[u8], name: &str) -> Vec<Vec<u8>> {
    let mut fields: Vec<Vec<u8>> = Vec::new();
    for line in block.split_inclusive(|byte| *byte == b'\n') {
        match fields.last_mut() {
            Some(field) if line.starts_with(b" ") || line.starts_with(b"\t") => {
                field.extend_from_slice(line);
            }
            _ => fields.push(line.to_vec()),
        }
    }
    let named = fields.iter().filter_map(|field| {
        let mut halves = field.splitn(2, |byte| *byte == b':');
        let (found, value) = (halves.next()?, halves.next()?);
        let is_named = found.trim_ascii_end().eq_ignore_ascii_case(name.as_bytes());
        is_named.then(|| value.trim_ascii().to_vec())
    });
    named.collect()
}

#[test]
fn known_addresses_are_those_of_a_second_strict_parser() {
    let (mut fields, mut number) = (0, 0);
    let mut headers = Vec::new();
    while fields < wanted_fields() {
        let header = AddressHeader::random(24, number);
        fields += header.fields;
        number += 1;
        headers.push(header);
    }
    let mut asked: Vec<Vec<u8>> = Vec::new();
    let found: Vec<FactsBuf> = headers.iter().map(|one| facts(&one.block)).collect();
    for header in &headers {
        for name in ["From", "To", "Cc"] {
            asked.extend(values(&header.block, name));
        }
    }
    let mut judged = judge(&asked).into_iter();
    let (mut wrong, mut known, mut refused_ordinary) = (Vec::new(), 0, 0);
    for (header, facts) in headers.iter().zip(&found) {
        let mut of = |name: &str| -> Vec<Judgement> {
            let count = values(&header.block, name).len();
            judged.by_ref().take(count).collect()
        };
        let (from, to, cc) = (of("From"), of("To"), of("Cc"));
        if let Some(sender) = &facts.from {
            known += 1;
            let want = [Some((0, vec![sender.as_str().to_owned()]))];
            if from != want {
                wrong.push((header, format!("From {:?} for {from:?}", sender.as_str())));
            }
        } else if header.is_ordinary {
            refused_ordinary += 1;
        }
        let allowed: BTreeSet<&str> = [&to, &cc]
            .into_iter()
            .filter(|fields| fields.len() == 1)
            .flat_map(|fields| fields.iter().flatten())
            .flat_map(|(_, addresses)| addresses.iter().map(String::as_str))
            .collect();
        for recipient in &facts.recipients {
            if !allowed.contains(recipient.as_str()) {
                wrong.push((header, format!("recipient {:?}", recipient.as_str())));
            }
        }
    }
    let first = wrong.iter().take(20);
    let first: Vec<String> = first
        .map(|(header, what)| format!("{what}\n{}", header.block.escape_ascii()))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        first.join("\n")
    );
    assert_eq!(refused_ordinary, 0, "ordinary senders that are not known");
    assert!(known > headers.len() / 5);
}

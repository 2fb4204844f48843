//! What is shown of an address field parses back, in Python's `email`, to the addresses of the
//! message.

use std::io::Write as _;
use std::process::{Command, Stdio};

use content::AddressList;

const LINES: usize = 100_000;

/// Reads one field value per line and answers with `name␟local␟domain␟spec` per address, separated
/// by `␞`. Every line is read by `email.utils` (strict where it knows that mode), every fiftieth
/// also by `email.headerregistry`, without defects. `email.utils` drops the quotes of text that is
/// no address, so that `spec` is what counts there.
const PYTHON: &str = r#"
import inspect, sys
from email.headerregistry import HeaderRegistry
from email.utils import getaddresses

registry = HeaderRegistry()
# Non-ASCII local parts (RFC 6532), and text that is no address.
HARMLESS = ("local-part contains non-ASCII characters)", "addr-spec local part with no domain")
strict = {"strict": True} if "strict" in inspect.signature(getaddresses).parameters else {}

def parts(spec):
    local, at, domain = spec.rpartition("@")
    if spec.endswith('"') or not at:
        local, domain = spec, ""
    if len(local) > 1 and local[0] == local[-1] == '"':
        local, rest = "", iter(local[1:-1])
        for char in rest:
            local += next(rest, "") if char == "\\" else char
    return local, domain

def agree(one, other):
    name, local, domain = one
    return name == other[0] and ((local, domain) == other[1:3] or not domain and local in (other[1], other[3]))

sys.stdin.reconfigure(encoding="utf-8", newline="\n")
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
for number, line in enumerate(sys.stdin):
    line = line.rstrip("\n")
    found = [(name, *parts(spec), spec) for name, spec in getaddresses([line], **strict) if name or spec]
    if number % 50 == 0:
        try:
            header = registry("from", line)
            again = [(one.display_name, one.username, one.domain) for one in header.addresses]
            same = len(again) == len(found) and all(map(agree, again, found))
            defects = [d for d in header.defects if str(d) not in HARMLESS]
        except Exception as error:
            again, same, defects = [], False, [error]
        if not same or defects:
            found = [("headerregistry", repr(again), repr(defects), "")]
    print("\x1e".join("\x1f".join(one) for one in found))
"#;

#[expect(clippy::disallowed_methods, reason = "Python's parser is the judge")]
fn python(lines: &[String]) -> Vec<String> {
    let mut child = Command::new("python3")
        .args(["-c", PYTHON])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let mut stdin = child.stdin.take().unwrap();
    let text = lines.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let answer = String::from_utf8(output.stdout).unwrap();
    answer.lines().map(str::to_owned).collect()
}

/// SplitMix64: the lines are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from.get(self.below(from.len())).unwrap()
    }
}

/// An address as Python answers: name, local part, domain.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Expected(String, String, String);

impl Expected {
    fn new(name: &str, local: &str, domain: &str) -> Self {
        Self(name.to_owned(), local.to_owned(), domain.to_owned())
    }
}

const WORDS: &[&str] = &[
    "Ann", "Bo", "Dr", "van", "O'Neil", "42", "x-y", "Support", "a_b",
];
const SPECIALS: &[&str] = &[
    ", ",
    "@",
    " @ ",
    ".",
    "\"",
    "\\",
    "; ",
    ":",
    "<",
    ">",
    "(",
    ")",
    " ",
    "boss@corp.example",
];
const DOMAINS: &[&str] = &[
    "example.com",
    "b.c",
    "mail.evil.example",
    "x",
    "sub-1.example.org",
    "[192.0.2.1]",
    "[IPv6:2001:db8::1]",
    "müller.example",
];

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn encoded(random: &mut Random, text: &str) -> String {
    let hex: String = text.bytes().map(|byte| format!("={byte:02X}")).collect();
    match random.below(2) {
        0 => format!("=?utf-8?Q?{hex}?="),
        _ => format!("=?UTF-8*en?q?{hex}?="),
    }
}

/// Text that needs quotes.
fn mixed(random: &mut Random) -> String {
    let mut out = random.pick(WORDS).to_owned();
    for _ in 0..=random.below(3) {
        out += random.pick(SPECIALS);
        out += random.pick(WORDS);
    }
    out
}

/// As it is written, and what it says.
fn name(random: &mut Random) -> (String, String) {
    match random.below(8) {
        0 | 1 => (String::new(), String::new()),
        2 | 3 => {
            let words = [random.pick(WORDS), random.pick(WORDS)].join(" ");
            (words.clone(), words)
        }
        4 | 5 => {
            let text = mixed(random);
            (quoted(&text), text)
        }
        6 => {
            let text = mixed(random) + " ü";
            (encoded(random, &text), text)
        }
        _ => {
            let text = mixed(random) + " ß";
            (quoted(&encoded(random, &text)), text)
        }
    }
}

fn local(random: &mut Random) -> (String, String) {
    match random.below(6) {
        0 | 1 => ("ann".to_owned(), "ann".to_owned()),
        2 => {
            let text = [
                random.pick(&["a", "b+c", "x_y"]),
                random.pick(&["d", "{e}", "1"]),
            ]
            .join(".");
            (text.clone(), text)
        }
        3 | 4 => {
            let text = mixed(random);
            (quoted(&text), text)
        }
        _ => (
            "\"=?utf-8?q?a=40b?=\"".to_owned(),
            "=?utf-8?q?a=40b?=".to_owned(),
        ),
    }
}

fn gap(random: &mut Random) -> &'static str {
    random.pick(&[
        "",
        "",
        "",
        " ",
        "\r\n ",
        " (note (nested) \\) boss@corp.example) ",
    ])
}

/// A mailbox that RFC 5322 allows.
fn mailbox(random: &mut Random) -> (String, Expected) {
    let (written, says) = name(random);
    let (local_written, local) = local(random);
    let domain = random.pick(DOMAINS);
    let says = says.split_whitespace().collect::<Vec<_>>().join(" ");
    if written.is_empty() && random.below(2) == 0 {
        let expected = Expected::new("", &local, domain);
        return (format!("{local_written}@{domain}"), expected);
    }
    let comment = gap(random);
    let comment_name = match comment.contains('(') && says.is_empty() {
        true => "note nested ) boss@corp.example",
        false => says.as_str(),
    };
    let text = format!("{written}{comment} <{local_written}@{domain}>");
    (text, Expected::new(comment_name, &local, domain))
}

/// A line that is malformed or made to deceive, with the addresses in it.
fn hostile(random: &mut Random) -> (String, Vec<Expected>) {
    let boss = ("boss", random.pick(&["corp.example", "bank.example"]));
    let evil = ("m", random.pick(&["evil.example", "e.test"]));
    let one = |name: &str| vec![Expected::new(name, evil.0, evil.1)];
    let both = vec![
        Expected::new("", boss.0, boss.1),
        Expected::new("", evil.0, evil.1),
    ];
    let (b, e) = (
        format!("{}@{}", boss.0, boss.1),
        format!("{}@{}", evil.0, evil.1),
    );
    match random.below(14) {
        0 => (format!("{b} <{e}>"), one(&b)),
        1 => (format!("<{b}> <{e}>"), both),
        2 => (format!("{b} {e}"), both),
        3 => (
            format!("{b}@{}", evil.1),
            vec![Expected::new("", &b, evil.1)],
        ),
        4 => (format!("{b}: {e};"), one("")),
        5 => (
            format!("<\"{b}> (via\"@{}>", evil.1),
            vec![Expected::new("", &format!("{b}> (via"), evil.1)],
        ),
        6 => (
            format!("\"Boss <{b}>, x\"@{}", evil.1),
            vec![Expected::new("", &format!("Boss <{b}>, x"), evil.1)],
        ),
        7 => (
            format!("=?utf-8?b?Ym9zc0Bjb3JwLmV4YW1wbGU=?=@{}", evil.1),
            vec![Expected::new(
                "",
                "=?utf-8?b?Ym9zc0Bjb3JwLmV4YW1wbGU=?=",
                evil.1,
            )],
        ),
        8 => (
            format!("Boss <{b}, {e}"),
            vec![Expected::new("Boss", boss.0, boss.1), one("").remove(0)],
        ),
        9 => (format!("\"Boss <{e}>"), one("\"Boss")),
        10 => (format!("<@{}:{e}>", boss.1), one("")),
        11 => (format!("{b}; {e};"), both),
        12 => (
            format!("<{b}{e}>"),
            vec![Expected::new("", &format!("{b}{}", evil.0), evil.1)],
        ),
        _ => (
            format!("bo\u{200b}ss@{}", evil.1),
            vec![Expected::new("", "bo\u{fffd}ss", evil.1)],
        ),
    }
}

/// Any sequence of what has a meaning. What it holds is what the parser says.
fn soup(random: &mut Random) -> (String, Vec<Expected>) {
    const PIECES: &[&str] = &[
        "a",
        "b.c",
        "@",
        "@",
        "<",
        ">",
        ",",
        ";",
        ":",
        "\"",
        "(",
        ")",
        " ",
        " ",
        "\\",
        ".",
        "ann@x.example",
        "ü",
    ];
    let line: String = (0..random.below(16)).map(|_| random.pick(PIECES)).collect();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let list = AddressList::parse(line.as_bytes());
    let found = list.mailboxes().map(|one| {
        let name = one
            .display_name
            .as_ref()
            .map_or(String::new(), |name| text(name.bytes()));
        let domain = one
            .domain
            .as_ref()
            .map_or(String::new(), |domain| text(domain.bytes()));
        Expected(name, text(one.local_part.bytes()), domain)
    });
    (line.clone(), found.collect())
}

/// Whether Python's answer is the address that is expected. Names are compared without blanks: runs
/// of them are one.
fn agrees(found: &[&str], want: &Expected) -> bool {
    let &[name, local, domain, spec] = found else {
        return false;
    };
    let squeezed = |text: &str| text.replace(' ', "");
    let Expected(want_name, want_local, want_domain) = want;
    // A name alone reads as a local part, and one that repeats the address is not shown.
    let is_repeated = want_local.is_empty() || *want_name == format!("{want_local}@{want_domain}");
    let names = squeezed(name) == squeezed(want_name) || name.is_empty() && is_repeated;
    let texts = [want_local, want_name].map(|text| squeezed(text));
    let specs = [spec, local].map(squeezed);
    let is_text = want_domain.is_empty() && specs.iter().any(|spec| texts.contains(spec));
    is_text || names && (local, domain) == (want_local.as_str(), want_domain.as_str())
}

#[test]
fn shown_addresses_parse_back_to_those_of_the_message() {
    let mut random = Random(23);
    let mut lines = Vec::with_capacity(LINES);
    let mut expected = Vec::with_capacity(LINES);
    for _ in 0..LINES {
        let (line, holds) = match random.below(10) {
            0 => hostile(&mut random),
            1 => soup(&mut random),
            _ => {
                let all: Vec<_> = (0..=random.below(3))
                    .map(|_| mailbox(&mut random))
                    .collect();
                let texts: Vec<&str> = all.iter().map(|(text, _)| text.as_str()).collect();
                let line = match random.below(8) {
                    0 => format!("Team{}: {};", gap(&mut random), texts.join(",")),
                    _ => texts.join(random.pick(&[", ", ",", ",\r\n\t", ", , "])),
                };
                (line, all.into_iter().map(|(_, one)| one).collect())
            }
        };
        lines.push(line);
        expected.push(holds);
    }
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            let header = format!("From: {line}\r\n\r\n");
            content::values(header.as_bytes(), "From")
                .next()
                .unwrap_or_default()
        })
        .collect();
    let answers = python(&shown);
    assert_eq!(answers.len(), LINES);
    let mut wrong = Vec::new();
    for (number, answer) in answers.iter().enumerate() {
        let found: Vec<Vec<&str>> = answer
            .split('\u{1e}')
            .filter(|one| !one.is_empty())
            .map(|one| one.split('\u{1f}').collect())
            .collect();
        let want = &expected[number];
        let same = found.len() == want.len()
            && found
                .iter()
                .zip(want)
                .all(|(found, want)| agrees(found, want));
        if !same {
            let (line, shown) = (&lines[number], &shown[number]);
            wrong.push(format!(
                "{line}\n  shown {shown}\n  found {found:?}\n  want  {want:?}"
            ));
        }
    }
    let first: Vec<&str> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} of {LINES}:\n{}",
        wrong.len(),
        first.join("\n")
    );
}

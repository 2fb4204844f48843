//! Random header blocks whose address fields are well formed, malformed or made to deceive.

use crate::mailgen::Rng;

/// A header block without the blank line that ends it, and whether its From field is an ordinary
/// one that every program reads alike.
pub struct AddressHeader {
    pub block: Vec<u8>,
    pub is_ordinary: bool,
    /// Header fields in the block.
    pub fields: u64,
}

const WORDS: [&str; 10] = [
    "Ann", "Bo", "Dr", "van", "O'Neil", "42", "x-y", "Support", "J.", "Köhler",
];
const LOCALS: [&str; 7] = ["ann", "info", "b+c", "x_y.d", "m", "boss", "{e}.1"];
const DOMAINS: [&str; 8] = [
    "corp.example",
    "Corp.Example",
    "evil.example",
    "mail.evil.example",
    "bank.example",
    "müller.example",
    "xn--mller-kva.example",
    "[192.0.2.1]",
];
/// Pieces that mean something in an address field.
const PIECES: [&str; 30] = [
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
    "..",
    "[",
    "]",
    "ann@x.example",
    "boss@corp.example",
    "<m@evil.example>",
    "=?utf-8?q?a?=",
    "\r\n ",
    "\r\n\t",
    "ü",
    "\t",
    "\u{200b}",
    "\u{7}",
    "'",
];

impl AddressHeader {
    /// The same for the same numbers.
    pub fn random(seed: u64, number: u64) -> Self {
        let mut rng = Rng::new(seed, number);
        let mut lines = Vec::new();
        let mut is_ordinary = true;
        for name in ["From", "To", "Cc"] {
            let times = match rng.below(12) {
                0 => 0,
                1 => 2,
                _ => 1,
            };
            is_ordinary &= name != "From" || times == 1;
            for _ in 0..times {
                let (value, ordinary) = value(&mut rng, name);
                is_ordinary &= name != "From" || ordinary;
                lines.push(line(&mut rng, name, &value));
            }
        }
        for _ in 0..u64::from(!rng.percent(5)) + u64::from(rng.percent(5)) {
            let value = *rng.pick(&["Rechnung 4", "=?utf-8?q?=C3=9Cber?= alles", "", "a\r\n b"]);
            lines.push(line(&mut rng, "Subject", value.as_bytes()));
        }
        if rng.percent(10) {
            let odd = *rng.pick(&[
                "no field here",
                "X-Other: boss@corp.example",
                "From",
                "From boss@corp.example Mon Jan  1 00:00:00 2026",
                "Sender: boss@corp.example",
                "X-Fröm: boss@corp.example",
            ]);
            lines.push(format!("{odd}\r\n").into_bytes());
        }
        rng.shuffle(&mut lines);
        let block = lines.concat();
        // A line feed within a fold ends the header before its other fields.
        let is_blank = |three: &[u8]| three.starts_with(b"\n\n") || three == b"\n\r\n";
        let ends_early = block.windows(3).any(is_blank);
        Self {
            fields: lines.len() as u64,
            block,
            is_ordinary: is_ordinary && !ends_early,
        }
    }
}

fn line(rng: &mut Rng, name: &str, value: &[u8]) -> Vec<u8> {
    let name = match rng.below(10) {
        0 => name.to_uppercase(),
        1 => name.to_lowercase(),
        _ => name.to_owned(),
    };
    let colon = match rng.below(20) {
        0 => ":",
        1 => " : ",
        2 => ":\r\n ",
        _ => ": ",
    };
    [name.as_bytes(), colon.as_bytes(), value, b"\r\n"].concat()
}

/// The value of an address field, and whether it is an ordinary one.
fn value(rng: &mut Rng, name: &str) -> (Vec<u8>, bool) {
    match rng.below(10) {
        0..=3 => (ordinary(rng).into_bytes(), true),
        4 if name != "From" => {
            let many: Vec<String> = (0..rng.below(5)).map(|_| ordinary(rng)).collect();
            (many.join(", ").into_bytes(), false)
        }
        4..=6 => (hostile(rng).into_bytes(), false),
        7 | 8 => {
            let soup: String = (0..rng.below(14)).map(|_| *rng.pick(&PIECES)).collect();
            (soup.trim().as_bytes().to_vec(), false)
        }
        _ => {
            let mut value = ordinary(rng).into_bytes();
            let at = rng.below(value.len() as u64 + 1) as usize;
            let byte = *rng.pick(b"\x01\x09\x0b\r\n\x7f\x80\xc3\xff<>@\",;:()[]\\. ");
            value.insert(at, byte);
            (value.trim_ascii().to_vec(), false)
        }
    }
}

fn ordinary(rng: &mut Rng) -> String {
    let spec = format!("{}@{}", rng.pick(&LOCALS), rng.pick(&DOMAINS));
    let words = [*rng.pick(&WORDS), *rng.pick(&WORDS)].join(" ");
    match rng.below(6) {
        0 => spec,
        1 => format!("{spec} ({words})"),
        2 => format!("\"{words}, {spec}\" <{spec}>"),
        3 => format!("=?utf-8?Q?boss=40corp=2Eexample?= <{spec}>"),
        4 => format!("{words}\r\n <{spec}>"),
        _ => format!("{words} <{spec}>"),
    }
}

fn hostile(rng: &mut Rng) -> String {
    let boss = format!("boss@{}", rng.pick(&["corp.example", "bank.example"]));
    let evil = format!("m@{}", rng.pick(&["evil.example", "e.test"]));
    let (local, domain) = evil.split_once('@').unwrap();
    match rng.below(26) {
        0 => format!("{boss} <{evil}>"),
        1 => format!("<{boss}> <{evil}>"),
        2 => format!("{boss}@{domain}"),
        3 => format!("{boss}: {evil};"),
        4 => format!("\"a\" <{evil}> <{boss}>"),
        5 => format!("<{boss}> {evil}"),
        6 => format!("X <{boss}.>"),
        7 => format!("X <{}>", boss.replace('.', "..")),
        8 => format!("X <{boss}"),
        9 => format!("\"Boss <{boss}>, x\"@{domain}"),
        10 => format!("<\"{boss}> (via\"@{domain}>"),
        11 => format!("=?utf-8?b?Ym9zc0Bjb3JwLmV4YW1wbGU=?=@{domain}"),
        12 => format!("<@{}:{evil}>", boss.split_once('@').unwrap().1),
        13 => format!("{boss}, {evil}"),
        14 => format!("Boss <{boss}, {evil}>"),
        15 => format!("{boss} ({evil}"),
        16 => format!("{local}@(corp.example){domain}"),
        17 => format!("{local} @ {domain}"),
        18 => format!("{local}@\r\n {domain}"),
        19 => format!("\"{boss}\" {evil}"),
        20 => format!("Team: {boss}, {evil};, x@{domain}"),
        21 => format!("{boss}; {evil}"),
        22 => format!("<{boss}{evil}>"),
        23 => format!("{boss}\u{200b} <{evil}>"),
        24 => format!("{boss}.,"),
        _ => format!("\"\\\"{boss}\\\"\" <{evil}> (\\) <{boss}>)"),
    }
}

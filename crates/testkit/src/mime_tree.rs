//! MIME trees, written down or random, and which of their texts a mail program shows.
//!
//! The choice is made over the tree before it is a message: it is the reference for code that reads messages.

use crate::mailgen::Rng;

/// A part with its parts.
///
/// Written as `alternative(plain:SEEN, related<a@x>(png, html#a@x:"SEEN TOO"))`: a leaf is a kind, and may have a
/// disposition (`!attachment`), a file name (`=name.txt`), a Content-ID (`#a@x`) and a text (`:TEXT`), in this order.
/// A kind that is none of those known is the subtype of a multipart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MimeTree {
    Leaf(Leaf),
    Multipart {
        subtype: String,
        start: Option<String>,
        parts: Vec<MimeTree>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Leaf {
    /// A key of `KINDS`.
    pub kind: String,
    pub disposition: Option<String>,
    pub filename: Option<String>,
    pub content_id: Option<String>,
    pub text: String,
}

const KINDS: [(&str, &str); 11] = [
    ("plain", "text/plain"),
    ("html", "text/html"),
    ("enriched", "text/enriched"),
    ("markdown", "text/markdown"),
    ("amp", "text/x-amp-html"),
    ("watch", "text/x-watch-html"),
    ("csv", "text/csv"),
    ("calendar", "text/calendar"),
    ("png", "image/png"),
    ("data", "application/octet-stream"),
    ("message", "message/rfc822"),
];

const SUBTYPES: [&str; 10] = [
    "mixed",
    "mixed",
    "alternative",
    "alternative",
    "alternative",
    "related",
    "related",
    "signed",
    "encrypted",
    "report",
];

/// How well mail programs show a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Support {
    None,
    Some,
    All,
}

impl MimeTree {
    /// # Panics
    /// Where the notation is wrong.
    pub fn parse(notation: &str) -> Self {
        let mut rest = notation;
        let tree = parse(&mut rest);
        assert_eq!(rest, "", "in {notation}");
        tree
    }

    /// The same for the same numbers. No two texts have a word in common, unless one is another version of the other.
    pub fn random(seed: u64, number: u64) -> Self {
        let mut rng = Rng::new(seed, number);
        let mut texts = Vec::new();
        random(&mut rng, 0, &mut texts)
    }

    /// The texts that are shown, in order.
    pub fn body(&self) -> Vec<&str> {
        let (_, texts) = self.seen(self.leaves() == 1, false);
        texts.into_iter().filter(|text| !text.is_empty()).collect()
    }

    fn leaves(&self) -> usize {
        match self {
            Self::Leaf(_) => 1,
            Self::Multipart { parts, .. } => parts.iter().map(Self::leaves).sum(),
        }
    }

    /// `sole`: it is all there is. `chosen`: the multipart around it says which of its parts are shown.
    fn seen(&self, sole: bool, chosen: bool) -> (Support, Vec<&str>) {
        let (subtype, parts) = match self {
            Self::Leaf(leaf) => return leaf.seen(sole || chosen),
            Self::Multipart { subtype, parts, .. } => (subtype.as_str(), parts),
        };
        let chooses = ["alternative", "related", "signed"].contains(&subtype);
        match subtype {
            "encrypted" => (Support::None, Vec::new()),
            "related" => self.root().seen(sole, chooses),
            "signed" => parts[0].seen(sole, chooses),
            "alternative" => {
                let mut best = (Support::None, Vec::new());
                for part in parts {
                    let next = part.seen(sole, chooses);
                    if next.0 > Support::None && next.0 >= best.0 {
                        best = next;
                    }
                }
                best
            }
            _ => {
                let all = parts.iter().map(|part| part.seen(sole, chooses));
                all.fold(
                    (Support::None, Vec::new()),
                    |(most, mut texts), (support, more)| {
                        texts.extend(more);
                        (most.max(support), texts)
                    },
                )
            }
        }
    }

    fn root(&self) -> &Self {
        let Self::Multipart { start, parts, .. } = self else {
            panic!("a leaf has no root");
        };
        let is_named = |part: &&Self| match part {
            Self::Leaf(leaf) => leaf.content_id.is_some() && leaf.content_id == *start,
            Self::Multipart { .. } => false,
        };
        parts.iter().find(is_named).unwrap_or(&parts[0])
    }

    /// As a message, with CRLF.
    pub fn message(&self) -> String {
        let mut out =
            String::from("From: a@test.example\r\nTo: b@test.example\r\nSubject: tree\r\n");
        let mut boundaries = 0;
        self.write(&mut out, &mut boundaries);
        out
    }

    fn write(&self, out: &mut String, boundaries: &mut usize) {
        let (subtype, start, parts) = match self {
            Self::Leaf(leaf) => return leaf.write(out),
            Self::Multipart {
                subtype,
                start,
                parts,
            } => (subtype, start, parts),
        };
        *boundaries += 1;
        let boundary = format!("b{boundaries}.");
        out.push_str(&format!(
            "Content-Type: multipart/{subtype}; boundary=\"{boundary}\""
        ));
        if let Some(start) = start {
            out.push_str(&format!("; start=\"<{start}>\""));
        }
        out.push_str("\r\n\r\n");
        for part in parts {
            out.push_str(&format!("--{boundary}\r\n"));
            part.write(out, boundaries);
            out.push_str("\r\n");
        }
        out.push_str(&format!("--{boundary}--\r\n"));
    }
}

impl Leaf {
    fn seen(&self, despite_name: bool) -> (Support, Vec<&str>) {
        let support = match self.kind.as_str() {
            _ if self.disposition.as_deref() == Some("attachment") => Support::None,
            _ if self.filename.is_some() && !despite_name => Support::None,
            "plain" | "html" | "enriched" => Support::All,
            "markdown" => Support::Some,
            _ => Support::None,
        };
        let text = (support > Support::None).then_some(self.text.as_str());
        (support, text.into_iter().collect())
    }

    fn write(&self, out: &mut String) {
        let (_, mime_type) = KINDS.iter().find(|(kind, _)| *kind == self.kind).unwrap();
        out.push_str(&format!("Content-Type: {mime_type}; charset=utf-8"));
        if let Some(name) = &self.filename {
            out.push_str(&format!("; name=\"{name}\""));
        }
        out.push_str("\r\n");
        if let Some(disposition) = &self.disposition {
            out.push_str(&format!("Content-Disposition: {disposition}\r\n"));
        }
        if let Some(id) = &self.content_id {
            out.push_str(&format!("Content-ID: <{id}>\r\n"));
        }
        let text = &self.text;
        out.push_str("\r\n");
        match self.kind.as_str() {
            "html" if text.is_empty() => out.push_str("<img src=\"cid:none\">"),
            "html" => out.push_str(&format!("<p>{text}</p>")),
            "enriched" => out.push_str(&format!("<bold>{text}</bold>")),
            "message" => out.push_str(&format!("Subject: inner\r\n\r\n{text}")),
            _ => out.push_str(text),
        }
    }
}

fn random(rng: &mut Rng, depth: u64, texts: &mut Vec<String>) -> MimeTree {
    let is_leaf = depth > 4 || rng.percent(depth * 22);
    if is_leaf {
        return MimeTree::Leaf(random_leaf(rng, texts));
    }
    let subtype = (*rng.pick(&SUBTYPES)).to_owned();
    let count = 1 + rng.below(4);
    let parts: Vec<MimeTree> = (0..count).map(|_| random(rng, depth + 1, texts)).collect();
    let ids = parts.iter().filter_map(|part| match part {
        MimeTree::Leaf(leaf) => leaf.content_id.clone(),
        MimeTree::Multipart { .. } => None,
    });
    let mut ids: Vec<String> = ids.collect();
    ids.push("nowhere@x".to_owned());
    let start = (subtype == "related" && rng.percent(60)).then(|| rng.pick(&ids).clone());
    MimeTree::Multipart {
        subtype,
        start,
        parts,
    }
}

fn random_leaf(rng: &mut Rng, texts: &mut Vec<String>) -> Leaf {
    let kind = match rng.below(10) {
        0..=2 => "plain",
        3..=5 => "html",
        6 => "enriched",
        _ => rng.pick(&KINDS).0,
    };
    let n = texts.len();
    let text = match rng.below(10) {
        0 if kind == "html" || kind == "plain" => String::new(),
        1..=3 if n > 0 => rng.pick(texts).clone(),
        _ => format!("one{n} two{n} three{n} four{n} five{n} six{n}"),
    };
    texts.push(text.clone());
    let disposition = match rng.below(10) {
        0 => Some("attachment"),
        1 => Some("inline"),
        _ => None,
    };
    Leaf {
        kind: kind.to_owned(),
        disposition: disposition.map(str::to_owned),
        filename: rng.percent(10).then(|| format!("name{n}.txt")),
        content_id: rng.percent(40).then(|| format!("id{n}@x")),
        text,
    }
}

fn parse(rest: &mut &str) -> MimeTree {
    let kind = word(rest);
    if KINDS.iter().any(|(known, _)| *known == kind) {
        let mut optional = |mark: &str| {
            *rest = rest.strip_prefix(mark)?;
            Some(word(rest))
        };
        return MimeTree::Leaf(Leaf {
            disposition: optional("!"),
            filename: optional("="),
            content_id: optional("#"),
            text: optional(":").unwrap_or_default(),
            kind,
        });
    }
    let start = rest.strip_prefix('<').map(|after| {
        let (start, after) = after.split_once('>').unwrap();
        *rest = after;
        start.to_owned()
    });
    let mut parts = Vec::new();
    let mut after = rest.strip_prefix('(').expect("parts");
    while !after.starts_with(')') {
        parts.push(parse(&mut after));
        after = after.trim_start_matches([',', ' ']);
    }
    *rest = &after[1..];
    MimeTree::Multipart {
        subtype: kind,
        start,
        parts,
    }
}

/// To the next mark, or between quotes.
fn word(rest: &mut &str) -> String {
    let (word, after) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').expect("a closing quote"),
        None => {
            let end = rest.find(['(', ')', ',', '!', '=', '#', ':', '<', ' ']);
            rest.split_at(end.unwrap_or(rest.len()))
        }
    };
    *rest = after;
    word.to_owned()
}

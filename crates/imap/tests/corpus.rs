//! Lines as real servers send them, faults included. Every line is read, and no line loses its other items.
//!
//! A case in `corpus/*.txt` is a comment (`#`), what the server sends (`<`) and what we read (`>`, one line a response).
//! In a `<` line, `⏎` is a CRLF within a response (a literal), `‹e9›` a raw octet, and `␊` at the end a line end
//! without CR.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by ending")]

use imap::{
    BodyStructure, Capabilities, Data, Esearch, Fetch, Framer, Limits, Response, Status, ThreadId,
};

const CORPUS: [(&str, &str); 5] = [
    ("status", include_str!("corpus/status.txt")),
    ("mailboxes", include_str!("corpus/mailboxes.txt")),
    ("search", include_str!("corpus/search.txt")),
    ("fetch", include_str!("corpus/fetch.txt")),
    ("structure", include_str!("corpus/structure.txt")),
];

struct Case {
    place: String,
    sent: Vec<u8>,
    want: Vec<String>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (name, text) in CORPUS {
        for (index, line) in text.lines().enumerate() {
            if let Some(sent) = line.strip_prefix("< ") {
                cases.push(Case {
                    place: format!("{name}.txt:{}", index + 1),
                    sent: octets(sent),
                    want: Vec::new(),
                });
            } else if let Some(want) = line.strip_prefix('>') {
                cases.last_mut().unwrap().want.push(want.trim().to_owned());
            } else {
                assert!(
                    line.is_empty() || line.starts_with('#'),
                    "{name}.txt:{}: {line}",
                    index + 1
                );
            }
        }
    }
    cases
}

fn octets(line: &str) -> Vec<u8> {
    let (line, end) = match line.strip_suffix('␊') {
        Some(line) => (line, "\n"),
        None => (line, "\r\n"),
    };
    let line = line.replace('⏎', "\r\n");
    let mut out = Vec::new();
    let mut pieces = line.split('‹');
    out.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    for piece in pieces {
        let (hex, plain) = piece.split_once('›').unwrap();
        out.push(u8::from_str_radix(hex, 16).unwrap());
        out.extend_from_slice(plain.as_bytes());
    }
    out.extend_from_slice(end.as_bytes());
    out
}

fn read(sent: &[u8], piece: usize) -> Vec<String> {
    let limits = Limits::default();
    let mut framer = Framer::new(limits);
    let mut got = Vec::new();
    for piece in sent.chunks(piece) {
        framer.feed(piece);
        while let Some(frame) = framer.next_response().unwrap() {
            got.push(shown(&Response::parse(&frame, &limits)));
        }
    }
    assert_eq!(framer.pending(), 0, "left over: {}", sent.escape_ascii());
    got
}

#[test]
fn every_line_is_read() {
    let mut faults = Vec::new();
    for case in cases() {
        let got = read(&case.sent, usize::MAX);
        if got != case.want {
            faults.push(format!(
                "{}\n  got  {}\n  want {}",
                case.place,
                got.join("\n       "),
                case.want.join("\n       ")
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_line_is_read_alike_octet_by_octet() {
    for case in cases() {
        assert_eq!(read(&case.sent, 1), case.want, "{}", case.place);
    }
}

#[test]
fn one_line_after_another_is_read_alike() {
    let (mut stream, mut want) = (Vec::new(), Vec::new());
    for case in cases() {
        stream.extend_from_slice(&case.sent);
        want.extend(case.want);
    }
    for piece in [7, 1_400, usize::MAX] {
        assert_eq!(read(&stream, piece), want);
    }
}

#[test]
fn the_corpus_is_large() {
    assert!(cases().len() >= 120, "{}", cases().len());
}

fn shown(response: &Response) -> String {
    let shown = match response {
        Response::Continuation(text) => format!("+ {}", text_of(text)),
        Response::Tagged(tag, status) => format!("{} {}", text_of(tag), status_of(status)),
        Response::Untagged(data) => data_of(data),
    };
    shown.trim_end().to_owned()
}

fn data_of(data: &Data) -> String {
    match data {
        Data::Status(status) => format!("* {}", status_of(status)),
        Data::Capability(names) => format!("capability {}", names_of(names)),
        Data::Enabled(names) => format!("enabled {}", names_of(names)),
        Data::List(list) => {
            let delimiter = list.delimiter.map_or("nil".to_owned(), String::from);
            let attributes = list.attributes.join(" ");
            format!("list [{attributes}] {delimiter} {}", text_of(&list.name))
        }
        Data::MailboxStatus(status) => {
            let mut words = vec!["status".to_owned(), text_of(&status.name)];
            push(&mut words, "messages", status.messages);
            push(&mut words, "unseen", status.unseen);
            push(&mut words, "uidnext", status.uidnext);
            push(&mut words, "uidvalidity", status.uidvalidity);
            words.join(" ")
        }
        Data::Search(set) => format!("search {set}"),
        Data::Esearch(found) => esearch_of(found),
        Data::Exists(number) => format!("exists {number}"),
        Data::Expunge(number) => format!("expunge {number}"),
        Data::Vanished(set) => format!("vanished {set}"),
        Data::Fetch(fetch) => fetch_of(fetch),
        Data::Other(line) => format!("other {}", text_of(line)),
        Data::Malformed(name) => format!("malformed {name}"),
    }
}

fn status_of(status: &Status) -> String {
    let kind = format!("{:?}", status.kind).to_lowercase();
    let code = status.code.as_ref().map(|code| {
        let arguments = text_of(&code.arguments);
        match (code.capabilities(), code.number()) {
            (Some(names), _) => format!(" {}:{}", code.name, names.names().len()),
            (None, Some(number)) if number.to_string() == arguments => {
                format!(" {}={number}", code.name)
            }
            _ if arguments.is_empty() => format!(" {}", code.name),
            _ => format!(" {} <{arguments}>", code.name),
        }
    });
    format!(
        "{kind}{} \"{}\"",
        code.unwrap_or_default(),
        text_of(&status.text)
    )
}

fn esearch_of(found: &Esearch) -> String {
    let mut words = vec!["esearch".to_owned()];
    push(&mut words, "tag", found.tag.as_deref().map(text_of));
    words.extend(found.uid.then(|| "uid".to_owned()));
    push(&mut words, "count", found.count);
    push(&mut words, "all", found.all.as_ref());
    let partial = found.partial.as_ref();
    push(
        &mut words,
        "partial",
        partial.map(|p| format!("{}/{}", p.range, p.set)),
    );
    words.join(" ")
}

fn fetch_of(fetch: &Fetch) -> String {
    let mut words = vec![format!("fetch {}", fetch.sequence)];
    push(&mut words, "uid", fetch.uid);
    let flags = fetch.flags.as_ref();
    push(
        &mut words,
        "flags",
        flags.map(|f| format!("[{}]", f.join(" "))),
    );
    push(&mut words, "date", fetch.internal_date);
    push(&mut words, "size", fetch.size);
    push(&mut words, "modseq", fetch.modseq);
    push(
        &mut words,
        "parts",
        fetch.structure.as_ref().map(structure_of),
    );
    push(&mut words, "thread", fetch.thread.as_ref().map(thread_of));
    push(&mut words, "message", fetch.gmail_message);
    let labels = fetch.gmail_labels.as_ref();
    let labels = labels.map(|labels| format!("[{}]", labels.join(", ")));
    push(&mut words, "labels", labels);
    for section in &fetch.sections {
        let origin = section.origin.map_or(String::new(), |o| format!("<{o}>"));
        let data = section.data.as_deref();
        let data = data.map_or("nil".to_owned(), |data| format!("\"{}\"", text_of(data)));
        words.push(format!("[{}]{origin}={data}", section.section));
    }
    if !fetch.other.is_empty() {
        words.push(format!("other=[{}]", fetch.other.join(" ")));
    }
    words.join(" ")
}

fn thread_of(id: &ThreadId) -> String {
    match id {
        ThreadId::Gmail(number) => number.to_string(),
        ThreadId::Object(id) => id.clone(),
    }
}

fn structure_of(structure: &BodyStructure) -> String {
    let mut leaves = Vec::new();
    for leaf in &structure.leaves {
        let section: Vec<String> = leaf.section.iter().map(u32::to_string).collect();
        let mut words = vec![
            section.join("."),
            leaf.mime_type.clone(),
            leaf.octets.to_string(),
        ];
        words.extend(leaf.within.as_ref().map(|within| format!("in:{within}")));
        if !leaf.encoding.is_empty() {
            words.push(leaf.encoding.clone());
        }
        words.extend(leaf.id.as_deref().map(text_of));
        let both = leaf.parameters.iter().chain(&leaf.disposition_parameters);
        words.extend(leaf.disposition.clone());
        words.extend(both.map(|(name, value)| format!("{name}={}", text_of(value))));
        leaves.push(words.join(" "));
    }
    let cut = if structure.cut { " cut" } else { "" };
    format!("({}{cut})", leaves.join("; "))
}

fn names_of(names: &Capabilities) -> String {
    names.names().join(" ")
}

fn push(words: &mut Vec<String>, name: &str, value: Option<impl std::fmt::Display>) {
    words.extend(value.map(|value| format!("{name}={value}")));
}

/// UTF-8 as it stands, other octets as `‹e9›`, line ends as `⏎`.
fn text_of(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for octet in chunk.invalid() {
            out.push_str(&format!("‹{octet:02x}›"));
        }
    }
    out.replace("\r\n", "⏎")
        .replace('\n', "␊")
        .replace('\0', "‹00›")
        .replace('\t', "‹09›")
}

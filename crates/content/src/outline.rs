//! Where the parts of a raw message lie, numbered as IMAP numbers them.
//!
//! One pass over the lines with a bounded stack of open multiparts: the sender's nesting is never recursed
//! into, and a message that ends early (a prefix) has all parts seen so far. Nothing is decoded here.

use std::ops::Range;

use bytes::Bytes;
use mail::{Disposition, Fetched, Flow, Leaf, Multipart, Part, Raw, Section, Structure};

use crate::choose::{BodyWish, choose};
use crate::header;
use crate::lines::{Line, lines_from};
use crate::params::Params;

const MOST_DEPTH: usize = 64;
const MOST_LEAVES: usize = 1_000;
const MOST_MULTIPARTS: usize = 1_000;
/// RFC 2046 allows 70. Of a longer one, the beginning decides.
const MOST_BOUNDARY: usize = 80;

/// Whether the end of something was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completeness {
    Complete,
    Cut,
}

/// The parts of a raw message or of the beginning of one.
#[derive(Clone, Debug)]
pub struct Outline<'a> {
    raw: &'a [u8],
    /// The header block with its blank line.
    pub header_len: usize,
    pub structure: Structure,
    /// One for each leaf, in order.
    spans: Vec<Span>,
}

/// Where a leaf lies.
#[derive(Clone, Debug)]
struct Span {
    head: Range<usize>,
    body: Range<usize>,
    whole: Completeness,
}

impl<'a> Outline<'a> {
    /// The header block with its blank line, as far as it was seen.
    pub fn header(&self) -> &'a [u8] {
        self.raw.get(..self.header_len).unwrap_or_default()
    }

    /// A leaf's bytes, transfer encoding still on. `Cut` when the message ended before the part did;
    /// the last part of a whole message that lacks its closing boundary is `Cut` too.
    pub fn part(&self, section: &Section) -> Option<(&'a [u8], Completeness)> {
        let span = self.span(section)?;
        Some((self.raw.get(span.body.clone())?, span.whole))
    }

    /// Where a leaf's header, with its blank line, and its bytes lie in the message.
    pub fn place(&self, section: &Section) -> Option<(Range<usize>, Range<usize>)> {
        let span = self.span(section)?;
        Some((span.head.clone(), span.body.clone()))
    }

    fn span(&self, section: &Section) -> Option<&Span> {
        let leaves = &self.structure.leaves;
        let index = leaves.iter().position(|leaf| leaf.section == *section)?;
        self.spans.get(index)
    }
}

impl Outline<'_> {
    /// The message as a source brings it: the header, and of the parts what is wished. `message` says whether these are
    /// all its bytes: the last part of a whole message may lack its closing boundary and is whole all the same.
    pub fn fetched(&self, wish: &BodyWish, message: Completeness) -> Fetched {
        let wishes = choose(&self.structure, wish).into_iter();
        let parts = wishes.filter_map(|wish| {
            let (bytes, part) = self.part(&wish.section)?;
            let most = usize::try_from(wish.max_bytes).unwrap_or(usize::MAX);
            let kept = bytes.get(..most).unwrap_or(bytes);
            let open = part == Completeness::Cut && message == Completeness::Cut;
            Some(Part {
                section: wish.section,
                bytes: Bytes::copy_from_slice(kept),
                truncated: kept.len() < bytes.len() || open,
            })
        });
        Fetched {
            not_downloaded: Vec::new(),
            flags: None,
            arrived: None,
            size: u64::try_from(self.raw.len()).unwrap_or(u64::MAX),
            header: Bytes::copy_from_slice(self.header()),
            header_truncated: false,
            structure: self.structure.clone(),
            parts: parts.collect(),
        }
    }
}

/// Splits a message. A message that is no multipart is `Complete`: it ends where its bytes end.
pub fn outline(raw: &[u8]) -> Outline<'_> {
    let header_len = header_end(raw, 0);
    let mut split = Splitter {
        raw,
        structure: Structure::default(),
        spans: Vec::new(),
        stack: Vec::new(),
    };
    match split.begin(0..header_len, None) {
        Begun::Leaf(leaf) => {
            let span = Span {
                head: 0..header_len,
                body: header_len..raw.len(),
                whole: Completeness::Complete,
            };
            split.add(*leaf, span);
        }
        Begun::Multipart => split.run(header_len),
        Begun::TooDeep => {}
    }
    Outline {
        raw,
        header_len,
        structure: split.structure,
        spans: split.spans,
    }
}

/// Whether a header may be that of a message with this structure: a multipart of the type that it
/// declares, or one part.
pub fn is_declared(header: &[u8], structure: &Structure) -> bool {
    let kind = header::first(header, "content-type").map(Params::parse);
    let outermost = structure.multiparts.iter().find(|one| one.path.is_empty());
    match (kind.as_ref().and_then(boundary), outermost) {
        (Some(_), Some(multipart)) => kind.is_some_and(|kind| subtype(&kind) == multipart.subtype),
        (None, None) => match structure.leaves.as_slice() {
            [leaf] => leaf.mime_type == mime_type(kind.as_ref(), None),
            _ => false,
        },
        _ => false,
    }
}

/// The boundary of a multipart; none where it is another type, or lacks it.
fn boundary(params: &Params) -> Option<Vec<u8>> {
    if !params.value.starts_with("multipart/") {
        return None;
    }
    params
        .raw("boundary")
        .filter(|boundary| !boundary.is_empty())
}

/// What follows `multipart/`.
fn subtype(params: &Params) -> &str {
    let subtype = params.value.get("multipart/".len()..).unwrap_or_default();
    let end = subtype.floor_char_boundary(Multipart::MAX_SUBTYPE_BYTES);
    subtype.get(..end).unwrap_or(subtype)
}

struct Splitter<'a> {
    raw: &'a [u8],
    structure: Structure,
    spans: Vec<Span>,
    stack: Vec<OpenMultipart>,
}

/// A multipart whose end has not been seen.
struct OpenMultipart {
    /// With the two hyphens.
    delimiter: Vec<u8>,
    multipart: Multipart,
    /// It stands in the structure.
    is_listed: bool,
    children: u32,
    /// The header, for a multipart that turns out to have no parts.
    header: Range<usize>,
}

enum Begun {
    Leaf(Box<Leaf>),
    Multipart,
    /// A multipart below the deepest level; its parts stay unseen.
    TooDeep,
}

/// What a line is to the open multiparts.
struct Delimiter {
    /// Index into the stack.
    level: usize,
    closing: bool,
}

impl Splitter<'_> {
    /// From the body of the outermost multipart to the end.
    fn run(&mut self, from: usize) {
        let mut open: Option<(Box<Leaf>, Range<usize>)> = None;
        let mut at = from;
        let mut last_end = from;
        while let Some(line) = lines_from(self.raw, at).next() {
            at = line.next;
            let Some(found) = self.delimiter(&line) else {
                last_end = line.end;
                continue;
            };
            if let Some((leaf, head)) = open.take() {
                // The line ending before a delimiter belongs to the delimiter.
                let body = head.end..last_end.clamp(head.end, line.start);
                let whole = Completeness::Complete;
                self.add(*leaf, Span { head, body, whole });
            }
            let keep = if found.closing {
                found.level
            } else {
                found.level + 1
            };
            self.end_multiparts(keep, last_end.min(line.start), Completeness::Complete);
            if !found.closing {
                let head = at..self.part_header_end(at);
                at = head.end;
                last_end = head.end;
                open = match self.next_child(head.clone()) {
                    Some(Begun::Leaf(leaf)) => Some((leaf, head)),
                    _ => None,
                };
            }
            if self.stack.is_empty() || self.structure.leaves.len() >= MOST_LEAVES {
                self.structure.cut |= !self.stack.is_empty();
                return;
            }
        }
        if let Some((leaf, head)) = open {
            let body = head.end..self.raw.len();
            let whole = Completeness::Cut;
            self.add(*leaf, Span { head, body, whole });
        }
        self.end_multiparts(0, self.raw.len(), Completeness::Cut);
    }

    fn next_child(&mut self, header: Range<usize>) -> Option<Begun> {
        let parent = self.stack.last_mut()?;
        parent.children += 1;
        let mut path = parent.multipart.path.clone();
        path.push(parent.children);
        Some(self.begin(header, Some(path)))
    }

    /// Reads the header of a part. `path` is that of the part; the message itself has none.
    fn begin(&mut self, header: Range<usize>, path: Option<Vec<u32>>) -> Begun {
        let block = self.raw.get(header.clone()).unwrap_or_default();
        let content_type = header::first(block, "content-type").map(Params::parse);
        let boundary = content_type.as_ref().and_then(boundary);
        let (Some(boundary), Some(params)) = (boundary, &content_type) else {
            return Begun::Leaf(Box::new(self.leaf(block, content_type.as_ref(), path)));
        };
        if self.stack.len() >= MOST_DEPTH {
            self.structure.cut = true;
            return Begun::TooDeep;
        }
        let boundary = boundary.get(..MOST_BOUNDARY).unwrap_or(&boundary);
        self.stack.push(OpenMultipart {
            delimiter: [b"--", boundary].concat(),
            multipart: Multipart {
                path: path.unwrap_or_default(),
                subtype: subtype(params).to_owned(),
                start: params
                    .raw("start")
                    .filter(|start| start.len() <= Multipart::MAX_START_BYTES)
                    .map(Raw::new),
            },
            is_listed: false,
            children: 0,
            header,
        });
        Begun::Multipart
    }

    fn leaf(&self, block: &[u8], kind: Option<&Params>, path: Option<Vec<u32>>) -> Leaf {
        let parent = self.stack.last();
        let disposition = header::first(block, "content-disposition").map(Params::parse);
        let encoding = header::first(block, "content-transfer-encoding").map(Params::parse);
        let filename = disposition
            .as_ref()
            .and_then(|params| params.raw("filename"))
            .or_else(|| kind.and_then(|params| params.raw("name")));
        Leaf {
            section: path.and_then(Section::new).unwrap_or_else(first_section),
            mime_type: mime_type(kind, parent),
            charset: kind.and_then(|params| params.text("charset")),
            encoding: encoding.map_or_else(|| "7bit".to_owned(), |params| params.value),
            octets: 0,
            // RFC 2183 section 2.8: unknown dispositions are attachments.
            disposition: disposition.and_then(|params| match params.value.as_str() {
                "" => None,
                "inline" => Some(Disposition::Inline),
                _ => Some(Disposition::Attachment),
            }),
            filename: filename.map(Raw::new),
            content_id: header::first(block, "content-id")
                .map(|value| Raw::new(header::unfolded(value))),
            flow: Flow::from_parameters(
                kind.and_then(|params| params.raw("format")).as_deref(),
                kind.and_then(|params| params.raw("delsp")).as_deref(),
            ),
        }
    }

    fn add(&mut self, mut leaf: Leaf, span: Span) {
        leaf.octets = u64::try_from(span.body.len()).unwrap_or(u64::MAX);
        self.list_multiparts();
        self.structure.leaves.push(leaf);
        self.spans.push(span);
    }

    /// Puts those that a leaf lies in into the structure. One that no leaf lies in is of no use
    /// there.
    fn list_multiparts(&mut self) {
        let open = self.stack.iter_mut();
        for open in open.filter(|open| !open.is_listed && open.children > 0) {
            if self.structure.multiparts.len() >= MOST_MULTIPARTS {
                self.structure.cut = true;
                return;
            }
            open.is_listed = true;
            self.structure.multiparts.push(open.multipart.clone());
        }
    }

    /// Ends all multiparts but the outermost `keep`. One without parts becomes a leaf, so that its text is not lost.
    fn end_multiparts(&mut self, keep: usize, end: usize, whole: Completeness) {
        while self.stack.len() > keep {
            let Some(ended) = self.stack.pop() else {
                return;
            };
            if ended.children > 0 {
                continue;
            }
            let block = self.raw.get(ended.header.clone()).unwrap_or_default();
            let path = Some(ended.multipart.path).filter(|path| !path.is_empty());
            let leaf = self.leaf(block, None, path);
            let head = ended.header;
            let body = head.end..end.max(head.end);
            self.add(leaf, Span { head, body, whole });
        }
    }

    /// The open multipart that a line belongs to. As Dovecot does, the beginning of the line decides and the
    /// longest match wins, so that an outer delimiter also ends what lies inside.
    fn delimiter(&self, line: &Line<'_>) -> Option<Delimiter> {
        if !line.text.starts_with(b"--") {
            return None;
        }
        let (level, multipart) = self
            .stack
            .iter()
            .enumerate()
            .filter(|(_, multipart)| line.text.starts_with(&multipart.delimiter))
            .max_by_key(|(level, multipart)| (multipart.delimiter.len(), *level))?;
        let rest = line.text.get(multipart.delimiter.len()..)?;
        Some(Delimiter {
            level,
            closing: rest.starts_with(b"--"),
        })
    }

    /// Where the header that starts at `from` ends: behind its blank line, or at a delimiter before that.
    fn part_header_end(&self, from: usize) -> usize {
        for line in lines_from(self.raw, from) {
            if line.text.is_empty() {
                return line.next;
            }
            if self.delimiter(&line).is_some() {
                return line.start;
            }
        }
        self.raw.len()
    }
}

fn header_end(raw: &[u8], from: usize) -> usize {
    lines_from(raw, from)
        .find(|line| line.text.is_empty())
        .map_or(raw.len(), |line| line.next)
}

fn mime_type(kind: Option<&Params>, parent: Option<&OpenMultipart>) -> String {
    let digest = parent.is_some_and(|parent| parent.multipart.subtype == "digest");
    let value = kind.map(|params| params.value.as_str()).unwrap_or_default();
    match value.split_once('/') {
        Some((main, sub)) if !main.is_empty() && !sub.is_empty() => value.to_owned(),
        _ if digest && value.is_empty() => "message/rfc822".to_owned(),
        // RFC 2045 section 5.2: what is missing or malformed is plain text.
        _ if value.is_empty() || value.starts_with("text") => "text/plain".to_owned(),
        _ => "application/octet-stream".to_owned(),
    }
}

#[expect(clippy::expect_used, reason = "one is a valid section number")]
fn first_section() -> Section {
    Section::new(vec![1]).expect("not empty")
}

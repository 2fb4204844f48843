//! YAML as a tree whose every node knows its place. The plain part of YAML only: no anchors, aliases, tags, directives
//! or several documents, and not deep.

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

/// Line and column, counted from 1; columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Mark {
    pub line: usize,
    pub column: usize,
}

#[derive(Debug)]
pub(super) struct Node {
    pub at: Mark,
    pub end: Mark,
    pub value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Scalar {
        text: String,
        quoted: Quoted,
    },
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// Something that is not used here; it has been complained of.
    Refused,
}

/// Whether a scalar can be anything but text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quoted {
    Yes,
    No,
}

/// A complaint about a place.
#[derive(Debug)]
pub(super) struct Slip {
    pub at: Mark,
    pub what: String,
}

pub(super) const MOST_DEPTH: usize = 16;

/// The tree, as far as there is one, and what is wrong with its form.
pub(super) fn parse(text: &str) -> (Option<Node>, Vec<Slip>) {
    let mut builder = Builder::default();
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        // One more than is taken, so that it is refused in words of ours.
        flow_nesting_limit: MOST_DEPTH + 1,
        block_nesting_limit: MOST_DEPTH + 1,
    };
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((event, span)) => {
                if builder.take(event, &span) == Go::Stop {
                    break;
                }
            }
            Err(error) => {
                builder.slip(mark(error.marker()), explain(&error));
                // What was read before is a torn tree; checking it would complain of what is only missing.
                builder.root = None;
                break;
            }
        }
    }
    (builder.root, builder.slips)
}

#[derive(PartialEq, Eq)]
enum Go {
    On,
    Stop,
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    /// Collections that are still open.
    open: Vec<Open>,
    slips: Vec<Slip>,
    documents: usize,
}

struct Open {
    at: Mark,
    holds: Holds,
}

enum Holds {
    List(Vec<Node>),
    Map {
        pairs: Vec<(Node, Node)>,
        key: Option<Node>,
    },
}

impl Builder {
    fn slip(&mut self, at: Mark, what: impl Into<String>) {
        let what = what.into();
        self.slips.push(Slip { at, what });
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Go {
        let at = mark(&span.start);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.slip(
                        at,
                        "a second document begins here; keep one document per file, without '---' between",
                    );
                    return Go::Stop;
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.slip(at, "aliases (*name) are not used here; write the value out");
                self.place(Node {
                    at,
                    end: mark(&span.end),
                    value: Value::Refused,
                });
            }
            Event::Scalar(text, style, anchor, tag) => {
                let refused = self.properties(at, anchor, tag.as_deref());
                let quoted = match style {
                    ScalarStyle::Plain => Quoted::No,
                    _ => Quoted::Yes,
                };
                let value = match refused {
                    Plain::Yes => Value::Scalar {
                        text: text.into_owned(),
                        quoted,
                    },
                    Plain::No => Value::Refused,
                };
                self.place(Node {
                    at,
                    end: mark(&span.end),
                    value,
                });
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.properties(at, anchor, tag.as_deref());
                return self.begin(at, Holds::List(Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                self.properties(at, anchor, tag.as_deref());
                let holds = Holds::Map {
                    pairs: Vec::new(),
                    key: None,
                };
                return self.begin(at, holds);
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(mark(&span.end)),
            _ => {}
        }
        Go::On
    }

    /// What may stand before a value in YAML, and not here.
    fn properties(&mut self, at: Mark, anchor: usize, tag: Option<&Tag>) -> Plain {
        if anchor != 0 {
            self.slip(
                at,
                "anchors (&name) are not used here; write the value where it is needed",
            );
        }
        if tag.is_some() {
            self.slip(at, "tags (!name) are not used here; remove it");
        }
        match anchor != 0 || tag.is_some() {
            true => Plain::No,
            false => Plain::Yes,
        }
    }

    fn begin(&mut self, at: Mark, holds: Holds) -> Go {
        if self.open.len() >= MOST_DEPTH {
            self.slip(at, TOO_DEEP);
            self.root = None;
            return Go::Stop;
        }
        self.open.push(Open { at, holds });
        Go::On
    }

    fn end(&mut self, end: Mark) {
        let Some(Open { at, holds }) = self.open.pop() else {
            return;
        };
        let value = match holds {
            Holds::List(items) => Value::List(items),
            Holds::Map { pairs, .. } => Value::Map(pairs),
        };
        self.place(Node { at, end, value });
    }

    /// Where a finished node belongs.
    fn place(&mut self, node: Node) {
        match self.open.last_mut().map(|open| &mut open.holds) {
            None => self.root = Some(node),
            Some(Holds::List(items)) => items.push(node),
            Some(Holds::Map { pairs, key }) => match key.take() {
                None => *key = Some(node),
                Some(name) => pairs.push((name, node)),
            },
        }
    }
}

#[derive(PartialEq, Eq)]
enum Plain {
    Yes,
    No,
}

const TOO_DEEP: &str = "this is nested too deeply; nothing here needs more than 16 levels";

fn mark(marker: &Marker) -> Mark {
    Mark {
        line: marker.line().max(1),
        column: marker.col() + 1,
    }
}

/// In words for someone who does not know the grammar by heart.
fn explain(error: &ScanError) -> String {
    let known = match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => {
            "a tab stands here; YAML is indented with spaces, so replace it by spaces"
        }
        ErrorKind::DirectiveDisallowed => "directives (%…) are not used here; remove the line",
        ErrorKind::RecursionLimitExceeded => TOO_DEEP,
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            "a quote is opened and not closed; end the text with the same quote"
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence => {
            "a bracket is opened and not closed, or a comma is missing; put ',' between entries and end them with ']' or '}'"
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::BlockSequenceEntryNotAllowed => {
            "this line is not indented as those around it; keys of one mapping, and the '-' of one list, begin in the same column"
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            "this is no key with a value; put a colon and a space after the key, as in 'port: 993'"
        }
        _ => "",
    };
    let kind = error.kind().to_string();
    match known {
        "" if kind.contains("anchor or alias") => {
            "a value that begins with '*' or '&' needs quotes, as in path: \"*\"".to_owned()
        }
        // The library's words name no text of the file.
        "" => format!(
            "this is not YAML: {}; mend it here or just before",
            error.kind()
        ),
        known => known.to_owned(),
    }
}

//! Stands before the tree builder: what lies too deep or is too much never reaches it.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer,
};
use html5ever::tree_builder::TreeBuilder;
use html5ever::{LocalName, local_name};

use crate::dom::{Builder, Handle};

const MAX_DEPTH: usize = 300;
const MAX_NODES: usize = 150_000;
/// A tree that is deeper in truth ends there: tags can open more than their names tell.
const MAX_LEVELS: usize = 700;
/// Bytes that the tokenizer is given at a time.
const CHUNK_BYTES: usize = 16 * 1024;
/// What stands between attributes, in one tag and not counting what came in its last piece.
const MAX_SEPARATORS: usize = 12_000;
/// How far up an end tag looks for its element among those that were not built.
const MAX_END_TAG_SEARCH: usize = 512;

/// Stands before the tree builder and keeps from it what lies too deep or is too much.
pub(crate) struct Limiter {
    pub(crate) builder: TreeBuilder<Handle, Builder>,
    /// Names of the open elements, as far as tags tell; ends that are implied are not counted.
    open: RefCell<Vec<LocalName>>,
    pub(crate) too_deep: Cell<usize>,
    pub(crate) full: Cell<bool>,
    /// Some tag was not built.
    pub(crate) dropped: Cell<bool>,
    /// Tokens that have come so far.
    tokens: Cell<usize>,
}

/// Gives the tokenizer its text piece by piece; false when it was not given all.
///
/// QUIRK: html5ever compares each attribute of a tag with all before it. A tag that goes on and on is not read.
pub(crate) fn feed(tokenizer: &Tokenizer<Limiter>, html: &str) -> bool {
    let input = BufferQueue::default();
    let mut rest = html;
    let mut seen = 0;
    let mut separators = 0;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(CHUNK_BYTES));
        rest = after;
        input.push_back(StrTendril::from_slice(piece));
        // It stops at scripts, which do not run, and at charsets, which are decoded already.
        while !input.is_empty() {
            let _ = tokenizer.feed(&input);
        }
        let tokens = tokenizer.sink.tokens.get();
        if std::mem::replace(&mut seen, tokens) == tokens {
            let between =
                |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0C' | b'/' | b'"' | b'\'');
            separators += piece.bytes().filter(|byte| between(byte)).count();
        } else {
            separators = 0;
        }
        if separators > MAX_SEPARATORS {
            return false;
        }
    }
    true
}

impl Limiter {
    pub(crate) fn new(builder: TreeBuilder<Handle, Builder>) -> Self {
        Self {
            builder,
            open: RefCell::default(),
            too_deep: Cell::default(),
            full: Cell::default(),
            dropped: Cell::default(),
            tokens: Cell::default(),
        }
    }

    fn is_foreign(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }

    /// Whether a tag may pass.
    fn passes(&self, tag: &Tag) -> bool {
        let mut open = self.open.borrow_mut();
        match tag.kind {
            TagKind::StartTag if is_shallow(&tag.name) => open.len() < MAX_DEPTH,
            // Only foreign elements (SVG, MathML) are closed by their own slash.
            TagKind::StartTag if tag.self_closing && self.is_foreign() => open.len() < MAX_DEPTH,
            TagKind::StartTag => {
                open.push(tag.name.clone());
                open.len() <= MAX_DEPTH
            }
            TagKind::EndTag if is_shallow(&tag.name) => open.len() < MAX_DEPTH,
            TagKind::EndTag => {
                let near = open.iter().rev().take(MAX_END_TAG_SEARCH);
                let found = near.enumerate().find(|(_, name)| **name == tag.name);
                if let Some((up, _)) = found.map(|(up, name)| (up, name.clone())) {
                    let keep = open.len() - 1 - up;
                    open.truncate(keep);
                }
                open.len() < MAX_DEPTH
            }
        }
    }
}

impl TokenSink for Limiter {
    type Handle = Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        self.tokens.set(self.tokens.get() + 1);
        if self.full.get() && token != Token::EOFToken {
            return TokenSinkResult::Continue;
        }
        let sink = &self.builder.sink;
        // The names that are counted here are a model; the tree is the truth.
        if sink.nodes.borrow().len() >= MAX_NODES || sink.deepest.get() >= MAX_LEVELS {
            self.full.set(true);
        }
        let deep = self.open.borrow().len() > MAX_DEPTH;
        match &token {
            Token::TagToken(tag) if !self.passes(tag) => {
                // Its text would be taken for tags.
                self.full.set(self.full.get() || is_raw(&tag.name));
                self.dropped.set(true);
                return TokenSinkResult::Continue;
            }
            Token::CharacterTokens(text) if deep => {
                let chars = text.chars().filter(|c| !c.is_whitespace()).count();
                self.too_deep.set(self.too_deep.get() + chars);
                return TokenSinkResult::Continue;
            }
            Token::CommentToken(_) if deep => return TokenSinkResult::Continue,
            _ => {}
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.is_foreign()
    }
}

/// Elements whose inside is no HTML.
fn is_raw(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("plaintext")
            | local_name!("script")
            | local_name!("style")
            | local_name!("textarea")
            | local_name!("title")
            | local_name!("xmp")
    )
}

/// Elements that hold nothing, or that the next of their kind ends: they cannot nest by themselves.
fn is_shallow(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("area")
            | local_name!("base")
            | local_name!("body")
            | local_name!("br")
            | local_name!("col")
            | local_name!("dd")
            | local_name!("dt")
            | local_name!("embed")
            | local_name!("head")
            | local_name!("hr")
            | local_name!("html")
            | local_name!("img")
            | local_name!("input")
            | local_name!("li")
            | local_name!("link")
            | local_name!("meta")
            | local_name!("option")
            | local_name!("p")
            | local_name!("param")
            | local_name!("source")
            | local_name!("tbody")
            | local_name!("td")
            | local_name!("tfoot")
            | local_name!("th")
            | local_name!("thead")
            | local_name!("tr")
            | local_name!("track")
            | local_name!("wbr")
    )
}

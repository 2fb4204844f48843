//! The body of a message: the text of its parts in order, and sanitized HTML when it is wished.
//!
//! Of an alternative, the version that people see is shown; a plain text that says the same may
//! stand for it.

use html::Links;
use mail::{Fetched, Flow, Leaf, UncertainText};

use crate::agree::{Agreement, Reach, agreement};
use crate::calendar;
use crate::changes::Changes;
use crate::charset::Decoded;
use crate::choose::{BodyWish, HtmlWish};
use crate::data_urls;
use crate::enriched;
use crate::findings::Findings;
use crate::note::Note;
use crate::outline::Completeness;
use crate::parts::{Parts, Piece, Sought};
use crate::roles::{Alternative, Role, Selection, is_enriched, is_html, is_in, is_inline_calendar};
use crate::shield::{self, Shape, shield, shield_tracked};
use crate::text;
use crate::uncertain::Marks;
use crate::window::{Window, window};

/// Of one part.
const MAX_CHARS: usize = 1_000_000;
/// Of one attribute in sanitized HTML.
const MAX_ATTRIBUTE_CHARS: usize = 2_000;

/// The text is shorter than what the message holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Truncation {
    pub shown_chars: usize,
    /// The offset that shows what follows; absent when nothing more of it can be fetched.
    pub next_offset: Option<usize>,
    pub left: Left,
}

/// Characters behind what is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    Exactly(usize),
    /// So many were fetched, and there is more at the source.
    AtLeast(usize),
}

impl Left {
    /// As many as are known of.
    pub fn chars(self) -> usize {
        match self {
            Self::Exactly(chars) | Self::AtLeast(chars) => chars,
        }
    }
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Body {
    pub text: Option<String>,
    /// What of the text may not be visible.
    pub uncertain: Marks,
    pub truncated: Option<Truncation>,
    pub html: Option<String>,
}

/// One part as readable text, shielded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Readable {
    pub text: String,
    /// What of the text may not be visible.
    pub uncertain: Marks,
    /// Characters that were left out because they may not be visible.
    pub withheld: usize,
    pub cut: bool,
    pub findings: Findings,
}

pub(crate) fn body(
    fetched: &Fetched,
    selection: &Selection,
    parts: &Parts<'_>,
    wish: &BodyWish,
    uncertain: UncertainText,
    notes: &mut Vec<Note>,
) -> Body {
    let leaves = || fetched.structure.leaves.iter().zip(&selection.roles);
    let mut left_out = 0;
    let mut versions = leaves().filter(|(_, role)| **role == Role::Version).count();
    let mut reads = Vec::new();
    for (leaf, role) in leaves().filter(|(_, role)| role.is_read()) {
        match parts.find(leaf) {
            Sought::Here(piece) => reads.push(Read::new(leaf, *role, piece)),
            Sought::Missing if leaf.octets > 0 => notes.push(Note::PartMissing {
                part: leaf.section.clone(),
            }),
            Sought::Missing => {}
            Sought::Left if *role == Role::Plain => versions += 1,
            Sought::Left => left_out += 1,
        }
    }
    if left_out > 0 {
        notes.push(Note::PartsLeftOut { count: left_out });
    }
    if versions > 0 {
        notes.push(Note::VersionsLeftOut { count: versions });
    }
    pick_versions(&mut reads, &selection.alternatives, notes);
    let has_uncertain = reads.iter().any(|read| !read.readable.uncertain.is_empty());
    let withheld = has_uncertain && uncertain == UncertainText::Withhold;
    if withheld {
        let shown = reads.iter_mut().filter(|read| read.shown == Shown::Yes);
        notes.extend(shown.filter_map(|read| read.readable.withhold()));
    }
    let mut whole = Assembled {
        open: left_out > 0,
        ..Assembled::default()
    };
    // What HTML hides and where it leads is told, also when its text is not the one that is shown.
    for read in reads.iter().filter(|read| read.shown == Shown::No) {
        whole.findings.take_page(&read.readable.findings);
    }
    for read in reads.iter().filter(|read| read.shown == Shown::Yes) {
        whole.add(read, notes);
    }
    if whole.text.is_empty() {
        notes.extend(nothing_shown(&reads));
    }
    let invited = leaves().map(|(leaf, _)| leaf);
    for leaf in invited.filter(|leaf| is_inline_calendar(leaf)) {
        whole.invite(leaf, parts);
    }
    let html = match wish.html {
        // Uncertain text is marked in sanitized HTML, not taken out.
        HtmlWish::Include if withheld => {
            notes.push(Note::HtmlWithheld);
            None
        }
        HtmlWish::Include => whole.sanitize(&reads, wish.max_chars, notes),
        HtmlWish::Skip => None,
    };
    let (shown, stretch) = stretch(&whole.text, &whole.uncertain, wish);
    if wish.offset > 0 && shown.text.is_empty() {
        notes.push(Note::BeyondEnd {
            chars: whole.text.chars().count(),
        });
    }
    let more = shown.left > 0 || whole.open;
    let truncated = more.then(|| Truncation {
        shown_chars: shown.text.chars().count(),
        // INVARIANT: an offset that brings nothing new is no way to go on.
        next_offset: (shown.end > wish.offset && shown.left > 0).then_some(shown.end),
        left: if whole.open {
            Left::AtLeast(shown.left)
        } else {
            Left::Exactly(shown.left)
        },
    });
    whole.findings.changes += stretch.changes;
    whole.tell(truncated.as_ref(), notes);
    stretch.uncertain.tell(&stretch.text, notes);
    Body {
        text: (!stretch.text.is_empty()).then_some(stretch.text),
        uncertain: stretch.uncertain,
        truncated,
        html,
    }
}

/// What one answer shows of a text.
struct Stretch {
    text: String,
    uncertain: Marks,
    changes: Changes,
}

/// A stretch may begin with a joiner or a selector that joined something before it: the shield
/// removes it.
fn stretch<'a>(text: &'a str, uncertain: &Marks, wish: &BodyWish) -> (Window<'a>, Stretch) {
    let shown = window(text, wish.offset, wish.max_chars);
    let (shielded, edits) = shield_tracked(shown.text, Shape::Body);
    let uncertain = uncertain.within(shown.begin..shown.begin + shown.text.len());
    let uncertain = edits
        .iter()
        .fold(uncertain, |marks, edits| marks.after(edits));
    let stretch = Stretch {
        text: shielded.text,
        uncertain,
        changes: shielded.changes,
    };
    (shown, stretch)
}

/// A part's text, whatever text type it has.
pub(crate) fn readable(leaf: &Leaf, bytes: &[u8], whole: Completeness) -> Readable {
    let decoded = text::of_leaf(leaf, bytes, whole);
    let read = Readable::of_charset(&decoded);
    if is_html(leaf) {
        return read.of_html(&decoded.text, whole);
    }
    if is_enriched(leaf) {
        let (text, colored) = match leaf.mime_type.as_str() {
            "text/richtext" => (enriched::richtext(&decoded.text), Vec::new()),
            _ => enriched::enriched(&decoded.text),
        };
        return read.of_rendered(
            &text,
            &Marks::of_ranges(colored, html::Reason::SameColor.name()),
        );
    }
    match leaf.flow {
        Flow::Fixed => read.of_plain(&decoded.text),
        flow => read.of_plain(&text::unflow(&decoded.text, flow)),
    }
}

impl Readable {
    /// Nothing read yet but the letters.
    pub(crate) fn of_charset(decoded: &Decoded) -> Self {
        Self {
            findings: Findings {
                guessed: decoded.guessed,
                ..Findings::default()
            },
            ..Self::default()
        }
    }

    /// Where the end is missing, a style sheet in it may hide any of the text.
    pub(crate) fn of_html(mut self, html: &str, whole: Completeness) -> Self {
        let rendered = html::to_text(&data_urls::without_data_urls(html), MAX_CHARS);
        self.findings.take(&rendered);
        self.cut = rendered.cut;
        let uncertain = match whole {
            Completeness::Complete => Marks::of_html(&rendered),
            Completeness::Cut => {
                let all = 0..rendered.text.len();
                Marks::of_ranges(vec![all], html::Reason::StyleSheet.name())
            }
        };
        self.of_rendered(&rendered.text, &uncertain)
    }

    /// Text that a renderer laid out, with what of it may not be visible.
    pub(crate) fn of_rendered(mut self, text: &str, uncertain: &Marks) -> Self {
        if uncertain.is_empty() {
            return self.of_text(text);
        }
        let (shielded, [removed, inserted]) = shield_tracked(text, Shape::Body);
        let (tidied, tidying) = text::tidy_tracked(&shielded.text);
        self.findings.changes += shielded.changes;
        self.text = tidied;
        self.uncertain = uncertain.after(&removed).after(&inserted).after(&tidying);
        self
    }

    /// Text that a program put together, of which all is visible.
    pub(crate) fn of_text(mut self, text: &str) -> Self {
        let shielded = shield(text, Shape::Body);
        self.findings.changes += shielded.changes;
        self.text = text::tidy(&shielded.text);
        self
    }

    /// Text as its sender wrote it.
    pub(crate) fn of_plain(mut self, text: &str) -> Self {
        let shielded = shield(text, Shape::Body);
        self.findings.changes += shielded.changes;
        self.text = text::untouched(&shielded.text).to_owned();
        self
    }

    /// Leaves out what may not be visible; gives how many characters that were, and why.
    pub(crate) fn withhold(&mut self) -> Option<Note> {
        if self.uncertain.is_empty() {
            return None;
        }
        let marks = std::mem::take(&mut self.uncertain);
        let (kept, chars) = marks.without(&self.text);
        self.text = text::tidy(&kept);
        self.withheld += chars;
        (chars > 0).then(|| Note::UncertainWithheld {
            chars,
            reasons: marks.reasons(),
        })
    }
}

/// Shields the text of sanitized HTML.
#[derive(Default)]
struct HtmlShield {
    changes: Changes,
}

impl html::TextFilter for HtmlShield {
    fn text(&mut self, text: &str) -> String {
        let shielded = shield(text, Shape::Body);
        self.changes += shielded.changes;
        shielded.text
    }

    fn attribute(&mut self, value: &str) -> String {
        shield::bounded(value, Shape::Line, MAX_ATTRIBUTE_CHARS, &mut self.changes)
    }
}

/// Whether a part is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Yes,
    No,
}

/// A part that was read.
struct Read<'a> {
    leaf: &'a Leaf,
    piece: Piece<'a>,
    readable: Readable,
    shown: Shown,
}

impl<'a> Read<'a> {
    fn new(leaf: &'a Leaf, role: Role, piece: Piece<'a>) -> Self {
        Self {
            leaf,
            piece,
            readable: readable(leaf, piece.bytes, piece.whole),
            shown: if role == Role::Body {
                Shown::Yes
            } else {
                Shown::No
            },
        }
    }
}

/// That there is HTML, and that all of it shows no text.
fn nothing_shown(reads: &[Read<'_>]) -> Option<Note> {
    let is_seen = |read: &&Read<'_>| read.shown == Shown::Yes && is_html(read.leaf);
    let mut pages = reads.iter().filter(is_seen).peekable();
    pages.peek()?;
    let mut pictures = 0;
    for page in pages {
        // Of a page that breaks off it is not known.
        let read = &page.readable;
        if page.piece.is_cut() || read.cut || read.findings.too_deep > 0 || read.withheld > 0 {
            return None;
        }
        let decoded = text::of_leaf(page.leaf, page.piece.bytes, page.piece.whole);
        pictures += data_urls::pictures(&decoded.text);
    }
    Some(Note::HtmlShowsNothing { pictures })
}

/// The versions of the body that people do not see are compared with the one they see, and never
/// shown in its place.
/// Only a plain text that says the same word for word is shown for it, because its lines are the
/// sender's.
fn pick_versions(reads: &mut [Read<'_>], alternatives: &[Alternative], notes: &mut Vec<Note>) {
    for alternative in alternatives {
        let mut agreeing = None;
        let seen = Version::of(reads, &alternative.shown, Shown::Yes);
        if seen.parts == 0 {
            continue;
        }
        for branch in &alternative.plain {
            let plain = Version::of(reads, branch, Shown::No);
            match plain.compared_with(&seen) {
                // The plain text has no marks: what may be unseen would be shown as seen.
                Agreement::Agrees if seen.is_uncertain => {}
                Agreement::Agrees => agreeing = Some(branch),
                Agreement::Differs(chars) => notes.push(Note::PlainDiffers { chars }),
                Agreement::Unknown | Agreement::Lacks | Agreement::Strays => {}
            }
        }
        let Some(agreeing) = agreeing else {
            continue;
        };
        for read in reads.iter_mut() {
            if is_in(&read.leaf.section, &alternative.shown) {
                read.shown = Shown::No;
            } else if is_in(&read.leaf.section, agreeing) {
                read.shown = Shown::Yes;
            }
        }
    }
}

/// What the parts of one branch of an alternative say together.
struct Version {
    text: String,
    links: Links,
    reach: Reach,
    /// Some of it may not be visible.
    is_uncertain: bool,
    parts: usize,
}

impl Version {
    fn of(reads: &[Read<'_>], branch: &[u32], shown: Shown) -> Self {
        let mut version = Self {
            text: String::new(),
            links: Links::default(),
            reach: Reach::Whole,
            is_uncertain: false,
            parts: 0,
        };
        let here = |read: &&Read<'_>| read.shown == shown && is_in(&read.leaf.section, branch);
        for read in reads.iter().filter(here) {
            if version.parts > 0 {
                version.text.push_str("\n\n");
            }
            version.text.push_str(&read.readable.text);
            version.links.merge(&read.readable.findings.links);
            if read.piece.is_cut() || read.readable.cut {
                version.reach = Reach::Beginning;
            }
            version.is_uncertain |= !read.readable.uncertain.is_empty();
            version.parts += 1;
        }
        version
    }

    /// A plain text with the version that people see.
    fn compared_with(&self, seen: &Self) -> Agreement {
        let (plain, shown) = (self.text.trim(), seen.text.trim());
        match (plain.is_empty(), shown.is_empty(), seen.reach) {
            (true, _, _) => Agreement::Lacks,
            (false, true, Reach::Beginning) => Agreement::Unknown,
            (false, true, Reach::Whole) => {
                Agreement::Differs(plain.chars().filter(|c| !c.is_whitespace()).count())
            }
            (false, false, reach) => agreement(plain, shown, &seen.links, reach),
        }
    }
}

/// The text of all parts that are shown, and what they have in common to tell.
#[derive(Default)]
struct Assembled {
    text: String,
    uncertain: Marks,
    /// There is more that no wish brings.
    open: bool,
    html_cut: bool,
    converted: bool,
    findings: Findings,
}

impl Assembled {
    fn add(&mut self, read: &Read<'_>, notes: &mut Vec<Note>) {
        let readable = &read.readable;
        let at = self.paragraph(&readable.text);
        self.uncertain.append(at, &readable.uncertain);
        self.converted |= is_html(read.leaf) && !readable.text.is_empty();
        self.open |= readable.cut || read.piece.is_cut();
        self.findings.merge(&readable.findings);
        if readable.findings.guessed {
            notes.push(Note::CharsetGuessed {
                part: read.leaf.section.clone(),
            });
        }
    }

    /// An invitation stands behind the text, as its own paragraph.
    fn invite(&mut self, leaf: &Leaf, parts: &Parts<'_>) {
        let Some(piece) = parts.piece(leaf) else {
            return;
        };
        let charset = leaf.charset.as_deref().or(Some("utf-8"));
        let decoded = text::decode(piece.bytes, &leaf.encoding, charset, piece.whole);
        if let Some(summary) = calendar::summary(&decoded.text) {
            let read = Readable::default().of_text(&summary.text);
            self.findings.merge(&read.findings);
            self.paragraph(&read.text);
        }
    }

    /// Gives where the text begins, in bytes.
    fn paragraph(&mut self, text: &str) -> usize {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push_str("\n\n");
        }
        let at = self.text.len();
        self.text.push_str(text);
        at
    }

    fn sanitize(
        &mut self,
        reads: &[Read<'_>],
        max_chars: usize,
        notes: &mut Vec<Note>,
    ) -> Option<String> {
        let mut safe = String::new();
        let mut found = false;
        for read in reads.iter().filter(|read| is_html(read.leaf)) {
            found = true;
            let room = max_chars.saturating_sub(safe.chars().count());
            let piece = read.piece;
            let decoded = text::of_leaf(read.leaf, piece.bytes, piece.whole);
            let html = data_urls::without_data_urls(&decoded.text);
            let mut filter = HtmlShield::default();
            let sanitized = html::sanitize(&html, room, &mut filter);
            self.html_cut |= sanitized.cut || piece.is_cut();
            // The same text is counted once.
            if read.shown == Shown::No {
                self.findings.changes += filter.changes;
            }
            safe.push_str(&sanitized.html);
        }
        if !found {
            notes.push(Note::NoHtml);
        }
        (!safe.is_empty()).then_some(safe)
    }

    fn tell(&self, truncated: Option<&Truncation>, notes: &mut Vec<Note>) {
        if self.converted {
            notes.push(Note::HtmlConverted);
        }
        self.findings.tell(notes);
        if truncated.is_some() {
            notes.push(Note::BodyTruncated);
        }
        if self.html_cut {
            notes.push(Note::HtmlTruncated);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uncertain::UncertainRun;
    use proptest::prelude::*;

    fn wish(offset: usize, max_chars: usize) -> BodyWish {
        BodyWish {
            offset,
            max_chars,
            html: HtmlWish::Skip,
            attachment_text: None,
            only: None,
        }
    }

    /// Text whose capitals are uncertain, and the runs that say so.
    fn marked(pieces: &[&str]) -> (String, Vec<UncertainRun>) {
        let text = pieces.concat();
        let mut runs: Vec<UncertainRun> = Vec::new();
        let mut at = 0;
        for piece in pieces {
            let end = at + piece.chars().count();
            if piece.contains(|char: char| char.is_ascii_uppercase()) {
                runs.push(UncertainRun {
                    start: at,
                    end,
                    reason: "filter",
                });
            }
            at = end;
        }
        (text, runs)
    }

    fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
        let piece = prop::sample::select(vec![
            "a",
            "é",
            "𝄞",
            " ",
            "  ",
            "\n",
            "\n\n\n\n",
            "\u{200B}",
            "\u{2800}",
            "\u{2028}",
            "\r\n",
            "<|x|>",
            ". ",
            "X",
            "AB",
            "A B",
            " A ",
            "A\n\n\nB",
            "A\u{200B}",
            "\u{202E}A",
            "A\u{2800}B",
            "<|A|>",
            "A\u{2028}\u{2029}B",
            "[INST]A",
            "A\r\nB",
            "\tA\t",
        ]);
        prop::collection::vec(piece, 0..30)
    }

    proptest! {
        #[test]
        fn uncertain_characters_stay_marked_through_every_change(pieces in pieces(), max in 5_usize..40) {
            let (text, runs) = marked(&pieces);
            let read = Readable::default().of_rendered(&text, &Marks::from_runs(&text, &runs));
            let mut whole = Assembled::default();
            whole.paragraph("before");
            let at = whole.paragraph(&read.text);
            whole.uncertain.append(at, &read.uncertain);
            let mut offset = 0;
            let mut seen = String::new();
            loop {
                let (shown, stretch) = stretch(&whole.text, &whole.uncertain, &wish(offset, max));
                let chars: Vec<char> = stretch.text.chars().collect();
                let runs = stretch.uncertain.runs(&stretch.text);
                for (place, char) in chars.iter().enumerate() {
                    let is_marked = runs.iter().any(|run| (run.start..run.end).contains(&place));
                    prop_assert!(!char.is_ascii_uppercase() || is_marked, "{:?} {:?}", chars, runs);
                    prop_assert!(!char.is_lowercase() || !is_marked || *char == 'x', "{:?} {:?}", chars, runs);
                }
                for run in &runs {
                    prop_assert!(run.start < run.end && run.end <= chars.len());
                    prop_assert!(!chars[run.start].is_whitespace() && !chars[run.end - 1].is_whitespace());
                }
                seen.push_str(&stretch.text);
                if shown.left == 0 {
                    break;
                }
                offset = shown.end;
            }
            let capitals = |text: &str| text.chars().filter(char::is_ascii_uppercase).collect::<String>();
            prop_assert_eq!(capitals(&seen), capitals(&text));
        }

        #[test]
        fn withheld_text_is_gone_and_the_rest_stays(pieces in pieces()) {
            let (text, runs) = marked(&pieces);
            let mut read = Readable::default().of_rendered(&text, &Marks::from_runs(&text, &runs));
            let shown = read.text.clone();
            read.withhold();
            let lower = |text: &str| text.chars().filter(|char| char.is_lowercase() && *char != 'x').collect::<String>();
            prop_assert!(!read.text.contains(|char: char| char.is_ascii_uppercase()), "{:?}", read.text);
            prop_assert_eq!(lower(&read.text), lower(&shown));
        }
    }

    #[test]
    fn uncertain_marks_match_html_verdicts() {
        let text = "Hello\n\n\n\n\nÜber\u{200B}sehen <|x|> now  \nbye";
        let begin = text.chars().position(|char| char == 'Ü').unwrap();
        let runs = [UncertainRun {
            start: begin,
            end: begin + 15,
            reason: "filter",
        }];
        let read = Readable::default().of_rendered(text, &Marks::from_runs(text, &runs));
        let found = read.uncertain.runs(&read.text);
        let chars: Vec<char> = read.text.chars().collect();
        let marked: String = chars[found[0].start..found[0].end].iter().collect();
        assert_eq!((found.len(), marked.as_str()), (1, "Übersehen < |x|"));
        let mut notes = Vec::new();
        read.uncertain.tell(&read.text, &mut notes);
        assert_eq!(
            notes[0].to_string(),
            "13 characters may not be visible to a person (filter); they are marked"
        );
    }
}

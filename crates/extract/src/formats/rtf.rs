//! Rich Text Format: groups, control words, and text in many code pages.
//!
//! Our own reader: the format is small, and hidden text and bounds matter more here than looks. Pictures, objects and
//! tables of fonts are passed over; deleted text that is still tracked is left out; hidden text is
//! counted.

use std::collections::HashMap;

use encoding_rs::Encoding;
use mail::ExtractFault;

use super::draft::Draft;
use super::rtf_visibility::{RtfFormat, RtfFormats};

/// Groups in groups; deeper ones are passed over.
const MAX_DEPTH: usize = 1_000;
const MAX_FONTS: usize = 1_000;
/// A control word is 32 letters at most.
const MAX_WORD: usize = 32;

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    let bytes = bytes.trim_ascii_start();
    if !bytes.starts_with(b"{\\rtf") {
        return Err(ExtractFault::Malformed);
    }
    Reader {
        rest: bytes,
        draft,
        group: Group::default(),
        groups: Vec::new(),
        beyond: 0,
        codepage: encoding_rs::WINDOWS_1252,
        fonts: HashMap::new(),
        octets: Vec::new(),
        lead: None,
        in_row: false,
        cell: 0,
        looks: RtfFormats::default(),
        styles_at: 0,
    }
    .run();
    Ok(())
}

/// What a group changes and its end takes back.
#[derive(Clone)]
struct Group {
    place: Place,
    look: RtfFormat,
    deleted: bool,
    /// Inside the text of a shape.
    in_shape: bool,
    /// Characters that stand for a `\u` before them.
    substitutes: usize,
    to_skip: usize,
    font: Option<u32>,
    /// `\*` was just read: what follows may be passed over when it is not known.
    starred: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Fonts,
    Colours,
    Styles,
    ShapeName,
    ShapeValue,
    /// Passed over.
    Skipped,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            place: Place::Text,
            look: RtfFormat::default(),
            deleted: false,
            in_shape: false,
            substitutes: 1,
            to_skip: 0,
            font: None,
            starred: false,
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    draft: &'a mut Draft,
    group: Group,
    groups: Vec<Group>,
    /// Groups below the deepest that is kept.
    beyond: usize,
    codepage: &'static Encoding,
    fonts: HashMap<u32, &'static Encoding>,
    /// Octets that wait to be decoded together: a character may take two.
    octets: Vec<u8>,
    /// The first half of a character that UTF-16 writes in two.
    lead: Option<u16>,
    in_row: bool,
    /// The cell of the row that is open.
    cell: usize,
    looks: RtfFormats,
    /// How many groups are around the style sheet.
    styles_at: usize,
}

impl Reader<'_> {
    fn run(mut self) {
        while let Some((octet, rest)) = self.rest.split_first() {
            self.rest = rest;
            match octet {
                b'{' => self.open(),
                b'}' => self.close(),
                b'\\' => self.control(),
                b'\r' | b'\n' | 0 => {}
                octet => self.octet(*octet),
            }
        }
        self.flush();
        if self.in_row {
            self.draft.end_row();
        }
    }

    fn open(&mut self) {
        self.flush();
        self.group.to_skip = 0;
        if self.groups.len() >= MAX_DEPTH {
            self.beyond += 1;
            return;
        }
        self.groups.push(self.group.clone());
        self.group.starred = false;
    }

    fn close(&mut self) {
        self.flush();
        if self.beyond > 0 {
            self.beyond -= 1;
        } else if let Some(group) = self.groups.pop() {
            // Of the groups in a style sheet, each that stands in it directly is a style.
            let is_style = self.group.place == Place::Styles
                && group.place == Place::Styles
                && self.styles_at == self.groups.len();
            if is_style {
                self.looks.end_style(&self.group.look);
            }
            self.group = group;
        }
    }

    fn control(&mut self) {
        let Some((first, rest)) = self.rest.split_first() else {
            return;
        };
        if !first.is_ascii_alphabetic() {
            self.rest = rest;
            return self.symbol(*first);
        }
        let letters = self
            .rest
            .iter()
            .take(MAX_WORD)
            .take_while(|octet| octet.is_ascii_alphabetic())
            .count();
        let (word, rest) = self.rest.split_at(letters);
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = rest
            .iter()
            .skip(sign)
            .take(10)
            .take_while(|octet| octet.is_ascii_digit())
            .count();
        let (number, rest) = match digits {
            0 => (None, rest),
            digits => {
                let (text, rest) = rest.split_at(sign + digits);
                let number = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok());
                (number, rest)
            }
        };
        // One space after a control word belongs to it.
        self.rest = rest.strip_prefix(b" ").unwrap_or(rest);
        self.word(word, number);
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'\'' => {
                let hex = self.rest.get(..2).and_then(|digits| {
                    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
                });
                if let Some(octet) = hex {
                    self.rest = self.rest.get(2..).unwrap_or_default();
                    self.octet(octet);
                }
            }
            b'\\' | b'{' | b'}' => self.octet(symbol),
            b'~' => self.text("\u{A0}"),
            b'_' => self.text("-"),
            b'\n' | b'\r' => self.end_line(),
            b'*' => self.group.starred = true,
            _ => {}
        }
    }

    fn word(&mut self, word: &[u8], number: Option<i64>) {
        let on = number != Some(0);
        match word {
            b"bin" => {
                let length = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
                self.flush();
                self.rest = self.rest.get(length..).unwrap_or_default();
            }
            b"u" => self.unicode(number.unwrap_or(0)),
            b"uc" => {
                self.group.substitutes = number.map_or(1, |count| count.clamp(0, 16) as usize);
            }
            b"ansicpg" => self.codepage = codepage(number.unwrap_or(1252)),
            b"mac" => self.codepage = encoding_rs::MACINTOSH,
            b"f" => {
                self.flush();
                self.group.font = number.and_then(|font| u32::try_from(font).ok());
            }
            b"fcharset" if self.group.place == Place::Fonts => self.font(number.unwrap_or(0)),
            b"fonttbl" => self.enter(Place::Fonts),
            b"deleted" => {
                self.flush();
                self.group.deleted = on;
            }
            b"colortbl" => self.enter(Place::Colours),
            b"stylesheet" => {
                self.enter(Place::Styles);
                self.styles_at = self.groups.len();
            }
            b"red" | b"green" | b"blue" if self.group.place == Place::Colours => {
                self.looks.colour_word(word, number);
            }
            b"shp" => self.looks.begin_shape(),
            b"sn" => self.enter(Place::ShapeName),
            b"sv" => self.enter(Place::ShapeValue),
            b"shpleft" | b"shptop" => self.looks.shape_edge(number.unwrap_or(0)),
            b"shptxt" => {
                self.flush();
                self.group.in_shape = true;
                // What a shape holds has the look of nothing around it.
                self.group.look = RtfFormat::default();
            }
            b"background" => {
                self.looks.has_background = true;
                self.enter(Place::Skipped);
            }
            b"trrh" | b"clcbpat" | b"clvmrg" | b"clmrg" | b"cellx" => {
                self.flush();
                self.looks.row_word(word, number);
            }
            b"plain" => {
                self.flush();
                self.group.deleted = false;
                self.group.look.word(word, number);
            }
            b"par" | b"line" | b"sect" | b"page" | b"softline" => self.end_line(),
            b"tab" => self.text("\t"),
            b"emdash" => self.text("—"),
            b"endash" => self.text("–"),
            b"lquote" => self.text("‘"),
            b"rquote" => self.text("’"),
            b"ldblquote" => self.text("“"),
            b"rdblquote" => self.text("”"),
            b"bullet" => self.text("•"),
            b"trowd" => self.begin_row(),
            b"cell" | b"nestcell" => self.end_cell(),
            b"row" | b"nestrow" => self.end_row(),
            word if self.group.place == Place::Styles && self.changes_look(word, number) => {}
            word if SKIPPED.contains(&word) => self.enter(Place::Skipped),
            // An unknown destination that says it may be passed over.
            word if self.group.starred && !SHOWN.contains(&word) => self.enter(Place::Skipped),
            word if self.changes_look(word, number) => {}
            b"footnote" => self.text(" [note] "),
            b"annotation" => self.text(" [comment] "),
            _ => {}
        }
        self.group.starred = false;
    }

    fn changes_look(&mut self, word: &[u8], number: Option<i64>) -> bool {
        let mut look = self.group.look;
        if !look.word(word, number) {
            return false;
        }
        if look != self.group.look {
            self.flush();
            self.group.look = look;
        }
        true
    }

    fn enter(&mut self, place: Place) {
        self.flush();
        if self.group.place != Place::Skipped {
            self.group.place = place;
        }
    }

    fn unicode(&mut self, number: i64) {
        self.flush();
        // Written as a signed 16-bit number.
        let Ok(unit) = u16::try_from(number.rem_euclid(0x1_0000)) else {
            return;
        };
        self.group.to_skip = self.group.substitutes;
        let units: Vec<u16> = self.lead.take().into_iter().chain([unit]).collect();
        if units.len() == 1 && (0xD800..0xDC00).contains(&unit) {
            self.lead = Some(unit);
            return;
        }
        let skip = self.group.to_skip;
        self.group.to_skip = 0;
        self.text(&String::from_utf16_lossy(&units));
        self.group.to_skip = skip;
    }

    fn octet(&mut self, octet: u8) {
        if self.group.to_skip > 0 {
            self.group.to_skip -= 1;
            return;
        }
        if self.beyond > 0 {
            return;
        }
        match self.group.place {
            Place::Text | Place::ShapeName | Place::ShapeValue => self.octets.push(octet),
            Place::Colours if octet == b';' => self.looks.end_colour(),
            Place::Colours | Place::Fonts | Place::Styles | Place::Skipped => {}
        }
    }

    fn flush(&mut self) {
        if self.octets.is_empty() {
            return;
        }
        let octets = std::mem::take(&mut self.octets);
        let of_font = self.group.font.and_then(|font| self.fonts.get(&font));
        let encoding = of_font.copied().unwrap_or(self.codepage);
        let (text, _) = encoding.decode_without_bom_handling(&octets);
        self.write(&text);
    }

    fn text(&mut self, text: &str) {
        self.flush();
        if self.group.to_skip > 0 {
            self.group.to_skip -= 1;
            return;
        }
        self.write(text);
    }

    fn write(&mut self, text: &str) {
        match self.group.place {
            _ if self.beyond > 0 => return,
            Place::ShapeName => return self.looks.shape_property(text),
            Place::ShapeValue => return self.looks.shape_value(text),
            Place::Text if !self.group.deleted => {}
            _ => return,
        }
        let cell = self.in_row.then_some(self.cell);
        let group = &self.group;
        let verdict = self.looks.verdict(&group.look, cell, group.in_shape);
        self.draft.show(text, verdict);
    }

    fn end_line(&mut self) {
        self.flush();
        self.group.to_skip = 0;
        if self.group.place == Place::Text {
            self.draft.end_line();
        }
    }

    fn begin_row(&mut self) {
        self.flush();
        self.looks.row_word(b"trowd", None);
        self.cell = 0;
        if !self.in_row && self.group.place == Place::Text {
            self.in_row = true;
            self.draft.begin_row();
            self.draft.begin_cell();
        }
    }

    fn end_cell(&mut self) {
        self.flush();
        if self.in_row {
            self.cell += 1;
            self.draft.begin_cell();
        } else {
            self.write(" | ");
        }
    }

    fn end_row(&mut self) {
        self.flush();
        self.cell = 0;
        if std::mem::take(&mut self.in_row) {
            self.draft.end_row();
        } else {
            self.end_line();
        }
    }

    fn font(&mut self, charset: i64) {
        let page = match charset {
            77 => 10_000,
            128 => 932,
            129 | 130 => 949,
            134 => 936,
            136 => 950,
            161 => 1253,
            162 => 1254,
            163 => 1258,
            177 => 1255,
            178 => 1256,
            186 => 1257,
            204 => 1251,
            222 => 874,
            238 => 1250,
            _ => return,
        };
        if let Some(font) = self.group.font
            && self.fonts.len() < MAX_FONTS
        {
            self.fonts.insert(font, codepage(page));
        }
    }
}

/// Destinations without text of the author's.
const SKIPPED: [&[u8]; 32] = [
    b"listtable",
    b"listoverridetable",
    b"listtext",
    b"revtbl",
    b"rsidtbl",
    b"info",
    b"pict",
    b"nonshppict",
    b"object",
    b"objdata",
    b"objclass",
    b"fldinst",
    b"filetbl",
    b"themedata",
    b"colorschememapping",
    b"datastore",
    b"latentstyles",
    b"xmlnstbl",
    b"generator",
    b"bkmkstart",
    b"bkmkend",
    b"xe",
    b"tc",
    b"rxe",
    b"ftnsep",
    b"ftnsepc",
    b"aftnsep",
    b"aftnsepc",
    b"panose",
    b"falt",
    b"atnid",
    b"atndate",
];

/// Destinations that say they may be passed over and hold text nevertheless.
const SHOWN: [&[u8]; 7] = [
    b"annotation",
    b"atnauthor",
    b"footnote",
    b"shpinst",
    b"shptxt",
    b"pntext",
    b"cell",
];

fn codepage(number: i64) -> &'static Encoding {
    let label = match number {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        10_000 => "macintosh".to_owned(),
        65_001 => "utf-8".to_owned(),
        number => format!("windows-{number}"),
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252)
}

#[cfg(test)]
mod tests {
    use mail::Format;

    use super::super::tests::seen;
    use super::*;

    #[test]
    fn text_is_read_as_it_looks() {
        for (rtf, expected) in [
            (r"{\rtf1 Hello \b World\b0 !}", "Hello World!"),
            (r"{\rtf1 one\par two\line three}", "one\ntwo\nthree"),
            (r"{\rtf1\ansi\ansicpg1252 caf\'e9 \{x\}}", "café {x}"),
            (r"{\rtf1\ansicpg1251 \'cf\'f0}", "Пр"),
            (
                r"{\rtf1{\fonttbl{\f0\fcharset128 MS;}{\f1 Arial;}}\f0\'93\'fa\f1 x}",
                "日x",
            ),
            (
                r"{\rtf1 \u8364?5 \uc2\u252\'fc\'fcn \uc0\u252 n}",
                "€5 ün ün",
            ),
            (r"{\rtf1 \u-10179?\u-8704?!}", "😀!"),
            (
                r"{\rtf1{\stylesheet{\s0 Normal;}}{\info{\author Ann}}{\*\generator Word;}{\pict 0a0b}text}",
                "text",
            ),
            (
                r#"{\rtf1{\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt link}}}"#,
                "link",
            ),
            (
                r"{\rtf1\trowd\intbl a\cell b\cell\row\trowd\intbl c\cell d\cell\row after}",
                "a | b\nc | d\nafter",
            ),
            (
                r"{\rtf1 \ldblquote q\rdblquote\emdash\tab x\~y\_z}",
                "“q”—\tx\u{A0}y-z",
            ),
            (r"{\rtf1 a\bin3 }}}b}", "ab"),
            (r"{\rtf1 a{\deleted gone}b}", "ab"),
            (r"{\rtf1 body{\footnote small}}", "body [note] small"),
            ("{\\rtf1 a\\\r\nb}", "a\nb"),
            (r"{\rtf1 unclosed {\b text", "unclosed text"),
        ] {
            assert_eq!(seen(Format::Rtf, rtf.as_bytes()).text, expected, "{rtf}");
        }
    }

    #[test]
    fn hidden_text_is_left_out_and_counted() {
        for (rtf, text, hidden) in [
            (r"{\rtf1 seen {\v secret} more}", "seen  more", 6),
            (r"{\rtf1 seen \v secret\v0  more}", "seen  more", 6),
            (r"{\rtf1 \v se\'e9\plain  more}", " more", 3),
            (
                r"{\rtf1{\colortbl;\red255\green255\blue255;}{\cf1 white} seen}",
                " seen",
                5,
            ),
            (
                r"{\rtf1{\colortbl;\red250\green250\blue250;}{\cf1 white} seen}",
                " seen",
                5,
            ),
            (
                r"{\rtf1{\colortbl;\red255\green0\blue0;}{\cf1 red} seen}",
                "red seen",
                0,
            ),
            (
                r"{\rtf1{\colortbl;\red0\green0\blue0;}{\cf1\highlight1 black} seen}",
                " seen",
                5,
            ),
            (r"{\rtf1{\fs2 tiny} seen}", " seen", 4),
        ] {
            let found = seen(Format::Rtf, rtf.as_bytes());
            assert_eq!((found.text.as_str(), found.hidden), (text, hidden), "{rtf}");
        }
    }

    #[test]
    fn depth_is_passed_over_not_died_of() {
        let deep = format!(
            "{{\\rtf1 a{}b{}c}}",
            "{".repeat(100_000),
            "}".repeat(100_000)
        );
        assert_eq!(seen(Format::Rtf, deep.as_bytes()).text, "ac");
    }

    #[test]
    fn what_ends_early_does_no_harm() {
        let whole = br"{\rtf1\ansi\ansicpg932{\fonttbl{\f0\fcharset128 x;}}\f0 a\'93\'fa\u-10179?\bin5 abcde\trowd x\cell}";
        for end in 0..whole.len() {
            let mut draft = Draft::new(100);
            let _ = read(&whole[..end], &mut draft);
        }
    }
}

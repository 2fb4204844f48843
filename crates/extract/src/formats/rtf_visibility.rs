//! What control words of RTF say about whether text is seen.

use std::collections::HashMap;

use mail::HidingReason;

use super::colour::{BLACK, Colours, Rgb, WHITE};
use super::verdict::Verdict;
use super::word_style::of_height;

const MAX_COLOURS: usize = 10_000;
const MAX_STYLES: usize = 10_000;
/// Cells of one row.
const MAX_CELLS: usize = 200;
/// Twentieths of a point.
const FAR: i64 = 2_880;

/// What a group changes and its end takes back. Colours are numbers of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RtfFormat {
    pub(super) hidden: bool,
    text: i64,
    half_points: i64,
    scale: i64,
    raised: i64,
    spacing: i64,
    highlight: i64,
    /// Word passes over it, other programs paint it.
    back: Option<i64>,
    run_fill: Option<i64>,
    paragraph_fill: Option<i64>,
    line: i64,
    indent: i64,
    frame: i64,
    frame_height: i64,
    /// Tables in tables have their looks told after their text.
    depth: i64,
    character_style: Option<i64>,
    paragraph_style: Option<i64>,
}

impl Default for RtfFormat {
    fn default() -> Self {
        Self {
            hidden: false,
            text: 0,
            half_points: 24,
            scale: 100,
            raised: 0,
            spacing: 0,
            highlight: 0,
            back: None,
            run_fill: None,
            paragraph_fill: None,
            line: 0,
            indent: 0,
            frame: 0,
            frame_height: 0,
            depth: 0,
            character_style: None,
            paragraph_style: None,
        }
    }
}

impl RtfFormat {
    /// Whether the word is one of these; all others say nothing of the look.
    pub(super) fn word(&mut self, word: &[u8], number: Option<i64>) -> bool {
        let value = number.unwrap_or(0);
        match word {
            b"v" => self.hidden = number != Some(0),
            b"cf" => self.text = value,
            b"fs" => self.half_points = number.unwrap_or(24),
            b"charscalex" => self.scale = number.unwrap_or(100),
            b"up" => self.raised = number.unwrap_or(6),
            b"dn" => self.raised = -number.unwrap_or(6),
            b"expndtw" => self.spacing = value,
            b"expnd" => self.spacing = value.saturating_mul(5),
            b"highlight" => self.highlight = value,
            b"cb" => self.back = number,
            b"chcbpat" => self.run_fill = number,
            b"cbpat" => self.paragraph_fill = number,
            b"sl" => self.line = value,
            b"li" | b"fi" | b"ri" | b"lin" | b"rin" => {
                if value.abs() > self.indent.abs() {
                    self.indent = value;
                }
            }
            b"posx" | b"posy" | b"posnegx" | b"posnegy" => {
                if value.abs() > self.frame.abs() {
                    self.frame = value;
                }
            }
            b"absh" => self.frame_height = value,
            b"itap" => self.depth = value,
            b"s" => self.paragraph_style = number,
            b"cs" => self.character_style = number,
            b"plain" => {
                *self = Self {
                    paragraph_fill: self.paragraph_fill,
                    line: self.line,
                    indent: self.indent,
                    frame: self.frame,
                    frame_height: self.frame_height,
                    depth: self.depth,
                    paragraph_style: self.paragraph_style,
                    ..Self::default()
                };
            }
            b"pard" => {
                self.paragraph_fill = None;
                self.line = 0;
                self.indent = 0;
                self.frame = 0;
                self.frame_height = 0;
                self.depth = 0;
                self.paragraph_style = None;
            }
            _ => return false,
        }
        true
    }
}

#[derive(Clone, Copy, Default)]
struct RtfCell {
    fill: Option<i64>,
    is_merged: bool,
}

/// What is said once for a document, a row or a shape.
#[derive(Default)]
pub(super) struct RtfFormats {
    /// None is automatic.
    colours: Vec<Option<Rgb>>,
    open: [Option<u8>; 3],
    styles: HashMap<(StyleKind, i64), RtfFormat>,
    row_height: i64,
    cells: Vec<RtfCell>,
    cell: RtfCell,
    /// The page may have a background of its own.
    pub(super) has_background: bool,
    shape: Verdict,
    shape_fill: Option<Colours>,
    property: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum StyleKind {
    Paragraph,
    Character,
}

impl RtfFormats {
    /// A word in the table of colours.
    pub(super) fn colour_word(&mut self, word: &[u8], number: Option<i64>) {
        let level = u8::try_from(number.unwrap_or(0).clamp(0, 255)).unwrap_or_default();
        let [red, green, blue] = &mut self.open;
        match word {
            b"red" => *red = Some(level),
            b"green" => *green = Some(level),
            b"blue" => *blue = Some(level),
            _ => {}
        }
    }

    pub(super) fn end_colour(&mut self) {
        let [red, green, blue] = std::mem::take(&mut self.open);
        let is_auto = red.is_none() && green.is_none() && blue.is_none();
        let colour = Rgb(red.unwrap_or(0), green.unwrap_or(0), blue.unwrap_or(0));
        if self.colours.len() < MAX_COLOURS {
            self.colours.push((!is_auto).then_some(colour));
        }
    }

    /// A group of the style sheet ends: what it said is that of its style.
    pub(super) fn end_style(&mut self, look: &RtfFormat) {
        let mut own = *look;
        let kind = match (own.character_style.take(), own.paragraph_style.take()) {
            (Some(number), _) => (StyleKind::Character, number),
            (None, number) => (StyleKind::Paragraph, number.unwrap_or(0)),
        };
        if self.styles.len() < MAX_STYLES {
            self.styles.insert(kind, own);
        }
    }

    /// A word that describes a row and its cells.
    pub(super) fn row_word(&mut self, word: &[u8], number: Option<i64>) {
        match word {
            b"trowd" => {
                self.row_height = 0;
                self.cells.clear();
                self.cell = RtfCell::default();
            }
            b"trrh" => self.row_height = number.unwrap_or(0),
            b"clcbpat" => self.cell.fill = number,
            b"clvmrg" | b"clmrg" => self.cell.is_merged = true,
            b"cellx" => {
                let cell = std::mem::take(&mut self.cell);
                if self.cells.len() < MAX_CELLS {
                    self.cells.push(cell);
                }
            }
            _ => {}
        }
    }

    pub(super) fn begin_shape(&mut self) {
        self.shape = Verdict::Visible;
        self.shape_fill = None;
    }

    pub(super) fn shape_edge(&mut self, twentieths: i64) {
        if twentieths.abs() > 31_680 {
            self.shape = self.shape.and(Verdict::Hidden(HidingReason::OffPage));
        } else if !(-FAR / 4..=6 * FAR).contains(&twentieths) {
            self.shape = self.shape.and(Verdict::Uncertain(HidingReason::OffPage));
        }
    }

    pub(super) fn shape_property(&mut self, name: &str) {
        name.trim().clone_into(&mut self.property);
    }

    pub(super) fn shape_value(&mut self, value: &str) {
        let value = value.trim();
        match self.property.as_str() {
            "fHidden" if value != "0" => {
                self.shape = self.shape.and(Verdict::Hidden(HidingReason::Marked));
            }
            "fillColor" => {
                // Blue, green, red.
                let colour = value.parse::<u32>().map(u32::to_be_bytes);
                self.shape_fill = Some(match colour {
                    Ok([0, blue, green, red]) => Colours::one(Rgb(red, green, blue)),
                    _ => Colours::any(),
                });
            }
            "fillType" | "fillOpacity" | "fillBackColor" => {
                self.shape_fill.get_or_insert_with(Colours::any);
            }
            _ => {}
        }
    }

    fn colour(&self, number: i64) -> Option<Colours> {
        if number == 0 && self.colours.is_empty() {
            return None;
        }
        let found = usize::try_from(number)
            .ok()
            .and_then(|at| self.colours.get(at));
        match found {
            Some(None) => None,
            Some(Some(colour)) => Some(Colours::one(*colour)),
            None => Some(Colours::any()),
        }
    }

    /// Whether text of this look is seen, in this cell of a row and inside a shape or not.
    pub(super) fn verdict(&self, look: &RtfFormat, cell: Option<usize>, in_shape: bool) -> Verdict {
        let mut verdict = self.verdict_of(look, cell, in_shape);
        // Programs differ on whether a style holds where its properties are not written out.
        let named = [
            (StyleKind::Character, look.character_style),
            (StyleKind::Paragraph, look.paragraph_style),
        ];
        for (kind, number) in named {
            let style = number.and_then(|number| self.styles.get(&(kind, number)));
            if let Some(style) = style
                && self.verdict_of(style, cell, in_shape) != Verdict::Visible
            {
                verdict = verdict.and(Verdict::Uncertain(HidingReason::Conditional));
            }
        }
        verdict
    }

    fn verdict_of(&self, look: &RtfFormat, cell: Option<usize>, in_shape: bool) -> Verdict {
        let mut verdict = match look.hidden {
            true => Verdict::Hidden(HidingReason::Marked),
            false => Verdict::of_size(look.half_points as f32 / 2.0),
        };
        verdict = verdict.and(match look.scale {
            ..=5 => Verdict::Hidden(HidingReason::ZeroSize),
            6..=32 => Verdict::Uncertain(HidingReason::ZeroSize),
            _ => Verdict::Visible,
        });
        if look.spacing < -40 {
            verdict = verdict.and(Verdict::Uncertain(HidingReason::ZeroSize));
        }
        let far = !(-FAR..=3 * FAR).contains(&look.indent)
            || !(-FAR..=6 * FAR).contains(&look.frame)
            || look.raised.abs() > 72;
        if far {
            verdict = verdict.and(Verdict::Uncertain(HidingReason::OffPage));
        }
        // A negative height is exact.
        for height in [look.line, look.frame_height] {
            if height < 0 {
                verdict = verdict.and(of_height(-(height as f64)));
            }
        }
        if in_shape {
            verdict = verdict.and(self.shape);
        }
        verdict.and(self.verdict_of_colours(look, cell, in_shape))
    }

    fn verdict_of_colours(&self, look: &RtfFormat, cell: Option<usize>, in_shape: bool) -> Verdict {
        let mut verdict = Verdict::Visible;
        let mut behind = Colours::one(WHITE);
        if self.has_background || look.depth > 1 {
            behind.add_all(&Colours::any());
        }
        if in_shape && let Some(fill) = &self.shape_fill {
            behind = fill.clone();
        }
        if let Some(cell) = cell {
            if self.row_height < 0 {
                verdict = verdict.and(of_height(-(self.row_height as f64)));
            }
            let cell = self.cells.get(cell).copied().unwrap_or_default();
            if cell.is_merged {
                verdict = verdict.and(Verdict::Uncertain(HidingReason::Covered));
            }
            if let Some(fill) = cell.fill.and_then(|fill| self.colour(fill)) {
                behind = fill;
            }
        }
        for fill in [look.paragraph_fill, look.run_fill].into_iter().flatten() {
            if let Some(fill) = self.colour(fill) {
                behind = fill;
            }
        }
        if let Some(back) = look.back.and_then(|back| self.colour(back)) {
            behind.add_all(&back);
        }
        let lit = match look.highlight {
            0 => None,
            number => self.colour(number),
        };
        if let Some(lit) = &lit {
            behind = lit.clone();
        }
        match self.colour(look.text) {
            Some(text) => verdict.and(Verdict::of_colours(&text, &behind)),
            // Automatic is chosen to show on shading, but not on what a highlighter or another
            // program paints.
            None if lit.is_some() || look.back.is_some() => {
                verdict.and(Verdict::of_colours(&Colours::one(BLACK), &behind).doubted())
            }
            None => verdict,
        }
    }
}

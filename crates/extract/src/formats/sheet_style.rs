//! The styles of an Excel workbook: fonts, fills and formats of cells (ECMA-376 part 1, 18.8).

use std::collections::{HashMap, HashSet};

use mail::{ExtractFault, HidingReason};

use super::colour::{BLACK, Colours, Rgb, WHITE};
use super::drawing::Theme;
use super::verdict::Verdict;
use super::xml::{Node, Tag, Xml};

const MAX_STYLES: usize = 70_000;

/// What kind of value a cell holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value {
    Text,
    Number(f64),
    /// Truth values and errors, which formats treat in ways of their own.
    Other,
}

/// The colours that numbers and themes stand for.
#[derive(Default)]
pub(super) struct Palette {
    theme: Theme,
    /// Colours that the workbook puts in the place of the usual ones.
    own: Vec<Rgb>,
}

impl Palette {
    /// A `color`, `fgColor` or `bgColor`.
    pub(super) fn colour(&self, tag: &Tag<'_>) -> Colours {
        let tint = tag.attribute("tint").map(|tint| tint.trim().parse::<f32>());
        let plain = if let Some(number) = tag.attribute("theme") {
            let number = number.trim().parse();
            number.map_or_else(|_| Colours::any(), |number| self.theme.numbered(number))
        } else if let Some(rgb) = tag.attribute("rgb") {
            Rgb::parse(&rgb).map_or_else(Colours::any, Colours::one)
        } else if let Some(number) = tag.number("indexed") {
            match self.own.get(number) {
                Some(own) => Colours::one(*own),
                None => indexed(number),
            }
        } else if super::sheet_visibility::is_on(tag, "auto") {
            Colours::one(BLACK)
        } else {
            Colours::any()
        };
        match tint {
            None => plain,
            Some(Ok(tint)) if tint < 0.0 => {
                plain.map(|colour| colour.relit(|light| light * (1.0 + tint)))
            }
            Some(Ok(tint)) => plain.map(|colour| colour.relit(|light| light * (1.0 - tint) + tint)),
            Some(Err(_)) => Colours::any(),
        }
    }
}

/// The usual colours of old: eight, the same again, and 48 more.
pub(super) fn indexed(number: usize) -> Colours {
    const FIRST: [u32; 8] = [
        0x00_0000, 0xFF_FFFF, 0xFF_0000, 0x00_FF00, 0x00_00FF, 0xFF_FF00, 0xFF_00FF, 0x00_FFFF,
    ];
    const MORE: [u32; 48] = [
        0x80_0000, 0x00_8000, 0x00_0080, 0x80_8000, 0x80_0080, 0x00_8080, 0xC0_C0C0, 0x80_8080,
        0x99_99FF, 0x99_3366, 0xFF_FFCC, 0xCC_FFFF, 0x66_0066, 0xFF_8080, 0x00_66CC, 0xCC_CCFF,
        0x00_0080, 0xFF_00FF, 0xFF_FF00, 0x00_FFFF, 0x80_0080, 0x80_0000, 0x00_8080, 0x00_00FF,
        0x00_CCFF, 0xCC_FFFF, 0xCC_FFCC, 0xFF_FF99, 0x99_CCFF, 0xFF_99CC, 0xCC_99FF, 0xFF_CC99,
        0x33_66FF, 0x33_CCCC, 0x99_CC00, 0xFF_CC00, 0xFF_9900, 0xFF_6600, 0x66_6699, 0x96_9696,
        0x00_3366, 0x33_9966, 0x00_3300, 0x33_3300, 0x99_3300, 0x99_3366, 0x33_3399, 0x33_3333,
    ];
    let found = match number {
        0..16 => FIRST.get(number % 8),
        16..64 => MORE.get(number - 16),
        // The colours of windows.
        64 => return Colours::one(BLACK),
        65 => return Colours::one(WHITE),
        _ => None,
    };
    match found {
        Some(rgb) => {
            let [_, red, green, blue] = rgb.to_be_bytes();
            Colours::one(Rgb(red, green, blue))
        }
        None => Colours::any(),
    }
}

#[derive(Clone, Default, Debug)]
pub(super) struct Font {
    colours: Option<Colours>,
    pub(super) points: Option<f32>,
}

impl Font {
    /// Automatic is the colour of windows.
    pub(super) fn colours(&self) -> Colours {
        self.colours.clone().unwrap_or_else(|| Colours::one(BLACK))
    }

    pub(super) fn over(&self, under: &Self) -> Self {
        Self {
            colours: self.colours.clone().or_else(|| under.colours.clone()),
            points: self.points.or(under.points),
        }
    }

    fn property(&mut self, tag: &Tag<'_>, palette: &Palette) {
        match tag.name() {
            "color" => self.colours = Some(palette.colour(tag)),
            "sz" => {
                let points = tag
                    .attribute("val")
                    .and_then(|size| size.trim().parse().ok());
                self.points = Some(points.unwrap_or(0.0));
            }
            _ => {}
        }
    }
}

/// A piece of a cell's text.
#[derive(Clone, Default, Debug)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) font: Option<Font>,
}

/// The text of a `si` or `is`, whose element was opened last.
pub(super) fn read_runs(xml: &mut Xml<'_>, palette: &Palette) -> Result<Vec<Run>, ExtractFault> {
    let mut runs: Vec<Run> = Vec::new();
    let mut font: Option<Font> = None;
    let mut open = 1usize;
    while open > 0 {
        let tag = match xml.next()?.ok_or(ExtractFault::Malformed)? {
            Node::Open(tag) => tag,
            Node::Close(_) => {
                open -= 1;
                continue;
            }
            Node::Text(_) => continue,
        };
        match tag.name() {
            "rPh" => {
                xml.skip()?;
                continue;
            }
            "r" => font = None,
            "rPr" => font = Some(Font::default()),
            "t" => {
                let mut text = String::new();
                xml.inner(|piece| text.push_str(piece))?;
                runs.push(Run {
                    text,
                    font: font.clone(),
                });
                continue;
            }
            _ => {
                if let Some(font) = &mut font {
                    font.property(&tag, palette);
                }
            }
        }
        open += 1;
    }
    Ok(runs)
}

/// A format that holds under a condition; what it leaves open stays.
#[derive(Clone, Default, Debug)]
pub(super) struct DifferentialFormat {
    pub(super) font: Option<Font>,
    pub(super) fill: Option<Colours>,
    pub(super) code: Option<String>,
}

impl DifferentialFormat {
    /// A `dxf`, whose element was opened last.
    pub(super) fn read(xml: &mut Xml<'_>, palette: &Palette) -> Result<Self, ExtractFault> {
        let mut format = Self::default();
        let mut open = 1usize;
        while open > 0 {
            let tag = match xml.next()?.ok_or(ExtractFault::Malformed)? {
                Node::Open(tag) => tag,
                Node::Close(_) => {
                    open -= 1;
                    continue;
                }
                Node::Text(_) => continue,
            };
            match tag.name() {
                "font" => {
                    format.font = Some(read_font(xml, palette)?);
                    continue;
                }
                "fill" => {
                    format.fill = read_fill(xml, palette, FillUse::Format)?;
                    continue;
                }
                "numFmt" => format.code = tag.attribute("formatCode").map(|code| code.into_owned()),
                // Lines around the cell have colours too.
                "border" => {
                    xml.skip()?;
                    continue;
                }
                _ => {}
            }
            open += 1;
        }
        Ok(format)
    }
}

/// A font, whose element was opened last.
fn read_font(xml: &mut Xml<'_>, palette: &Palette) -> Result<Font, ExtractFault> {
    let mut font = Font::default();
    let mut open = 1usize;
    while open > 0 {
        match xml.next()?.ok_or(ExtractFault::Malformed)? {
            Node::Open(tag) => {
                font.property(&tag, palette);
                open += 1;
            }
            Node::Close(_) => open -= 1,
            Node::Text(_) => {}
        }
    }
    Ok(font)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FillUse {
    Cell,
    /// QUIRK: formats that hold under a condition write a solid colour as the background, and leave
    /// the pattern out.
    Format,
}

/// A fill, whose element was opened last. None paints nothing.
fn read_fill(
    xml: &mut Xml<'_>,
    palette: &Palette,
    used: FillUse,
) -> Result<Option<Colours>, ExtractFault> {
    let mut pattern = String::new();
    let (mut front, mut back) = (None, None);
    let mut stops: Option<Colours> = None;
    let mut open = 1usize;
    while open > 0 {
        let tag = match xml.next()?.ok_or(ExtractFault::Malformed)? {
            Node::Open(tag) => tag,
            Node::Close(_) => {
                open -= 1;
                continue;
            }
            Node::Text(_) => continue,
        };
        match tag.name() {
            "patternFill" => {
                pattern = tag
                    .attribute("patternType")
                    .unwrap_or_default()
                    .into_owned();
            }
            "fgColor" => front = Some(palette.colour(&tag)),
            "bgColor" => back = Some(palette.colour(&tag)),
            "gradientFill" => stops = Some(Colours::none()),
            "color" => {
                if let Some(stops) = &mut stops {
                    stops.add_all(&palette.colour(&tag));
                }
            }
            _ => {}
        }
        open += 1;
    }
    if let Some(stops) = stops {
        let is_empty = stops.known().next().is_none();
        return Ok(Some(if is_empty { Colours::any() } else { stops }));
    }
    let is_format = used == FillUse::Format;
    Ok(match pattern.as_str() {
        "none" => None,
        "" if is_format => back.or(front),
        "" => None,
        "solid" if is_format => Some(back.or(front).unwrap_or_else(Colours::any)),
        "solid" => Some(front.unwrap_or_else(Colours::any)),
        // Dots and lines of one colour on another.
        _ => {
            let mut both = front.unwrap_or_else(|| Colours::one(BLACK));
            both.add_all(&back.unwrap_or_else(|| Colours::one(WHITE)));
            Some(both)
        }
    })
}

/// A cell that paints nothing lies on white.
pub(super) fn background_of(fill: Option<&Colours>) -> Colours {
    fill.cloned().unwrap_or_else(|| Colours::one(WHITE))
}

/// What a cell's style comes to.
#[derive(Clone, Default, Debug)]
pub(super) struct CellStyle {
    pub(super) font: Font,
    pub(super) fill: Option<Colours>,
    pub(super) code: Option<String>,
    /// Shifted far into the cell, or not known at all.
    pub(super) place: Verdict,
}

#[derive(Default)]
struct CellFormat {
    font: usize,
    fill: usize,
    code: usize,
    place: Verdict,
}

#[derive(Default)]
pub(super) struct Styles {
    pub(super) palette: Palette,
    fonts: Vec<Font>,
    fills: Vec<Option<Colours>>,
    codes: HashMap<usize, String>,
    cells: Vec<CellFormat>,
    pub(super) formats: Vec<DifferentialFormat>,
    /// Styles of tables that the workbook brings along.
    pub(super) own_tables: HashSet<String>,
}

impl Styles {
    pub(super) fn read(text: &str, theme: Theme) -> Result<Self, ExtractFault> {
        let mut styles = Self::default();
        styles.palette.theme = theme;
        // Fonts come before the colours that their numbers stand for.
        let mut xml = Xml::new(text);
        let mut in_own = false;
        while let Some(node) = xml.next()? {
            match node {
                Node::Open(tag) if tag.name() == "indexedColors" => in_own = true,
                Node::Open(tag) if in_own && tag.name() == "rgbColor" => {
                    let rgb = tag.attribute("rgb").and_then(|rgb| Rgb::parse(&rgb));
                    if styles.palette.own.len() < 64 {
                        styles.palette.own.push(rgb.unwrap_or(BLACK));
                    }
                }
                Node::Close(name) if name == "indexedColors" => in_own = false,
                _ => {}
            }
        }
        styles.read_all(text)?;
        Ok(styles)
    }

    fn read_all(&mut self, text: &str) -> Result<(), ExtractFault> {
        let mut xml = Xml::new(text);
        let mut in_cells = false;
        while let Some(node) = xml.next()? {
            let tag = match node {
                Node::Open(tag) => tag,
                Node::Close(name) => {
                    if name == "cellXfs" {
                        in_cells = false;
                    }
                    continue;
                }
                Node::Text(_) => continue,
            };
            match tag.name() {
                "numFmt" => {
                    if let (Some(id), Some(code)) =
                        (tag.number("numFmtId"), tag.attribute("formatCode"))
                        && self.codes.len() < MAX_STYLES
                    {
                        self.codes.insert(id, code.into_owned());
                    }
                }
                "font" if self.fonts.len() < MAX_STYLES => {
                    self.fonts.push(read_font(&mut xml, &self.palette)?);
                }
                "fill" if self.fills.len() < MAX_STYLES => {
                    self.fills
                        .push(read_fill(&mut xml, &self.palette, FillUse::Cell)?);
                }
                "dxf" if self.formats.len() < MAX_STYLES => {
                    self.formats
                        .push(DifferentialFormat::read(&mut xml, &self.palette)?);
                }
                "cellXfs" => in_cells = true,
                "xf" if in_cells && self.cells.len() < MAX_STYLES => {
                    let number = |name: &str| tag.number(name).unwrap_or(0);
                    self.cells.push(CellFormat {
                        font: number("fontId"),
                        fill: number("fillId"),
                        code: number("numFmtId"),
                        place: Verdict::Visible,
                    });
                }
                "alignment" if in_cells => {
                    if tag.number("indent").is_some_and(|indent| indent > 30)
                        && let Some(cell) = self.cells.last_mut()
                    {
                        cell.place = Verdict::Uncertain(HidingReason::Clipped);
                    }
                }
                "tableStyle" => {
                    let name = tag.attribute("name").unwrap_or_default();
                    self.own_tables.insert(name.into_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn cell(&self, number: Option<usize>) -> CellStyle {
        if self.cells.is_empty() && number.unwrap_or(0) == 0 {
            return CellStyle::default();
        }
        let Some(format) = self.cells.get(number.unwrap_or(0)) else {
            return CellStyle {
                place: Verdict::Uncertain(HidingReason::NotUnderstood),
                ..CellStyle::default()
            };
        };
        let font = self.fonts.get(format.font).cloned();
        let fill = self.fills.get(format.fill).cloned();
        // A workbook that lists none leaves all of them to the program.
        let is_known =
            (font.is_some() || self.fonts.is_empty()) && (fill.is_some() || self.fills.is_empty());
        CellStyle {
            font: font.unwrap_or_default(),
            fill: fill.unwrap_or_default(),
            code: self.codes.get(&format.code).cloned(),
            place: match is_known {
                true => format.place,
                false => Verdict::Uncertain(HidingReason::NotUnderstood),
            },
        }
    }
}

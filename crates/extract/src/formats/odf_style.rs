//! The styles of OpenDocument files, as far as they say whether text is seen (OpenDocument 1.3 part
//! 3, chapters 16 to 20).

use std::collections::{HashMap, HashSet};

use mail::HidingReason;

use super::colour::{Colours, Rgb, WHITE};
use super::drawing::{Area, EMU_PER_POINT, Fill, Paint};
use super::verdict::Verdict;
use super::xml::Tag;

const MAX_STYLES: usize = 20_000;
/// Styles with parents with parents.
const MAX_CHAIN: usize = 20;
/// Points: text further than this from its place may leave the page.
const FAR: f64 = 144.0;

#[derive(Clone, Copy, PartialEq, Debug)]
enum FontSize {
    Points(f32),
    /// Of what is around.
    Share(f32),
}

/// What one style says; nothing said leaves it to what is around.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct TextFormat {
    /// Hidden, shown, or under a condition.
    hidden: Option<Verdict>,
    /// None inside is automatic: black or white, whichever shows.
    ink: Option<Option<Colours>>,
    opacity: Option<f32>,
    size: Option<FontSize>,
    scale: Option<f32>,
    raised: Option<Verdict>,
    spacing: Option<Verdict>,
    line: Option<Verdict>,
    indent: Option<Verdict>,
    /// Behind the letters alone.
    lit: Option<Fill>,
    /// Of a row or a column.
    pub(super) room: Option<Verdict>,
    /// Of the element that the style belongs to; it is not handed down.
    pub(super) fill: Option<Fill>,
    pub(super) data_style: Option<String>,
}

impl TextFormat {
    pub(super) fn over(self, under: &Self) -> Self {
        let size = match (self.size, under.size) {
            (Some(FontSize::Share(share)), Some(FontSize::Points(points))) => {
                Some(FontSize::Points(points * share))
            }
            (Some(FontSize::Share(share)), Some(FontSize::Share(other))) => {
                Some(FontSize::Share(share * other))
            }
            (own, other) => own.or(other),
        };
        Self {
            hidden: self.hidden.or(under.hidden),
            ink: self.ink.or_else(|| under.ink.clone()),
            opacity: self.opacity.or(under.opacity),
            size,
            scale: self.scale.or(under.scale),
            raised: self.raised.or(under.raised),
            spacing: self.spacing.or(under.spacing),
            line: self.line.or(under.line),
            indent: self.indent.or(under.indent),
            lit: self.lit.or_else(|| under.lit.clone()),
            room: self.room.or(under.room),
            fill: self.fill.or_else(|| under.fill.clone()),
            data_style: self.data_style.or_else(|| under.data_style.clone()),
        }
    }

    /// What is handed down to text inside: nothing of the box itself, and no hiding, which would be
    /// taken back inside.
    pub(super) fn of_text(&self) -> Self {
        Self {
            hidden: None,
            room: None,
            fill: None,
            data_style: None,
            ..self.clone()
        }
    }

    pub(super) fn hidden(&self) -> Verdict {
        self.hidden.unwrap_or_default()
    }

    /// Text of this look on a background of one of these colours.
    pub(super) fn verdict_on(&self, behind: &Colours) -> Verdict {
        let points = match self.size {
            Some(FontSize::Points(points)) => points,
            Some(FontSize::Share(share)) => 12.0 * share,
            None => 12.0,
        };
        let mut verdict = self.hidden().and(Verdict::of_size(points));
        verdict = verdict.and(match self.scale {
            Some(share) if share <= 0.05 => Verdict::Hidden(HidingReason::ZeroSize),
            Some(share) if share < 0.33 => Verdict::Uncertain(HidingReason::ZeroSize),
            _ => Verdict::Visible,
        });
        let places = [self.raised, self.spacing, self.line, self.indent];
        for place in places.into_iter().flatten() {
            verdict = verdict.and(place);
        }
        verdict = verdict.and(match self.opacity {
            Some(share) if share < 0.1 => Verdict::Hidden(HidingReason::Transparent),
            Some(share) if share < 0.6 => Verdict::Uncertain(HidingReason::Transparent),
            _ => Verdict::Visible,
        });
        let lit = self.lit.as_ref().unwrap_or(&Fill::Unset);
        match &self.ink {
            Some(Some(colours)) => verdict.and(Verdict::of_colours(colours, &lit.on(behind))),
            Some(None) | None => verdict,
        }
    }
}

#[derive(Clone, Default, Debug)]
struct OdfStyle {
    look: TextFormat,
    parent: Option<String>,
    /// Styles that take its place under a condition.
    sometimes: Vec<String>,
}

/// A format of values.
#[derive(Clone, Copy, Default, Debug)]
struct DataStyle {
    shows: bool,
    is_conditional: bool,
}

#[derive(Default)]
pub(super) struct Styles {
    /// By family and name.
    named: HashMap<String, OdfStyle>,
    open: Option<String>,
    data: HashMap<String, DataStyle>,
    open_data: Option<String>,
    /// Pages of text documents that are not white.
    pages: Vec<Colours>,
    /// Width and height in points.
    page_size: Option<(f64, f64)>,
    hidden_layers: HashSet<String>,
    masters: HashMap<String, Master>,
    open_master: Option<String>,
}

/// What lies behind the slides of one kind.
#[derive(Clone, Default)]
struct Master {
    style: String,
    /// Shapes of its own may lie behind the text.
    has_shapes: bool,
}

impl Styles {
    pub(super) fn begin(&mut self, tag: &Tag<'_>) {
        let text = |name: &str| tag.attribute(name).unwrap_or_default();
        let name = match tag.name() {
            "default-style" => DEFAULT.to_owned(),
            _ => text("name").into_owned(),
        };
        let key = key(&text("family"), &name);
        let style = OdfStyle {
            look: TextFormat {
                data_style: tag
                    .attribute("data-style-name")
                    .map(|name| name.into_owned()),
                ..TextFormat::default()
            },
            parent: tag
                .attribute("parent-style-name")
                .map(|name| name.into_owned()),
            sometimes: Vec::new(),
        };
        if self.named.len() < MAX_STYLES {
            self.named.insert(key.clone(), style);
            self.open = Some(key);
        }
    }

    pub(super) fn end(&mut self) {
        self.open = None;
    }

    /// A `map` inside of a style, or of a format.
    pub(super) fn map(&mut self, tag: &Tag<'_>) {
        if let Some(style) = self.open.as_ref().and_then(|key| self.named.get_mut(key)) {
            let target = tag.attribute("apply-style-name");
            style.sometimes.extend(target.map(|name| name.into_owned()));
        } else if let Some(data) = self.open_data.as_ref().and_then(|at| self.data.get_mut(at)) {
            data.is_conditional = true;
        }
    }

    pub(super) fn begin_data(&mut self, tag: &Tag<'_>) {
        let name = tag.attribute("name").unwrap_or_default().into_owned();
        if self.data.len() < MAX_STYLES {
            self.data.insert(name.clone(), DataStyle::default());
            self.open_data = Some(name);
        }
    }

    /// An element inside of a format: all but fixed text show the value.
    pub(super) fn data_part(&mut self, name: &str) {
        let open = self.open_data.as_ref().and_then(|at| self.data.get_mut(at));
        if let Some(data) = open
            && !matches!(name, "text" | "fill-character" | "map" | "text-properties")
        {
            data.shows = true;
        }
    }

    pub(super) fn end_data(&mut self) {
        self.open_data = None;
    }

    pub(super) fn is_data(&self) -> bool {
        self.open_data.is_some()
    }

    pub(super) fn layer(&mut self, tag: &Tag<'_>) {
        if tag.is("display", "none") || tag.is("display", "printer") {
            let name = tag.attribute("name").unwrap_or_default();
            self.hidden_layers.insert(name.into_owned());
        }
    }

    pub(super) fn is_hidden_layer(&self, name: &str) -> bool {
        self.hidden_layers.contains(name)
    }

    pub(super) fn begin_master(&mut self, tag: &Tag<'_>) {
        let text = |name: &str| tag.attribute(name).unwrap_or_default().into_owned();
        self.open_master = Some(text("name"));
        let master = Master {
            style: text("style-name"),
            has_shapes: false,
        };
        self.masters.insert(text("name"), master);
    }

    pub(super) fn end_master(&mut self) {
        self.open_master = None;
    }

    /// A shape that no slide puts its own text into.
    pub(super) fn master_shape(&mut self) {
        let open = self.open_master.as_ref();
        if let Some(master) = open.and_then(|name| self.masters.get_mut(name)) {
            master.has_shapes = true;
        }
    }

    /// Properties of the style that is open.
    pub(super) fn property(&mut self, tag: &Tag<'_>) {
        let back = tag.attribute("background-color").map(|value| fill(&value));
        if tag.name() == "page-layout-properties" {
            if let Some(Fill::Paint(paint)) = &back {
                self.pages.push(paint.colours.clone());
            }
            let side = |name: &str| tag.attribute(name).and_then(|text| length(&text));
            if let Some(size) = side("page-width").zip(side("page-height")) {
                self.page_size = Some(size);
            }
        }
        let Some(style) = self.open.as_ref().and_then(|key| self.named.get_mut(key)) else {
            return;
        };
        let look = &mut style.look;
        match tag.name() {
            "text-properties" => {
                text_properties(look, tag);
                look.lit = back.or(look.lit.take());
            }
            "paragraph-properties" => {
                let line = tag.attribute("line-height");
                look.line = line
                    .and_then(|text| length(&text))
                    .map(of_height)
                    .or(look.line);
                let far = ["margin-left", "margin-right", "text-indent"]
                    .iter()
                    .filter_map(|name| length(&tag.attribute(name)?))
                    .any(|by| !(-FAR..=3.0 * FAR).contains(&by));
                if far {
                    look.indent = Some(Verdict::Uncertain(HidingReason::OffPage));
                }
                look.fill = back.or(look.fill.take());
            }
            "table-properties" => {
                if tag.is("display", "false") {
                    look.hidden = Some(Verdict::Hidden(HidingReason::Marked));
                }
                look.fill = back.or(look.fill.take());
            }
            "drawing-page-properties" => {
                if tag.is("visibility", "hidden") {
                    look.hidden = Some(Verdict::Hidden(HidingReason::Marked));
                }
                look.fill = drawn(tag).or(look.fill.take());
            }
            "section-properties" => {
                if tag.is("display", "none") {
                    look.hidden = Some(Verdict::Hidden(HidingReason::Marked));
                }
                look.fill = back.or(look.fill.take());
            }
            "table-row-properties" => {
                let optimal = tag.is("use-optimal-row-height", "true");
                let height = tag.attribute("row-height").and_then(|text| length(&text));
                look.room = height.filter(|_| !optimal).map(of_height);
                look.fill = back.or(look.fill.take());
            }
            "table-column-properties" => {
                let width = tag.attribute("column-width").and_then(|text| length(&text));
                look.room = width.map(|points| match points {
                    ..=1.0 => Verdict::Hidden(HidingReason::ZeroSize),
                    ..5.0 => Verdict::Uncertain(HidingReason::ZeroSize),
                    _ => Verdict::Visible,
                });
            }
            "table-cell-properties" => look.fill = back.or(look.fill.take()),
            "graphic-properties" => look.fill = drawn(tag).or(back).or(look.fill.take()),
            _ => {}
        }
    }

    pub(super) fn look(&self, family: &str, name: &str) -> TextFormat {
        let mut look = TextFormat::default();
        let mut next = self.named.get(&key(family, name));
        for _ in 0..MAX_CHAIN {
            let Some(style) = next else { break };
            look = look.over(&style.look);
            next = style
                .parent
                .as_ref()
                .and_then(|name| self.named.get(&key(family, name)));
        }
        look
    }

    /// What holds where no style says anything.
    pub(super) fn usual(&self, family: &str) -> TextFormat {
        self.look(family, DEFAULT)
    }

    /// The looks that may take the place of a style's.
    pub(super) fn sometimes(&self, family: &str, name: &str) -> Vec<TextFormat> {
        let style = self.named.get(&key(family, name));
        let names = style
            .map(|style| style.sometimes.as_slice())
            .unwrap_or_default();
        names.iter().map(|name| self.look(family, name)).collect()
    }

    /// Whether a format of this name shows what a cell holds.
    pub(super) fn data_sight(&self, name: &str) -> Verdict {
        match self.data.get(name) {
            // It may be one for values of another kind than the cell's.
            Some(data) if !data.shows || data.is_conditional && !self.all_data_shows() => {
                Verdict::Uncertain(HidingReason::NumberFormat)
            }
            _ => Verdict::Visible,
        }
    }

    fn all_data_shows(&self) -> bool {
        self.data.values().all(|data| data.shows)
    }

    /// What may lie behind text where nothing else does.
    pub(super) fn page(&self) -> Colours {
        let mut page = Colours::one(WHITE);
        self.pages.iter().for_each(|colours| page.add_all(colours));
        page
    }

    /// What lies behind the shapes of a slide.
    pub(super) fn slide(&self, own: &TextFormat, master: &str) -> Colours {
        let white = Colours::one(WHITE);
        let master = self.masters.get(master);
        let of_master = master.map(|master| self.look("drawing-page", &master.style));
        let fill = own
            .fill
            .clone()
            .or_else(|| of_master.and_then(|look| look.fill));
        let mut behind = fill.unwrap_or_default().on(&white);
        if master.is_some_and(|master| master.has_shapes) {
            behind.add_all(&Colours::any());
        }
        behind
    }

    /// Whether a shape of the element's place and size is seen.
    pub(super) fn place(&self, tag: &Tag<'_>, on_slide: bool) -> Verdict {
        let side = |name: &str| tag.attribute(name).and_then(|text| length(&text));
        let (x, y) = (side("x"), side("y"));
        let (width, height) = (side("width"), side("height"));
        if tag.attribute("transform").is_some() {
            return Verdict::Uncertain(HidingReason::NotUnderstood);
        }
        let small = [width, height].into_iter().flatten().any(|side| side < 2.0);
        if small {
            return Verdict::Uncertain(HidingReason::ZeroSize);
        }
        if let (true, Some(page), Some(x), Some(y)) = (on_slide, self.page_size, x, y) {
            let area = Area {
                x: x * EMU_PER_POINT,
                y: y * EMU_PER_POINT,
                width: width.unwrap_or(FAR) * EMU_PER_POINT,
                height: height.unwrap_or(FAR) * EMU_PER_POINT,
            };
            return area.verdict_on_page(page.0 * EMU_PER_POINT, page.1 * EMU_PER_POINT);
        }
        let mut verdict = Verdict::Visible;
        for by in [x, y].into_iter().flatten() {
            verdict = verdict.and(match by {
                ..-1_584.0 | 1_584.0.. => Verdict::Hidden(HidingReason::OffPage),
                ..-36.0 | 792.0.. => Verdict::Uncertain(HidingReason::OffPage),
                _ => Verdict::Visible,
            });
        }
        verdict
    }
}

const DEFAULT: &str = "\u{0}default";

fn text_properties(look: &mut TextFormat, tag: &Tag<'_>) {
    if let Some(display) = tag.attribute("display") {
        look.hidden = Some(match &*display {
            "none" => Verdict::Hidden(HidingReason::Marked),
            "condition" => Verdict::Uncertain(HidingReason::Conditional),
            _ => Verdict::Visible,
        });
    }
    if let Some(color) = tag.attribute("color") {
        let colour = Rgb::parse(&color).or_else(|| Rgb::named(&color));
        look.ink = Some(Some(colour.map_or_else(Colours::any, Colours::one)));
    }
    if tag.is("use-window-font-color", "true") {
        look.ink = Some(None);
    }
    let share = |name: &str| tag.attribute(name).and_then(|text| percent(&text));
    look.opacity = share("opacity").or(look.opacity);
    look.scale = share("text-scale").or(look.scale);
    if let Some(size) = tag.attribute("font-size") {
        let points = || length(&size).map(|points| FontSize::Points(points as f32));
        look.size = Some(
            percent(&size)
                .map(FontSize::Share)
                .or_else(points)
                .unwrap_or(FontSize::Points(0.0)),
        );
    }
    if let Some(position) = tag.attribute("text-position") {
        let mut words = position.split_whitespace();
        let far = words
            .next()
            .and_then(percent)
            .is_some_and(|share| share.abs() > 1.01);
        let small = words.next().and_then(percent).unwrap_or(0.58);
        look.raised = Some(if far {
            Verdict::Uncertain(HidingReason::OffPage)
        } else if small < 0.15 {
            Verdict::Hidden(HidingReason::TinyFont)
        } else if small < 0.35 {
            Verdict::Uncertain(HidingReason::TinyFont)
        } else {
            Verdict::Visible
        });
    }
    if let Some(spacing) = tag.attribute("letter-spacing") {
        look.spacing = Some(match length(&spacing) {
            Some(points) if points < -2.0 => Verdict::Uncertain(HidingReason::ZeroSize),
            _ => Verdict::Visible,
        });
    }
}

fn of_height(points: f64) -> Verdict {
    match points {
        ..=1.0 => Verdict::Hidden(HidingReason::ZeroSize),
        ..4.0 => Verdict::Uncertain(HidingReason::Clipped),
        _ => Verdict::Visible,
    }
}

fn fill(value: &str) -> Fill {
    if value.eq_ignore_ascii_case("transparent") {
        return Fill::Nothing;
    }
    let colour = Rgb::parse(value).or_else(|| Rgb::named(value));
    Fill::Paint(Paint::opaque(
        colour.map_or_else(Colours::any, Colours::one),
    ))
}

/// What a shape or a slide is filled with.
fn drawn(tag: &Tag<'_>) -> Option<Fill> {
    let kind = tag.attribute("fill");
    let colour = || tag.attribute("fill-color").map(|value| fill(&value));
    let alpha = tag.attribute("opacity").and_then(|text| percent(&text));
    match kind.as_deref() {
        None => colour(),
        Some("none") => Some(Fill::Nothing),
        Some("solid") => {
            let fill = colour().unwrap_or(Fill::Paint(Paint::any()));
            Some(match (fill, alpha) {
                (Fill::Paint(paint), Some(alpha)) => Fill::Paint(Paint { alpha, ..paint }),
                (fill, _) => fill,
            })
        }
        Some(_) => Some(Fill::Paint(Paint::any())),
    }
}

/// In points.
fn length(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let number: f64 = digits.parse().ok()?;
    let unit = match text.get(digits.len()..)? {
        "cm" => 72.0 / 2.54,
        "mm" => 7.2 / 2.54,
        "in" => 72.0,
        "pc" => 12.0,
        "px" => 0.75,
        "pt" => 1.0,
        _ => return None,
    };
    Some(number * unit)
}

fn percent(text: &str) -> Option<f32> {
    let number: f32 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    Some(number / 100.0)
}

fn key(family: &str, name: &str) -> String {
    format!("{family} {name}")
}

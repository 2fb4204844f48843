//! What slides, their layouts and their masters say of the look of text (ECMA-376 part 1, chapters
//! 19 and 21).

use mail::{ExtractFault, HidingReason};

use super::colour::{BLACK, Colours, WHITE};
use super::drawing::{self, Area, Fill, Paint, ShapeProperties, Theme, signed};
use super::verdict::Verdict;
use super::xml::{Node, Tag, Xml};

const MAX_ITEMS: usize = 5_000;
const MAX_CELLS: usize = 20_000;
const LEVELS: usize = 9;
/// The share of a text's box that may lie under another shape.
const MAX_COVERED: f64 = 0.05;

/// What one set of properties says of letters.
#[derive(Clone, Debug, Default)]
pub(super) struct TextLook {
    fill: Option<Fill>,
    points: Option<f32>,
    highlight: Option<Paint>,
    has_outline: bool,
    is_link: bool,
}

impl TextLook {
    /// From an opened `rPr` or `defRPr` to that element's end.
    pub(super) fn read(
        tag: &Tag<'_>,
        xml: &mut Xml<'_>,
        theme: &Theme,
    ) -> Result<Self, ExtractFault> {
        let mut look = Self {
            points: tag
                .attribute("sz")
                .map(|size| size.trim().parse().map_or(0.0, |size: f32| size / 100.0)),
            ..Self::default()
        };
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
                name if drawing::is_fill(name) => {
                    look.fill = Some(drawing::fill(xml, name, theme)?)
                }
                "highlight" => look.highlight = Some(drawing::paint(xml, theme)?),
                "ln" => {
                    look.has_outline = true;
                    xml.skip()?;
                }
                "hlinkClick" => {
                    look.is_link = true;
                    xml.skip()?;
                }
                "effectLst" | "extLst" => xml.skip()?,
                _ => open += 1,
            }
        }
        Ok(look)
    }

    fn over(self, under: &Self) -> Self {
        Self {
            fill: self.fill.or_else(|| under.fill.clone()),
            points: self.points.or(under.points),
            highlight: self.highlight.or_else(|| under.highlight.clone()),
            has_outline: self.has_outline || under.has_outline,
            is_link: self.is_link,
        }
    }
}

/// The looks of the levels of a list; all text has a level.
pub(super) type Levels = Vec<TextLook>;

/// From an opened `lstStyle`, `titleStyle` and the like to that element's end.
pub(super) fn read_levels(xml: &mut Xml<'_>, theme: &Theme) -> Result<Levels, ExtractFault> {
    let mut levels = vec![TextLook::default(); LEVELS];
    let mut level = None;
    let mut usual: Option<TextLook> = None;
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
            "defPPr" => level = None,
            "defRPr" => {
                let look = TextLook::read(&tag, xml, theme)?;
                match level.and_then(|at: usize| levels.get_mut(at)) {
                    Some(of_level) => *of_level = look,
                    None => usual = Some(look),
                }
                continue;
            }
            name => {
                let digit = name
                    .strip_prefix("lvl")
                    .and_then(|rest| rest.strip_suffix("pPr"))
                    .and_then(|digit| digit.parse::<usize>().ok());
                level = digit.and_then(|digit| digit.checked_sub(1)).or(level);
            }
        }
        open += 1;
    }
    if let Some(usual) = usual {
        for look in &mut levels {
            *look = std::mem::take(look).over(&usual);
        }
    }
    Ok(levels)
}

/// A shape, a picture, a table or a line, in the order in which they are drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct SlideShape {
    properties: ShapeProperties,
    /// What is drawn is not known: a picture, a chart, a film.
    is_picture: bool,
    placeholder: Option<Placeholder>,
    levels: Levels,
    font: Option<Paint>,
    /// Letters are made smaller to fit.
    scale: f32,
    is_hidden: bool,
    /// Text beyond the edges of its box is cut off.
    is_clipped: bool,
    /// The fill of its style, which a fill of its own stands over.
    style_fill: Option<Paint>,
    has_tables: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Placeholder {
    kind: String,
    number: String,
}

impl Placeholder {
    fn is_title(&self) -> bool {
        matches!(self.kind.as_str(), "title" | "ctrTitle")
    }

    fn is_like(&self, other: &Self) -> bool {
        let body = |kind: &str| matches!(kind, "" | "body" | "subTitle" | "obj");
        self.kind == other.kind
            || (self.is_title() && other.is_title())
            || (body(&self.kind) && body(&other.kind))
    }
}

/// A slide, a layout, a master or a page of notes.
#[derive(Debug, Default)]
pub(super) struct SlideLayer {
    background: Option<Fill>,
    pub(super) items: Vec<SlideShape>,
    /// Fills of table cells in their order.
    cells: Vec<SlideCell>,
    title: Levels,
    body: Levels,
    other: Levels,
    shows_master: bool,
    is_cut: bool,
}

#[derive(Clone, Debug, Default)]
struct SlideCell {
    fill: Fill,
    is_merged: bool,
}

/// Groups move and stretch what is in them.
#[derive(Clone, Copy)]
struct GroupTransform {
    x: f64,
    y: f64,
    scale_x: f64,
    scale_y: f64,
}

impl GroupTransform {
    const PAGE: Self = Self {
        x: 0.0,
        y: 0.0,
        scale_x: 1.0,
        scale_y: 1.0,
    };

    fn place(&self, area: Area) -> Area {
        Area {
            x: self.x + area.x * self.scale_x,
            y: self.y + area.y * self.scale_y,
            width: area.width * self.scale_x,
            height: area.height * self.scale_y,
        }
    }
}

pub(super) const SHAPES: [&str; 4] = ["sp", "graphicFrame", "pic", "cxnSp"];

impl SlideLayer {
    pub(super) fn read(text: &str, theme: &Theme) -> Result<Self, ExtractFault> {
        let mut sheet = Self {
            shows_master: true,
            ..Self::default()
        };
        let mut xml = Xml::new(text);
        let mut frames = vec![GroupTransform::PAGE];
        let mut open: Vec<usize> = Vec::new();
        while let Some(node) = xml.next()? {
            let tag = match node {
                Node::Open(tag) => tag,
                Node::Close(name) => {
                    match &*name {
                        "grpSp" if frames.len() > 1 => {
                            frames.pop();
                        }
                        name if SHAPES.contains(&name) => {
                            open.pop();
                        }
                        _ => {}
                    }
                    continue;
                }
                Node::Text(_) => continue,
            };
            let frame = frames.last().copied().unwrap_or(GroupTransform::PAGE);
            match tag.name() {
                "sld" | "sldLayout" => {
                    let off = ["0", "false"];
                    sheet.shows_master = !off.iter().any(|off| tag.is("showMasterSp", off));
                }
                "bgPr" => sheet.background = Some(background(&mut xml, theme)?),
                "bgRef" => {
                    let mut paint = drawing::paint(&mut xml, theme)?;
                    if !tag.is("idx", "1001") {
                        paint.colours.add_all(&Colours::any());
                    }
                    sheet.background = Some(Fill::Paint(paint));
                }
                "grpSp" => frames.push(frame),
                // The tree of a slide has such properties too, which move nothing.
                "grpSpPr" if frames.len() > 1 => {
                    let inner = group(&mut xml, frame)?;
                    if let Some(last) = frames.last_mut() {
                        *last = inner;
                    }
                }
                "Fallback" => xml.skip()?,
                "titleStyle" => sheet.title = read_levels(&mut xml, theme)?,
                "bodyStyle" => sheet.body = read_levels(&mut xml, theme)?,
                "otherStyle" | "defaultTextStyle" => sheet.other = read_levels(&mut xml, theme)?,
                name if SHAPES.contains(&name) => {
                    sheet.is_cut |= sheet.items.len() >= MAX_ITEMS;
                    if !sheet.is_cut {
                        sheet.items.push(SlideShape {
                            is_picture: matches!(name, "pic" | "graphicFrame"),
                            scale: 1.0,
                            ..SlideShape::default()
                        });
                    }
                    open.push(sheet.items.len().saturating_sub(1));
                }
                "tc" => {
                    if sheet.cells.len() < MAX_CELLS {
                        sheet.cells.push(SlideCell {
                            is_merged: tag.is("hMerge", "1") || tag.is("vMerge", "1"),
                            ..SlideCell::default()
                        });
                    }
                }
                "tcPr" => {
                    let found = drawing::shape_properties(&mut xml, theme)?;
                    if let Some(cell) = sheet.cells.last_mut() {
                        cell.fill = found.fill;
                    }
                }
                _ => {
                    if let Some(item) = open.last().and_then(|at| sheet.items.get_mut(*at)) {
                        item.read(&tag, &mut xml, theme, frame)?;
                    }
                }
            }
        }
        Ok(sheet)
    }

    fn like(&self, placeholder: &Placeholder) -> Option<&SlideShape> {
        let by_number = self.items.iter().find(|item| {
            let own = item.placeholder.as_ref();
            own.is_some_and(|own| !own.number.is_empty() && own.number == placeholder.number)
        });
        by_number.or_else(|| {
            self.items.iter().find(|item| {
                item.placeholder
                    .as_ref()
                    .is_some_and(|own| own.is_like(placeholder))
            })
        })
    }
}

impl SlideShape {
    fn read(
        &mut self,
        tag: &Tag<'_>,
        xml: &mut Xml<'_>,
        theme: &Theme,
        frame: GroupTransform,
    ) -> Result<(), ExtractFault> {
        match tag.name() {
            "cNvPr" => {
                self.is_hidden = tag.is("hidden", "1") || tag.is("hidden", "true");
            }
            "ph" => {
                let text = |name: &str| tag.attribute(name).unwrap_or_default().into_owned();
                self.placeholder = Some(Placeholder {
                    kind: text("type"),
                    number: text("idx"),
                });
            }
            "spPr" => {
                let found = drawing::shape_properties(xml, theme)?;
                self.properties = ShapeProperties {
                    area: found.area.map(|area| frame.place(area)),
                    ..found
                };
            }
            // Of a table or a chart.
            "xfrm" => {
                let found = drawing::shape_properties(xml, theme)?;
                self.properties.area = found.area.map(|area| frame.place(area));
            }
            "tbl" => {
                self.has_tables = true;
                self.is_picture = false;
            }
            "fillRef" => {
                let none = tag.is("idx", "0") || tag.is("idx", "1000");
                let paint = drawing::paint(xml, theme)?;
                self.style_fill = (!none).then_some(paint);
            }
            "fontRef" => self.font = Some(drawing::paint(xml, theme)?),
            "lstStyle" => self.levels = read_levels(xml, theme)?,
            "bodyPr" => {
                self.is_clipped = tag.is("vertOverflow", "clip") || tag.is("horzOverflow", "clip");
            }
            "normAutofit" => {
                let scale = tag.attribute("fontScale").map(|scale| {
                    let number = scale.trim_end_matches('%').parse::<f32>().unwrap_or(0.0);
                    match scale.ends_with('%') {
                        true => number / 100.0,
                        false => number / 100_000.0,
                    }
                });
                self.scale = scale.unwrap_or(1.0);
            }
            _ => {}
        }
        Ok(())
    }

    fn fill(&self) -> Fill {
        match (&self.properties.fill, &self.style_fill) {
            (Fill::Unset, Some(paint)) => Fill::Paint(paint.clone()),
            (own, _) => own.clone(),
        }
    }

    /// With room for it to be turned.
    fn area(&self) -> Option<Area> {
        let area = self.properties.area?;
        if !self.properties.is_turned {
            return Some(area);
        }
        let side = area.width.max(area.height);
        Some(Area {
            x: area.x + (area.width - side) / 2.0,
            y: area.y + (area.height - side) / 2.0,
            width: side,
            height: side,
        })
    }

    /// Whether what is drawn here hides what is behind.
    fn covers(&self) -> bool {
        !self.is_hidden && (self.is_picture || self.has_tables || self.fill().is_opaque())
    }
}

fn background(xml: &mut Xml<'_>, theme: &Theme) -> Result<Fill, ExtractFault> {
    Ok(drawing::shape_properties(xml, theme)?.fill)
}

/// From an opened `grpSpPr` to that element's end.
fn group(xml: &mut Xml<'_>, around: GroupTransform) -> Result<GroupTransform, ExtractFault> {
    let mut numbers = [None; 4];
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
        open += 1;
        let (at, names) = match tag.name() {
            "off" => (0, ["x", "y"]),
            "ext" => (1, ["cx", "cy"]),
            "chOff" => (2, ["x", "y"]),
            "chExt" => (3, ["cx", "cy"]),
            _ => continue,
        };
        let [first, second] = names.map(|name| signed(&tag, name));
        if let Some(place) = numbers.get_mut(at) {
            *place = first.zip(second);
        }
    }
    let [Some(offset), Some(extent), Some(inner), Some(size)] = numbers else {
        return Ok(around);
    };
    if size.0 <= 0.0 || size.1 <= 0.0 {
        return Ok(around);
    }
    let (scale_x, scale_y) = (extent.0 / size.0, extent.1 / size.1);
    Ok(GroupTransform {
        x: around.x + (offset.0 - inner.0 * scale_x) * around.scale_x,
        y: around.y + (offset.1 - inner.1 * scale_y) * around.scale_y,
        scale_x: around.scale_x * scale_x,
        scale_y: around.scale_y * scale_y,
    })
}

/// What is around the text of one slide.
pub(super) struct SlideContext<'a> {
    pub(super) slide: &'a SlideLayer,
    pub(super) layout: &'a SlideLayer,
    pub(super) master: &'a SlideLayer,
    /// The presentation's own: what text is like where nothing else is said.
    pub(super) usual: &'a Levels,
    pub(super) theme: &'a Theme,
    /// In EMU; nothing where pages have no edge that hides.
    pub(super) size: Option<(f64, f64)>,
}

impl SlideContext<'_> {
    /// Whether text of this look is seen in a shape of the slide, at a level, in a table's cell or
    /// not.
    pub(super) fn verdict(
        &self,
        shape: Option<usize>,
        cell: Option<usize>,
        level: usize,
        run: &TextLook,
    ) -> Verdict {
        let Some((number, item)) =
            shape.and_then(|number| Some((number, self.slide.items.get(number)?)))
        else {
            return match self.slide.is_cut {
                true => Verdict::Uncertain(HidingReason::NotUnderstood),
                false => Verdict::Visible,
            };
        };
        let of_layout = item
            .placeholder
            .as_ref()
            .and_then(|placeholder| self.layout.like(placeholder));
        let of_master = item
            .placeholder
            .as_ref()
            .and_then(|placeholder| self.master.like(placeholder));
        let inherited = [Some(item), of_layout, of_master];
        let area = inherited.iter().flatten().find_map(|item| item.area());
        let look = self.look(item, &inherited, level, run);
        let mut verdict = match look.points {
            Some(points) => Verdict::of_size(points * item.scale),
            None => Verdict::Visible,
        };
        if item.is_clipped && area.is_some_and(|area| area.height < 100_000.0) {
            verdict = verdict.and(Verdict::Uncertain(HidingReason::Clipped));
        }
        if let (Some(area), Some((width, height))) = (area, self.size) {
            verdict = verdict.and(area.verdict_on_page(width, height));
        }
        if let Some(area) = area {
            let covered = self.slide.items.iter().skip(number + 1).any(|later| {
                let over = later.covers().then(|| later.area()).flatten();
                over.is_some_and(|over| shared(&area, &over) > MAX_COVERED)
            });
            if covered {
                verdict = verdict.and(Verdict::Uncertain(HidingReason::Covered));
            }
        }
        let mut behind = self.behind(number, area);
        for item in inherited.iter().flatten() {
            let fill = item.fill();
            if fill != Fill::Unset {
                behind = fill.on(&behind);
                break;
            }
        }
        let cell = cell.and_then(|cell| self.slide.cells.get(cell));
        if let Some(cell) = cell {
            if cell.is_merged {
                verdict = verdict.and(Verdict::Uncertain(HidingReason::Covered));
            }
            match &cell.fill {
                // The table's style colours both, and is made to be read.
                Fill::Unset if look.fill.is_none() || run.fill.is_none() => return verdict,
                Fill::Unset => behind.add_all(&Colours::any()),
                fill => behind = fill.on(&behind),
            }
        }
        if let Some(highlight) = &look.highlight {
            behind = Fill::Paint(highlight.clone()).on(&behind);
        }
        verdict.and(self.verdict_of_ink(&look, &behind))
    }

    fn look(
        &self,
        item: &SlideShape,
        inherited: &[Option<&SlideShape>; 3],
        level: usize,
        run: &TextLook,
    ) -> TextLook {
        let at = |levels: &Levels| levels.get(level).or_else(|| levels.first()).cloned();
        let mut look = run.clone();
        let kind = match &item.placeholder {
            Some(placeholder) if placeholder.is_title() => &self.master.title,
            Some(placeholder)
                if matches!(
                    placeholder.kind.as_str(),
                    "" | "body" | "subTitle" | "obj" | "tbl" | "chart" | "pic"
                ) =>
            {
                &self.master.body
            }
            _ => &self.master.other,
        };
        if let Some(own) = at(&item.levels) {
            look = look.over(&own);
        }
        if let Some(font) = &item.font {
            look = look.over(&TextLook {
                fill: Some(Fill::Paint(font.clone())),
                ..TextLook::default()
            });
        }
        let of_sheets = inherited.iter().skip(1).flatten().map(|item| &item.levels);
        for levels in of_sheets.chain([kind, self.usual]) {
            if let Some(under) = at(levels) {
                look = look.over(&under);
            }
        }
        look
    }

    fn verdict_of_ink(&self, look: &TextLook, behind: &Colours) -> Verdict {
        let mut verdict = match &look.fill {
            Some(Fill::Paint(paint)) => paint.verdict_on(behind),
            Some(Fill::Nothing) => Verdict::Hidden(HidingReason::Transparent),
            Some(Fill::Unset) | None => Verdict::of_colours(&self.theme.colour("tx1"), behind),
        };
        if look.has_outline || look.is_link {
            // Letters may show by their outline, and links by the theme's colour of links.
            verdict = verdict.doubted();
        }
        verdict
    }

    /// The colours that may lie behind a shape of the slide.
    fn behind(&self, number: usize, area: Option<Area>) -> Colours {
        let mut behind = Colours::one(WHITE);
        let backgrounds = [self.slide, self.layout, self.master];
        let found = backgrounds
            .iter()
            .find_map(|sheet| sheet.background.as_ref());
        if let Some(fill) = found {
            behind = fill.on(&behind);
        }
        let of_layout = self.slide.shows_master.then_some(self.layout);
        let of_master = of_layout
            .filter(|layout| layout.shows_master)
            .map(|_| self.master);
        let fixed = of_master
            .into_iter()
            .chain(of_layout)
            .flat_map(|sheet| sheet.items.iter().filter(|item| item.placeholder.is_none()));
        let own = self.slide.items.iter().take(number);
        for item in fixed.chain(own).filter(|item| !item.is_hidden) {
            let (Some(area), Some(other)) = (area, item.area()) else {
                continue;
            };
            if !area.touches(&other) {
                continue;
            }
            let painted = match item.is_picture || item.has_tables {
                true => Colours::any(),
                false => match item.fill() {
                    Fill::Unset | Fill::Nothing => continue,
                    fill => fill.on(&behind),
                },
            };
            if shared(&area, &other) > 0.999 && !item.is_picture && !item.properties.is_turned {
                behind = painted;
            } else {
                behind.add_all(&painted);
            }
        }
        behind
    }
}

/// The share of an area that lies in another.
fn shared(area: &Area, other: &Area) -> f64 {
    let width = (area.x + area.width).min(other.x + other.width) - area.x.max(other.x);
    let height = (area.y + area.height).min(other.y + other.height) - area.y.max(other.y);
    let whole = area.width * area.height;
    if width <= 0.0 || height <= 0.0 || whole <= 0.0 {
        return 0.0;
    }
    width * height / whole
}

/// Where nothing is known of the pages: white ones, without an edge.
pub(super) fn plain_text() -> Levels {
    vec![TextLook {
        fill: Some(Fill::Paint(Paint::opaque(Colours::one(BLACK)))),
        ..TextLook::default()
    }]
}

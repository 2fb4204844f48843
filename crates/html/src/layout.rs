//! Bounds on box sizes, computed without layout, and whether boxes may cover other text.
//!
//! INVARIANT: sizes are bounds from above. Text that is taken to fit into a box does so in every
//! window and font.

use std::rc::Rc;

use html5ever::local_name;

use crate::cascade::Cascade;
use crate::dom::{DOCUMENT, Data, Dom, Element, NodeId};
use crate::elements::{self, Rendering};
use crate::properties::{Longhand as L, Reach};
use crate::style::{Display, Position, PossibleValues, Style, Value};
use crate::truth::Truth;
use crate::verdict::Reason;

/// Offsets that keep a box on its own background.
const MAX_HARMLESS_OFFSET_PX: f32 = 5.0;
/// Paddings of words in a line that leave something of the line above.
const MAX_INLINE_PADDING_PX: f32 = 14.0;
/// A part of the font size: a box that reaches farther may cover a line of text.
const MAX_COVERED_SHARE: f32 = 0.6;
/// Letters that stand out of their line by more may cover other text with their strokes.
const MAX_LETTER_OVERLAP_PX: f32 = 30.0;
/// Height of the letters of a line in parts of the font size, from above.
const LETTER_HEIGHT: f32 = 1.2;
/// The narrowest window.
pub(crate) const MIN_WINDOW_WIDTH_PX: f32 = 800.0;
const MAX_WINDOW_WIDTH_PX: f32 = 1400.0;
/// Offsets that keep text at its place.
pub(crate) const MAX_SMALL_OFFSET_PX: f32 = 20.0;
/// Space that may push text out of its box or window.
const MAX_SPACING_PX: f32 = 400.0;
/// A taller box pushes later content out of the window.
const MAX_BOX_HEIGHT_PX: f32 = 1_000.0;
/// Smaller fonts may not be readable.
pub(crate) const MIN_READABLE_FONT_PX: f32 = 5.0;
/// Properties that are not computed and that paint.
const PAINTING: [&str; 4] = [
    "backdrop-filter",
    "-webkit-box-reflect",
    "border-image",
    "border-image-source",
];
/// Widths of letters in parts of the font size, from above.
const ASCII_WIDTH: f32 = 1.0;
const OTHER_WIDTH: f32 = 1.1;
/// Of that, the width of a blank.
const BLANK_WIDTH: f32 = 0.6;
/// The part of a picture's width that counts as blank.
const PICTURE_BLANK_SHARE: f32 = 0.5;

/// An element that may be rendered, with its style.
pub(crate) struct BoxNode {
    pub style: Rc<Style>,
    pub rendering: Rendering,
    /// Why the text may not be where normal flow puts it.
    pub doubt: Option<Reason>,
    /// A rule for a part of the element that holds its text.
    pub styled_part: bool,
    /// It is never smaller than its content.
    pub keeps_content: bool,
    /// Its text may run from the right.
    pub is_rtl: bool,
    /// The box may be offset slightly from the background of its parent.
    pub shifted: bool,
    pub metrics: Metrics,
    /// A bound of the width of boxes that stand before it in its row.
    pub offset: f32,
    /// How far its left side pushes its text to the right, and by how much it is out of its place.
    pub indent: f32,
    pub moved: f32,
}

/// Bounds from above.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Metrics {
    /// Width that the widest unbreakable part needs.
    pub min_width: f32,
    /// Width of all text in one line.
    pub text_width: f32,
    /// Heights beside those of lines.
    pub fixed_height: f32,
    /// Lines ended by forced breaks.
    pub lines: f32,
    /// Height of the highest line.
    pub line: f32,
    /// Something in here is painted besides letters.
    pub paints: bool,
    /// The text itself, or the background of its line, fills the height of the letters.
    pub paints_text: bool,
    /// It holds boxes beside each other: heights are not known.
    pub complex: bool,
}

impl Metrics {
    /// Height that all of it needs in a box of this width.
    pub(crate) fn height_in(&self, width: f32) -> f32 {
        if self.complex {
            return f32::INFINITY;
        }
        let wrapped = self.text_width / width.max(1.0);
        self.fixed_height + (self.lines + wrapped.ceil() * 1.5) * self.line
    }
}

/// A page with the style of each element.
pub(crate) struct Page {
    boxes: Vec<Option<BoxNode>>,
    /// Why any text of the page may be invisible.
    pub doubt: Option<Reason>,
    /// Something is painted above normal flow: it may cover overflowing text.
    pub lifted_paint: bool,
    /// Something is painted besides letters.
    pub paints: bool,
    /// The sum of all negative margins, in pixels.
    pulled_up: f32,
    /// How far boxes that paint may reach over other text, in pixels.
    cover_reach: f32,
    /// The smallest font size of text that can be read.
    smallest_font: f32,
    /// Height of the empty lines and boxes since the last text.
    blank_height: f32,
    /// How many texts there are so far.
    texts: usize,
}

/// What stands in a line since the last place where it may break, in pixels.
#[derive(Clone, Copy, Default, Debug)]
struct UnbrokenRun {
    width: f32,
    /// The part of it that shows nothing.
    blank: f32,
}

struct StyleFrame {
    id: NodeId,
    style: Rc<Style>,
    next: Option<NodeId>,
    /// Nothing in here is rendered.
    gone: bool,
    metrics: Metrics,
    /// Width of boxes that stand beside each other.
    beside: f32,
    movement: Movement,
    /// Height of blank space, and count of texts, where it begins.
    blank_before: f32,
    texts_before: usize,
    is_picture: bool,
    run_before: UnbrokenRun,
}

/// What a style may do to the place of a box.
#[derive(Clone, Copy, Default, Debug)]
struct Movement {
    doubt: Option<Reason>,
    /// How far it may be painted over other text, in pixels.
    reach: f32,
    /// It may be a little beside its place.
    shifted: bool,
    /// By how much, in pixels.
    moved: f32,
}

impl Movement {
    fn doubt(&mut self, reason: Reason) {
        self.doubt = self.doubt.or(Some(reason));
    }
}

impl Page {
    pub(crate) fn new(dom: &Dom) -> Self {
        let mut cascade = Cascade::new(dom);
        let mut page = Self {
            boxes: Vec::new(),
            doubt: None,
            lifted_paint: false,
            paints: false,
            pulled_up: 0.0,
            cover_reach: 0.0,
            smallest_font: f32::INFINITY,
            blank_height: 0.0,
            texts: 0,
        };
        page.boxes.resize_with(dom.len(), || None);
        page.style_all(dom, &mut cascade);
        if page.cover_reach > MAX_COVERED_SHARE * page.smallest_font {
            page.doubt = Some(Reason::Covered);
        }
        if cascade.is_spent() || dom.is_partial() {
            page.doubt = Some(Reason::Budget);
        } else if cascade.has_unread_sheet() {
            page.doubt = Some(Reason::StyleSheet);
        } else if cascade.has_odd_font() {
            page.doubt = Some(Reason::Font);
        } else if cascade.is_dark() {
            page.doubt = Some(Reason::Property("color-scheme"));
        }
        page
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&BoxNode> {
        self.boxes.get(id)?.as_ref()
    }

    fn style_all(&mut self, dom: &Dom, cascade: &mut Cascade<'_>) {
        let mut stack = vec![StyleFrame {
            id: DOCUMENT,
            style: Rc::new(cascade.root()),
            next: dom.first_child(DOCUMENT),
            gone: false,
            metrics: Metrics::default(),
            beside: 0.0,
            movement: Movement::default(),
            blank_before: 0.0,
            texts_before: 0,
            is_picture: false,
            run_before: UnbrokenRun::default(),
        }];
        let mut run = UnbrokenRun::default();
        while let Some(frame) = stack.last_mut() {
            let Some(id) = frame.next else {
                let Some(done) = stack.pop() else { break };
                let Some(parent) = stack.last_mut() else {
                    break;
                };
                self.close(done, parent, &mut run);
                continue;
            };
            frame.next = dom.after(id);
            match dom.node(id).map(|node| &node.data) {
                Some(Data::Text(text)) if !frame.gone => {
                    if !text.trim().is_empty() {
                        let font = smallest_font(&frame.style).max(MIN_READABLE_FONT_PX);
                        self.smallest_font = self.smallest_font.min(font);
                    }
                    measure_text(text, frame, &mut run);
                    self.add_blank_lines(text, &frame.style);
                    if run.blank > MAX_SPACING_PX {
                        self.doubt_line(&stack);
                    }
                }
                Some(Data::Element(element)) => {
                    let rendering = elements::rendering(dom, element);
                    let computed = cascade.compute(id, element, &frame.style);
                    let style = computed.style;
                    let display = style.get(L::Display);
                    let gone = frame.gone
                        || display
                            .is(|value| value == Value::Display(Display::None))
                            .is_certain();
                    let mut movement = movement(&style);
                    if elements::pushes_text(element) {
                        movement.doubt(Reason::Moved);
                    }
                    let overflows = |longhand| style.get(longhand).may(|value| value != Value::On);
                    if elements::is_drawing(element)
                        && (overflows(L::OverflowX) || overflows(L::OverflowY))
                    {
                        movement.reach = f32::INFINITY;
                    }
                    if computed.styled_part {
                        movement.doubt(Reason::Property("::first-line"));
                    }
                    if computed.covers && !gone {
                        self.doubt = Some(Reason::Covered);
                    }
                    let is_column = matches!(
                        *element.local(),
                        local_name!("col") | local_name!("colgroup")
                    );
                    if is_styled_column(&style)
                        || is_column && element.attribute(&local_name!("bgcolor")).is_some()
                    {
                        self.doubt = Some(Reason::Element);
                    }
                    let mut metrics = own_metrics(element, &style);
                    let mut run_before = run;
                    if is_unbroken(&frame.style) {
                        run_before.blank += if elements::is_replaced(element) {
                            f32::INFINITY
                        } else {
                            metrics.min_width * PICTURE_BLANK_SHARE
                        };
                    }
                    let stays_in_line = is_inline_level(&display) && is_unbroken(&frame.style);
                    run = if stays_in_line || is_inline(&display) {
                        run_before
                    } else {
                        UnbrokenRun::default()
                    };
                    run.blank += space(&style, HORIZONTAL_SIDES);
                    if !is_inline(&display) || *element.local() == local_name!("br") {
                        metrics.lines += 1.0;
                        metrics.line = metrics.line.max(line_height(&style));
                    }
                    if let Some(slot) = self.boxes.get_mut(id) {
                        *slot = Some(BoxNode {
                            style: Rc::clone(&style),
                            rendering,
                            doubt: movement.doubt,
                            styled_part: computed.styled_part,
                            keeps_content: matches!(
                                *element.local(),
                                local_name!("fieldset")
                                    | local_name!("button")
                                    | local_name!("legend")
                            ),
                            is_rtl: element
                                .attribute(&local_name!("dir"))
                                .is_some_and(|dir| !dir.eq_ignore_ascii_case("ltr")),
                            shifted: movement.shifted,
                            metrics: Metrics::default(),
                            offset: 0.0,
                            indent: space(&style, LEFT_SIDES),
                            moved: movement.moved,
                        });
                    }
                    self.blank_height += space(&style, TOP_SIDES);
                    stack.push(StyleFrame {
                        id,
                        style,
                        next: dom.first_child(id),
                        gone,
                        metrics,
                        beside: 0.0,
                        movement,
                        blank_before: self.blank_height,
                        texts_before: self.texts,
                        is_picture: elements::is_loaded_picture(element),
                        run_before,
                    });
                }
                _ => {}
            }
        }
    }

    /// Counts the height of the lines that show nothing, and doubts text that stands below many.
    fn add_blank_lines(&mut self, text: &str, style: &Style) {
        let mut blank = self.blank_height;
        let mut is_text = false;
        if text.chars().all(is_blank) && text.contains(|char| !is_folded(char)) {
            blank += line_height(style);
        }
        for char in text.chars() {
            if char == '\n' && style.keeps_space {
                blank += line_height(style);
            } else if !is_blank(char) {
                if blank > MAX_BOX_HEIGHT_PX {
                    self.doubt = self.doubt.or(Some(Reason::OffPage));
                }
                (blank, is_text) = (0.0, true);
                if !style.keeps_space {
                    break;
                }
            }
        }
        self.blank_height = blank;
        self.texts += usize::from(is_text);
    }

    /// The text of the innermost box may stand beyond the window.
    fn doubt_line(&mut self, stack: &[StyleFrame]) {
        let is_line = |frame: &&StyleFrame| is_inline(&frame.style.get(L::Display));
        let around = stack.iter().rev().find(|frame| !is_line(frame));
        match around.and_then(|frame| self.boxes.get_mut(frame.id)?.as_mut()) {
            Some(slot) => slot.doubt = slot.doubt.or(Some(Reason::OffPage)),
            None => self.doubt = self.doubt.or(Some(Reason::OffPage)),
        }
    }

    /// Adds what an element needs to what its parent needs.
    fn close(&mut self, done: StyleFrame, parent: &mut StyleFrame, run: &mut UnbrokenRun) {
        let style = &done.style;
        let display = style.get(L::Display);
        let mut metrics = done.metrics;
        metrics.min_width = metrics.min_width.max(done.beside);
        if let Some(Some(slot)) = self.boxes.get_mut(done.id) {
            slot.metrics = metrics;
        }
        if done.gone {
            return;
        }
        let overlap = line_overlap(style);
        let mut reach = done.movement.reach;
        if metrics.paints_text {
            reach = reach.max(overlap);
        }
        if metrics.paints {
            self.cover_reach = self.cover_reach.max(reach);
        } else if overlap > MAX_LETTER_OVERLAP_PX && metrics.text_width > 0.0 {
            self.cover_reach = f32::INFINITY;
        }
        for side in [L::MarginTop, L::MarginBottom] {
            let least = smallest(&style.get(side)).unwrap_or(0.0);
            self.pulled_up += (-least).max(0.0);
        }
        // What follows is pulled up, out of the window at last.
        if self.pulled_up > MAX_SMALL_OFFSET_PX {
            self.doubt = self.doubt.or(Some(Reason::Moved));
        }
        let lifted = style
            .get(L::Position)
            .may(|value| value != Value::Position(Position::Static))
            || style.get(L::Opacity) != PossibleValues::One(Value::Number(1.0));
        self.lifted_paint |= lifted && metrics.paints;
        self.paints |= metrics.paints;
        let inline = is_inline(&display);
        let height = largest(&style.get(L::Height)).max(largest(&style.get(L::MinHeight)));
        if done.texts_before == self.texts && !done.is_picture {
            let own = if inline || metrics.paints {
                metrics.lines * metrics.line
            } else {
                height
            };
            let inside = self.blank_height - done.blank_before;
            self.blank_height = done.blank_before + inside.max(own);
        }
        self.blank_height += space(style, BOTTOM_SIDES);
        if !inline && is_inline_level(&display) && is_unbroken(&parent.style) {
            *run = done.run_before;
            run.blank += largest(&style.get(L::Width)).max(largest(&style.get(L::MinWidth)))
                + space(style, HORIZONTAL_SIDES);
        } else if !inline {
            *run = UnbrokenRun::default();
        }
        let needed = metrics.min_width.max(
            largest(&style.get(L::Width)).min(largest_or(&style.get(L::MaxWidth), f32::INFINITY)),
        );
        let mut needed =
            needed.max(largest(&style.get(L::MinWidth))) + space(style, HORIZONTAL_SIDES);
        let outer = parent.style.get(L::Display);
        let is_row = |value| matches!(value, Value::Display(outer) if outer.is_flex() || outer == Display::Row);
        // Words in a line that change nothing.
        if inline && !style.has_own() && !outer.may(is_row) {
            let into = &mut parent.metrics;
            into.min_width = into.min_width.max(metrics.min_width);
            into.text_width += metrics.text_width;
            into.lines += metrics.lines;
            into.line = into.line.max(metrics.line);
            into.paints |= metrics.paints;
            into.complex |= metrics.complex || done.movement.doubt.is_some();
            return;
        }
        let beside = display.may(|value| value == Value::Display(Display::Cell))
            || outer.may(|value| value == Value::Display(Display::Row))
                && display.may(|value| value != Value::Display(Display::Row))
            || parent
                .style
                .get(L::Display)
                .may(|value| matches!(value, Value::Display(inner) if inner.is_flex()));
        if outer.may(|value| matches!(value, Value::Display(outer) if outer.is_flex())) {
            // Items may keep the size that they ask for.
            for longhand in [L::Width, L::MinWidth, L::FlexBasis] {
                needed = needed.max(largest_in(&style.get(longhand), MIN_WINDOW_WIDTH_PX));
            }
        }
        if beside {
            if let Some(Some(slot)) = self.boxes.get_mut(done.id) {
                slot.offset = parent.beside;
            }
            parent.beside += needed;
        } else {
            parent.metrics.min_width = parent.metrics.min_width.max(needed);
        }
        // Boxes in a line that does not break stand beside each other.
        if !inline && is_inline_level(&display) && is_unbroken(&parent.style) {
            parent.beside += needed;
        }
        let into = &mut parent.metrics;
        into.text_width += metrics.text_width;
        into.lines += metrics.lines;
        into.line = into.line.max(metrics.line);
        // An empty box so high pushes what follows out of the window.
        let filled = metrics.fixed_height + (metrics.text_width / 800.0 + metrics.lines) * 10.0;
        if height - filled > MAX_BOX_HEIGHT_PX {
            self.doubt = self.doubt.or(Some(Reason::OffPage));
        }
        into.fixed_height +=
            metrics.fixed_height + space(style, TOP_SIDES) + space(style, BOTTOM_SIDES) + height;
        into.paints |= metrics.paints;
        into.complex |= metrics.complex
            || beside
            || done.movement.doubt.is_some()
            || done.movement.shifted
            || style.get(L::Float).may(|value| value == Value::On)
            || style
                .get(L::Position)
                .may(|value| value != Value::Position(Position::Static))
            || style.get(L::Zoom) != PossibleValues::One(Value::Number(1.0));
    }
}

/// Columns of tables hide, colour or narrow the cells that they stand for, which are not looked up
/// here.
fn is_styled_column(style: &Style) -> bool {
    let may = |longhand, predicate: fn(Value) -> bool| style.get(longhand).may(predicate);
    may(L::Display, |value| value == Value::Display(Display::Column))
        && (may(L::Visibility, |value| value == Value::On)
            || may(
                L::BackgroundColor,
                |value| !matches!(value, Value::Color(color) if color.alpha == 0.0),
            )
            || may(L::BackgroundImage, |value| value != Value::Auto)
            || may(L::Width, |value| matches!(value, Value::Px(px) if px < 5.0)))
}

fn is_inline(display: &PossibleValues) -> bool {
    display
        .is(|value| matches!(value, Value::Display(Display::Inline | Display::Contents)))
        .is_certain()
}

/// Whether lines may not break at spaces.
fn is_unbroken(style: &Style) -> bool {
    style.get(L::WhiteSpace).may(|value| value == Value::On)
}

fn is_inline_level(display: &PossibleValues) -> bool {
    display.may(|value| matches!(value, Value::Display(inner) if inner.is_inline_level()))
}

fn measure_text(text: &str, frame: &mut StyleFrame, run: &mut UnbrokenRun) {
    let style = &frame.style;
    let font = style.largest_font();
    let spacing = largest(&style.get(L::LetterSpacing)).max(0.0);
    let unbroken = is_unbroken(style);
    let metrics = &mut frame.metrics;
    let mut total = 0.0;
    if text.is_ascii() && !unbroken && !style.keeps_space {
        let width = font * ASCII_WIDTH + spacing;
        for (nth, word) in text.split_ascii_whitespace().enumerate() {
            if nth > 0 || text.starts_with(|char: char| char.is_ascii_whitespace()) {
                *run = UnbrokenRun::default();
            }
            let letters = word.len() as f32 * width;
            run.width += letters;
            total += letters + font;
            metrics.min_width = metrics.min_width.max(run.width);
        }
        if text.ends_with(|char: char| char.is_ascii_whitespace()) {
            *run = UnbrokenRun::default();
        }
        metrics.text_width += total;
        metrics.line = metrics.line.max(line_height(style));
        return;
    }
    let mut last = ' ';
    for char in text.chars() {
        let is_space = char.is_whitespace() && char != '\u{A0}';
        let is_line = char == '\n' && style.keeps_space;
        let width =
            font * match char {
                '\t' => 8.0,
                ' ' | '\n' | '\r' => 1.0,
                _ if char.is_ascii() => ASCII_WIDTH,
                _ => OTHER_WIDTH,
            } + spacing;
        total += width;
        if is_space && (!unbroken || is_line) {
            *run = UnbrokenRun::default();
            metrics.lines += f32::from(u8::from(is_line));
            continue;
        }
        run.width += width;
        let is_kept = style.keeps_space || !is_folded(char) || !is_folded(last);
        if is_blank(char) && is_kept {
            run.blank += BLANK_WIDTH * width;
        }
        if is_space {
            run.width += largest(&style.get(L::WordSpacing)).max(0.0);
        } else {
            metrics.min_width = metrics.min_width.max(run.width);
        }
        if is_block_character(char) {
            (metrics.paints, metrics.paints_text) = (true, true);
        }
        last = char;
    }
    metrics.text_width += total;
    metrics.line = metrics.line.max(line_height(style));
}

/// Characters that collapse into one space.
fn is_folded(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{C}')
}

/// Characters that take space and show nothing.
fn is_blank(char: char) -> bool {
    char.is_whitespace()
        || matches!(
            char,
            '\u{115F}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}'
        )
}

/// Characters whose shape may fill their box.
fn is_block_character(char: char) -> bool {
    matches!(char, '\u{2500}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}' | '\u{E000}'..='\u{F8FF}' | '\u{1F000}'..)
}

/// The smallest font size that text may have.
pub(crate) fn smallest_font(style: &Style) -> f32 {
    let fonts = style.fonts().unwrap_or_default();
    fonts.into_iter().reduce(f32::min).unwrap_or(1.0)
}

/// The highest that a line may be.
pub(crate) fn line_height(style: &Style) -> f32 {
    let font = style.largest_font();
    let lines = style.get(L::LineHeight);
    let Some(values) = lines.values() else {
        return f32::INFINITY;
    };
    let each = values.iter().map(|value| match value {
        Value::Px(px) => px.max(font * 1.3),
        Value::Number(times) => (times * font).max(font * 1.3),
        _ => font * 1.5,
    });
    each.fold(0.0, f32::max)
}

/// What an element needs by itself.
fn own_metrics(element: &Element, style: &Style) -> Metrics {
    let painted = |value: Value| match value {
        Value::Color(color) => color.alpha > 0.05,
        Value::CurrentColor => true,
        _ => false,
    };
    let borders = [L::BorderTop, L::BorderRight, L::BorderBottom, L::BorderLeft];
    if !style.has_own()
        && style.not_understood.is_empty()
        && !elements::is_painted(element)
        && !style.get(L::TextShadow).is_any()
    {
        return Metrics::default();
    }
    let paints = elements::is_painted(element)
        || style.get(L::BackgroundColor).may(painted)
        || style
            .get(L::BackgroundImage)
            .may(|value| value != Value::Auto)
        || style.get(L::BoxShadow).may(|value| value != Value::Auto)
        || largest(&style.get(L::OutlineWidth)) > MAX_HARMLESS_OFFSET_PX
        || style.get(L::TextShadow).is_any()
        || style
            .not_understood
            .iter()
            .any(|one| one.own && PAINTING.contains(&one.name))
        || borders.iter().any(|side| largest(&style.get(*side)) > 2.0);
    let is_image = *element.local() == local_name!("img");
    // Other painted elements have sizes of their own.
    let is_replaced = elements::is_painted(element) && !is_image;
    let mut metrics = Metrics {
        paints,
        paints_text: paints,
        complex: is_replaced,
        min_width: if is_replaced { 320.0 } else { 0.0 },
        ..Metrics::default()
    };
    if *element.local() == local_name!("img") || *element.local() == local_name!("input") {
        let alt = element.attribute(&local_name!("alt")).unwrap_or_default();
        let width = largest(&style.get(L::Width));
        metrics.min_width = if width > 0.0 {
            width
        } else {
            40.0 + alt.chars().count() as f32 * style.largest_font()
        };
        metrics.line = style.largest_font().max(24.0) * 1.5;
        metrics.lines = 1.0;
    }
    metrics
}

const HORIZONTAL_SIDES: &[L] = &[
    L::MarginLeft,
    L::MarginRight,
    L::PaddingLeft,
    L::PaddingRight,
    L::BorderLeft,
    L::BorderRight,
];
const LEFT_SIDES: &[L] = &[L::MarginLeft, L::PaddingLeft, L::BorderLeft];
const TOP_SIDES: &[L] = &[L::MarginTop, L::PaddingTop, L::BorderTop];
const BOTTOM_SIDES: &[L] = &[L::MarginBottom, L::PaddingBottom, L::BorderBottom];

/// The space that margins, paddings and borders take.
pub(crate) fn space(style: &Style, sides: &[L]) -> f32 {
    if !style.has_own() {
        return 0.0;
    }
    sides
        .iter()
        .map(|side| largest_in(&style.get(*side), MAX_WINDOW_WIDTH_PX))
        .sum()
}

/// The largest possible length: 0 for keywords, infinity if unknown.
pub(crate) fn largest(value: &PossibleValues) -> f32 {
    match value.values() {
        None => f32::INFINITY,
        Some(values) => values
            .iter()
            .map(|value| match value {
                Value::Px(px) => *px,
                _ => 0.0,
            })
            .fold(0.0, f32::max),
    }
}

/// As [`largest`], with percentages of a width.
fn largest_in(value: &PossibleValues, width: f32) -> f32 {
    value.values().map_or(f32::INFINITY, |values| {
        let each = values.iter().map(|value| match value {
            Value::Px(px) => *px,
            Value::Percent(share) => share / 100.0 * width,
            _ => 0.0,
        });
        each.fold(0.0, f32::max)
    })
}

/// As [`largest`], with something else for keywords.
fn largest_or(value: &PossibleValues, keyword: f32) -> f32 {
    if value.may(|value| !matches!(value, Value::Px(_))) {
        keyword
    } else {
        largest(value)
    }
}

/// The smallest length that a value may be; `None` when it is never a length.
pub(crate) fn smallest(value: &PossibleValues) -> Option<f32> {
    match value.pixels() {
        None => Some(0.0),
        Some(all) => all.reduce(f32::min),
    }
}

fn movement(style: &Style) -> Movement {
    let mut movement = Movement::default();
    for one in &style.not_understood {
        match one.reach {
            Reach::Inside => movement.doubt(Reason::Property(one.name)),
            Reach::Page => {
                movement.doubt(Reason::Property(one.name));
                if one.own {
                    movement.reach = f32::INFINITY;
                }
            }
            Reach::Clip | Reach::Overflow => {}
        }
    }
    if style.get(L::TextShadow).is_any() {
        movement.doubt(Reason::Property("text-shadow"));
        movement.reach = f32::INFINITY;
    }
    let indent = style.get(L::TextIndent);
    let pulled = indent.may(|value| match value {
        Value::Px(px) => px < -5.0,
        Value::Percent(percent) => percent < 0.0,
        _ => false,
    });
    if pulled || beyond(&indent, 100.0, 20.0) {
        movement.doubt(Reason::OffPage);
    }
    if !style.has_own() {
        return movement;
    }
    for longhand in style.own_any() {
        use L::{
            BackgroundArea, BackgroundColor, BackgroundImage, ContentVisibility, Display,
            FlexBasis, Height, MaxHeight, MaxWidth, MinHeight, MinWidth, Opacity, OverflowX,
            OverflowY, Width, ZIndex,
        };
        match longhand {
            Width | Height | MinWidth | MinHeight | MaxWidth | MaxHeight | FlexBasis
            | OverflowX | OverflowY | BackgroundColor | BackgroundImage | BackgroundArea
            | Display | Opacity | ContentVisibility | ZIndex => {}
            L::Animation | L::TableLayout => movement.doubt(Reason::Property(longhand.name())),
            _ => {
                movement.doubt(Reason::Property(longhand.name()));
                movement.reach = f32::INFINITY;
            }
        }
    }
    // A collapsed row hides its cells, whatever they say.
    let is_row = style
        .get(L::Display)
        .may(|value| value == Value::Display(Display::Row));
    if is_row && style.get(L::Visibility).may(|value| value == Value::On) {
        movement.doubt(Reason::Visibility);
    }
    let absolute = style
        .get(L::Position)
        .is(|value| value == Value::Position(Position::Absolute));
    let relative = style
        .get(L::Position)
        .is(|value| value == Value::Position(Position::Relative));
    if absolute.may() || relative.may() {
        for side in [L::Top, L::Right, L::Bottom, L::Left] {
            let inset = style.get(side);
            let given = inset.may(|value| value != Value::Auto);
            if absolute.may() && given || beyond(&inset, MAX_SMALL_OFFSET_PX, 0.0) {
                movement.doubt(Reason::Moved);
            }
            movement.reach = movement.reach.max(farthest(&inset));
            movement.moved += farthest(&inset);
            movement.shifted |= beyond(&inset, MAX_HARMLESS_OFFSET_PX, 0.0);
        }
        if absolute.may() {
            movement.reach = f32::INFINITY;
        }
    }
    let below = style.get(L::ZIndex).may(|value| match value {
        Value::Number(number) => number < 0.0,
        _ => false,
    });
    if below {
        movement.doubt(Reason::Covered);
    }
    if style.get(L::Clip).may(|value| value == Value::On) && absolute.may() {
        movement.doubt(Reason::Clipped);
    }
    if style.get(L::Content).may(|value| value == Value::On) {
        movement.doubt(Reason::Property("content"));
    }
    for side in [L::MarginTop, L::MarginRight, L::MarginBottom, L::MarginLeft] {
        let margin = style.get(side);
        let below = |limit: f32| {
            margin.may(|value| match value {
                Value::Px(px) => px < -limit,
                Value::Percent(percent) => percent < 0.0,
                _ => false,
            })
        };
        if below(0.0) {
            movement.reach = movement.reach.max(farthest(&margin));
            movement.moved += farthest(&margin);
        }
        movement.shifted |= below(2.0);
        if below(MAX_SMALL_OFFSET_PX) || beyond(&margin, MAX_SPACING_PX, 60.0) {
            movement.doubt(Reason::Moved);
        }
    }
    for side in [
        L::PaddingTop,
        L::PaddingRight,
        L::PaddingBottom,
        L::PaddingLeft,
        L::BorderTop,
        L::BorderRight,
        L::BorderBottom,
        L::BorderLeft,
    ] {
        if beyond(&style.get(side), MAX_SPACING_PX, 60.0) {
            movement.doubt(Reason::Moved);
        }
    }
    if beyond(&style.get(L::VerticalAlign), MAX_SMALL_OFFSET_PX, 100.0) {
        movement.doubt(Reason::Moved);
        movement.reach = f32::INFINITY;
    }
    movement.shifted |= beyond(&style.get(L::VerticalAlign), MAX_HARMLESS_OFFSET_PX, 30.0);
    movement.moved += farthest(&style.get(L::VerticalAlign));
    // The paddings and borders of words in a line reach over the lines around.
    let inline = style
        .get(L::Display)
        .may(|value| value == Value::Display(Display::Inline));
    if inline {
        let sides = [
            L::PaddingTop,
            L::PaddingBottom,
            L::BorderTop,
            L::BorderBottom,
        ];
        let widest = sides.iter().map(|side| largest(&style.get(*side)));
        let widest = widest.fold(0.0, f32::max);
        let reach = if widest > MAX_INLINE_PADDING_PX {
            f32::INFINITY
        } else {
            widest * 0.5
        };
        movement.reach = movement.reach.max(reach);
    }
    let offset = style.get(L::OutlineOffset);
    if largest(&style.get(L::OutlineWidth)) > MAX_HARMLESS_OFFSET_PX
        || offset.may(|value| matches!(value, Value::Px(px) if !(-1.0..=20.0).contains(&px)))
            && largest(&style.get(L::OutlineWidth)) > 0.0
    {
        movement.doubt(Reason::Covered);
        movement.reach = f32::INFINITY;
    }
    if style.get(L::BoxShadow).may(|value| value != Value::Auto) {
        movement.doubt(Reason::Property("box-shadow"));
        movement.reach = f32::INFINITY;
    }
    movement
}

/// How far a length may be from zero.
fn farthest(value: &PossibleValues) -> f32 {
    value.values().map_or(f32::INFINITY, |values| {
        let each = values.iter().map(|value| match value {
            Value::Px(px) => px.abs(),
            Value::Percent(share) if *share != 0.0 => f32::INFINITY,
            _ => 0.0,
        });
        each.fold(0.0, f32::max)
    })
}

/// How far the letters of a line may stand out of it, above or below.
fn line_overlap(style: &Style) -> f32 {
    let font = style.largest_font();
    let lines = style.get(L::LineHeight);
    let lowest = lines.values().map_or(0.0, |values| {
        let each = values.iter().map(|value| match value {
            Value::Px(px) => *px,
            Value::Number(times) => times * font,
            _ => font * LETTER_HEIGHT,
        });
        each.fold(f32::INFINITY, f32::min)
    });
    (font * LETTER_HEIGHT - lowest).max(0.0) / 2.0
}

/// Whether a length may be beyond a limit on either side; percentages have their own.
fn beyond(value: &PossibleValues, limit: f32, percent: f32) -> bool {
    value.may(|value| match value {
        Value::Px(px) => px.abs() > limit,
        Value::Percent(share) => share.abs() > percent,
        _ => false,
    })
}

/// Whether a display has a box whose sizes and overflow mean something. Children of flex boxes have
/// one, and so has what floats or is placed.
pub(crate) fn is_boxed(style: &Style, parent: &PossibleValues) -> Truth {
    let own = style
        .get(L::Display)
        .is(|value| matches!(value, Value::Display(display) if display.is_boxed()));
    let lifted = parent
        .is(|value| matches!(value, Value::Display(display) if display.is_flex()))
        .or(style.get(L::Float).is(|value| value == Value::On))
        .or(style
            .get(L::Position)
            .is(|value| value == Value::Position(Position::Absolute)));
    own.or(lifted)
}

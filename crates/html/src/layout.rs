//! Bounds on box sizes, computed without layout, and whether boxes may cover other text.
//!
//! INVARIANT: sizes are bounds from above. Text that is taken to fit into a box does so in every
//! window and font.

use std::cell::Cell;
use std::rc::Rc;

use html5ever::local_name;

use crate::cascade::Cascade;
use crate::dom::{DOCUMENT, Data, Dom, Element, NodeId};
use crate::elements::{self, Rendering};
use crate::hidden_text::is_blank;
use crate::properties::Longhand as L;
use crate::style::{Display, Position, PossibleValues, Style, Value};
use crate::style_bounds::{
    MAX_SMALL_OFFSET_PX, MAX_SPACING_PX, Movement, StyleBounds, largest, largest_in, largest_or,
};
use crate::verdict::Reason;

/// Paddings of words in a line that leave the lines around readable.
const MAX_LINE_REACH_PX: f32 = 5.0;
/// Paddings of words in a line that reach no farther than the lines around.
const MAX_NEXT_LINE_PX: f32 = 24.0;
/// A part of the font size: a box that reaches farther may cover a line of text.
const MAX_COVERED_SHARE: f32 = 0.6;
/// Larger letters may cover other text where they are moved over it.
const MAX_COVERING_FONT_PX: f32 = 40.0;
/// Letters that stand out of their line by more may cover other text with their strokes.
const MAX_LETTER_OVERLAP_PX: f32 = 15.0;
/// The narrowest window.
pub(crate) const MIN_WINDOW_WIDTH_PX: f32 = 800.0;
/// A taller box pushes later content out of the window.
const MAX_BOX_HEIGHT_PX: f32 = 1_000.0;
/// Smaller fonts may not be readable.
pub(crate) const MIN_READABLE_FONT_PX: f32 = 5.0;
/// How far `sub` and `sup` move a word in parts of its font size, from above.
const LINE_SHIFT: f32 = 0.5;
/// The widths of a letter beyond Latin and of a blank in parts of the font size, from above.
const OTHER_WIDTH: f32 = 1.1;
const BLANK_WIDTH: f32 = 0.6;
/// The part of that bound that letters have at least, most of the time.
const MIN_LETTER_SHARE: f32 = 0.7;
/// Smaller pictures show nothing that a person would miss.
const MIN_PICTURE_PX: f32 = 8.0;
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
    /// Something inside is not at its place.
    pub moves_content: bool,
    /// It paints something besides letters.
    pub paints: bool,
    /// A table whose rows have one cell each, which is as wide as the table.
    pub has_one_column: bool,
    /// A bound of the width of boxes that stand before it in its row.
    pub offset: f32,
    /// How far its left side pushes its text to the right, and by how much it is out of its place.
    pub indent: f32,
    pub right_indent: f32,
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
    /// It may hold generated text, which is not measured.
    pub generates: bool,
}

impl Metrics {
    /// Height that all of it needs in a box of this width.
    pub(crate) fn height_in(&self, width: f32) -> f32 {
        if self.complex {
            return f32::INFINITY;
        }
        // Two lines that follow each other are together wider than one.
        let wrapped = 2.0 * self.text_width / width.max(1.0);
        self.fixed_height + (self.lines + wrapped.ceil()) * self.line
    }
}

/// A page with the style of each element.
pub(crate) struct Page {
    boxes: Vec<Option<BoxNode>>,
    /// By the number of a style.
    bounds: Vec<Option<Rc<StyleBounds>>>,
    /// Why any text of the page may be invisible.
    doubt: Option<Reason>,
    /// Something is painted above normal flow: it may cover overflowing text.
    pub lifted_paint: bool,
    /// Something is painted besides letters.
    pub paints: bool,
    /// Some box floats.
    pub floats: bool,
    /// Some box floats over the background of a box that does not hold it.
    pub floats_over_paint: bool,
    /// The sum of all negative margins, in pixels.
    pulled_up: f32,
    pulled_aside: f32,
    /// How far boxes that paint may reach over other text, in pixels.
    cover_reach: f32,
    /// The smallest font size of text that can be read.
    smallest_font: f32,
    /// Height of the empty lines and boxes since the last text.
    blank_height: f32,
    /// The first text below more blank space than a window shows.
    pushed_down: Option<NodeId>,
    /// The walk has reached that text.
    is_below: Cell<bool>,
    /// How many texts there are so far.
    texts: usize,
    /// The box around the last text.
    last_text: Option<NodeId>,
    /// The next text may be covered by what stands before it.
    covers_next: bool,
}

impl StyleFrame {
    /// Text or words come next.
    fn begin_line(&mut self) {
        if std::mem::take(&mut self.after_block) {
            self.metrics.lines += 1.0;
        }
    }

    /// Its height follows from its width.
    fn has_own_shape(&self) -> bool {
        let mut unknown = self.style.not_understood.iter();
        unknown.any(|one| one.own && one.name == "aspect-ratio")
    }
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
    bounds: Rc<StyleBounds>,
    next: Option<NodeId>,
    /// Nothing in here is rendered.
    gone: bool,
    metrics: Metrics,
    /// Width of boxes that stand beside each other.
    beside: f32,
    /// A block has ended the line: what follows begins another.
    after_block: bool,
    /// Cells of a row, or of the longest row of a table.
    columns: usize,
    /// Its cells may stand for several columns or rows, or columns are listed.
    spans: bool,
    /// It holds a box that floats, and may reach into what follows.
    holds_float: bool,
    /// Something inside is not at its place.
    moves_content: bool,
    /// Blocks in its flow paint backgrounds.
    paints_flow: bool,
    /// The space between the cells of the table around, and inside of each.
    cell_space: f32,
    /// The largest blank height among them.
    blank_beside: f32,
    movement: Movement,
    /// How far this box and those around may be painted over other text together.
    reach: f32,
    /// Height of blank space, and count of texts, where it begins.
    blank_before: f32,
    texts_before: usize,
    blank_outside: f32,
    /// Height that the element takes by itself, if it shows nothing.
    empty_height: f32,
    run_before: UnbrokenRun,
}

impl Page {
    pub(crate) fn new(dom: &Dom) -> Self {
        let mut cascade = Cascade::new(dom);
        let mut page = Self {
            boxes: Vec::new(),
            bounds: Vec::new(),
            doubt: None,
            lifted_paint: false,
            paints: false,
            floats: false,
            floats_over_paint: false,
            pulled_up: 0.0,
            pulled_aside: 0.0,
            cover_reach: 0.0,
            smallest_font: f32::INFINITY,
            blank_height: 0.0,
            pushed_down: None,
            is_below: Cell::new(false),
            texts: 0,
            last_text: None,
            covers_next: false,
        };
        page.boxes.resize_with(dom.len(), || None);
        page.style_all(dom, &mut cascade);
        if page.cover_reach + page.pulled_up > MAX_COVERED_SHARE * page.smallest_font && page.paints
        {
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

    /// Why any text from here on may be invisible.
    pub(crate) fn doubt(&self) -> Option<Reason> {
        let is_below = self.is_below.get();
        self.doubt.or(is_below.then_some(Reason::OffPage))
    }

    /// The walk over the page reaches a node.
    pub(crate) fn reach(&self, node: Option<NodeId>) {
        if node.is_some() && node == self.pushed_down {
            self.is_below.set(true);
        }
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&BoxNode> {
        self.boxes.get(id)?.as_ref()
    }

    fn style_all(&mut self, dom: &Dom, cascade: &mut Cascade<'_>) {
        let root = Rc::new(cascade.root());
        let mut stack = vec![StyleFrame {
            id: DOCUMENT,
            bounds: self.bounds_of(&root),
            style: root,
            next: dom.first_child(DOCUMENT),
            gone: false,
            metrics: Metrics::default(),
            beside: 0.0,
            after_block: false,
            columns: 0,
            spans: false,
            holds_float: false,
            moves_content: false,
            paints_flow: false,
            cell_space: 0.0,
            blank_beside: 0.0,
            movement: Movement::default(),
            reach: 0.0,
            blank_before: 0.0,
            texts_before: 0,
            blank_outside: 0.0,
            empty_height: 0.0,
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
                    let is_kept = frame.style.keeps_space || frame.bounds.is_unbroken;
                    if !is_kept && text.trim_ascii().is_empty() {
                        run = UnbrokenRun::default();
                        continue;
                    }
                    if !text.trim().is_empty() {
                        if frame.bounds.line_height > MAX_BOX_HEIGHT_PX {
                            self.doubt = self.doubt.or(Some(Reason::OffPage));
                        }
                        self.last_text = Some(frame.id);
                        if std::mem::take(&mut self.covers_next) {
                            self.cover_last();
                        }
                        let font = frame.bounds.smallest_font.max(MIN_READABLE_FONT_PX);
                        self.smallest_font = self.smallest_font.min(font);
                    }
                    frame.begin_line();
                    // Text in a row stands in a cell of its own.
                    frame.columns += usize::from(frame.style.get(L::Display).may(is_table_row));
                    measure_text(text, frame, &mut run);
                    self.add_blank_lines(id, text, &frame.style, &frame.bounds);
                    let is_long = run.width * MIN_LETTER_SHARE > MIN_WINDOW_WIDTH_PX;
                    if run.blank > MAX_SPACING_PX || frame.bounds.is_unbroken && is_long {
                        self.doubt_line(&stack);
                    }
                }
                Some(Data::Element(element)) => {
                    let rendering = elements::rendering(dom, element);
                    let computed = cascade.compute(id, element, &frame.style);
                    let style = computed.style;
                    let bounds = self.bounds_of(&style);
                    let gone = frame.gone || bounds.is_gone;
                    let mut movement = bounds.movement;
                    if elements::pushes_text(element) {
                        movement.doubt(Reason::Moved);
                    }
                    let overflows =
                        |longhand| style.get(longhand).may(|value| !matches!(value, Value::On));
                    if elements::is_drawing(element)
                        && (overflows(L::OverflowX) || overflows(L::OverflowY))
                    {
                        movement.reach = f32::INFINITY;
                    }
                    if computed.styled_part {
                        movement.doubt(Reason::Property("::first-line"));
                    }
                    if bounds.paints && bounds.line_reach > MAX_NEXT_LINE_PX {
                        movement.reach = f32::INFINITY;
                    } else if bounds.paints && bounds.line_reach > MAX_LINE_REACH_PX && !gone {
                        self.cover_last();
                    }
                    // Generated content pushes what stands in its line away.
                    if (computed.covers || computed.generates && bounds.is_unbroken) && !gone {
                        self.doubt = Some(Reason::Covered);
                    }
                    let is_column = matches!(
                        *element.local(),
                        local_name!("col") | local_name!("colgroup")
                    );
                    if bounds.styles_column
                        || is_column && element.attribute(&local_name!("bgcolor")).is_some()
                    {
                        self.doubt = Some(Reason::Element);
                    }
                    let mut metrics = own_metrics(element, &style, &bounds);
                    metrics.generates = computed.generates;
                    let mut run_before = run;
                    if frame.bounds.is_unbroken {
                        run_before.blank += if elements::is_replaced(element) {
                            f32::INFINITY
                        } else {
                            metrics.min_width * PICTURE_BLANK_SHARE
                        };
                    }
                    let stays_in_line = bounds.is_inline_level && frame.bounds.is_unbroken;
                    run = if stays_in_line || bounds.is_inline {
                        run_before
                    } else {
                        UnbrokenRun::default()
                    };
                    run.blank += bounds.horizontal_space;
                    if !bounds.is_inline || *element.local() == local_name!("br") {
                        metrics.lines += 1.0;
                        metrics.line = metrics.line.max(bounds.line_height);
                    }
                    let is_cell = style
                        .get(L::Display)
                        .may(|value| matches!(value, Value::Display(Display::Cell)));
                    let text_indent = if bounds.is_inline {
                        0.0
                    } else {
                        largest(style.get(L::TextIndent))
                    };
                    if let Some(slot) = self.boxes.get_mut(id) {
                        *slot = Some(BoxNode {
                            style: Rc::clone(&style),
                            rendering,
                            doubt: movement.doubt,
                            styled_part: computed.styled_part,
                            keeps_content: matches!(
                                *element.local(),
                                local_name!("fieldset")
                                    | local_name!("dialog")
                                    | local_name!("button")
                                    | local_name!("legend")
                            ),
                            is_rtl: element
                                .attribute(&local_name!("dir"))
                                .is_some_and(|dir| !dir.eq_ignore_ascii_case("ltr")),
                            shifted: movement.shifted,
                            metrics: Metrics::default(),
                            moves_content: false,
                            paints: bounds.paints,
                            has_one_column: false,
                            offset: 0.0,
                            indent: bounds.left_space
                                + text_indent
                                + if is_cell { frame.cell_space } else { 0.0 },
                            right_indent: bounds.right_space,
                            moved: movement.moved,
                        });
                    }
                    let blank_outside = self.blank_height;
                    self.blank_height += bounds.top_space;
                    let texts_before = self.texts;
                    let empty_height = elements::empty_height(element, bounds.line_height);
                    // A picture that a person sees, or sees to be missing, or a control with text.
                    let is_seen =
                        elements::is_loaded_picture(element) || elements::is_filled_input(element);
                    if is_seen && !gone && !is_spacer(&style) {
                        self.blank_height = 0.0;
                        self.texts += 1;
                    }
                    let reach = frame.reach + movement.reach;
                    let paints_flow = bounds.paints && !bounds.is_inline;
                    let cell_space = elements::cell_space(element).unwrap_or(frame.cell_space);
                    stack.push(StyleFrame {
                        id,
                        reach,
                        style,
                        bounds,
                        next: dom.first_child(id),
                        gone,
                        metrics,
                        beside: 0.0,
                        after_block: false,
                        columns: 0,
                        spans: is_column || elements::spans_cells(element),
                        holds_float: false,
                        moves_content: false,
                        paints_flow,
                        cell_space,
                        blank_beside: 0.0,
                        movement,
                        blank_before: self.blank_height,
                        texts_before,
                        blank_outside,
                        empty_height,
                        run_before,
                    });
                }
                _ => {}
            }
        }
    }

    fn bounds_of(&mut self, style: &Style) -> Rc<StyleBounds> {
        if self.bounds.len() <= style.number {
            self.bounds.resize(style.number + 1, None);
        }
        let bounds = || Rc::new(StyleBounds::of(style));
        match self.bounds.get_mut(style.number) {
            Some(slot) => Rc::clone(slot.get_or_insert_with(bounds)),
            None => bounds(),
        }
    }

    /// Counts the height of the lines that show nothing, and doubts text that stands below many.
    fn add_blank_lines(&mut self, id: NodeId, text: &str, style: &Style, bounds: &StyleBounds) {
        let mut blank = self.blank_height;
        let mut is_text = false;
        if text.chars().all(is_blank) && text.contains(|char| !is_folded(char)) {
            blank += bounds.line_height;
        }
        for char in text.chars() {
            if char == '\n' && style.keeps_space {
                blank += bounds.line_height;
            } else if !is_blank(char) {
                if blank + bounds.line_height / 2.0 > MAX_BOX_HEIGHT_PX {
                    self.pushed_down = self.pushed_down.or(Some(id));
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

    /// The last text may be covered.
    fn cover_last(&mut self) {
        let last = self
            .last_text
            .and_then(|last| self.boxes.get_mut(last)?.as_mut());
        if let Some(slot) = last {
            slot.doubt = slot.doubt.or(Some(Reason::Covered));
        }
    }

    /// The text of the innermost box may stand beyond the window.
    fn doubt_line(&mut self, stack: &[StyleFrame]) {
        let is_line = |frame: &&StyleFrame| frame.bounds.is_inline;
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
            slot.moves_content = done.moves_content;
            slot.has_one_column = done.columns == 1 && !done.spans;
        }
        let is_row = done.style.get(L::Display).is(is_table_row);
        if is_row.may() {
            parent.columns = parent.columns.max(done.columns);
        }
        if !is_row.is_certain() && parent.style.get(L::Display).may(is_table_row) {
            parent.columns += 1;
        }
        let is_table = |value| matches!(value, Value::Display(Display::Table));
        parent.spans |= done.spans && !done.style.get(L::Display).is(is_table).is_certain();
        parent.moves_content |= done.moves_content || done.movement.doubt.is_some();
        if done.gone {
            self.blank_height = done.blank_outside;
            return;
        }
        let bounds = &*done.bounds;
        let overlap = bounds.line_overlap;
        let mut reach = done.reach;
        if metrics.paints_text {
            reach = reach.max(overlap);
        }
        if metrics.paints {
            self.cover_reach = self.cover_reach.max(reach);
        } else if metrics.text_width > 0.0
            && (overlap > MAX_LETTER_OVERLAP_PX
                || reach > overlap && bounds.font > MAX_COVERING_FONT_PX)
        {
            self.cover_reach = f32::INFINITY;
        }
        self.pulled_up += bounds.pulled_up;
        self.pulled_aside += bounds.pulled_aside;
        // What follows is pulled out of the window at last.
        if self.pulled_up.max(self.pulled_aside) > MAX_SMALL_OFFSET_PX {
            self.doubt = self.doubt.or(Some(Reason::Moved));
        }
        if done.has_own_shape() {
            self.doubt = self.doubt.or(Some(Reason::OffPage));
        }
        if bounds.is_zoomed {
            self.doubt = self.doubt.or(Some(Reason::Property("zoom")));
        }
        self.lifted_paint |= bounds.is_lifted && metrics.paints;
        self.paints |= metrics.paints;
        self.covers_next |= bounds.paints && bounds.line_reach > MAX_LINE_REACH_PX;
        let floats = style.get(L::Float).may(|value| matches!(value, Value::On));
        self.floats |= floats;
        if !bounds.holds_floats {
            self.floats_over_paint |= parent.holds_float && done.paints_flow;
            parent.holds_float |= done.holds_float;
            parent.paints_flow |= done.paints_flow;
        }
        parent.holds_float |= floats;
        let inline = bounds.is_inline;
        if bounds.is_inline_level {
            parent.begin_line();
        } else {
            parent.after_block = true;
        }
        let height = bounds.height;
        if done.texts_before == self.texts {
            let inside = self.blank_height - done.blank_before;
            let own = inside.max(height).max(done.empty_height);
            self.blank_height = done.blank_before + own;
        }
        self.blank_height = self.blank_height.max(done.blank_beside) + bounds.bottom_space;
        if is_cell_of_row(style, &parent.style) {
            self.blank_height += done.cell_space;
            parent.blank_beside = parent.blank_beside.max(self.blank_height);
            self.blank_height = done.blank_outside;
        }
        if !inline && bounds.is_inline_level && parent.bounds.is_unbroken {
            *run = done.run_before;
            run.blank += largest(style.get(L::Width)).max(largest(style.get(L::MinWidth)))
                + bounds.horizontal_space;
        } else if !inline {
            *run = UnbrokenRun::default();
        }
        let needed = metrics.min_width.max(
            largest(style.get(L::Width)).min(largest_or(style.get(L::MaxWidth), f32::INFINITY)),
        );
        let mut needed = needed.max(largest(style.get(L::MinWidth))) + bounds.horizontal_space;
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
            into.generates |= metrics.generates;
            into.complex |= metrics.complex || done.movement.doubt.is_some();
            return;
        }
        let beside = display.may(|value| matches!(value, Value::Display(Display::Cell)))
            || outer.may(|value| matches!(value, Value::Display(Display::Row)))
                && display.may(|value| !matches!(value, Value::Display(Display::Row)))
            || parent
                .style
                .get(L::Display)
                .may(|value| matches!(value, Value::Display(inner) if inner.is_flex()));
        if outer.may(|value| matches!(value, Value::Display(outer) if outer.is_flex())) {
            // Items may keep the size that they ask for.
            for longhand in [L::Width, L::MinWidth, L::FlexBasis] {
                needed = needed.max(largest_in(style.get(longhand), MIN_WINDOW_WIDTH_PX));
            }
        }
        if display.may(|value| matches!(value, Value::Display(Display::Cell))) {
            needed += done.cell_space;
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
        if !inline && bounds.is_inline_level && parent.bounds.is_unbroken {
            parent.beside += needed;
        }
        let into = &mut parent.metrics;
        into.text_width += metrics.text_width;
        if inline {
            into.text_width += bounds.horizontal_space;
            // A word that is raised or lowered makes its line higher.
            if *style.get(L::VerticalAlign) != PossibleValues::One(Value::Px(0.0)) {
                into.fixed_height += bounds.font * LINE_SHIFT;
            }
        }
        into.lines += metrics.lines;
        into.line = into.line.max(metrics.line);
        // An empty box so high pushes what follows out of the window.
        let filled = metrics.fixed_height + (metrics.text_width / 800.0 + metrics.lines) * 10.0;
        let is_block = display.is(|value| matches!(value, Value::Display(Display::Block)));
        if height - filled > MAX_BOX_HEIGHT_PX {
            if is_block.is_certain() {
                self.blank_height = self.blank_height.max(height - filled);
            } else {
                self.doubt = self.doubt.or(Some(Reason::OffPage));
            }
        }
        into.fixed_height += metrics.fixed_height + bounds.top_space + bounds.bottom_space + height;
        into.paints |= metrics.paints;
        into.generates |= metrics.generates;
        // Text in a narrower box takes more lines.
        let is_narrower = metrics.text_width > 0.0
            && !inline
            && (bounds.horizontal_space > 0.0 || bounds.has_width);
        into.complex |= metrics.complex
            || beside
            || is_narrower
            || done.movement.doubt.is_some()
            || done.movement.shifted
            || style.get(L::Float).may(|value| matches!(value, Value::On))
            || style
                .get(L::Position)
                .may(|value| !matches!(value, Value::Position(Position::Static)))
            || *style.get(L::Zoom) != PossibleValues::One(Value::Number(1.0));
    }
}

fn is_table_row(value: Value) -> bool {
    value == Value::Display(Display::Row)
}

/// Cells of a table row certainly stand beside each other.
fn is_cell_of_row(style: &Style, parent: &Style) -> bool {
    let is = |style: &Style, wanted| {
        let display = style.get(L::Display);
        display
            .is(|value| value == Value::Display(wanted))
            .is_certain()
    };
    is(style, Display::Cell) && is(parent, Display::Row)
}

/// Whether a picture may be so small that it only takes room.
fn is_spacer(style: &Style) -> bool {
    let sizes = [L::Width, L::Height, L::MaxWidth, L::MaxHeight];
    let is_small = |value: Value| {
        matches!(value, Value::Px(px) if px < MIN_PICTURE_PX)
            || matches!(value, Value::Percent(share) if share < 10.0)
    };
    sizes.iter().any(|size| style.get(*size).may(is_small))
}

fn measure_text(text: &str, frame: &mut StyleFrame, run: &mut UnbrokenRun) {
    let style = &frame.style;
    let bounds = &*frame.bounds;
    let (font, spacing) = (bounds.font, bounds.letter_spacing);
    let unbroken = bounds.is_unbroken;
    let metrics = &mut frame.metrics;
    let mut total = 0.0;
    if text.is_ascii() && !unbroken && !style.keeps_space {
        for (nth, word) in text.split_ascii_whitespace().enumerate() {
            if nth > 0 || text.starts_with(|char: char| char.is_ascii_whitespace()) {
                *run = UnbrokenRun::default();
            }
            let widths: f32 = word.bytes().map(letter_width).sum();
            let letters = widths * font + word.len() as f32 * spacing;
            run.width += letters;
            total += letters + BLANK_WIDTH * font + bounds.word_spacing;
            metrics.min_width = metrics.min_width.max(run.width);
        }
        if text.ends_with(|char: char| char.is_ascii_whitespace()) {
            *run = UnbrokenRun::default();
        }
        metrics.text_width += total;
        metrics.line = metrics.line.max(bounds.line_height);
        return;
    }
    let mut last = ' ';
    for char in text.chars() {
        let is_space = char.is_whitespace() && char != '\u{A0}';
        let is_line = char == '\n' && style.keeps_space;
        let width =
            font * match char {
                '\t' => 8.0,
                _ => u8::try_from(char).map_or(OTHER_WIDTH, letter_width),
            } + spacing;
        total += width;
        if is_blank(char) {
            total += bounds.word_spacing;
        }
        if is_space && (!unbroken || is_line) {
            *run = UnbrokenRun::default();
            metrics.lines += f32::from(u8::from(is_line));
            continue;
        }
        run.width += width;
        let is_kept = style.keeps_space || !is_folded(char) || !is_folded(last);
        if is_blank(char) && is_kept {
            run.blank += width;
        }
        if is_space {
            run.width += bounds.word_spacing;
        }
        if !is_space || is_kept {
            metrics.min_width = metrics.min_width.max(run.width);
        }
        if is_block_character(char) {
            (metrics.paints, metrics.paints_text) = (true, true);
        }
        last = char;
    }
    metrics.text_width += total;
    metrics.line = metrics.line.max(bounds.line_height);
}

/// The width of a letter in parts of the font size, in the widest of common fonts (Verdana and
/// Arial Black, bold).
fn letter_width(byte: u8) -> f32 {
    match byte {
        b' ' | b'\n' | b'\r' | 0xA0 => BLANK_WIDTH,
        b'm' | b'w' | b'M' | b'W' | b'@' => 1.1,
        b'%' => 1.3,
        b'a'..=b'z' | b'0'..=b'9' => 0.75,
        b'!'..=b'~' => 0.9,
        _ => OTHER_WIDTH,
    }
}

/// Characters that collapse into one space.
fn is_folded(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{C}')
}

/// Characters whose shape may fill their box.
pub(crate) fn is_block_character(char: char) -> bool {
    matches!(char, '\u{2500}'..='\u{27BF}' | '\u{2B00}'..='\u{2BFF}' | '\u{E000}'..='\u{F8FF}' | '\u{1F000}'..)
}

/// What an element needs by itself.
fn own_metrics(element: &Element, style: &Style, bounds: &StyleBounds) -> Metrics {
    let is_painted = elements::is_painted(element);
    let paints = is_painted || bounds.paints;
    let is_image = *element.local() == local_name!("img");
    // Other painted elements have sizes of their own.
    let is_replaced = is_painted && !is_image;
    let mut metrics = Metrics {
        paints,
        paints_text: paints,
        complex: is_replaced,
        min_width: if is_replaced {
            elements::replaced_width(element, bounds.font)
        } else {
            0.0
        },
        ..Metrics::default()
    };
    if is_image {
        // The text of a picture that is not loaded wraps like any other.
        let alt = element.attribute(&local_name!("alt")).unwrap_or_default();
        let width = largest(style.get(L::Width));
        let width_of = |text: &str| text.chars().count() as f32 * style.largest_font();
        let longest = if bounds.is_unbroken {
            width_of(alt)
        } else {
            alt.split_whitespace().map(width_of).fold(0.0, f32::max)
        };
        metrics.text_width = width_of(alt);
        metrics.min_width = if width > 0.0 { width } else { 40.0 + longest };
        metrics.line = style.largest_font().max(24.0) * 1.5;
        metrics.lines = 1.0;
    }
    metrics
}

//! Whether a reader sees the text of an element: hidden when something certainly hides it, visible
//! when nothing may, and uncertain otherwise.

use html5ever::local_name;

use crate::backdrop::{Backdrop, Contrast};
use crate::dom::{Dom, Element};
use crate::elements::Rendering;
use crate::layout::{BoxNode, MIN_READABLE_FONT_PX, MIN_WINDOW_WIDTH_PX, Page};
use crate::properties::{Longhand as L, PADDINGS, Reach};
use crate::style::{Display, Position, PossibleValues, Style, Value};
use crate::style_bounds::{
    HORIZONTAL_SIDES, MAX_SMALL_OFFSET_PX, MAX_WINDOW_WIDTH_PX, is_boxed, largest, line_height,
    smallest, smallest_font, space,
};
use crate::truth::Truth;
use crate::values::Rgba;
use crate::verdict::{Reason, Verdict};

/// Boxes up to this size show nothing.
const MAX_EMPTY_BOX_PX: f32 = 1.0;
/// Absolute font sizes up to this one are hidden.
const MAX_HIDDEN_FONT_PX: f32 = 2.0;
/// Larger letters do not fit into a window.
const MAX_FONT_PX: f32 = 200.0;
/// Boxes wider than this may reach beyond the window.
const MAX_BOX_WIDTH_PX: f32 = 900.0;
/// Opacity up to this one shows nothing.
const MAX_INVISIBLE_OPACITY: f32 = 0.03;

/// What stands between the edges of a box and its text.
const FRAME_WIDTHS: &[L] = &[
    L::PaddingLeft,
    L::PaddingRight,
    L::BorderLeft,
    L::BorderRight,
];
const FRAME_HEIGHTS: &[L] = &[
    L::PaddingTop,
    L::PaddingBottom,
    L::BorderTop,
    L::BorderBottom,
];

/// The state that an element passes to its descendants.
#[derive(Clone, Debug)]
pub(crate) struct VisibilityContext {
    /// Why all descendants are hidden, whatever their own style.
    hidden: Option<Reason>,
    /// Why descendants are clipped; positioned descendants may escape.
    clipped: Option<Reason>,
    doubt: Option<Reason>,
    /// Lower and upper bound.
    opacity: (f32, f32),
    scale: (f32, f32),
    /// The backdrop of text in normal flow.
    backdrop: Backdrop,
    /// The backdrop of blocks inside inline boxes, and of floats.
    block_backdrop: Backdrop,
    float_backdrop: Backdrop,
    /// The backdrop of the containing box.
    outer_backdrop: Backdrop,
    /// The font size of the inline box that painted the backdrop.
    backdrop_font: f32,
    /// The display of the box around.
    display: PossibleValues,
    /// A bound from below of the width of the box around.
    width: f32,
    /// The height of the box around may be given.
    definite_height: bool,
    /// Text may stand on the right of a box that is wider than the window.
    wide: bool,
    /// The page has no doctype: percentages of heights are of the window.
    quirks: bool,
    /// Styles of the page do not reach into its shadow roots: nothing is certainly hidden.
    has_shadow_roots: bool,
    /// Attributes of drawings, or a rule for a part of the element, may show the text.
    has_other_styles: bool,
    root_clips: bool,
    root_paints: bool,
    /// Some box around may cut off what it holds.
    clips: bool,
    /// A bound of the width of the table around.
    table_width: f32,
    /// Columns of the table around do not grow.
    fixed_table: bool,
    /// The cells around are as wide as their table.
    has_one_column: bool,
    /// Upper bound on the width of preceding boxes in the row.
    offset: f32,
    /// The space on the left of all boxes around, and how far they are out of their places.
    indent: f32,
    right_indent: f32,
    moved: f32,
    /// Text may be where other boxes are: in a float, or beyond the box around.
    strays: bool,
    /// Text may reach beyond the box around.
    spills: bool,
    /// Its own box may be narrower than its text.
    is_narrow: bool,
    /// Some box around is positioned.
    is_positioned: bool,
    /// Some box of the page floats.
    page_floats: bool,
    /// Some box of the page paints.
    page_paints: bool,
    /// Some box floats over the background of a box that does not hold it.
    floats_over_paint: bool,
    floats: bool,
}

impl VisibilityContext {
    pub(crate) fn new(dom: &Dom, page: &Page) -> Self {
        Self {
            hidden: None,
            clipped: None,
            doubt: None,
            opacity: (1.0, 1.0),
            scale: (1.0, 1.0),
            backdrop: Backdrop::white(),
            block_backdrop: Backdrop::white(),
            float_backdrop: Backdrop::white(),
            outer_backdrop: Backdrop::white(),
            backdrop_font: 0.0,
            display: PossibleValues::One(Value::Display(Display::Block)),
            width: MIN_WINDOW_WIDTH_PX,
            definite_height: false,
            wide: false,
            quirks: dom.is_quirky(),
            has_shadow_roots: dom.has_shadow_roots(),
            has_other_styles: false,
            root_clips: false,
            root_paints: false,
            clips: false,
            table_width: 0.0,
            fixed_table: false,
            has_one_column: false,
            offset: 0.0,
            indent: 0.0,
            right_indent: 0.0,
            moved: 0.0,
            strays: false,
            spills: false,
            is_narrow: false,
            is_positioned: false,
            page_floats: page.floats,
            page_paints: page.paints,
            floats_over_paint: page.floats_over_paint,
            floats: false,
        }
    }

    /// Why everything inside is hidden.
    pub(crate) fn hidden(&self) -> Option<Reason> {
        self.hidden.or(self.clipped)
    }

    /// Hides everything inside.
    pub(crate) fn hide(&mut self, reason: Reason) {
        if self.has_shadow_roots {
            self.doubt(reason);
        } else {
            self.hidden = self.hidden.or(Some(reason));
        }
    }

    pub(crate) fn doubt(&mut self, reason: Reason) {
        self.doubt = self.doubt.or(Some(reason));
    }

    fn suspect(&mut self, may: Truth, reason: Reason) {
        if may.may() {
            self.doubt(reason);
        }
    }

    /// The context inside an element.
    pub(crate) fn inside(&self, element: &Element, node: &BoxNode) -> Self {
        let style = &*node.style;
        let mut inner = self.clone();
        inner.has_other_styles |= !element.is_html() || node.styled_part;
        match node.rendering {
            Rendering::Fallback => inner.hide(Reason::NotRendered),
            Rendering::Unknown => inner.doubt(Reason::Element),
            Rendering::Text => {}
        }
        if let Some(reason) = node.doubt {
            inner.doubt(reason);
        }
        inner.offset += node.offset;
        inner.indent += node.indent;
        inner.right_indent += node.right_indent;
        inner.moved += node.moved;
        if inner.offset * 0.75 + inner.indent > MIN_WINDOW_WIDTH_PX {
            inner.doubt(Reason::OffPage);
        }
        // Another row may make the columns on the left wider.
        if node.offset > 0.0 && self.table_width > MAX_WINDOW_WIDTH_PX {
            inner.doubt(Reason::OffPage);
        }
        if inner.moved > MAX_SMALL_OFFSET_PX {
            inner.doubt(Reason::Moved);
        }
        let is_right = inner.floats
            || node.is_rtl
            || style.get(L::Float).may(|value| matches!(value, Value::On))
            || style
                .get(L::TextAlign)
                .may(|value| matches!(value, Value::On));
        if is_right && (self.wide || inner.right_indent > MIN_WINDOW_WIDTH_PX) {
            inner.doubt(Reason::OffPage);
        }
        let display = style.get(L::Display);
        let none = display.is(|value| matches!(value, Value::Display(Display::None)));
        let column = display.is(|value| matches!(value, Value::Display(Display::Column)));
        if none.or(column).is_certain() {
            inner.hide(Reason::Display);
            return inner;
        }
        inner.suspect(none.or(column), Reason::Display);
        // A box of the flow that changes nothing, with the font of the paper.
        let flat = self.backdrop_font > 0.0 && style.largest_font() > self.backdrop_font * 1.3;
        if !style.has_own() && !flat && !node.shifted {
            inner.display = display.clone();
            inner.outer_backdrop = self.backdrop.clone();
            return inner;
        }
        let boxed = is_boxed(style, &self.display);
        let skipped = style
            .get(L::ContentVisibility)
            .is(|value| matches!(value, Value::On));
        let is_table = display
            .may(|value| matches!(value, Value::Display(display) if display.is_table_part()));
        if skipped.and(boxed).is_certain() && !is_table {
            inner.hide(Reason::Display);
        }
        inner.suspect(skipped, Reason::Display);
        inner.opacity = scaled(self.opacity, style.get(L::Opacity), |value| value);
        // What has no box has no opacity either.
        let boxless = display.is(|value| matches!(value, Value::Display(Display::Contents)));
        if boxless.may() {
            inner.opacity.1 = self.opacity.1;
        }
        inner.scale = scaled(self.scale, style.get(L::Zoom), |value| {
            if value > 0.0 { value } else { 1.0 }
        });
        if style.get(L::Zoom).is_any() {
            inner.doubt(Reason::Property("zoom"));
        }
        inner.place(style, node);
        inner.is_positioned |= style
            .get(L::Position)
            .may(|value| !matches!(value, Value::Position(Position::Static)));
        // The overflow of the root is the window's, and so is that of the body when the root has
        // none.
        let is_root = element.is_html() && *element.local() == local_name!("html");
        let is_body = element.is_html() && *element.local() == local_name!("body");
        if is_root {
            inner.root_paints = node.paints;
            inner.root_clips = style
                .get(L::OverflowX)
                .may(|value| matches!(value, Value::On))
                || style
                    .get(L::OverflowY)
                    .may(|value| matches!(value, Value::On));
        }
        let overflows = if is_root || is_body && !self.root_clips {
            let mut clipped = inner.clone();
            let overflows = clipped.clip(self, style, node, boxed);
            inner.width = clipped.width;
            inner.wide |= clipped.wide;
            inner.definite_height |= style
                .get(L::Height)
                .may(|value| !matches!(value, Value::Auto));
            // The background of the body is that of the window, unless the root has one.
            Truth::of(is_body && self.root_paints).and(overflows)
        } else {
            inner.clip(self, style, node, boxed)
        };
        inner.spills |= overflows.may();
        inner.strays |=
            overflows.may() || style.get(L::Float).may(|value| matches!(value, Value::On));
        inner.paint(self, element, node, boxed, overflows);
        if display.may(|value| !matches!(value, Value::Display(Display::Contents))) {
            inner.display = display.clone();
        }
        inner
    }

    /// Applies positioning: positioned boxes leave the flow and the clip of their ancestors.
    fn place(&mut self, style: &Style, node: &BoxNode) {
        let position = style.get(L::Position);
        let absolute = position.is(|value| matches!(value, Value::Position(Position::Absolute)));
        if !absolute.may() {
            return;
        }
        if let Some(reason) = self.clipped.take() {
            self.doubt(reason);
        }
        // Far to the left of the page, where no scrolling reaches, and with less text than would
        // reach back.
        let left = style
            .get(L::Left)
            .is(|value| matches!(value, Value::Px(px) if px <= -5_000.0));
        let short = node.metrics.text_width + node.metrics.min_width < 2_000.0;
        let moved_only = matches!(node.doubt, Some(Reason::Moved));
        let sets = [L::Display, L::Position, L::Left, L::Top];
        let is_plain = style.sets_only(sets.iter().fold(0, |all, one| all | one.bit()));
        if absolute.and(left).is_certain()
            && !self.is_positioned
            && is_plain
            && short
            && moved_only
            && !node.moves_content
        {
            self.hide(Reason::OffPage);
        }
    }

    /// Sizes that cut off what they hold. Returns whether text may reach beyond the box.
    fn clip(&mut self, around: &Self, style: &Style, node: &BoxNode, boxed: Truth) -> Truth {
        if !boxed.may() {
            return Truth::No;
        }
        let display = style.get(L::Display);
        let is_cell = display
            .is(|value| matches!(value, Value::Display(display) if display.is_table_part()))
            .and(
                style
                    .get(L::Float)
                    .is(|value| matches!(value, Value::On))
                    .not(),
            )
            .and(
                style
                    .get(L::Position)
                    .is(|value| matches!(value, Value::Position(Position::Absolute)))
                    .not(),
            );
        let clips = style
            .get(L::OverflowX)
            .is(|value| matches!(value, Value::On))
            .or(style
                .get(L::OverflowY)
                .is(|value| matches!(value, Value::On)));
        let radius = style
            .not_understood
            .iter()
            .any(|one| one.reach == Reach::Clip && one.own);
        if radius {
            self.suspect(clips, Reason::Clipped);
        }
        let in_flex = around
            .display
            .is(|value| matches!(value, Value::Display(display) if display.is_flex()));
        // A cell that clips is no wider than it may be.
        let widest = smallest(style.get(L::MaxWidth));
        if widest.is_some_and(|widest| node.metrics.min_width > widest) {
            self.suspect(clips, Reason::Clipped);
        }
        // A flex item that clips, or has a least width of its own, may be as small as nothing.
        self.suspect(clips.and(in_flex), Reason::Clipped);
        let may_shrink = in_flex.and(
            style
                .get(L::MinWidth)
                .is(|value| !matches!(value, Value::Auto)),
        );
        let widths = [L::Width, L::MaxWidth].map(|longhand| style.get(longhand));
        let heights = [L::Height, L::MaxHeight].map(|longhand| style.get(longhand));
        let is_nothing = |value: Value| match value {
            Value::Px(px) => px <= MAX_EMPTY_BOX_PX,
            _ => false,
        };
        let nothing =
            |sizes: [&PossibleValues; 2]| sizes[0].is(is_nothing).or(sizes[1].is(is_nothing));
        let no_padding = PADDINGS.iter().fold(Truth::Yes, |all, side| {
            all.and(
                style
                    .get(*side)
                    .is(|value| matches!(value, Value::Px(px) if px <= MAX_EMPTY_BOX_PX)),
            )
        });
        let no_least = |longhand: L| {
            style
                .get(longhand)
                .is(|value| value == Value::Auto || is_nothing(value))
        };
        let gone = nothing(widths)
            .and(no_least(L::MinWidth))
            .or(nothing(heights).and(no_least(L::MinHeight)))
            .and(no_padding)
            .and(in_flex.not())
            .and(Truth::of(node.keeps_content).not())
            .and(clips)
            .and(boxed)
            .and(is_cell.not());
        if gone.is_certain() && !self.has_shadow_roots {
            self.clipped = self.clipped.or(Some(Reason::ZeroBox));
        }
        // Tables grow with what they hold, unless their layout is fixed.
        let is_table = display
            .may(|value| matches!(value, Value::Display(Display::Table | Display::InlineTable)));
        if is_table {
            self.table_width = node.metrics.min_width;
            self.fixed_table = style
                .get(L::TableLayout)
                .may(|value| matches!(value, Value::On));
        }
        let fixed = self.fixed_table;
        self.clips |= clips.may();
        let (width, has_width) = used_width(widths, around.width);
        // A box of no width of its own, or in a table or a row, is as narrow as those around leave.
        let is_auto = style
            .get(L::Width)
            .may(|value| matches!(value, Value::Auto));
        let shrinks = is_auto
            && (style.get(L::Float).may(|value| matches!(value, Value::On))
                || style
                    .get(L::Position)
                    .may(|value| matches!(value, Value::Position(Position::Absolute)))
                || display.may(|value| {
                    matches!(
                        value,
                        Value::Display(
                            Display::InlineBlock | Display::InlineTable | Display::InlineFlex
                        )
                    )
                }));
        let in_one_column = self.has_one_column;
        if is_table {
            self.has_one_column = node.has_one_column && !is_auto;
        } else if !display
            .is(|value| value == Value::Display(Display::Row))
            .is_certain()
        {
            self.has_one_column = false;
        }
        let may_shrink_cell = is_cell.may() && !in_one_column && (is_auto || !is_table);
        self.width = if may_shrink_cell || in_flex.may() || shrinks {
            self.width.min(node.metrics.min_width)
        } else {
            self.width - space(style, HORIZONTAL_SIDES).min(self.width)
        };
        if has_width && (!is_cell.is_certain() || fixed) {
            self.width = width;
        } else if is_cell.may() {
            self.width = self.width.min(width);
        }
        let least_width = largest(style.get(L::MinWidth));
        if has_width && width > MAX_BOX_WIDTH_PX || least_width > MAX_BOX_WIDTH_PX {
            self.wide = true;
            self.doubt(Reason::OffPage);
        }
        // A table is as wide as what it holds.
        self.wide |= is_cell.may() && node.metrics.min_width > MAX_WINDOW_WIDTH_PX;
        let floats_own = style.get(L::Float).may(|value| matches!(value, Value::On));
        self.definite_height = heights[0].may(|value| !matches!(value, Value::Auto));
        let inner_width = if has_width { width } else { self.width };
        let wide = if has_width && (!is_cell.is_certain() || fixed) {
            let padding = space(style, FRAME_WIDTHS);
            // A table grows with what it holds.
            let grows = display
                .is(|value| matches!(value, Value::Display(Display::Table | Display::InlineTable)));
            Truth::of(node.metrics.min_width + padding > width)
                .and(Truth::of(fixed).or(grows.not()))
                .and(Truth::Unknown)
        } else if fixed && is_cell.may() {
            Truth::Unknown
        } else {
            Truth::No
        };
        let definite = heights.iter().any(|height| {
            height.may(|value| match value {
                Value::Px(_) => true,
                Value::Percent(percent) => {
                    around.definite_height || around.quirks && percent < 50.0
                }
                _ => false,
            })
        });
        let height = heights
            .into_iter()
            .filter_map(smallest)
            .fold(f32::INFINITY, f32::min);
        let height = if heights
            .iter()
            .any(|height| height.may(|value| matches!(value, Value::Percent(_))))
        {
            0.0
        } else {
            height
        };
        let padding = space(style, FRAME_HEIGHTS);
        let high = if definite && !is_cell.is_certain() {
            let fits = !self.page_floats && node.metrics.height_in(inner_width) + padding <= height;
            Truth::of(!fits).and(Truth::Unknown)
        } else {
            Truth::No
        };
        // What overflows an alignment that is not at the start is out of the window.
        let is_aligned = node.is_rtl
            || style
                .not_understood
                .iter()
                .any(|one| one.own && one.reach == Reach::Overflow);
        let overflowing = wide.or(high).may() || node.metrics.min_width > MIN_WINDOW_WIDTH_PX;
        let is_wide_float = floats_own && has_width && width > around.width;
        if is_aligned && overflowing || is_wide_float {
            self.doubt(Reason::OffPage);
        }
        // Beyond the right side of a box on the right is beyond the window.
        self.floats |= floats_own;
        if self.floats && wide.may() {
            self.doubt(Reason::OffPage);
        }
        let overflows = wide.or(high).or(gone).or(may_shrink.and(Truth::Unknown));
        self.suspect(clips.and(overflows), Reason::Clipped);
        // A box of no width of its own is as narrow as the box around.
        let is_narrow = Truth::of(node.metrics.min_width > self.width);
        self.suspect(clips.and(is_narrow), Reason::Clipped);
        // A box that clips stands beside those that float, in what they leave of the line.
        let beside_float = Truth::of(self.page_floats && !has_width);
        self.suspect(clips.and(beside_float), Reason::Clipped);
        self.suspect(
            clips.and(Truth::of(node.metrics.generates)),
            Reason::Clipped,
        );
        // Columns of a fixed layout do not grow with what they hold.
        if clips.may() && fixed && (is_cell.may() || !has_width) {
            self.doubt(Reason::Clipped);
        }
        self.is_narrow = is_narrow.may() && !has_width && !is_cell.is_certain();
        overflows
    }

    /// Updates the backdrop with the background of the element.
    fn paint(
        &mut self,
        around: &Self,
        element: &Element,
        node: &BoxNode,
        boxed: Truth,
        overflows: Truth,
    ) {
        let style = &*node.style;
        let display = style.get(L::Display);
        let floats = style.get(L::Float).is(|value| matches!(value, Value::On));
        let absolute = style
            .get(L::Position)
            .is(|value| matches!(value, Value::Position(Position::Absolute)));
        let inline = display
            .is(|value| matches!(value, Value::Display(Display::Inline)))
            .and(boxed.not());
        self.outer_backdrop = around.backdrop.clone();
        // What lies behind the box itself.
        let mut backdrop = around.backdrop.clone();
        let over_paint = floats.may() && self.floats_over_paint;
        if absolute.may() || node.shifted || over_paint {
            backdrop = backdrop.recolored();
        } else if floats.may() {
            backdrop = around.float_backdrop.clone();
        } else if !inline.is_certain() {
            let in_inline = around
                .display
                .may(|value| matches!(value, Value::Display(Display::Inline)));
            if in_inline {
                backdrop = backdrop.union(&around.block_backdrop);
            }
        }
        let is_outside = display.may(|value| matches!(value, Value::Display(Display::Caption)))
            || *element.local() == local_name!("legend");
        if is_outside {
            backdrop = backdrop.union(&around.outer_backdrop);
        }
        // Words at the top or the bottom of a line may stand beyond the background of others.
        let is_aligned = style
            .get(L::VerticalAlign)
            .may(|value| matches!(value, Value::On));
        if inline.may() && is_aligned {
            backdrop = backdrop.union(&around.block_backdrop);
        }
        let behind = backdrop.clone();
        let has_box = display
            .is(|value| matches!(value, Value::Display(Display::None | Display::Contents)))
            .not();
        backdrop = backdrop.painted(
            style.get(L::BackgroundColor),
            style.get(L::Color),
            style.get(L::BackgroundImage),
            style.get(L::BackgroundArea),
        );
        // A hidden box paints no background, and what it holds may be visible.
        let hidden = style
            .get(L::Visibility)
            .may(|value| matches!(value, Value::On));
        if overflows.may() && self.page_paints {
            backdrop = backdrop.recolored();
        } else if !has_box.is_certain() || overflows.may() || self.is_narrow || hidden {
            backdrop = backdrop.union(&behind);
        }
        let changed = backdrop != behind;
        let font = style.largest_font();
        // The background of a line is as high as its own font, and the text inside may be higher.
        if inline.may() {
            if changed {
                self.backdrop_font = smallest_font(style);
            } else if font > self.backdrop_font * 1.3 && self.backdrop_font > 0.0 {
                backdrop = backdrop.union(&around.block_backdrop);
            }
            self.backdrop = backdrop;
            return;
        }
        if line_is_flat(style) && self.page_paints {
            backdrop = backdrop.recolored();
        }
        self.backdrop_font = 0.0;
        self.block_backdrop = backdrop.clone();
        let is_root = floats
            .or(display.is(|value| {
                matches!(
                    value,
                    Value::Display(
                        Display::Cell
                            | Display::InlineBlock
                            | Display::Flex
                            | Display::InlineFlex
                            | Display::Caption
                            | Display::Table
                    )
                )
            }))
            .or(style
                .get(L::OverflowX)
                .is(|value| matches!(value, Value::On)));
        self.float_backdrop = if is_root.is_certain() && !absolute.may() {
            backdrop.clone()
        } else {
            around.float_backdrop.union(&backdrop)
        };
        let is_page = *element.local() == local_name!("body") && !around.root_paints
            || *element.local() == local_name!("html");
        if is_page {
            self.float_backdrop = backdrop.clone();
        }
        self.backdrop = backdrop;
    }

    /// The verdict on text directly in an element with this style.
    pub(crate) fn verdict(&self, style: &Style, page: &Page) -> Verdict {
        match self.verdict_in_flow(style, page) {
            Verdict::Hidden(reason) if self.has_shadow_roots => Verdict::Uncertain(reason),
            Verdict::Hidden(reason @ (Reason::Visibility | Reason::Transparent))
                if self.has_other_styles =>
            {
                Verdict::Uncertain(reason)
            }
            verdict => verdict,
        }
    }

    fn verdict_in_flow(&self, style: &Style, page: &Page) -> Verdict {
        if let Some(reason) = self.hidden.or(self.clipped) {
            return Verdict::Hidden(reason);
        }
        let mut doubt = self.doubt;
        match style
            .get(L::Visibility)
            .is(|value| matches!(value, Value::On))
        {
            Truth::Yes => return Verdict::Hidden(Reason::Visibility),
            Truth::Unknown => doubt = doubt.or(Some(Reason::Visibility)),
            Truth::No => {}
        }
        if self.opacity.1 <= MAX_INVISIBLE_OPACITY {
            return Verdict::Hidden(Reason::Transparent);
        }
        let fonts = style.get(L::FontSize);
        let tiny = fonts.is(|value| match value {
            Value::Font { px, absolute } => {
                px <= 0.0 || absolute && px * self.scale.1 <= MAX_HIDDEN_FONT_PX
            }
            _ => false,
        });
        let largest = style.largest_font() * self.scale.1;
        let is_zoomed_out = self.scale.1 < 0.1;
        let is_tiny = tiny.is_certain() || is_zoomed_out && largest <= MAX_HIDDEN_FONT_PX;
        if is_tiny && doubt.is_none() {
            return Verdict::Hidden(Reason::TinyFont);
        }
        let small = fonts.may(|value| match value {
            Value::Font { px, .. } => {
                px * self.scale.0 < MIN_READABLE_FONT_PX || px * self.scale.1 > MAX_FONT_PX
            }
            _ => true,
        });
        if small || is_zoomed_out {
            doubt = doubt.or(Some(Reason::TinyFont));
        }
        match self.contrast(style) {
            // A filter, or something behind the text, may give it another color.
            Contrast::None(Reason::SameColor) if doubt.is_some() || page.doubt().is_some() => {
                doubt = doubt.or(page.doubt());
            }
            Contrast::None(reason) => return Verdict::Hidden(reason),
            Contrast::Doubtful => doubt = doubt.or(Some(Reason::SameColor)),
            Contrast::Clear => {}
        }
        let mut suspect = |reason: Reason| doubt = doubt.or(Some(reason));
        let font = style.largest_font().max(1.0);
        let spacing = style.get(L::LetterSpacing);
        if spacing.may(|value| matches!(value, Value::Px(px) if px < -0.2 * font || px > 60.0))
            || spacing.is_any()
        {
            suspect(Reason::Property("letter-spacing"));
        }
        let spacing = style.get(L::WordSpacing);
        if spacing.may(|value| matches!(value, Value::Px(px) if !(-5.0..=60.0).contains(&px)))
            || spacing.is_any()
        {
            suspect(Reason::Property("word-spacing"));
        }
        if style.get(L::WhiteSpace).is_any() || style.get(L::TextIndent).is_any() {
            suspect(Reason::Property("white-space"));
        }
        if style
            .get(L::TextStroke)
            .may(|value| matches!(value, Value::On))
        {
            suspect(Reason::Property("-webkit-text-stroke"));
        }
        let indented = style
            .get(L::TextIndent)
            .may(|value| !matches!(value, Value::Px(px) if px == 0.0));
        if self.clips && (indented || line_is_flat(style)) {
            suspect(Reason::Clipped);
        }
        if self.strays && page.lifted_paint || (self.spills || line_is_flat(style)) && page.paints {
            suspect(Reason::Covered);
        }
        match doubt.or(page.doubt()) {
            Some(reason) => Verdict::Uncertain(reason),
            None => Verdict::Visible,
        }
    }

    /// Whether pictures are seen here: they have neither color nor font.
    pub(crate) fn picture_verdict(&self, style: &Style, page: &Page) -> Verdict {
        match self.verdict(style, page) {
            Verdict::Hidden(Reason::TinyFont | Reason::SameColor) => {
                Verdict::Uncertain(Reason::SameColor)
            }
            other => other,
        }
    }

    fn contrast(&self, style: &Style) -> Contrast {
        let fill = style.get(L::TextFill);
        let color = style.get(L::Color);
        let mut inks: Vec<Rgba> = Vec::new();
        let (Some(fills), Some(colors)) = (fill.values(), color.values()) else {
            return Contrast::Doubtful;
        };
        for fill in fills {
            match fill {
                Value::Color(rgba) => inks.push(*rgba),
                _ => inks.extend(colors.iter().filter_map(|color| match color {
                    Value::Color(rgba) => Some(*rgba),
                    _ => None,
                })),
            }
        }
        let found = self.backdrop.contrast(&inks, self.opacity);
        let outlined = [L::TextShadow, L::TextStroke]
            .iter()
            .any(|outline| style.get(*outline).may(|value| matches!(value, Value::On)));
        match found {
            Contrast::None(_) if outlined => Contrast::Doubtful,
            other => other,
        }
    }
}

/// Whether lines may be lower than their letters, so that the box may be too.
fn line_is_flat(style: &Style) -> bool {
    let font = style.largest_font();
    let flat = style.get(L::LineHeight).may(|value| match value {
        Value::Px(px) => px < font * 0.7,
        Value::Number(times) => times < 0.7,
        _ => false,
    });
    flat || line_height(style).is_infinite()
}

/// The used width of a box, and whether it is given at all.
fn used_width(widths: [&PossibleValues; 2], around: f32) -> (f32, bool) {
    let mut width = around;
    let mut given = false;
    for size in widths {
        match size.values() {
            None => (width, given) = (0.0, true),
            Some(values) => {
                for value in values {
                    match value {
                        Value::Px(px) => {
                            width = if given || *px < around {
                                width.min(*px)
                            } else {
                                *px
                            };
                            given = true;
                        }
                        Value::Percent(percent) if *percent < 100.0 => {
                            width = width.min(around * percent / 100.0);
                            given = true;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    (width, given)
}

fn scaled(by: (f32, f32), value: &PossibleValues, map: impl Fn(f32) -> f32) -> (f32, f32) {
    let Some(values) = value.values() else {
        return (0.0, by.1);
    };
    let numbers = values.iter().map(|value| match value {
        Value::Number(number) => map(*number),
        _ => 1.0,
    });
    let (least, most) = numbers.fold((f32::INFINITY, 0.0_f32), |(least, most), number| {
        (least.min(number), most.max(number))
    });
    (by.0 * least, by.1 * most)
}

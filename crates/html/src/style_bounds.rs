//! Bounds that follow from a style alone, whatever its box holds: sizes, space, what may be moved
//! or painted over.
//!
//! INVARIANT: sizes are bounds from above.

use crate::properties::{Longhand as L, PADDINGS, Reach};
use crate::style::{Display, Position, PossibleValues, Style, Value};
use crate::truth::Truth;
use crate::verdict::Reason;

/// Offsets that keep a box on its own background.
const MAX_HARMLESS_OFFSET_PX: f32 = 5.0;
pub(crate) const MAX_WINDOW_WIDTH_PX: f32 = 1400.0;
/// Offsets that keep text at its place.
pub(crate) const MAX_SMALL_OFFSET_PX: f32 = 20.0;
/// Height of the letters of a line in parts of the font size.
const LETTER_HEIGHT: f32 = 1.2;
/// Space that may push text out of its box or window.
pub(crate) const MAX_SPACING_PX: f32 = 400.0;
/// Properties that are not computed and that paint.
const PAINTING: [&str; 5] = [
    "filter",
    "backdrop-filter",
    "-webkit-box-reflect",
    "border-image",
    "border-image-source",
];

/// The bounds of one style, which all elements with it share.
pub(crate) struct StyleBounds {
    pub movement: Movement,
    /// Margins, paddings and borders at the left and right together, and at single sides.
    pub horizontal_space: f32,
    pub left_space: f32,
    pub right_space: f32,
    pub top_space: f32,
    pub bottom_space: f32,
    pub line_height: f32,
    /// How far letters may stand out of their line.
    pub line_overlap: f32,
    pub font: f32,
    /// From below.
    pub smallest_font: f32,
    pub letter_spacing: f32,
    pub word_spacing: f32,
    pub line_reach: f32,
    /// The height that is asked for.
    pub height: f32,
    /// It may have a width of its own.
    pub has_width: bool,
    /// How far negative margins pull what follows up, or to the left.
    pub pulled_up: f32,
    pub pulled_aside: f32,
    /// Lines may not break at blanks.
    pub is_unbroken: bool,
    /// Certainly in a line, without a box of its own.
    pub is_inline: bool,
    pub is_inline_level: bool,
    /// Certainly not rendered.
    pub is_gone: bool,
    /// Paints something besides letters.
    pub paints: bool,
    /// Painted above boxes of the flow.
    pub is_lifted: bool,
    /// Certainly stands beside boxes that float, and holds those inside.
    pub holds_floats: bool,
    /// Lengths in here may be larger than they are given.
    pub is_zoomed: bool,
    /// A column that hides, colors or narrows the cells it stands for, which are not looked up.
    pub styles_column: bool,
}

impl StyleBounds {
    pub(crate) fn of(style: &Style) -> Self {
        let movement = movement(style);
        let display = style.get(L::Display);
        let is_inline_level =
            display.may(|value| matches!(value, Value::Display(inner) if inner.is_inline_level()));
        let pulled = |sides: [L; 2]| {
            sides
                .map(|side| negative_part(style.get(side)))
                .iter()
                .sum()
        };
        let floats = style.get(L::Float).may(|value| matches!(value, Value::On));
        Self {
            paints: paints(style, &movement),
            movement,
            horizontal_space: space(style, HORIZONTAL_SIDES),
            left_space: space(style, LEFT_SIDES),
            right_space: space(style, RIGHT_SIDES),
            top_space: space(style, TOP_SIDES),
            bottom_space: space(style, BOTTOM_SIDES),
            line_height: line_height(style),
            line_overlap: line_overlap(style),
            font: style.largest_font(),
            smallest_font: smallest_font(style),
            letter_spacing: largest(style.get(L::LetterSpacing)).max(0.0),
            word_spacing: largest(style.get(L::WordSpacing)).max(0.0),
            line_reach: line_reach(style),
            height: largest(style.get(L::Height)).max(largest(style.get(L::MinHeight))),
            has_width: [L::Width, L::MaxWidth]
                .iter()
                .any(|width| *style.get(*width) != PossibleValues::One(Value::Auto)),
            pulled_up: pulled([L::MarginTop, L::MarginBottom]),
            pulled_aside: if is_inline_level || floats {
                pulled([L::MarginLeft, L::MarginRight])
            } else {
                0.0
            },
            is_unbroken: style
                .get(L::WhiteSpace)
                .may(|value| matches!(value, Value::On)),
            is_inline: display
                .is(|value| matches!(value, Value::Display(Display::Inline | Display::Contents)))
                .is_certain(),
            is_inline_level,
            is_gone: display
                .is(|value| matches!(value, Value::Display(Display::None)))
                .is_certain(),
            is_lifted: style
                .get(L::Position)
                .may(|value| !matches!(value, Value::Position(Position::Static)))
                || *style.get(L::Opacity) != PossibleValues::One(Value::Number(1.0))
                || style.not_understood.iter().any(|one| one.own),
            holds_floats: display
                .is(|value| matches!(value, Value::Display(inner) if inner.holds_floats()))
                .or(style.get(L::Float).is(|value| matches!(value, Value::On)))
                .is_certain(),
            is_zoomed: style
                .get(L::Zoom)
                .may(|value| !matches!(value, Value::Number(times) if times <= 1.0)),
            styles_column: is_styled_column(style),
        }
    }
}

/// What a style may do to the place of a box.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Movement {
    pub doubt: Option<Reason>,
    /// How far it may be painted over other text, in pixels.
    pub reach: f32,
    /// It may be a little beside its place.
    pub shifted: bool,
    /// By how much, in pixels.
    pub moved: f32,
}

impl Movement {
    pub(crate) fn doubt(&mut self, reason: Reason) {
        self.doubt = self.doubt.or(Some(reason));
    }
}

/// Whether a box paints something besides the letters in it.
fn paints(style: &Style, movement: &Movement) -> bool {
    let painted = |value: Value| match value {
        Value::Color(color) => color.alpha > if movement.reach > 0.0 { 0.0 } else { 0.05 },
        Value::CurrentColor => true,
        _ => false,
    };
    // Thin lines cover text only where several of them are moved over it.
    let thin = if movement.reach > 0.0 { 0.0 } else { 2.0 };
    let set = |longhand: L| {
        style
            .get(longhand)
            .may(|value| !matches!(value, Value::Auto))
    };
    style.get(L::BackgroundColor).may(painted)
        || set(L::BackgroundImage)
        || set(L::BoxShadow)
        || largest(style.get(L::OutlineWidth)) > 0.0
        || style.get(L::TextShadow).is_any()
        || style
            .get(L::TextStroke)
            .may(|value| matches!(value, Value::On))
        || style
            .not_understood
            .iter()
            .any(|one| one.own && PAINTING.contains(&one.name))
        || BORDERS.iter().any(|side| largest(style.get(*side)) > thin)
}

/// Whether a style hides, colors or narrows a column of a table.
fn is_styled_column(style: &Style) -> bool {
    let may = |longhand, predicate: fn(Value) -> bool| style.get(longhand).may(predicate);
    may(L::Display, |value| {
        matches!(value, Value::Display(Display::Column))
    }) && (may(L::Visibility, |value| matches!(value, Value::On))
        || may(
            L::BackgroundColor,
            |value| !matches!(value, Value::Color(color) if color.alpha == 0.0),
        )
        || may(L::BackgroundImage, |value| !matches!(value, Value::Auto))
        || may(L::Width, |value| matches!(value, Value::Px(px) if px < 5.0)))
}

/// The smallest font size that text may have.
pub(crate) fn smallest_font(style: &Style) -> f32 {
    let fonts = style.get(L::FontSize).values().unwrap_or_default().iter();
    let sizes = fonts.filter_map(|value| match value {
        Value::Font { px, .. } => Some(*px),
        _ => None,
    });
    sizes.reduce(f32::min).unwrap_or(1.0)
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

const BORDERS: &[L] = &[L::BorderTop, L::BorderRight, L::BorderBottom, L::BorderLeft];
pub(crate) const HORIZONTAL_SIDES: &[L] = &[
    L::MarginLeft,
    L::MarginRight,
    L::PaddingLeft,
    L::PaddingRight,
    L::BorderLeft,
    L::BorderRight,
];
const LEFT_SIDES: &[L] = &[L::MarginLeft, L::PaddingLeft, L::BorderLeft];
const RIGHT_SIDES: &[L] = &[L::MarginRight, L::PaddingRight, L::BorderRight];
const TOP_SIDES: &[L] = &[L::MarginTop, L::PaddingTop, L::BorderTop];
const BOTTOM_SIDES: &[L] = &[L::MarginBottom, L::PaddingBottom, L::BorderBottom];

/// The space that margins, paddings and borders take.
pub(crate) fn space(style: &Style, sides: &[L]) -> f32 {
    if !style.has_own() {
        return 0.0;
    }
    sides
        .iter()
        .map(|side| largest_in(style.get(*side), MAX_WINDOW_WIDTH_PX))
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
pub(crate) fn largest_in(value: &PossibleValues, width: f32) -> f32 {
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
pub(crate) fn largest_or(value: &PossibleValues, keyword: f32) -> f32 {
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

/// How far the paddings and borders of words in a line reach over the lines around.
fn line_reach(style: &Style) -> f32 {
    let inline = style
        .get(L::Display)
        .may(|value| matches!(value, Value::Display(Display::Inline)));
    if !inline || !style.has_own() {
        return 0.0;
    }
    let sides = [
        [L::PaddingTop, L::BorderTop],
        [L::PaddingBottom, L::BorderBottom],
    ];
    let widths = sides.map(|side| side.map(|part| farthest(style.get(part))));
    let widths = widths.map(|side| side.iter().sum::<f32>());
    widths.into_iter().fold(0.0, f32::max)
}

/// How far below zero a margin may be.
fn negative_part(value: &PossibleValues) -> f32 {
    value.values().map_or(f32::INFINITY, |values| {
        let each = values.iter().map(|value| match value {
            Value::Px(px) => -px,
            Value::Percent(share) if *share < 0.0 => f32::INFINITY,
            _ => 0.0,
        });
        each.fold(0.0, f32::max)
    })
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
            Reach::Clip | Reach::Overflow | Reach::Lift => {}
        }
    }
    if style.get(L::TextShadow).is_any() {
        movement.doubt(Reason::Property("text-shadow"));
        movement.reach = f32::INFINITY;
    }
    if style
        .get(L::TextStroke)
        .may(|value| matches!(value, Value::On))
    {
        movement.reach = f32::INFINITY;
    }
    let indent = style.get(L::TextIndent);
    let pulled = indent.may(|value| match value {
        Value::Px(px) => px < -5.0,
        Value::Percent(percent) => percent < 0.0,
        _ => false,
    });
    if pulled || beyond(indent, 100.0, 20.0) {
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
        .may(|value| matches!(value, Value::Display(Display::Row)));
    if is_row
        && style
            .get(L::Visibility)
            .may(|value| matches!(value, Value::On))
    {
        movement.doubt(Reason::Visibility);
    }
    let absolute = style
        .get(L::Position)
        .is(|value| matches!(value, Value::Position(Position::Absolute)));
    let relative = style
        .get(L::Position)
        .is(|value| matches!(value, Value::Position(Position::Relative)));
    if absolute.may() || relative.may() {
        for side in [L::Top, L::Right, L::Bottom, L::Left] {
            let inset = style.get(side);
            let given = inset.may(|value| !matches!(value, Value::Auto));
            if absolute.may() && given || beyond(inset, MAX_SMALL_OFFSET_PX, 0.0) {
                movement.doubt(Reason::Moved);
            }
            movement.reach += farthest(inset);
            movement.moved += farthest(inset);
            movement.shifted |= beyond(inset, MAX_HARMLESS_OFFSET_PX, 0.0);
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
    if style.get(L::Clip).may(|value| matches!(value, Value::On)) && absolute.may() {
        movement.doubt(Reason::Clipped);
    }
    if style
        .get(L::Content)
        .may(|value| matches!(value, Value::On))
    {
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
            movement.reach += farthest(margin);
            movement.moved += farthest(margin);
        }
        movement.shifted |= below(2.0);
        if below(MAX_SMALL_OFFSET_PX) || beyond(margin, MAX_SPACING_PX, 60.0) {
            movement.doubt(Reason::Moved);
        }
    }
    for side in PADDINGS.iter().chain(BORDERS) {
        if beyond(style.get(*side), MAX_SPACING_PX, 60.0) {
            movement.doubt(Reason::Moved);
        }
    }
    if beyond(style.get(L::VerticalAlign), MAX_SMALL_OFFSET_PX, 100.0) {
        movement.doubt(Reason::Moved);
        movement.reach = f32::INFINITY;
    }
    movement.shifted |= beyond(style.get(L::VerticalAlign), MAX_HARMLESS_OFFSET_PX, 30.0);
    movement.moved += farthest(style.get(L::VerticalAlign));
    let outline = largest(style.get(L::OutlineWidth));
    if outline > 0.0 {
        let offset = style.get(L::OutlineOffset);
        let is_inside = offset.may(|value| matches!(value, Value::Px(px) if px < -1.0));
        if outline > MAX_HARMLESS_OFFSET_PX || is_inside {
            movement.doubt(Reason::Covered);
        }
        movement.reach = movement.reach.max(outline + farthest(offset));
    }
    if style
        .get(L::BoxShadow)
        .may(|value| !matches!(value, Value::Auto))
    {
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
        .or(style.get(L::Float).is(|value| matches!(value, Value::On)))
        .or(style
            .get(L::Position)
            .is(|value| matches!(value, Value::Position(Position::Absolute))));
    own.or(lifted)
}

//! The CSS properties: which are computed, which have one harmless value, which are harmless
//! altogether.
//!
//! A property is *harmless* when no value of it stops, recolours, covers or moves glyphs beyond the
//! flow, and it needs no sizes to be known. A name that no browser knows is ignored, as browsers
//! do. Every other property is "any value": text under it is uncertain. The tables follow Chromium
//! 156. Those that are harmless with every value stand in [`crate::harmless`], with their reasons.

use std::rc::Rc;

use crate::harmless;

/// Properties whose values decide whether text is visible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Longhand {
    // Inherited; `INHERITED` counts them.
    FontSize,
    Color,
    TextFill,
    Visibility,
    LineHeight,
    WhiteSpace,
    TextIndent,
    LetterSpacing,
    WordSpacing,
    TextAlign,
    TextShadow,
    TextStroke,
    // Not inherited.
    Display,
    Float,
    Position,
    Top,
    Right,
    Bottom,
    Left,
    MarginTop,
    MarginRight,
    MarginBottom,
    MarginLeft,
    PaddingTop,
    PaddingRight,
    PaddingBottom,
    PaddingLeft,
    BorderTop,
    BorderRight,
    BorderBottom,
    BorderLeft,
    Width,
    Height,
    MinWidth,
    MinHeight,
    MaxWidth,
    MaxHeight,
    FlexBasis,
    OverflowX,
    OverflowY,
    Opacity,
    BackgroundColor,
    BackgroundImage,
    BackgroundArea,
    BoxShadow,
    OutlineWidth,
    OutlineOffset,
    ZIndex,
    Zoom,
    VerticalAlign,
    TextDecoration,
    Clip,
    Content,
    ContentVisibility,
    TableLayout,
    Animation,
}

use Longhand as L;

pub(crate) const INHERITED: usize = L::TextStroke as usize + 1;

impl Longhand {
    pub(crate) const ALL: &[Self] = &[
        L::FontSize,
        L::Color,
        L::TextFill,
        L::Visibility,
        L::LineHeight,
        L::WhiteSpace,
        L::TextIndent,
        L::LetterSpacing,
        L::WordSpacing,
        L::TextAlign,
        L::TextShadow,
        L::TextStroke,
        L::Display,
        L::Float,
        L::Position,
        L::Top,
        L::Right,
        L::Bottom,
        L::Left,
        L::MarginTop,
        L::MarginRight,
        L::MarginBottom,
        L::MarginLeft,
        L::PaddingTop,
        L::PaddingRight,
        L::PaddingBottom,
        L::PaddingLeft,
        L::BorderTop,
        L::BorderRight,
        L::BorderBottom,
        L::BorderLeft,
        L::Width,
        L::Height,
        L::MinWidth,
        L::MinHeight,
        L::MaxWidth,
        L::MaxHeight,
        L::FlexBasis,
        L::OverflowX,
        L::OverflowY,
        L::Opacity,
        L::BackgroundColor,
        L::BackgroundImage,
        L::BackgroundArea,
        L::BoxShadow,
        L::OutlineWidth,
        L::OutlineOffset,
        L::ZIndex,
        L::Zoom,
        L::VerticalAlign,
        L::TextDecoration,
        L::Clip,
        L::Content,
        L::ContentVisibility,
        L::TableLayout,
        L::Animation,
    ];

    pub(crate) fn is_inherited(self) -> bool {
        (self as usize) < INHERITED
    }

    /// In a set of properties.
    pub(crate) fn bit(self) -> u64 {
        1 << self as u64
    }

    /// As a warning names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            L::FontSize => "font-size",
            L::Color => "color",
            L::TextFill => "-webkit-text-fill-color",
            L::Visibility => "visibility",
            L::LineHeight => "line-height",
            L::WhiteSpace => "white-space",
            L::TextIndent => "text-indent",
            L::LetterSpacing => "letter-spacing",
            L::WordSpacing => "word-spacing",
            L::TextAlign => "text-align",
            L::TextShadow => "text-shadow",
            L::TextStroke => "-webkit-text-stroke",
            L::Display => "display",
            L::Float => "float",
            L::Position => "position",
            L::Top | L::Right | L::Bottom | L::Left => "inset",
            L::MarginTop | L::MarginRight | L::MarginBottom | L::MarginLeft => "margin",
            L::PaddingTop | L::PaddingRight | L::PaddingBottom | L::PaddingLeft => "padding",
            L::BorderTop | L::BorderRight | L::BorderBottom | L::BorderLeft => "border",
            L::Width | L::MinWidth | L::MaxWidth => "width",
            L::Height | L::MinHeight | L::MaxHeight => "height",
            L::FlexBasis => "flex-basis",
            L::OverflowX | L::OverflowY => "overflow",
            L::Opacity => "opacity",
            L::BackgroundColor | L::BackgroundImage | L::BackgroundArea => "background",
            L::BoxShadow => "box-shadow",
            L::OutlineWidth | L::OutlineOffset => "outline",
            L::ZIndex => "z-index",
            L::Zoom => "zoom",
            L::VerticalAlign => "vertical-align",
            L::TextDecoration => "text-decoration",
            L::Clip => "clip",
            L::Content => "content",
            L::ContentVisibility => "content-visibility",
            L::TableLayout => "table-layout",
            L::Animation => "animation",
        }
    }
}

/// What a declaration sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Property {
    /// One computed property, or several of them at once.
    Sets(&'static [Longhand]),
    /// Harmless with some values; with others it is any value. An index into
    /// [`PARTLY_HARMLESS`].
    PartlyHarmless(usize),
    /// A property that browsers know and that is not computed here.
    Unknown(&'static str),
    All,
    /// `--name`, as it is written.
    Custom(Rc<str>),
}

/// How a declared value is written, where properties that set the same differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Syntax {
    Plain,
    /// In quirks mode lengths may lack their unit, and colors their `#` (Quirks Mode Standard 3).
    Quirky,
    /// A shorthand of parts of several kinds: width, style and color of a line, or what a flex
    /// item does.
    Parts,
}

impl Syntax {
    pub(crate) fn of(name: &str) -> Self {
        let is_in = |names: &[&str]| names.iter().any(|one| name.eq_ignore_ascii_case(one));
        if is_in(QUIRKY) {
            Self::Quirky
        } else if is_in(SHORTHANDS_OF_PARTS) {
            Self::Parts
        } else {
            Self::Plain
        }
    }
}

const QUIRKY: &[&str] = &[
    "color",
    "background-color",
    "font-size",
    "letter-spacing",
    "word-spacing",
    "text-indent",
    "vertical-align",
    "top",
    "right",
    "bottom",
    "left",
    "width",
    "height",
    "min-width",
    "min-height",
    "max-width",
    "max-height",
    "margin",
    "margin-top",
    "margin-right",
    "margin-bottom",
    "margin-left",
    "padding",
    "padding-top",
    "padding-right",
    "padding-bottom",
    "padding-left",
    "border-width",
    "border-top-width",
    "border-right-width",
    "border-bottom-width",
    "border-left-width",
];

const SHORTHANDS_OF_PARTS: &[&str] = &[
    "flex",
    "-webkit-flex",
    "outline",
    "border",
    "border-top",
    "border-right",
    "border-bottom",
    "border-left",
    "border-block",
    "border-block-start",
    "border-block-end",
    "border-inline",
    "border-inline-start",
    "border-inline-end",
    "-webkit-border-before",
    "-webkit-border-after",
    "-webkit-border-start",
    "-webkit-border-end",
];

/// A property that is harmless with the values named, and not understood with any other.
pub(crate) struct PartlyHarmless {
    pub name: &'static str,
    pub inherited: bool,
    pub reach: Reach,
    /// Words, `<url>` for a picture that is not loaded, or `<small>` for lengths up to
    /// [`MAX_HARMLESS_PX`] and percentages up to 20.
    pub harmless: &'static [&'static str],
}

/// How far an unknown value can reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Only the text inside.
    Inside,
    /// The box may be anywhere, and may cover other text.
    Page,
    /// Only what a clipping box cuts off.
    Clip,
    /// Only what is larger than its box, or than the window.
    Overflow,
    /// Only what stands above other boxes.
    Lift,
}

/// Lengths that move nothing out of sight.
pub(crate) const MAX_HARMLESS_PX: f32 = 60.0;

const fn guarded(
    name: &'static str,
    reach: Reach,
    harmless: &'static [&'static str],
) -> PartlyHarmless {
    PartlyHarmless {
        name,
        inherited: false,
        reach,
        harmless,
    }
}

const fn inherited(name: &'static str, harmless: &'static [&'static str]) -> PartlyHarmless {
    PartlyHarmless {
        name,
        inherited: true,
        reach: Reach::Inside,
        harmless,
    }
}

const NO_GAP: &[&str] = &["normal", "0", "0px"];

/// Alignments that let nothing overflow to the left or to the top.
const STARTS: &[&str] = &["normal", "start", "flex-start", "stretch", "space-between"];
const ITEM_STARTS: &[&str] = &[
    "normal",
    "start",
    "flex-start",
    "self-start",
    "stretch",
    "baseline",
];
const SELF_STARTS: &[&str] = &[
    "auto",
    "normal",
    "start",
    "flex-start",
    "self-start",
    "stretch",
    "baseline",
];

const SPACES: &[&str] = &["0", "0px", "1px", "2px", "3px", "4px", "5px"];

/// Marks of lists that are no longer than a figure.
pub(crate) const LIST_MARKS: &[&str] = &[
    "none",
    "disc",
    "circle",
    "square",
    "decimal",
    "decimal-leading-zero",
    "lower-alpha",
    "upper-alpha",
    "lower-latin",
    "upper-latin",
    "lower-roman",
    "upper-roman",
];

pub(crate) const PARTLY_HARMLESS: &[PartlyHarmless] = &[
    guarded("transform", Reach::Page, &["none"]),
    guarded("translate", Reach::Page, &["none", "0"]),
    guarded("rotate", Reach::Page, &["none"]),
    guarded("scale", Reach::Page, &["none", "1"]),
    guarded("offset", Reach::Page, &["none"]),
    guarded("offset-path", Reach::Page, &["none"]),
    guarded("position-area", Reach::Page, &["none"]),
    guarded("position-try-fallbacks", Reach::Page, &["none"]),
    guarded("filter", Reach::Page, &["none"]),
    guarded("perspective", Reach::Lift, &["none"]),
    guarded("will-change", Reach::Lift, &["auto"]),
    guarded("isolation", Reach::Lift, &["auto"]),
    guarded("transform-style", Reach::Lift, &["flat"]),
    guarded("backface-visibility", Reach::Lift, &["visible"]),
    guarded("view-transition-name", Reach::Lift, &["none"]),
    guarded("backdrop-filter", Reach::Page, &["none"]),
    guarded("mix-blend-mode", Reach::Inside, &["normal"]),
    guarded("clip-path", Reach::Inside, &["none"]),
    guarded("mask", Reach::Inside, &["none"]),
    guarded("mask-image", Reach::Inside, &["none"]),
    guarded("-webkit-mask-box-image", Reach::Inside, &["none"]),
    guarded("-webkit-mask-box-image-source", Reach::Inside, &["none"]),
    guarded("-webkit-box-reflect", Reach::Page, &[]),
    guarded("border-image", Reach::Page, &["none"]),
    guarded("border-image-source", Reach::Page, &["none"]),
    guarded("-webkit-line-clamp", Reach::Inside, &["none"]),
    guarded("contain", Reach::Page, &["none", "style"]),
    guarded("container", Reach::Page, &["none"]),
    guarded("container-type", Reach::Page, &["normal"]),
    guarded("aspect-ratio", Reach::Page, &["auto"]),
    guarded("columns", Reach::Page, &["auto", "1"]),
    guarded("column-count", Reach::Page, &["auto", "1"]),
    guarded("column-width", Reach::Page, &["auto"]),
    guarded("grid", Reach::Page, &["none"]),
    guarded("grid-template", Reach::Page, &["none"]),
    guarded("grid-template-rows", Reach::Page, &["none", "auto"]),
    guarded("grid-template-columns", Reach::Page, &["none", "auto"]),
    guarded("grid-template-areas", Reach::Page, &["none"]),
    guarded("grid-auto-rows", Reach::Page, &["auto"]),
    guarded("grid-auto-columns", Reach::Page, &["auto"]),
    guarded("grid-area", Reach::Page, &["auto"]),
    guarded("grid-row", Reach::Page, &["auto"]),
    guarded("grid-column", Reach::Page, &["auto"]),
    guarded("grid-row-start", Reach::Page, &["auto"]),
    guarded("grid-row-end", Reach::Page, &["auto"]),
    guarded("grid-column-start", Reach::Page, &["auto"]),
    guarded("grid-column-end", Reach::Page, &["auto"]),
    guarded("flex-line-count", Reach::Page, &["auto"]),
    guarded("margin-trim", Reach::Page, &["none"]),
    guarded("gap", Reach::Page, NO_GAP),
    guarded("row-gap", Reach::Page, NO_GAP),
    guarded("column-gap", Reach::Page, NO_GAP),
    guarded("shape-outside", Reach::Page, &["none"]),
    guarded("initial-letter", Reach::Page, &["normal"]),
    guarded("text-box", Reach::Inside, &["normal"]),
    guarded("text-box-trim", Reach::Inside, &["none"]),
    guarded("text-fit", Reach::Inside, &["none"]),
    guarded(
        "baseline-shift",
        Reach::Page,
        &["baseline", "sub", "super", "0"],
    ),
    guarded(
        "text-decoration-thickness",
        Reach::Inside,
        &["auto", "from-font", "1px", "2px"],
    ),
    guarded("position-visibility", Reach::Inside, &["always"]),
    guarded(
        "unicode-bidi",
        Reach::Inside,
        &["normal", "embed", "isolate"],
    ),
    guarded("alignment-baseline", Reach::Page, &["auto", "baseline"]),
    guarded("baseline-source", Reach::Page, &["auto"]),
    guarded("scroll-initial-target", Reach::Page, &["none"]),
    guarded("scroll-marker-group", Reach::Page, &["none"]),
    guarded("scroll-snap-type", Reach::Page, &["none"]),
    guarded("scrollbar-gutter", Reach::Clip, &["auto"]),
    guarded(
        "text-align-last",
        Reach::Overflow,
        &["auto", "start", "left", "justify"],
    ),
    guarded("border-radius", Reach::Clip, &["<small>"]),
    guarded("border-top-left-radius", Reach::Clip, &["<small>"]),
    guarded("border-top-right-radius", Reach::Clip, &["<small>"]),
    guarded("border-bottom-left-radius", Reach::Clip, &["<small>"]),
    guarded("border-bottom-right-radius", Reach::Clip, &["<small>"]),
    guarded("border-start-start-radius", Reach::Clip, &["<small>"]),
    guarded("border-start-end-radius", Reach::Clip, &["<small>"]),
    guarded("border-end-start-radius", Reach::Clip, &["<small>"]),
    guarded("border-end-end-radius", Reach::Clip, &["<small>"]),
    guarded(
        "justify-content",
        Reach::Overflow,
        &[
            "normal",
            "start",
            "flex-start",
            "left",
            "stretch",
            "space-between",
        ],
    ),
    guarded("align-content", Reach::Overflow, STARTS),
    guarded("align-items", Reach::Overflow, ITEM_STARTS),
    guarded("align-self", Reach::Overflow, SELF_STARTS),
    guarded("justify-items", Reach::Overflow, ITEM_STARTS),
    guarded("justify-self", Reach::Overflow, SELF_STARTS),
    guarded("place-content", Reach::Overflow, STARTS),
    guarded("place-items", Reach::Overflow, ITEM_STARTS),
    guarded("place-self", Reach::Overflow, SELF_STARTS),
    guarded("flex-direction", Reach::Overflow, &["row", "column"]),
    guarded(
        "flex-flow",
        Reach::Overflow,
        &["row", "column", "wrap", "row wrap", "column wrap"],
    ),
    guarded("flex-wrap", Reach::Overflow, &["nowrap", "wrap"]),
    guarded("direction", Reach::Overflow, &["ltr"]),
    guarded("-webkit-box-pack", Reach::Inside, &["start"]),
    guarded(
        "-webkit-box-align",
        Reach::Inside,
        &["start", "stretch", "baseline"],
    ),
    guarded("-webkit-box-direction", Reach::Inside, &["normal"]),
    guarded("order", Reach::Inside, &["0"]),
    guarded("-webkit-box-ordinal-group", Reach::Inside, &["1"]),
    inherited(LIST_STYLE, &[]),
    inherited("list-style-type", LIST_MARKS),
    inherited("list-style-image", &["none", "<url>"]),
    inherited("ruby-overhang", &["auto", "none"]),
    inherited("quotes", &["auto", "none"]),
    inherited("hyphenate-character", &["auto"]),
    inherited("text-size-adjust", &["auto", "none", "100%"]),
    inherited("text-emphasis", &["none"]),
    inherited("text-emphasis-style", &["none"]),
    inherited(
        "border-spacing",
        &["0", "0px", "0 0", "1px", "2px", "3px", "4px", "5px"],
    ),
    inherited("-webkit-border-horizontal-spacing", SPACES),
    inherited("-webkit-border-vertical-spacing", SPACES),
    inherited("tab-size", &["2", "4", "8"]),
    inherited("writing-mode", &["horizontal-tb"]),
    inherited(COLOR_SCHEME, &[]),
    inherited("font-size-adjust", &["none"]),
    inherited("-webkit-text-security", &["none"]),
    inherited("-webkit-text-combine", &["none"]),
    inherited("text-combine-upright", &["none"]),
    inherited(
        "text-wrap",
        &["wrap", "auto", "balance", "pretty", "stable"],
    ),
    inherited("text-wrap-mode", &["wrap"]),
    inherited("white-space-collapse", &["collapse"]),
];

/// `color-scheme` lists what a page supports; light is what a reader has.
pub(crate) const COLOR_SCHEME: &str = "color-scheme";

/// A mark of [`LIST_MARKS`], a picture and a place, in any order.
pub(crate) const LIST_STYLE: &str = "list-style";

const MARGINS: &[L] = &[L::MarginTop, L::MarginRight, L::MarginBottom, L::MarginLeft];
pub(crate) const PADDINGS: &[L] = &[
    L::PaddingTop,
    L::PaddingRight,
    L::PaddingBottom,
    L::PaddingLeft,
];
const BORDERS: &[L] = &[L::BorderTop, L::BorderRight, L::BorderBottom, L::BorderLeft];
const INSETS: &[L] = &[L::Top, L::Right, L::Bottom, L::Left];

impl Property {
    /// What a name means; `None` for harmless properties and for names that no browser knows.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if name.starts_with("--") {
            return Some(Self::Custom(Rc::from(name)));
        }
        let mut lower = [0; 48];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        let name = std::str::from_utf8(lower).ok()?;
        if name == "all" {
            return Some(Self::All);
        }
        if let Some(sets) = computed(name) {
            return Some(Self::Sets(sets));
        }
        let plain = match name {
            "-webkit-clip-path" => "clip-path",
            "-webkit-mask" => "mask",
            "-webkit-mask-image" => "mask-image",
            "-webkit-transform" => "transform",
            "-webkit-filter" => "filter",
            "-webkit-perspective" => "perspective",
            "-webkit-transform-style" => "transform-style",
            "-webkit-backface-visibility" => "backface-visibility",
            "-webkit-border-image" => "border-image",
            "-webkit-columns" => "columns",
            "-webkit-column-count" => "column-count",
            "-webkit-column-width" => "column-width",
            "-webkit-column-gap" => "column-gap",
            "-webkit-column-rule" => "column-rule",
            "-webkit-column-rule-width" => "column-rule-width",
            "-webkit-shape-outside" => "shape-outside",
            "-webkit-writing-mode" => "writing-mode",
            "-webkit-border-radius" => "border-radius",
            "-webkit-border-top-left-radius" => "border-top-left-radius",
            "-webkit-border-top-right-radius" => "border-top-right-radius",
            "-webkit-border-bottom-left-radius" => "border-bottom-left-radius",
            "-webkit-border-bottom-right-radius" => "border-bottom-right-radius",
            "-webkit-justify-content" => "justify-content",
            "-webkit-align-items" => "align-items",
            "-webkit-align-content" => "align-content",
            "-webkit-align-self" => "align-self",
            "-webkit-flex-direction" => "flex-direction",
            "-webkit-flex-flow" => "flex-flow",
            "-webkit-flex-wrap" => "flex-wrap",
            "-webkit-order" => "order",
            "-webkit-text-size-adjust" => "text-size-adjust",
            "-webkit-hyphenate-character" => "hyphenate-character",
            "-webkit-text-emphasis" => "text-emphasis",
            "-webkit-text-emphasis-style" => "text-emphasis-style",
            "grid-gap" => "gap",
            "grid-row-gap" => "row-gap",
            "grid-column-gap" => "column-gap",
            other => other,
        };
        if let Some(index) = PARTLY_HARMLESS.iter().position(|row| row.name == plain) {
            return Some(Self::PartlyHarmless(index));
        }
        if name.starts_with("corner-") {
            return Some(Self::Unknown("corner-shape"));
        }
        if let Some(known) = NOT_COMPUTED.iter().find(|known| **known == plain) {
            return Some(Self::Unknown(known));
        }
        // Other WebKit browsers know more names than Chromium.
        let is_foreign = name.starts_with("-webkit-") && !harmless::is_harmless(name);
        is_foreign.then_some(Self::Unknown("-webkit-"))
    }

    pub(crate) fn sets(&self, longhand: Longhand) -> bool {
        match self {
            Self::Sets(all) => all.contains(&longhand),
            Self::All => true,
            _ => false,
        }
    }
}

fn computed(name: &str) -> Option<&'static [L]> {
    Some(match name {
        "color" => &[L::Color],
        "-webkit-text-fill-color" => &[L::TextFill],
        "font" => &[L::FontSize, L::LineHeight],
        "font-size" => &[L::FontSize],
        "visibility" => &[L::Visibility],
        "line-height" => &[L::LineHeight],
        "white-space" => &[L::WhiteSpace],
        "text-indent" => &[L::TextIndent],
        "letter-spacing" => &[L::LetterSpacing],
        "word-spacing" => &[L::WordSpacing],
        "text-align" => &[L::TextAlign],
        "text-shadow" => &[L::TextShadow],
        "-webkit-text-stroke" | "-webkit-text-stroke-width" => &[L::TextStroke],
        "display" => &[L::Display],
        "float" => &[L::Float],
        "position" => &[L::Position],
        "top" | "inset-block-start" => &[L::Top],
        "right" | "inset-inline-end" => &[L::Right],
        "bottom" | "inset-block-end" => &[L::Bottom],
        "left" | "inset-inline-start" => &[L::Left],
        "inset" => INSETS,
        "inset-block" => &[L::Top, L::Bottom],
        "inset-inline" => &[L::Left, L::Right],
        "margin" => MARGINS,
        "margin-block" => &[L::MarginTop, L::MarginBottom],
        "margin-inline" => &[L::MarginLeft, L::MarginRight],
        "margin-top" | "margin-block-start" | "-webkit-margin-before" => &[L::MarginTop],
        "margin-right" | "margin-inline-end" | "-webkit-margin-end" => &[L::MarginRight],
        "margin-bottom" | "margin-block-end" | "-webkit-margin-after" => &[L::MarginBottom],
        "margin-left" | "margin-inline-start" | "-webkit-margin-start" => &[L::MarginLeft],
        "padding" => PADDINGS,
        "padding-block" => &[L::PaddingTop, L::PaddingBottom],
        "padding-inline" => &[L::PaddingLeft, L::PaddingRight],
        "padding-top" | "padding-block-start" | "-webkit-padding-before" => &[L::PaddingTop],
        "padding-right" | "padding-inline-end" | "-webkit-padding-end" => &[L::PaddingRight],
        "padding-bottom" | "padding-block-end" | "-webkit-padding-after" => &[L::PaddingBottom],
        "padding-left" | "padding-inline-start" | "-webkit-padding-start" => &[L::PaddingLeft],
        "border" | "border-width" => BORDERS,
        "border-block" | "border-block-width" => &[L::BorderTop, L::BorderBottom],
        "border-inline" | "border-inline-width" => &[L::BorderLeft, L::BorderRight],
        "border-top"
        | "border-top-width"
        | "border-block-start"
        | "border-block-start-width"
        | "-webkit-border-before"
        | "-webkit-border-before-width" => &[L::BorderTop],
        "border-right"
        | "border-right-width"
        | "border-inline-end"
        | "border-inline-end-width"
        | "-webkit-border-end"
        | "-webkit-border-end-width" => &[L::BorderRight],
        "border-bottom"
        | "border-bottom-width"
        | "border-block-end"
        | "border-block-end-width"
        | "-webkit-border-after"
        | "-webkit-border-after-width" => &[L::BorderBottom],
        "border-left"
        | "border-left-width"
        | "border-inline-start"
        | "border-inline-start-width"
        | "-webkit-border-start"
        | "-webkit-border-start-width" => &[L::BorderLeft],
        "width" | "inline-size" | "-webkit-logical-width" => &[L::Width],
        "height" | "block-size" | "-webkit-logical-height" => &[L::Height],
        "min-width" | "min-inline-size" | "-webkit-min-logical-width" => &[L::MinWidth],
        "min-height" | "min-block-size" | "-webkit-min-logical-height" => &[L::MinHeight],
        "max-width" | "max-inline-size" | "-webkit-max-logical-width" => &[L::MaxWidth],
        "max-height" | "max-block-size" | "-webkit-max-logical-height" => &[L::MaxHeight],
        "flex" | "flex-basis" | "-webkit-flex" | "-webkit-flex-basis" => &[L::FlexBasis],
        "overflow" => &[L::OverflowX, L::OverflowY],
        "overflow-x" | "overflow-inline" => &[L::OverflowX],
        "overflow-y" | "overflow-block" => &[L::OverflowY],
        "opacity" | "-webkit-opacity" => &[L::Opacity],
        "background" => &[L::BackgroundColor, L::BackgroundImage, L::BackgroundArea],
        "background-color" => &[L::BackgroundColor],
        "background-image" => &[L::BackgroundImage],
        // One of these alone can move a background away; a later one does not undo another.
        "background-size"
        | "background-position"
        | "background-position-x"
        | "background-position-y"
        | "background-repeat"
        | "background-clip"
        | "background-origin"
        | "background-attachment"
        | "background-blend-mode"
        | "-webkit-background-clip"
        | "-webkit-background-origin"
        | "-webkit-background-size" => &[L::BackgroundArea],
        "box-shadow" | "-webkit-box-shadow" => &[L::BoxShadow],
        "outline" | "outline-width" => &[L::OutlineWidth],
        "outline-offset" => &[L::OutlineOffset],
        "z-index" => &[L::ZIndex],
        "zoom" => &[L::Zoom],
        "vertical-align" => &[L::VerticalAlign],
        "text-decoration" => &[L::TextDecoration],
        "clip" => &[L::Clip],
        "content" => &[L::Content],
        "content-visibility" => &[L::ContentVisibility],
        "table-layout" => &[L::TableLayout],
        "animation" | "animation-name" | "-webkit-animation" | "-webkit-animation-name" => {
            &[L::Animation]
        }
        _ => return None,
    })
}

/// Names that browsers know, that can hide, recolour, cover or move text, and that are not
/// computed.
const NOT_COMPUTED: &[&str] = &[
    "border-shape",
    "column-height",
    "column-rule",
    "column-rule-inset",
    "column-rule-width",
    "column-wrap",
    "font-palette",
    "frame-sizing",
    "overlay",
    "page-orientation",
    "position-try",
    "row-rule",
    "row-rule-inset",
    "row-rule-width",
    "rule",
    "rule-inset",
    "rule-width",
    "text-overflow-clip",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn property_name_any_case_found() {
        assert_eq!(
            Property::named("DISPLAY"),
            Some(Property::Sets(&[L::Display]))
        );
        assert_eq!(Property::named("caret-color"), None);
        assert_eq!(Property::named(&"x".repeat(100)), None);
        assert_eq!(
            Property::named("--Ab"),
            Some(Property::Custom(Rc::from("--Ab")))
        );
    }

    #[test]
    fn longhand_list_matches_discriminants() {
        for (index, longhand) in Longhand::ALL.iter().enumerate() {
            assert_eq!(*longhand as usize, index);
        }
    }
}

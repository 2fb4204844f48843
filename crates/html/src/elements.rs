//! What elements are before any style sheet: browsers' own rules, and attributes such as `bgcolor`
//! and `width`.

use html5ever::{LocalName, local_name, ns};

use crate::declared::KEYWORD_SHIFT_PX;
use crate::dom::{Dom, Element};
use crate::properties::Longhand as L;
use crate::style::{Display, Image, Position, PossibleValues, Style, Value};
use crate::values::{self, Rgba};

/// How an element is rendered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rendering {
    /// As a box of text.
    Text,
    /// What stands inside is for programs that cannot show the element.
    Fallback,
    /// In a way that is not known here.
    Unknown,
}

pub(crate) fn rendering(dom: &Dom, element: &Element) -> Rendering {
    let name = element.local();
    if is_machinery(element) {
        return Rendering::Text;
    }
    if !element.is_html() {
        return Rendering::Unknown;
    }
    match *name {
        // A page that stands in the mail itself.
        local_name!("iframe")
            if element.attribute(&local_name!("srcdoc")).is_some()
                || element
                    .attribute(&local_name!("src"))
                    .is_some_and(is_embedded) =>
        {
            Rendering::Unknown
        }
        local_name!("iframe") => Rendering::Fallback,
        local_name!("template") if is_shadow_root(element) => Rendering::Unknown,
        local_name!("template") => Rendering::Fallback,
        local_name!("audio")
        | local_name!("video")
        | local_name!("canvas")
        | local_name!("meter")
        | local_name!("progress")
        | local_name!("noembed")
        | local_name!("noframes")
        | local_name!("option")
        | local_name!("optgroup")
        | local_name!("textarea")
        | local_name!("object")
        | local_name!("marquee")
        | local_name!("frameset")
        | local_name!("ruby")
        | local_name!("rt")
        | local_name!("slot")
        // Shown where scripts are off.
        | local_name!("noscript") => Rendering::Unknown,
        local_name!("select") if !is_menu(element) => Rendering::Unknown,
        // Only one of a group stays open.
        local_name!("details") if element.attribute(&local_name!("name")).is_some() => {
            Rendering::Unknown
        }
        // A shadow root is shown in place of what its element holds.
        _ if dom.has_shadow_roots() => Rendering::Unknown,
        _ if matches!(
            &**name,
            "fencedframe" | "portal" | "permission" | "geolocation" | "selectedcontent"
        ) =>
        {
            Rendering::Unknown
        }
        _ => Rendering::Text,
    }
}

/// A `<select>` that shows one option until a click opens it.
pub(crate) fn is_menu(element: &Element) -> bool {
    let size = element
        .attribute(&local_name!("size"))
        .unwrap_or("1")
        .trim();
    element.is_html()
        && *element.local() == local_name!("select")
        && element.attribute(&local_name!("multiple")).is_none()
        && matches!(size, "0" | "1")
}

/// Whether an `<input>` of this type is a button with a text of its own.
pub(crate) fn is_button(kind: &str) -> bool {
    ["submit", "button", "reset"]
        .iter()
        .any(|one| kind.eq_ignore_ascii_case(one))
}

/// Controls that are not shown at all where they have no box.
pub(crate) fn needs_box(element: &Element) -> bool {
    element.is_html()
        && matches!(
            *element.local(),
            local_name!("input") | local_name!("select") | local_name!("textarea")
        )
}

/// Whether a control has the size that browsers give it, so that it shows its text.
pub(crate) fn is_plain_control(style: &Style) -> bool {
    const KEPT: [L; 3] = [L::Display, L::BackgroundColor, L::Float];
    let sizes = KEPT.iter().fold(0, |set, longhand| set | longhand.bit());
    let none = |longhand| *style.get(longhand) == PossibleValues::One(Value::Px(0.0));
    style.sets_only(sizes)
        && style.not_understood.is_empty()
        && none(L::TextIndent)
        && none(L::LetterSpacing)
        && none(L::WordSpacing)
}

/// Elements that hold no text for readers, and that are not counted either while no style shows
/// them.
pub(crate) fn is_machinery(element: &Element) -> bool {
    matches!(
        *element.local(),
        local_name!("script") | local_name!("style")
    ) || element.name.ns != ns!(svg)
        && matches!(
            *element.local(),
            local_name!("title")
                | local_name!("head")
                | local_name!("meta")
                | local_name!("link")
                | local_name!("base")
        )
}

/// `<template shadowrootmode>`: it is shown in place of what stands beside it.
fn is_shadow_root(element: &Element) -> bool {
    let has = |name: &str| element.attribute_named(name).is_some();
    *element.local() == local_name!("template") && (has("shadowrootmode") || has("shadowroot"))
}

/// Elements that browsers give `display: none`.
fn is_undisplayed(element: &Element) -> bool {
    matches!(
        *element.local(),
        local_name!("noembed")
            | local_name!("noframes")
            | local_name!("datalist")
            | local_name!("rp")
            | local_name!("area")
            | local_name!("param")
    )
}

/// Elements that paint something of their own.
pub(crate) fn is_painted(element: &Element) -> bool {
    !element.is_html()
        || matches!(
            *element.local(),
            local_name!("img")
                | local_name!("input")
                | local_name!("button")
                | local_name!("select")
                | local_name!("textarea")
                | local_name!("iframe")
                | local_name!("object")
                | local_name!("embed")
                | local_name!("video")
                | local_name!("audio")
                | local_name!("canvas")
                | local_name!("meter")
                | local_name!("progress")
                | local_name!("hr")
                | local_name!("marquee")
                | local_name!("fieldset")
        )
}

/// Whether a cell may stand for several columns or rows.
pub(crate) fn spans_cells(element: &Element) -> bool {
    let spans = |name| {
        element
            .attribute(&name)
            .is_some_and(|count| count.trim() != "1")
    };
    spans(local_name!("colspan")) || spans(local_name!("rowspan"))
}

/// The space between the cells of a table, and on both sides inside of them.
pub(crate) fn cell_space(element: &Element) -> Option<f32> {
    const COMMON: f32 = 4.0;
    let given = |name| element.attribute_named(name).and_then(values::leading);
    (*element.local() == local_name!("table")).then(|| {
        let padding = given("cellpadding").map_or(COMMON, |padding| 2.0 * padding);
        padding + given("cellspacing").unwrap_or(COMMON)
    })
}

/// The width of a control, a drawing or an embedded page, from above.
pub(crate) fn replaced_width(element: &Element, font: f32) -> f32 {
    const EMBEDDED_PX: f32 = 320.0;
    const CONTROL_LETTERS: f32 = 16.0;
    let kind = element.attribute(&local_name!("type")).unwrap_or_default();
    if kind.eq_ignore_ascii_case("hidden") {
        return 0.0;
    }
    let given = |name| match element.attribute_named(name) {
        Some(value) => values::leading(value).unwrap_or(f32::INFINITY),
        None => 0.0,
    };
    let letters = element.attribute(&local_name!("value")).unwrap_or_default();
    let letters = given("size").max(given("cols")).max(letters.len() as f32);
    let common = match *element.local() {
        local_name!("input") | local_name!("button") | local_name!("textarea") => {
            CONTROL_LETTERS * font
        }
        local_name!("select") | local_name!("hr") | local_name!("fieldset") => 0.0,
        _ => EMBEDDED_PX,
    };
    common.max(given("width")).max(letters * font)
}

/// Whether a drawing or a formula says how high it is in a way that is not followed.
fn has_own_shape(element: &Element) -> bool {
    let names = ["viewBox", "depth", "voffset"];
    names
        .iter()
        .any(|name| element.attribute_named(name).is_some())
}

/// The height that an element takes by itself, from above.
pub(crate) fn empty_height(element: &Element, line_height: f32) -> f32 {
    /// Embedded pages and the like, unless a style or an attribute gives their height.
    const REPLACED_PX: f32 = 150.0;
    let given = |name: LocalName| match element.attribute(&name) {
        Some(value) => values::leading(value).unwrap_or(f32::INFINITY),
        None => 0.0,
    };
    match *element.local() {
        local_name!("br") | local_name!("img") | local_name!("summary") => line_height,
        local_name!("input") | local_name!("button") => 2.0 * line_height,
        local_name!("hr") => given(local_name!("size")).max(2.0 * line_height),
        local_name!("select") => given(local_name!("size")).max(2.0) * line_height,
        local_name!("textarea") => given(local_name!("rows")).max(3.0) * line_height,
        local_name!("marquee") => given(local_name!("height")),
        _ if !element.is_html() && has_own_shape(element) => f32::INFINITY,
        _ if is_painted(element) => given(local_name!("height")).max(REPLACED_PX),
        _ => 0.0,
    }
}

/// Elements other than pictures that have a width of their own and no text beside it.
pub(crate) fn is_replaced(element: &Element) -> bool {
    is_painted(element)
        && !matches!(
            *element.local(),
            local_name!("img")
                | local_name!("button")
                | local_name!("select")
                | local_name!("fieldset")
        )
}

/// `<svg>`, which cuts off what reaches beyond its box.
pub(crate) fn is_drawing(element: &Element) -> bool {
    element.name.ns == ns!(svg) && *element.local() == local_name!("svg")
}

/// A picture of its own, which a person sees or knows to be missing.
pub(crate) fn is_loaded_picture(element: &Element) -> bool {
    let address = element.attribute(&local_name!("src"));
    element.is_html()
        && *element.local() == local_name!("img")
        && address.is_some_and(|address| !address.trim().is_empty())
}

/// A field or a button that shows a text of its own.
pub(crate) fn is_filled_input(element: &Element) -> bool {
    let kind = element.attribute(&local_name!("type")).unwrap_or_default();
    let kinds = ["", "text", "search", "submit", "button", "reset"];
    let value = element.attribute(&local_name!("value")).unwrap_or_default();
    element.is_html()
        && *element.local() == local_name!("input")
        && kinds.iter().any(|one| kind.eq_ignore_ascii_case(one))
        && !value.trim().is_empty()
}

/// Whether an address names a picture that is part of the mail, and so is shown.
pub(crate) fn is_embedded(address: &str) -> bool {
    // Browsers take these out of addresses wherever they stand.
    let ignored = |char: &char| matches!(char, '\t' | '\n' | '\r');
    let plain = address.trim_start_matches(|char: char| char <= ' ').chars();
    let scheme: String = plain.filter(|char| !ignored(char)).take(5).collect();
    let scheme = scheme.to_ascii_lowercase();
    scheme == "data:" || scheme.starts_with("cid:") || scheme == "blob:"
}

/// Whether an attribute gives so much space that text may be pushed out of its box or window.
pub(crate) fn pushes_text(element: &Element) -> bool {
    let limit = |name: &LocalName| match *name {
        // Cells are measured with these.
        local_name!("cellpadding") | local_name!("cellspacing") => Some(60.0),
        local_name!("border")
        | local_name!("hspace")
        | local_name!("vspace")
        | local_name!("marginwidth")
        | local_name!("marginheight") => Some(24.0),
        _ => matches!(&**name, "leftmargin" | "topmargin").then_some(24.0),
    };
    let mut all = element.attributes().iter();
    all.any(|one| {
        let limit = limit(&one.name.local).unwrap_or(f32::INFINITY);
        values::leading(&one.value).is_some_and(|px| px > limit)
    })
}

/// How an element is laid out when no style says otherwise.
fn display(element: &Element) -> Display {
    if is_machinery(element) {
        return Display::None;
    }
    if !element.is_html() {
        return Display::Inline;
    }
    if is_undisplayed(element)
        || element
            .attribute(&local_name!("hidden"))
            .is_some_and(|value| !value.eq_ignore_ascii_case("until-found"))
        || match *element.local() {
            local_name!("dialog") => element.attribute(&local_name!("open")).is_none(),
            _ => element.attribute_named("popover").is_some(),
        }
    {
        return Display::None;
    }
    match *element.local() {
        local_name!("html")
        | local_name!("body")
        | local_name!("address")
        | local_name!("article")
        | local_name!("aside")
        | local_name!("blockquote")
        | local_name!("center")
        | local_name!("dd")
        | local_name!("details")
        | local_name!("dialog")
        | local_name!("dir")
        | local_name!("div")
        | local_name!("dl")
        | local_name!("dt")
        | local_name!("fieldset")
        | local_name!("figcaption")
        | local_name!("figure")
        | local_name!("footer")
        | local_name!("form")
        | local_name!("h1")
        | local_name!("h2")
        | local_name!("h3")
        | local_name!("h4")
        | local_name!("h5")
        | local_name!("h6")
        | local_name!("header")
        | local_name!("hgroup")
        | local_name!("hr")
        | local_name!("legend")
        | local_name!("li")
        | local_name!("listing")
        | local_name!("main")
        | local_name!("menu")
        | local_name!("nav")
        | local_name!("ol")
        | local_name!("optgroup")
        | local_name!("option")
        | local_name!("p")
        | local_name!("plaintext")
        | local_name!("pre")
        | local_name!("search")
        | local_name!("section")
        | local_name!("summary")
        | local_name!("ul")
        | local_name!("xmp")
        | local_name!("marquee") => Display::Block,
        local_name!("button") | local_name!("select") | local_name!("input") => {
            Display::InlineBlock
        }
        local_name!("caption") => Display::Caption,
        local_name!("table") => Display::Table,
        local_name!("tbody") | local_name!("thead") | local_name!("tfoot") | local_name!("tr") => {
            Display::Row
        }
        local_name!("td") | local_name!("th") => Display::Cell,
        local_name!("col") | local_name!("colgroup") => Display::Column,
        _ => Display::Inline,
    }
}

/// What the page says of all of its elements.
#[derive(Clone, Debug)]
pub(crate) struct PageColors {
    pub link: Rgba,
    pub visited_link: Rgba,
    /// The color of the page's text, which tables take in documents without a doctype.
    pub text: PossibleValues,
    /// Some controls are disabled by what stands around them.
    pub dims_controls: bool,
}

/// The value that a property has when no style sheet sets it; `None` when it is the initial or the
/// inherited one.
pub(crate) fn base(
    element: &Element,
    longhand: L,
    parent: &Style,
    page: &PageColors,
) -> Option<PossibleValues> {
    if longhand == L::Display {
        return Some(PossibleValues::One(Value::Display(display(element))));
    }
    let is_overflow = matches!(longhand, L::OverflowX | L::OverflowY);
    if is_drawing(element) && is_overflow {
        let is_given = element.attribute_named("overflow").is_some();
        return Some(if is_given {
            PossibleValues::Any
        } else {
            PossibleValues::One(Value::On)
        });
    }
    if !element.is_html() || is_overflow {
        return None;
    }
    let name = element.local();
    let attribute = |name: LocalName| element.attribute(&name);
    let one = |value: Value| Some(PossibleValues::One(value));
    let color = |value: Option<&str>| value.and_then(legacy_color).map(Value::Color).and_then(one);
    let is_table_part = matches!(
        *name,
        local_name!("table")
            | local_name!("tbody")
            | local_name!("thead")
            | local_name!("tfoot")
            | local_name!("tr")
            | local_name!("td")
            | local_name!("th")
    );
    let is_table = *name == local_name!("table");
    let is_control = matches!(
        *name,
        local_name!("button") | local_name!("select") | local_name!("input")
    );
    let is_dimmed =
        is_control && (page.dims_controls || attribute(local_name!("disabled")).is_some());
    match longhand {
        L::Color => match *name {
            local_name!("a") if element.leads_to_page() => Some(PossibleValues::from_values(&[
                Value::Color(page.link),
                Value::Color(page.visited_link),
            ])),
            local_name!("a") if attribute(local_name!("href")).is_some() => {
                one(Value::Color(page.link))
            }
            _ if is_dimmed => Some(PossibleValues::Any),
            local_name!("button")
            | local_name!("mark")
            | local_name!("select")
            | local_name!("input") => one(Value::Color(Rgba::BLACK)),
            local_name!("font") => color(attribute(local_name!("color"))),
            local_name!("body") => color(attribute(local_name!("text"))),
            local_name!("table") if parent.quirks => Some(page.text.clone()),
            _ => None,
        },
        L::FontSize => font_size(element, parent),
        L::LineHeight if is_table && parent.quirks => one(Value::Auto),
        L::WhiteSpace => match *name {
            local_name!("pre")
            | local_name!("listing")
            | local_name!("xmp")
            | local_name!("plaintext")
            | local_name!("nobr") => one(Value::On),
            local_name!("td") | local_name!("th") => {
                attribute(local_name!("nowrap")).and_then(|_| one(Value::On))
            }
            local_name!("table") if parent.quirks => one(Value::Auto),
            _ => None,
        },
        L::TextAlign => {
            if matches!(*name, local_name!("center") | local_name!("th")) {
                return one(Value::On);
            }
            let align = attribute(local_name!("align"))?.to_ascii_lowercase();
            match align.as_str() {
                _ if is_table => None,
                "center" | "right" | "middle" => one(Value::On),
                _ => one(Value::Auto),
            }
        }
        L::BackgroundColor => match *name {
            _ if is_dimmed => Some(PossibleValues::Any),
            local_name!("button") => one(Value::Color(Rgba::grey(239.0))),
            local_name!("mark") => one(Value::Color(Rgba {
                rgb: [255.0, 255.0, 0.0],
                alpha: 1.0,
            })),
            local_name!("dialog") | local_name!("select") => one(Value::Color(Rgba::WHITE)),
            local_name!("input") => match attribute(local_name!("type")) {
                Some(kind) if kind.eq_ignore_ascii_case("image") => None,
                Some(kind) if is_button(kind) => one(Value::Color(Rgba::grey(239.0))),
                _ => one(Value::Color(Rgba::WHITE)),
            },
            local_name!("body") | local_name!("marquee") => {
                color(attribute(local_name!("bgcolor")))
            }
            _ if is_table_part => color(attribute(local_name!("bgcolor"))),
            _ => None,
        },
        L::BackgroundImage if is_table_part || *name == local_name!("body") => {
            let address = attribute(local_name!("background"))?;
            if is_embedded(address) {
                Some(PossibleValues::Any)
            } else {
                one(Value::Image(Image::Remote))
            }
        }
        L::Width | L::Height => {
            let is_across = longhand == L::Width;
            let is_cell = matches!(*name, local_name!("td") | local_name!("th"));
            let sized = is_table
                || is_cell
                || is_table_part && !is_across
                || matches!(
                    *name,
                    local_name!("img")
                        | local_name!("hr")
                        | local_name!("iframe")
                        | local_name!("video")
                        | local_name!("canvas")
                        | local_name!("object")
                        | local_name!("embed")
                        | local_name!("input")
                );
            let attribute = if is_across {
                attribute(local_name!("width"))
            } else {
                attribute(local_name!("height"))
            };
            let size = dimension(attribute.filter(|_| sized)?)?;
            let is_zero = matches!(size, Value::Px(0.0) | Value::Percent(0.0));
            let ignores_zero = is_cell || is_table && is_across;
            (!is_zero || !ignores_zero).then_some(PossibleValues::One(size))
        }
        L::MarginTop | L::MarginBottom => match *name {
            local_name!("p")
            | local_name!("h1")
            | local_name!("h2")
            | local_name!("h3")
            | local_name!("h4")
            | local_name!("h5")
            | local_name!("h6")
            | local_name!("ul")
            | local_name!("ol")
            | local_name!("dl")
            | local_name!("menu")
            | local_name!("dir")
            | local_name!("pre")
            | local_name!("listing")
            | local_name!("xmp")
            | local_name!("plaintext")
            | local_name!("blockquote")
            | local_name!("figure") => one(Value::Px(parent.largest_font() * 2.0)),
            _ => None,
        },
        L::MarginLeft | L::MarginRight => matches!(
            *name,
            local_name!("blockquote") | local_name!("figure") | local_name!("dd")
        )
        .then_some(PossibleValues::One(Value::Px(40.0))),
        L::PaddingLeft => is_list(name).then_some(PossibleValues::One(Value::Px(40.0))),
        L::Float => {
            let floats = is_table
                || matches!(
                    *name,
                    local_name!("img") | local_name!("iframe") | local_name!("object")
                );
            let align = attribute(local_name!("align")).filter(|_| floats)?;
            let aside = align.eq_ignore_ascii_case("left") || align.eq_ignore_ascii_case("right");
            aside.then_some(PossibleValues::One(Value::On))
        }
        L::VerticalAlign if matches!(*name, local_name!("sub") | local_name!("sup")) => {
            one(Value::Px(KEYWORD_SHIFT_PX))
        }
        L::Position if *name == local_name!("dialog") => one(Value::Position(Position::Absolute)),
        L::ContentVisibility => attribute(local_name!("hidden"))
            .filter(|value| value.eq_ignore_ascii_case("until-found"))
            .and_then(|_| one(Value::On)),
        _ => None,
    }
}

fn is_list(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("ul") | local_name!("ol") | local_name!("menu") | local_name!("dir")
    )
}

/// The properties that [`base`] may set for an element.
pub(crate) fn based(element: &Element) -> &'static [L] {
    let is_common =
        |name: &LocalName| !matches!(*name, local_name!("align") | local_name!("hidden"));
    if !element.is_html()
        || !element
            .attributes()
            .iter()
            .all(|one| is_common(&one.name.local))
    {
        return BASED;
    }
    match *element.local() {
        local_name!("span")
        | local_name!("b")
        | local_name!("strong")
        | local_name!("i")
        | local_name!("em")
        | local_name!("u")
        | local_name!("br")
        | local_name!("div") => &[L::Display],
        local_name!("a") => &[L::Color, L::Display],
        local_name!("font") => &[L::FontSize, L::Color, L::Display],
        local_name!("p") => &[L::Display, L::MarginTop, L::MarginBottom],
        local_name!("img") => &[L::Display, L::Width, L::Height],
        local_name!("tr") | local_name!("td") | local_name!("tbody") => &[
            L::WhiteSpace,
            L::Display,
            L::BackgroundColor,
            L::BackgroundImage,
            L::Width,
            L::Height,
        ],
        _ => BASED,
    }
}

const BASED: &[L] = &[
    L::FontSize,
    L::Color,
    L::LineHeight,
    L::WhiteSpace,
    L::TextAlign,
    L::Display,
    L::BackgroundColor,
    L::BackgroundImage,
    L::Width,
    L::Height,
    L::MarginTop,
    L::MarginBottom,
    L::MarginLeft,
    L::MarginRight,
    L::PaddingLeft,
    L::Float,
    L::Position,
    L::OverflowX,
    L::OverflowY,
    L::ContentVisibility,
    L::VerticalAlign,
];

fn font_size(element: &Element, parent: &Style) -> Option<PossibleValues> {
    let font = |px: f32| {
        Some(PossibleValues::One(Value::Font {
            px,
            absolute: false,
        }))
    };
    let times: &[f32] = match *element.local() {
        local_name!("h1") => &[2.0],
        local_name!("h2") => &[1.5],
        local_name!("h3") => &[1.17],
        local_name!("h5") => &[0.83],
        local_name!("h6") => &[0.67],
        local_name!("small") | local_name!("sub") | local_name!("sup") => &[1.0 / 1.2],
        local_name!("big") => &[1.2],
        // Smaller, unless a style gives them another family.
        local_name!("pre")
        | local_name!("code")
        | local_name!("tt")
        | local_name!("kbd")
        | local_name!("samp")
        | local_name!("listing")
        | local_name!("xmp")
        | local_name!("plaintext") => &[0.8125, 1.0],
        local_name!("button") | local_name!("select") | local_name!("input") => {
            return font(13.33);
        }
        local_name!("table") if parent.quirks => return font(16.0),
        local_name!("font") => {
            let size = element.attribute(&local_name!("size"))?;
            let size = size.trim_ascii_start();
            let unsigned = size.strip_prefix(['+', '-']).unwrap_or(size);
            let number = values::leading(unsigned)?.min(100.0) as i32;
            let number = match size.chars().next() {
                _ if !unsigned.starts_with(|char: char| char.is_ascii_digit()) => return None,
                Some('+') => 3 + number,
                Some('-') => 3 - number,
                _ => number,
            };
            return font(match number {
                ..=1 => 10.0,
                2 => 13.0,
                3 => 16.0,
                4 => 18.0,
                5 => 24.0,
                6 => 32.0,
                _ => 48.0,
            });
        }
        _ => return None,
    };
    let scaled = |value: &Value, times: f32| match value {
        Value::Font { px, absolute } => Value::Font {
            px: px * times,
            absolute: *absolute,
        },
        other => *other,
    };
    Some(match parent.get(L::FontSize).values() {
        Some(sizes) => {
            let all = sizes
                .iter()
                .flat_map(|size| times.iter().map(|times| scaled(size, *times)));
            PossibleValues::from_values(&all.collect::<Vec<_>>())
        }
        None => PossibleValues::Any,
    })
}

/// `600`, `600px` and `50%` of an attribute. `2*` is for frames alone.
fn dimension(value: &str) -> Option<Value> {
    let (number, unit) = values::leading_number(value)?;
    match unit.chars().next() {
        Some('%') => Some(Value::Percent(number)),
        Some('*') => None,
        _ => Some(Value::Px(number)),
    }
}

/// Longer colors of attributes are cut.
const MAX_LEGACY_COLOR_DIGITS: usize = 128;

/// Colors of attributes: names and `#rgb`, else hexadecimal digits however mangled (HTML section
/// 2.3.6, "rules for parsing a legacy color value").
pub(crate) fn legacy_color(value: &str) -> Option<Rgba> {
    let plain = value.trim_ascii();
    if value.is_empty() || plain.eq_ignore_ascii_case("transparent") {
        return None;
    }
    let solid = |rgb: [u8; 3]| Rgba {
        rgb: rgb.map(f32::from),
        alpha: 1.0,
    };
    if let Ok((red, green, blue)) = cssparser::color::parse_named_color(plain) {
        return Some(solid([red, green, blue]));
    }
    let mut chars: Vec<char> = Vec::new();
    for char in plain.chars().take(MAX_LEGACY_COLOR_DIGITS) {
        // What takes two units of UTF-16 is two digits.
        chars.extend(std::iter::repeat_n(char, char.len_utf16()));
    }
    chars.truncate(MAX_LEGACY_COLOR_DIGITS);
    let is_marked = chars.first() == Some(&'#');
    let digits = chars.get(usize::from(is_marked)..).unwrap_or_default();
    let is_short = is_marked && digits.len() == 3 && digits.iter().all(char::is_ascii_hexdigit);
    let mut digits: Vec<u8> = digits
        .iter()
        .map(|char| char.to_digit(16).map_or(0, |digit| digit as u8))
        .collect();
    if let (true, [red, green, blue]) = (is_short, digits.as_slice()) {
        return Some(solid([red * 17, green * 17, blue * 17]));
    }
    while digits.is_empty() || !digits.len().is_multiple_of(3) {
        digits.push(0);
    }
    let mut parts: Vec<&[u8]> = digits.chunks(digits.len() / 3).collect();
    let is_longer = |parts: &[&[u8]], len: usize| parts.iter().all(|part| part.len() > len);
    while is_longer(&parts, 8)
        || is_longer(&parts, 2) && parts.iter().all(|part| part.first() == Some(&0))
    {
        for part in &mut parts {
            *part = part.get(1..).unwrap_or_default();
        }
    }
    let mut level = parts
        .iter()
        .map(|part| part.iter().take(2).fold(0, |sum, digit| sum * 16 + digit));
    let mut next = || level.next().unwrap_or_default();
    Some(solid([next(), next(), next()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_colors_are_parsed() {
        for (value, want) in [
            ("white", [255.0; 3]),
            ("#fff", [255.0; 3]),
            ("ffffff", [255.0; 3]),
            ("#FFFFFF", [255.0; 3]),
            ("chucknorris", [192.0, 0.0, 0.0]),
        ] {
            assert_eq!(legacy_color(value).unwrap().rgb, want, "{value}");
        }
        assert_eq!(legacy_color("transparent"), None);
        assert_eq!(legacy_color(""), None);
    }
}

//! What the values of single properties mean: sizes, fonts, gradients, and values that nobody can judge here.

use super::computed::{Display, painted};
use super::property::Property;
use super::value::{self, Rgba, Units};

pub(super) fn display(value: &str) -> Option<Display> {
    let words = value::words(value);
    let mut found = None;
    for word in &words {
        found = Some(match word.as_str() {
            "none" if words.len() == 1 => Display::None,
            "contents" => Display::Contents,
            "inline" | "ruby" | "ruby-base" | "ruby-text" | "math" => Display::Inline,
            "block" | "inline-block" | "flow-root" | "list-item" | "-webkit-box"
            | "-webkit-inline-box" => Display::Block,
            "flow" => found.unwrap_or(Display::Block),
            "flex" | "inline-flex" | "grid" | "inline-grid" | "-webkit-flex" | "grid-lanes" => {
                Display::Flex
            }
            "table" | "inline-table" | "table-row" | "table-row-group" | "table-header-group"
            | "table-footer-group" => Display::Table,
            "table-caption" => Display::Block,
            "table-cell" => Display::Cell,
            "table-column" | "table-column-group" => Display::Column,
            _ => return None,
        });
    }
    found
}

/// `Some(None)` for sizes that are left to the browser.
pub(super) fn size(value: &str, units: Units) -> Option<Option<f32>> {
    if let Some(word) = value::word(value) {
        let known = matches!(
            word.as_str(),
            "auto"
                | "none"
                | "max-content"
                | "min-content"
                | "fit-content"
                | "stretch"
                | "-webkit-fill-available"
        );
        return known.then_some(None);
    }
    let functions = value::functions(value);
    if functions.iter().any(|(name, _)| name == "fit-content") {
        return Some(None);
    }
    value::length(value, units).map(Some)
}

/// As [`size`]; a part of a height that is not given is no height.
pub(super) fn tall(value: &str, units: Units) -> Option<Option<f32>> {
    if value.contains('%') {
        return Some(None);
    }
    size(value, units)
}

pub(super) fn clips(word: &str) -> Option<bool> {
    match word {
        "visible" => Some(false),
        "hidden" | "clip" | "scroll" | "auto" | "overlay" => Some(true),
        _ => None,
    }
}

/// Top, right, bottom, left of one to four lengths.
pub(super) fn sides(lengths: &[f32]) -> Option<[f32; 4]> {
    Some(match *lengths {
        [all] => [all; 4],
        [block, inline] => [block, inline, block, inline],
        [top, inline, bottom] => [top, inline, bottom, inline],
        [top, right, bottom, left, ..] => [top, right, bottom, left],
        [] => return None,
    })
}

/// `units` are those of the parent.
pub(super) fn font_size(value: &str, units: Units) -> Option<f32> {
    let parent = units.font;
    if let Some(word) = value::word(value) {
        return Some(match word.as_str() {
            "xx-small" => 9.0,
            "x-small" => 10.0,
            "small" => 13.0,
            "medium" => 16.0,
            "large" => 18.0,
            "x-large" => 24.0,
            "xx-large" | "xxx-large" => 32.0,
            "smaller" => parent / 1.2,
            "larger" => parent * 1.2,
            _ => return None,
        });
    }
    value::length(value, units).filter(|size| *size >= 0.0)
}

/// The size in `font: italic bold 12px/30px Georgia, serif`. Without a family it is no font.
pub(super) fn font_shorthand(value: &str, units: Units) -> Option<f32> {
    let words: Vec<&str> = value.split_ascii_whitespace().collect();
    let index = words.iter().position(|word| {
        let size = word.split('/').next().unwrap_or(word);
        // A plain number is a weight, zero is a size.
        let is_weight = size != "0" && size.parse::<f32>().is_ok();
        !is_weight && font_size(size, units).is_some()
    })?;
    words.get(index + 1)?;
    let size = words.get(index)?.split('/').next()?;
    font_size(size, units)
}

/// The colours of gradients, when there are any.
pub(super) fn gradient(value: &str, own: Rgba) -> Vec<Rgba> {
    let functions = value::functions(value);
    let gradients = functions
        .iter()
        .filter(|(name, _)| name.ends_with("gradient"));
    gradients
        .flat_map(|(_, inside)| inside.split_inclusive(','))
        .filter_map(|part| value::colour_in(part.trim_end_matches(',')))
        .map(|colour| painted(colour, own))
        .take(16)
        .collect()
}

/// Without `url(…)` and gradients, whose colours are not the background's.
pub(super) fn without_functions(value: &str) -> String {
    let mut out = value.to_owned();
    for (name, inside) in value::functions(value) {
        if name.ends_with("gradient") || name == "url" || name.ends_with("image-set") {
            out = out.replacen(&format!("({inside})"), " ", 1);
        }
    }
    out
}

/// Whether a value depends on something that browsers may know and we do not.
pub(super) fn has_unknown_function(property: &Property, value: &str) -> bool {
    let matters = matches!(
        property,
        Property::Display
            | Property::Visibility
            | Property::Opacity
            | Property::FontSize
            | Property::Font
            | Property::Color
            | Property::TextFill
            | Property::ContentVisibility
            | Property::Position
            | Property::Left
            | Property::Top
            | Property::MaxHeight
            | Property::Height
    );
    matters && names_unknown_function(value)
}

/// A function that browsers may know and we do not; a colour made from another one is one, too.
fn names_unknown_function(value: &str) -> bool {
    const KNOWN: [&str; 20] = [
        "rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color", "calc",
        "min", "max", "clamp", "abs", "url", "rect", "var", "attr", "",
    ];
    let lower = value.to_ascii_lowercase();
    let mut heads = lower.split('(').collect::<Vec<_>>();
    // What stands behind the last parenthesis is no name.
    heads.pop();
    heads.iter().any(|head| {
        let name = head
            .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
            .next();
        !KNOWN.contains(&name.unwrap_or_default())
    }) || lower.contains("(from ")
}

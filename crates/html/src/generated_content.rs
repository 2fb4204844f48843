//! Generated content (`::before`, `::after`): whether it may cover or move the text beside it.

use cssparser::{Parser, Token};

use crate::declared;
use crate::layout::is_block_character;
use crate::properties::{Longhand, PARTLY_HARMLESS, Property, Reach};
use crate::stylesheet::Declaration;
use crate::values::{self, Units};

/// Letters of generated content that stay in the line.
const MAX_GENERATED_LETTERS: usize = 60;
/// Fonts and lines of generated content that push nothing out of its box.
const MAX_GENERATED_FONT_PX: f32 = 20.0;
const MAX_GENERATED_LINE_PX: f32 = 40.0;
/// The font size of a page that gives none.
const COMMON_FONT_PX: f32 = 16.0;

/// Whether generated content with this declaration may cover other text, or push it out of its box.
pub(crate) fn may_cover(declaration: &Declaration) -> bool {
    use Longhand as L;
    let value = &declaration.value;
    match &declaration.property {
        Property::Sets(all) => all.iter().any(|longhand| match longhand {
            L::Color | L::TextFill | L::TextDecoration => false,
            L::Content => !is_short_content(value),
            L::FontSize => !is_size_in(value, 0.0, MAX_GENERATED_FONT_PX),
            L::LineHeight => !is_size_in(value, COMMON_FONT_PX, MAX_GENERATED_LINE_PX),
            _ => true,
        }),
        Property::PartlyHarmless(index) => {
            !declared::is_harmless(*index, value)
                && PARTLY_HARMLESS
                    .get(*index)
                    .is_none_or(|row| row.reach == Reach::Page)
        }
        Property::Unknown(_) | Property::All => true,
        Property::Custom(_) => false,
    }
}

/// Whether a declaration may give generated content letters or a picture.
pub(crate) fn may_generate(declaration: &Declaration) -> bool {
    let is_empty = matches!(declaration.value.trim(), "''" | "\"\"" | "none" | "normal");
    declaration.property.sets(Longhand::Content) && !is_empty
        || matches!(declaration.property, Property::All)
}

/// Whether generated content is one line of text at most.
fn is_short_content(value: &str) -> bool {
    let mut parser = Parser::new(value);
    while let Ok(token) = parser.next() {
        let is_short = match token {
            Token::QuotedString(text) => {
                text.chars().count() <= MAX_GENERATED_LETTERS
                    && !text.contains(|char: char| char.is_control() || is_block_character(char))
            }
            Token::Ident(_) => true,
            _ => false,
        };
        if !is_short {
            return false;
        }
    }
    true
}

/// Whether a font or line is about as high as those of common text, in pixels.
fn is_size_in(value: &str, least: f32, most: f32) -> bool {
    let units = Units {
        font: COMMON_FONT_PX,
        root: COMMON_FONT_PX,
        whole: COMMON_FONT_PX,
        ..Units::ONE
    };
    let times = values::number(value).map(|times| times * COMMON_FONT_PX);
    match times.or_else(|| values::length(value, units)) {
        Some(px) => (least..=most).contains(&px),
        None => values::keyword(value).is_some(),
    }
}

//! What an element's style comes to, as far as it decides whether text is seen.

use std::collections::HashMap;
use std::rc::Rc;

use crate::declared::{
    background_is_valid, clips, display, font_shorthand, font_size, gradient, is_beyond_us,
    is_small_part, outline, sides, size, tall, without_functions,
};
use crate::own::{Axes, Display, Inset, Own, Position};
use crate::properties::Property;
use crate::shape;
use crate::values::{self, Bare, Colour, Rgba, Units, WINDOW};

pub(crate) type Variables = HashMap<Rc<str>, String>;

/// The first half is inherited, [`Own`] is not.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    pub visible: bool,
    /// Pixels.
    pub font: f32,
    pub root_font: f32,
    pub ink: Rgba,
    /// The colour of the page's text, and of its links.
    pub page_ink: Rgba,
    pub link_ink: Rgba,
    /// `-webkit-text-fill-color`, which goes before the colour.
    pub fill: Option<Rgba>,
    pub indent: f32,
    pub spacing: f32,
    /// White space is kept.
    pub kept: bool,
    /// Letters are shown as dots.
    pub dotted: bool,
    /// Stroke and shadow: letters may be seen by them alone.
    pub outline: Option<Rgba>,
    /// Pixels; none when it follows the font.
    pub line: Option<f32>,
    /// Numbers are pixels in documents of old.
    pub bare: Bare,
    /// `font-size-adjust: 0`
    pub flattened: bool,
    pub variables: Rc<Variables>,
    pub own: Own,
}

impl Computed {
    pub(crate) fn initial(display: Display) -> Self {
        Self {
            visible: true,
            font: 16.0,
            root_font: 16.0,
            ink: Rgba::BLACK,
            page_ink: Rgba::BLACK,
            link_ink: Rgba::LINK,
            fill: None,
            indent: 0.0,
            spacing: 0.0,
            kept: false,
            dotted: false,
            outline: None,
            line: None,
            bare: Bare::Invalid,
            flattened: false,
            variables: Rc::default(),
            own: Own::new(display),
        }
    }

    /// What a child begins with.
    pub(crate) fn inherited(&self, display: Display) -> Self {
        Self {
            visible: self.visible,
            variables: Rc::clone(&self.variables),
            own: Own::new(display),
            ..*self
        }
    }

    fn units(&self, whole: f32) -> Units {
        Units {
            font: self.font,
            root: self.root_font,
            whole,
            bare: self.bare,
        }
    }

    /// Applies one declaration; what is not valid changes nothing.
    pub(crate) fn apply(
        &mut self,
        property: &Property,
        value: &str,
        parent: &Self,
        default: Display,
    ) {
        let value = value.trim();
        if value.starts_with(['i', 'I', 'u', 'U', 'r', 'R', '\\', '/'])
            && let Some(word) = values::keyword(value)
            && let Some(source) = wide(&word, property, parent, default)
        {
            return self.take(property, &source);
        }
        // Back to what a weaker rule said, which is not kept.
        if matches!(
            values::keyword(value).as_deref(),
            Some("revert" | "revert-layer")
        ) {
            self.own.unjudged.push(property.clone());
            return;
        }
        let before = self.own.unjudged.len();
        if self.set(property, value, parent).is_some() {
            // What it said before no longer counts, unless it was said just now.
            let mut index = 0;
            self.own.unjudged.retain(|one| {
                index += 1;
                let sticks = matches!(one, Property::Tracks | Property::AspectRatio);
                one != property || index > before || sticks && !is_reset(value)
            });
        } else if is_beyond_us(property, value) {
            self.own.unjudged.push(property.clone());
        }
    }

    /// `None` when the value is not valid.
    fn set(&mut self, property: &Property, value: &str, parent: &Self) -> Option<()> {
        let across = self.units(WINDOW.0);
        let down = self.units(WINDOW.1);
        let word = || values::keyword(value);
        match property {
            Property::Display => self.own.display = display(value)?,
            Property::Visibility => {
                self.visible = match word()?.as_str() {
                    "visible" => true,
                    "hidden" | "collapse" => false,
                    _ => return None,
                }
            }
            Property::Opacity => self.own.opacity = values::number(value)?.clamp(0.0, 1.0),
            Property::FontSize => self.font = font_size(value, parent.units(parent.font))?,
            Property::Font => self.font = font_shorthand(value, parent.units(parent.font))?,
            Property::FontSizeAdjust => {
                let numbers = values::lengths(value, Units::ONE);
                let flat = numbers.iter().any(|number| *number < 0.05);
                self.flattened = flat || self.flattened && !is_reset(value);
            }
            Property::Color => self.ink = painted(values::colour(value)?, parent.ink),
            Property::TextFill => self.fill = Some(painted(values::colour(value)?, self.ink)),
            Property::BackgroundColor => {
                self.own.paper = painted(values::colour(value)?, self.ink);
            }
            Property::BackgroundImage => {
                let known = ["none"];
                values::only_functions(&value.replace(',', " "), &known)?;
                self.own.gradient = gradient(value, self.ink);
            }
            Property::Background => {
                let plain = without_functions(value);
                background_is_valid(&plain)?;
                self.own.paper = values::colour_in(&plain)
                    .map_or(Rgba::CLEAR, |colour| painted(colour, self.ink));
                self.own.gradient = gradient(value, self.ink);
                self.own.in_letters = values::words(value).iter().any(|word| word == "text");
            }
            Property::BackgroundClip => {
                self.own.in_letters = match word()?.as_str() {
                    "text" => true,
                    "border-box" | "padding-box" | "content-box" | "border-area" => false,
                    _ => return None,
                }
            }
            Property::Width => self.own.width.size = size(value, across)?,
            Property::Height => {
                self.own.height.size = tall(value, down)?;
                self.own.low = is_small_part(value);
            }
            Property::MaxWidth => self.own.width.most = size(value, across)?,
            Property::MaxHeight => {
                self.own.height.most = tall(value, down)?;
                self.own.low = is_small_part(value);
            }
            Property::MinWidth => self.own.width.least = size(value, across)?,
            Property::MinHeight => self.own.height.least = tall(value, down)?,
            Property::Overflow => {
                let (x, y) = match values::idents(value)?.as_slice() {
                    [both] => (clips(both)?, clips(both)?),
                    [x, y] => (clips(x)?, clips(y)?),
                    _ => return None,
                };
                self.own.clips = Axes { x, y };
            }
            Property::OverflowX => self.own.clips.x = clips(&word()?)?,
            Property::OverflowY => self.own.clips.y = clips(&word()?)?,
            Property::Float => {
                self.own.floats = match word()?.as_str() {
                    "none" => false,
                    "left" | "right" | "inline-start" | "inline-end" => true,
                    _ => return None,
                }
            }
            Property::Position => {
                self.own.position = match word()?.as_str() {
                    "static" => Position::Static,
                    "relative" | "sticky" => Position::Relative,
                    "absolute" | "fixed" => Position::Absolute,
                    _ => return None,
                }
            }
            Property::Left => self.own.inset.left = size(value, across)?,
            Property::Right => self.own.inset.right = size(value, across)?,
            Property::Top => self.own.inset.top = size(value, down)?,
            Property::Bottom => self.own.inset.bottom = size(value, down)?,
            Property::Inset => {
                let [top, right, bottom, left] =
                    sides(&values::all_lengths(value, across)?)?.map(Some);
                self.own.inset = Inset {
                    left,
                    right,
                    top,
                    bottom,
                };
            }
            Property::Margin => {
                let [top, _, _, left] = sides(&values::all_lengths(value, across)?)?;
                (self.own.margin_top, self.own.margin_left) = (top, left);
            }
            Property::MarginLeft => self.own.margin_left = size(value, across)?.unwrap_or(0.0),
            Property::MarginTop => self.own.margin_top = size(value, across)?.unwrap_or(0.0),
            Property::TextIndent => {
                let plain = value.replace("hanging", " ").replace("each-line", " ");
                self.indent = values::length(plain.trim(), across)?;
            }
            Property::LetterSpacing => {
                self.spacing = if word().as_deref() == Some("normal") {
                    0.0
                } else {
                    values::length(value, self.units(self.font))?
                }
            }
            Property::TextSecurity => self.dotted = word()? != "none",
            Property::WhiteSpace => {
                let words = values::idents(value)?;
                self.kept = matches!(
                    words.first()?.as_str(),
                    "pre" | "pre-wrap" | "pre-line" | "break-spaces"
                );
            }
            // INVARIANT: only the plain word that resets such a property undoes what it hid. Which other values browsers
            // refuse is too long a list to be sure of.
            Property::Clip => {
                let hides = shape::clips_all(value, across)?;
                self.own.clip = hides || self.own.clip && !is_reset(value);
            }
            Property::ClipPath => {
                let hides = shape::hides_all(value, across)?;
                self.own.clip_path = hides || self.own.clip_path && !is_reset(value);
            }
            Property::Mask => self.own.masked = word().as_deref() != Some("none"),
            Property::Transform => {
                let moved = shape::transform(value, across)?;
                self.own.transform = if is_reset(value) {
                    moved
                } else {
                    self.own.transform.worse(moved)
                };
            }
            Property::Translate => {
                let moved = shape::translate(value, across)?;
                self.own.translate = if is_reset(value) {
                    moved
                } else {
                    self.own.translate.worse(moved)
                };
            }
            Property::Scale => {
                let moved = shape::scale(value)?;
                self.own.scale = if is_reset(value) {
                    moved
                } else {
                    self.own.scale.worse(moved)
                };
            }
            Property::Rotate => {
                let moved = shape::rotate(value, across)?;
                self.own.rotate = if is_reset(value) {
                    moved
                } else {
                    self.own.rotate.worse(moved)
                };
            }
            Property::Zoom => {
                // Browsers take zero for no zoom at all.
                let zoom = values::number(value)?;
                self.own.zoom = if zoom > 0.0 { zoom } else { 1.0 };
            }
            Property::Filter => {
                let left = shape::filter(value)?;
                self.own.filter = if is_reset(value) {
                    left
                } else {
                    left.min(self.own.filter)
                };
            }
            Property::ContentVisibility => {
                self.own.skipped = match word()?.as_str() {
                    "hidden" => true,
                    "visible" | "auto" => false,
                    _ => return None,
                }
            }
            Property::AnimationName => {
                self.own.animation.extend(values::words(value));
                self.own.paused = self.own.animation.iter().any(|word| word == "paused");
            }
            Property::AnimationState => {
                self.own.paused = match word()?.as_str() {
                    "paused" => true,
                    "running" => false,
                    _ => return None,
                }
            }
            Property::Backface => {
                self.own.one_sided = match word()?.as_str() {
                    "hidden" => true,
                    "visible" => false,
                    _ => return None,
                }
            }
            Property::Contain => {
                let words = values::words(value);
                let has = |wanted: &str| words.iter().any(|word| word == wanted);
                let reset = is_reset(value);
                self.own.sized = has("strict") || has("size") || self.own.sized && !reset;
                self.own.painted_inside = has("strict")
                    || has("paint")
                    || has("content")
                    || self.own.painted_inside && !reset;
            }
            // A picture in place of what the element holds.
            Property::Content => {
                self.own.replaced = value.contains('(') || self.own.replaced && !is_reset(value);
            }
            Property::LineHeight => {
                self.line = match values::number(value) {
                    Some(times) => Some(times * self.font),
                    None if word().as_deref() == Some("normal") => None,
                    None => Some(values::length(value, self.units(self.font))?),
                }
            }
            Property::Padding => {
                let [_, right, bottom, _] = sides(&values::all_lengths(value, across)?)?;
                (self.own.padding_right, self.own.padding_bottom) = (right, bottom);
            }
            Property::PaddingBottom => self.own.padding_bottom = values::length(value, across)?,
            Property::PaddingRight => self.own.padding_right = values::length(value, across)?,
            Property::TableLayout => {
                self.own.fixed_table = match word()?.as_str() {
                    "fixed" => true,
                    "auto" => false,
                    _ => return None,
                }
            }
            Property::TextShadow => self.outline = outline(value, self.ink, 2..=3)?,
            Property::TextStroke => self.outline = outline(value, self.ink, 0..=1)?,
            Property::InsetInline | Property::InsetBlock => {
                let lengths = values::all_lengths(value, across)?;
                let (first, last) = (lengths.first().copied(), lengths.last().copied());
                if *property == Property::InsetInline {
                    (self.own.inset.left, self.own.inset.right) = (first, last);
                } else {
                    (self.own.inset.top, self.own.inset.bottom) = (first, last);
                }
            }
            Property::MarginInline => {
                self.own.margin_left = *values::all_lengths(value, across)?.first()?;
            }
            Property::MarginBlock => {
                self.own.margin_top = *values::all_lengths(value, across)?.first()?;
            }
            // Light letters on a dark page, where nothing else is said.
            Property::ColorScheme => {
                let words = values::idents(value)?;
                let has = |wanted: &str| words.iter().any(|word| word == wanted);
                if has("dark") && !has("light") {
                    return None;
                }
            }
            // A row without height holds nothing that could be seen; which one it is, only layout tells.
            Property::Tracks => {
                let low = values::lengths(value, across)
                    .iter()
                    .any(|size| *size <= shape::NOTHING);
                if low {
                    self.own.unjudged.push(Property::Tracks);
                }
            }
            Property::AspectRatio => {
                let numbers = values::lengths(value, Units::ONE);
                if numbers.iter().any(|number| *number > 50.0) {
                    return None;
                }
            }
            // Whatever else places or sizes boxes; nobody needs it for mail.
            Property::Beyond => {
                if !matches!(word().as_deref(), Some("none" | "auto" | "normal")) {
                    return None;
                }
            }
            Property::ZIndex => {
                let given = values::number(value);
                if given.is_none() && word().as_deref() != Some("auto") {
                    return None;
                }
                self.own.layered = given.is_some();
                self.own.below = given.is_some_and(|index| index < 0.0);
            }
            Property::All | Property::Custom(_) => {}
        }
        Some(())
    }

    /// Takes over one property as it is in `source`.
    fn take(&mut self, property: &Property, source: &Self) {
        let (own, from) = (&mut self.own, &source.own);
        match property {
            Property::All => {
                let variables = Rc::clone(&self.variables);
                *self = source.clone();
                self.variables = variables;
            }
            Property::Display => own.display = from.display,
            Property::Visibility => self.visible = source.visible,
            Property::Opacity => own.opacity = from.opacity,
            Property::FontSize | Property::Font => self.font = source.font,
            Property::FontSizeAdjust => self.flattened = source.flattened,
            Property::Color => self.ink = source.ink,
            Property::TextFill => self.fill = source.fill,
            Property::BackgroundColor => own.paper = from.paper,
            Property::BackgroundImage => own.gradient = from.gradient.clone(),
            Property::Background => {
                own.paper = from.paper;
                own.gradient = from.gradient.clone();
                own.in_letters = from.in_letters;
            }
            Property::BackgroundClip => own.in_letters = from.in_letters,
            Property::Width => own.width.size = from.width.size,
            Property::Height => own.height.size = from.height.size,
            Property::MaxWidth => own.width.most = from.width.most,
            Property::MaxHeight => own.height.most = from.height.most,
            Property::MinWidth => own.width.least = from.width.least,
            Property::MinHeight => own.height.least = from.height.least,
            Property::Overflow => own.clips = from.clips,
            Property::OverflowX => own.clips.x = from.clips.x,
            Property::OverflowY => own.clips.y = from.clips.y,
            Property::Float => own.floats = from.floats,
            Property::Position => own.position = from.position,
            Property::Left => own.inset.left = from.inset.left,
            Property::Right => own.inset.right = from.inset.right,
            Property::Top => own.inset.top = from.inset.top,
            Property::Bottom => own.inset.bottom = from.inset.bottom,
            Property::Inset => own.inset = from.inset,
            Property::Margin => {
                (own.margin_left, own.margin_top) = (from.margin_left, from.margin_top);
            }
            Property::MarginLeft => own.margin_left = from.margin_left,
            Property::MarginTop => own.margin_top = from.margin_top,
            Property::TextIndent => self.indent = source.indent,
            Property::LetterSpacing => self.spacing = source.spacing,
            Property::TextSecurity => self.dotted = source.dotted,
            Property::WhiteSpace => self.kept = source.kept,
            Property::Clip => own.clip = from.clip,
            Property::ClipPath => own.clip_path = from.clip_path,
            Property::Mask => own.masked = from.masked,
            Property::Transform => own.transform = from.transform,
            Property::Translate => own.translate = from.translate,
            Property::Scale => own.scale = from.scale,
            Property::Rotate => own.rotate = from.rotate,
            Property::Zoom => own.zoom = from.zoom,
            Property::Filter => own.filter = from.filter,
            Property::ContentVisibility => own.skipped = from.skipped,
            Property::AnimationName => own.animation.clone_from(&from.animation),
            Property::AnimationState => own.paused = from.paused,
            Property::Backface => own.one_sided = from.one_sided,
            Property::Contain => {
                (own.sized, own.painted_inside) = (from.sized, from.painted_inside);
            }
            Property::Content => own.replaced = from.replaced,
            Property::LineHeight => self.line = source.line,
            Property::Padding => {
                own.padding_right = from.padding_right;
                own.padding_bottom = from.padding_bottom;
            }
            Property::PaddingBottom => own.padding_bottom = from.padding_bottom,
            Property::PaddingRight => own.padding_right = from.padding_right,
            Property::TableLayout => own.fixed_table = from.fixed_table,
            Property::TextShadow | Property::TextStroke => self.outline = source.outline,
            Property::ZIndex => (own.layered, own.below) = (from.layered, from.below),
            Property::InsetInline | Property::InsetBlock => own.inset = from.inset,
            Property::MarginInline => own.margin_left = from.margin_left,
            Property::MarginBlock => own.margin_top = from.margin_top,
            Property::Beyond | Property::Tracks | Property::ColorScheme | Property::AspectRatio => {
                own.unjudged.retain(|one| one != property)
            }
            Property::Custom(_) => {}
        }
    }
}

/// The one word that sets a property back to nothing.
fn is_reset(value: &str) -> bool {
    matches!(
        values::keyword(value).as_deref(),
        Some("none" | "auto" | "normal")
    )
}

fn is_inherited(property: &Property) -> bool {
    matches!(
        property,
        Property::Visibility
            | Property::FontSize
            | Property::Font
            | Property::FontSizeAdjust
            | Property::Color
            | Property::TextFill
            | Property::TextIndent
            | Property::LetterSpacing
            | Property::LineHeight
            | Property::TextSecurity
            | Property::TextShadow
            | Property::TextStroke
            | Property::WhiteSpace
    )
}

/// Where a value that any property may have is taken from.
fn wide(word: &str, property: &Property, parent: &Computed, default: Display) -> Option<Computed> {
    match word {
        "inherit" => Some(parent.clone()),
        "initial" => Some(Computed::initial(Display::Inline)),
        "unset" => Some(match property {
            Property::All => parent.inherited(default),
            _ if is_inherited(property) => parent.clone(),
            _ => Computed::initial(Display::Inline),
        }),
        _ => None,
    }
}

pub(crate) fn painted(colour: Colour, own: Rgba) -> Rgba {
    match colour {
        Colour::Own => own,
        Colour::Is(rgba) => rgba,
    }
}

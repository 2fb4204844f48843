//! The CSS properties that can hide text, by name.

use std::rc::Rc;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Property {
    All,
    AnimationName,
    AnimationState,
    AspectRatio,
    Backface,
    Background,
    BackgroundClip,
    BackgroundColor,
    BackgroundImage,
    /// Placing and sizing that is not followed here.
    Beyond,
    Bottom,
    Clip,
    ClipPath,
    Color,
    ColorScheme,
    Contain,
    Content,
    ContentVisibility,
    Display,
    Filter,
    Float,
    Font,
    FontSize,
    FontSizeAdjust,
    Height,
    Inset,
    InsetBlock,
    InsetInline,
    Left,
    LetterSpacing,
    LineHeight,
    Margin,
    MarginBlock,
    MarginInline,
    MarginLeft,
    MarginTop,
    Mask,
    MaxHeight,
    MaxWidth,
    MinHeight,
    MinWidth,
    Opacity,
    Overflow,
    OverflowX,
    OverflowY,
    Padding,
    PaddingBottom,
    PaddingRight,
    Position,
    Right,
    Rotate,
    Scale,
    TableLayout,
    TextFill,
    TextIndent,
    TextSecurity,
    TextShadow,
    TextStroke,
    Top,
    /// Rows and columns of a grid, sizes of backgrounds.
    Tracks,
    Transform,
    Translate,
    Visibility,
    WhiteSpace,
    Width,
    ZIndex,
    Zoom,
    /// `--name`, kept as written: these tell cases apart.
    Custom(Rc<str>),
}

impl Property {
    /// `None` for properties that hide nothing.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if name.starts_with("--") {
            return Some(Self::Custom(Rc::from(name)));
        }
        let mut lower = [0; 32];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        Some(match std::str::from_utf8(lower).ok()? {
            "all" => Self::All,
            "animation" | "animation-name" | "-webkit-animation" | "-webkit-animation-name" => {
                Self::AnimationName
            }
            "animation-play-state" | "-webkit-animation-play-state" => Self::AnimationState,
            "backface-visibility" | "-webkit-backface-visibility" => Self::Backface,
            "background" => Self::Background,
            "background-clip" | "-webkit-background-clip" => Self::BackgroundClip,
            "background-color" => Self::BackgroundColor,
            "background-image" => Self::BackgroundImage,
            "bottom" | "inset-block-end" => Self::Bottom,
            "clip" => Self::Clip,
            "clip-path" | "-webkit-clip-path" => Self::ClipPath,
            "color" => Self::Color,
            "contain" => Self::Contain,
            "content" => Self::Content,
            "content-visibility" => Self::ContentVisibility,
            "display" => Self::Display,
            "filter" | "-webkit-filter" => Self::Filter,
            "float" => Self::Float,
            "font" => Self::Font,
            "font-size" => Self::FontSize,
            "font-size-adjust" => Self::FontSizeAdjust,
            "height" | "block-size" | "-webkit-logical-height" => Self::Height,
            "inset" => Self::Inset,
            "inset-block" => Self::InsetBlock,
            "inset-inline" => Self::InsetInline,
            "left" | "inset-inline-start" => Self::Left,
            "letter-spacing" => Self::LetterSpacing,
            "line-height" => Self::LineHeight,
            "margin" => Self::Margin,
            "margin-block" => Self::MarginBlock,
            "margin-inline" => Self::MarginInline,
            "margin-left" | "margin-inline-start" | "-webkit-margin-start" => Self::MarginLeft,
            "margin-top" | "margin-block-start" | "-webkit-margin-before" => Self::MarginTop,
            "mask" | "-webkit-mask" | "mask-image" | "-webkit-mask-image" => Self::Mask,
            "max-height" | "max-block-size" => Self::MaxHeight,
            "max-width" | "max-inline-size" => Self::MaxWidth,
            "min-height" | "min-block-size" => Self::MinHeight,
            "min-width" | "min-inline-size" => Self::MinWidth,
            "aspect-ratio" => Self::AspectRatio,
            "perspective" | "offset" | "offset-path" | "container-type" | "container" => {
                Self::Beyond
            }
            "color-scheme" => Self::ColorScheme,
            "background-size"
            | "grid"
            | "grid-template"
            | "grid-template-rows"
            | "grid-template-columns"
            | "grid-auto-rows" => Self::Tracks,
            "opacity" | "-webkit-opacity" => Self::Opacity,
            "overflow" => Self::Overflow,
            "overflow-x" | "overflow-inline" => Self::OverflowX,
            "overflow-y" | "overflow-block" => Self::OverflowY,
            "padding" => Self::Padding,
            "padding-bottom" | "padding-block-end" => Self::PaddingBottom,
            "padding-right" | "padding-inline-end" => Self::PaddingRight,
            "position" => Self::Position,
            "right" | "inset-inline-end" => Self::Right,
            "rotate" => Self::Rotate,
            "scale" => Self::Scale,
            "table-layout" => Self::TableLayout,
            "-webkit-text-fill-color" => Self::TextFill,
            "text-indent" => Self::TextIndent,
            "-webkit-text-security" => Self::TextSecurity,
            "text-shadow" => Self::TextShadow,
            "-webkit-text-stroke" | "-webkit-text-stroke-color" => Self::TextStroke,
            "top" | "inset-block-start" => Self::Top,
            "transform" | "-webkit-transform" => Self::Transform,
            "translate" => Self::Translate,
            "visibility" => Self::Visibility,
            "white-space" => Self::WhiteSpace,
            "width" | "inline-size" | "-webkit-logical-width" => Self::Width,
            "z-index" => Self::ZIndex,
            "zoom" => Self::Zoom,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(Property::named("DISPLAY"), Some(Property::Display));
        assert_eq!(Property::named("border"), None);
        assert_eq!(Property::named(&"x".repeat(100)), None);
        assert_eq!(
            Property::named("--Ab"),
            Some(Property::Custom(Rc::from("--Ab")))
        );
    }
}

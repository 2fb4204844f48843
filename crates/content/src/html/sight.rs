//! Whether a reader sees the text of an element, and if not, why.

use super::computed::{Computed, Display, Moved, Own, Position};
use super::shape::NOTHING;
use super::value::{Rgba, WINDOW};

/// Why text is not seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Why {
    Display,
    Visibility,
    Transparent,
    TinyFont,
    ZeroBox,
    OffCanvas,
    Clipped,
    SameColour,
    /// Inside a closed `<details>`.
    Closed,
    Comment,
    /// The alternative text of a picture too small to be seen.
    Pixel,
    /// Browsers do not show what stands in such elements.
    NotRendered,
    /// The style could not be judged.
    Unjudged,
}

impl Why {
    /// In the words of a warning.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Display => "display:none",
            Self::Visibility => "visibility",
            Self::Transparent => "transparent",
            Self::TinyFont => "tiny font",
            Self::ZeroBox => "zero-size box",
            Self::OffCanvas => "off the page",
            Self::Clipped => "clipped",
            Self::SameColour => "colour of its background",
            Self::Closed => "closed details",
            Self::Comment => "comment",
            Self::Pixel => "text of a tracking pixel",
            Self::NotRendered => "not rendered",
            Self::Unjudged => "style too complex to judge",
        }
    }
}

/// Further away than this from the page, to the left or above, nothing can be scrolled to.
const AWAY: f32 = 250.0;
/// Further to the right or down than anybody scrolls.
const FAR: f32 = 2_000.0;
const FAINT: f32 = 0.1;
/// Pixels.
const READABLE: f32 = 2.0;

/// What an element hands down to everything in it.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    /// Nothing in here is seen, whatever it says.
    pub gone: Option<Why>,
    opacity: f32,
    scale: f32,
    /// The colour behind the text.
    backdrop: Rgba,
    /// Or the colours of a gradient.
    gradient: Vec<Rgba>,
    /// A gradient painted in the shape of the letters.
    in_letters: bool,
    clips_x: bool,
    parent: Display,
}

impl Default for Sight {
    fn default() -> Self {
        Self {
            gone: None,
            opacity: 1.0,
            scale: 1.0,
            backdrop: Rgba::WHITE,
            gradient: Vec::new(),
            in_letters: false,
            clips_x: false,
            parent: Display::Block,
        }
    }
}

impl Sight {
    /// The sight inside an element with this style.
    pub(super) fn inside(&self, style: &Computed) -> Self {
        let own = &style.own;
        let solid = own.paper.alpha > 0.0;
        Self {
            gone: self.gone.or_else(|| self.taken_away(own)),
            opacity: self.opacity * own.opacity * own.filter,
            scale: self.scale * own.zoom * scale(own),
            backdrop: own.paper.over(self.backdrop),
            gradient: if !own.gradient.is_empty() && !own.in_letters {
                own.gradient.clone()
            } else if solid && own.paper.alpha >= 1.0 {
                Vec::new()
            } else {
                self.gradient.clone()
            },
            in_letters: own.in_letters && (solid || !own.gradient.is_empty())
                || self.in_letters && own.display == Display::Inline && !solid,
            clips_x: self.clips_x || own.clips.x,
            parent: own.display,
        }
    }

    /// Why text directly in an element with this style is not seen.
    pub(super) fn hides(&self, style: &Computed) -> Option<Why> {
        if self.gone.is_some() {
            return self.gone;
        }
        if !style.visible {
            return Some(Why::Visibility);
        }
        if self.opacity < FAINT {
            return Some(Why::Transparent);
        }
        let size = style.font * self.scale;
        let squeezed = style.spacing <= -0.45 * style.font;
        if size < READABLE || squeezed || style.flattened {
            return Some(Why::TinyFont);
        }
        if style.indent <= -AWAY || self.clips_x && style.indent >= WINDOW.0 * 0.9 {
            return Some(Why::OffCanvas);
        }
        if style.dotted {
            return Some(Why::Clipped);
        }
        self.colour_hides(style)
    }

    /// Whether pictures are seen here: they have neither colour nor font.
    pub(super) fn hides_picture(&self, style: &Computed) -> Option<Why> {
        match self.hides(style) {
            Some(Why::TinyFont | Why::SameColour | Why::OffCanvas) if self.gone.is_none() => None,
            other => other,
        }
    }

    fn colour_hides(&self, style: &Computed) -> Option<Why> {
        let ink = style.fill.unwrap_or(style.ink);
        if ink.alpha < FAINT {
            return (!self.in_letters).then_some(Why::Transparent);
        }
        let ink = Rgba {
            alpha: ink.alpha * self.opacity,
            ..ink
        };
        let like = |paper: Rgba| ink.over(paper).is_like(paper);
        let same = if self.gradient.is_empty() {
            like(self.backdrop)
        } else {
            let mut papers = self.gradient.iter().map(|paper| paper.over(self.backdrop));
            papers.all(like)
        };
        same.then_some(Why::SameColour)
    }

    /// Whether an element and everything in it is gone.
    fn taken_away(&self, own: &Own) -> Option<Why> {
        if own.unjudged {
            return Some(Why::Unjudged);
        }
        if matches!(own.display, Display::None | Display::Column) || own.skipped {
            return Some(Why::Display);
        }
        let boxed = self.is_boxed(own);
        if boxed && is_flat(own) {
            return Some(Why::ZeroBox);
        }
        if own.clip_path || own.masked || own.clip && own.position == Position::Absolute {
            return Some(Why::Clipped);
        }
        let away = |x: f32, y: f32| x <= -AWAY || y <= -AWAY || x >= FAR;
        let placed = match own.position {
            Position::Static => false,
            Position::Relative => {
                let x = own.inset.left.or(own.inset.right.map(|right| -right));
                let y = own.inset.top.or(own.inset.bottom.map(|bottom| -bottom));
                away(x.unwrap_or(0.0), y.unwrap_or(0.0))
            }
            Position::Absolute => {
                away(own.inset.left.unwrap_or(0.0), own.inset.top.unwrap_or(0.0))
                    || own
                        .inset
                        .right
                        .is_some_and(|right| right >= WINDOW.0 + AWAY || right <= -FAR)
                    || own
                        .inset
                        .bottom
                        .is_some_and(|bottom| bottom >= WINDOW.1 + AWAY)
            }
        };
        let moved = boxed && {
            let moved = [own.transform, own.translate];
            let x: f32 = moved.iter().map(|one| one.x).sum();
            let y: f32 = moved.iter().map(|one| one.y).sum();
            away(x, y)
        };
        if placed || moved || away(own.margin_left, own.margin_top) {
            return Some(Why::OffCanvas);
        }
        None
    }

    /// Whether sizes and transformations mean anything: they do not for words in a line.
    fn is_boxed(&self, own: &Own) -> bool {
        match own.display {
            Display::Block | Display::Flex => true,
            Display::Inline => {
                own.floats || own.position == Position::Absolute || self.parent == Display::Flex
            }
            Display::Table | Display::Cell => false,
            Display::None | Display::Column | Display::Contents => false,
        }
    }
}

fn is_flat(own: &Own) -> bool {
    let small = |size: Option<f32>| size.is_some_and(|size| size <= NOTHING);
    own.clips.x && small(own.width.used())
        || own.clips.y && small(own.height.used())
        || (own.clips.x || own.clips.y) && small(own.height.used()) && small(own.width.used())
}

fn scale(own: &Own) -> f32 {
    let all: [Moved; 3] = [own.transform, own.scale, own.rotate];
    // Words in a line are not transformed.
    if own.display == Display::Inline && !own.floats && own.position != Position::Absolute {
        return 1.0;
    }
    all.iter().map(|one| one.scale).product()
}

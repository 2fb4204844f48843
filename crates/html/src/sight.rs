//! Whether a reader sees the text of an element, and if not, why.

use crate::computed::Computed;
use crate::own::{Display, Moved, Own, Position};
use crate::shape::NOTHING;
use crate::values::{Rgba, WINDOW};
use crate::verdict::Reason as Why;

/// Further away than this from the page, to the left or above, nothing can be scrolled to.
const AWAY: f32 = 250.0;
/// Further to the right or down than anybody scrolls.
const FAR: f32 = 2_000.0;
const FAINT: f32 = 0.1;
/// Pixels.
const READABLE: f32 = 2.0;

/// What an element hands down to everything in it.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    /// Nothing in here is seen, whatever it says.
    pub gone: Option<Why>,
    opacity: f32,
    scale: f32,
    /// The colour behind the text.
    backdrop: Rgba,
    /// Or the colours of a gradient.
    gradient: Vec<Rgba>,
    /// What is painted in the shape of the letters.
    letters: Vec<Rgba>,
    clips_x: bool,
    parent: Display,
    /// In a box without room, from which only what is placed elsewhere escapes.
    boxed_in: bool,
    /// Of the block around.
    indent: f32,
    /// Something opaque is painted over what lies below it.
    covering: bool,
    fixed_table: bool,
    /// The height of the box around is given.
    definite: bool,
}

impl Default for Sight {
    fn default() -> Self {
        Self {
            gone: None,
            opacity: 1.0,
            scale: 1.0,
            backdrop: Rgba::WHITE,
            gradient: Vec::new(),
            letters: Vec::new(),
            clips_x: false,
            parent: Display::Block,
            boxed_in: false,
            indent: 0.0,
            covering: false,
            fixed_table: false,
            definite: false,
        }
    }
}

impl Sight {
    /// The sight inside an element with this style.
    pub(crate) fn inside(&self, style: &Computed) -> Self {
        let own = &style.own;
        let boxed = self.is_boxed(own);
        let none = |size: Option<f32>| size.is_some_and(|size| size <= NOTHING);
        let bare = boxed && (none(own.height.used()) || none(own.width.used()));
        // Without a box there is nothing to paint, and in the letters it is ink.
        let painted = !bare && !own.in_letters && own.display != Display::Contents;
        let paper = if painted { own.paper } else { Rgba::CLEAR };
        let solid = paper.alpha > 0.0;
        let placed = own.position != Position::Static;
        let escapes = own.position == Position::Absolute;
        let boxed_in = self.boxed_in && !escapes;
        let flat = self.is_flat(style, boxed);
        let kept_in = (boxed_in || flat) && placed;
        let own_layer = placed && own.layered || own.opacity < 1.0;
        Self {
            gone: self
                .gone
                .or_else(|| self.taken_away(style))
                .or(kept_in.then_some(Why::ZeroBox)),
            boxed_in: boxed_in || flat,
            indent: if boxed || own.display == Display::Cell {
                style.indent
            } else {
                self.indent
            },
            covering: !own_layer && (self.covering || paper.alpha >= 1.0 && !own.floats),
            fixed_table: own.fixed_table || self.fixed_table && own.display == Display::Table,
            opacity: self.opacity * own.opacity * own.filter,
            scale: self.scale * own.zoom * scale(own, boxed),
            backdrop: paper.over(self.backdrop),
            gradient: if !own.gradient.is_empty() && painted {
                own.gradient.clone()
            } else if paper.alpha >= 1.0 {
                Vec::new()
            } else {
                self.gradient.clone()
            },
            letters: if own.in_letters {
                let colours = own.gradient.iter().copied().chain([own.paper]);
                colours.filter(|colour| colour.alpha >= FAINT).collect()
            } else if own.display == Display::Inline && !solid {
                self.letters.clone()
            } else {
                Vec::new()
            },
            clips_x: self.clips_x || own.clips.x,
            parent: if own.display == Display::Contents {
                self.parent
            } else {
                own.display
            },
            definite: own.height.size.is_some(),
        }
    }

    /// Why text directly in an element with this style is not seen.
    pub(crate) fn hides(&self, style: &Computed) -> Option<Why> {
        if self.gone.is_some() {
            return self.gone;
        }
        if self.boxed_in {
            return Some(Why::ZeroBox);
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
        if style.dotted {
            return Some(Why::Clipped);
        }
        self.colour_hides(style)
    }

    /// The first line of a block is pushed out of sight.
    pub(crate) fn indents_away(&self) -> Option<Why> {
        let away = self.indent <= -AWAY
            || self.indent >= FAR
            || self.clips_x && self.indent >= WINDOW.0 * 0.9;
        away.then_some(Why::OffPage)
    }

    /// Whether pictures are seen here: they have neither colour nor font.
    pub(crate) fn hides_picture(&self, style: &Computed) -> Option<Why> {
        match self.hides(style) {
            Some(Why::TinyFont | Why::SameColour | Why::OffPage) if self.gone.is_none() => None,
            other => other,
        }
    }

    fn colour_hides(&self, style: &Computed) -> Option<Why> {
        let ink = style.fill.unwrap_or(style.ink);
        if ink.alpha < FAINT {
            let seen = self
                .letters
                .iter()
                .any(|letter| !letter.over(self.backdrop).is_like(self.backdrop));
            return (!seen).then_some(Why::Transparent);
        }
        let ink = Rgba {
            alpha: ink.alpha * self.opacity,
            ..ink
        };
        let like = |paper: Rgba| {
            let outlined = style
                .outline
                .is_some_and(|line| line.alpha >= FAINT && !line.over(paper).is_like(paper));
            !outlined && ink.over(paper).is_like(paper)
        };
        let same = if self.gradient.is_empty() {
            like(self.backdrop)
        } else {
            let mut papers = self.gradient.iter().map(|paper| paper.over(self.backdrop));
            papers.all(like)
        };
        same.then_some(Why::SameColour)
    }

    /// Whether an element and everything in it is gone.
    fn taken_away(&self, style: &Computed) -> Option<Why> {
        let own = &style.own;
        if !own.unjudged.is_empty() {
            return Some(Why::Budget);
        }
        if matches!(own.display, Display::None | Display::Column) || own.skipped {
            return Some(Why::Display);
        }
        let boxed = self.is_boxed(own);
        let turned = own.transform.turned ^ own.rotate.turned;
        if is_transformed(own, boxed) && turned && own.one_sided {
            return Some(Why::Clipped);
        }
        if own.below && own.position != Position::Static && self.covering {
            return Some(Why::Clipped);
        }
        if own.clip_path
            || own.masked
            || own.replaced
            || own.clip && own.position == Position::Absolute
        {
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
                        .is_some_and(|right| right >= WINDOW.0 || right <= -FAR)
                    || own.inset.bottom.is_some_and(|bottom| bottom >= WINDOW.1)
            }
        };
        let moved = is_transformed(own, boxed) && {
            let moved = [own.transform, own.translate];
            let x: f32 = moved.iter().map(|one| one.x).sum();
            let y: f32 = moved.iter().map(|one| one.y).sum();
            away(x, y)
        };
        if placed || moved || away(own.margin_left, own.margin_top) {
            return Some(Why::OffPage);
        }
        None
    }

    /// Whether a box leaves no room for what it holds.
    fn is_flat(&self, style: &Computed, boxed: bool) -> bool {
        let own = &style.own;
        let small = |size: Option<f32>| size.is_some_and(|size| size <= NOTHING);
        let narrow = own.clips.x && own.padding_right <= NOTHING;
        if own.display == Display::Cell && !boxed {
            // Cells grow with what they hold, unless they must not.
            let width = if self.fixed_table {
                own.width.used()
            } else {
                own.width.most
            };
            return narrow && small(width);
        }
        let squeezed = own.height.used().is_none() && small(style.line);
        let height = own
            .height
            .used()
            .map(|height| height + own.padding_bottom.max(0.0));
        let low = own.low && (self.definite || own.position == Position::Absolute);
        let squeezed = squeezed && own.padding_bottom <= NOTHING;
        let unsized_box = own.sized && own.height.used().is_none();
        let squeezed = squeezed || unsized_box;
        let clips_y = own.clips.y || own.painted_inside;
        boxed
            && (narrow && small(own.width.used()) || clips_y && (small(height) || squeezed || low))
    }

    /// Whether sizes and transformations mean anything: they do not for words in a line.
    fn is_boxed(&self, own: &Own) -> bool {
        match own.display {
            Display::Block | Display::Flex => true,
            Display::Inline => {
                own.floats || own.position == Position::Absolute || self.parent == Display::Flex
            }
            // Taken out of their table, its parts are blocks.
            Display::Table | Display::Cell => own.floats || own.position == Position::Absolute,
            Display::None | Display::Column | Display::Contents => false,
        }
    }
}

/// Words in a line are not transformed.
fn is_transformed(own: &Own, boxed: bool) -> bool {
    boxed || matches!(own.display, Display::Table | Display::Cell)
}

fn scale(own: &Own, boxed: bool) -> f32 {
    let all: [Moved; 3] = [own.transform, own.scale, own.rotate];
    if !is_transformed(own, boxed) {
        return 1.0;
    }
    all.iter().map(|one| one.scale).product()
}

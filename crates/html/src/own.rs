//! What an element's style says of itself alone: nothing here is inherited.

use crate::properties::Property;
use crate::values::Rgba;

#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub display: Display,
    pub floats: bool,
    pub opacity: f32,
    pub paper: Rgba,
    /// The colours of gradients behind the text.
    pub gradient: Vec<Rgba>,
    /// The background is painted in the shape of the letters.
    pub in_letters: bool,
    pub width: Range,
    pub height: Range,
    /// A height that is next to nothing of the height around it, if that is given.
    pub low: bool,
    /// `contain: size`: as high as nothing, unless it is said how high.
    pub sized: bool,
    /// `contain: paint`
    pub painted_inside: bool,
    pub clips: Axes,
    pub position: Position,
    pub inset: Inset,
    pub margin_left: f32,
    pub margin_top: f32,
    /// `clip: rect(…)` around nothing.
    pub clip: bool,
    /// `clip-path` or a mask around nothing.
    pub clip_path: bool,
    pub masked: bool,
    /// A picture stands in place of what the element holds.
    pub replaced: bool,
    pub transform: Moved,
    pub translate: Moved,
    pub scale: Moved,
    pub rotate: Moved,
    pub zoom: f32,
    pub filter: f32,
    pub skipped: bool,
    pub animation: Vec<String>,
    pub paused: bool,
    pub padding_right: f32,
    pub padding_bottom: f32,
    pub below: bool,
    /// `z-index` is given.
    pub layered: bool,
    pub fixed_table: bool,
    /// `backface-visibility: hidden`
    pub one_sided: bool,
    /// Values that cannot be judged here hide: no honest mail needs them.
    pub unjudged: Vec<Property>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Display {
    None,
    Contents,
    Inline,
    Block,
    /// A block whose children are blocks, too.
    Flex,
    /// Rows, cells and tables: they grow with what they hold.
    Table,
    Cell,
    /// Columns of tables: what they hold is not painted.
    Column,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) enum Position {
    #[default]
    Static,
    Relative,
    Absolute,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Range {
    pub size: Option<f32>,
    pub most: Option<f32>,
    pub least: Option<f32>,
}

impl Range {
    /// The size, when it is fixed or bounded.
    pub(crate) fn used(self) -> Option<f32> {
        let bounded = match (self.size, self.most) {
            (Some(size), Some(most)) => Some(size.min(most)),
            (one, other) => one.or(other),
        };
        bounded.map(|size| size.max(self.least.unwrap_or(0.0)))
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Axes {
    pub x: bool,
    pub y: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Inset {
    pub left: Option<f32>,
    pub right: Option<f32>,
    pub top: Option<f32>,
    pub bottom: Option<f32>,
}

/// What a transformation does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Moved {
    pub x: f32,
    pub y: f32,
    /// The smaller of both directions.
    pub scale: f32,
    /// Seen from behind.
    pub turned: bool,
}

impl Moved {
    /// Whatever of both hides more.
    pub(crate) fn worse(self, other: Self) -> Self {
        let farther = |one: f32, two: f32| if one.abs() > two.abs() { one } else { two };
        Self {
            x: farther(self.x, other.x),
            y: farther(self.y, other.y),
            scale: self.scale.min(other.scale),
            turned: self.turned || other.turned,
        }
    }
}

impl Default for Moved {
    fn default() -> Self {
        Self {
            x: 0.0,
            y: 0.0,
            scale: 1.0,
            turned: false,
        }
    }
}

impl Own {
    pub(crate) fn new(display: Display) -> Self {
        Self {
            display,
            floats: false,
            opacity: 1.0,
            paper: Rgba::CLEAR,
            gradient: Vec::new(),
            in_letters: false,
            width: Range::default(),
            height: Range::default(),
            low: false,
            sized: false,
            painted_inside: false,
            clips: Axes::default(),
            position: Position::Static,
            inset: Inset::default(),
            margin_left: 0.0,
            margin_top: 0.0,
            clip: false,
            clip_path: false,
            masked: false,
            replaced: false,
            transform: Moved::default(),
            translate: Moved::default(),
            scale: Moved::default(),
            rotate: Moved::default(),
            zoom: 1.0,
            filter: 1.0,
            skipped: false,
            animation: Vec::new(),
            paused: false,
            padding_right: 0.0,
            padding_bottom: 0.0,
            below: false,
            layered: false,
            fixed_table: false,
            one_sided: false,
            unjudged: Vec::new(),
        }
    }
}

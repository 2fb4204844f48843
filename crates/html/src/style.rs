//! The values that the properties of an element may have.

use std::rc::Rc;

use crate::custom_properties::Customs;
use crate::properties::{INHERITED, Longhand, Reach};
use crate::truth::Truth;
use crate::values::Rgba;

/// Values kept of one property; more are any value.
pub(crate) const MAX_POSSIBLE_VALUES: usize = 8;

/// One value of a property.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value {
    /// `auto`, `none`, `normal`: whatever leaves things as they are.
    Auto,
    Px(f32),
    /// 100 is all of it.
    Percent(f32),
    Number(f32),
    /// A font size, and whether only absolute lengths led to it: browsers enlarge others.
    Font {
        px: f32,
        absolute: bool,
    },
    Color(Rgba),
    CurrentColor,
    /// Whatever the property asks: hidden, clips, floats, nowrap, a shadow, a list of animations.
    On,
    Display(Display),
    Position(Position),
    Image(Image),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Display {
    None,
    Contents,
    Inline,
    InlineBlock,
    Block,
    Flex,
    InlineFlex,
    Table,
    InlineTable,
    /// Row groups and rows.
    Row,
    Cell,
    Caption,
    /// What columns hold is not rendered.
    Column,
}

impl Display {
    /// Sizes and overflow mean something.
    pub(crate) fn is_boxed(self) -> bool {
        !matches!(
            self,
            Self::None | Self::Contents | Self::Inline | Self::Column
        )
    }

    pub(crate) fn is_inline_level(self) -> bool {
        matches!(
            self,
            Self::Inline | Self::InlineBlock | Self::InlineFlex | Self::InlineTable
        )
    }

    pub(crate) fn is_flex(self) -> bool {
        matches!(self, Self::Flex | Self::InlineFlex)
    }

    /// Grows with what it holds, whatever size is asked for.
    pub(crate) fn is_table_part(self) -> bool {
        matches!(
            self,
            Self::Table | Self::InlineTable | Self::Row | Self::Cell | Self::Caption
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Position {
    Static,
    Relative,
    Absolute,
}

/// What a background shows besides its colour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Image {
    /// A picture that is not loaded.
    Remote,
    /// A gradient over the whole box, between these colours.
    Gradient { low: Rgba, high: Rgba },
}

/// The values that a property may have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PossibleValues {
    One(Value),
    Few(Rc<[Value]>),
    Any,
}

impl PossibleValues {
    pub(crate) fn from_values(values: &[Value]) -> Self {
        match values {
            [one] => Self::One(*one),
            [] => Self::Any,
            few if few.len() <= MAX_POSSIBLE_VALUES => Self::Few(Rc::from(few)),
            _ => Self::Any,
        }
    }

    /// `None` when it may be anything.
    pub(crate) fn values(&self) -> Option<&[Value]> {
        match self {
            Self::One(one) => Some(std::slice::from_ref(one)),
            Self::Few(few) => Some(few),
            Self::Any => None,
        }
    }

    pub(crate) fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }

    /// Whether a predicate holds for the value, whichever it is.
    pub(crate) fn is(&self, predicate: impl Fn(Value) -> bool) -> Truth {
        let Some(values) = self.values() else {
            return Truth::Unknown;
        };
        let holding = values.iter().filter(|value| predicate(**value)).count();
        if holding == values.len() {
            Truth::Yes
        } else {
            Truth::of(holding > 0).and(Truth::Unknown)
        }
    }

    /// Whether the value may be so.
    pub(crate) fn may(&self, predicate: impl Fn(Value) -> bool) -> bool {
        self.is(predicate).may()
    }

    pub(crate) fn join(&self, other: &Self) -> Self {
        let (Some(own), Some(others)) = (self.values(), other.values()) else {
            return Self::Any;
        };
        let mut all = own.to_vec();
        for value in others {
            if !all.contains(value) {
                all.push(*value);
            }
        }
        Self::from_values(&all)
    }

    /// The lengths that it may be, in pixels; none for keywords. `None` when it may be anything.
    pub(crate) fn pixels(&self) -> Option<impl Iterator<Item = f32> + '_> {
        let values = self.values()?;
        Some(values.iter().filter_map(|value| match value {
            Value::Px(px) => Some(*px),
            _ => None,
        }))
    }
}

/// What an element's properties may be.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    inherited: Rc<[PossibleValues; INHERITED]>,
    own: Vec<(Longhand, PossibleValues)>,
    /// A bit for each property in `own`.
    own_set: u64,
    /// Guarded and unknown properties that may have a value which is not understood, by their
    /// names.
    pub not_understood: Vec<UnknownProperty>,
    pub customs: Rc<Customs>,
    /// The font size of the root element.
    pub root_font: f32,
    /// Numbers without a unit are pixels: the page has no doctype.
    pub quirks: bool,
    /// White space is written as it stands.
    pub keeps_space: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnknownProperty {
    pub name: &'static str,
    pub inherited: bool,
    pub reach: Reach,
    /// Set on the element itself.
    pub own: bool,
}

impl Style {
    pub(crate) fn root(quirks: bool) -> Self {
        let inherited = std::array::from_fn(|index| {
            let longhand = Longhand::ALL.get(index).copied();
            PossibleValues::One(longhand.map_or(Value::Auto, initial))
        });
        Self {
            inherited: Rc::new(inherited),
            own: Vec::new(),
            own_set: 0,
            not_understood: Vec::new(),
            customs: Rc::default(),
            root_font: 16.0,
            quirks,
            keeps_space: false,
        }
    }

    /// What a child begins with.
    pub(crate) fn child(&self) -> Self {
        Self {
            inherited: Rc::clone(&self.inherited),
            own: Vec::new(),
            own_set: 0,
            not_understood: self
                .not_understood
                .iter()
                .filter(|one| one.inherited)
                .map(|one| UnknownProperty { own: false, ..*one })
                .collect(),
            customs: Rc::clone(&self.customs),
            root_font: self.root_font,
            quirks: self.quirks,
            keeps_space: self.keeps_space,
        }
    }

    pub(crate) fn get(&self, longhand: Longhand) -> PossibleValues {
        if longhand.is_inherited() {
            let found = self.inherited.get(longhand as usize);
            return found.cloned().unwrap_or(PossibleValues::Any);
        }
        let mut own = self.own.iter();
        let found = if self.own_set & longhand.bit() == 0 {
            None
        } else {
            own.find(|(known, _)| *known == longhand)
        };
        found.map_or(PossibleValues::One(initial(longhand)), |(_, value)| {
            value.clone()
        })
    }

    pub(crate) fn set(&mut self, longhand: Longhand, value: PossibleValues) {
        if longhand.is_inherited() {
            if self.inherited.get(longhand as usize) != Some(&value) {
                let all = Rc::make_mut(&mut self.inherited);
                if let Some(slot) = all.get_mut(longhand as usize) {
                    *slot = value;
                }
            }
            return;
        }
        match self.own.iter_mut().find(|(known, _)| *known == longhand) {
            Some((_, slot)) => *slot = value,
            None if value == PossibleValues::One(initial(longhand)) => {}
            None => {
                self.own_set |= longhand.bit();
                self.own.push((longhand, value));
            }
        }
    }

    /// Adds a property that is not understood, once.
    pub(crate) fn add_unknown(&mut self, property: UnknownProperty) {
        if !self.not_understood.contains(&property) {
            self.not_understood.push(property);
        }
    }

    /// Own properties that may be anything.
    pub(crate) fn own_any(&self) -> impl Iterator<Item = Longhand> + '_ {
        self.own
            .iter()
            .filter(|(_, value)| value.is_any())
            .map(|(longhand, _)| *longhand)
    }

    /// Whether all properties of its own are in a set.
    pub(crate) fn sets_only(&self, set: u64) -> bool {
        self.own_set & !set == 0
    }

    pub(crate) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// The font sizes that it may have, in pixels.
    pub(crate) fn fonts(&self) -> Option<Vec<f32>> {
        let fonts = self.get(Longhand::FontSize);
        let values = fonts.values()?;
        Some(
            values
                .iter()
                .filter_map(|value| match value {
                    Value::Font { px, .. } => Some(*px),
                    _ => None,
                })
                .collect(),
        )
    }

    /// The largest font size that it may have; a large one when it may be anything.
    pub(crate) fn largest_font(&self) -> f32 {
        let fonts = self.inherited.get(Longhand::FontSize as usize);
        let Some(values) = fonts.and_then(PossibleValues::values) else {
            return 100.0;
        };
        values.iter().fold(0.0, |largest, value| match value {
            Value::Font { px, .. } => px.max(largest),
            _ => largest,
        })
    }
}

/// The value that a property has when nothing sets it.
pub(crate) fn initial(longhand: Longhand) -> Value {
    use Longhand as L;
    match longhand {
        L::FontSize => Value::Font {
            px: 16.0,
            absolute: false,
        },
        L::Color => Value::Color(Rgba::BLACK),
        L::TextFill => Value::CurrentColor,
        L::Display => Value::Display(Display::Inline),
        L::Position => Value::Position(Position::Static),
        L::BackgroundColor => Value::Color(Rgba::TRANSPARENT),
        L::Opacity | L::Zoom => Value::Number(1.0),
        L::TextIndent
        | L::MarginTop
        | L::MarginRight
        | L::MarginBottom
        | L::MarginLeft
        | L::PaddingTop
        | L::PaddingRight
        | L::PaddingBottom
        | L::PaddingLeft
        | L::BorderTop
        | L::BorderRight
        | L::BorderBottom
        | L::BorderLeft
        | L::OutlineWidth
        | L::OutlineOffset
        | L::LetterSpacing
        | L::WordSpacing
        | L::VerticalAlign => Value::Px(0.0),
        _ => Value::Auto,
    }
}

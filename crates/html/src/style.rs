//! The values that the properties of an element may have.

use std::rc::Rc;

use crate::custom_properties::CustomProperties;
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

impl Value {
    /// Whether animations go through values between this one and another.
    pub(crate) fn is_continuous(self) -> bool {
        !matches!(
            self,
            Self::Auto | Self::On | Self::Display(_) | Self::Position(_)
        )
    }
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

    /// Begins a formatting context of its own.
    pub(crate) fn holds_floats(self) -> bool {
        self.is_boxed() && !matches!(self, Self::Block | Self::Row)
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

/// What a background shows besides its color.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Image {
    /// A picture that is not loaded.
    Remote,
    /// A gradient over the whole box, between these colors.
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
        let values = match self {
            Self::One(one) => return Truth::of(predicate(*one)),
            Self::Few(few) => few,
            Self::Any => return Truth::Unknown,
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

/// The values of the inherited properties.
pub(crate) type InheritedValues = Rc<[PossibleValues; INHERITED]>;

/// What an element's properties may be.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    /// Its place among the styles of the page.
    pub number: usize,
    inherited: InheritedValues,
    /// What properties are when nothing sets them.
    initial: Rc<[PossibleValues]>,
    /// Those that are not inherited and not initial, in the order of [`Longhand::ALL`].
    own: Vec<PossibleValues>,
    /// A bit for each property in `own`.
    own_set: u64,
    /// Partly harmless and unknown properties that may have a value which is not understood.
    pub not_understood: Vec<UnknownProperty>,
    pub customs: Rc<CustomProperties>,
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
        let value = |longhand: &Longhand| PossibleValues::One(initial(*longhand));
        let initial: Rc<[PossibleValues]> = Longhand::ALL.iter().map(value).collect();
        let inherited =
            std::array::from_fn(|index| initial.get(index).cloned().unwrap_or(PossibleValues::Any));
        Self {
            number: 0,
            inherited: Rc::new(inherited),
            initial,
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
            number: 0,
            inherited: Rc::clone(&self.inherited),
            initial: Rc::clone(&self.initial),
            own: Vec::new(),
            own_set: 0,
            not_understood: self.inherited_unknown().collect(),
            customs: Rc::clone(&self.customs),
            root_font: self.root_font,
            quirks: self.quirks,
            keeps_space: self.keeps_space,
        }
    }

    pub(crate) fn get(&self, longhand: Longhand) -> &PossibleValues {
        let index = longhand as usize;
        let found = if longhand.is_inherited() {
            self.inherited.get(index)
        } else if self.own_set & longhand.bit() == 0 {
            self.initial.get(index)
        } else {
            self.own.get(self.own_index(longhand))
        };
        found.unwrap_or(&PossibleValues::Any)
    }

    /// Where a property stands in `own`, or would.
    fn own_index(&self, longhand: Longhand) -> usize {
        (self.own_set & (longhand.bit() - 1)).count_ones() as usize
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
        let index = self.own_index(longhand);
        if self.own_set & longhand.bit() != 0 {
            if let Some(slot) = self.own.get_mut(index) {
                *slot = value;
            }
        } else if value != PossibleValues::One(initial(longhand)) {
            self.own_set |= longhand.bit();
            self.own.insert(index, value);
        }
    }

    /// The properties that children do not understand either.
    fn inherited_unknown(&self) -> impl Iterator<Item = UnknownProperty> + '_ {
        let inherited = self.not_understood.iter().filter(|one| one.inherited);
        inherited.map(|one| UnknownProperty { own: false, ..*one })
    }

    pub(crate) fn shares_inherited(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.inherited, &other.inherited)
    }

    pub(crate) fn inherited_values(&self) -> InheritedValues {
        Rc::clone(&self.inherited)
    }

    pub(crate) fn inherits(&self, values: &InheritedValues) -> bool {
        self.inherited == *values
    }

    /// Takes equal values, so that styles can be compared by their address.
    pub(crate) fn share_inherited(&mut self, values: &InheritedValues) {
        self.inherited = Rc::clone(values);
    }

    /// Whether children inherit the same from both.
    pub(crate) fn passes_on_the_same(&self, other: &Self) -> bool {
        self.shares_inherited(other)
            && Rc::ptr_eq(&self.customs, &other.customs)
            && self.root_font.to_bits() == other.root_font.to_bits()
            && self.keeps_space == other.keeps_space
            && self.inherited_unknown().eq(other.inherited_unknown())
    }

    /// Adds a property that is not understood, once.
    pub(crate) fn add_unknown(&mut self, property: UnknownProperty) {
        if !self.not_understood.contains(&property) {
            self.not_understood.push(property);
        }
    }

    /// Own properties that may be anything.
    pub(crate) fn own_any(&self) -> impl Iterator<Item = Longhand> + '_ {
        let is_any = |longhand: &&Longhand| {
            self.own_set & longhand.bit() != 0 && self.get(**longhand).is_any()
        };
        let own = Longhand::ALL.iter().skip(INHERITED).filter(is_any);
        own.copied()
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

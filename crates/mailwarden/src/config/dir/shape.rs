//! The shape of a configuration file, as data: what is checked, the JSON Schema and the documentation come from it.

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// One line of text. The example shows what is meant.
    Text {
        such_as: &'static str,
        /// For the JSON Schema; that it holds is checked where the text is used.
        pattern: Option<&'static str>,
    },
    /// A number and a unit.
    Duration {
        such_as: &'static str,
    },
    /// One of these, exactly.
    Word(&'static [&'static str]),
    /// A whole number in this range.
    Whole {
        such_as: u64,
        low: u64,
        high: u64,
    },
    Boolean,
    /// A mapping with these keys.
    Keys(&'static Keys),
    /// A mapping whose keys are names of the writer's choice.
    Named(&'static Named),
    List(&'static Shape),
}

/// A mapping whose keys are known.
#[derive(Debug)]
pub(super) struct Keys {
    /// With its article, as in "in an account".
    pub what: &'static str,
    pub keys: &'static [Key],
}

#[derive(Debug)]
pub(super) struct Named {
    /// Of which things it is, as in "accounts".
    pub what: &'static str,
    pub about: &'static str,
    pub each: Shape,
}

#[derive(Debug)]
pub(super) struct Key {
    pub name: &'static str,
    pub need: Need,
    pub shape: Shape,
    pub about: &'static str,
    pub shown: Shown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Required,
    Optional,
    /// And this value holds without it.
    Default(&'static str),
    /// And this, in words, holds without it.
    Otherwise(&'static str),
}

/// Whether a value may stand in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    Yes,
    /// A secret could have been written there by mistake.
    Never,
}

/// Text of which nothing more is known.
pub(super) const fn text(such_as: &'static str) -> Shape {
    Shape::Text {
        such_as,
        pattern: None,
    }
}

/// Text that fits a pattern.
pub(super) const fn text_like(such_as: &'static str, pattern: &'static str) -> Shape {
    Shape::Text {
        such_as,
        pattern: Some(pattern),
    }
}

pub(super) const fn key(name: &'static str, need: Need, shape: Shape, about: &'static str) -> Key {
    Key {
        name,
        need,
        shape,
        about,
        shown: Shown::Yes,
    }
}

impl Key {
    /// Its value is never shown.
    pub(super) const fn withheld(self) -> Self {
        Self {
            shown: Shown::Never,
            ..self
        }
    }
}

impl Keys {
    pub(super) fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

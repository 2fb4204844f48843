//! What becomes of text that a person may not see.

/// The stricter of two is the greater.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum UncertainText {
    /// It is shown and marked.
    #[default]
    Show,
    /// It is left out and counted.
    Withhold,
}

impl UncertainText {
    /// The words of settings and policies.
    pub const NAMES: &'static [&'static str] = &["show", "withhold"];

    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "show" => Some(Self::Show),
            "withhold" => Some(Self::Withhold),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::Withhold => "withhold",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_withhold_is_stricter() {
        for name in UncertainText::NAMES {
            assert_eq!(UncertainText::from_name(name).unwrap().name(), *name);
        }
        assert_eq!(UncertainText::from_name("maybe"), None);
        assert!(UncertainText::Withhold > UncertainText::Show);
    }
}

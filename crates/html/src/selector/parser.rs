//! How selectors are written: which of them browsers know, which cannot be judged here, and what matching costs.

use std::cell::Cell;
use std::fmt;

use cssparser::{ParseError, Parser as CssParser, ToCss};
use selectors::parser::{
    Combinator, Component, NonTSPseudoClass, ParseRelative, PseudoElement, SelectorList,
    SelectorParseErrorKind,
};

use crate::dom::Dom;
use crate::selector::matching::{Mail, One, Selectors};

/// Pseudo-classes that say something about mail; all others never match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Link,
    /// In one of these languages; in lower case.
    Language(Vec<String>),
    Direction(String),
    /// Depends on what is not known here.
    Doubtful,
    Never,
}

impl ToCss for State {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        out.write_str(":state")
    }
}

impl NonTSPseudoClass for State {
    fn is_active_or_hover(&self) -> bool {
        false
    }

    fn is_user_action_state(&self) -> bool {
        false
    }
}

/// Parts of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pseudo {
    /// The first line or letter: what is said of it may be said of all.
    Letters,
    /// `::before` and the like: rules for them say nothing about text.
    Other,
}

impl ToCss for Pseudo {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        out.write_str("::pseudo")
    }
}

impl PseudoElement for Pseudo {}

/// Pseudo-classes that hold for nothing while mail is read.
const NEVER: &[&str] = &[
    "active",
    "focus",
    "focus-visible",
    "focus-within",
    "fullscreen",
    "-webkit-full-screen",
    "hover",
    "target",
    "target-within",
    "visited",
];

/// Pseudo-classes whose truth depends on more than is known here. Those that nobody knows end a rule.
const DOUBTFUL: &[&str] = &[
    "autofill",
    "-webkit-autofill",
    "blank",
    "buffering",
    "checked",
    "current",
    "default",
    "defined",
    "disabled",
    "enabled",
    "future",
    "in-range",
    "indeterminate",
    "invalid",
    "local-link",
    "modal",
    "muted",
    "open",
    "optional",
    "out-of-range",
    "past",
    "paused",
    "picture-in-picture",
    "placeholder-shown",
    "playing",
    "popover-open",
    "read-only",
    "read-write",
    "required",
    "seeking",
    "stalled",
    "user-invalid",
    "user-valid",
    "valid",
];

/// Remembers whether it met something that it cannot judge.
#[derive(Default)]
struct Syntax {
    doubt: Cell<bool>,
}

impl<'i> selectors::parser::Parser<'i> for Syntax {
    type Impl = Mail;
    type Error = SelectorParseErrorKind;

    fn is_is_alias(&self, name: &str) -> bool {
        ["-webkit-any", "-moz-any", "matches"]
            .iter()
            .any(|alias| name.eq_ignore_ascii_case(alias))
    }

    fn parse_is_and_where(&self) -> bool {
        true
    }

    fn parse_has(&self) -> bool {
        true
    }

    fn parse_nth_child_of(&self) -> bool {
        true
    }

    fn parse_parent_selector(&self) -> bool {
        true
    }

    fn parse_non_ts_pseudo_class(
        &self,
        name: &str,
    ) -> Result<State, ParseError<SelectorParseErrorKind>> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "link" | "any-link" | "-webkit-any-link" => State::Link,
            known if DOUBTFUL.contains(&known) => {
                self.doubt.set(true);
                State::Doubtful
            }
            known if NEVER.contains(&known) => State::Never,
            _ => {
                return Err(ParseError::custom(
                    SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
                ));
            }
        })
    }

    fn parse_non_ts_functional_pseudo_class(
        &self,
        name: &str,
        input: &mut CssParser<'i>,
        _: bool,
    ) -> Result<State, ParseError<SelectorParseErrorKind>> {
        let words = input.parse_comma_separated(|input| {
            let word = input.expect_ident_or_string()?;
            Ok::<_, ParseError<SelectorParseErrorKind>>(word.to_ascii_lowercase())
        })?;
        match name.to_ascii_lowercase().as_str() {
            "lang" => Ok(State::Language(words)),
            "dir" => Ok(State::Direction(words.concat())),
            _ => Err(ParseError::custom(
                SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
            )),
        }
    }

    fn parse_pseudo_element(
        &self,
        name: &str,
    ) -> Result<Pseudo, ParseError<SelectorParseErrorKind>> {
        match name.to_ascii_lowercase().as_str() {
            "first-line" | "first-letter" => {
                self.doubt.set(true);
                Ok(Pseudo::Letters)
            }
            "before"
            | "after"
            | "backdrop"
            | "cue"
            | "details-content"
            | "file-selector-button"
            | "grammar-error"
            | "marker"
            | "placeholder"
            | "selection"
            | "spelling-error"
            | "target-text" => Ok(Pseudo::Other),
            name if name.starts_with("-webkit-") => Ok(Pseudo::Other),
            _ => Err(ParseError::custom(
                SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
            )),
        }
    }
}

/// What stands before a block.
#[derive(Clone)]
pub(crate) struct Prelude {
    pub selectors: Selectors,
    /// How much work one match may be, in elements looked at.
    pub weight: Weight,
    /// It holds something that cannot be judged.
    pub doubt: bool,
}

/// The selectors before a block. `within` are those of the rule around it.
pub(crate) fn parse(input: &mut CssParser<'_>, within: Option<&Prelude>) -> Option<Prelude> {
    let relative = match within {
        Some(_) => ParseRelative::ForNesting,
        None => ParseRelative::No,
    };
    let syntax = Syntax::default();
    let found = SelectorList::parse(&syntax, input, relative).ok()?;
    let around = within.map(|parent| parent.weight).unwrap_or_default();
    // `&` in a rule inside stands for all of these.
    let mut all = Weight::default();
    let weights = found.slice().iter().map(|one| weight(one, around));
    weights.for_each(|one| all.add(one));
    Some(Prelude {
        selectors: match within {
            Some(parent) => found.replace_parent_selector(&parent.selectors),
            None => found,
        },
        weight: all,
        doubt: syntax.doubt.get(),
    })
}

/// Part of it grows with the page.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Weight {
    fixed: usize,
    per_level: usize,
    per_element: usize,
}

impl Weight {
    pub(crate) fn of(self, dom: &Dom) -> usize {
        self.fixed
            .saturating_add(self.per_level.saturating_mul(dom.depth))
            .saturating_add(self.per_element.saturating_mul(dom.len()))
    }

    fn add(&mut self, other: Self) {
        self.fixed = self.fixed.saturating_add(other.fixed);
        self.per_level = self.per_level.saturating_add(other.per_level);
        self.per_element = self.per_element.saturating_add(other.per_element);
    }

    /// So much for each element.
    fn each(self) -> Self {
        let nested = if self.per_element > 0 {
            usize::MAX / 2
        } else {
            0
        };
        Self {
            fixed: nested,
            per_level: 0,
            per_element: self.fixed.saturating_add(self.per_level.saturating_mul(64)),
        }
    }
}

/// `around` is the weight of what `&` stands for. Each `&` is matched anew, so that nested rules multiply.
fn weight(selector: &One, around: Weight) -> Weight {
    let fixed = |fixed: usize| Weight {
        fixed,
        ..Weight::default()
    };
    let level = Weight {
        per_level: 1,
        ..Weight::default()
    };
    let element = Weight {
        per_element: 1,
        ..Weight::default()
    };
    let mut sum = fixed(1);
    for component in selector.iter_raw_match_order() {
        let inner = |list: &Selectors| {
            let mut inside = Weight::default();
            list.slice()
                .iter()
                .for_each(|one| inside.add(weight(one, around)));
            inside
        };
        sum.add(match component {
            // Any sibling before it may be looked at.
            Component::Combinator(Combinator::LaterSibling) => element,
            Component::Has(inner) => {
                let mut inside = fixed(1);
                inner
                    .iter()
                    .for_each(|one| inside.add(weight(&one.selector, around)));
                inside.each()
            }
            Component::NthOf(inner) => {
                let mut inside = fixed(1);
                inner
                    .selectors()
                    .iter()
                    .for_each(|one| inside.add(weight(one, around)));
                inside.each()
            }
            Component::Combinator(_) | Component::NonTSPseudoClass(_) => level,
            Component::Nth(_) => fixed(8),
            Component::Is(list) | Component::Where(list) | Component::Negation(list) => inner(list),
            Component::ParentSelector => around,
            _ => fixed(1),
        });
    }
    sum
}

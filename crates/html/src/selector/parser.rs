//! How selectors are written, and what matching them costs.

use std::cell::Cell;
use std::fmt;

use cssparser::{ParseError, Parser as CssParser, ToCss};
use selectors::parser::{
    Combinator, Component, NonTSPseudoClass, ParseRelative, PseudoElement, SelectorList,
    SelectorParseErrorKind,
};

use crate::dom::Dom;
use crate::selector::matching::{One, SelectorTypes, Selectors};

/// What pseudo-classes ask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Link,
    UnvisitedLink,
    /// Nothing has the focus, unless an element takes it by itself.
    Focus,
    /// Depends on what is not known here.
    Unknown,
    /// Holds for nothing while mail is read.
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
    /// A part that holds text of the element, such as its first line, or one that is not known.
    Text,
    /// A part with a box of its own, which may cover other text.
    Generated,
    /// A part without a box of its own.
    Other,
}

impl ToCss for Pseudo {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        out.write_str("::pseudo")
    }
}

impl PseudoElement for Pseudo {}

/// Pseudo-classes that hold for nothing while mail is read.
const NEVER_MATCHING: &[&str] = &["active", "fullscreen", "-webkit-full-screen", "hover"];

/// Pseudo-classes of other browsers, which end a rule.
fn is_foreign(name: &str) -> bool {
    ["-moz-", "-ms-", "-o-"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[derive(Default)]
struct Syntax {
    /// It met a name that browsers may not know, which ends the rule.
    names_unknown: Cell<bool>,
}

impl Syntax {
    fn note(&self, unknown: bool) {
        self.names_unknown.set(self.names_unknown.get() || unknown);
    }
}

/// Pseudo-classes whose truth depends on more than is known here.
const UNDECIDABLE: &[&str] = &[
    "autofill",
    "-webkit-autofill",
    "checked",
    "default",
    "defined",
    "disabled",
    "enabled",
    "in-range",
    "indeterminate",
    "invalid",
    "modal",
    "open",
    "optional",
    "out-of-range",
    "picture-in-picture",
    "placeholder-shown",
    "popover-open",
    "read-only",
    "read-write",
    "required",
    // A page that loads itself anew can go to any part of it.
    "target",
    "target-within",
    "user-invalid",
    "user-valid",
    "valid",
    // A link to the page itself is visited, and others may have been followed before.
    "visited",
];

impl<'i> selectors::parser::Parser<'i> for Syntax {
    type Impl = SelectorTypes;
    type Error = SelectorParseErrorKind;

    fn is_is_alias(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("-webkit-any")
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
            "link" => State::UnvisitedLink,
            "any-link" | "-webkit-any-link" => State::Link,
            "focus" | "focus-visible" | "focus-within" => State::Focus,
            known if NEVER_MATCHING.contains(&known) => State::Never,
            foreign if is_foreign(foreign) => {
                return Err(ParseError::custom(
                    SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
                ));
            }
            known => {
                self.note(!UNDECIDABLE.contains(&known));
                State::Unknown
            }
        })
    }

    fn parse_non_ts_functional_pseudo_class(
        &self,
        name: &str,
        input: &mut CssParser<'i>,
        _: bool,
    ) -> Result<State, ParseError<SelectorParseErrorKind>> {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            foreign if is_foreign(foreign) => Err(ParseError::custom(
                SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
            )),
            known => {
                while input.next().is_ok() {}
                self.note(!matches!(known, "lang" | "dir" | "state"));
                Ok(State::Unknown)
            }
        }
    }

    fn parse_pseudo_element(
        &self,
        name: &str,
    ) -> Result<Pseudo, ParseError<SelectorParseErrorKind>> {
        match name.to_ascii_lowercase().as_str() {
            "before" | "after" | "marker" | "file-selector-button" => Ok(Pseudo::Generated),
            "backdrop"
            | "cue"
            | "grammar-error"
            | "placeholder"
            | "selection"
            | "spelling-error"
            | "target-text"
            | "-webkit-input-placeholder" => Ok(Pseudo::Other),
            name if name.starts_with("-webkit-") => Ok(Pseudo::Generated),
            foreign if is_foreign(foreign) => Err(ParseError::custom(
                SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
            )),
            "first-line" | "first-letter" | "details-content" => Ok(Pseudo::Text),
            _ => {
                self.note(true);
                Ok(Pseudo::Text)
            }
        }
    }

    fn parse_functional_pseudo_element(
        &self,
        name: &str,
        input: &mut CssParser<'i>,
    ) -> Result<Pseudo, ParseError<SelectorParseErrorKind>> {
        while input.next().is_ok() {}
        match name.to_ascii_lowercase().as_str() {
            "cue" | "highlight" | "part" | "slotted" => Ok(Pseudo::Other),
            _ => {
                self.note(true);
                Ok(Pseudo::Text)
            }
        }
    }
}

/// What stands before a block.
#[derive(Clone)]
pub(crate) struct Prelude {
    pub selectors: Selectors,
    /// How much work one match may be, in elements looked at.
    pub weight: MatchCost,
    /// It could not be read: it may match anything.
    pub unread: bool,
    /// Browsers may not know a name in it, and then ignore it.
    pub names_unknown: bool,
}

/// The selectors before a block. `within` are those of the rule around it; `foreign` when names may
/// have prefixes, which are not known here. `None` when browsers ignore the rule.
pub(crate) fn parse(
    input: &mut CssParser<'_>,
    within: Option<&Prelude>,
    foreign: bool,
) -> Option<Prelude> {
    let relative = match within {
        Some(_) => ParseRelative::ForNesting,
        None => ParseRelative::No,
    };
    let start = input.state();
    let mut unread = within.is_some_and(|parent| parent.unread);
    let syntax = Syntax::default();
    let found = match SelectorList::parse(&syntax, input, relative) {
        Ok(found) => found,
        Err(_) if foreign => {
            input.reset(&start);
            while input.next().is_ok() {}
            unread = true;
            SelectorList::parse(&syntax, &mut CssParser::new("*"), ParseRelative::No).ok()?
        }
        Err(_) => return None,
    };
    let around = within.map(|parent| parent.weight).unwrap_or_default();
    // `&` in a rule inside stands for all of these.
    let mut all = MatchCost::default();
    let weights = found.slice().iter().map(|one| weight(one, around));
    weights.for_each(|one| all.add(one));
    Some(Prelude {
        selectors: match within {
            Some(parent) => found.replace_parent_selector(&parent.selectors),
            None => found,
        },
        weight: all,
        unread,
        names_unknown: syntax.names_unknown.get()
            || within.is_some_and(|parent| parent.names_unknown),
    })
}

/// Part of it grows with the page.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct MatchCost {
    fixed: usize,
    per_level: usize,
    per_element: usize,
}

impl MatchCost {
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
fn weight(selector: &One, around: MatchCost) -> MatchCost {
    let fixed = |fixed: usize| MatchCost {
        fixed,
        ..MatchCost::default()
    };
    let level = MatchCost {
        per_level: 1,
        ..MatchCost::default()
    };
    let element = MatchCost {
        per_element: 1,
        ..MatchCost::default()
    };
    let mut sum = fixed(1);
    for component in selector.iter_raw_match_order() {
        let inner = |list: &Selectors| {
            let mut inside = MatchCost::default();
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

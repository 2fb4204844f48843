//! CSS selectors over the tree: what the selector engine asks of an element.

use std::fmt;

use cssparser::ToCss;
use html5ever::interface::QuirksMode as TreeQuirks;
use html5ever::{LocalName, Namespace, local_name, ns};
use precomputed_hash::PrecomputedHash;
use selectors::OpaqueElement;
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
    SelectorCaches,
};
use selectors::matching::{ElementSelectorFlags, matches_selector};
use selectors::parser::{Component, Selector, SelectorImpl, SelectorList};

use crate::budget::Budget;
use crate::dom::{Data, Dom, Element, NodeId};
use crate::selector::parser::{Pseudo, State};
use crate::truth::Truth;

pub(crate) type Selectors = SelectorList<SelectorTypes>;
pub(crate) type One = Selector<SelectorTypes>;

/// The names that selectors use.
#[derive(Clone, Debug)]
pub(crate) struct SelectorTypes;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SelectorName(LocalName);

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SelectorText(String);

impl From<&str> for SelectorName {
    fn from(text: &str) -> Self {
        Self(LocalName::from(text))
    }
}

impl From<&str> for SelectorText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl AsRef<str> for SelectorText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl ToCss for SelectorName {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        cssparser::serialize_identifier(&self.0, out)
    }
}

impl ToCss for SelectorText {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        cssparser::serialize_string(&self.0, out)
    }
}

impl PrecomputedHash for SelectorName {
    fn precomputed_hash(&self) -> u32 {
        self.0.precomputed_hash()
    }
}

impl SelectorImpl for SelectorTypes {
    type ExtraMatchingData<'a> = ();
    type AttrValue = SelectorText;
    type Identifier = SelectorName;
    type LocalName = SelectorName;
    type NamespaceUrl = Namespace;
    type NamespacePrefix = SelectorName;
    type BorrowedNamespaceUrl = Namespace;
    type BorrowedLocalName = SelectorName;
    type NonTSPseudoClass = State;
    type PseudoElement = Pseudo;
}

/// Whether a selector is for the letters of elements, or for a part that holds no text.
pub(crate) fn part(selector: &One) -> Option<Pseudo> {
    selector
        .iter_raw_match_order()
        .find_map(|component| match component {
            Component::PseudoElement(pseudo) => Some(*pseudo),
            _ => None,
        })
}

/// By what the elements that a selector can match are found.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Key {
    Id(String),
    Class(String),
    Name(LocalName),
    Any,
}

pub(crate) fn key(selector: &One) -> Key {
    let mut key = Key::Any;
    for component in selector.iter() {
        match component {
            // In lower case: documents without a doctype do not tell cases apart.
            Component::ID(id) => return Key::Id(id.0.to_ascii_lowercase().to_string()),
            Component::Class(class) => {
                key = Key::Class(class.0.to_ascii_lowercase().to_string());
            }
            Component::LocalName(name) if key == Key::Any => {
                key = Key::Name(name.lower_name.0.clone());
            }
            _ => {}
        }
    }
    key
}

/// Matches selectors against the elements of one tree.
pub(crate) struct Matcher<'a> {
    dom: &'a Dom,
    /// What was found with unknown states such that selectors match more, and less.
    caches: [SelectorCaches; 2],
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(dom: &'a Dom) -> Self {
        Self {
            dom,
            caches: <[SelectorCaches; 2]>::default(),
        }
    }

    /// Whether a selector matches. One that asks what is not known is matched twice: with every
    /// unknown state such that the selector matches more, and less. Negation turns that around, as
    /// often as it is nested.
    pub(crate) fn matches(&mut self, selector: &One, id: NodeId, budget: &Budget) -> Truth {
        let at = |unknowns| ElementRef {
            dom: self.dom,
            budget,
            unknowns,
            id,
        };
        let [more, less] = &mut self.caches;
        if !run(selector, at(UnknownStates::Match), more) {
            Truth::No
        } else if !asks_unknown(selector, self.dom) || run(selector, at(UnknownStates::Fail), less)
        {
            Truth::Yes
        } else {
            Truth::Unknown
        }
    }
}

fn asks_unknown(selector: &One, dom: &Dom) -> bool {
    selector
        .iter_raw_match_order()
        .any(|component| match component {
            Component::NonTSPseudoClass(State::Unknown) => true,
            Component::NonTSPseudoClass(State::Focus) => dom.has_autofocus(),
            Component::NonTSPseudoClass(State::UnvisitedLink) => dom.has_link_to_page(),
            Component::Is(list) | Component::Where(list) | Component::Negation(list) => {
                list.slice().iter().any(|one| asks_unknown(one, dom))
            }
            Component::Has(inner) => inner.iter().any(|one| asks_unknown(&one.selector, dom)),
            Component::NthOf(inner) => inner.selectors().iter().any(|one| asks_unknown(one, dom)),
            Component::Host(_) | Component::Slotted(_) | Component::Part(_) => true,
            _ => false,
        })
}

fn run(selector: &One, at: ElementRef<'_>, caches: &mut SelectorCaches) -> bool {
    let quirks = match at.dom.quirks {
        TreeQuirks::Quirks => QuirksMode::Quirks,
        TreeQuirks::LimitedQuirks => QuirksMode::LimitedQuirks,
        TreeQuirks::NoQuirks => QuirksMode::NoQuirks,
    };
    let mode = if selector.has_pseudo_element() {
        MatchingMode::ForStatelessPseudoElement
    } else {
        MatchingMode::Normal
    };
    let mut context = MatchingContext::new(
        mode,
        None,
        caches,
        quirks,
        NeedsSelectorFlags::No,
        MatchingForInvalidation::No,
    );
    matches_selector(selector, 0, None, at, &mut context)
}

/// How many bytes a comparison with an attribute reads. Searches without regard to case go on from
/// each letter anew.
fn work(operation: &AttrSelectorOperation<&SelectorText>, value: &str) -> usize {
    match operation {
        AttrSelectorOperation::WithValue {
            case_sensitivity: CaseSensitivity::AsciiCaseInsensitive,
            value: wanted,
            ..
        } => value.len().saturating_mul(wanted.0.len()),
        _ => value.len(),
    }
}

/// What becomes of states that are not known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnknownStates {
    /// The selector matches as much as it can.
    Match,
    /// It matches as little as it can.
    Fail,
}

/// An element in its tree.
#[derive(Clone, Copy)]
struct ElementRef<'a> {
    dom: &'a Dom,
    budget: &'a Budget,
    unknowns: UnknownStates,
    id: NodeId,
}

impl fmt::Debug for ElementRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element {}", self.id)
    }
}

impl<'a> ElementRef<'a> {
    fn element(&self) -> Option<&'a Element> {
        self.dom.element(self.id)
    }

    fn attribute(&self, name: &LocalName) -> Option<&'a str> {
        self.element()?.attribute(name)
    }

    /// What a template holds are no children of it.
    fn is_template(&self) -> bool {
        self.element()
            .is_some_and(|element| element.is_html() && *element.local() == local_name!("template"))
    }

    fn nearest(
        &self,
        from: Option<NodeId>,
        step: fn(&Dom, NodeId) -> Option<NodeId>,
    ) -> Option<Self> {
        let mut next = from;
        while let Some(id) = next {
            if self.dom.element(id).is_some() {
                return Some(ElementRef { id, ..*self });
            }
            next = step(self.dom, id);
        }
        None
    }
}

impl selectors::Element for ElementRef<'_> {
    type Impl = SelectorTypes;

    fn opaque(&self) -> OpaqueElement {
        match self.dom.node(self.id) {
            Some(node) => OpaqueElement::new(node),
            None => OpaqueElement::new(self.dom),
        }
    }

    fn parent_element(&self) -> Option<Self> {
        let id = self.dom.parent(self.id)?;
        self.dom.element(id).map(|_| ElementRef { id, ..*self })
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.nearest(self.dom.before(self.id), Dom::before)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.nearest(self.dom.after(self.id), Dom::after)
    }

    fn first_element_child(&self) -> Option<Self> {
        let child = self.dom.first_child(self.id);
        self.nearest(child.filter(|_| !self.is_template()), Dom::after)
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.element().is_some_and(Element::is_html)
    }

    fn has_local_name(&self, name: &SelectorName) -> bool {
        self.element()
            .is_some_and(|element| *element.local() == name.0)
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        self.element()
            .is_some_and(|element| element.name.ns == *namespace)
    }

    fn is_same_type(&self, other: &Self) -> bool {
        match (self.element(), other.element()) {
            (Some(one), Some(two)) => one.name == two.name,
            _ => false,
        }
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&Namespace>,
        name: &SelectorName,
        operation: &AttrSelectorOperation<&SelectorText>,
    ) -> bool {
        let Some(element) = self.element() else {
            return false;
        };
        element.attributes().iter().any(|one| {
            let here = match namespace {
                NamespaceConstraint::Any => true,
                NamespaceConstraint::Specific(url) => one.name.ns == **url,
            };
            let is_meant = here && one.name.local == name.0;
            if is_meant {
                self.budget.spend(work(operation, &one.value));
            }
            is_meant && operation.eval_str(&one.value)
        })
    }

    fn match_non_ts_pseudo_class(
        &self,
        state: &State,
        context: &mut MatchingContext<'_, SelectorTypes>,
    ) -> bool {
        match state {
            State::Link => self.is_link(),
            State::UnvisitedLink if !self.is_link() => false,
            State::UnvisitedLink if !self.element().is_some_and(Element::leads_to_page) => true,
            State::Focus if !self.dom.has_autofocus() => false,
            State::Unknown | State::Focus | State::UnvisitedLink => {
                (self.unknowns == UnknownStates::Match) != context.in_negation()
            }
            State::Never => false,
        }
    }

    fn match_pseudo_element(&self, _: &Pseudo, _: &mut MatchingContext<'_, SelectorTypes>) -> bool {
        false
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        self.element().is_some_and(|element| {
            let is_drawn = element.name.ns == ns!(svg) && *element.local() == local_name!("a");
            let is_anchor = element.is_html()
                && matches!(*element.local(), local_name!("a") | local_name!("area"));
            let mut names = element.attributes().iter().map(|one| &one.name);
            (is_anchor || is_drawn)
                && names.any(|name| {
                    name.local == local_name!("href")
                        && (name.ns == ns!() || is_drawn && name.ns == ns!(xlink))
                })
        })
    }

    fn is_html_slot_element(&self) -> bool {
        false
    }

    fn has_id(&self, id: &SelectorName, case: CaseSensitivity) -> bool {
        self.attribute(&local_name!("id"))
            .is_some_and(|own| case.eq(own.as_bytes(), id.0.as_bytes()))
    }

    fn has_class(&self, class: &SelectorName, case: CaseSensitivity) -> bool {
        self.attribute(&local_name!("class")).is_some_and(|own| {
            self.budget.spend(own.len());
            own.split_ascii_whitespace()
                .any(|one| case.eq(one.as_bytes(), class.0.as_bytes()))
        })
    }

    fn has_custom_state(&self, _: &SelectorName) -> bool {
        false
    }

    fn imported_part(&self, _: &SelectorName) -> Option<SelectorName> {
        None
    }

    fn is_part(&self, _: &SelectorName) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        let mut child = self.dom.first_child(self.id);
        while let Some(id) = child.filter(|_| !self.is_template()) {
            match self.dom.node(id).map(|node| &node.data) {
                Some(Data::Element(_)) => return false,
                Some(Data::Text(text)) if !text.is_empty() => return false,
                _ => child = self.dom.after(id),
            }
        }
        true
    }

    fn is_root(&self) -> bool {
        let parent = self.dom.parent(self.id);
        parent.is_some_and(|id| matches!(self.dom.node(id).map(|n| &n.data), Some(Data::Document)))
    }

    fn add_element_unique_hashes(&self, _: &mut BloomFilter) -> bool {
        false
    }
}

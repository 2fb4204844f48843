//! The cascade: which values the properties of an element may have.
//!
//! For each property the declarations are walked from the strongest down. Each that may apply adds
//! its values; the first that certainly applies, with a valid value, ends the walk. Where the rank
//! of a declaration is not known, its values are added and the walk goes on.
//!
//! INVARIANT: uncertainty only adds possible values.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use html5ever::interface::QuirksMode;
use html5ever::{LocalName, local_name};

use crate::budget::Budget;
use crate::custom_properties::{CustomValue, Substituted, substitute};
use crate::declaration_walk::{AppliedDeclaration, DeclarationWalk, Layer, Rank};
use crate::declared::{self, Parsed, UnitContext};
use crate::dom::{Dom, Element, NodeId};
use crate::elements::{self, PageColors};
use crate::generated_content::{may_cover, may_generate};
use crate::page_style_sheets::read_sheets;
use crate::properties::{Longhand, PARTLY_HARMLESS, Property, Reach};
use crate::rule_index::RuleIndex;
use crate::selector::matching::Matcher;
use crate::selector::parser::Pseudo;
use crate::style::{
    Display, InheritedValues, PossibleValues, Style, UnknownProperty, Value, initial,
};
use crate::stylesheet::{Declaration, Scope, StyleSheet, inline};
use crate::truth::Truth;
use crate::values;

/// Custom properties of one element.
const MAX_CUSTOM_PROPERTIES: usize = 500;
/// What one of them costs in work and memory, in elements matched.
const CUSTOM_PROPERTY_WORK: usize = 16;
/// Styles kept for elements alike, of each name.
const MAX_SHARED_STYLES: usize = 12;
/// Longer values are any value.
const MAX_VALUE_BYTES: usize = 16 * 1024;

pub(crate) struct Cascade<'a> {
    dom: &'a Dom,
    matcher: Matcher<'a>,
    index: RuleIndex,
    sheet: StyleSheet,
    /// Style attributes repeat all over a page.
    inline: HashMap<String, Rc<[Declaration]>>,
    budget: Budget,
    colors: PageColors,
    /// The last styles of each name, latest last.
    shared: HashMap<LocalName, VecDeque<SharedStyle>>,
    /// One of each set of values that the last styles pass on.
    inherited: VecDeque<InheritedValues>,
    /// How many styles there are.
    styles: usize,
}

/// A style that elements alike in parent, name, attributes and rules have too.
struct SharedStyle {
    parent: Rc<Style>,
    element: NodeId,
    matched: Vec<MatchedRule>,
    style: Rc<Style>,
}

struct MatchedRule {
    declarations: Rc<[Declaration]>,
    scope: Scope,
    applies: Truth,
    specificity: u32,
}

/// Every rule has a list of declarations of its own.
impl PartialEq for MatchedRule {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.declarations, &other.declarations)
            && self.applies == other.applies
            && self.specificity == other.specificity
    }
}

impl MatchedRule {
    fn rank(&self, declaration: &Declaration) -> Rank {
        Rank {
            important: declaration.important,
            layer: match self.scope.layer {
                None => Layer::None,
                Some(index) if declaration.important => Layer::Late(Reverse(index)),
                Some(index) => Layer::Early(index),
            },
            inline: false,
            specificity: self.specificity,
            order: declaration.order,
        }
    }
}

/// The computed style of an element.
pub(crate) struct ComputedElement {
    pub style: Rc<Style>,
    /// A rule for a part of the element that holds its text.
    pub styled_part: bool,
    /// Generated content that may cover other text.
    pub covers: bool,
    /// It may have generated content.
    pub generates: bool,
}

impl<'a> Cascade<'a> {
    pub(crate) fn new(dom: &'a Dom) -> Self {
        let mut sheet = StyleSheet::default();
        read_sheets(dom, &mut sheet);
        let index = RuleIndex::new(&sheet, dom);
        let budget = Budget::default();
        if sheet.is_too_much() {
            budget.exhaust();
        }
        let colors = PageColors {
            link: values::Rgba::LINK,
            visited_link: values::Rgba::VISITED_LINK,
            text: PossibleValues::One(initial(Longhand::Color)),
            dims_controls: sheet.dims_controls,
        };
        Self {
            dom,
            matcher: Matcher::new(dom),
            index,
            sheet,
            inline: HashMap::new(),
            budget,
            colors,
            shared: HashMap::new(),
            inherited: VecDeque::new(),
            styles: 0,
        }
    }

    /// What the page begins with.
    pub(crate) fn root(&self) -> Style {
        Style::root(self.dom.quirks == QuirksMode::Quirks)
    }

    /// Whether the work budget is exhausted.
    pub(crate) fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    pub(crate) fn has_odd_font(&self) -> bool {
        self.sheet.odd_font
    }

    pub(crate) fn is_dark(&self) -> bool {
        self.sheet.dark
    }

    pub(crate) fn has_unread_sheet(&self) -> bool {
        self.sheet.unread_sheet
    }

    /// The computed style of an element inside `parent`.
    pub(crate) fn compute(
        &mut self,
        id: NodeId,
        element: &Element,
        parent: &Rc<Style>,
    ) -> ComputedElement {
        let mut computed = ComputedElement {
            style: Rc::clone(parent),
            styled_part: false,
            covers: false,
            generates: false,
        };
        let matched = if self.is_spent() {
            Vec::new()
        } else {
            self.matched(id, element, &mut computed)
        };
        if let Some(style) = self.shared_style(element, parent, &matched) {
            computed.style = style;
            return computed;
        }
        let mut style = parent.child();
        if self.is_spent() {
            self.settle(element, &[], parent, &mut style);
        } else {
            self.apply(element, &matched, parent, &mut style);
        }
        let is_html = element.is_html() && *element.local() == local_name!("html");
        let is_body = element.is_html() && *element.local() == local_name!("body");
        if is_html {
            style.root_font = style.largest_font();
        }
        if is_body {
            self.colors.text = style.get(Longhand::Color).clone();
            let color = |name| {
                element
                    .attribute_named(name)
                    .and_then(elements::legacy_color)
            };
            self.colors.link = color("link").unwrap_or(self.colors.link);
            self.colors.visited_link = color("vlink").unwrap_or(self.colors.visited_link);
        }
        if !style.shares_inherited(parent) {
            match self.inherited.iter().rev().find(|one| style.inherits(one)) {
                Some(known) => style.share_inherited(known),
                None => push_latest(&mut self.inherited, style.inherited_values()),
            }
        }
        self.styles += 1;
        style.number = self.styles;
        computed.style = Rc::new(style);
        if !is_html && !is_body {
            let shared = SharedStyle {
                parent: Rc::clone(parent),
                element: id,
                matched,
                style: Rc::clone(&computed.style),
            };
            push_latest(
                self.shared.entry(element.local().clone()).or_default(),
                shared,
            );
        }
        computed
    }

    fn shared_style(
        &self,
        element: &Element,
        parent: &Rc<Style>,
        matched: &[MatchedRule],
    ) -> Option<Rc<Style>> {
        let is_declared = !matched.is_empty() || element.attribute(&local_name!("style")).is_some();
        let alike = |one: &&SharedStyle| {
            let other = self.dom.element(one.element);
            let is_parent_alike = Rc::ptr_eq(&one.parent, parent)
                || !is_declared && one.parent.passes_on_the_same(parent);
            is_parent_alike
                && one.matched == matched
                && other.is_some_and(|other| is_styled_alike(element, other))
        };
        let found = self.shared.get(element.local())?.iter().rev().find(alike)?;
        Some(Rc::clone(&found.style))
    }

    /// Applies the style attribute and the rules that match.
    fn apply(
        &mut self,
        element: &Element,
        matched: &[MatchedRule],
        parent: &Style,
        style: &mut Style,
    ) {
        let attribute = element.attribute(&local_name!("style"));
        let own = attribute.map(|style| self.inline(style));
        let mut applied: Vec<AppliedDeclaration<'_>> = Vec::new();
        for found in matched {
            for declaration in found.declarations.iter() {
                applied.push(AppliedDeclaration {
                    rank: found.rank(declaration),
                    applies: found.applies,
                    unranked: found.scope.unranked
                        || found.scope.layer.is_some() && self.sheet.layers_unknown,
                    declaration,
                });
            }
        }
        applied.extend(own.iter().flat_map(|own| own.iter()).map(|declaration| {
            AppliedDeclaration {
                rank: Rank {
                    important: declaration.important,
                    layer: Layer::None,
                    inline: true,
                    specificity: 0,
                    order: declaration.order,
                },
                applies: Truth::Yes,
                unranked: false,
                declaration,
            }
        }));
        applied.sort_by_key(|one| Reverse(one.rank));
        self.customs(&applied, style);
        self.settle(element, &applied, parent, style);
    }

    fn inline(&mut self, style: &str) -> Rc<[Declaration]> {
        if let Some(known) = self.inline.get(style) {
            return Rc::clone(known);
        }
        let found: Rc<[Declaration]> = inline(style).into();
        self.inline.insert(style.to_owned(), Rc::clone(&found));
        found
    }

    fn matched(
        &mut self,
        id: NodeId,
        element: &Element,
        computed: &mut ComputedElement,
    ) -> Vec<MatchedRule> {
        let mut found = Vec::new();
        for candidates in self.index.candidates(element) {
            for candidate in candidates {
                self.budget.look_at(candidate.weight);
                if self.budget.is_spent() {
                    return found;
                }
                let mut matches = self.matcher.matches(&candidate.selector, id, &self.budget);
                if candidate.unread {
                    matches = matches.and(Truth::Unknown);
                }
                let applies = candidate.scope.holds.and(matches);
                if !applies.may() {
                    continue;
                }
                self.budget.look_at(candidate.declarations.len());
                match candidate.pseudo {
                    None => found.push(MatchedRule {
                        declarations: Rc::clone(&candidate.declarations),
                        scope: candidate.scope,
                        applies,
                        specificity: candidate.selector.specificity(),
                    }),
                    Some(Pseudo::Other) => {}
                    Some(pseudo) => {
                        computed.covers |= candidate.declarations.iter().any(may_cover);
                        computed.generates |= pseudo == Pseudo::Generated
                            && candidate.declarations.iter().any(may_generate);
                        computed.styled_part |= pseudo == Pseudo::Text;
                    }
                }
            }
        }
        found
    }

    fn customs(&self, applied: &[AppliedDeclaration<'_>], style: &mut Style) {
        let declared = applied
            .iter()
            .filter_map(|one| match &one.declaration.property {
                Property::Custom(name) => Some((name, one)),
                _ => None,
            });
        let mut walks: HashMap<&Rc<str>, DeclarationWalk<Rc<str>>> = HashMap::new();
        for (name, one) in declared {
            let walk = walks.entry(name).or_default();
            if walk.is_over(one) {
                continue;
            }
            let value = one.declaration.value.as_str();
            match values::keyword(value).as_deref() {
                Some("initial") => walk.unset(),
                Some("inherit" | "unset" | "revert") => walk.inherit(),
                Some("revert-layer" | "revert-rule") => walk.any(),
                _ => walk.add(Rc::from(value)),
            }
            walk.may_end(one);
        }
        let registered = &self.sheet.registered;
        if walks.is_empty() && registered.is_empty() {
            return;
        }
        let mut own = (*style.customs).clone();
        if own.len() + walks.len() > MAX_CUSTOM_PROPERTIES {
            self.budget.exhaust();
            return;
        }
        // Each element keeps its own list.
        self.budget.look_at(own.len() * CUSTOM_PROPERTY_WORK);
        for (name, walk) in &walks {
            let mut values = walk.values.clone();
            let (mut any, mut unset) = (walk.any, walk.unset);
            if !walk.ended || walk.inherits {
                match style.customs.get(*name) {
                    Some(CustomValue::Any) => any = true,
                    Some(CustomValue::Values(before)) if !before.is_empty() => {
                        values.extend(before.iter().cloned());
                    }
                    _ => unset = true,
                }
            }
            // A fallback counts where it may not be set at all, which is not kept apart.
            let custom = if any || unset && !values.is_empty() {
                CustomValue::Any
            } else {
                CustomValue::Values(values)
            };
            own.insert(Rc::clone(name), custom);
        }
        for name in registered {
            own.insert(Rc::clone(name), CustomValue::Any);
        }
        // Each may refer to the others.
        let mut resolved = own.clone();
        for (name, custom) in &own {
            let CustomValue::Values(all) = custom else {
                continue;
            };
            let mut list: Vec<Rc<str>> = Vec::new();
            let mut any = false;
            for value in all {
                match substitute(value, &own, &self.budget) {
                    Substituted::Plain(_) => list.push(Rc::clone(value)),
                    Substituted::Variants(variants) => {
                        any |= variants.contains(&None) && variants.len() > 1;
                        // A fallback may be a word for all properties.
                        let words = variants.iter().flatten().map(|one| values::keyword(one));
                        any |= words.flatten().any(|word| values::is_wide(&word));
                        list.extend(variants.into_iter().flatten().map(Rc::from));
                    }
                    Substituted::Any => any = true,
                }
            }
            if any {
                resolved.insert(Rc::clone(name), CustomValue::Any);
            } else if list != *all {
                resolved.insert(Rc::clone(name), CustomValue::Values(list));
            }
        }
        style.customs = Rc::new(resolved);
    }

    /// Fonts and colors first: other values are relative to them.
    fn settle(
        &self,
        element: &Element,
        applied: &[AppliedDeclaration<'_>],
        parent: &Style,
        style: &mut Style,
    ) {
        let animated = applied
            .iter()
            .any(|one| one.declaration.property.sets(Longhand::Animation));
        let mut wanted: u64 = 0;
        for one in applied {
            match &one.declaration.property {
                Property::Sets(all) => {
                    for longhand in *all {
                        wanted |= longhand.bit();
                    }
                }
                Property::All => wanted = u64::MAX,
                _ => {}
            }
        }
        for longhand in elements::based(element) {
            wanted |= longhand.bit();
        }
        for longhand in Longhand::ALL {
            if wanted & longhand.bit() == 0 {
                continue;
            }
            if let Some(mut value) = self.value_of(element, *longhand, applied, parent, style) {
                let contents = Value::Display(Display::Contents);
                if elements::needs_box(element) && value.may(|value| value == contents) {
                    value = PossibleValues::Any;
                }
                style.set(*longhand, value);
            }
            if self.budget.is_spent() {
                break;
            }
        }
        self.white_space(element, applied, style);
        self.not_understood(applied, style);
        if animated
            && style
                .get(Longhand::Animation)
                .may(|value| matches!(value, Value::On))
        {
            self.animate(parent, style);
        }
    }

    /// `None` when nothing sets it.
    fn value_of(
        &self,
        element: &Element,
        longhand: Longhand,
        applied: &[AppliedDeclaration<'_>],
        parent: &Style,
        style: &Style,
    ) -> Option<PossibleValues> {
        let mut walk: DeclarationWalk<Value> = DeclarationWalk::default();
        for one in applied {
            let property = &one.declaration.property;
            if !property.sets(longhand) || walk.is_over(one) {
                continue;
            }
            let count = match property {
                Property::Sets(all) => all.len(),
                _ => 0,
            };
            let valid = self.declare(longhand, count, one.declaration, parent, style, &mut walk);
            // A size, a position and a clip of a background do not undo each other.
            let is_part = longhand == Longhand::BackgroundArea && count == 1;
            if valid && !is_part {
                walk.may_end(one);
            }
        }
        if walk.any {
            return Some(PossibleValues::Any);
        }
        let base = || elements::base(element, longhand, parent, &self.colors);
        if !walk.touched {
            return base();
        }
        let mut value = if walk.values.is_empty() {
            None
        } else {
            Some(PossibleValues::from_values(&walk.values))
        };
        let mut join = |other: PossibleValues| {
            value = Some(match &value {
                Some(value) => value.join(&other),
                None => other,
            });
        };
        if walk.inherits {
            join(parent.get(longhand).clone());
        }
        if !walk.ended {
            let inherited = if longhand.is_inherited() {
                parent.get(longhand).clone()
            } else {
                PossibleValues::One(initial(longhand))
            };
            join(base().unwrap_or(inherited));
        }
        value
    }

    /// Adds what a declaration says of one property; false when browsers ignore it.
    fn declare(
        &self,
        longhand: Longhand,
        count: usize,
        declaration: &Declaration,
        parent: &Style,
        style: &Style,
        walk: &mut DeclarationWalk<Value>,
    ) -> bool {
        self.budget.spend(declaration.value.len());
        if declaration.value.len() > MAX_VALUE_BYTES {
            walk.any();
            return true;
        }
        let mut refers = false;
        let variants = match substitute(&declaration.value, &style.customs, &self.budget) {
            Substituted::Plain(value) => vec![Some(value.into_owned())],
            Substituted::Variants(variants) => {
                refers = true;
                variants
            }
            Substituted::Any => {
                walk.any();
                return true;
            }
        };
        let mut valid = false;
        for variant in variants {
            let unset = || {
                if longhand.is_inherited() {
                    CssWideKeyword::Inherit
                } else {
                    CssWideKeyword::Initial
                }
            };
            let wide = match &variant {
                None => Some(unset()),
                Some(value) => match values::keyword(value).as_deref() {
                    Some("inherit") => Some(CssWideKeyword::Inherit),
                    Some("initial") => Some(CssWideKeyword::Initial),
                    Some("unset") => Some(unset()),
                    Some("revert" | "revert-layer" | "revert-rule") => Some(CssWideKeyword::Any),
                    _ => None,
                },
            };
            let value = variant.unwrap_or_default();
            match wide {
                Some(CssWideKeyword::Inherit) => walk.inherit(),
                Some(CssWideKeyword::Initial) => walk.add(initial(longhand)),
                Some(CssWideKeyword::Any) => walk.any(),
                None if declaration.property == Property::All => {
                    // Only words for all properties mean anything here.
                    continue;
                }
                None => match declared::parse(
                    longhand,
                    count,
                    declaration.syntax,
                    &value,
                    &context(longhand, parent, style),
                ) {
                    Parsed::Values(found) => {
                        for value in found {
                            match value {
                                Value::CurrentColor if longhand == Longhand::Color => {
                                    walk.inherit()
                                }
                                value => walk.add(value),
                            }
                        }
                    }
                    Parsed::Any => walk.any(),
                    // Through a variable, what is not valid is as if unset.
                    Parsed::Invalid if refers && longhand.is_inherited() => walk.inherit(),
                    Parsed::Invalid if refers => walk.add(initial(longhand)),
                    Parsed::Invalid => continue,
                },
            }
            valid = true;
        }
        valid
    }

    /// Whether white space is written as it stands: the strongest declaration that may apply
    /// decides.
    fn white_space(
        &self,
        element: &Element,
        applied: &[AppliedDeclaration<'_>],
        style: &mut Style,
    ) {
        let declared = applied.iter().find(|one| {
            one.declaration.property.sets(Longhand::WhiteSpace)
                && one.declaration.property != Property::All
        });
        if let Some(one) = declared {
            style.keeps_space = one.declaration.keeps_white_space();
        } else if element.is_html()
            && matches!(
                *element.local(),
                local_name!("pre")
                    | local_name!("listing")
                    | local_name!("xmp")
                    | local_name!("plaintext")
                    | local_name!("textarea")
            )
        {
            style.keeps_space = true;
        }
    }

    fn not_understood(&self, applied: &[AppliedDeclaration<'_>], style: &mut Style) {
        let mut settled: Vec<usize> = Vec::new();
        for one in applied {
            self.budget.spend(one.declaration.value.len());
            if self.budget.is_spent() {
                return;
            }
            match &one.declaration.property {
                Property::PartlyHarmless(index) => {
                    if settled.contains(index) && !one.unranked {
                        continue;
                    }
                    let Some(row) = PARTLY_HARMLESS.get(*index) else {
                        continue;
                    };
                    let value =
                        match substitute(&one.declaration.value, &style.customs, &self.budget) {
                            Substituted::Plain(value) => value.into_owned(),
                            Substituted::Variants(all) => match all.as_slice() {
                                [Some(value)] => value.clone(),
                                _ => "var()".to_owned(),
                            },
                            Substituted::Any => "var()".to_owned(),
                        };
                    let wide = values::keyword(&value);
                    let resets = matches!(wide.as_deref(), Some("initial" | "unset" | "revert"));
                    if declared::is_ignored(*index, &value) {
                        continue;
                    }
                    let certain = one.applies.is_certain() && !one.unranked;
                    if resets || declared::is_harmless(*index, &value) {
                        if certain {
                            settled.push(*index);
                            if row.inherited {
                                let earlier =
                                    |known: &UnknownProperty| known.name != row.name || known.own;
                                style.not_understood.retain(earlier);
                            }
                        }
                        continue;
                    }
                    if certain {
                        settled.push(*index);
                    }
                    style.add_unknown(UnknownProperty {
                        name: row.name,
                        inherited: row.inherited,
                        reach: row.reach,
                        own: true,
                    });
                }
                Property::Unknown(name) => style.add_unknown(UnknownProperty {
                    name,
                    inherited: false,
                    reach: Reach::Page,
                    own: true,
                }),
                _ => {}
            }
        }
    }

    /// Animated properties have their own values and those of every frame.
    fn animate(&self, parent: &Style, style: &mut Style) {
        for declaration in &self.sheet.keyframes {
            self.budget.spend(declaration.value.len());
            if self.budget.is_spent() {
                return;
            }
            match &declaration.property {
                Property::Sets(all) => {
                    for longhand in *all {
                        let mut walk = DeclarationWalk::default();
                        self.declare(*longhand, all.len(), declaration, parent, style, &mut walk);
                        let mut value = style.get(*longhand).clone();
                        if walk.any {
                            value = PossibleValues::Any;
                        } else {
                            if walk.inherits {
                                value = value.join(parent.get(*longhand));
                            }
                            if !walk.values.is_empty() {
                                value = value.join(&PossibleValues::from_values(&walk.values));
                            }
                            // Timing functions lead between the frames, and beyond them.
                            let few = value.values().filter(|all| all.len() > 1);
                            let moves =
                                few.is_some_and(|all| all.iter().any(|one| one.is_continuous()));
                            let is_shadow =
                                matches!(longhand, Longhand::BoxShadow | Longhand::TextShadow);
                            if moves || is_shadow && declaration.has_number() {
                                value = PossibleValues::Any;
                            }
                        }
                        style.set(*longhand, value);
                    }
                }
                Property::PartlyHarmless(index)
                    if declared::is_harmless(*index, &declaration.value)
                        && !declaration.has_number() => {}
                Property::PartlyHarmless(index) => {
                    let row = PARTLY_HARMLESS.get(*index);
                    if let Some(row) = row {
                        style.add_unknown(UnknownProperty {
                            name: row.name,
                            inherited: row.inherited,
                            reach: row.reach,
                            own: true,
                        });
                    }
                }
                Property::Unknown(_) | Property::All | Property::Custom(_) => {
                    style.add_unknown(UnknownProperty {
                        name: "animation",
                        inherited: true,
                        reach: Reach::Page,
                        own: true,
                    });
                }
            }
        }
    }
}

fn push_latest<T>(latest: &mut VecDeque<T>, one: T) {
    if latest.len() >= MAX_SHARED_STYLES {
        latest.pop_front();
    }
    latest.push_back(one);
}

/// Whether two elements have the same style where the same rules match them.
fn is_styled_alike(one: &Element, other: &Element) -> bool {
    // What these say matters to rules alone.
    let is_content = |name: &LocalName| {
        matches!(
            *name,
            local_name!("href")
                | local_name!("src")
                | local_name!("alt")
                | local_name!("title")
                | local_name!("name")
                | local_name!("class")
                | local_name!("id")
                | local_name!("value")
        )
    };
    one.name == other.name
        && one.attributes().len() == other.attributes().len()
        && one
            .attributes()
            .iter()
            .zip(other.attributes())
            .all(|(one, other)| {
                one.name == other.name && (one.value == other.value || is_content(&one.name.local))
            })
}

/// Words that any property may have.
enum CssWideKeyword {
    Inherit,
    Initial,
    /// Back to what a weaker rule says, which is not followed.
    Any,
}

fn context(longhand: Longhand, parent: &Style, style: &Style) -> UnitContext {
    let of = if longhand == Longhand::FontSize {
        parent
    } else {
        style
    };
    let fonts = of.get(Longhand::FontSize);
    UnitContext {
        fonts: of.fonts(),
        parent_absolute: fonts.is(|value| matches!(value, Value::Font { absolute: true, .. }))
            == Truth::Yes,
        root_font: style.root_font,
        quirks: style.quirks,
    }
}

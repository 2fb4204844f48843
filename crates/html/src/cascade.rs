//! The cascade: which declarations hold for an element, in which order, and what they come to.
//!
//! INVARIANT: work is measured, and elements that were not judged within its measure count as hidden.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use html5ever::interface::QuirksMode;
use html5ever::{LocalName, local_name, ns};

use crate::budget::Work;
use crate::computed::{Computed, Variables};
use crate::conditions;
use crate::custom_properties::{REGISTERED, Substituted, substitute};
use crate::dom::{DOCUMENT, Dom, Element, NodeId};
use crate::elements;
use crate::own::Display;
use crate::properties::Property;
use crate::selector::matching::{self, Key, Matcher, One};
use crate::selector::parser::Pseudo;
use crate::stylesheet::{Declaration, Sheet, inline};
use crate::values::{self, Bare};
use crate::world::{Doubt, World};

/// A value that no property can read: what it decides is not judged.
const UNKNOWN: &str = "unknown()";
/// Custom properties of one element.
const MOST_VARIABLES: usize = 500;

pub(crate) struct Cascade<'a> {
    dom: &'a Dom,
    world: World,
    matcher: Matcher<'a>,
    index: Index,
    sheet: Sheet,
    /// Style attributes repeat all over a page.
    inline: HashMap<String, Rc<[Declaration]>>,
    work: Work,
}

/// Rules by what their last part asks for.
#[derive(Default)]
struct Index {
    by_id: HashMap<String, Vec<Candidate>>,
    by_class: HashMap<String, Vec<Candidate>>,
    by_name: HashMap<LocalName, Vec<Candidate>>,
    any: Vec<Candidate>,
    is_empty: bool,
}

impl Index {
    fn new(sheet: &Sheet, dom: &Dom, world: World) -> Self {
        let mut index = Self {
            is_empty: true,
            ..Self::default()
        };
        for (order, rule) in sheet.rules.iter().enumerate() {
            let about_text = |selector: &&One| match matching::part(selector) {
                None => true,
                Some(Pseudo::Letters) => world.doubt == Doubt::Applies,
                Some(Pseudo::Other) => false,
            };
            let selectors = rule.prelude.selectors.slice().iter();
            for selector in selectors.filter(about_text) {
                if rule.declarations.is_empty() {
                    continue;
                }
                index.is_empty = false;
                let place = match matching::key(selector) {
                    Key::Id(id) => index.by_id.entry(id).or_default(),
                    Key::Class(class) => index.by_class.entry(class).or_default(),
                    Key::Name(name) => index.by_name.entry(name).or_default(),
                    Key::Any => &mut index.any,
                };
                place.push(Candidate {
                    selector: selector.clone(),
                    weight: rule.prelude.weight.of(dom),
                    declarations: Rc::clone(&rule.declarations),
                    layer: rule.layer,
                    order,
                });
            }
        }
        index
    }

    /// Those that may match an element.
    fn candidates<'i>(&'i self, element: &Element) -> Vec<&'i [Candidate]> {
        let mut found = vec![self.any.as_slice()];
        found.extend(self.by_name.get(element.local()).map(Vec::as_slice));
        if !self.by_id.is_empty()
            && let Some(id) = element.attribute(&local_name!("id"))
        {
            found.extend(self.by_id.get(lower(id).as_ref()).map(Vec::as_slice));
        }
        if !self.by_class.is_empty() {
            let classes = element.attribute(&local_name!("class")).unwrap_or_default();
            let mut seen: HashSet<&str> = HashSet::new();
            for class in classes.split_ascii_whitespace() {
                if seen.insert(class) {
                    found.extend(self.by_class.get(lower(class).as_ref()).map(Vec::as_slice));
                }
            }
        }
        found
    }
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// A rule that may match.
struct Candidate {
    selector: One,
    weight: usize,
    declarations: Rc<[Declaration]>,
    layer: Option<usize>,
    order: usize,
}

/// Later and greater wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    important: bool,
    inline: bool,
    layer: Layer,
    specificity: u32,
    order: usize,
}

/// Layers lose to what stands in none, unless they are important.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Early(usize),
    None,
    Late(Reverse<usize>),
}

impl<'a> Cascade<'a> {
    pub(crate) fn new(dom: &'a Dom, world: World) -> Self {
        let mut sheet = Sheet::new(world);
        for css in sheets(dom, &mut sheet.differs, world) {
            sheet.read(&css);
        }
        let index = Index::new(&sheet, dom, world);
        let work = Work::default();
        if sheet.is_too_much() {
            work.exhaust();
        }
        Self {
            dom,
            matcher: Matcher::new(dom, world.doubt),
            world,
            index,
            sheet,
            inline: HashMap::new(),
            work,
        }
    }

    pub(crate) fn dom(&self) -> &'a Dom {
        self.dom
    }

    /// What the page begins with.
    pub(crate) fn initial(&self) -> Computed {
        Computed {
            bare: match self.dom.quirks {
                QuirksMode::Quirks => Bare::Pixels,
                _ => Bare::Invalid,
            },
            ..Computed::initial(Display::Block)
        }
    }

    /// Another world may see the page differently.
    pub(crate) fn differs(&self) -> bool {
        self.sheet.differs
    }

    /// The page was too much to judge.
    pub(crate) fn gave_up(&self) -> bool {
        self.work.is_spent()
    }

    /// What an element below `parent` comes to.
    pub(crate) fn compute(&mut self, id: NodeId, element: &Element, parent: &Computed) -> Computed {
        let default = elements::display(element);
        let mut computed = parent.inherited(default);
        elements::apply(element, &mut computed);
        let style = element.attribute(&local_name!("style"));
        if self.gave_up() {
            computed.own.unjudged.push(Property::All);
            return computed;
        }
        if self.index.is_empty && style.is_none() {
            return computed;
        }
        let own = style
            .map(|style| self.inline(style))
            .unwrap_or_else(|| Rc::from([]));
        let matched = self.matched(id, element);
        let mut ranked: Vec<(Rank, &Declaration)> = Vec::new();
        for found in &matched {
            for one in found.declarations.iter() {
                ranked.push((found.rank(one.important), one));
            }
        }
        ranked.extend(own.iter().map(|one| (inline_rank(one.important), one)));
        ranked.sort_by_key(|(rank, _)| *rank);
        self.variables(&ranked, &mut computed);
        self.settle(&ranked, parent, default, &mut computed);
        self.animate(parent, default, &mut computed);
        if self.gave_up() {
            computed.own.unjudged.push(Property::All);
        }
        if element.is_html() && *element.local() == local_name!("html") {
            computed.root_font = computed.font;
        }
        if element.is_html() && *element.local() == local_name!("body") {
            computed.page_ink = computed.ink;
        }
        computed
    }

    fn inline(&mut self, style: &str) -> Rc<[Declaration]> {
        if let Some(known) = self.inline.get(style) {
            return Rc::clone(known);
        }
        let found: Rc<[Declaration]> = inline(style).into();
        self.inline.insert(style.to_owned(), Rc::clone(&found));
        found
    }

    fn matched(&mut self, id: NodeId, element: &Element) -> Vec<Matched> {
        let mut found = Vec::new();
        for candidates in self.index.candidates(element) {
            for candidate in candidates {
                self.work.look_at(candidate.weight);
                if self.work.is_spent() {
                    return found;
                }
                if self.matcher.matches(&candidate.selector, id) {
                    self.work.look_at(candidate.declarations.len());
                    found.push(Matched {
                        declarations: Rc::clone(&candidate.declarations),
                        layer: candidate.layer,
                        specificity: candidate.selector.specificity(),
                        order: candidate.order,
                    });
                }
            }
        }
        found
    }

    fn variables(&self, ranked: &[(Rank, &Declaration)], computed: &mut Computed) {
        let customs: Vec<(&Rc<str>, &str)> = ranked
            .iter()
            .filter_map(|(_, one)| match &one.property {
                Property::Custom(name) => Some((name, one.value.as_str())),
                _ => None,
            })
            .collect();
        let missing = |name: &&Rc<str>| !computed.variables.contains_key(*name);
        let registered: Vec<&Rc<str>> = self.sheet.registered.iter().filter(missing).collect();
        if customs.is_empty() && registered.is_empty() {
            return;
        }
        let mut own: Variables = (*computed.variables).clone();
        for (name, value) in customs {
            match values::keyword(value).as_deref() {
                Some("initial") => drop(own.remove(name)),
                Some("inherit" | "unset" | "revert" | "revert-layer") => {}
                _ => drop(own.insert(Rc::clone(name), value.to_owned())),
            }
        }
        // What their rules come to is not followed here.
        for name in &self.sheet.registered {
            own.insert(Rc::clone(name), REGISTERED.to_owned());
        }
        if own.len() > MOST_VARIABLES {
            computed.own.unjudged.push(Property::All);
            return;
        }
        // Each may refer to the others.
        let mut resolved = Variables::new();
        for (name, value) in &own {
            match substitute(value, &own, &self.work) {
                Substituted::Value(value) => {
                    drop(resolved.insert(Rc::clone(name), value.into_owned()))
                }
                Substituted::Missing => {}
                Substituted::Unknown => {
                    resolved.insert(Rc::clone(name), UNKNOWN.to_owned());
                }
            }
        }
        computed.variables = Rc::new(resolved);
    }

    /// Fonts and colours first: other values are relative to them.
    fn settle(
        &self,
        ranked: &[(Rank, &Declaration)],
        parent: &Computed,
        default: Display,
        computed: &mut Computed,
    ) {
        // What `all` resets is gone, whatever it was; only what is ranked above it counts.
        let from = ranked
            .iter()
            .rposition(|(_, one)| one.property == Property::All);
        let ranked = ranked.get(from.unwrap_or(0)..).unwrap_or_default();
        let is_base = |one: &Declaration| {
            matches!(
                one.property,
                Property::All | Property::Font | Property::FontSize | Property::Color
            )
        };
        let base = ranked.iter().filter(|(_, one)| is_base(one));
        let rest = ranked
            .iter()
            .filter(|(_, one)| !is_base(one) && !matches!(one.property, Property::Custom(_)));
        for (_, one) in base.chain(rest) {
            if self.work.is_spent() {
                return;
            }
            self.declare(one, parent, default, computed);
        }
    }

    fn declare(
        &self,
        one: &Declaration,
        parent: &Computed,
        default: Display,
        computed: &mut Computed,
    ) {
        self.work.spend(one.value.len());
        let variables = Rc::clone(&computed.variables);
        let value = substitute(&one.value, &variables, &self.work);
        let value = match &value {
            Substituted::Value(value) => value.as_ref(),
            Substituted::Missing => "unset",
            Substituted::Unknown => UNKNOWN,
        };
        computed.apply(&one.property, value, parent, default);
    }

    /// A custom property that an animation sets.
    fn variable(&self, one: &Declaration, computed: &mut Computed) {
        if let Property::Custom(name) = &one.property {
            let mut own = (*computed.variables).clone();
            self.work.look_at(own.len());
            if let Substituted::Value(value) = substitute(&one.value, &own, &self.work) {
                own.insert(Rc::clone(name), value.into_owned());
                computed.variables = Rc::new(own);
            }
        }
    }

    /// Animations are taken to have ended, unless they stand still.
    fn animate(&self, parent: &Computed, default: Display, computed: &mut Computed) {
        let still = self.world.doubt == Doubt::Fails;
        if still || self.sheet.frames.is_empty() || computed.own.animation.is_empty() {
            return;
        }
        for name in computed.own.animation.clone() {
            if let Some(frames) = self.sheet.frames.get(&name) {
                let shown = if computed.own.paused {
                    &frames.first
                } else {
                    &frames.last
                };
                for one in shown {
                    if self.work.is_spent() {
                        return;
                    }
                    self.variable(one, computed);
                    self.declare(one, parent, default, computed);
                }
            }
        }
    }
}

struct Matched {
    declarations: Rc<[Declaration]>,
    layer: Option<usize>,
    specificity: u32,
    order: usize,
}

impl Matched {
    fn rank(&self, important: bool) -> Rank {
        Rank {
            important,
            layer: match self.layer {
                None => Layer::None,
                Some(index) if important => Layer::Late(Reverse(index)),
                Some(index) => Layer::Early(index),
            },
            inline: false,
            specificity: self.specificity,
            order: self.order,
        }
    }
}

fn inline_rank(important: bool) -> Rank {
    Rank {
        important,
        layer: Layer::None,
        inline: true,
        specificity: 0,
        order: 0,
    }
}

/// The text of every `<style>` element that applies, in the order of the tree.
fn sheets(dom: &Dom, differs: &mut bool, world: World) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = dom.first_child(DOCUMENT);
    while let Some(id) = next {
        let element = dom.element(id);
        let is_template = element.is_some_and(|one| *one.local() == local_name!("template"));
        if let Some(element) = element
            && *element.local() == local_name!("style")
            && (element.is_html() || element.name.ns == ns!(svg))
            && is_css(element)
        {
            let media = element.attribute(&local_name!("media")).unwrap_or_default();
            *differs |= conditions::depends_on_window(media);
            if conditions::applies(media, world.window) {
                found.push(dom.text_of(id));
            }
        }
        next = match dom.first_child(id).filter(|_| !is_template) {
            Some(child) => Some(child),
            None => dom.following(id),
        };
    }
    found
}

fn is_css(element: &Element) -> bool {
    let kind = element.attribute(&local_name!("type")).unwrap_or_default();
    kind.is_empty() || kind.eq_ignore_ascii_case("text/css")
}

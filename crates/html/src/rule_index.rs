//! Rules by what their last part asks for, so that an element looks at few of them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use html5ever::{LocalName, local_name};

use crate::dom::{Dom, Element};
use crate::selector::matching::{self, Key, One};
use crate::selector::parser::Pseudo;
use crate::stylesheet::{Declaration, Scope, StyleSheet};

/// Rules by what their last part asks for.
#[derive(Default)]
pub(crate) struct RuleIndex {
    by_id: HashMap<String, Vec<Candidate>>,
    by_class: HashMap<String, Vec<Candidate>>,
    by_name: HashMap<LocalName, Vec<Candidate>>,
    any: Vec<Candidate>,
}

/// A rule that may match.
pub(crate) struct Candidate {
    pub selector: One,
    pub unread: bool,
    pub pseudo: Option<Pseudo>,
    pub weight: usize,
    pub declarations: Rc<[Declaration]>,
    pub scope: Scope,
}

impl RuleIndex {
    pub(crate) fn new(sheet: &StyleSheet, dom: &Dom) -> Self {
        let mut index = Self::default();
        for rule in &sheet.rules {
            for selector in rule.prelude.selectors.slice() {
                let pseudo = matching::part(selector);
                if pseudo == Some(Pseudo::Other) || !rule.scope.holds.may() {
                    continue;
                }
                let place = match matching::key(selector) {
                    Key::Id(id) => index.by_id.entry(id).or_default(),
                    Key::Class(class) => index.by_class.entry(class).or_default(),
                    Key::Name(name) => index.by_name.entry(name).or_default(),
                    Key::Any => &mut index.any,
                };
                place.push(Candidate {
                    selector: selector.clone(),
                    unread: rule.prelude.unread || rule.prelude.names_unknown,
                    pseudo,
                    weight: rule.prelude.weight.of(dom),
                    declarations: Rc::clone(&rule.declarations),
                    scope: rule.scope,
                });
            }
        }
        index
    }

    /// Those that may match an element.
    pub(crate) fn candidates<'i>(&'i self, element: &Element) -> Vec<&'i [Candidate]> {
        let mut found = Vec::new();
        if !self.any.is_empty() {
            found.push(self.any.as_slice());
        }
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

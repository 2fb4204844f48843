//! HTML as a tree: html5ever builds it as browsers do, into one flat list of nodes.
//!
//! INVARIANT: the sender decides neither depth nor memory; `tree_limits.rs` bounds both.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, QualName, local_name, ns};

use crate::tree_limits::{Limiter, feed};

/// Attributes of `<html>` and `<body>`, to which later tags add theirs.
const MAX_ADDED_ATTRIBUTES: usize = 256;

pub(crate) type NodeId = usize;
pub(crate) const DOCUMENT: NodeId = 0;

pub(crate) struct Dom {
    nodes: Vec<Node>,
    pub quirks: QuirksMode,
    /// Levels of the tree.
    pub depth: usize,
    /// Characters nested too deeply to be built.
    pub too_deep: usize,
    /// The tree ends before the HTML does.
    pub cut: bool,
    /// Tags nested too deeply were not built.
    dropped: bool,
    shadow_roots: bool,
    autofocus: bool,
    link_to_page: bool,
}

pub(crate) struct Node {
    parent: Option<NodeId>,
    before: Option<NodeId>,
    after: Option<NodeId>,
    first: Option<NodeId>,
    last: Option<NodeId>,
    /// As it was when the node was put in its place.
    depth: usize,
    pub data: Data,
}

pub(crate) enum Data {
    Document,
    Element(Box<Element>),
    Text(StrTendril),
    Comment(StrTendril),
}

pub(crate) struct Element {
    pub name: Rc<QualName>,
    attributes: Vec<Attribute>,
    /// An annotation of MathML inside which HTML goes on.
    holds_html: bool,
}

impl Element {
    pub(crate) fn local(&self) -> &LocalName {
        &self.name.local
    }

    pub(crate) fn is_html(&self) -> bool {
        self.name.ns == ns!(html)
    }

    pub(crate) fn attribute(&self, name: &LocalName) -> Option<&str> {
        let found = self
            .attributes
            .iter()
            .find(|one| one.name.local == *name && one.name.ns == ns!())?;
        Some(&found.value)
    }

    /// As [`Self::attribute`], for names that html5ever does not list.
    pub(crate) fn attribute_named(&self, name: &str) -> Option<&str> {
        let is_named = |one: &&Attribute| &*one.name.local == name && one.name.ns == ns!();
        let found = self.attributes.iter().find(is_named)?;
        Some(&found.value)
    }

    /// Whether it links to the page itself, which the reader has visited.
    pub(crate) fn leads_to_page(&self) -> bool {
        let target = self.attribute(&local_name!("href")).map(str::trim);
        target.is_some_and(|target| target.is_empty() || target.starts_with('#'))
    }

    pub(crate) fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }
}

impl Dom {
    /// Parts of the HTML are not in the tree: a style sheet may be among them.
    pub(crate) fn is_partial(&self) -> bool {
        self.cut || self.too_deep > 0 || self.dropped
    }

    pub(crate) fn parse(html: &str) -> Self {
        let opts = TreeBuilderOpts {
            // A reader of mail runs no scripts.
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        };
        let limiter = Limiter::new(TreeBuilder::new(Builder::new(), opts));
        let tokenizer = Tokenizer::new(limiter, TokenizerOpts::default());
        let cut = !feed(&tokenizer, html);
        tokenizer.end();
        let limiter = tokenizer.sink;
        Self {
            too_deep: limiter.too_deep.get(),
            cut: cut || limiter.full.get(),
            dropped: limiter.dropped.get(),
            quirks: limiter.builder.sink.quirks.get(),
            depth: limiter.builder.sink.deepest.get(),
            shadow_roots: limiter.builder.sink.shadow_roots.get(),
            autofocus: limiter.builder.sink.autofocus.get(),
            link_to_page: limiter.builder.sink.link_to_page.get(),
            nodes: limiter.builder.sink.nodes.into_inner(),
        }
    }

    /// Some element takes the focus by itself.
    pub(crate) fn has_autofocus(&self) -> bool {
        self.autofocus
    }

    /// Some link may lead to the page itself.
    pub(crate) fn has_link_to_page(&self) -> bool {
        self.link_to_page
    }

    /// The page has no doctype, or one of old.
    pub(crate) fn is_quirky(&self) -> bool {
        self.quirks == QuirksMode::Quirks
    }

    /// Some `<template>` is a shadow root.
    pub(crate) fn has_shadow_roots(&self) -> bool {
        self.shadow_roots
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(crate) fn element(&self, id: NodeId) -> Option<&Element> {
        match &self.node(id)?.data {
            Data::Element(element) => Some(element),
            _ => None,
        }
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.parent
    }

    pub(crate) fn first_child(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.first
    }

    pub(crate) fn after(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.after
    }

    pub(crate) fn before(&self, id: NodeId) -> Option<NodeId> {
        self.node(id)?.before
    }

    /// The next node of the tree that is not below this one.
    pub(crate) fn following(&self, id: NodeId) -> Option<NodeId> {
        let mut at = id;
        loop {
            if let Some(after) = self.after(at) {
                return Some(after);
            }
            at = self.parent(at)?;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The text directly in a node.
    pub(crate) fn text_of(&self, id: NodeId) -> String {
        let mut out = String::new();
        let mut child = self.first_child(id);
        while let Some(at) = child {
            if let Some(Node {
                data: Data::Text(text),
                ..
            }) = self.node(at)
            {
                out.push_str(text);
            }
            child = self.after(at);
        }
        out
    }
}

/// What html5ever calls a handle: which node, and the name it asks for all the time.
#[derive(Clone)]
pub(crate) struct Handle {
    id: NodeId,
    name: Rc<QualName>,
}

/// Takes html5ever's orders.
pub(crate) struct Builder {
    pub(crate) nodes: RefCell<Vec<Node>>,
    nothing: Rc<QualName>,
    quirks: Cell<QuirksMode>,
    pub(crate) deepest: Cell<usize>,
    pub(crate) shadow_roots: Cell<bool>,
    pub(crate) autofocus: Cell<bool>,
    pub(crate) link_to_page: Cell<bool>,
}

impl Builder {
    fn new() -> Self {
        let nothing = QualName::new(None, ns!(), local_name!(""));
        let builder = Self {
            nodes: RefCell::default(),
            nothing: Rc::new(nothing),
            quirks: Cell::new(QuirksMode::NoQuirks),
            deepest: Cell::default(),
            shadow_roots: Cell::default(),
            autofocus: Cell::default(),
            link_to_page: Cell::default(),
        };
        builder.add(Data::Document);
        builder
    }

    fn add(&self, data: Data) -> Handle {
        let name = match &data {
            Data::Element(element) => Rc::clone(&element.name),
            _ => Rc::clone(&self.nothing),
        };
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node {
            parent: None,
            before: None,
            after: None,
            first: None,
            last: None,
            depth: 0,
            data,
        });
        Handle {
            id: nodes.len() - 1,
            name,
        }
    }

    fn place(&self, child: NodeOrText<Handle>, parent: NodeId, after: Option<NodeId>) {
        let mut nodes = self.nodes.borrow_mut();
        let before = match after {
            Some(after) => nodes.get(after).and_then(|node| node.before),
            None => nodes.get(parent).and_then(|node| node.last),
        };
        let id = match child {
            NodeOrText::AppendNode(handle) => {
                detach(&mut nodes, handle.id);
                handle.id
            }
            NodeOrText::AppendText(text) => {
                if let Some(Data::Text(open)) = before
                    .and_then(|id| nodes.get_mut(id))
                    .map(|node| &mut node.data)
                {
                    open.push_tendril(&text);
                    return;
                }
                drop(nodes);
                let id = self.add(Data::Text(text)).id;
                nodes = self.nodes.borrow_mut();
                id
            }
        };
        // Detaching may have changed who stands before.
        let before = match after {
            Some(after) => nodes.get(after).and_then(|node| node.before),
            None => nodes.get(parent).and_then(|node| node.last),
        };
        let depth = nodes.get(parent).map_or(0, |parent| parent.depth) + 1;
        self.deepest.set(self.deepest.get().max(depth));
        if let Some(node) = nodes.get_mut(id) {
            node.depth = depth;
            (node.parent, node.before, node.after) = (Some(parent), before, after);
        }
        match before.and_then(|before| nodes.get_mut(before)) {
            Some(before) => before.after = Some(id),
            None => set(&mut nodes, parent, |node| node.first = Some(id)),
        }
        match after.and_then(|after| nodes.get_mut(after)) {
            Some(after) => after.before = Some(id),
            None => set(&mut nodes, parent, |node| node.last = Some(id)),
        }
    }
}

fn set(nodes: &mut [Node], id: NodeId, change: impl FnOnce(&mut Node)) {
    if let Some(node) = nodes.get_mut(id) {
        change(node);
    }
}

fn detach(nodes: &mut [Node], id: NodeId) {
    let Some(node) = nodes.get_mut(id) else {
        return;
    };
    let (parent, before, after) = (node.parent.take(), node.before.take(), node.after.take());
    match before {
        Some(before) => set(nodes, before, |node| node.after = after),
        None => {
            if let Some(parent) = parent {
                set(nodes, parent, |node| node.first = after);
            }
        }
    }
    match after {
        Some(after) => set(nodes, after, |node| node.before = before),
        None => {
            if let Some(parent) = parent {
                set(nodes, parent, |node| node.last = before);
            }
        }
    }
}

impl TreeSink for Builder {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = &'a QualName;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle {
            id: DOCUMENT,
            name: Rc::clone(&self.nothing),
        }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> &'a QualName {
        &target.name
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Handle {
        let is_root = |one: &Attribute| one.name.local.starts_with("shadowroot");
        if name.local == local_name!("template") && attributes.iter().any(is_root) {
            self.shadow_roots.set(true);
        }
        if attributes.iter().any(|one| &*one.name.local == "autofocus") {
            self.autofocus.set(true);
        }
        let element = Element {
            name: Rc::new(name),
            attributes,
            holds_html: flags.mathml_annotation_xml_integration_point,
        };
        if element.leads_to_page() {
            self.link_to_page.set(true);
        }
        self.add(Data::Element(Box::new(element)))
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        let nodes = self.nodes.borrow();
        match nodes.get(handle.id).map(|node| &node.data) {
            Some(Data::Element(element)) => element.holds_html,
            _ => false,
        }
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        self.add(Data::Comment(text))
    }

    fn create_pi(&self, _: StrTendril, data: StrTendril) -> Handle {
        self.add(Data::Comment(data))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.place(child, parent.id, None);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        prev_element: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let placed = self
            .nodes
            .borrow()
            .get(element.id)
            .is_some_and(|node| node.parent.is_some());
        if placed {
            self.append_before_sibling(element, child);
        } else {
            self.append(prev_element, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// What a template holds stays in it: it is never shown.
    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.quirks.set(mode);
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = self
            .nodes
            .borrow()
            .get(sibling.id)
            .and_then(|node| node.parent);
        if let Some(parent) = parent {
            self.place(child, parent, Some(sibling.id));
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        if let Some(Data::Element(element)) = self
            .nodes
            .borrow_mut()
            .get_mut(target.id)
            .map(|node| &mut node.data)
        {
            for one in attributes {
                let known = &element.attributes;
                let matters = matches!(
                    one.name.local,
                    local_name!("bgcolor")
                        | local_name!("class")
                        | local_name!("dir")
                        | local_name!("hidden")
                        | local_name!("id")
                        | local_name!("lang")
                        | local_name!("link")
                        | local_name!("style")
                        | local_name!("text")
                );
                if (matters || known.len() < MAX_ADDED_ATTRIBUTES)
                    && !known.iter().any(|known| known.name == one.name)
                {
                    element.attributes.push(one);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        detach(&mut self.nodes.borrow_mut(), target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        loop {
            let first = self.nodes.borrow().get(node.id).and_then(|node| node.first);
            let Some(id) = first else {
                return;
            };
            let name = Rc::clone(&self.nothing);
            self.place(
                NodeOrText::AppendNode(Handle { id, name }),
                new_parent.id,
                None,
            );
        }
    }
}

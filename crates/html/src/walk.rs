//! Walks a page once, in order, and tells a sink what a reader would see; the rest is gathered with its reasons.

use html5ever::{LocalName, local_name, ns};

use crate::cascade::Cascade;
use crate::computed::Computed;
use crate::dom::{DOCUMENT, Data, Dom, Element, NodeId};
use crate::elements;
use crate::hidden::Hidden;
use crate::own::Display;
use crate::sight::Sight;
use crate::values;
use crate::verdict::Reason as Why;
use crate::world::World;

/// Is told only of what can be seen; `open` and `close` pair up.
pub(crate) trait Sink {
    fn open(&mut self, element: &Element, layout: Layout);
    fn close(&mut self, element: &Element, layout: Layout);
    /// An element that takes up room and shows nothing.
    fn pass(&mut self, layout: Layout);
    fn text(&mut self, text: &str, space: Space);
    /// The alternative text of a picture.
    fn picture(&mut self, element: &Element, alt: &str);
    /// Nothing more is wanted.
    fn is_full(&self) -> bool;
}

/// How an element stands among others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// In a line of its own.
    Block,
    Inline,
    Row,
    Cell,
}

/// What becomes of white space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    Folded,
    Kept,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Walked {
    pub hidden: Hidden,
    /// The sink was full before the page ended, or the page was too much.
    pub cut: bool,
}

/// One element in one world.
struct Side {
    style: Computed,
    sight: Sight,
}

struct Frame {
    side: Side,
    /// In the other world, where there is one.
    other: Option<Box<Side>>,
    /// What comes next inside.
    next: Option<NodeId>,
    /// The element, when the sink was told of it.
    told: Option<(NodeId, Layout)>,
    /// The only child that is seen: the summary of closed details.
    only: Option<NodeId>,
    /// A line has ended in the block around.
    broken: bool,
}

impl Frame {
    /// Why text directly in here is not seen, in whichever world.
    fn hides(&self) -> Option<Why> {
        let other = || self.other.as_ref().and_then(|side| self.hides_in(side));
        self.hides_in(&self.side).or_else(other)
    }

    fn hides_in(&self, side: &Side) -> Option<Why> {
        let pushed = || side.sight.indents_away().filter(|_| !self.broken);
        side.sight.hides(&side.style).or_else(pushed)
    }
}

/// The ways to read a page: one, or two where they differ.
struct Worlds<'a> {
    first: Cascade<'a>,
    second: Option<Cascade<'a>>,
}

impl<'a> Worlds<'a> {
    fn new(dom: &'a Dom) -> Self {
        let first = Cascade::new(dom, World::FIRST);
        let second = first.differs().then(|| Cascade::new(dom, World::SECOND));
        Self { first, second }
    }

    fn gave_up(&self) -> bool {
        self.first.gave_up() || self.second.as_ref().is_some_and(Cascade::gave_up)
    }
}

pub(crate) fn walk(dom: &Dom, sink: &mut impl Sink) -> Walked {
    let mut worlds = Worlds::new(dom);
    let mut hidden = Hidden::default();
    let beginning = |cascade: &Cascade<'_>| Side {
        style: cascade.initial(),
        sight: Sight::default(),
    };
    let mut stack = vec![Frame {
        side: beginning(&worlds.first),
        other: worlds
            .second
            .as_ref()
            .map(|second| Box::new(beginning(second))),
        broken: false,
        next: dom.first_child(DOCUMENT),
        told: None,
        only: None,
    }];
    while let Some(frame) = stack.last_mut() {
        let Some(id) = frame.next else {
            if let Some((id, layout)) = frame.told
                && let Some(element) = dom.element(id)
            {
                sink.close(element, layout);
            }
            stack.pop();
            continue;
        };
        frame.next = dom.after(id);
        match dom.node(id).map(|node| &node.data) {
            Some(Data::Text(text)) => {
                let closed = frame.only.map(|_| Why::Closed);
                match closed.or_else(|| frame.hides()) {
                    Some(why) => {
                        hidden.add(why, text);
                        // What is invisible keeps its place, and parts the words around it.
                        if matches!(why, Why::Visibility | Why::Transparent | Why::SameColour) {
                            sink.text(" ", Space::Folded);
                        }
                    }
                    None if frame.side.style.kept => sink.text(text, Space::Kept),
                    None => sink.text(text, Space::Folded),
                }
            }
            Some(Data::Comment(text)) => hidden.add_comment(text),
            Some(Data::Element(element)) => {
                frame.broken |= *element.local() == local_name!("br");
                if let Some(inner) = enter(&mut worlds, frame, id, element, sink, &mut hidden) {
                    stack.push(inner);
                }
            }
            Some(Data::Document) | None => {}
        }
        if sink.is_full() {
            close_all(dom, sink, &stack);
            return Walked { hidden, cut: true };
        }
    }
    Walked {
        hidden,
        cut: dom.cut || worlds.gave_up(),
    }
}

/// `None` when there is nothing to look at inside.
fn enter(
    worlds: &mut Worlds<'_>,
    frame: &Frame,
    id: NodeId,
    element: &Element,
    sink: &mut impl Sink,
    hidden: &mut Hidden,
) -> Option<Frame> {
    if elements::is_machinery(element) {
        return None;
    }
    let dom = worlds.first.dom();
    let closed = frame.only.is_some_and(|only| only != id);
    let inside = |cascade: &mut Cascade<'_>, around: &Side| {
        let style = cascade.compute(id, element, &around.style);
        let mut sight = around.sight.inside(&style);
        if elements::is_unrendered(element) {
            sight.gone = sight.gone.or(Some(Why::NotRendered));
        }
        if closed {
            sight.gone = sight.gone.or(Some(Why::Closed));
        }
        Side { style, sight }
    };
    let side = inside(&mut worlds.first, &frame.side);
    let other = match (&mut worlds.second, &frame.other) {
        (Some(cascade), Some(around)) => Some(Box::new(inside(cascade, around))),
        _ => None,
    };
    if is_picture(element) {
        picture(element, &side, other.as_deref(), sink, hidden);
        return None;
    }
    let layout = layout(&side.style, frame.side.style.own.display);
    let gone = side
        .sight
        .gone
        .or(other.as_ref().and_then(|other| other.sight.gone));
    match gone {
        None => sink.open(element, layout),
        Some(Why::Display | Why::NotRendered) => {}
        Some(_) => sink.pass(layout),
    }
    Some(Frame {
        only: closed_to(dom, id, element),
        broken: frame.broken && layout == Layout::Inline,
        side,
        other,
        next: dom.first_child(id),
        told: gone.is_none().then_some((id, layout)),
    })
}

fn close_all(dom: &Dom, sink: &mut impl Sink, stack: &[Frame]) {
    let told = stack.iter().rev().filter_map(|frame| frame.told);
    for (id, layout) in told {
        if let Some(element) = dom.element(id) {
            sink.close(element, layout);
        }
    }
}

fn layout(style: &Computed, around: Display) -> Layout {
    match style.own.display {
        Display::Inline | Display::Contents if around == Display::Flex => Layout::Block,
        Display::Cell => Layout::Cell,
        Display::Table => Layout::Row,
        Display::Block | Display::Flex => Layout::Block,
        Display::None | Display::Column | Display::Contents | Display::Inline => Layout::Inline,
    }
}

fn is_picture(element: &Element) -> bool {
    element.is_html()
        && (*element.local() == local_name!("img")
            || *element.local() == local_name!("input")
                && element
                    .attribute(&local_name!("type"))
                    .is_some_and(|kind| kind.eq_ignore_ascii_case("image")))
}

fn picture(
    element: &Element,
    side: &Side,
    other: Option<&Side>,
    sink: &mut impl Sink,
    hidden: &mut Hidden,
) {
    let alt = element.attribute(&local_name!("alt")).unwrap_or_default();
    let words: Vec<&str> = alt.split_whitespace().collect();
    let alt = words.join(" ");
    let hides = |side: &Side| side.sight.hides_picture(&side.style);
    let style = &side.style;
    if let Some(why) = hides(side).or_else(|| other.and_then(hides)) {
        return hidden.add(why, &alt);
    }
    let given = |attribute: LocalName| element.attribute(&attribute).and_then(values::leading);
    let width = style
        .own
        .width
        .used()
        .or_else(|| given(local_name!("width")));
    let height = style
        .own
        .height
        .used()
        .or_else(|| given(local_name!("height")));
    let is_small = |size: Option<f32>| size.is_some_and(|size| size <= 5.0);
    if is_small(width) || is_small(height) {
        return hidden.add(Why::Pixel, &alt);
    }
    sink.picture(element, &alt);
}

/// Of details that are closed, the first summary alone is seen; without one, nothing is.
fn closed_to(dom: &Dom, id: NodeId, element: &Element) -> Option<NodeId> {
    let is_details = element.name.ns == ns!(html) && *element.local() == local_name!("details");
    if !is_details || element.attribute(&local_name!("open")).is_some() {
        return None;
    }
    let mut child = dom.first_child(id);
    while let Some(at) = child {
        if dom
            .element(at)
            .is_some_and(|element| *element.local() == local_name!("summary"))
        {
            return Some(at);
        }
        child = dom.after(at);
    }
    Some(id)
}

//! Walks a page once, in order, and gives a sink what a reader sees or may see; the rest is counted
//! with its reasons.

use html5ever::{LocalName, local_name};

use crate::dom::{DOCUMENT, Data, Dom, Element, NodeId};
use crate::elements;
use crate::hidden_text::HiddenText;
use crate::judge::VisibilityContext;
use crate::layout::{BoxNode, Page};
use crate::properties::Longhand as L;
use crate::style::{Display, Position, PossibleValues, Style, Value};
use crate::verdict::{Reason, Verdict};

/// Receives only what can be seen; `open` and `close` pair up.
pub(crate) trait Sink {
    fn open(&mut self, element: &Element, layout: BoxKind);
    fn close(&mut self, element: &Element, layout: BoxKind);
    /// An element that takes up room and shows nothing.
    fn pass(&mut self, layout: BoxKind);
    /// `doubt` is why the text may not be seen.
    fn text(&mut self, text: &str, space: WhiteSpaceMode, doubt: Option<Reason>);
    /// The alternative text of a picture.
    fn picture(&mut self, element: &Element, alt: &str, doubt: Option<Reason>);
    /// Nothing more is wanted.
    fn is_full(&self) -> bool;
}

/// How an element stands among others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BoxKind {
    /// In a line of its own.
    Block,
    Inline,
    Row,
    Cell,
}

/// What becomes of white space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WhiteSpaceMode {
    Folded,
    Kept,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct WalkSummary {
    pub hidden: HiddenText,
    /// The sink was full before the page ended, or the tree is not complete.
    pub cut: bool,
}

struct Frame<'p> {
    /// None for the document.
    node: Option<&'p BoxNode>,
    context: VisibilityContext,
    /// What comes next inside.
    next: Option<NodeId>,
    /// The element, when the sink has it open.
    open: Option<(NodeId, BoxKind)>,
    /// The only child that is seen, and why others are not: the summary of closed details, or the
    /// chosen option of a menu.
    only: Option<(NodeId, Reason)>,
}

pub(crate) fn walk(dom: &Dom, sink: &mut impl Sink) -> WalkSummary {
    let page = Page::new(dom);
    let root = Style::root(false);
    let mut hidden = HiddenText::default();
    let mut stack = vec![Frame {
        node: None,
        context: VisibilityContext::new(dom, &page),
        next: dom.first_child(DOCUMENT),
        open: None,
        only: None,
    }];
    while let Some(frame) = stack.last_mut() {
        let Some(id) = frame.next else {
            if let Some((id, layout)) = frame.open
                && let Some(element) = dom.element(id)
            {
                sink.close(element, layout);
            }
            stack.pop();
            continue;
        };
        frame.next = dom.after(id);
        let style = frame.node.map_or(&root, |node| &*node.style);
        match dom.node(id).map(|node| &node.data) {
            Some(Data::Text(text)) => {
                page.reach(Some(id));
                // Blanks need no verdict of their own.
                if text.trim_ascii().is_empty() && frame.only.is_none() {
                    if frame.context.hidden().is_none() {
                        sink.text(text, space(style), None);
                    }
                    continue;
                }
                let styled = frame.node.is_some_and(|node| node.styled_part);
                let closed = frame.only.filter(|_| !styled);
                let closed = closed.map(|(_, reason)| Verdict::Hidden(reason));
                let verdict = closed.unwrap_or_else(|| frame.context.verdict(style, &page));
                write(text, verdict, style, sink, &mut hidden);
            }
            Some(Data::Comment(text)) => hidden.add_comment(text),
            Some(Data::Element(element)) => {
                if let Some(inner) = enter(dom, &page, frame, id, element, sink, &mut hidden) {
                    stack.push(inner);
                } else {
                    page.reach(dom.first_child(id));
                }
            }
            Some(Data::Document) | None => {}
        }
        if sink.is_full() {
            close_all(dom, sink, &stack);
            return WalkSummary { hidden, cut: true };
        }
    }
    WalkSummary {
        hidden,
        cut: dom.cut,
    }
}

fn write(
    text: &str,
    verdict: Verdict,
    style: &Style,
    sink: &mut impl Sink,
    hidden: &mut HiddenText,
) {
    let doubt = match verdict {
        Verdict::Hidden(reason) => {
            hidden.add(reason, text);
            // What is invisible keeps its place, and parts the words around it.
            if matches!(
                reason,
                Reason::Visibility | Reason::Transparent | Reason::SameColor
            ) {
                sink.text(" ", WhiteSpaceMode::Folded, None);
            }
            return;
        }
        Verdict::Visible => None,
        Verdict::Uncertain(reason) => Some(reason),
    };
    if !text.trim().is_empty() {
        hidden.see_text();
    }
    sink.text(text, space(style), doubt);
}

fn space(style: &Style) -> WhiteSpaceMode {
    if style.keeps_space {
        WhiteSpaceMode::Kept
    } else {
        WhiteSpaceMode::Folded
    }
}

/// `None` when there is nothing to look at inside.
fn enter<'p>(
    dom: &Dom,
    page: &'p Page,
    frame: &Frame<'p>,
    id: NodeId,
    element: &Element,
    sink: &mut impl Sink,
    hidden: &mut HiddenText,
) -> Option<Frame<'p>> {
    let node = page.get(id)?;
    // A menu paints the text of the chosen option in its own style.
    if frame.only == Some((id, Reason::NotRendered)) {
        let mut context = frame.context.clone();
        let only = only_child(dom, id, element);
        let label = label(element);
        if label.is_some() || is_group(element) && only.is_none() {
            context.doubt(Reason::Element);
        }
        write_label(label, &context, sink);
        return Some(Frame {
            node: frame.node,
            context,
            only,
            next: dom.first_child(id),
            open: None,
        });
    }
    let mut context = frame.context.inside(element, node);
    if let Some((_, reason)) = frame.only.filter(|(only, _)| *only != id) {
        if frame.node.is_some_and(|node| node.styled_part) {
            context.doubt(reason);
        } else {
            context.hide(reason);
        }
    }
    let only = only_child(dom, id, element).filter(|_| !is_group(element));
    if elements::is_menu(element) && (only.is_none() || !elements::is_plain_control(&node.style)) {
        context.doubt(Reason::Element);
    }
    write_label(label(element), &context, sink);
    if elements::is_machinery(element) && context.hidden().is_some() {
        return None;
    }
    if let Some(text) = frame_text(element)
        && context.hidden().is_none()
    {
        sink.picture(element, &text, Some(Reason::Element));
        return None;
    }
    if let Some((value, doubt)) = control_text(element, &node.style) {
        match context.picture_verdict(&node.style, page) {
            Verdict::Hidden(reason) => hidden.add(reason, value),
            Verdict::Uncertain(reason) => sink.picture(element, value, Some(reason)),
            Verdict::Visible => sink.picture(element, value, doubt),
        }
        return None;
    }
    if is_picture(element) {
        let around = dom.parent(id).and_then(|parent| dom.element(parent));
        if around.is_some_and(|around| *around.local() == local_name!("picture")) {
            context.doubt(Reason::Element);
        }
        picture(element, &node.style, &context, page, sink, hidden);
        return None;
    }
    let around = frame.node.map(|node| display(&node.style));
    let layout = layout(&node.style, around);
    let open = match context.hidden() {
        None => {
            sink.open(element, layout);
            Some((id, layout))
        }
        Some(Reason::Display | Reason::NotRendered) => None,
        Some(_) => {
            sink.pass(layout);
            None
        }
    };
    Some(Frame {
        node: Some(node),
        context,
        only,
        next: dom.first_child(id),
        open,
    })
}

fn close_all(dom: &Dom, sink: &mut impl Sink, stack: &[Frame<'_>]) {
    let open = stack.iter().rev().filter_map(|frame| frame.open);
    for (id, layout) in open {
        if let Some(element) = dom.element(id) {
            sink.close(element, layout);
        }
    }
}

/// The display that is most likely.
fn display(style: &Style) -> Display {
    let display = style.get(L::Display);
    let mut all = display.values().unwrap_or_default().iter();
    let shown = all.find_map(|value| match value {
        Value::Display(Display::None) => None,
        Value::Display(display) => Some(*display),
        _ => None,
    });
    shown.unwrap_or(Display::Block)
}

fn layout(style: &Style, around: Option<Display>) -> BoxKind {
    let own = display(style);
    let is_placed = style
        .get(L::Position)
        .may(|value| matches!(value, Value::Position(Position::Absolute)));
    if own.is_inline_level() && (is_placed || around.is_some_and(Display::is_flex)) {
        return BoxKind::Block;
    }
    match own {
        Display::Cell => BoxKind::Cell,
        Display::Table | Display::InlineTable | Display::Row => BoxKind::Row,
        Display::Block
        | Display::InlineBlock
        | Display::Flex
        | Display::InlineFlex
        | Display::Caption => BoxKind::Block,
        Display::None | Display::Column | Display::Contents | Display::Inline => BoxKind::Inline,
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

fn is_group(element: &Element) -> bool {
    element.is_html() && *element.local() == local_name!("optgroup")
}

/// The label of an option or of a group of them.
fn label(element: &Element) -> Option<&str> {
    let is_option = element.is_html() && *element.local() == local_name!("option");
    let label = element.attribute(&local_name!("label"))?;
    (is_option || is_group(element)).then_some(label)
}

fn write_label(label: Option<&str>, context: &VisibilityContext, sink: &mut impl Sink) {
    if let (Some(label), None) = (label, context.hidden()) {
        sink.text(
            &format!(" {label} "),
            WhiteSpaceMode::Folded,
            Some(Reason::Element),
        );
    }
}

/// The text of a page inside the page, which may be shown in a frame. Other frames are not loaded.
fn frame_text(element: &Element) -> Option<String> {
    if !element.is_html() || *element.local() != local_name!("iframe") {
        return None;
    }
    let page = match element.attribute(&local_name!("srcdoc")) {
        Some(page) => page.to_owned(),
        None => {
            let address = element.attribute(&local_name!("src"))?.trim();
            let (kind, page) = address.split_once(',')?;
            if !kind.to_ascii_lowercase().starts_with("data:text/html") || kind.contains("base64") {
                return None;
            }
            percent_decoded(page)
        }
    };
    // The frame is judged as a whole: its own styles do not matter.
    let mut text = String::new();
    let dom = Dom::parse(&page);
    let mut next = dom.first_child(DOCUMENT);
    while let Some(id) = next {
        let is_machinery = dom.element(id).is_some_and(elements::is_machinery);
        if let Some(Data::Text(part)) = dom.node(id).map(|node| &node.data) {
            text.push_str(part);
            text.push(' ');
        }
        next = match dom.first_child(id).filter(|_| !is_machinery) {
            Some(child) => Some(child),
            None => dom.following(id),
        };
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// `%41` decoded.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let code = part
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(part.get(2..).unwrap_or_default().as_bytes());
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What can make a button smaller than its text.
const BUTTON_SIZES: &[L] = &[
    L::Width,
    L::MinWidth,
    L::MaxWidth,
    L::FlexBasis,
    L::Height,
    L::MaxHeight,
    L::OverflowX,
];

/// The text of a control that stands in an attribute, and why it may not be seen: only buttons grow
/// with it.
fn control_text<'e>(element: &'e Element, style: &Style) -> Option<(&'e str, Option<Reason>)> {
    if !element.is_html() || *element.local() != local_name!("input") {
        return None;
    }
    let kind = element.attribute(&local_name!("type")).unwrap_or_default();
    let silent = [
        "hidden", "image", "password", "checkbox", "radio", "file", "range", "color",
    ];
    if silent.iter().any(|one| kind.eq_ignore_ascii_case(one)) {
        return None;
    }
    let value = element.attribute(&local_name!("value"));
    let value = value.filter(|value| !value.is_empty());
    let value = value.or_else(|| element.attribute(&local_name!("placeholder")))?;
    let is_any = |kinds: &[&str]| kinds.iter().any(|one| kind.eq_ignore_ascii_case(one));
    let is_plain = elements::is_plain_control(style);
    let is_free = |size: &L| *style.get(*size) == PossibleValues::One(Value::Auto);
    let grows = elements::is_button(kind) && BUTTON_SIZES.iter().all(is_free);
    let is_line = is_any(&["", "text", "search", "email", "url", "tel"]);
    let is_typed = element.attribute(&local_name!("value")) == Some(value);
    let fits = is_line && is_typed && is_plain && fits(element, value);
    let doubt = (!grows && !fits).then_some(Reason::Element);
    (!value.trim().is_empty()).then_some((value, doubt))
}

/// Whether a line of text fits into a text field of the width that its `size` gives.
fn fits(element: &Element, text: &str) -> bool {
    /// The width of an average letter in parts of the font size, and of a wide one.
    const LETTER: f32 = 0.55;
    const WIDE: f32 = 1.0;
    let size = element.attribute(&local_name!("size"));
    let size = size
        .and_then(|size| size.trim().parse().ok())
        .unwrap_or(20_u16);
    let widths = text.chars().map(|char| match char {
        'm' | 'w' | '@' | '%' | 'A'..='Z' => WIDE,
        ' '..='~' => LETTER,
        _ => 2.0 * WIDE,
    });
    widths.sum::<f32>() <= f32::from(size.max(1)) * LETTER
}

/// Pictures are not loaded, so that readers see their alternative text; unless they are part of the
/// mail.
fn picture(
    element: &Element,
    style: &Style,
    context: &VisibilityContext,
    page: &Page,
    sink: &mut impl Sink,
    hidden: &mut HiddenText,
) {
    let given = element.attribute(&local_name!("alt"));
    // Some programs show the title in its place.
    let title = element.attribute(&local_name!("title"));
    let is_title = given.is_none() && title.is_some();
    let words: Vec<&str> = given
        .or(title)
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let alt = words.join(" ");
    let address = element.attribute(&local_name!("src")).unwrap_or_default();
    let doubt = match context.picture_verdict(style, page) {
        Verdict::Hidden(reason) => return hidden.add(reason, &alt),
        Verdict::Uncertain(reason) => Some(reason),
        Verdict::Visible => None,
    };
    let sizes = [L::Width, L::Height].map(|longhand| style.get(longhand));
    let limits = [L::MaxWidth, L::MaxHeight].map(|longhand| style.get(longhand));
    let is_small = |limit: f32| {
        sizes.iter().chain(&limits).any(|size| {
            size.is(|value| matches!(value, Value::Px(px) if px <= limit))
                .is_certain()
        })
    };
    if elements::is_embedded(address) || has_other_source(element) {
        return hidden.add(Reason::NotRendered, &alt);
    }
    // In pages without a doctype a picture keeps its size, and what stands for it is cut off.
    let is_dot =
        |size: &PossibleValues| size.is(|value| matches!(value, Value::Px(px) if px <= 2.0));
    if style.quirks && sizes.iter().all(|size| is_dot(size).is_certain()) {
        return hidden.add(Reason::Pixel, &alt);
    }
    // A picture that is not loaded cuts its text off at its size.
    let font = style.largest_font();
    let cut = sizes
        .iter()
        .chain(&limits)
        .any(|size| size.may(|value| matches!(value, Value::Px(px) if px < font)));
    let boxless = style
        .get(L::Display)
        .may(|value| matches!(value, Value::Display(Display::Contents)));
    let doubt = doubt
        .or(is_small(5.0).then_some(Reason::Pixel))
        .or((cut || boxless).then_some(Reason::Clipped))
        .or(is_title.then_some(Reason::Element));
    if !alt.is_empty() {
        hidden.see_text();
    }
    sink.picture(element, &alt, doubt);
}

/// `srcset` may name another picture.
fn has_other_source(element: &Element) -> bool {
    let set = element.attribute_named("srcset").unwrap_or_default();
    set.split(',').any(elements::is_embedded)
}

/// Of closed details the first summary alone is seen, and of a menu the chosen option. Where there
/// is none, nothing is: the element stands for its children then.
fn only_child(dom: &Dom, id: NodeId, element: &Element) -> Option<(NodeId, Reason)> {
    if !element.is_html() {
        return None;
    }
    if *element.local() == local_name!("details") {
        let is_open = element.attribute(&local_name!("open")).is_some();
        let is_summary = |child: &Element| *child.local() == local_name!("summary");
        let summary = children(dom, id).find(|(_, child)| is_summary(child));
        return (!is_open).then_some((summary.map_or(id, |(at, _)| at), Reason::Closed));
    }
    if !is_group(element) && !elements::is_menu(element) {
        return None;
    }
    // Anything else in a menu may hold options too.
    let is_known = |name: &LocalName| {
        matches!(
            *name,
            local_name!("option") | local_name!("optgroup") | local_name!("hr")
        )
    };
    if !children(dom, id).all(|(_, child)| is_known(child.local())) {
        return None;
    }
    let chosen = chosen_option(dom, id);
    let is_around =
        |child: NodeId| Some(child) == chosen || dom.parent(chosen.unwrap_or(id)) == Some(child);
    let only = children(dom, id).find(|(child, _)| is_around(*child));
    Some((only.map_or(id, |(at, _)| at), Reason::NotRendered))
}

/// The option that a menu shows: the last one that is marked, else the first that can be chosen.
fn chosen_option(dom: &Dom, menu: NodeId) -> Option<NodeId> {
    let is = |element: &Element, name: LocalName| element.attribute(&name).is_some();
    let (mut marked, mut first) = (None, None);
    for (id, child) in children(dom, menu) {
        let is_group = *child.local() == local_name!("optgroup");
        let inner = children(dom, id).filter(|_| is_group);
        for (id, option) in std::iter::once((id, child)).chain(inner) {
            if *option.local() != local_name!("option") {
                continue;
            }
            if is(option, local_name!("selected")) {
                marked = Some(id);
            }
            if !is(option, local_name!("disabled")) && !is(child, local_name!("disabled")) {
                first = first.or(Some(id));
            }
        }
    }
    marked.or(first)
}

fn children(dom: &Dom, id: NodeId) -> impl Iterator<Item = (NodeId, &Element)> {
    let all = std::iter::successors(dom.first_child(id), |at| dom.after(*at));
    all.filter_map(|at| Some((at, dom.element(at)?)))
}

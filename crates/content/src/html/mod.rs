//! HTML as a reader sees it: a tree as browsers build it, styles as they cascade, and what that leaves visible.
//!
//! One pass each, linear in the size of the HTML and independent of the sender's nesting. What is not seen is
//! never rendered; it is counted with its reasons.

mod cascade;
mod computed;
mod declared;
mod dom;
mod hidden;
mod hints;
mod limiter;
mod link;
mod media;
mod own;
mod property;
mod render;
mod safe;
mod select;
mod shape;
mod sheet;
mod sight;
mod substitute;
mod syntax;
mod value;
mod walk;
mod work;
mod world;

pub(crate) use hidden::Hidden;
pub(crate) use render::Links;

use crate::changes::Changes;

use dom::Dom;

/// HTML beyond this many bytes is not looked at.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Rendered {
    pub text: String,
    /// What was left out because a reader would not see it.
    pub hidden: Hidden,
    pub links: Links,
    /// What the shield changed; text is not shielded yet.
    pub changes: Changes,
    /// Characters left out because they are nested too deeply.
    pub too_deep: usize,
    /// Not all of the HTML was rendered.
    pub cut: bool,
}

/// The visible text, about `max_chars` of it at most. Not shielded yet.
pub(crate) fn to_text(html: &str, max_chars: usize) -> Rendered {
    let dom = Dom::parse(start(html));
    let mut render = render::Render::new(max_chars);
    let walked = walk::walk(&dom, &mut render);
    let (text, links) = render.finish();
    Rendered {
        text,
        hidden: walked.hidden,
        links,
        changes: Changes::default(),
        too_deep: dom.too_deep,
        cut: walked.cut || html.len() > MOST_BYTES,
    }
}

/// Well-formed HTML without scripts, styles, forms or remote content, shielded, at most `max_chars` long.
pub(crate) fn sanitize(html: &str, max_chars: usize) -> Rendered {
    let dom = Dom::parse(start(html));
    let mut budget = max_chars;
    // Serializing may add tags that were implied; then there is less room for the rest.
    for _ in 0..3 {
        let mut safe = safe::Safe::new(budget);
        let walked = walk::walk(&dom, &mut safe);
        let (text, changes) = safe.finish();
        if text.chars().count() <= max_chars {
            return Rendered {
                text,
                hidden: walked.hidden,
                too_deep: dom.too_deep,
                cut: walked.cut || html.len() > MOST_BYTES,
                links: Links::default(),
                changes,
            };
        }
        budget /= 2;
    }
    Rendered {
        cut: true,
        ..Rendered::default()
    }
}

fn start(html: &str) -> &str {
    html.get(..html.floor_char_boundary(MOST_BYTES))
        .unwrap_or(html)
}

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;

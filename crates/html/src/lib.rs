//! HTML and CSS to runs of text with a verdict on their visibility, and sanitized HTML.
//!
//! A page is parsed into a tree as browsers build it (`dom`), styled (`cascade`), judged (`judge`)
//! and walked once (`walk`). Every run of text is visible, hidden or uncertain: hidden text is left
//! out and counted with its reasons, uncertain text is written and marked with its reason. This
//! crate never knows mail and never touches network, disk or clock.

mod backdrop;
mod budget;
mod cascade;
mod conditions;
mod custom_properties;
mod declaration_walk;
mod declared;
mod dom;
mod elements;
mod generated_content;
mod harmless;
mod hidden_text;
mod judge;
mod layout;
mod link;
mod page_style_sheets;
mod properties;
mod rule_index;
mod sanitize;
mod selector;
mod style;
mod style_bounds;
mod stylesheet;
mod text;
mod tree_limits;
mod truth;
mod values;
mod verdict;
mod walk;

pub use hidden_text::HiddenText;
pub use link::shown as shown_host;
pub use sanitize::TextFilter;
pub use text::Links;
pub use verdict::Reason;

use dom::Dom;

/// HTML beyond this many bytes is not read.
const MAX_HTML_BYTES: usize = 1024 * 1024;

/// A page as plain text.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Rendered {
    pub text: String,
    /// Where `text` holds what a reader may not see; in order, without overlaps.
    pub uncertain: Vec<UncertainRun>,
    /// What was left out because no reader sees it.
    pub hidden: HiddenText,
    pub links: Links,
    /// Characters left out because they are nested too deeply.
    pub too_deep: usize,
    /// Not all of the HTML was rendered.
    pub cut: bool,
}

/// A stretch of text whose visibility could not be established.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UncertainRun {
    /// In code points.
    pub start: usize,
    /// In code points, exclusive.
    pub end: usize,
    pub reason: Reason,
}

/// A page as sanitized HTML.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Sanitized {
    pub html: String,
    pub hidden: HiddenText,
    pub cut: bool,
}

/// The visible and the uncertain text, at most `max_chars` of it.
pub fn to_text(html: &str, max_chars: usize) -> Rendered {
    let dom = parse(html);
    let mut writer = text::TextWriter::new(max_chars);
    let walked = walk::walk(&dom, &mut writer);
    let (text, uncertain, links) = writer.finish();
    Rendered {
        text,
        uncertain,
        hidden: walked.hidden,
        links,
        too_deep: dom.too_deep,
        cut: walked.cut || dom.cut,
    }
}

/// Well-formed HTML without scripts, styles, forms or remote content, at most `max_chars` long. All
/// text passes through `filter`.
pub fn sanitize(html: &str, max_chars: usize, filter: &mut dyn TextFilter) -> Sanitized {
    let dom = parse(html);
    let mut budget = max_chars;
    // Serializing may add tags that were implied; then there is less room for the rest.
    for _ in 0..3 {
        let mut safe = sanitize::Sanitizer::new(budget, filter);
        let walked = walk::walk(&dom, &mut safe);
        let html_out = safe.finish();
        if html_out.chars().count() <= max_chars {
            return Sanitized {
                html: html_out,
                hidden: walked.hidden,
                cut: walked.cut || dom.cut,
            };
        }
        budget /= 2;
    }
    Sanitized {
        cut: true,
        ..Sanitized::default()
    }
}

fn parse(html: &str) -> Dom {
    let start = html.get(..html.floor_char_boundary(MAX_HTML_BYTES));
    let start = start.unwrap_or(html);
    let mut dom = Dom::parse(start);
    dom.cut |= start.len() < html.len();
    dom
}

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod tests;

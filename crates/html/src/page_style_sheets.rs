//! The style sheets of a page, and what else in it decides about styles.

use html5ever::{local_name, ns};

use crate::conditions;
use crate::declared;
use crate::dom::{DOCUMENT, Dom, Element};
use crate::elements;
use crate::properties::COLOR_SCHEME;
use crate::stylesheet::StyleSheet;
use crate::truth::Truth;

/// Reads every `<style>` element that may apply, in the order of the tree.
pub(crate) fn read_sheets(dom: &Dom, sheet: &mut StyleSheet) {
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
            // A title makes it one of several sheets to choose from.
            let chosen = match element.attribute(&local_name!("title")) {
                Some(title) if !title.is_empty() => Truth::Unknown,
                _ => Truth::Yes,
            };
            let holds = conditions::media(media).and(chosen);
            if holds.may() {
                sheet.read(&dom.text_of(id), holds);
            }
        }
        sheet.unread_sheet |= element.is_some_and(is_linked_data);
        sheet.dark |= element.is_some_and(wants_dark);
        sheet.unread_sheet |= element.is_some_and(is_content_policy);
        sheet.dims_controls |= element.is_some_and(|one| {
            *one.local() == local_name!("fieldset")
                && one.attribute(&local_name!("disabled")).is_some()
        });
        next = match dom.first_child(id).filter(|_| !is_template) {
            Some(child) => Some(child),
            None => dom.following(id),
        };
    }
}

/// A content security policy, which may switch styles off.
fn is_content_policy(element: &Element) -> bool {
    *element.local() == local_name!("meta")
        && element
            .attribute(&local_name!("http-equiv"))
            .is_some_and(|name| name.trim().eq_ignore_ascii_case("content-security-policy"))
}

/// `<meta name=color-scheme content=dark>`: a page that does not support light colors.
fn wants_dark(element: &Element) -> bool {
    let attribute = |name| element.attribute(&name).unwrap_or_default();
    *element.local() == local_name!("meta")
        && attribute(local_name!("name")).eq_ignore_ascii_case(COLOR_SCHEME)
        && declared::is_dark_scheme(attribute(local_name!("content"))) == Some(true)
}

/// A style sheet that is written into the address of a link. Others are not loaded.
fn is_linked_data(element: &Element) -> bool {
    let address = element.attribute(&local_name!("href")).unwrap_or_default();
    element.is_html() && *element.local() == local_name!("link") && elements::is_embedded(address)
}

fn is_css(element: &Element) -> bool {
    let kind = element.attribute(&local_name!("type")).unwrap_or_default();
    kind.is_empty() || kind.eq_ignore_ascii_case("text/css")
}

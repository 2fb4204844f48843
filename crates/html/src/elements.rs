//! What elements look like before any style sheet: browsers' own rules and attributes such as `bgcolor`.

use html5ever::{LocalName, local_name, ns};

use crate::computed::Computed;
use crate::dom::Element;
use crate::own::Display;
use crate::values::{self, Bare, Colour, Rgba};

/// What holds no text for readers, and is not told of either.
pub(crate) fn is_machinery(element: &Element) -> bool {
    matches!(
        *element.local(),
        local_name!("script")
            | local_name!("style")
            | local_name!("title")
            | local_name!("head")
            | local_name!("meta")
            | local_name!("link")
            | local_name!("base")
    ) && element.name.ns != ns!(svg)
        || matches!(
            *element.local(),
            local_name!("script") | local_name!("style")
        )
}

/// What browsers do not render as text.
pub(crate) fn is_unrendered(element: &Element) -> bool {
    // Text in drawings has colours and places of its own.
    element.name.ns == ns!(svg)
        || matches!(
            *element.local(),
            local_name!("template")
                | local_name!("iframe")
                | local_name!("noembed")
                | local_name!("noframes")
                | local_name!("datalist")
                | local_name!("audio")
                | local_name!("video")
                | local_name!("canvas")
                | local_name!("meter")
                | local_name!("progress")
                | local_name!("annotation")
                | local_name!("maction")
                | local_name!("mphantom")
                | local_name!("annotation-xml")
                | local_name!("select")
                | local_name!("option")
                | local_name!("textarea")
                | local_name!("rp")
        )
        || element.name.ns == ns!(mathml) && has_own_look(element)
        || *element.local() == local_name!("marquee")
            && (element.attribute(&local_name!("width")).is_some()
                || element.attribute(&local_name!("height")).is_some())
        || *element.local() == local_name!("object")
            && (element.attribute(&local_name!("type")).is_some() || holds_its_own_data(element))
}

/// Formulas have colours and sizes of their own.
fn has_own_look(element: &Element) -> bool {
    element
        .attributes()
        .iter()
        .any(|one| one.name.local.starts_with("math"))
}

/// Nothing is loaded for mail, so that what stands inside is shown; but for data written into the mail itself.
fn holds_its_own_data(element: &Element) -> bool {
    let data = element.attribute(&local_name!("data")).unwrap_or_default();
    let scheme = data.trim_start().get(..4).unwrap_or_default();
    scheme.eq_ignore_ascii_case("data") || scheme.eq_ignore_ascii_case("cid:")
}

/// How an element is laid out when no style says otherwise.
pub(crate) fn display(element: &Element) -> Display {
    if !element.is_html() {
        return Display::Inline;
    }
    match *element.local() {
        local_name!("html")
        | local_name!("body")
        | local_name!("address")
        | local_name!("article")
        | local_name!("aside")
        | local_name!("blockquote")
        | local_name!("center")
        | local_name!("dd")
        | local_name!("details")
        | local_name!("dialog")
        | local_name!("dir")
        | local_name!("div")
        | local_name!("dl")
        | local_name!("dt")
        | local_name!("fieldset")
        | local_name!("figcaption")
        | local_name!("figure")
        | local_name!("footer")
        | local_name!("form")
        | local_name!("h1")
        | local_name!("h2")
        | local_name!("h3")
        | local_name!("h4")
        | local_name!("h5")
        | local_name!("h6")
        | local_name!("header")
        | local_name!("hgroup")
        | local_name!("hr")
        | local_name!("legend")
        | local_name!("li")
        | local_name!("listing")
        | local_name!("main")
        | local_name!("menu")
        | local_name!("nav")
        | local_name!("ol")
        | local_name!("optgroup")
        | local_name!("option")
        | local_name!("p")
        | local_name!("plaintext")
        | local_name!("pre")
        | local_name!("search")
        | local_name!("section")
        | local_name!("summary")
        | local_name!("ul")
        | local_name!("xmp")
        | local_name!("caption")
        | local_name!("button")
        | local_name!("marquee") => Display::Block,
        local_name!("table")
        | local_name!("tbody")
        | local_name!("thead")
        | local_name!("tfoot")
        | local_name!("tr") => Display::Table,
        local_name!("td") | local_name!("th") => Display::Cell,
        local_name!("col") | local_name!("colgroup") => Display::Column,
        _ => Display::Inline,
    }
}

/// `hidden`, closed dialogs and colours written as attributes: weaker than any style.
pub(crate) fn apply(element: &Element, computed: &mut Computed) {
    if !element.is_html() {
        return;
    }
    match *element.local() {
        local_name!("a") if element.attribute(&local_name!("href")).is_some() => {
            computed.ink = computed.link_ink;
        }
        local_name!("button") => {
            computed.ink = Rgba::BLACK;
            computed.own.paper = Rgba {
                rgb: [239.0; 3],
                alpha: 1.0,
            };
        }
        local_name!("mark") => {
            computed.ink = Rgba::BLACK;
            computed.own.paper = Rgba {
                rgb: [255.0, 255.0, 0.0],
                alpha: 1.0,
            };
        }
        local_name!("pre")
        | local_name!("listing")
        | local_name!("xmp")
        | local_name!("plaintext") => computed.kept = true,
        local_name!("font") => {
            set(element, &local_name!("color"), &mut computed.ink);
        }
        local_name!("body") => {
            set(element, &local_name!("text"), &mut computed.ink);
            set(element, &local_name!("link"), &mut computed.link_ink);
            computed.page_ink = computed.ink;
            set(element, &local_name!("bgcolor"), &mut computed.own.paper);
        }
        local_name!("dialog") if element.attribute(&local_name!("open")).is_none() => {
            computed.own.display = Display::None;
        }
        local_name!("table")
        | local_name!("tbody")
        | local_name!("thead")
        | local_name!("tfoot")
        | local_name!("tr")
        | local_name!("td")
        | local_name!("th")
        | local_name!("marquee") => {
            // QUIRK: in documents of old, tables take the page's font and colour, not those around them.
            if *element.local() == local_name!("table") && computed.bare == Bare::Pixels {
                computed.ink = computed.page_ink;
                computed.font = computed.root_font;
            }
            set(element, &local_name!("bgcolor"), &mut computed.own.paper);
        }
        _ => {}
    }
    let hidden = element.attribute(&local_name!("hidden"));
    match hidden.map(str::to_ascii_lowercase).as_deref() {
        Some("until-found") => computed.own.skipped = true,
        Some(_) => computed.own.display = Display::None,
        None => {}
    }
    if element.attribute(&LocalName::from("popover")).is_some() {
        computed.own.display = Display::None;
    }
}

fn set(element: &Element, attribute: &LocalName, colour: &mut Rgba) {
    let found = element.attribute(attribute).and_then(legacy_colour);
    if let Some(found) = found {
        *colour = found;
    }
}

/// Colours of attributes: names and `#rgb`, else hexadecimal digits however mangled (HTML section 2.3.6).
fn legacy_colour(value: &str) -> Option<Rgba> {
    let value = value.trim();
    if value.is_empty() || value.eq_ignore_ascii_case("transparent") {
        return None;
    }
    let plain = !value.starts_with('#') || matches!(value.len(), 4 | 7);
    if plain
        && !value.contains('(')
        && let Some(Colour::Is(rgba)) = values::colour(value)
        && rgba.alpha >= 1.0
    {
        return Some(rgba);
    }
    let mut digits: Vec<u32> = value
        .strip_prefix('#')
        .unwrap_or(value)
        .chars()
        .take(128)
        .map(|char| char.to_digit(16).unwrap_or(0))
        .collect();
    while digits.is_empty() || !digits.len().is_multiple_of(3) {
        digits.push(0);
    }
    let third = digits.len() / 3;
    let mut parts = digits.chunks(third);
    let mut level = || {
        let part = parts.next().unwrap_or_default();
        let part = part.get(part.len().saturating_sub(8)..).unwrap_or(part);
        part.iter().take(2).fold(0, |sum, digit| sum * 16 + digit) as f32
    };
    Some(Rgba {
        rgb: [level(), level(), level()],
        alpha: 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_attributes() {
        for (value, want) in [
            ("white", [255.0; 3]),
            ("#fff", [255.0; 3]),
            ("ffffff", [255.0; 3]),
            ("#FFFFFF", [255.0; 3]),
            ("chucknorris", [192.0, 0.0, 0.0]),
        ] {
            assert_eq!(legacy_colour(value).unwrap().rgb, want, "{value}");
        }
        assert_eq!(legacy_colour("transparent"), None);
        assert_eq!(legacy_colour(""), None);
    }
}

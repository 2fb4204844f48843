//! XML as office documents use it: elements by local name, text, and nothing that expands.
//!
//! No DTD, no entity but the five of XML, and a bound on depth. Namespaces are not resolved: the local names that are
//! looked for do not collide within their documents, and what a prefix is called is up to whoever wrote them.

use std::borrow::Cow;

use mail::ExtractFault;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::QName;
use quick_xml::{Reader, XmlVersion};

/// Deeper than any document that a person wrote.
const MAX_DEPTH: usize = 256;

pub(super) struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    depth: usize,
}

pub(super) enum Node<'a> {
    Open(Tag<'a>),
    Close(Cow<'a, str>),
    Text(Cow<'a, str>),
}

pub(super) struct Tag<'a>(BytesStart<'a>);

impl<'a> Xml<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut reader = Reader::from_str(text);
        // `<a/>` comes as an opening and a closing.
        reader.config_mut().expand_empty_elements = true;
        Self { reader, depth: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Option<Node<'a>>, ExtractFault> {
        loop {
            let event = self
                .reader
                .read_event()
                .map_err(|_| ExtractFault::Malformed)?;
            return Ok(Some(match event {
                Event::Start(tag) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(ExtractFault::Malformed);
                    }
                    Node::Open(Tag(tag))
                }
                Event::End(tag) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::Close(Cow::Owned(tag.local_name().as_ref().to_owned()))
                }
                Event::Text(text) => Node::Text(text.xml10_content()),
                Event::CData(text) => Node::Text(text.xml10_content()),
                Event::GeneralRef(reference) => {
                    let named = reference.resolve_char_ref().ok().flatten();
                    let char = named.or_else(|| match &*reference.xml10_content() {
                        "lt" => Some('<'),
                        "gt" => Some('>'),
                        "amp" => Some('&'),
                        "apos" => Some('\''),
                        "quot" => Some('"'),
                        _ => None,
                    });
                    match char {
                        Some(char) => Node::Text(Cow::Owned(char.into())),
                        None => continue,
                    }
                }
                Event::DocType(_) => return Err(ExtractFault::Malformed),
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
                Event::Eof if self.depth == 0 => return Ok(None),
                Event::Eof => return Err(ExtractFault::Malformed),
            }));
        }
    }

    /// Past the element that was opened last.
    pub(super) fn skip(&mut self) -> Result<(), ExtractFault> {
        self.inner(|_| {})
    }

    /// Through the element that was opened last, with all text inside it.
    pub(super) fn inner(&mut self, mut each: impl FnMut(&str)) -> Result<(), ExtractFault> {
        let mut open = 1usize;
        while open > 0 {
            match self.next()?.ok_or(ExtractFault::Malformed)? {
                Node::Open(_) => open += 1,
                Node::Close(_) => open -= 1,
                Node::Text(text) => each(&text),
            }
        }
        Ok(())
    }
}

impl Tag<'_> {
    pub(super) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// An attribute by its local name.
    pub(super) fn attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|key| key.local_name().as_ref() == name)
    }

    /// An attribute of another namespace than the element's own, where both have one of that name.
    pub(super) fn prefixed(&self, name: &str) -> Option<Cow<'_, str>> {
        self.find(|key| key.prefix().is_some() && key.local_name().as_ref() == name)
    }

    fn find(&self, wanted: impl Fn(QName<'_>) -> bool) -> Option<Cow<'_, str>> {
        let mut attributes = self.0.attributes();
        // Looking for duplicates compares each with each.
        attributes.with_checks(false);
        let found = attributes
            .filter_map(Result::ok)
            .find(|attribute| wanted(attribute.key))?;
        let plain = found
            .normalized_value(XmlVersion::Implicit1_0)
            .ok()
            .map(Cow::into_owned);
        Some(Cow::Owned(
            plain.unwrap_or_else(|| found.value.into_owned()),
        ))
    }

    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.attribute(name)
            .is_some_and(|found| found.eq_ignore_ascii_case(value))
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.attribute(name)?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(xml: &str) -> Result<String, ExtractFault> {
        let mut reader = Xml::new(xml);
        let mut all = String::new();
        while let Some(node) = reader.next()? {
            if let Node::Text(text) = node {
                all.push_str(&text);
            }
        }
        Ok(all)
    }

    #[test]
    fn text_is_read_and_nothing_expands() {
        for (xml, expected) in [
            (
                "<a>x &amp; y &#65;&#x42;<b/>&lt;</a>",
                Ok("x & y AB<".to_owned()),
            ),
            ("<a><![CDATA[<raw>]]></a>", Ok("<raw>".to_owned())),
            ("<a>&unknown;b</a>", Ok("b".to_owned())),
            (
                "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
                Err(ExtractFault::Malformed),
            ),
            ("<a><b></a>", Err(ExtractFault::Malformed)),
            ("<a>", Err(ExtractFault::Malformed)),
        ] {
            assert_eq!(texts(xml), expected, "{xml}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        assert!(texts(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(texts(&nested(MAX_DEPTH + 1)), Err(ExtractFault::Malformed));
    }

    #[test]
    fn attributes_are_found_by_local_name() {
        let mut reader = Xml::new("<w:p w:val='a&amp;b' n=\"7\" off='0' id='1' r:id='2'/>");
        let Ok(Some(Node::Open(tag))) = reader.next() else {
            panic!("an element");
        };
        assert_eq!(tag.name(), "p");
        assert_eq!(tag.attribute("val").as_deref(), Some("a&b"));
        assert_eq!(tag.number("n"), Some(7));
        assert!(tag.is("off", "0"));
        assert_eq!(tag.attribute("id").as_deref(), Some("1"));
        assert_eq!(tag.prefixed("id").as_deref(), Some("2"));
        assert_eq!(tag.attribute("none"), None);
    }
}

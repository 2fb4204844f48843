//! The typed view of `BODYSTRUCTURE` (RFC 3501 section 7.4.2): the leaves, each with its section number.
//!
//! A `message/rfc822` part is one leaf; its insides have section numbers of their own and are not walked.

use std::rc::Rc;

use bytes::Bytes;

use crate::Value;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct BodyStructure {
    pub leaves: Vec<Leaf>,
    /// Those with parts, outer ones first.
    pub multiparts: Vec<Multipart>,
    /// A multipart without parts or with an empty boundary, NIL in the place of a part, or a part without a type.
    pub has_gaps: bool,
    /// Something lay deeper than we read, or there were more leaves or multiparts than
    /// [`BodyStructure::MOST_LEAVES`].
    pub cut: bool,
}

/// A part that consists of parts.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Multipart {
    /// The section number of its parts without the last number.
    pub path: Vec<u32>,
    /// Lower case.
    pub subtype: String,
    /// Names lower case, values as sent; absent when the server left them out or sent NIL.
    pub parameters: Vec<(String, Bytes)>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub section: Vec<u32>,
    /// Lower case, such as `text/plain`.
    pub mime_type: String,
    /// The subtype of the innermost enclosing multipart, lower case.
    pub within: Option<String>,
    /// Names lower case, values as sent.
    pub parameters: Vec<(String, Bytes)>,
    pub id: Option<Bytes>,
    /// Lower case.
    pub encoding: String,
    pub octets: u64,
    /// Lower case, such as `attachment`.
    pub disposition: Option<String>,
    pub disposition_parameters: Vec<(String, Bytes)>,
}

impl BodyStructure {
    pub const MOST_LEAVES: usize = 1_000;
    /// Parts and parameters that are kept of one structure; a longer one is cut.
    const MAX_STORED_VALUES: usize = 12_000;

    pub(crate) fn stored_values(&self) -> usize {
        let leaves = self.leaves.iter().map(Leaf::stored_values);
        let multiparts = self.multiparts.iter().map(Multipart::stored_values);
        2 + leaves.sum::<usize>() + multiparts.sum::<usize>()
    }

    pub(crate) fn read(frame: &Bytes, value: &Value<'_>) -> Option<Self> {
        if !is_part(value) {
            return None;
        }
        let mut found = Self::default();
        // Depth is bounded by the tokenizer; the stack here is ours, not the thread's.
        let mut stack = vec![Visit {
            value,
            number: None,
            parent: Rc::default(),
        }];
        let mut values = 0;
        while let Some(visit) = stack.pop() {
            let Some(fields) = visit.value.list() else {
                match visit.value {
                    Value::TooDeep => found.cut = true,
                    _ => found.has_gaps = true,
                }
                continue;
            };
            if is_leaf(fields) {
                if found.leaves.len() >= Self::MOST_LEAVES {
                    found.cut = true;
                    break;
                }
                let leaf = leaf(frame, fields, &visit);
                values += leaf.stored_values();
                if values > Self::MAX_STORED_VALUES {
                    found.cut = true;
                    break;
                }
                found.has_gaps |= is_typeless(fields);
                found.leaves.push(leaf);
                continue;
            }
            // QUIRK: a part may be NIL; those behind it keep their numbers.
            let children = fields.iter().take_while(|f| is_part(f) || f.is_nil());
            let children = children.count();
            let subtype = fields.get(children).and_then(Value::string);
            let within = subtype.map(|bytes| lower(bytes.get(..LONGEST_TYPE).unwrap_or(bytes)));
            let path = visit.path();
            if !fields.iter().take(children).any(is_part) {
                found.has_gaps = true;
                continue;
            }
            if found.multiparts.len() >= Self::MOST_LEAVES {
                found.cut = true;
                break;
            }
            let parameters = parameters(frame, fields.get(children + 1));
            let mut boundaries = parameters.iter().filter(|(name, _)| name == "boundary");
            found.has_gaps |= boundaries.any(|(_, boundary)| boundary.is_empty());
            found.has_gaps |= within.as_ref().is_none_or(String::is_empty);
            let multipart = Multipart {
                path: path.clone(),
                subtype: within.clone().unwrap_or_default(),
                parameters,
            };
            values += multipart.stored_values();
            if values > Self::MAX_STORED_VALUES {
                found.cut = true;
                break;
            }
            found.multiparts.push(multipart);
            let parent = Rc::new(Parent { path, within });
            let parts = fields.iter().take(children).zip(1u32..);
            let parts = parts.map(|(value, number)| Visit {
                value,
                number: Some(number),
                parent: Rc::clone(&parent),
            });
            let first = stack.len();
            stack.extend(parts);
            stack.get_mut(first..).unwrap_or_default().reverse();
        }
        Some(found)
    }
}

impl Leaf {
    fn stored_values(&self) -> usize {
        let parameters = named(&self.parameters) + named(&self.disposition_parameters);
        8 + self.section.len() / 16 + parameters
    }
}

impl Multipart {
    fn stored_values(&self) -> usize {
        3 + self.path.len() / 16 + named(&self.parameters)
    }
}

fn named(parameters: &[(String, Bytes)]) -> usize {
    let each = parameters.iter();
    each.map(|(name, _)| 2 + name.len() / 64).sum()
}

/// RFC 6838 section 4.2. Each leaf repeats the type that it lies in, so a server must not choose how long that is.
const LONGEST_TYPE: usize = 127;

struct Visit<'v, 'a> {
    value: &'v Value<'a>,
    /// Its place in its parent; the root has none.
    number: Option<u32>,
    parent: Rc<Parent>,
}

/// What the parts of one multipart share.
#[derive(Default)]
struct Parent {
    path: Vec<u32>,
    within: Option<String>,
}

impl Visit<'_, '_> {
    fn path(&self) -> Vec<u32> {
        let path = self.parent.path.iter().copied();
        path.chain(self.number).collect()
    }
}

fn is_part(value: &Value<'_>) -> bool {
    matches!(value, Value::List(_) | Value::TooDeep)
}

/// QUIRK: an empty multipart is sent as `("MIXED")` or `(NIL "MIXED" …)`; it has nothing to show.
/// QUIRK: a part without a type is sent as `(NIL NIL …)`; its size tells it from a multipart.
fn is_leaf(fields: &[Value<'_>]) -> bool {
    let [kind, subtype, ..] = fields else {
        return false;
    };
    let named = kind.string().is_some() && subtype.string().is_some();
    let sized = fields.get(6).is_some_and(|size| size.number().is_some());
    (named && fields.len() >= 5) || (!is_part(kind) && !is_part(subtype) && sized)
}

/// The type or the subtype is missing, though not that of a text.
fn is_typeless(fields: &[Value<'_>]) -> bool {
    let missing = |index: usize| {
        fields
            .get(index)
            .and_then(Value::string)
            .is_none_or(|s| s.is_empty())
    };
    let is_text = fields.first().and_then(Value::string);
    let is_text = is_text.is_some_and(|kind| kind.eq_ignore_ascii_case(b"text"));
    missing(0) || (missing(1) && !is_text)
}

fn leaf(frame: &Bytes, fields: &[Value<'_>], visit: &Visit<'_, '_>) -> Leaf {
    let word = |index: usize| fields.get(index).and_then(Value::string).map(lower);
    let kind = word(0).unwrap_or_default();
    let subtype = word(1).unwrap_or_default();
    // Behind the seven basic fields: text has its lines, message/rfc822 its envelope, body and lines.
    let extension = match (kind.as_str(), subtype.as_str()) {
        ("text", _) => 8,
        ("message", "rfc822" | "global") if has_message(fields) => 10,
        _ => 7,
    };
    let mime_type = match (kind.as_str(), subtype.as_str()) {
        // RFC 2045 section 5.2: what is malformed is plain text.
        ("text", "") => "text/plain".to_owned(),
        ("", _) | (_, "") => "application/octet-stream".to_owned(),
        (kind, subtype) => format!("{kind}/{subtype}"),
    };
    let disposition = fields
        .get(extension + 1)
        .and_then(Value::list)
        .or_else(|| misplaced_disposition(fields, extension));
    let path = visit.path();
    Leaf {
        section: if path.is_empty() { vec![1] } else { path },
        mime_type,
        within: visit.parent.within.clone(),
        parameters: parameters(frame, fields.get(2)),
        id: fields.get(3).and_then(|f| f.owned(frame)),
        encoding: word(5).unwrap_or_default(),
        octets: fields.get(6).and_then(Value::number).unwrap_or(0),
        disposition: match disposition {
            Some(list) => list.first().and_then(Value::string).map(lower),
            // QUIRK: the word without its parentheses.
            None => word(extension + 1).filter(|word| is_disposition(word.as_bytes())),
        },
        disposition_parameters: parameters(frame, disposition.and_then(|d| d.get(1))),
    }
}

/// QUIRK: some servers send a forwarded message as a part like any other, without its envelope, body and lines;
/// others send NIL in their place.
fn has_message(fields: &[Value<'_>]) -> bool {
    fields.get(7).is_some_and(is_part)
        || fields.get(9).is_some_and(|lines| lines.number().is_some())
}

/// QUIRK: some servers leave the MD5 field out, so the disposition stands one place early.
fn misplaced_disposition<'v, 'a>(
    fields: &'v [Value<'a>],
    extension: usize,
) -> Option<&'v [Value<'a>]> {
    let list = fields.get(extension)?.list()?;
    is_disposition(list.first()?.string()?).then_some(list)
}

fn is_disposition(word: &[u8]) -> bool {
    [&b"attachment"[..], b"inline"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

/// Parameters that are kept of one part. Ordinary parts have fewer than ten.
const MAX_PARAMETERS: usize = 100;

fn parameters(frame: &Bytes, value: Option<&Value<'_>>) -> Vec<(String, Bytes)> {
    let list = value.and_then(Value::list).unwrap_or_default();
    list.chunks(2)
        .take(MAX_PARAMETERS)
        .filter_map(|pair| match pair {
            [name, value] => Some((lower(name.string()?), value.owned(frame)?)),
            _ => None,
        })
        .collect()
}

fn lower(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn read(text: &str) -> BodyStructure {
        let frame = Bytes::copy_from_slice(text.as_bytes());
        let values = crate::value::values(&frame, &Limits::default()).unwrap();
        BodyStructure::read(&frame, &values[0]).unwrap()
    }

    fn shown(structure: &BodyStructure) -> Vec<String> {
        let leaves = structure.leaves.iter();
        leaves
            .map(|leaf| {
                let path: Vec<String> = leaf.section.iter().map(u32::to_string).collect();
                format!("{} {} {}", path.join("."), leaf.mime_type, leaf.octets)
            })
            .collect()
    }

    #[test]
    fn a_single_part_is_section_one() {
        let one = read(
            r#"("TEXT" "PLAIN" ("CHARSET" "utf-8" "FORMAT" "flowed") NIL NIL "7BIT" 12 1 NIL NIL NIL NIL)"#,
        );
        assert_eq!(shown(&one), ["1 text/plain 12"]);
        assert_eq!(
            one.leaves[0].parameters[0],
            ("charset".into(), Bytes::from("utf-8"))
        );
        assert_eq!(one.leaves[0].encoding, "7bit");
    }

    #[test]
    fn nested_parts_are_numbered_as_rfc_3501_does() {
        let text = r#"((("text" "plain" NIL NIL NIL "7bit" 10 1)("text" "html" NIL NIL NIL "quoted-printable" 20 2) "alternative" ("boundary" "b"))("message" "rfc822" NIL NIL NIL "7bit" 300 (NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL) ("text" "plain" NIL NIL NIL "7bit" 5 1) 9 NIL ("attachment" ("filename" "fwd.eml")))("application" "pdf" ("name" "a.pdf") "<cid>" NIL "base64" 4000 NIL ("attachment" ("filename" "a.pdf")) NIL) "mixed")"#;
        let found = read(text);
        assert_eq!(
            shown(&found),
            [
                "1.1 text/plain 10",
                "1.2 text/html 20",
                "2 message/rfc822 300",
                "3 application/pdf 4000"
            ]
        );
        assert_eq!(found.leaves[0].within.as_deref(), Some("alternative"));
        let multiparts = found.multiparts.iter();
        let multiparts: Vec<_> = multiparts
            .map(|one| {
                (
                    one.path.as_slice(),
                    one.subtype.as_str(),
                    one.parameters.len(),
                )
            })
            .collect();
        assert_eq!(
            multiparts,
            [(&[][..], "mixed", 0), (&[1][..], "alternative", 1)]
        );
        assert!(!found.has_gaps);
        assert_eq!(found.leaves[1].within.as_deref(), Some("alternative"));
        assert_eq!(found.leaves[2].disposition.as_deref(), Some("attachment"));
        assert_eq!(found.leaves[3].id.as_deref(), Some(&b"<cid>"[..]));
        assert_eq!(found.leaves[3].disposition_parameters[0].1, "a.pdf");
    }

    #[test]
    fn odd_structures_cost_only_themselves() {
        for (text, want) in [
            (r#"("mixed")"#, vec![]),
            (r#"(NIL "mixed" ("boundary" "x"))"#, vec![]),
            (
                r#"("text" "plain" NIL NIL NIL "7bit" -1 1)"#,
                vec!["1 text/plain 0"],
            ),
            (
                r#"(("mixed")("text" "plain" NIL NIL NIL NIL "7") "mixed")"#,
                vec!["2 text/plain 7"],
            ),
            (
                r#"("image" "png" NIL NIL NIL "base64" 9 ("inline" NIL))"#,
                vec!["1 image/png 9"],
            ),
        ] {
            assert_eq!(shown(&read(text)), want, "{text}");
        }
        for (text, gaps) in [
            (r#"("mixed")"#, true),
            (r#"(NIL "mixed" ("boundary" "x"))"#, true),
            (
                r#"(("mixed")("text" "plain" NIL NIL NIL NIL "7") "mixed")"#,
                true,
            ),
            (
                r#"(NIL ("text" "plain" NIL NIL NIL NIL "7") "mixed")"#,
                true,
            ),
            (r#"(("text" "plain" NIL NIL NIL NIL "7") "mixed")"#, false),
        ] {
            assert_eq!(read(text).has_gaps, gaps, "{text}");
        }
        let early = read(r#"("image" "png" NIL NIL NIL "base64" 9 ("inline" NIL))"#);
        assert_eq!(early.leaves[0].disposition.as_deref(), Some("inline"));
    }

    #[test]
    fn a_long_subtype_is_not_repeated_for_every_part() {
        // 100,000 copies of a megabyte, once.
        let part = r#"("x")"#;
        let text = format!("({} \"{}\")", part.repeat(50_000), "m".repeat(1 << 20));
        assert!(read(&text).leaves.is_empty());
        let leaf = r#"("text" "plain" NIL NIL NIL "7bit" 1 1)"#;
        let text = format!("({} \"{}\")", leaf.repeat(900), "m".repeat(1 << 20));
        let found = read(&text);
        assert_eq!(found.leaves.len(), 900);
        assert_eq!(
            found.leaves[899].within.as_ref().map(String::len),
            Some(127)
        );
    }

    #[test]
    fn hostile_nesting_is_cut_and_said() {
        let part = r#"("text" "plain" NIL NIL NIL "7bit" 1 1)"#;
        let deep = format!(
            "{}{part}{}",
            "(".repeat(10_000),
            r#" "mixed")"#.repeat(10_000)
        );
        let found = read(&deep);
        assert!(found.cut);
        assert!(found.leaves.is_empty());
        let wide = format!("({} \"mixed\")", part.repeat(1_500));
        let found = read(&wide);
        assert!(found.cut);
        assert_eq!(found.leaves.len(), BodyStructure::MOST_LEAVES);
    }
}

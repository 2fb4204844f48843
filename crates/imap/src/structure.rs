//! The typed view of `BODYSTRUCTURE` (RFC 3501 section 7.4.2): the leaves, each with its section number.
//!
//! A `message/rfc822` part is one leaf; its insides have section numbers of their own and are not walked.

use bytes::Bytes;

use crate::Value;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct BodyStructure {
    pub leaves: Vec<Leaf>,
    /// Something lay deeper than we read, or there were more leaves than [`BodyStructure::MOST_LEAVES`].
    pub cut: bool,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub section: Vec<u32>,
    /// Lower case, such as `text/plain`.
    pub mime_type: String,
    /// The subtype of the innermost enclosing multipart, lower case.
    pub within: Option<String>,
    /// Leaves of one multipart share the number.
    pub group: u32,
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

    pub(crate) fn read(frame: &Bytes, value: &Value<'_>) -> Option<Self> {
        let mut found = Self::default();
        let mut groups = 0u32;
        // Depth is bounded by the tokenizer; the stack here is ours, not the thread's.
        let mut stack = vec![Visit {
            value,
            path: Vec::new(),
            within: None,
            group: 0,
        }];
        while let Some(visit) = stack.pop() {
            let Some(fields) = visit.value.list() else {
                found.cut |= matches!(visit.value, Value::TooDeep);
                continue;
            };
            let children = fields.iter().take_while(|f| is_part(f)).count();
            if children == 0 && !is_leaf(fields) {
                continue;
            }
            if children == 0 {
                if found.leaves.len() >= Self::MOST_LEAVES {
                    found.cut = true;
                    break;
                }
                found.leaves.push(leaf(frame, fields, visit));
                continue;
            }
            groups += 1;
            let subtype = fields.get(children).and_then(Value::string).map(lower);
            let parts = fields.iter().take(children).zip(1u32..);
            let mut parts: Vec<Visit<'_, '_>> = parts
                .map(|(value, number)| {
                    let mut path = visit.path.clone();
                    path.push(number);
                    Visit {
                        value,
                        path,
                        within: subtype.clone(),
                        group: groups,
                    }
                })
                .collect();
            parts.reverse();
            stack.append(&mut parts);
        }
        Some(found)
    }
}

struct Visit<'v, 'a> {
    value: &'v Value<'a>,
    path: Vec<u32>,
    within: Option<String>,
    group: u32,
}

fn is_part(value: &Value<'_>) -> bool {
    matches!(value, Value::List(_) | Value::TooDeep)
}

/// QUIRK: an empty multipart is sent as `("MIXED")` or `(NIL "MIXED" …)`; it has nothing to show.
fn is_leaf(fields: &[Value<'_>]) -> bool {
    matches!(fields, [first, second, ..] if first.string().is_some() && second.string().is_some())
        && fields.len() >= 5
}

fn leaf(frame: &Bytes, fields: &[Value<'_>], visit: Visit<'_, '_>) -> Leaf {
    let word = |index: usize| fields.get(index).and_then(Value::string).map(lower);
    let kind = word(0).unwrap_or_default();
    let subtype = word(1).unwrap_or_default();
    // Behind the seven basic fields: text has its lines, message/rfc822 its envelope, body and lines.
    let extension = match (kind.as_str(), subtype.as_str()) {
        ("text", _) => 8,
        ("message", "rfc822" | "global") if fields.get(7).is_some_and(|f| f.list().is_some()) => 10,
        _ => 7,
    };
    let disposition = fields
        .get(extension + 1)
        .and_then(Value::list)
        .or_else(|| misplaced_disposition(fields, extension));
    let path = if visit.path.is_empty() {
        vec![1]
    } else {
        visit.path
    };
    Leaf {
        section: path,
        mime_type: format!("{kind}/{subtype}"),
        within: visit.within,
        group: visit.group,
        parameters: parameters(frame, fields.get(2)),
        id: fields.get(3).and_then(|f| f.owned(frame)),
        encoding: word(5).unwrap_or_default(),
        octets: fields.get(6).and_then(Value::number).unwrap_or(0),
        disposition: disposition.and_then(|d| d.first()?.string().map(lower)),
        disposition_parameters: parameters(frame, disposition.and_then(|d| d.get(1))),
    }
}

/// QUIRK: some servers leave the MD5 field out, so the disposition stands one place early.
fn misplaced_disposition<'v, 'a>(
    fields: &'v [Value<'a>],
    extension: usize,
) -> Option<&'v [Value<'a>]> {
    let list = fields.get(extension)?.list()?;
    let name = list.first()?.string()?;
    [&b"attachment"[..], b"inline"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
        .then_some(list)
}

fn parameters(frame: &Bytes, value: Option<&Value<'_>>) -> Vec<(String, Bytes)> {
    let list = value.and_then(Value::list).unwrap_or_default();
    list.chunks(2)
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
        assert_eq!(found.leaves[0].group, found.leaves[1].group);
        assert_ne!(found.leaves[0].group, found.leaves[3].group);
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
        let early = read(r#"("image" "png" NIL NIL NIL "base64" 9 ("inline" NIL))"#);
        assert_eq!(early.leaves[0].disposition.as_deref(), Some("inline"));
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

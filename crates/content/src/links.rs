//! What a message calls itself and which messages it answers, from its header. What is no id is passed over.

use mail::{HeaderId, Links};

use crate::header::{fields, unfolded};

/// More ids than this in one field are not read: the oldest and the newest say where a message belongs.
const MOST: usize = 1_000;

/// From a header block, or the beginning of a message.
pub fn links(header: &[u8]) -> Links {
    let mut links = Links::default();
    for field in fields(header) {
        let list = match () {
            () if field.is("message-id") && links.id.is_none() => {
                let value = unfolded(field.value);
                // QUIRK: some senders leave the brackets out.
                links.id = ids(&value)
                    .into_iter()
                    .next()
                    .or_else(|| HeaderId::new(&value));
                continue;
            }
            () if field.is("references") => &mut links.references,
            () if field.is("in-reply-to") => &mut links.in_reply_to,
            () => continue,
        };
        // A field that comes twice says its first word only.
        if list.is_empty() {
            *list = ids(&unfolded(field.value));
        }
    }
    links
}

/// Everything between angle brackets that can be an id, each once: where one comes again its last place counts.
fn ids(value: &[u8]) -> Vec<HeaderId> {
    let mut found = Vec::new();
    let mut rest = value;
    while let Some(open) = memchr::memchr(b'<', rest) {
        rest = rest.get(open + 1..).unwrap_or_default();
        let Some(close) = memchr::memchr2(b'>', b'<', rest) else {
            break;
        };
        let (inside, after) = rest.split_at(close);
        rest = after;
        if after.first() == Some(&b'>') {
            found.extend(HeaderId::new(inside));
        }
    }
    once(found)
}

fn once(found: Vec<HeaderId>) -> Vec<HeaderId> {
    let mut seen = std::collections::HashSet::new();
    let mut kept: Vec<HeaderId> = found
        .into_iter()
        .rev()
        .filter(|id| seen.insert(id.clone()))
        .collect();
    kept.reverse();
    let beyond = kept.len().saturating_sub(MOST);
    // The root stays, and the nearest.
    kept.drain(1.min(beyond)..1.min(beyond) + beyond);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ids: &[HeaderId]) -> Vec<String> {
        let text = |id: &HeaderId| String::from_utf8_lossy(id.bytes()).into_owned();
        ids.iter().map(text).collect()
    }

    #[test]
    fn ids_are_found_whatever_stands_around_them() {
        for (header, id, references, replied) in [
            (
                "Message-ID: <a@x>\r\nReferences: <b@x>\r\n <c@x>\r\nIn-Reply-To: <c@x>\r\n\r\n",
                "a@x",
                &["b@x", "c@x"][..],
                &["c@x"][..],
            ),
            ("message-id: a@x\n\n", "a@x", &[], &[]),
            (
                "In-Reply-To: Your message of Monday <m@x> (Bob)\n\n",
                "",
                &[],
                &["m@x"],
            ),
            (
                "References: <a@x> junk <b @x> <> <c@x\n\n",
                "",
                &["a@x", "b@x"],
                &[],
            ),
            (
                "References: <a@x> <b@x> <a@x>\n\n",
                "",
                &["b@x", "a@x"],
                &[],
            ),
            (
                "References: <a@x>\nReferences: <b@x>\n\n",
                "",
                &["a@x"],
                &[],
            ),
            ("References: <lost <a@x>\n\n", "", &["a@x"], &[]),
            ("Subject: <a@x>\n\nMessage-ID: <body@x>\n", "", &[], &[]),
        ] {
            let links = links(header.as_bytes());
            assert_eq!(shown(links.id.as_slice()).concat(), id, "{header}");
            assert_eq!(shown(&links.references), references, "{header}");
            assert_eq!(shown(&links.in_reply_to), replied, "{header}");
        }
    }

    #[test]
    fn of_a_list_without_end_the_root_and_the_nearest_stay() {
        let many: String = (0..MOST + 500).map(|n| format!("<{n}@x> ")).collect();
        let links = links(format!("References: {many}\n\n").as_bytes());
        let shown = shown(&links.references);
        assert_eq!(shown.len(), MOST);
        assert_eq!((shown[0].as_str(), shown[1].as_str()), ("0@x", "501@x"));
        assert_eq!(shown[MOST - 1], "1499@x");
    }
}

//! The query of an address, decoded: names and values, in their order. It knows none of them.

use zeroize::Zeroizing;

const MOST: usize = 32;

/// None where it is not well formed, or has more fields than any answer.
pub(super) fn decode(query: &str) -> Option<Vec<(Zeroizing<String>, Zeroizing<String>)>> {
    let mut fields = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        if fields.len() == MOST {
            return None;
        }
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        fields.push((unescape(name)?, unescape(value)?));
    }
    Some(fields)
}

fn unescape(text: &str) -> Option<Zeroizing<String>> {
    let mut octets = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        octets.push(match byte {
            b'+' => b' ',
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            other => other,
        });
    }
    let text = std::str::from_utf8(&octets).ok()?;
    Some(Zeroizing::new(text.to_owned()))
}

fn hex(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_what_they_say() {
        let cases = [
            ("", Some("")),
            ("a=b", Some("a:b")),
            ("a=b&c=d%20e+f&&g", Some("a:b c:d e f g:")),
            ("a=%C3%A4&b=1=2", Some("a:ä b:1=2")),
            ("a=%", None),
            ("a=%4", None),
            ("a=%zz", None),
            ("a=%ff", None),
        ];
        for (query, expected) in cases {
            let said = decode(query).map(|fields| {
                let words = fields
                    .iter()
                    .map(|(name, value)| format!("{}:{}", **name, **value));
                words.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(said.as_deref(), expected, "{query}");
        }
        assert!(decode(&"a&".repeat(MOST)).is_some());
        assert!(decode(&"a&".repeat(MOST + 1)).is_none());
    }

    proptest::proptest! {
        #[test]
        fn what_was_escaped_is_what_was_meant(name in "[a-z]{1,8}", value in ".{0,60}") {
            let query = super::super::super::http::encode(&[(&name, &value)]);
            let fields = decode(&query).unwrap();
            proptest::prop_assert_eq!(&**fields[0].1, &value);
        }

        #[test]
        fn no_query_is_too_strange(query in ".{0,200}") {
            let _ = decode(&query);
        }
    }
}

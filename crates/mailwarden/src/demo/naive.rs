//! What a careless mail reader hands to its model: the HTML with the tags cut out and nothing else looked at.
//!
//! Kept simple on purpose, and used for comparison only.

/// The text of the HTML in a message's source (`raw_source_base64`), a line for each that is not empty.
pub(super) fn read(source_base64: &str) -> Vec<String> {
    let source = base64(source_base64);
    let source = String::from_utf8_lossy(&source).replace("\r\n", "\n");
    let html = html_part(&source).unwrap_or_default();
    let text = without_tags(&html);
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What follows the headers of the HTML part, up to the end of the part.
fn html_part(source: &str) -> Option<String> {
    let (_, part) = source.split_once("Content-Type: text/html")?;
    let (header, body) = part.split_once("\n\n")?;
    let body = body.split_once("\n--").map_or(body, |(body, _)| body);
    Some(if header.contains("quoted-printable") {
        String::from_utf8_lossy(&unquoted(body)).into_owned()
    } else {
        body.to_owned()
    })
}

/// RFC 4648 section 4.
fn base64(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count & 0xFF) as u8);
        }
    }
    out
}

/// RFC 2045 section 6.7.
fn unquoted(text: &str) -> Vec<u8> {
    let joined = text.replace("=\n", "");
    let mut pieces = joined.split('=');
    let mut out = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (code, piece.get(2..)) {
            (Some(byte), Some(rest)) => {
                out.push(byte);
                out.extend(rest.bytes());
            }
            _ => {
                out.push(b'=');
                out.extend(piece.bytes());
            }
        }
    }
    out
}

/// The head is left away: even a careless reader does that.
fn without_tags(html: &str) -> String {
    let body = html.split_once("</head>").map_or(html, |(_, body)| body);
    let mut out = String::new();
    let mut pieces = body.split('<');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        match piece.split_once('>') {
            Some((tag, text)) => {
                out.push_str(match tag {
                    "/span" | "br" => " ",
                    _ => "",
                });
                out.push_str(text);
            }
            None => out.push_str(piece),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_becomes_lines_of_text() {
        // Content-Type: text/html … quoted-printable … <p style=3D"display:none">Gr=C3=BC=\n=C3=9Fe</p>
        let source = "Q29udGVudC1UeXBlOiB0ZXh0L2h0bWwKQ29udGVudC1UcmFuc2Zlci1FbmNvZGluZzogcXVvdGVkLXByaW50YWJsZQoK\
            PHAgc3R5bGU9M0QiZGlzcGxheTpub25lIj5Hcj1DMz1CQz0KPUMzPTlGZTwvcD4K";
        assert_eq!(read(source), ["Grüße"]);
    }

    #[test]
    fn what_is_no_message_has_no_lines() {
        for source in ["", "####", "SGVsbG8="] {
            assert!(read(source).is_empty(), "{source}");
        }
    }

    #[test]
    fn damaged_escapes_stay() {
        assert_eq!(unquoted("a=3Db=zz=4"), b"a=b=zz=4");
        assert_eq!(unquoted("=é"), "=é".as_bytes());
    }
}

//! Section numbers, ranges and sizes are those of IMAP.

use content::{Completeness, outline};
use mail::{Disposition, Section};
use proptest::prelude::*;

/// Section, type, octets and text of each leaf.
fn read(raw: &str) -> Vec<(String, String, u64, String)> {
    let outline = outline(raw.as_bytes());
    outline
        .structure
        .leaves
        .iter()
        .map(|leaf| {
            let (bytes, _) = outline
                .part(&leaf.section)
                .unwrap_or((b"missing", Completeness::Cut));
            assert_eq!(bytes.len() as u64, leaf.octets);
            (
                leaf.section.to_string(),
                leaf.mime_type.clone(),
                leaf.octets,
                String::from_utf8_lossy(bytes).into_owned(),
            )
        })
        .collect()
}

fn check(raw: &str, want: &[(&str, &str, &str)]) {
    let crlf = raw.replace('\n', "\r\n");
    for (raw, ending) in [(raw.to_owned(), "\n"), (crlf, "\r\n")] {
        let found: Vec<_> = read(&raw)
            .into_iter()
            .map(|(section, kind, _, text)| (section, kind, text))
            .collect();
        let want: Vec<_> = want
            .iter()
            .map(|(s, k, t)| ((*s).to_owned(), (*k).to_owned(), t.replace('\n', ending)))
            .collect();
        assert_eq!(found, want, "{raw}");
    }
}

#[test]
fn single_part_is_one() {
    check("A: b\n\nhello\n", &[("1", "text/plain", "hello\n")]);
    check("\nno header\n", &[("1", "text/plain", "no header\n")]);
    check("A: b\n", &[("1", "text/plain", "")]);
    check(
        "Content-Type: TEXT/Html\n\n<p>",
        &[("1", "text/html", "<p>")],
    );
    check("", &[("1", "text/plain", "")]);
}

const NESTED: &str = "Content-Type: multipart/mixed; boundary=\"out\"\n\npreamble\n--out\nContent-Type: multipart/alternative; boundary=in\n\n--in\n\nplain\n--in\nContent-Type: text/html\n\n<p>html\n\n--in--\nepilogue\n--out\nContent-Type: message/rfc822\n\nSubject: inner\nContent-Type: multipart/mixed; boundary=deep\n\n--deep\n\nx\n--deep--\n\n--out\nContent-Type: image/png\nContent-Transfer-Encoding: BASE64\n\niVBO\n--out--\nepilogue\n";

#[test]
fn nested_parts_are_numbered_by_path() {
    check(
        NESTED,
        &[
            ("1.1", "text/plain", "plain"),
            ("1.2", "text/html", "<p>html\n"),
            (
                "2",
                "message/rfc822",
                "Subject: inner\nContent-Type: multipart/mixed; boundary=deep\n\n--deep\n\nx\n--deep--\n",
            ),
            ("3", "image/png", "iVBO"),
        ],
    );
    let outline = outline(NESTED.as_bytes());
    let leaves = &outline.structure.leaves;
    let multiparts = outline.structure.multiparts.iter();
    let multiparts: Vec<_> = multiparts
        .map(|one| (one.path.as_slice(), one.subtype.as_str()))
        .collect();
    assert_eq!(multiparts, [(&[][..], "mixed"), (&[1][..], "alternative")]);
    assert_eq!(leaves[3].encoding, "base64");
    assert!(!outline.structure.cut);
    assert!(outline.header().ends_with(b"\n\n"));
    assert_eq!(outline.header().len(), outline.header_len);
}

#[test]
fn header_fields_of_a_part() {
    let raw = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=\"Koi8-R\"; format=flowed;\n name=x\nContent-Disposition: ATTACHMENT; filename*=utf-8''%C3%A4\nContent-ID: <1@x>\n\nt\n--b--\n";
    let outline = outline(raw.as_bytes());
    let leaf = &outline.structure.leaves[0];
    assert_eq!(leaf.charset.as_deref(), Some("Koi8-R"));
    assert_eq!(leaf.flow, mail::Flow::Flowed);
    assert_eq!(leaf.disposition, Some(Disposition::Attachment));
    assert_eq!(leaf.filename.as_ref().unwrap().bytes(), b"utf-8''%C3%A4");
    assert_eq!(leaf.content_id.as_ref().unwrap().bytes(), b"<1@x>");
}

#[test]
fn start_of_related_is_kept() {
    let raw = "Content-Type: multipart/related; boundary=b; start=\"<a@x>\"\n\n--b\n\nt\n--b--\n";
    let outline = outline(raw.as_bytes());
    let start = outline.structure.multiparts[0].start.as_ref();
    assert_eq!(start.unwrap().bytes(), b"<a@x>");
}

#[test]
fn damaged_structure_loses_no_text() {
    // An outer delimiter ends what lies inside.
    check(
        "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--a\n\ny\n--a--\n",
        &[("1.1", "text/plain", "x"), ("2", "text/plain", "y")],
    );
    // A delimiter that begins like another.
    check(
        "Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/mixed; boundary=ab\n\n--ab\n\nx\n--ab--\n--a--\n",
        &[("1.1", "text/plain", "x")],
    );
    // No delimiter at all, or no boundary.
    check(
        "Content-Type: multipart/mixed; boundary=a\n\ntext\n",
        &[("1", "text/plain", "text\n")],
    );
    check(
        "Content-Type: multipart/mixed\n\ntext\n",
        &[("1", "multipart/mixed", "text\n")],
    );
    // No end.
    check(
        "Content-Type: multipart/mixed; boundary=a\n\n--a\n\nx\n",
        &[("1", "text/plain", "x\n")],
    );
    // A part without body, and one without anything.
    check(
        "Content-Type: multipart/mixed; boundary=a\n\n--a\nX: y\n--a\n--a\n\nz\n--a--",
        &[
            ("1", "text/plain", ""),
            ("2", "text/plain", ""),
            ("3", "text/plain", "z"),
        ],
    );
    // A digest holds messages.
    check(
        "Content-Type: multipart/digest; boundary=a\n\n--a\n\nSubject: x\n\ny\n--a--\n",
        &[("1", "message/rfc822", "Subject: x\n\ny")],
    );
}

#[test]
fn a_prefix_says_where_it_was_cut() {
    let cut = NESTED.find("html\n\n--in--").unwrap() + 2;
    let outline = outline(&NESTED.as_bytes()[..cut]);
    let part = |section: &str| outline.part(&Section::parse(section).unwrap());
    assert_eq!(part("1.1"), Some((&b"plain"[..], Completeness::Complete)));
    assert_eq!(part("1.2"), Some((&b"<p>ht"[..], Completeness::Cut)));
    assert_eq!(part("2"), None);
}

#[test]
fn every_prefix_is_fine() {
    for end in 0..NESTED.len() {
        outline(&NESTED.as_bytes()[..end]);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_fall(bytes: Vec<u8>) {
        outline(&bytes);
    }

    #[test]
    fn ranges_lie_inside(pieces in prop::collection::vec(prop::sample::select(vec![
        "Content-Type: multipart/mixed; boundary=a", "Content-Type: multipart/mixed; boundary=ab",
        "--a", "--ab", "--a--", "--ab--", "\n", "\r\n", "x", "Content-Type: message/rfc822",
    ]), 0..40)) {
        let raw = pieces.concat();
        let outline = outline(raw.as_bytes());
        for leaf in &outline.structure.leaves {
            prop_assert!(outline.part(&leaf.section).is_some());
        }
    }
}

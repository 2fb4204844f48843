//! Mail as a weapon: nesting, size and number must cost little.

use content::{BodyWish, HtmlWish};
use mail::TextPrefix;

use crate::source::{codes, view};

/// Everything at once, as greedy as the tool contract allows.
fn greedy() -> BodyWish {
    BodyWish {
        offset: 0,
        max_chars: 20_000,
        html: HtmlWish::Include,
        attachment_text: Some(50_000),
        only: None,
    }
}

/// Names what is looked at, for the output of a test that fails or hangs.
fn shown<T>(what: &str, work: impl FnOnce() -> T) -> T {
    eprintln!("{what}");
    work()
}

fn html(what: &str, html: &str) -> content::View {
    let raw = format!("Content-Type: text/html; charset=utf-8\r\n\r\n{html}");
    shown(what, || view(raw, &greedy()))
}

fn nested(levels: usize) -> String {
    let mut raw = String::new();
    for level in 0..levels {
        raw.push_str(&format!(
            "Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n"
        ));
    }
    raw + "\r\ntext\r\n"
}

#[test]
fn nested_multiparts() {
    let raw = nested(5_000);
    let found = shown("5,000 nested multiparts", || view(raw, &greedy()));
    assert_eq!(codes(&found), ["structure_cut", "no_html", "nothing_found"]);
    let found = view(nested(60), &greedy());
    assert_eq!(found.body_text.as_deref(), Some("text"));
    shown("100,000 nested multiparts", || {
        view(nested(100_000), &greedy())
    });
}

#[test]
fn nested_messages_and_missing_boundaries() {
    let messages = "Content-Type: message/rfc822\r\n\r\n".repeat(50_000);
    shown("50,000 nested messages", || view(messages, &greedy()));
    let parts = "--b\r\nContent-Type: multipart/mixed; boundary=none\r\n\r\nx\r\n".repeat(20_000);
    let raw = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}");
    shown("20,000 missing boundaries", || view(raw, &greedy()));
}

#[test]
fn endless_parts() {
    let parts = "--b\r\n\r\ntext\r\n".repeat(100_000);
    let raw = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--\r\n");
    let found = shown("100,000 parts", || view(raw, &greedy()));
    assert_eq!(
        codes(&found),
        [
            "structure_cut",
            "parts_left_out",
            "no_html",
            "body_truncated"
        ]
    );
}

#[test]
fn nested_elements() {
    let found = html(
        "20,000 nested div",
        &format!("{}deep", "<div>".repeat(20_000)),
    );
    assert_eq!(found.body_text, None);
    assert!(codes(&found).contains(&"nested_too_deeply"));
    html(
        "nested and closed",
        &format!("{}x{}", "<div>".repeat(20_000), "</div>".repeat(20_000)),
    );
    html(
        "nested formatting",
        &"<b><i><a href=http://x>".repeat(15_000),
    );
    html("formatting left open", &"<p><b x=1></p>".repeat(40_000));
    html(
        "stray end tags",
        &format!("{}{}", "<div>".repeat(20_000), "</i></q>".repeat(60_000)),
    );
    html("lists", &"<ul><li>".repeat(50_000));
    html("tables", &"<table><tr><td>".repeat(30_000));
    html("quotes", &"<blockquote>x".repeat(30_000));
}

#[test]
fn long_tokens() {
    let attributes: String = (0..100_000).map(|n| format!(" a{n}=1")).collect();
    html("attributes", &format!("<p{attributes}>x</p>"));
    html(
        "one attribute",
        &format!("<a href=\"{}\">x</a>", "x".repeat(1_000_000)),
    );
    html("ampersands", &"&".repeat(900_000));
    html("entities", &"&amp;&notanentity;&#x41;".repeat(40_000));
    html("open comment", &"<!--".repeat(250_000));
    html("angle brackets", &"<".repeat(900_000));
    html("styles", &"<p style='/*'>".repeat(60_000));
    html(
        "one style",
        &format!("<p style='{}'>x", "\\".repeat(900_000)),
    );
}

#[test]
fn long_headers() {
    for (what, value) in [
        ("words", "=?utf-8?q?a?= ".repeat(60_000)),
        ("open words", "=?a?q?".repeat(100_000)),
        ("addresses", "a@b.c, ".repeat(100_000)),
        ("comments", "(".repeat(900_000)),
        ("parameters", "a;".repeat(400_000)),
        ("folds", "a\r\n ".repeat(200_000)),
    ] {
        for name in [
            "From",
            "Subject",
            "Date",
            "Content-Type",
            "Content-Disposition",
        ] {
            let raw = format!("{name}: {value}\r\n\r\nx");
            shown(&format!("{what} in {name}"), || view(raw, &greedy()));
        }
    }
    let many = "X: y\r\n".repeat(200_000);
    let found = shown("many headers", || view(format!("{many}\r\nx"), &greedy()));
    assert!(codes(&found).contains(&"headers_truncated"));
}

#[test]
fn long_text() {
    for (what, encoding, text) in [
        ("base64", "base64", "QUJD".repeat(800_000)),
        ("soft breaks", "quoted-printable", "= ".repeat(1_500_000)),
        ("blank lines", "7bit", "\n".repeat(3_000_000)),
        ("markers", "7bit", "<|[INST]".repeat(400_000)),
        ("zero width", "8bit", "\u{200B}".repeat(900_000)),
    ] {
        let raw = format!("Content-Transfer-Encoding: {encoding}\r\n\r\n{text}");
        shown(what, || view(&raw, &greedy()));
        let prefix = TextPrefix {
            header: format!("Content-Transfer-Encoding: {encoding}\r\n\r\n").into(),
            text: text.into(),
            truncated: false,
            structure: None,
        };
        shown(what, || content::snippet(&prefix, 200));
    }
}

#[test]
fn one_endless_line() {
    let line = "x".repeat(10_000_000);
    let found = shown("a line of 10 MB", || view(format!("\r\n{line}"), &greedy()));
    assert_eq!(found.body_text.map(|text| text.len()), Some(20_000));
    let raw = format!("\r\n{}", "a\0b ".repeat(1_000));
    let found = shown("zeros", || view(raw, &greedy()));
    assert!(
        found
            .body_text
            .is_some_and(|text| text.starts_with("ab ab"))
    );
}

#[test]
fn attached_messages_and_calendars() {
    let inside = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n";
    let raw = format!(
        "Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Type: message/rfc822\r\n\r\n{}",
        inside.repeat(10_000)
    );
    shown("10,000 messages in messages", || view(raw, &greedy()));
    let many =
        "--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\ntext\r\n".repeat(10_000);
    let raw = format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n{many}");
    shown("10,000 messages", || view(raw, &greedy()));
    let events = "BEGIN:VEVENT\r\nSUMMARY:x\r\n".repeat(100_000);
    let raw = format!("Content-Type: text/calendar\r\n\r\n{events}");
    shown("100,000 events", || view(raw, &greedy()));
}

#[test]
fn alternatives_without_end() {
    let pair = "--b\r\nContent-Type: multipart/alternative; boundary=i\r\n\r\n--i\r\n\r\nplain words here\r\n--i\r\nContent-Type: text/html\r\n\r\n<p>other words here\r\n--i--\r\n";
    let raw = format!(
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n{}",
        pair.repeat(1_000)
    );
    shown("1,000 alternatives", || view(raw, &greedy()));
    let words: String = (0..120_000).map(|n| format!("w{n} ")).collect();
    let raw = format!(
        "Content-Type: multipart/alternative; boundary=i\r\n\r\n--i\r\n\r\n{words}\r\n--i\r\nContent-Type: text/html\r\n\r\n<p>{words}\r\n--i--\r\n"
    );
    let found = shown("a long text twice", || view(raw, &greedy()));
    assert!(!codes(&found).contains(&"plain_text_differs"));
}

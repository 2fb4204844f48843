//! Mail as a weapon: nesting, size, number and documents that bloat. Twenty kinds, for tests and benchmarks.

mod documents;

use crate::fixtures;
use crate::mailgen::base64_lines;

/// One kind of attack.
#[derive(Clone, Copy, Debug)]
pub struct Hostile {
    pub name: &'static str,
    make: fn() -> Vec<u8>,
}

impl Hostile {
    pub fn raw(&self) -> Vec<u8> {
        (self.make)()
    }
}

const fn hostile(name: &'static str, make: fn() -> Vec<u8>) -> Hostile {
    Hostile { name, make }
}

pub const ALL: [Hostile; 20] = [
    hostile("5,000 nested multiparts", || {
        fixtures::deep_multipart(5_000)
    }),
    hostile("20,000 nested `<div>`", || html(&divs(20_000))),
    hostile("50,000 nested `<div>`", || html(&divs(50_000))),
    hostile("3.3 MB of HTML", || {
        html(&format!("<p>{}</p>", "word <b>bold</b> ".repeat(200_000)))
    }),
    hostile("30,000 style rules, 3,000 elements", many_rules),
    hostile("5,000 `:has()` rules, 3,000 elements", has_rules),
    hostile("100,000 attributes in one tag", || {
        let attributes: String = (0..100_000).map(|n| format!(" a{n}=1")).collect();
        html(&format!("<p{attributes}>x</p>"))
    }),
    hostile("`var()` that doubles 40 times", doubling_variables),
    hostile("45,000 nested formatting elements", || {
        html(&"<b><i><a href=http://x.example>".repeat(15_000))
    }),
    hostile("a malformed PDF", || {
        attached(
            "application/pdf",
            "report.pdf",
            b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R\n",
        )
    }),
    hostile("a PDF that unpacks to 200 MB", || {
        attached(
            "application/pdf",
            "report.pdf",
            &documents::pdf_bomb(200 << 20),
        )
    }),
    hostile("a Word document that unpacks to 200 MB", || {
        let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        attached(word, "report.docx", &documents::docx_bomb(200 << 20))
    }),
    hostile("a subject of 1 MB", || {
        text(&format!("Subject: {}", "long ".repeat(200_000)), "short")
    }),
    hostile("10,000 header fields", || {
        let fields: Vec<String> = (0..10_000).map(|n| format!("X-Field-{n}: {n}")).collect();
        text(&fields.join("\r\n"), "short")
    }),
    hostile("1,000 attachments", many_attachments),
    hostile("one line of 10 MB", || {
        text("Subject: line", &"x".repeat(10_000_000))
    }),
    hostile("2,000 messages in messages", || {
        let inside = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n";
        text(
            "Content-Type: multipart/mixed; boundary=a",
            &format!(
                "--a\r\nContent-Type: message/rfc822\r\n\r\n{}",
                inside.repeat(2_000)
            ),
        )
    }),
    hostile("100,000 parts", || {
        text(
            "Content-Type: multipart/mixed; boundary=b",
            &format!("{}--b--\r\n", "--b\r\n\r\ntext\r\n".repeat(100_000)),
        )
    }),
    hostile("1,000 alternatives that disagree", || {
        let pair = "--b\r\nContent-Type: multipart/alternative; boundary=i\r\n\r\n--i\r\n\r\nplain words here\r\n\
                    --i\r\nContent-Type: text/html\r\n\r\n<p>other words here\r\n--i--\r\n";
        text(
            "Content-Type: multipart/mixed; boundary=b",
            &format!("{}--b--\r\n", pair.repeat(1_000)),
        )
    }),
    hostile("3 MB of model markers and links", || {
        text(
            "Subject: markers",
            &"<|im_start|>[INST] [a](http://x.example) \u{200B}".repeat(60_000),
        )
    }),
];

/// A message of one text, with this among its header fields.
fn text(header: &str, body: &str) -> Vec<u8> {
    let raw = format!(
        "Date: Thu, 01 Jan 2026 10:00:00 +0000\r\nFrom: Bob <bob@evil.example>\r\nTo: alice@example.com\r\n\
         MIME-Version: 1.0\r\n{header}\r\n\r\n{body}\r\n"
    );
    raw.into_bytes()
}

fn html(html: &str) -> Vec<u8> {
    text(
        "Subject: page\r\nContent-Type: text/html; charset=utf-8",
        html,
    )
}

fn divs(levels: usize) -> String {
    format!(
        "{}bottom{}",
        "<div>".repeat(levels),
        "</div>".repeat(levels)
    )
}

fn many_rules() -> Vec<u8> {
    let rules: String = (0..30_000)
        .map(|n| format!(".a{n} .b{n} > i{{display:none}}"))
        .collect();
    let elements = "<i class=a1>x</i>".repeat(3_000);
    html(&format!("<style>{rules}</style>{elements}"))
}

fn has_rules() -> Vec<u8> {
    let rules: String = (0..5_000)
        .map(|n| format!("div:has(p:has(i.a{n})) ~ p:has(~ i){{display:none}}"))
        .collect();
    let elements = "<div><p><i class=z>x</i></p></div>".repeat(1_000);
    html(&format!("<style>{rules}</style>{elements}"))
}

fn doubling_variables() -> Vec<u8> {
    let doubled: String = (1..=40)
        .map(|n| format!("--a{n}:var(--a{before}) var(--a{before});", before = n - 1))
        .collect();
    let elements = "<p class=k>x</p>".repeat(3_000);
    html(&format!(
        "<style>:root{{--a0:none none;{doubled}}}.k{{display:var(--a40)}}</style>{elements}"
    ))
}

fn many_attachments() -> Vec<u8> {
    let parts: String = (0..1_000)
        .map(|n| {
            format!(
                "--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"{n}.txt\"\r\n\r\n{}\r\n",
                "inside ".repeat(50)
            )
        })
        .collect();
    text(
        "Content-Type: multipart/mixed; boundary=b",
        &format!("{parts}--b--\r\n"),
    )
}

fn attached(mime_type: &str, name: &str, bytes: &[u8]) -> Vec<u8> {
    let encoded = base64_lines(bytes);
    text(
        "Subject: report\r\nContent-Type: multipart/mixed; boundary=b",
        &format!(
            "--b\r\n\r\nSee the report.\r\n--b\r\nContent-Type: {mime_type}\r\nContent-Transfer-Encoding: base64\r\n\
             Content-Disposition: attachment; filename=\"{name}\"\r\n\r\n{encoded}\r\n--b--\r\n"
        ),
    )
}

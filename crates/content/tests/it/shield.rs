//! Whatever a string is, it leaves through the shield: one policy for every public function, seen from outside.

use bytes::Bytes;
use content::{Changes, HtmlWish};
use mail::{Address, Raw, TextPrefix};
use proptest::prelude::*;

use crate::source::view;

const FLAGS: [&str; 3] = [
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

/// One of each class that must not come out, by its own list rather than by the shield's.
const BANNED: [char; 34] = [
    '\0',
    '\u{1B}',
    '\u{7F}',
    '\u{9B}',
    '\u{AD}',
    '\u{34F}',
    '\u{61C}',
    '\u{115F}',
    '\u{17B4}',
    '\u{180E}',
    '\u{200B}',
    '\u{200E}',
    '\u{202E}',
    '\u{2060}',
    '\u{2064}',
    '\u{2066}',
    '\u{206F}',
    '\u{2800}',
    '\u{3164}',
    '\u{E000}',
    '\u{F8FF}',
    '\u{FE00}',
    '\u{FEFF}',
    '\u{FFA0}',
    '\u{FFF9}',
    '\u{FFFE}',
    '\u{13430}',
    '\u{1BCA0}',
    '\u{1D173}',
    '\u{E0001}',
    '\u{E0041}',
    '\u{E0100}',
    '\u{F0000}',
    '\u{10FFFD}',
];

const TOKENS: [&str; 6] = [
    "<|im_start|>",
    "＜｜end｜＞",
    "[INST]",
    "<<SYS>>",
    "<start_of_turn>",
    "<tool_call>",
];

/// What Markdown or HTML would make of a text is no concern of the shield.
const MARKUP: [&str; 6] = [
    "[x](https://e.x)",
    "![x][y]",
    "<https://e.x>",
    "<img src=x>",
    "<!-- x -->",
    "</script>",
];

/// What each public function makes of a text.
fn everywhere(text: &str) -> Vec<String> {
    let mut changes = Changes::default();
    let raw = Raw::copied(text.as_bytes());
    let address = Address {
        name: Some(raw.clone()),
        mailbox: Some(raw.clone()),
        host: Some(raw.clone()),
    };
    let prefix = TextPrefix {
        header: Bytes::new(),
        text: Bytes::copy_from_slice(text.as_bytes()),
        truncated: false,
        structure: None,
    };
    let line = text.replace(['\r', '\n'], " ");
    let message = format!(
        "From: {line}\r\nTo: \"{line}\" <a@b.c>\r\nSubject: {line}\r\n{line}: {line}\r\n\
         Authentication-Results: {line}; spf=pass smtp.mailfrom={line}\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\n\r\n{text}\r\n--b\r\nContent-Type: text/{line}; name=\"{line}\"\r\n\r\n{text}\r\n--b--\r\n"
    );
    let wish = content::BodyWish {
        offset: 0,
        max_chars: 500,
        html: HtmlWish::Skip,
        attachment_text: Some(500),
        only: None,
    };
    let shown = view(message, &wish);
    let mut all = vec![
        content::header_text(&raw, &mut changes),
        content::filename(&raw, &mut changes),
        content::said(text.as_bytes(), &mut changes),
        content::name(text, &mut changes),
    ];
    all.extend(content::addresses(&[address], &mut changes));
    all.extend(content::snippet(&prefix, 200).map(|found| found.text));
    all.extend(
        [
            shown.from,
            shown.to,
            shown.cc,
            shown.subject,
            shown.body_text,
        ]
        .into_iter()
        .flatten(),
    );
    all.extend(
        shown
            .headers
            .into_iter()
            .flat_map(|(name, value)| [name, value]),
    );
    all.extend(shown.notes.iter().map(|note| note.to_string()));
    for one in shown.attachments {
        all.extend(
            [one.filename, Some(one.content_type), one.extracted_text]
                .into_iter()
                .flatten(),
        );
    }
    if let Some(said) = shown.authentication {
        all.extend(said.server);
        all.extend(said.spf.and_then(|spf| spf.domain));
    }
    all
}

fn is_clean(text: &str) -> bool {
    let bare = FLAGS
        .iter()
        .fold(text.to_owned(), |text, flag| text.replace(flag, ""));
    !bare.contains(BANNED) && !TOKENS.iter().any(|token| bare.contains(token))
}

#[test]
fn nothing_banned_leaves_by_any_way() {
    for char in BANNED {
        for shown in everywhere(&format!("a{char}b {char}{char}")) {
            assert!(is_clean(&shown), "U+{:04X} in {shown:?}", u32::from(char));
        }
    }
    for token in TOKENS {
        for shown in everywhere(token) {
            assert!(is_clean(&shown), "{token} in {shown:?}");
        }
    }
}

#[test]
fn markup_in_bodies_and_subjects_stays_as_it_was_sent() {
    let mut all = MARKUP.to_vec();
    all.extend([
        "[y]: https://e.x",
        "a[i][j]",
        "<sys/types.h>",
        "[RFC][PATCH]",
    ]);
    for text in all {
        let found = view(
            format!("Subject: {text}\r\n\r\n{text}\r\n"),
            &crate::source::wish(),
        );
        assert_eq!(found.subject.as_deref(), Some(text));
        assert_eq!(found.body_text.as_deref(), Some(text));
        assert_eq!(found.changes, Changes::default());
    }
}

#[test]
fn what_is_changed_anywhere_is_counted() {
    for char in BANNED {
        let mut changes = Changes::default();
        content::name(&format!("a{char}"), &mut changes);
        assert_eq!(changes.invisible, 1, "U+{:04X}", u32::from(char));
    }
    let header =
        "From: x\u{200B} <a@b.c>\r\nSubject: [a](b)\r\nReply-To: d <|x|>\r\nX-A: <|y|>\r\n";
    let found = view(
        format!("{header}\r\nbo\u{200B}dy <https://e.x>"),
        &crate::source::wish(),
    );
    let want = Changes {
        invisible: 2,
        markers: 1,
    };
    assert_eq!(found.changes, want);
    assert_eq!(found.rare_changes.markers, 1);
    let said: Vec<String> = found.notes.iter().map(|note| note.to_string()).collect();
    assert!(
        said.contains(&"2 invisible characters were removed".to_owned()),
        "{said:?}"
    );
}

proptest! {
    #[test]
    fn every_way_out_is_shielded(
        pieces in prop::collection::vec(prop_oneof![
            prop::sample::select([TOKENS, MARKUP].concat()).prop_map(str::to_owned),
            prop::sample::select(BANNED.to_vec()).prop_map(String::from),
            prop::sample::select(vec!["a", "[y]: https://e.x", "x/[y]: z:z", "<b\u{A0}c=", " ", "\n", "<", ">", "[", "]", "(", ":", "@", "\"", ";", FLAGS[0]])
                .prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ], 0..12)
    ) {
        for shown in everywhere(&pieces.concat()) {
            prop_assert!(is_clean(&shown), "{:?}", shown);
            let mut changes = Changes::default();
            // Cut by the function's own bound, it may be longer than a name: only the changes count here.
            content::name(&shown, &mut changes);
            prop_assert_eq!(changes, Changes::default(), "{:?}", shown);
        }
    }
}

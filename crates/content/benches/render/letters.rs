//! Letters as they fill a mailbox, made the same way in every run.

use std::fmt::Write as _;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Newsletter,
    Notification,
    Attached,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [
        Self::Plain,
        Self::Newsletter,
        Self::Notification,
        Self::Attached,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain text, replies",
            Self::Newsletter => "newsletters, text and HTML",
            Self::Notification => "notifications, HTML only",
            Self::Attached => "letters with attachments",
        }
    }
}

pub(crate) struct Letter {
    pub(crate) kind: Kind,
    pub(crate) raw: Vec<u8>,
}

/// Of ten letters four are plain, three newsletters, one a notification, two bring attachments.
pub(crate) fn mixed(count: usize) -> Vec<Letter> {
    let mut dice = Dice(7);
    (0..count)
        .map(|number| {
            let kind = match number % 10 {
                0..=3 => Kind::Plain,
                4..=6 => Kind::Newsletter,
                7 => Kind::Notification,
                _ => Kind::Attached,
            };
            let body = match kind {
                Kind::Plain => plain(&mut dice),
                Kind::Newsletter => newsletter(&mut dice),
                Kind::Notification => notification(&mut dice),
                Kind::Attached => attached(&mut dice),
            };
            let raw = format!("{}{body}", header(number));
            Letter {
                kind,
                raw: raw.replace('\n', "\r\n").into_bytes(),
            }
        })
        .collect()
}

fn header(number: usize) -> String {
    let mut out = String::new();
    for hop in 0..4 {
        let _ = writeln!(
            out,
            "Received: from mx{hop}.example (mx{hop}.example [192.0.2.{hop}])\n\tby mail.example with ESMTPS id {number}{hop};\n\tMon, 2 Nov 2026 10:0{hop}:00 +0100"
        );
    }
    let _ = write!(
        out,
        "Authentication-Results: mail.example; spf=pass smtp.mailfrom=sender.example; dkim=pass header.d=sender.example\n\
         Message-ID: <{number}@sender.example>\nDate: Mon, 2 Nov 2026 10:00:00 +0100\n\
         From: =?utf-8?Q?J=C3=B6rg_Sender?= <joerg@sender.example>\nTo: Ann Reader <ann@reader.example>\n\
         Subject: =?utf-8?B?R3LDvMOfZSBhdXMgS8O2bG4=?= number {number}\nMIME-Version: 1.0\n"
    );
    out
}

fn plain(dice: &mut Dice) -> String {
    let paragraphs = 3 + dice.roll(12);
    let mut text = String::new();
    for _ in 0..paragraphs {
        let _ = write!(text, "{}\n\n", dice.sentence(40));
    }
    text.push_str("On Monday Ann wrote:\n");
    for _ in 0..paragraphs {
        let _ = writeln!(text, "> {}", dice.sentence(10));
    }
    format!("Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{text}")
}

fn newsletter(dice: &mut Dice) -> String {
    let stories = 4 + dice.roll(20);
    let mut text = String::new();
    let mut html = page_head();
    for story in 0..stories {
        let (title, words) = (dice.sentence(6), dice.sentence(45));
        let _ = write!(
            text,
            "{title}\n\n{words}\n\nRead more: https://news.example/{story}\n\n"
        );
        let _ = write!(html, "{}", card(story, &title, &words));
    }
    html.push_str("<tr><td class=\"footer\" style=\"font-size:11px;color:#888888\">You get this because you asked for it. <a href=\"https://news.example/leave\" style=\"color:#888888\">Leave</a></td></tr></table></td></tr></table></body></html>");
    format!(
        "Content-Type: multipart/alternative; boundary=\"=_b\"\n\n--=_b\nContent-Type: text/plain; charset=utf-8\n\
         Content-Transfer-Encoding: quoted-printable\n\n{}\n--=_b\nContent-Type: text/html; charset=utf-8\n\
         Content-Transfer-Encoding: quoted-printable\n\n{}\n--=_b--\n",
        quoted(&text),
        quoted(&html)
    )
}

fn notification(dice: &mut Dice) -> String {
    let mut html = page_head();
    for line in 0..6 {
        let (title, words) = (dice.sentence(4), dice.sentence(14));
        let _ = write!(html, "{}", card(line, &title, &words));
    }
    html.push_str("</table></td></tr></table></body></html>");
    format!(
        "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n{}",
        quoted(&html)
    )
}

fn attached(dice: &mut Dice) -> String {
    let words = dice.sentence(80);
    let lines = 400 + dice.roll(5_000);
    let mut data = String::with_capacity(lines * 77);
    for _ in 0..lines {
        data.extend((0..76).map(|_| dice.base64()));
        data.push('\n');
    }
    format!(
        "Content-Type: multipart/mixed; boundary=\"=_m\"\n\n--=_m\nContent-Type: multipart/alternative; boundary=\"=_a\"\n\n\
         --=_a\nContent-Type: text/plain; charset=utf-8\n\n{words}\n--=_a\nContent-Type: text/html; charset=utf-8\n\n\
         <html><body><div dir=\"ltr\"><p style=\"margin:0\">{words}</p></div></body></html>\n--=_a--\n\
         --=_m\nContent-Type: application/pdf; name=\"report.pdf\"\nContent-Disposition: attachment; filename=\"report.pdf\"\n\
         Content-Transfer-Encoding: base64\n\n{data}--=_m--\n"
    )
}

fn page_head() -> String {
    "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>News</title><style type=\"text/css\">\
     body{margin:0;padding:0;background-color:#f4f4f4;color:#222222;font-family:Arial,sans-serif}\n\
     table{border-collapse:collapse;mso-table-lspace:0pt}td{padding:0}img{border:0;display:block}\n\
     a{color:#0055aa;text-decoration:underline}.preheader{display:none!important;visibility:hidden;opacity:0;height:0;width:0}\n\
     .card{background-color:#ffffff;border-radius:4px}.card h2{font-size:20px;line-height:26px;color:#111111}\n\
     .card p{font-size:15px;line-height:22px;color:#333333}.button a{background-color:#0055aa;color:#ffffff;padding:10px 20px}\n\
     .footer{font-size:11px;color:#888888}.mobile{display:none}\n\
     @media only screen and (max-width:600px){.card{width:100%!important}.mobile{display:block!important}.desktop{display:none}}\n\
     @media (prefers-color-scheme:dark){body{background-color:#000000;color:#ffffff}}\n\
     </style></head><body bgcolor=\"#f4f4f4\"><div class=\"preheader\">What is new this week, before you open it</div>\
     <table width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" role=\"presentation\"><tr><td align=\"center\">\
     <table width=\"600\" cellpadding=\"0\" cellspacing=\"0\" role=\"presentation\" class=\"container\">"
        .to_owned()
}

fn card(number: usize, title: &str, words: &str) -> String {
    format!(
        "<tr><td class=\"card\" style=\"padding:20px 30px;background-color:#ffffff\"><table width=\"100%\" role=\"presentation\"><tr>\
         <td width=\"120\" valign=\"top\"><img src=\"https://img.example/{number}.png\" width=\"120\" height=\"90\" alt=\"Picture {number}\" style=\"display:block;border:0\"></td>\
         <td valign=\"top\" style=\"padding-left:20px\"><h2 style=\"margin:0 0 10px 0;font-size:20px;color:#111111\">{title}</h2>\
         <p style=\"margin:0 0 12px 0;font-size:15px;line-height:22px;color:#333333\">{words}</p>\
         <table role=\"presentation\"><tr><td class=\"button\" bgcolor=\"#0055aa\" style=\"border-radius:3px\">\
         <a href=\"https://news.example/story/{number}?utm_source=mail&amp;utm_medium=news\" style=\"display:inline-block;padding:10px 20px;color:#ffffff;text-decoration:none\">Read more</a>\
         </td></tr></table></td></tr></table></td></tr><tr><td style=\"height:16px;line-height:16px;font-size:16px\">&nbsp;</td></tr>"
    )
}

/// Quoted-printable, in lines of up to 76 characters.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    let mut width = 0;
    for byte in text.bytes() {
        if byte == b'\n' {
            out.push('\n');
            width = 0;
            continue;
        }
        if width >= 72 {
            out.push_str("=\n");
            width = 0;
        }
        if (b' '..=b'~').contains(&byte) && byte != b'=' {
            out.push(char::from(byte));
            width += 1;
        } else {
            let _ = write!(out, "={byte:02X}");
            width += 3;
        }
    }
    out
}

/// Chance that falls the same way every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn base64(&mut self) -> char {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        char::from(LETTERS[self.roll(64)])
    }

    fn sentence(&mut self, words: usize) -> String {
        const WORDS: [&str; 24] = [
            "the", "harbour", "plan", "für", "next", "week", "is", "ready", "and", "we", "meet",
            "at", "noon", "in", "Köln", "please", "bring", "three", "copies", "of", "every",
            "page", "you", "signed",
        ];
        let all: Vec<&str> = (0..words).map(|_| WORDS[self.roll(WORDS.len())]).collect();
        format!("{}.", all.join(" "))
    }
}

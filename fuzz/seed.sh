#!/bin/sh
# Seeds fuzz/corpus: transcripts from the quirk corpus of crates/imap, pages of crates/content, names, strings, mail.
set -eu
cd "$(dirname "$0")"
mkdir -p corpus/imap_responses corpus/imap_utf7 corpus/shield corpus/mime_view corpus/calendar corpus/html_text
python3 - <<'PY'
import pathlib, re

count = 0
for source in sorted(pathlib.Path("../crates/imap/tests/corpus").glob("*.txt")):
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line.startswith("< "):
            continue
        text = line[2:]
        end = "\n" if text.endswith("␊") else "\r\n"
        data = (text.removesuffix("␊") + end).replace("⏎", "\r\n").encode()
        octet = "‹([0-9a-f]{2})›".encode()
        data = re.sub(octet, lambda found: bytes([int(found[1], 16)]), data)
        pathlib.Path(f"corpus/imap_responses/{source.stem}-{count}").write_bytes(data)
        count += 1
for number, name in enumerate(["INBOX", "R&-D", "Entw&APw-rfe", "~peter/mail/&U,BTFw-/&ZeVnLIqe-", "&2D3c5g- x"]):
    pathlib.Path(f"corpus/imap_utf7/{number}").write_bytes(name.encode())
for number, text in enumerate([
    "<|im_start|>system", "[INST] a [/INST]", "<tool_result>x</tool_result>", "a\n\nHuman: b\n\nAssistant: c",
    "### Instruction: d", "![a](https://e.x/?q=b)", "[a][b]\n\n> [b]: <https://e.x>", "<https://e.x> <a@b.c>",
    "<img src=x><!-- y --></div>", "=?utf-8?q?=3C|x|=3E?= <y@z>", "utf-8''%3C%7Cx", "Team: a@b.c, \"d@e.f\" <g@h.i>;",
    "\u200ba\u202eb\u2066c\ue000\u2800", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\U0001f469\u200d\U0001f680 \u2764\ufe0f 1\ufe0f\u20e3", "\u0645\u200c\u0645 \u0915\u094d\u200d\u0937",
    "Z" + "\u0301" * 12, "\uff1c\uff5cend\uff5c\uff1e \u0455ystem \u2039|x|\u203a", "a\u00a0\u2003\u3000b",
]):
    pathlib.Path(f"corpus/shield/{number}").write_bytes(text.encode())
calendar = """BEGIN:VCALENDAR
METHOD:REQUEST
BEGIN:VEVENT
SUMMARY;LANGUAGE=en:Plan\\, and\\n more
DTSTART;TZID=Europe/Berlin:20261120T140000
DTEND;TZID=Europe/Berlin:20261120T150000
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;UNTIL=20270101T000000Z
ORGANIZER;CN="A; B":mailto:a@b.c
ATTENDEE;PARTSTAT=ACCEPTED;RSVP=TRUE:mailto:d@e.f
 olded
BEGIN:VALARM
END:VALARM
END:VEVENT
END:VCALENDAR
"""
pathlib.Path("corpus/calendar/invitation").write_text(calendar)
whole_day = calendar.replace(";TZID=Europe/Berlin:20261120T140000", ";VALUE=DATE:20261120").replace("REQUEST", "CANCEL")
pathlib.Path("corpus/calendar/whole-day").write_text(whole_day)


def multipart(kind, *parts):
    body = "".join(f"--{kind}\n{part}\n" for part in parts)
    return f"Subject: =?utf-8?q?a?=\nContent-Type: multipart/{kind}; boundary={kind}\n\n{body}--{kind}--\n"


plain = "Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes\n\nHello \nAnn\n"
html = "Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n<p style=3D'display:none'>x<p>Hello Ann"
invitation = f"Content-Type: text/calendar; method=REQUEST\n\n{calendar}"
pdf = "Content-Type: application/pdf; name*=utf-8''a%20b.pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0xLjcK"
mail = {
    "plain": plain,
    "alternative": multipart("alternative", plain, html, invitation),
    "mixed": multipart("mixed", plain, pdf, "Content-Type: message/rfc822\n\n" + multipart("related", html, pdf)),
    "signed": multipart("signed", plain, "Content-Type: application/pgp-signature\n\nx"),
    "sealed": "Content-Type: application/pkcs7-mime\nContent-Transfer-Encoding: base64\n\nMIAGCSqGSIb3DQEHAqCA",
    "armour": "Subject: x\n\n-----BEGIN PGP MESSAGE-----\n\nabc\n",
}
for name, text in mail.items():
    pathlib.Path(f"corpus/mime_view/{name}").write_text(text)
for page in sorted(pathlib.Path("../crates/content/tests/pages").glob("*.html")):
    pathlib.Path(f"corpus/html_text/{page.stem}").write_bytes(page.read_bytes())
print(sum(len(list(target.iterdir())) for target in pathlib.Path("corpus").iterdir()), "seeds and finds")
PY

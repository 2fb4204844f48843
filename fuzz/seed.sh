#!/bin/sh
# Seeds fuzz/corpus: each `<` line of crates/imap's quirk corpus becomes a transcript; some mail is written here.
set -eu
cd "$(dirname "$0")"
mkdir -p corpus/imap_responses corpus/imap_utf7 corpus/mime_view corpus/calendar
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
print(count + len(mail) + 2, "seeds")
PY

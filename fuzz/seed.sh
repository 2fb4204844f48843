#!/bin/sh
# Seeds fuzz/corpus: transcripts from the quirk corpus of crates/imap, pages of crates/content, names, strings, mail,
# and a few small documents for each format of attachment.
set -eu
cd "$(dirname "$0")"
mkdir -p corpus/imap_responses corpus/imap_sets corpus/imap_utf7 corpus/shield corpus/mime_view corpus/facts corpus/calendar corpus/html_text corpus/html_sanitize corpus/pack corpus/thread
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
for number, sets in enumerate(["1:4294967295\n5", "9:7,1\n2,2,2", "1,3,5\n2:4", "4294967295\n1", "0\n1"]):
    pathlib.Path(f"corpus/imap_sets/{number}").write_bytes(sets.encode())
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
    for target in ["mime_view", "facts"]:
        pathlib.Path(f"corpus/{target}/{name}").write_text(text)
letter = "Hello Bob,\n\nthe plan is to move on Friday at ten, and everybody brings boxes.\nBring the tape as well, please.\n\nAnn"
quote = "\n".join(("> " + line).rstrip() for line in letter.split("\n"))
for name, answer in {
    "quoted": f"Fine.\n\nOn Monday Ann wrote:\n{quote}",
    "twice": "> " + quote.replace("\n", "\n> "),
    "tight": ">" + quote.replace("\n", "\n>"),
    "below": f"Fine.\n\n-----Original Message-----\nFrom: Ann\nSent: Monday\nTo: Bob\n\n{letter}",
    "wrapped": quote.replace(" and everybody", "\n> and everybody"),
    "between": quote.replace("> Bring", "\nYes.\n\n> Bring"),
    "forward": f"---- Forwarded message ----\n{quote}",
    "marker": "[quoted: lines 1-6 of #1, tight, 2 times, wrapped at 60]\n\\[quoted: x",
}.items():
    pathlib.Path(f"corpus/pack/{name}").write_text(f"\x20{letter}\0{answer}\0> {answer}")
threads = {
    "fork": ["a", "b < a", "c < a", "d < a c", "e < a x c"],
    "loop": ["a < c", "b < a", "c < b", "d < d", "a"],
    "parents": ["z", "p < x y", "q < z y", "_ < p", "p < q"],
}
for name, messages in threads.items():
    def header(message):
        own, _, named = message.partition("<")
        listed = " ".join(f"<{one}@x>" for one in named.split())
        return f"Message-ID: <{own.strip()}@x>\nReferences: {listed}\n\n"
    pathlib.Path(f"corpus/thread/{name}").write_text("\0".join(map(header, messages)))
for page in sorted(pathlib.Path("../crates/content/tests/pages").glob("*.html")):
    pathlib.Path(f"corpus/html_text/{page.stem}").write_bytes(page.read_bytes())
    pathlib.Path(f"corpus/html_sanitize/{page.stem}").write_bytes(page.read_bytes())
print(sum(len(list(target.iterdir())) for target in pathlib.Path("corpus").iterdir()), "seeds and finds")
PY
python3 - <<'PY'
import io, pathlib, zipfile, zlib

def seed(target, name, data):
    folder = pathlib.Path("corpus/extract_" + target)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())

def pdf(content, packed=False, extra=()):
    body = zlib.compress(content) if packed else content
    kind = b"/Filter /FlateDecode " if packed else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [6 0 R] >> >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
        b"<< %s/Length %d >>\nstream\n%s\nendstream" % (kind, len(body), body),
        b"<< /FT /Tx /T (name) /V (value) >>",
        *extra,
    ]
    out, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)

text = b"BT /F1 12 Tf 72 700 Td (Hello) Tj 0 -14 Td [(Wo) -50 (rld)] TJ 3 Tr (unseen) Tj ET q 1 0 0 1 0 0 cm 10 10 100 20 re S Q"
seed("pdf", "plain", pdf(text))
seed("pdf", "packed", pdf(text, packed=True))
seed("pdf", "no-table", pdf(text).split(b"xref")[0])
stream = zlib.compress(b"7 0 8 20 << /A 1 >> [1 2 (x)]")
seed("pdf", "objects", pdf(text, extra=[b"<< /Type /ObjStm /N 2 /First 9 /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream)]))

run = "<w:p><w:pPr><w:pStyle w:val='A'/><w:numPr><w:ilvl w:val='1'/></w:numPr></w:pPr><w:r><w:rPr><w:vanish/><w:color w:val='FFFFFF'/></w:rPr><w:t>x &amp; y</w:t><w:tab/><w:br/></w:r></w:p>"
table = "<w:tbl><w:tblPr/><w:tr><w:tc><w:tcPr><w:shd w:fill='000000'/></w:tcPr>%s</w:tc><w:tc>%s</w:tc></w:tr></w:tbl>" % (run, run)
styles = "<w:styles><w:style w:styleId='A'><w:basedOn w:val='A'/><w:rPr><w:vanish w:val='0'/></w:rPr></w:style></w:styles>"
seed("docx", "body", "<w:document><w:body>%s%s<w:del>%s</w:del></w:body></w:document>\0%s" % (run, table, run, styles))
seed("docx", "notes", "<w:d>%s</w:d>\0\0<w:f><w:footnote w:id='1'>%s</w:footnote></w:f>\0<w:c><w:comment w:author='A'>%s</w:comment></w:c>\0<w:h>%s</w:h>" % (run, run, run, run))

slide = "<p:sld show='%s'><p:sp><p:nvSpPr><p:cNvPr hidden='%s'/></p:nvSpPr><p:txBody><a:p><a:r><a:rPr sz='100'/><a:t>x</a:t></a:r><a:br/></a:p></p:txBody></p:sp><a:tbl><a:tr><a:tc><a:p><a:r><a:t>c</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:sld>"
lists = "<p:presentation><p:sldIdLst><p:sldId r:id='r1'/></p:sldIdLst></p:presentation>\0<Relationships><Relationship Id='r1' Type='x/slide' Target='slides/slide1.xml'/></Relationships>\0"
seed("pptx", "slide", lists + slide % (1, 0))
seed("pptx", "hidden", lists + slide % (0, 1) + "\0<R><Relationship Id='n' Type='x/notesSlide' Target='../notesSlides/notesSlide1.xml'/></R>\0" + slide % (1, 0))

office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
book = (
    "<Relationships><Relationship Id='d' Type='%s/officeDocument' Target='xl/workbook.xml'/></Relationships>\0"
    "<workbook xmlns:r='%s'><sheets><sheet name='S' sheetId='1' state='visible' r:id='r1'/></sheets></workbook>\0"
    "<Relationships><Relationship Id='r1' Type='%s/worksheet' Target='worksheets/sheet1.xml'/></Relationships>\0" % (office, office, office)
)
cells = "<worksheet><sheetData><row r='1'><c r='A1' t='s'><v>0</v></c><c r='C1' s='1'><v>45943.5</v></c><c r='D1' t='inlineStr'><is><t>x</t></is></c></row></sheetData></worksheet>"
seed("sheet", "book", book + cells + "\0<sst><si><t>shared</t></si></sst>\0<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>")

look = "<s><style:style style:name='H' style:family='text'><style:text-properties text:display='none' fo:color='#ffffff'/></style:style></s>"
cell = "<table:table-cell table:number-columns-repeated='3'><text:p>c</text:p></table:table-cell>"
seed("odf", "text", "<d>%s<text:h>t</text:h><text:list><text:list-item><text:p>a<text:s text:c='3'/><text:span text:style-name='H'>h</text:span><text:note><text:p>n</text:p></text:note></text:p></text:list-item></text:list></d>\0<s><style:header><text:p>top</text:p></style:header></s>" % look)
seed("odf", "sheet", "<d><office:spreadsheet><table:table table:name='S'><table:table-row table:number-rows-repeated='9'>%s%s</table:table-row></table:table></office:spreadsheet></d>" % (cell, cell))
seed("odf", "slides", "<d><draw:page><draw:frame><draw:text-box><text:p>s</text:p></draw:text-box></draw:frame><presentation:notes><text:p>n</text:p></presentation:notes></draw:page></d>")

seed("rtf", "words", r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset128 X;}}\f0 a\'93\'fa\par{\v hidden}\u8364?{\*\generator x}\trowd a\cell b\cell\row{\footnote n}}")
seed("rtf", "binary", b"{\\rtf1 {\\pict\\bin4 \x00\x01\x02\x03}{\\field{\\*\\fldinst X}{\\fldrslt y}}\\u-10179?\\u-8704?}")

for name, method in [("stored", zipfile.ZIP_STORED), ("packed", zipfile.ZIP_DEFLATED)]:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a.txt", "hello")
        archive.writestr("b/c.zip", "x" * 50)
    seed("zip", name, out.getvalue())
PY

//! Attachments that tests make: honest documents with something hidden in them, broken ones, bombs, and mail that
//! carries them.

use std::io::{Cursor, Write as _};

use base64::Engine as _;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// What stands in every honest document where no reader sees it.
pub(crate) const HIDDEN: &str = "ZANZIBAR";

/// One attachment of a message.
#[derive(Clone)]
pub(crate) struct Attached {
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl Attached {
    pub(crate) fn new(kind: &'static str, name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self { kind, name, bytes }
    }

    /// Headers and base64 lines.
    fn part(&self) -> String {
        let Self { kind, name, bytes } = self;
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
        let mut part = format!(
            "Content-Type: {kind}; name=\"{name}\"\r\nContent-Disposition: attachment; filename=\"{name}\"\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n"
        );
        for line in encoded.as_bytes().chunks(76) {
            part.push_str(std::str::from_utf8(line).unwrap());
            part.push_str("\r\n");
        }
        part
    }
}

/// A text and these attachments; the last stands one level deeper than the others.
pub(crate) fn mail(text: &str, attached: &[Attached]) -> Vec<u8> {
    let (last, others) = attached.split_last().unwrap();
    let mut raw = format!(
        "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: Anna Adler <anna@example.com>\r\nTo: alice@example.org\r\n\
         Subject: papers\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=outer\r\n\r\n\
         --outer\r\nContent-Type: multipart/alternative; boundary=versions\r\n\r\n\
         --versions\r\nContent-Type: text/plain\r\n\r\n{text}\r\n\
         --versions\r\nContent-Type: text/html\r\n\r\n<p>{text}</p>\r\n--versions--\r\n"
    );
    for one in others {
        raw.push_str(&format!("--outer\r\n{}", one.part()));
    }
    raw.push_str(&format!(
        "--outer\r\nContent-Type: multipart/mixed; boundary=inner\r\n\r\n--inner\r\n{}--inner--\r\n--outer--\r\n",
        last.part()
    ));
    raw.into_bytes()
}

/// A ZIP package of these parts.
pub(crate) fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        // OpenDocument, part 2, section 3.3: the type stands in the clear.
        let method = match *name {
            "mimetype" => CompressionMethod::Stored,
            _ => CompressionMethod::Deflated,
        };
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// An Office package whose main part unpacks to 70 MB of spaces.
pub(crate) fn office_bomb(main: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    writer.start_file("[Content_Types].xml", packed).unwrap();
    writer.write_all(b"<Types/>").unwrap();
    writer.start_file(main, packed).unwrap();
    let spaces = vec![b' '; 1 << 20];
    for _ in 0..70 {
        writer.write_all(&spaces).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// An archive whose one entry, `secret.txt`, has a password.
pub(crate) fn locked_zip() -> Vec<u8> {
    let mut file = package(&[("secret.txt", "hello")]);
    // Bit 0 of the flags, in the entry and in the directory.
    for (mark, offset) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let at = file.windows(4).position(|window| window == mark).unwrap();
        file[at + offset] |= 1;
    }
    file
}

pub(crate) fn docx(body: &str) -> Vec<u8> {
    let document = format!(
        "<?xml version='1.0'?><w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>\
         <w:body>{body}</w:body></w:document>"
    );
    package(&[
        ("[Content_Types].xml", "<Types/>"),
        ("word/document.xml", &document),
    ])
}

/// A paragraph, and one with `w:vanish`.
pub(crate) fn word() -> Vec<u8> {
    docx(&format!(
        "<w:p><w:r><w:t>Contract for chains</w:t></w:r></w:p>\
         <w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>{HIDDEN}</w:t></w:r></w:p>"
    ))
}

/// A sheet, and a hidden one.
pub(crate) fn excel() -> Vec<u8> {
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let sheet = |text: &str| {
        format!(
            "<worksheet><sheetData><row r='1'><c r='A1' t='inlineStr'><is><t>{text}</t></is></c>\
             <c r='B1'><v>12.5</v></c></row></sheetData></worksheet>"
        )
    };
    let relation = |number: usize| {
        format!(
            "<Relationship Id='r{number}' Type='{OFFICE}/worksheet' Target='worksheets/sheet{number}.xml'/>"
        )
    };
    package(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "_rels/.rels",
            &format!(
                "<Relationships><Relationship Id='d' Type='{OFFICE}/officeDocument' Target='xl/workbook.xml'/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            &format!(
                "<workbook xmlns:r='{OFFICE}'><sheets><sheet name='Prices' sheetId='1' r:id='r1'/>\
                 <sheet name='Quiet' sheetId='2' state='hidden' r:id='r2'/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &format!(
                "<Relationships xmlns='{PACKAGE}'>{}{}</Relationships>",
                relation(1),
                relation(2)
            ),
        ),
        ("xl/worksheets/sheet1.xml", &sheet("Chain price")),
        ("xl/worksheets/sheet2.xml", &sheet(HIDDEN)),
    ])
}

/// A slide, and a hidden one.
pub(crate) fn slides() -> Vec<u8> {
    let slide = |attributes: &str, text: &str| {
        format!(
            "<p:sld {attributes}><p:cSld><p:spTree><p:sp><p:nvSpPr><p:cNvPr id='1'/></p:nvSpPr><p:txBody>\
             <a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
        )
    };
    package(&[
        ("[Content_Types].xml", "<Types/>"),
        (
            "ppt/presentation.xml",
            "<p:presentation><p:sldIdLst><p:sldId id='256' r:id='r1'/><p:sldId id='257' r:id='r2'/></p:sldIdLst>\
             </p:presentation>",
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            "<Relationships><Relationship Id='r1' Type='x/slide' Target='slides/slide1.xml'/>\
             <Relationship Id='r2' Type='x/slide' Target='slides/slide2.xml'/></Relationships>",
        ),
        ("ppt/slides/slide1.xml", &slide("", "Our chains last")),
        ("ppt/slides/slide2.xml", &slide("show='0'", HIDDEN)),
    ])
}

/// A paragraph, and one that is not displayed.
pub(crate) fn open_text() -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles><style:style style:name='H' style:family='text'>\
         <style:text-properties text:display='none'/></style:style></office:automatic-styles><office:body>\
         <office:text><text:p>Minutes of the meeting</text:p>\
         <text:p><text:span text:style-name='H'>{HIDDEN}</text:span></text:p></office:text></office:body>\
         </office:document-content>"
    );
    package(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("content.xml", &content),
    ])
}

/// A PDF with a page for each of these lists of lines.
pub(crate) fn pdf(pages: &[&[&str]]) -> Vec<u8> {
    pdf_of(&pdf_objects(pages), "")
}

/// A PDF whose page unpacks to 20 MB of spaces.
pub(crate) fn pdf_bomb() -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![b' '; 20 << 20]).unwrap();
    let mut objects = pdf_objects(&[&["x"]]);
    objects[4] = pdf_stream("/Filter /FlateDecode", &encoder.finish().unwrap());
    pdf_of(&objects, "")
}

pub(crate) fn pdf_of_nested_arrays() -> Vec<u8> {
    let mut objects = pdf_objects(&[&["x"]]);
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R /X ".to_vec();
    objects[0].extend(b"[".repeat(1_000_000));
    pdf_of(&objects, "")
}

/// A PDF with a password that nobody knows.
pub(crate) fn locked_pdf() -> Vec<u8> {
    let mut objects = pdf_objects(&[&["x"]]);
    let key = "41".repeat(32);
    objects.push(
        format!("<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{key}> /U <{key}> >>")
            .into_bytes(),
    );
    let id = "42".repeat(16);
    let trailer = format!("/Encrypt {} 0 R /ID [<{id}> <{id}>]", objects.len());
    pdf_of(&objects, &trailer)
}

/// The first object is the catalog, the fifth the content of the first page.
fn pdf_objects(pages: &[&[&str]]) -> Vec<Vec<u8>> {
    let kids: String = (0..pages.len())
        .map(|page| format!("{} 0 R ", 4 + 2 * page))
        .collect();
    let count = pages.len();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {count} >>").into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
    ];
    for (page, lines) in pages.iter().enumerate() {
        objects.push(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] \
                 /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
                5 + 2 * page
            )
            .into_bytes(),
        );
        let shown = lines.iter().zip(0_i32..).map(|(line, number)| {
            format!("BT /F1 12 Tf 72 {} Td ({line}) Tj ET\n", 720 - 20 * number)
        });
        objects.push(pdf_stream("", shown.collect::<String>().as_bytes()));
    }
    objects
}

fn pdf_stream(entries: &str, bytes: &[u8]) -> Vec<u8> {
    let mut object = format!("<< /Length {} {entries} >>\nstream\n", bytes.len()).into_bytes();
    object.extend(bytes);
    object.extend(b"\nendstream");
    object
}

/// With a right table of objects.
fn pdf_of(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (object, number) in objects.iter().zip(1..) {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let begins = file.len();
    let size = objects.len() + 1;
    file.extend(table.bytes());
    file.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{begins}\n%%EOF\n")
            .bytes(),
    );
    file
}

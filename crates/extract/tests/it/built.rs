//! Documents that tests build: packages, and PDFs with a right table of objects.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A ZIP package of these parts.
pub(crate) fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .expect("a part");
        writer.write_all(bytes).expect("its bytes");
    }
    writer.finish().expect("a package").into_inner()
}

/// A small package whose one part unpacks to 70 MB of spaces.
pub(crate) fn bomb(name: &str) -> Vec<u8> {
    bomb_beside(name, &[])
}

pub(crate) fn bomb_beside(name: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in parts {
        writer.start_file(*name, packed).expect("a part");
        writer.write_all(bytes).expect("its bytes");
    }
    writer.start_file(name, packed).expect("a part");
    let spaces = vec![b' '; 1024 * 1024];
    for _ in 0..70 {
        writer.write_all(&spaces).expect("spaces");
    }
    writer.finish().expect("a package").into_inner()
}

pub(crate) fn docx(body: &str) -> Vec<u8> {
    let document = format!(
        "<?xml version='1.0'?><w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>\
         <w:body>{body}</w:body></w:document>"
    );
    package(&[("word/document.xml", document.as_bytes())])
}

/// A PDF of these objects, numbered from 1; the first is the catalog.
pub(crate) fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    pdf_with_trailer(objects, "")
}

pub(crate) fn pdf_with_trailer(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n", number + 1).bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    file.extend(
        format!(
            "trailer\n<< /Size {} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF\n",
            objects.len() + 1
        )
        .bytes(),
    );
    file
}

/// A PDF with a page for each of these content streams.
pub(crate) fn pdf_pages(contents: &[&str]) -> Vec<u8> {
    pdf(&page_objects(contents))
}

pub(crate) fn page_objects(contents: &[&str]) -> Vec<Vec<u8>> {
    let kids: Vec<String> = (0..contents.len())
        .map(|page| format!("{} 0 R", 4 + 2 * page))
        .collect();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} >>",
            kids.join(" "),
            kids.len()
        )
        .into_bytes(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
    ];
    for (page, content) in contents.iter().enumerate() {
        objects.push(
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] \
                 /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
                5 + 2 * page
            )
            .into_bytes(),
        );
        objects.push(stream("", content.as_bytes()));
    }
    objects
}

pub(crate) fn stream(entries: &str, bytes: &[u8]) -> Vec<u8> {
    let mut object = format!("<< /Length {} {entries} >>\nstream\n", bytes.len()).into_bytes();
    object.extend(bytes);
    object.extend(b"\nendstream");
    object
}

/// A content stream that writes these lines.
pub(crate) fn lines(lines: &[&str]) -> String {
    let shown: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            format!(
                "BT /F1 12 Tf 72 {} Td ({line}) Tj ET",
                720 - 20 * number as i32
            )
        })
        .collect();
    shown.join("\n")
}

//! Documents that are small until they are unpacked.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A page whose content unpacks to so many spaces.
pub(super) fn pdf_bomb(bytes: usize) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    spaces(&mut packed, bytes);
    let packed = packed.finish().expect("packed spaces");
    let head = format!(
        "<< /Filter /FlateDecode /Length {} >>\nstream\n",
        packed.len()
    );
    let content = [head.as_bytes(), &packed, b"\nendstream"].concat();
    let objects: [&[u8]; 4] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
        &content,
    ];
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = String::from("xref\n0 5\n0000000000 65535 f \n");
    for (object, number) in objects.iter().zip(1..) {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(*object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    file.extend(table.bytes());
    file.extend(format!("trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
    file
}

/// A package whose document unpacks to so many spaces.
pub(super) fn docx_bomb(bytes: usize) -> Vec<u8> {
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let mut package = ZipWriter::new(Cursor::new(Vec::new()));
    package
        .start_file("word/document.xml", packed)
        .expect("a part");
    spaces(&mut package, bytes);
    package.finish().expect("a package").into_inner()
}

fn spaces(to: &mut impl Write, bytes: usize) {
    let block = [b' '; 1 << 16];
    for _ in 0..bytes / block.len() {
        to.write_all(&block).expect("spaces");
    }
}

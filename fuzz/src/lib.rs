//! What the targets for attachments share: one run of an extractor, and packages made of plain parts.

use std::io::{Cursor, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use mail::{ExtractFault, Format};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const MAX_CHARS: usize = 1_000;

/// As the child does it. Panics of the libraries are caught there and here; ours are findings.
pub fn attachment(format: Format, bytes: &[u8]) {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let ours = info
                .location()
                .is_some_and(|place| place.file().contains("crates/extract/"));
            if ours {
                loud(info);
            }
        }));
    });
    let run = AssertUnwindSafe(|| extract::formats::extract(format, bytes, MAX_CHARS));
    match catch_unwind(run) {
        Ok(Ok(done)) => {
            let text = std::str::from_utf8(done.text.bytes()).expect("UTF-8");
            assert!(text.chars().count() <= MAX_CHARS);
        }
        Ok(Err(fault)) => assert!(!matches!(
            fault,
            ExtractFault::Crashed | ExtractFault::TimedOut | ExtractFault::Unavailable
        )),
        Err(_) => {}
    }
}

/// A package of these parts, filled with the pieces of the input between NULs: mutations reach the XML, past
/// checksums and packing. An input that is a package already stays one.
pub fn package(names: &[&str], bytes: &[u8]) -> Vec<u8> {
    if bytes.starts_with(b"PK") {
        return bytes.to_vec();
    }
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, piece) in names.iter().zip(bytes.split(|octet| *octet == 0)) {
        writer.start_file(*name, stored).expect("a part");
        writer.write_all(piece).expect("its bytes");
    }
    writer.finish().expect("a package").into_inner()
}

//! Archives: what is in them by name and size. Nothing is unpacked, ever.

use std::fmt::Write as _;
use std::io::Cursor;

use mail::ExtractFault;
use zip::ZipArchive;

use super::draft::Draft;
use super::package::fault;

/// Names that are listed; the count says how many there are.
const MAX_LISTED: usize = 1_000;
/// Of one name.
const MAX_NAME: usize = 200;
const ARCHIVES: [&str; 16] = [
    "zip", "rar", "7z", "tar", "gz", "tgz", "bz2", "xz", "zst", "cab", "iso", "jar", "arj", "lzh",
    "img", "vhd",
];

pub(super) fn read(bytes: &[u8], draft: &mut Draft) -> Result<(), ExtractFault> {
    // A whole archive with no entry is as short as its end, and no reason to complain.
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(fault)?;
    if archive.is_empty() && bytes.len() < 22 {
        return Err(ExtractFault::Malformed);
    }
    let count = archive.len();
    let mut locked = 0usize;
    let mut total = 0u64;
    let mut lines = String::new();
    for index in 0..count {
        let Ok(entry) = archive.by_index_data(index) else {
            continue;
        };
        locked += usize::from(entry.encrypted());
        total = total.saturating_add(entry.size());
        if index >= MAX_LISTED {
            continue;
        }
        let name = name_of(entry.name_raw(), entry.name().ok().as_deref());
        if entry.is_dir() {
            let _ = writeln!(lines, "{name}");
            continue;
        }
        let _ = write!(lines, "{name} ({})", size(entry.size()));
        if is_archive(&name) {
            lines.push_str(", an archive");
        }
        if entry.encrypted() {
            lines.push_str(", encrypted");
        }
        lines.push('\n');
    }
    let mut title = format!(
        "archive of {count} {}, {} unpacked",
        if count == 1 { "entry" } else { "entries" },
        size(total)
    );
    if locked > 0 {
        let _ = write!(title, ", {locked} encrypted");
    }
    draft.label(&title);
    draft.push(&lines);
    if count > MAX_LISTED {
        draft.cut();
    }
    Ok(())
}

/// On one line, whatever it holds.
fn name_of(raw: &[u8], decoded: Option<&str>) -> String {
    let text = match decoded {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(raw).into_owned(),
    };
    let mut name: String = text
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .take(MAX_NAME)
        .collect();
    if text.chars().count() > MAX_NAME {
        name.push('…');
    }
    name
}

fn is_archive(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| {
        ARCHIVES
            .iter()
            .any(|archive| end.eq_ignore_ascii_case(archive))
    })
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use mail::Format;

    use super::super::built::{bomb, package};
    use super::super::tests::seen;
    use super::*;

    #[test]
    fn names_and_sizes_are_listed() {
        let file = package(&[
            ("a.txt", b"hello".as_slice()),
            ("dir/b.ZIP", &[0; 1_500]),
            ("evil\nname", b""),
        ]);
        assert_eq!(
            seen(Format::Zip, &file).text,
            "[archive of 3 entries, 2 kB unpacked]\na.txt (5 bytes)\ndir/b.ZIP (2 kB), an archive\nevil name (0 bytes)"
        );
    }

    #[test]
    fn nothing_is_unpacked() {
        assert_eq!(
            seen(Format::Zip, &bomb("zeros")).text,
            "[archive of 1 entry, 73.4 MB unpacked]\nzeros (73.4 MB)"
        );
    }

    #[test]
    fn a_password_is_said_beside_the_names() {
        let mut file = package(&[("secret.txt", b"hello".as_slice())]);
        // Bit 0 of the flags, in the entry and in the directory.
        for (mark, offset) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
            let at = file
                .windows(4)
                .position(|window| window == mark)
                .expect("a header");
            file[at + offset] |= 1;
        }
        let text = seen(Format::Zip, &file).text;
        assert!(
            text.contains("1 encrypted") && text.contains("secret.txt (5 bytes), encrypted"),
            "{text}"
        );
    }

    #[test]
    fn many_and_long_names_are_cut() {
        let names: Vec<String> = (0..MAX_LISTED + 5)
            .map(|number| format!("f{number}"))
            .collect();
        let long = "x".repeat(MAX_NAME + 50);
        let mut parts: Vec<(&str, &[u8])> = vec![(long.as_str(), b"")];
        parts.extend(names.iter().map(|name| (name.as_str(), &b""[..])));
        let found = seen(Format::Zip, &package(&parts));
        assert!(found.cut);
        assert!(
            found
                .text
                .contains(&format!("{}… (0", "x".repeat(MAX_NAME)))
        );
        assert!(found.text.contains("archive of 1006 entries"));
    }
}

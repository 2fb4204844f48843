//! What an attachment claims to be, by its type and by the end of its name.

use mail::Leaf;

use crate::changes::Changes;
use crate::words;

/// Kinds of files that do not pass for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    Text,
    Html,
    Calendar,
    Mail,
    Pdf,
    Rtf,
    /// Word processors, spreadsheets, slides, of any make.
    Office,
    Archive,
    Image,
    /// Sound or film.
    Media,
    Font,
    /// Machine code, installers.
    Program,
    Script,
}

/// What kind of text an attachment may have, before a byte of it was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promise {
    /// The beginning is worth reading.
    Text,
    Calendar,
    Mail,
    /// Only the whole can be read.
    Document,
    Nothing,
}

pub(crate) fn promise(leaf: &Leaf) -> Promise {
    let by_type = of_type(&leaf.mime_type);
    let by_name = extension(leaf).and_then(|end| of_extension(&end));
    match (by_type, by_name) {
        (Some(Family::Calendar), _) | (Some(Family::Text) | None, Some(Family::Calendar)) => {
            Promise::Calendar
        }
        (Some(Family::Mail), _) | (None, Some(Family::Mail)) => Promise::Mail,
        (Some(Family::Text | Family::Html), _) => Promise::Text,
        (Some(Family::Pdf | Family::Rtf | Family::Office | Family::Archive), _) => {
            Promise::Document
        }
        (
            Some(Family::Image | Family::Media | Family::Font | Family::Program | Family::Script),
            None,
        ) => Promise::Nothing,
        (None, None) if says_nothing(&leaf.mime_type) => Promise::Document,
        (None, None) => Promise::Nothing,
        (_, Some(Family::Image | Family::Media | Family::Font | Family::Program)) => {
            Promise::Nothing
        }
        (_, Some(_)) => Promise::Document,
    }
}

/// The end of the file name, lower case.
pub(crate) fn extension(leaf: &Leaf) -> Option<String> {
    let name = words::filename(leaf.filename.as_ref()?, &mut Changes::default());
    let (stem, end) = name.trim_end_matches(['.', ' ']).rsplit_once('.')?;
    let plain = !stem.is_empty()
        && (1..=8).contains(&end.len())
        && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| end.to_ascii_lowercase())
}

/// Types that senders put on anything.
pub(crate) fn says_nothing(mime_type: &str) -> bool {
    matches!(
        mime_type,
        "application/octet-stream"
            | "application/x-download"
            | "application/force-download"
            | "application/download"
            | "application/unknown"
            | "application/binary"
            | "binary/octet-stream"
            | "application/x-msdownload"
    )
}

pub(crate) fn of_type(mime_type: &str) -> Option<Family> {
    let (main, sub) = mime_type.split_once('/')?;
    let office = [
        "officedocument",
        "opendocument",
        "ms-excel",
        "ms-powerpoint",
        "ms-word",
    ];
    Some(match (main, sub) {
        ("text", "html") | ("application", "xhtml+xml") => Family::Html,
        ("text", "calendar" | "x-vcalendar") | ("application", "ics") => Family::Calendar,
        ("text" | "application", "rtf") => Family::Rtf,
        ("text", "javascript" | "x-shellscript" | "x-python" | "vbscript")
        | ("application", "javascript" | "x-javascript" | "x-sh" | "hta") => Family::Script,
        ("text", _) | ("application", "json" | "xml") | ("image", "svg+xml") => Family::Text,
        ("message", "rfc822" | "global") => Family::Mail,
        ("application", "pdf" | "x-pdf") => Family::Pdf,
        ("application", "msword" | "vnd.ms-outlook" | "x-ole-storage" | "vnd.visio") => {
            Family::Office
        }
        ("application", sub) if office.iter().any(|word| sub.contains(word)) => Family::Office,
        (
            "application",
            "zip"
            | "x-zip-compressed"
            | "x-zip"
            | "gzip"
            | "x-gzip"
            | "x-tar"
            | "x-7z-compressed"
            | "vnd.rar"
            | "x-rar-compressed"
            | "x-rar"
            | "x-bzip2"
            | "x-xz"
            | "zstd"
            | "vnd.ms-cab-compressed"
            | "epub+zip"
            | "java-archive",
        ) => Family::Archive,
        ("image", _) => Family::Image,
        ("audio" | "video", _) => Family::Media,
        ("font", _) => Family::Font,
        (
            "application",
            "x-executable"
            | "vnd.microsoft.portable-executable"
            | "x-dosexec"
            | "x-msdos-program"
            | "x-mach-binary"
            | "x-msi"
            | "java"
            | "wasm"
            | "vnd.android.package-archive",
        ) => Family::Program,
        _ => return None,
    })
}

pub(crate) fn of_extension(end: &str) -> Option<Family> {
    Some(match end {
        "txt" | "text" | "log" | "md" | "csv" | "tsv" | "json" | "xml" | "yaml" | "yml" | "svg"
        | "vcf" | "ini" | "conf" | "tex" | "diff" | "patch" | "asc" => Family::Text,
        "htm" | "html" | "xhtml" | "shtml" => Family::Html,
        "ics" | "vcs" | "ical" => Family::Calendar,
        "eml" | "mht" | "mhtml" => Family::Mail,
        "pdf" => Family::Pdf,
        "rtf" => Family::Rtf,
        "doc" | "dot" | "docx" | "docm" | "dotx" | "xls" | "xlsx" | "xlsm" | "xltx" | "xlsb"
        | "ppt" | "pps" | "pptx" | "pptm" | "ppsx" | "odt" | "ods" | "odp" | "msg" | "vsd"
        | "vsdx" | "one" => Family::Office,
        "zip" | "gz" | "tgz" | "tar" | "7z" | "rar" | "bz2" | "xz" | "zst" | "cab" | "epub"
        | "jar" => Family::Archive,
        "png" | "jpg" | "jpeg" | "gif" | "bmp" | "webp" | "tif" | "tiff" | "heic" | "heif"
        | "avif" | "ico" | "psd" => Family::Image,
        "mp3" | "wav" | "ogg" | "flac" | "m4a" | "aac" | "mp4" | "mov" | "avi" | "mkv" | "webm"
        | "wmv" | "mpg" | "mpeg" => Family::Media,
        "ttf" | "otf" | "woff" | "woff2" => Family::Font,
        "exe" | "dll" | "scr" | "com" | "msi" | "cpl" | "sys" | "apk" | "deb" | "rpm" | "dmg"
        | "elf" | "so" | "class" | "wasm" => Family::Program,
        "js" | "jse" | "vbs" | "vbe" | "ps1" | "bat" | "cmd" | "sh" | "py" | "hta" | "wsf"
        | "pl" => Family::Script,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{Flow, Raw, Section};

    #[test]
    fn types_and_names_promise_text() {
        for (mime_type, name, want) in [
            ("text/plain", "a.txt", Promise::Text),
            ("text/csv", "", Promise::Text),
            ("application/pdf", "", Promise::Document),
            ("application/octet-stream", "a.docx", Promise::Document),
            ("application/octet-stream", "A.EML", Promise::Mail),
            ("application/octet-stream", "", Promise::Document),
            ("application/octet-stream", "a.exe", Promise::Nothing),
            ("application/octet-stream", "a.png", Promise::Nothing),
            ("application/ics", "invite.ics", Promise::Calendar),
            ("image/png", "a.png", Promise::Nothing),
            ("image/png", "a.pdf", Promise::Document),
            (
                "application/pgp-signature",
                "signature.asc",
                Promise::Document,
            ),
            ("application/pkcs7-signature", "smime.p7s", Promise::Nothing),
            ("message/rfc822", "", Promise::Mail),
        ] {
            let leaf = Leaf {
                section: Section::parse("2").unwrap(),
                mime_type: mime_type.to_owned(),
                charset: None,
                encoding: "7bit".to_owned(),
                octets: 1,
                disposition: None,
                filename: (!name.is_empty()).then(|| Raw::copied(name.as_bytes())),
                content_id: None,
                flow: Flow::Fixed,
            };
            assert_eq!(promise(&leaf), want, "{mime_type} {name}");
        }
    }
}

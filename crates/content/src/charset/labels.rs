//! The names of charsets, as mail writes them.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, IBM866, ISO_2022_JP, KOI8_R, KOI8_U, MACINTOSH,
    SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_874, WINDOWS_1252, X_MAC_CYRILLIC,
};

use super::tables::{TABLES, Table};

/// What a label stands for.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    /// ASCII, or a word that says nothing: 8-bit bytes are in another charset.
    Ascii,
    Web(&'static Encoding),
    Table(&'static Table),
    Utf7,
    Utf32,
    Hz,
    Iso2022Kr,
    Iso2022Cn,
}

/// `None` for a label that is not known.
pub(super) fn charset(label: &str) -> Option<Charset> {
    let name: String = label
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    // Some labels of encoding_rs stand for less than they do in mail, so ours come first.
    ours(&name)
        .or_else(|| Encoding::for_label_no_replacement(label.as_bytes()).map(Charset::Web))
        .or_else(|| code_page(&name))
        .or_else(|| {
            let bare = name.strip_prefix('x').or(name.strip_prefix("cs"))?;
            ours(bare).or_else(|| code_page(bare))
        })
}

fn ours(name: &str) -> Option<Charset> {
    let web = match name {
        "usascii" | "ascii" | "ansix341968" | "iso646us" | "646" | "us" | "unknown"
        | "unknown8bit" | "8bit" | "7bit" | "binary" | "default" | "none" | "ansi" => {
            return Some(Charset::Ascii);
        }
        "utf7" | "unicode11utf7" | "unicode20utf7" => return Some(Charset::Utf7),
        "utf32" | "utf32be" | "utf32le" | "ucs4" | "ucs4be" | "ucs4le" | "iso10646ucs4" => {
            return Some(Charset::Utf32);
        }
        "hz" | "hzgb" | "hzgb2312" => return Some(Charset::Hz),
        "iso2022kr" => return Some(Charset::Iso2022Kr),
        "iso2022cn" | "iso2022cnext" => return Some(Charset::Iso2022Cn),
        "utf8mb4" | "utf8sig" | "utf8bom" | "unicode20utf8" => UTF_8,
        "iso2022jp1" | "iso2022jp2" | "iso2022jp3" | "iso2022jp2004" | "iso2022jpms" | "jis" => {
            ISO_2022_JP
        }
        "mskanji" | "shiftjis2004" | "shiftjisx0213" | "shiftjisms" => SHIFT_JIS,
        "eucjpms" | "eucjp2004" | "ujis" => EUC_JP,
        "uhc" | "ksx1001" => EUC_KR,
        "big5eten" | "big5hkscs2004" => BIG5,
        "euccn" | "gb231280" | "cngb" | "gb2312gbk" => GBK,
        "gb180302000" | "gb180302005" | "gb180302022" => GB18030,
        "macroman" => MACINTOSH,
        "macukraine" | "macukrainian" => X_MAC_CYRILLIC,
        "tis6200" | "tis62025330" | "tis62025331" | "thai8" => WINDOWS_874,
        "latin7" => encoding_rs::ISO_8859_13,
        "latin8" => encoding_rs::ISO_8859_14,
        "latin9" => encoding_rs::ISO_8859_15,
        "latin10" => encoding_rs::ISO_8859_16,
        _ => {
            let table = TABLES.iter().find(|table| table.names.contains(&name));
            return table.map(Charset::Table);
        }
    };
    Some(Charset::Web(web))
}

/// `cp1251`, `win-1251`, `windows_1251`, `ibm852`, `dos-852`, `iso8859_2` and other ways to give a
/// number.
fn code_page(name: &str) -> Option<Charset> {
    const PREFIXES: [&str; 9] = [
        "windows", "codepage", "win", "ibm", "dos", "oem", "ms", "cp", "pc",
    ];
    let iso = name.strip_prefix("iso").unwrap_or(name);
    if let Some(part) = iso.strip_prefix("8859") {
        return iso_8859(part);
    }
    let number = PREFIXES
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    let web = match number {
        "819" => WINDOWS_1252,
        "866" => IBM866,
        "874" => WINDOWS_874,
        "932" | "943" | "31j" => SHIFT_JIS,
        "936" => GBK,
        "949" | "970" => EUC_KR,
        "950" | "1375" => BIG5,
        "1200" => UTF_16LE,
        "1201" => UTF_16BE,
        "10000" => MACINTOSH,
        "10007" | "10017" => X_MAC_CYRILLIC,
        "12000" | "12001" => return Some(Charset::Utf32),
        "20127" => return Some(Charset::Ascii),
        "20866" | "878" => KOI8_R,
        "21866" => KOI8_U,
        "50220" | "50221" | "50222" => ISO_2022_JP,
        "20932" | "51932" => EUC_JP,
        "51936" => GBK,
        "51949" => EUC_KR,
        "50225" => return Some(Charset::Iso2022Kr),
        "52936" => return Some(Charset::Hz),
        "54936" => GB18030,
        "65000" => return Some(Charset::Utf7),
        "65001" => UTF_8,
        _ => {
            if let Some(part) = number.strip_prefix("28").filter(|_| number.len() == 5) {
                let part: u32 = part.parse().ok()?;
                return iso_8859(&part.checked_sub(590)?.to_string());
            }
            let page = format!("cp{number}");
            let web = format!("windows-{number}");
            return ours(&page)
                .or_else(|| Encoding::for_label_no_replacement(web.as_bytes()).map(Charset::Web));
        }
    };
    Some(Charset::Web(web))
}

fn iso_8859(part: &str) -> Option<Charset> {
    let label = format!("iso-8859-{part}");
    Encoding::for_label_no_replacement(label.as_bytes()).map(Charset::Web)
}

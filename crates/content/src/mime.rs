//! What we take from mail-parser: its charset decoders and its tolerant date parser.
//!
//! The only file that names mail_parser, so that moving to another version is one change.
//! Its message parser is not used: it rescans the rest of the message for every multipart whose boundary
//! is missing, and its offsets are not those of IMAP sections. [`crate::outline`] splits messages instead.

use mail_parser::DateTime;
use mail_parser::decoders::charsets::map::charset_decoder;

/// Decodes charsets that the web has forgotten and mail has not (utf-7, ibm850, …).
pub(crate) fn rare_charset(label: &str, bytes: &[u8]) -> Option<String> {
    charset_decoder(label.as_bytes()).map(|decode| decode(bytes))
}

/// Seconds since 1970 of an RFC 5322 date, with the obsolete forms and common mistakes.
pub(crate) fn date(text: &str) -> Option<i64> {
    let parsed = DateTime::parse_rfc822(text)?;
    parsed.is_valid().then(|| parsed.to_timestamp())
}

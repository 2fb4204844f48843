//! The two ways to read a message that are compared.

use bytes::Bytes;
use content::{BodyWish, Completeness, HtmlWish, Known};
use mail::{Fetched, Part};

/// A bare parse: every part found and decoded, nothing rendered.
pub(crate) fn parse(raw: &[u8]) -> usize {
    let message = mail_parser::MessageParser::default().parse(raw).unwrap();
    message.parts.len()
}

/// What `imap_get_message` does with a message once it is there.
pub(crate) fn view(raw: &[u8]) -> usize {
    let wish = BodyWish {
        offset: 0,
        max_chars: 2_000,
        html: HtmlWish::Skip,
        attachment_text: None,
    };
    let outline = content::outline(raw);
    let parts = content::choose(&outline.structure, &wish)
        .into_iter()
        .filter_map(|wish| {
            let (bytes, whole) = outline.part(&wish.section)?;
            let most = usize::try_from(wish.max_bytes).unwrap_or(usize::MAX);
            let kept = bytes.get(..most).unwrap_or(bytes);
            Some(Part {
                section: wish.section,
                bytes: Bytes::copy_from_slice(kept),
                truncated: kept.len() < bytes.len() || whole == Completeness::Cut,
            })
        })
        .collect();
    let fetched = Fetched {
        flags: None,
        arrived: None,
        size: raw.len() as u64,
        header: Bytes::copy_from_slice(outline.header()),
        header_truncated: false,
        structure: outline.structure.clone(),
        parts,
    };
    let view = content::view(&fetched, &wish, &Known::default());
    view.body_text.map_or(0, |text| text.len()) + view.attachments.len()
}

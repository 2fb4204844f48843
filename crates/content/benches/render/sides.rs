//! The two ways to read a message that are compared.

use content::{BodyWish, Completeness, HtmlWish, Known};

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
        only: None,
    };
    let fetched = content::outline(raw).fetched(&wish, Completeness::Complete);
    let view = content::view(&fetched, &wish, &Known::default());
    view.body_text.map_or(0, |text| text.len()) + view.attachments.len()
}

//! A mail source over one raw message: what a local store does.

use bytes::Bytes;
use content::{BodyWish, Completeness, HtmlWish, Known, View};
use mail::{Fetched, Part};

pub(crate) fn wish() -> BodyWish {
    BodyWish {
        offset: 0,
        max_chars: 2_000,
        html: HtmlWish::Skip,
        attachment_text: None,
    }
}

pub(crate) fn fetched(raw: &[u8], wish: &BodyWish) -> Fetched {
    let outline = content::outline(raw);
    let parts = content::choose(&outline.structure, wish)
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
    Fetched {
        flags: Some(Vec::new()),
        arrived: None,
        size: raw.len() as u64,
        header: Bytes::copy_from_slice(outline.header()),
        header_truncated: false,
        structure: outline.structure.clone(),
        parts,
    }
}

pub(crate) fn view(raw: impl AsRef<[u8]>, wish: &BodyWish) -> View {
    content::view(&fetched(raw.as_ref(), wish), wish, &Known::default())
}

pub(crate) fn codes(view: &View) -> Vec<&'static str> {
    view.notes.iter().map(|note| note.code()).collect()
}

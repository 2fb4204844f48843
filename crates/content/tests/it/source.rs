//! A mail source over one raw message: what a local store does.

use content::{BodyWish, Completeness, HtmlWish, Known, View};
use mail::Fetched;

pub(crate) fn wish() -> BodyWish {
    BodyWish {
        offset: 0,
        max_chars: 2_000,
        html: HtmlWish::Skip,
        attachment_text: None,
        only: None,
    }
}

pub(crate) fn fetched(raw: &[u8], wish: &BodyWish) -> Fetched {
    Fetched {
        not_downloaded: Vec::new(),
        flags: Some(Vec::new()),
        ..content::outline(raw).fetched(wish, Completeness::Cut)
    }
}

pub(crate) fn view(raw: impl AsRef<[u8]>, wish: &BodyWish) -> View {
    content::view(&fetched(raw.as_ref(), wish), wish, &Known::default())
}

pub(crate) fn codes(view: &View) -> Vec<&'static str> {
    view.notes.iter().map(|note| note.code()).collect()
}

/// A text without what is marked as uncertain.
pub(crate) fn without_uncertain(text: &str, runs: &[content::UncertainRun]) -> String {
    let is_uncertain = |at: usize| runs.iter().any(|run| (run.start..run.end).contains(&at));
    let chars = text.chars().enumerate();
    chars
        .filter(|(at, _)| !is_uncertain(*at))
        .map(|(_, char)| char)
        .collect()
}

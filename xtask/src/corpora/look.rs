//! One message viewed as by the greediest caller, with the time and the heap that takes. Judges nothing.
//!
//! The heap is counted by the allocator: it is exact for each message, where the memory of a process is not. A buffer
//! that grows counts twice while it moves. Attachments are read as far as `content` reads them; PDF and Office files
//! belong to a child of the program.

use std::thread;
use std::time::Instant;

use content::{BodyWish, Completeness, HtmlWish, Known, View};
use peak_alloc::PeakAlloc;
use testkit::corpora::{Sample, Shown};

/// Counts, for the whole program.
pub(crate) const HEAP: PeakAlloc = PeakAlloc;

/// As much as the threads have on which the program looks at mail.
const STACK: usize = 2 * 1024 * 1024;

const WISH: BodyWish = BodyWish {
    offset: 0,
    max_chars: 20_000,
    html: HtmlWish::Include,
    attachment_text: Some(50_000),
    only: None,
};

pub(super) struct Look {
    pub ms: f64,
    pub peak_mb: f64,
    pub missing: Vec<String>,
    pub notes: Vec<&'static str>,
}

/// None when it panicked, which has been printed then.
pub(super) fn look(sample: &Sample) -> Option<Look> {
    thread::scope(|scope| {
        let viewing = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || {
                let before = HEAP.current_usage();
                HEAP.reset_peak_usage();
                let begun = Instant::now();
                let view = view(&sample.raw);
                let time = begun.elapsed();
                let peak = HEAP.peak_usage().saturating_sub(before);
                Look {
                    ms: time.as_secs_f64() * 1e3,
                    peak_mb: peak as f64 / 1e6,
                    missing: missing(sample, &view),
                    notes: view.notes.iter().map(content::Note::code).collect(),
                }
            });
        viewing.ok()?.join().ok()
    })
}

fn view(raw: &[u8]) -> View {
    let fetched = content::outline(raw).fetched(&WISH, Completeness::Cut);
    content::view(&fetched, &WISH, &Known::default())
}

fn missing(sample: &Sample, view: &View) -> Vec<String> {
    let attached = view.attachments.iter();
    let mut texts: Vec<&str> = attached
        .filter_map(|attachment| attachment.extracted_text.as_deref())
        .collect();
    texts.extend(view.body_text.as_deref());
    sample.missing(&Shown {
        subject: view.subject.as_deref(),
        texts: &texts,
    })
}

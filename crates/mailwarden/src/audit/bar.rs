//! How far reading has come, on stderr: for large logs, and only for eyes.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Below, it is over before it can be seen.
const LARGE: u64 = 64 << 20;

#[derive(Default)]
pub(super) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(super) fn show(&mut self, done: u64, total: u64) {
        if total < LARGE || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.0.get_or_insert_with(|| new(total));
        bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn new(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let look = ProgressStyle::with_template(
        "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    );
    bar.with_style(look.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

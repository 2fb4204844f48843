//! How far a look at a folder has come, on stderr, for eyes only.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new(title: String) -> Self {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let look = ProgressStyle::with_template("{msg} {bar:30} {pos} of {len}, {eta} left");
        let look = look.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(0), target).with_style(look);
        bar.set_message(title);
        Self(bar)
    }

    pub(super) fn show(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

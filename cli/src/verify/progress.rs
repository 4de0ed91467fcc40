//! The line that says how far an exploration is, on a terminal.

use crate::numbers::grouped;
use crate::style::Style;
use carrousel_verify::explore::SearchProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The line, on standard error. It is gone when the result comes.
pub(crate) struct Line {
    bar: Option<ProgressBar>,
}

impl Line {
    /// A line that begins with `name`; empty without a terminal.
    pub(crate) fn new(name: &str, errors: Style) -> Self {
        let bar = errors.terminal.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix}: {wide_msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(name.to_owned());
            bar
        });
        Self { bar }
    }

    /// Shows the state of an exploration.
    pub(crate) fn show(&self, progress: SearchProgress) {
        let Some(bar) = &self.bar else { return };
        let elapsed = progress.elapsed.as_secs_f64().max(1e-3);
        let rate = (progress.generated as f64 / elapsed) as u64;
        bar.set_message(format!(
            "{} states, {} generated/s, frontier {}, {:.0} s",
            grouped(progress.states),
            grouped(rate),
            grouped(progress.frontier),
            elapsed
        ));
        bar.tick();
    }

    /// Shows anything else.
    pub(crate) fn say(&self, text: String) {
        let Some(bar) = &self.bar else { return };
        bar.set_message(text);
        bar.tick();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! The progress of the measurements, on the user's terminal.

use carrousel_bench::{Plan, Progress};
use carrousel_scenario::units;
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::OpenOptions;
use std::path::Path;

/// A bar. It moves between measurements only: a thread that drew it meanwhile would take a core from what
/// is measured.
pub(super) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar on `terminal`, which is where the errors of the process that has started this one go: its own
    /// are lines in a pipe. None without a terminal, or when it cannot be opened.
    pub(super) fn new(terminal: Option<&Path>, plan: &Plan) -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open(terminal?).ok()?;
        let term = Term::read_write_pair(file.try_clone().ok()?, file);
        let target = ProgressDrawTarget::term(term, 20);
        let bar = ProgressBar::with_draw_target(Some(plan.steps().len() as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        Some(Self { bar })
    }

    /// Shows what is measured now.
    pub(super) fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Begins(step) => {
                let size = units::size(step.size);
                let to = step.connections.map_or(String::new(), |partners| format!(", partners: {partners}"));
                let case = step.case.map_or(String::new(), |case| format!(", {}", case.name()));
                self.bar.set_message(format!("{}{case}, {size} bytes{to}", step.benchmark.name()));
                self.bar.tick();
            }
            Progress::Done(_) => self.bar.inc(1),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

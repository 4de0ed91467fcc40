//! A run of steps, each with its time, and a last line that counts them.

use std::process::ExitCode;
use std::time::Instant;

/// How many steps are named that took longest.
const LONGEST: usize = 12;

/// How a step ended that has not failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    Passed,
    /// A requirement of the step is missing here, and why.
    Skipped(String),
}

impl From<()> for StepOutcome {
    fn from((): ()) -> Self {
        Self::Passed
    }
}

/// The steps so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The text that the name of a step has to contain for it to be taken.
    only: String,
    passed: u32,
    skipped: Vec<String>,
    failed: Vec<String>,
    /// Each step that was taken, and its seconds.
    times: Vec<(String, f64)>,
}

impl Steps {
    /// Before the first step. Those whose name does not contain `only` are not taken.
    pub(crate) fn new(only: &str) -> Self {
        Self { only: only.to_owned(), ..Self::default() }
    }

    /// Takes a step. One that fails does not keep the others from being taken.
    pub(crate) fn step<E: Into<StepOutcome>>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<E, String>,
    ) {
        if !name.contains(&self.only) {
            return;
        }
        println!("==> {name}");
        let began = Instant::now();
        let done = work();
        let seconds = began.elapsed().as_secs_f64();
        self.times.push((name.to_owned(), seconds));
        match done.map(Into::into) {
            Ok(StepOutcome::Passed) => {
                self.passed += 1;
                println!("==> {name}: passed, {seconds:.1} s\n");
            }
            Ok(StepOutcome::Skipped(why)) => {
                self.skipped.push(format!("{name}: {why}"));
                println!("==> {name}: SKIPPED: {why}\n");
            }
            Err(message) => {
                self.failed.push(name.to_owned());
                println!("==> {name}: FAILED, {seconds:.1} s: {message}\n");
            }
        }
    }

    /// The last lines, and whether all have passed.
    pub(crate) fn finish(mut self) -> ExitCode {
        self.times.sort_by(|one, other| other.1.total_cmp(&one.1));
        let all: f64 = self.times.iter().map(|(_, seconds)| seconds).sum();
        println!("{all:.0} s, most of them for:");
        for (name, seconds) in self.times.iter().take(LONGEST) {
            println!("{seconds:6.0} s  {name}");
        }
        for step in &self.skipped {
            println!("skipped: {step}");
        }
        for name in &self.failed {
            println!("failed: {name}");
        }
        let (skipped, failed) = (self.skipped.len(), self.failed.len());
        println!("{} passed, {skipped} skipped, {failed} failed", self.passed);
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

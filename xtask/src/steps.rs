//! A run of steps, each with its time, and a last line that counts them.

use std::process::ExitCode;
use std::time::Instant;

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

    /// The last line, and whether all have passed.
    pub(crate) fn finish(self) -> ExitCode {
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

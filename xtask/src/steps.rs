//! A run of steps, each with its time, and a last line that counts them.

use std::process::ExitCode;
use std::time::Instant;

/// The steps so far.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    passed: u32,
    failed: Vec<String>,
}

impl Steps {
    /// Takes a step. One that fails does not keep the others from being taken.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Result<(), String>) {
        println!("==> {name}");
        let began = Instant::now();
        let done = work();
        let seconds = began.elapsed().as_secs_f64();
        match done {
            Ok(()) => {
                self.passed += 1;
                println!("==> {name}: passed, {seconds:.1} s\n");
            }
            Err(message) => {
                self.failed.push(name.to_owned());
                println!("==> {name}: FAILED, {seconds:.1} s: {message}\n");
            }
        }
    }

    /// The last line, and whether all have passed.
    pub(crate) fn finish(self) -> ExitCode {
        for name in &self.failed {
            println!("failed: {name}");
        }
        println!("{} passed, {} failed", self.passed, self.failed.len());
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

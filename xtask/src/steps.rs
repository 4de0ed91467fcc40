//! A run of steps, each with its time, and a last line that counts them.

use crate::tools::held;
use std::collections::VecDeque;
use std::io;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
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

/// A step that may be taken beside others.
pub(crate) struct ParallelStep {
    name: String,
    work: Box<dyn FnOnce() -> Result<StepOutcome, String> + Send>,
}

impl ParallelStep {
    /// A step of this name.
    pub(crate) fn new<E: Into<StepOutcome>>(
        name: impl Into<String>,
        work: impl FnOnce() -> Result<E, String> + Send + 'static,
    ) -> Self {
        Self { name: name.into(), work: Box::new(|| work().map(Into::into)) }
    }
}

/// The steps so far.
#[derive(Debug)]
pub(crate) struct Steps {
    began: Instant,
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
        Self {
            began: Instant::now(),
            only: only.to_owned(),
            passed: 0,
            skipped: Vec::new(),
            failed: Vec::new(),
            times: Vec::new(),
        }
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
        self.ended(name, began.elapsed().as_secs_f64(), done.map(Into::into));
    }

    /// Takes steps that hold each other up little: as many at a time as there are processors, in this order. The output of
    /// each is shown when it has ended.
    pub(crate) fn together(&mut self, steps: Vec<ParallelStep>) {
        let at_once = thread::available_parallelism().map_or(1, usize::from);
        let taken = steps.into_iter().filter(|step| step.name.contains(&self.only));
        let waiting = Mutex::new(taken.collect::<VecDeque<_>>());
        let over = Mutex::new(self);
        let work = || {
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            while let Some(ParallelStep { name, work }) = next() {
                let began = Instant::now();
                let ran = held(work);
                let seconds = began.elapsed().as_secs_f64();
                let mut steps = over.lock().unwrap_or_else(PoisonError::into_inner);
                println!("==> {name}");
                let done = ran.and_then(|(done, mut shown)| {
                    io::copy(&mut shown, &mut io::stdout())?;
                    Ok(done)
                });
                let done = done.unwrap_or_else(|error| Err(format!("its output cannot be kept: {error}")));
                steps.ended(&name, seconds, done);
            }
        };
        thread::scope(|scope| {
            for _ in 0..at_once {
                scope.spawn(work);
            }
        });
    }

    fn ended(&mut self, name: &str, seconds: f64, done: Result<StepOutcome, String>) {
        self.times.push((name.to_owned(), seconds));
        match done {
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
        println!("{:.0} s, most of them for:", self.began.elapsed().as_secs_f64());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;
    use std::io::Read;
    use std::process::Command;

    #[test]
    fn steps_beside_each_other_are_counted_as_those_after_each_other() {
        let mut steps = Steps::new("taken");
        steps.together(vec![
            ParallelStep::new("taken 1", || Ok::<_, String>(())),
            ParallelStep::new("taken 2", || Err::<(), _>("no".to_owned())),
            ParallelStep::new("another", || Err::<(), _>("it is not taken".to_owned())),
            ParallelStep::new("taken 3", || Ok::<_, String>(StepOutcome::Skipped("why".to_owned()))),
        ]);
        steps.step("taken 4", || Ok::<_, String>(()));
        let mut names: Vec<&str> = steps.times.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["taken 1", "taken 2", "taken 3", "taken 4"]);
        assert_eq!((steps.passed, steps.failed, steps.skipped.len()), (2, vec!["taken 2".to_owned()], 1));
    }

    #[test]
    fn output_that_is_held_is_whole() {
        let (done, mut shown) = held(|| {
            tools::show("before");
            let mut shell = Command::new("sh");
            shell.args(["-c", "echo out; echo err >&2"]);
            tools::run(shell)?;
            tools::shown_output_of(Command::new("echo").arg("told"))
        })
        .expect("there is a place for it");
        assert_eq!(done, Ok("told\n".to_owned()));
        let mut text = String::new();
        shown.read_to_string(&mut text).expect("it is text");
        assert_eq!(text, "before\nout\nerr\ntold\n");
    }
}

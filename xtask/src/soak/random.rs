//! Random jobs: how each is started, what is done to it, and how it has to end.

use super::job::{Fault, SoakJob};
use super::processes::{self, signal_to};
use super::run::{CONTAINER, GONE, JobEnd, Line, Programs, Running, may_contain, signal_of};
use super::tally::JobOutcome;
use super::traces;
use fastrand::Rng;
use rustix::process::Signal;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How long a job may take by itself: many times what it takes where every processor has several ranks.
const LIMIT: Duration = Duration::from_secs(120);
/// How long it may take to end when it has to: the launcher's grace periods, on a busy machine.
const END: Duration = Duration::from_secs(40);

impl SoakJob {
    /// How it is started. The trace goes to that directory.
    fn line(&self, programs: &Programs, trace: &Path) -> Line {
        let mut line = Line::default();
        if self.container && may_contain() {
            line.push(CONTAINER);
        }
        line.push([programs.carrousel.as_os_str()]);
        line.push(["run", "-n", &self.ranks.to_string()]);
        line.push(self.arguments.iter());
        if self.trace {
            line.push(["--trace".as_ref(), trace.as_os_str()]);
        }
        line.push(["--"]);
        let script = match (self.leaves, self.fault == Fault::TerminateStubborn) {
            (false, false) => None,
            (true, false) => Some("setsid sleep 600 & exec \"$@\""),
            (false, true) => Some("trap '' TERM; exec \"$@\""),
            (true, true) => Some("setsid sleep 600 & trap '' TERM; exec \"$@\""),
        };
        if let Some(script) = script {
            line.push(["sh", "-c", script, "sh"]);
        }
        line.push([programs.soak.as_os_str()]);
        let (seed, steps) = (self.seed.to_string(), self.steps.to_string());
        line.push(["--seed", &seed, "--steps", &steps, "--shape", self.shape]);
        if self.fault == Fault::ReaderLeaves {
            line.push(["--verbose"]);
        }
        line.variables = self.options.iter().map(|(name, value)| (name.clone(), value.into())).collect();
        line
    }

    /// Runs it, and judges it.
    pub(super) fn run(&self, programs: &Programs) -> Result<JobOutcome, String> {
        let place = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
        let trace = place.path().join("trace");
        let line = self.line(programs, &trace);
        let mut rng = Rng::with_seed(self.seed ^ 1);
        let reads = (self.fault == Fault::ReaderLeaves).then(|| rng.usize(1..50));
        let mut running = Running::start(&line, reads)?;
        let (hit, launcher) = self.harm(&mut running, programs, &mut rng);
        let ended = running.end(if self.fault.is_final() { END } else { LIMIT }, launcher);
        let mut outcome = JobOutcome::of(&ended, self.fault.name(), self.ranks, line.shown());
        outcome.repeat = format!("cargo xtask soak --job {} --ranks {}", self.seed, self.ranks);
        if ended.status.is_some() {
            outcome.wrong.extend(self.judge(&ended, hit));
        }
        if self.trace && outcome.wrong.is_empty() {
            traces::check(programs, &trace, self.fault == Fault::None, &mut rng, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Does to it what it is for. Which rank was hit, and the launcher.
    fn harm(&self, running: &mut Running, programs: &Programs, rng: &mut Rng) -> (Option<u32>, i32) {
        let own = running.child.id() as i32;
        if matches!(self.fault, Fault::None | Fault::ReaderLeaves) {
            return (None, own);
        }
        // A launcher that is asked to end may have started one rank, or all.
        let awaited = match self.fault {
            Fault::Terminate | Fault::KillLauncher => rng.usize(1..=self.ranks as usize),
            _ => self.ranks as usize,
        };
        let run = running.ranks_run(awaited, &programs.soak);
        let launcher = running.launcher(&programs.carrousel);
        if !run {
            return (None, launcher);
        }
        thread::sleep(self.after);
        let ranks = processes::ranks(&running.mark, &programs.soak);
        match self.fault {
            Fault::None | Fault::ReaderLeaves => {}
            Fault::Pause => {
                for _ in 0..rng.u32(1..6) {
                    let some: Vec<_> = ranks.iter().filter(|_| rng.u32(..3) == 0).collect();
                    some.iter().for_each(|rank| rank.signal(Signal::STOP));
                    thread::sleep(Duration::from_millis(rng.u64(..200)));
                    some.iter().for_each(|rank| rank.signal(Signal::CONT));
                    thread::sleep(Duration::from_millis(rng.u64(..50)));
                }
            }
            Fault::KillRank => {
                let victim = rng.choice(&ranks);
                victim.inspect(|victim| victim.signal(Signal::KILL));
                return (victim.and_then(|victim| victim.rank), launcher);
            }
            Fault::Terminate | Fault::TerminateStubborn => signal_to(launcher, Signal::TERM),
            Fault::KillLauncher => signal_to(launcher, Signal::KILL),
        }
        (None, launcher)
    }

    /// Errors in how it ended.
    fn judge(&self, ended: &JobEnd, hit: Option<u32>) -> Vec<String> {
        let mut wrong = Vec::new();
        let code = match self.fault {
            Fault::None | Fault::Pause => 0,
            Fault::KillRank => 128 + Signal::KILL.as_raw(),
            Fault::Terminate | Fault::TerminateStubborn => 128 + Signal::TERM.as_raw(),
            Fault::ReaderLeaves => 128 + Signal::PIPE.as_raw(),
            Fault::KillLauncher if signal_of(ended) == Some(Signal::KILL.as_raw()) => return wrong,
            // The process outside of a container ends with a status of its own.
            Fault::KillLauncher if self.container => return wrong,
            Fault::KillLauncher => 128 + Signal::KILL.as_raw(),
        };
        if ended.code() != Some(code) {
            wrong.push(format!("the job ended with {}, expected {code}", ended.status()));
        }
        let reports = ended.reports.len();
        if code == 0 && reports != self.ranks as usize {
            wrong.push(format!("{reports} of {} ranks have said that they are done", self.ranks));
        }
        if self.fault == Fault::KillRank {
            let expected = hit.map(|rank| format!("rank {rank} was killed by SIGKILL"));
            if expected.as_ref().is_none_or(|text| !ended.stderr.contains(text)) {
                wrong.push(format!("no message says that a rank was killed: expected {expected:?}"));
            }
        }
        if self.fault == Fault::ReaderLeaves && ended.stderr.lines().any(|line| line.contains("error")) {
            wrong.push("a reader that leaves is complained of".to_owned());
        }
        wrong
    }
}

/// Processes of a launcher that is gone may take so long to be gone.
const _: () = assert!(GONE.as_secs() < END.as_secs());

//! A run of steps, each with its time, and a last line that counts them.

use crate::tools::{held, show, target};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;
use std::{env, io};

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

/// What comes of a step whose requirements cannot be had: where everything can be installed, nothing is left out.
pub(crate) fn left_out(why: String) -> Result<StepOutcome, String> {
    if env::var("CI").is_ok_and(|ci| ci == "true") { Err(why) } else { Ok(StepOutcome::Skipped(why)) }
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

/// How long the steps took when they were last taken here, in seconds, by name.
#[derive(Clone, Debug, Default, PartialEq)]
struct LastTimes(BTreeMap<String, f64>);

impl LastTimes {
    fn path() -> PathBuf {
        target().join("xtask-steps.json")
    }

    /// Those of this build directory; none where they cannot be read.
    fn read() -> Self {
        let text = fs::read(Self::path()).unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    /// Keeps them for the next time. That they cannot be kept is no reason to fail.
    fn write(&self) {
        let _ = serde_json::to_vec_pretty(&self.0).map(|text| fs::write(Self::path(), text));
    }

    /// `62 s`, or what stands for it.
    fn of(&self, name: &str) -> String {
        self.0.get(name).map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.0} s"))
    }

    /// All that is known of some steps, in words; `None` if nothing is.
    fn sum<'a>(&self, names: impl Iterator<Item = &'a String>) -> Option<String> {
        let (mut seconds, mut unknown) = (0.0, 0);
        for name in names {
            match self.0.get(name) {
                Some(known) => seconds += known,
                None => unknown += 1,
            }
        }
        let rest = if unknown == 0 { String::new() } else { format!(", and {unknown} that were not") };
        (seconds > 0.0)
            .then(|| format!("{:.0} min when they were last taken here{rest}", f64::ceil(seconds / 60.0)))
    }
}

/// The steps so far.
#[derive(Debug)]
pub(crate) struct Steps {
    began: Instant,
    /// Names are collected, and no step is taken.
    lists: bool,
    /// The names of the steps that are taken, as far as they are known before.
    names: Vec<String>,
    last: LastTimes,
    /// The text that the name of a step has to contain for it to be taken.
    only: String,
    passed: u32,
    skipped: Vec<String>,
    failed: Vec<String>,
    /// Each step that was taken, and its seconds.
    times: Vec<(String, f64)>,
}

/// The beginning of names of steps that build much: they are taken where they are asked for.
const ON_REQUEST: &str = "dist";

/// Whether a step is taken where names have to contain `only`.
fn is_taken(name: &str, only: &str) -> bool {
    name.contains(only) && (!name.starts_with(ON_REQUEST) || only.starts_with(ON_REQUEST))
}

impl Steps {
    /// Before the first step. Those whose name does not contain `only` are not taken.
    pub(crate) fn new(only: &str) -> Self {
        Self {
            began: Instant::now(),
            lists: false,
            names: Vec::new(),
            last: LastTimes::read(),
            only: only.to_owned(),
            passed: 0,
            skipped: Vec::new(),
            failed: Vec::new(),
            times: Vec::new(),
        }
    }

    /// Those of the steps of `take` whose name contains `only`. Says how many they are, and how long they took last time.
    ///
    /// # Errors
    /// When no name contains `only`: a text that names the nearest one.
    pub(crate) fn announced(only: &str, take: impl FnOnce(&mut Self)) -> Result<Self, String> {
        let all = Self::listed(take);
        let mut steps = Self::new(only);
        steps.names = all.iter().filter(|name| is_taken(name, only)).cloned().collect();
        if steps.names.is_empty() {
            let near = all.iter().max_by(|one, other| {
                let [one, other] = [one, other].map(|name| nearness(name, only));
                one.total_cmp(&other)
            });
            let near = near.filter(|name| nearness(name, only) > 0.85);
            let near = near.map_or_else(String::new, |name| format!(" Did you mean `{name}`?"));
            return Err(format!(
                "no step has `{only}` in its name.{near} `cargo xtask test --list` names all"
            ));
        }
        let count = steps.names.len();
        match steps.last.sum(steps.names.iter()) {
            Some(time) if count > 1 => show(&format!("{count} steps: {time}\n")),
            None if count > 1 => {
                show(&format!("{count} steps; all of them take about an hour on two cores\n"))
            }
            _ => {}
        }
        Ok(steps)
    }

    /// The names of the steps that `take` takes.
    fn listed(take: impl FnOnce(&mut Self)) -> Vec<String> {
        let mut steps = Self { lists: true, ..Self::new("") };
        take(&mut steps);
        steps.names
    }

    /// Prints the names of the steps that `take` takes, each with its time when it was last taken here.
    pub(crate) fn list(take: impl FnOnce(&mut Self)) {
        let (names, last) = (Self::listed(take), LastTimes::read());
        for name in &names {
            show(&format!("{:>7}  {name}", last.of(name)));
        }
        let time = last.sum(names.iter()).unwrap_or_else(|| "none was taken here so far".to_owned());
        show(&format!("{} steps: {time}", names.len()));
    }

    /// A line before a step, or behind it, where others are taken beside it.
    fn announce(&self, name: &str) {
        let number = self.names.iter().position(|known| known == name);
        let number = number.map(|at| format!("{} of {}", at + 1, self.names.len()));
        let time = self.last.0.contains_key(name).then(|| format!("{} last time", self.last.of(name)));
        let known: Vec<String> = [number, time].into_iter().flatten().collect();
        match known.is_empty() {
            true => show(&format!("==> {name}")),
            false => show(&format!("==> {name} ({})", known.join(", "))),
        }
    }

    /// Takes a step. One that fails does not keep the others from being taken.
    pub(crate) fn step<E: Into<StepOutcome>>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<E, String>,
    ) {
        if self.lists {
            return self.names.push(name.to_owned());
        }
        if !is_taken(name, &self.only) {
            return;
        }
        self.announce(name);
        let began = Instant::now();
        let done = work();
        self.ended(name, began.elapsed().as_secs_f64(), done.map(Into::into));
    }

    /// Takes steps that hold each other up little: as many at a time as there are processors, in this order. The output of
    /// each is shown when it has ended.
    pub(crate) fn together(&mut self, steps: Vec<ParallelStep>) {
        let at_once = thread::available_parallelism().map_or(1, usize::from);
        if self.lists {
            return self.names.extend(steps.into_iter().map(|step| step.name));
        }
        let taken = steps.into_iter().filter(|step| is_taken(&step.name, &self.only));
        let waiting = Mutex::new(taken.collect::<VecDeque<_>>());
        let over = Mutex::new(self);
        let work = || {
            let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            while let Some(ParallelStep { name, work }) = next() {
                let began = Instant::now();
                let ran = held(work);
                let seconds = began.elapsed().as_secs_f64();
                let mut steps = over.lock().unwrap_or_else(PoisonError::into_inner);
                steps.announce(&name);
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
                show(&format!("==> {name}: passed, {seconds:.1} s\n"));
            }
            Ok(StepOutcome::Skipped(why)) => {
                self.skipped.push(format!("{name}: {why}"));
                show(&format!("==> {name}: SKIPPED: {why}\n"));
            }
            Err(message) => {
                self.failed.push(name.to_owned());
                show(&format!("==> {name}: FAILED, {seconds:.1} s: {message}\n"));
            }
        }
    }

    /// The last lines, and whether all have passed.
    pub(crate) fn finish(mut self) -> ExitCode {
        self.last.0.extend(self.times.iter().cloned());
        self.last.write();
        self.times.sort_by(|one, other| other.1.total_cmp(&one.1));
        show(&format!("{:.0} s, most of them for:", self.began.elapsed().as_secs_f64()));
        for (name, seconds) in self.times.iter().take(LONGEST) {
            show(&format!("{seconds:6.0} s  {name}"));
        }
        for step in &self.skipped {
            show(&format!("skipped: {step}"));
        }
        for name in &self.failed {
            show(&format!("failed: {name}"));
        }
        let (skipped, failed) = (self.skipped.len(), self.failed.len());
        show(&format!("{} passed, {skipped} skipped, {failed} failed", self.passed));
        if self.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// How near two names are, from 0 to 1. Of a long name, the word that is nearest counts.
fn nearness(name: &str, wanted: &str) -> f64 {
    let words = name.split([' ', ':', ',']).chain([name]);
    words.map(|word| strsim::jaro_winkler(&word.to_lowercase(), &wanted.to_lowercase())).fold(0.0, f64::max)
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

    fn two_steps(steps: &mut Steps) {
        steps.step("suite epoch", || Ok::<_, String>(()));
        steps.together(vec![ParallelStep::new("Miri", || Err::<(), _>("it fails".to_owned()))]);
    }

    #[test]
    fn steps_are_listed_and_not_taken() {
        assert_eq!(Steps::listed(two_steps), ["suite epoch", "Miri"]);
        let steps = Steps::announced("ri", two_steps).expect("there is such a step");
        assert_eq!(steps.names, ["Miri"]);
    }

    #[test]
    fn a_name_that_no_step_has_is_an_error_that_names_the_nearest() {
        let error = |only| Steps::announced(only, two_steps).err().unwrap_or_default();
        let said = error("eboch");
        assert!(said.starts_with("no step has `eboch` in its name. Did you mean `suite epoch`?"), "{said}");
        assert!(error("miri").contains("Did you mean `Miri`?"));
        assert!(!error("zzz").contains("mean"));
    }

    #[test]
    fn steps_that_build_much_are_listed_and_taken_where_they_are_asked_for() {
        let take = |steps: &mut Steps| {
            two_steps(steps);
            steps.step("dist: the archive", || Ok::<_, String>(()));
        };
        assert_eq!(Steps::listed(take), ["suite epoch", "Miri", "dist: the archive"]);
        let names = |only| Steps::announced(only, take).map(|steps| steps.names);
        assert_eq!(names(""), Ok(vec!["suite epoch".to_owned(), "Miri".to_owned()]));
        assert_eq!(names("dist:"), Ok(vec!["dist: the archive".to_owned()]));
        let mut steps = Steps::new("");
        take(&mut steps);
        assert_eq!((steps.passed, steps.failed), (1, vec!["Miri".to_owned()]));
    }

    #[test]
    fn what_is_known_of_times_is_said() {
        let last = LastTimes([("one".to_owned(), 62.4), ("two".to_owned(), 70.0)].into());
        assert_eq!((last.of("one"), last.of("three")), ("62 s".to_owned(), "-".to_owned()));
        let sum =
            |names: &[&str]| last.sum(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().iter());
        assert_eq!(sum(&["one", "two"]).as_deref(), Some("3 min when they were last taken here"));
        assert!(sum(&["one", "three"]).is_some_and(|text| text.ends_with("and 1 that were not")));
        assert_eq!(sum(&["three"]), None);
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

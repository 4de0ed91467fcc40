//! One seed: its job, from the first call to the verdict. And the program: many of them.

use crate::arguments::Arguments;
use crate::faults::Faults;
use crate::job::{self, JobState};
use crate::plan::{Plan, Step};
use crate::world::{Machine, World};
use crate::{chart, launcher, program};
use fastrand::Rng;
use generator::Gn;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;
use std::rc::Rc;

/// Words of a rank's stack: a build without optimisation has large frames.
const STACK_WORDS: usize = 1 << 17;

/// The result of a seed: a line of the output.
#[derive(Debug, Serialize)]
struct SeedResult {
    seed: u64,
    /// What is wrong, if anything is.
    wrong: Option<String>,
    /// The kind of its faults.
    kind: &'static str,
    ranks: usize,
    steps: u64,
    /// Virtual time, in microseconds.
    time_us: u64,
    /// A number that two runs of a seed have in common if every event is the same.
    trace: String,
}

/// The program.
pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    let mut failed = false;
    for seed in arguments.first..arguments.first + arguments.count {
        // A seed that does not return is the one of the last line.
        let told = writeln!(io::stdout(), "begin {seed}").and_then(|()| {
            let result = run(seed, &arguments);
            failed |= result.wrong.is_some();
            let line = serde_json::to_string(&result).map_err(io::Error::other)?;
            writeln!(io::stdout(), "{line}")
        });
        if told.is_err() {
            // Nobody reads it.
            return ExitCode::FAILURE;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs the job of a seed.
fn run(seed: u64, arguments: &Arguments) -> SeedResult {
    let (defect, shows) = (arguments.defect, arguments.shows);
    let mut rng = Rng::with_seed(seed);
    let mut plan = Plan::new(&mut rng);
    for (name, value) in &arguments.options {
        let set = plan.options.iter_mut().find(|(known, _)| known == name);
        if let Some((_, of_seed)) = set {
            of_seed.clone_from(value);
        }
    }
    let machine = Machine::new(&mut rng);
    let faults = Faults::new(&mut rng, plan.ranks, plan.steps.len());
    let (ranks, kind) = (plan.ranks, faults.kind());
    if shows {
        print!("{}", described(seed, &plan, &machine, &faults));
    }
    let copies = plan.steps.iter().filter(|step| matches!(step, Step::Duplicate)).count();
    // A window for messages and one for collectives, of each peer and communicator; one message always fits.
    let kept_max = 2 * (copies + 1) * ranks * (plan.eager_window + plan.eager_threshold);
    let failed = |what: String| SeedResult {
        seed,
        wrong: Some(what),
        kind,
        ranks,
        steps: 0,
        time_us: 0,
        trace: String::new(),
    };
    let world = match World::new(rng.fork(), ranks, (machine, faults), defect, kept_max, shows) {
        Ok(world) => Rc::new(world),
        Err(why) => return failed(why),
    };
    let pairs: Result<Vec<(OwnedFd, OwnedFd)>, _> = (0..ranks)
        .map(|_| socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None))
        .collect();
    let (theirs, ours): (Vec<_>, Vec<_>) = match pairs {
        Ok(pairs) => pairs.into_iter().unzip(),
        Err(error) => return failed(format!("there are no sockets: {error}")),
    };
    job::set(Some(JobState { world: Rc::clone(&world), plan }));
    carrousel_system::install(Some(Rc::clone(&world) as Rc<dyn carrousel_system::System>));
    let mut actors = Vec::new();
    for (me, socket) in theirs.into_iter().enumerate() {
        let own = rng.fork();
        actors.push(Gn::<()>::new_opt(STACK_WORDS, move || {
            let job = job::get();
            program::run(&job.world, &job.plan, me, socket, own);
        }));
    }
    actors.push(Gn::<()>::new_opt(STACK_WORDS, move || {
        let job = job::get();
        launcher::run(&job.world, ours);
    }));
    world.run(actors);
    carrousel_system::install(None);
    job::set(None);
    let trace = world.trace();
    if let Some(events) = &trace.events {
        print!("{}\n{}\n", chart::list(events, ranks), chart::chart(events, ranks));
    }
    SeedResult {
        seed,
        wrong: world.wrong(),
        kind,
        ranks,
        steps: world.steps(),
        time_us: world.now().as_micros() as u64,
        trace: format!("{:016x}", trace.hash()),
    }
}

/// A job in words.
fn described(seed: u64, plan: &Plan, machine: &Machine, faults: &Faults) -> String {
    let options: Vec<String> = plan.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("seed {seed}: {} ranks, {}\n  {machine:?}\n  faults: {faults}\n", plan.ranks, options.join(" "))
}

//! Random traffic, every byte of which is checked: a program that `cargo xtask soak` runs as jobs of many kinds.
//!
//! `carrousel run -n 8 -- target/release/examples/soak --seed 1 --steps 100`
//!
//! All ranks derive the same plan from the seed, so each knows which messages it has to get. An error names seed,
//! rank and step, and the job fails. At the end each rank prints a line of JSON: the messages that it has received,
//! and the memory that it has taken.

mod allocator;
mod cases;
mod exchange;
mod group;
mod plan;

use carrousel::{Any, Communicator, Job};
use carrousel_options::Settings;
use cases::Case;
use clap::Parser;
use fastrand::Rng;
use plan::{Action, Plan, Shape, Step};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: allocator::Failing = allocator::Failing;

/// Random traffic among the ranks of a job, every byte of which is checked
#[derive(Debug, Parser)]
struct Arguments {
    /// The seed of the plan
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of its steps
    #[arg(long, default_value_t = 30)]
    steps: u32,
    /// The pairs of ranks that exchange messages
    #[arg(long, value_enum, default_value_t = Shape::Dense)]
    shape: Shape,
    /// Run this case in place of a plan
    #[arg(long, value_enum, default_value_t = Case::Plan)]
    case: Case,
    /// Print a line for each step
    #[arg(long)]
    verbose: bool,
    /// Wait this long at the first step
    #[arg(long, default_value_t = 0, value_name = "MS")]
    linger: u64,
    /// Let the n-th allocation of this rank fail
    #[arg(long, value_name = "RANK:N", value_parser = rank_and_number)]
    fail_allocation: Option<(u32, u64)>,
}

fn rank_and_number(text: &str) -> Result<(u32, u64), String> {
    let parts =
        text.split_once(':').and_then(|(rank, number)| Some((rank.parse().ok()?, number.parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not RANK:N"))
}

/// The messages that a rank has received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) collectives: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }

    pub(crate) fn include(&mut self, more: Counts) {
        self.messages += more.messages;
        self.bytes += more.bytes;
        self.collectives += more.collectives;
    }
}

/// Spends some time outside of the library, or none.
pub(crate) fn pause(rng: &mut Rng) {
    match rng.u32(..12) {
        0 => thread::sleep(Duration::from_micros(rng.u64(..3000))),
        1 => thread::yield_now(),
        2..5 => {
            let (begin, time) = (Instant::now(), Duration::from_micros(rng.u64(..300)));
            while begin.elapsed() < time {
                std::hint::spin_loop();
            }
        }
        _ => {}
    }
}

/// PlannedMessage sizes around every threshold of the options, and others that matter to memory.
fn sizes(settings: &Settings) -> Vec<usize> {
    let options = settings.protocol();
    let ring = settings.shm_ring();
    let around = [options.eager_threshold, options.eager_window, ring, ring / 2, 4 << 10, 64 << 10, 1 << 20];
    let all = around.iter().flat_map(|bytes| [bytes.saturating_sub(1), *bytes, bytes + 1]);
    // A step sends no larger message.
    all.chain([0, 0, 1, 1]).filter(|bytes| *bytes <= 5 << 20).map(|bytes| bytes as usize).collect()
}

/// A plan that is carried out.
struct Soak<'a> {
    arguments: &'a Arguments,
    plan: Plan,
    /// The communicators of the plan; `None` if this rank is not a member.
    communicators: Vec<Option<Communicator>>,
    me: u32,
}

impl Soak<'_> {
    fn run(&mut self) -> Result<Counts, String> {
        let mut counts = Counts::default();
        for number in 0..self.arguments.steps {
            let step = self.plan.step(number);
            if self.arguments.verbose {
                // A reader that has left is noticed by the launcher.
                let _ = writeln!(io::stdout(), "rank {} step {number} {step:.0?}", self.me);
            }
            let done = self.step(number, &step);
            counts.include(done.map_err(|wrong| format!("step {number}: {wrong}"))?);
            self.plan.learn(&step);
        }
        if self.arguments.shape == Shape::Dense {
            self.nothing_is_left()?;
        }
        Ok(counts)
    }

    /// Takes this rank's part in a step.
    fn step(&mut self, number: u32, step: &Step) -> Result<Counts, String> {
        let text = |error: carrousel::Error| error.to_string();
        let mut rng = self.plan.rng(number, Some(self.me));
        let groups = self.plan.groups.get(step.communicator).into_iter().flatten();
        let own = groups.zip(&step.actions).find(|(members, _)| members.contains(&self.me));
        let communicator = self.communicators.get(step.communicator).and_then(Clone::clone);
        let (Some((_, action)), Some(communicator)) = (own, communicator) else {
            if let Some(Action::Communicator { place, .. }) = step.actions.first() {
                self.keep(*place, None);
            }
            return Ok(Counts::default());
        };
        pause(&mut rng);
        let key = self.plan.rng(number, None).u64(..);
        match action {
            Action::Exchange { messages, wildcards, blocking, barrier } => {
                let done = exchange::run(&communicator, messages, (*wildcards, *blocking), &mut rng)?;
                if *barrier {
                    communicator.barrier().map_err(text)?;
                }
                Ok(done)
            }
            Action::Shift { by, bytes } => group::shift(&communicator, *by, *bytes, key),
            Action::Race { messages } => exchange::race(&communicator, messages, &mut rng),
            Action::Burst { senders, receiver, count, bytes, sending, late_us } => {
                let burst = group::Burst {
                    senders,
                    receiver: *receiver,
                    count: *count,
                    bytes: *bytes,
                    sending: *sending,
                    late: Duration::from_micros(*late_us),
                    tag: plan::burst_tag(number),
                    key,
                };
                burst.run(&communicator, &mut rng)
            }
            Action::Collective { kind, root, elements } => {
                group::collective(&communicator, *kind, (*root, *elements, key), &mut rng)
            }
            Action::Communicator { place, colours } => {
                let colour = colours.as_ref().and_then(|all| all[communicator.rank() as usize]);
                let made = match colours {
                    None => Some(communicator.duplicate().map_err(text)?),
                    Some(_) => communicator.split(colour, -(self.me as i32)).map_err(text)?,
                };
                self.keep(*place, made);
                Ok(Counts::default())
            }
        }
    }

    /// A communicator takes the place of another one.
    fn keep(&mut self, place: usize, made: Option<Communicator>) {
        match self.communicators.get_mut(place) {
            Some(old) => *old = made,
            None => self.communicators.push(made),
        }
    }

    /// Checks that at the end no message is left that was not received.
    fn nothing_is_left(&self) -> Result<(), String> {
        if let Some(Some(world)) = self.communicators.first() {
            world.barrier().map_err(|error| error.to_string())?;
        }
        for (place, communicator) in self.communicators.iter().enumerate() {
            let Some(communicator) = communicator else { continue };
            let left = communicator.iprobe(Any, Any).map_err(|error| error.to_string())?;
            if let Some(left) = left {
                return Err(format!(
                    "communicator {place}: a message is left that nobody has received: {left:?}"
                ));
            }
        }
        Ok(())
    }
}

/// A number of the kernel about this process, in KiB: `VmHWM` of `status`, `Pss` of `smaps_rollup`.
fn kib(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The shared memory that this process has made, in KiB, touched or not.
fn committed_kib() -> u64 {
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_shared =
        |path: &PathBuf| fs::read_link(path).is_ok_and(|name| name.to_string_lossy().starts_with("/memfd:"));
    let files = descriptors.filter(is_shared).filter_map(|path| fs::metadata(path).ok());
    files.map(|file| file.blocks()).sum::<u64>() / 2
}

/// The processor time of this thread, in milliseconds.
fn cpu_ms() -> u64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0) / 1_000_000
}

fn run(arguments: &Arguments, job: &Job, settings: &Settings) -> Result<Counts, String> {
    let world = job.world();
    let me = world.rank();
    if arguments.linger > 0 {
        thread::sleep(Duration::from_millis(arguments.linger));
    }
    let counts = match arguments.case {
        Case::Plan => {
            let plan =
                Plan::new(arguments.seed, world.size(), arguments.steps, arguments.shape, sizes(settings));
            Soak { arguments, plan, communicators: vec![Some(world.clone())], me }.run()?
        }
        case => cases::run(case, world)?,
    };
    let (peak, pss) = (kib("status", "VmHWM"), kib("smaps_rollup", "Pss"));
    let (committed, cpu) = (committed_kib(), cpu_ms());
    let Counts { messages, bytes, collectives } = counts;
    let line = format!(
        r#"{{"rank":{me},"messages":{messages},"bytes":{bytes},"collectives":{collectives},"peak_kib":{peak},"pss_kib":{pss},"committed_kib":{committed},"cpu_ms":{cpu}}}"#
    );
    // A reader that has left is noticed by the launcher.
    let _ = writeln!(io::stdout(), "{line}");
    Ok(counts)
}

/// Fails as a program of a job does: the launcher tells the others, because this rank has not finalized.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some((rank, call)) = arguments.fail_allocation
        && std::env::var("PMI_RANK").is_ok_and(|own| own == rank.to_string())
    {
        allocator::fail_at(call);
    }
    let job = match carrousel::init() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("soak: cannot begin: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (seed, rank) = (arguments.seed, job.world().rank());
    let settings = Settings::read().map_err(|error| error.to_string());
    let done = settings.and_then(|settings| run(&arguments, &job, &settings));
    let done = done.and_then(|_| job.finalize().map_err(|error| format!("in the end: {error}")));
    match done {
        Ok(()) => {
            if let Some((own, call)) = arguments.fail_allocation
                && own == rank
                && let Some(made) = call.checked_sub(allocator::left())
            {
                eprintln!("soak: allocations: {made}");
            }
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            eprintln!("soak: seed {seed}, rank {rank}: {wrong}");
            ExitCode::FAILURE
        }
    }
}

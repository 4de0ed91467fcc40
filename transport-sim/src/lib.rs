//! Runs a scenario, or tasks, over a simulated network, in virtual time.
//!
//! [`simulate`] drives the same `Rank`s as production does, each by its program in a scenario, over a model of cards,
//! links and CPUs. The costs of the model are in a parameter set ([`Network`]), a TOML file whose values name their
//! sources. [`simulate_tasks`] does the same with ranks that are futures. Their calls ([`Port`]) cost as much as
//! statements, and their messages have bytes: a buffer is moved in when its request begins and out when it ends.
//!
//! **The model.** *CPU*: a rank computes, works in the library, or waits there; calls, posted operations, handled
//! packets and copied bytes cost time. *Progress*: arrivals wait until the rank is in the library. Each call first
//! takes in all arrivals (but see [`Protocol::Rget`]), a blocking call does so until it is done, and after its program
//! a rank stays in the library. A progress thread handles arrivals while the rank computes, at a cost. *Cards* move the
//! data of writes and reads by themselves, and send the packets behind them. To them an atomic, once a protocol posts
//! one, is a read of 8 bytes, and costs as much. *Links*: transfers larger than a packet share the sender's and the
//! receiver's link equally. *Windows*: puts and gets between nodes are moved by cards. Within a node the origin copies,
//! when its schedule says so ([`Copies`]). What is atomic is carried out by the target's CPU, or within a node by the
//! origin's. A large operand of an accumulate to another node waits for a buffer there, which the target's CPU has to
//! give. The call of a large transfer waits for a grant that is on its way (`Patience`), but no longer.
//! **Not modelled.** Memory registration, switches and their contention, limits of a card's queues, copies of messages
//! by the CPU within a node (an engine does them), several threads on one core, locks in a node's shared memory.
//!
//! **Promises.**
//! - A run is a function of scenario, or tasks, and [`Config`]. Time is in integer nanoseconds, and events of one time
//!   happen in the order in which they were caused; there is no other tie-break.
//! - Nothing is decided here that a protocol decides. A difference between protocols in a run comes from `Rank`, or
//!   from when it is called; the baselines of the papers' comparisons (lazy locks, deferred copies) are other orders of
//!   the same calls.
//! - A run keeps what is under way, and what its [`Config`] asks for; everything else is added up when it ends. An
//!   event costs the same, or the logarithm, for any number of ranks.
//!
//! **Entry point.** [`simulate`], [`simulate_tasks`]; begin reading at `world`, the loop of events, then `process`, a
//! rank and its CPU, whose next statement comes from a `script` or a `task`. `network` and `links` are cards and wires,
//! `windows` what epochs ask for, `lateness` who waits for whom in them.
//!
//! ```
//! use carrousel_transport_sim::{Config, Network, simulate};
//! let text = b"ranks 2\nrank 0\n  send to 1 tag 0 size 1MiB\nrank 1\n  recv from 0 tag 0 size 1MiB\n";
//! let scenario = carrousel_scenario::load("one message", text)?;
//! let report = simulate(&scenario, &Config::new(Network::named("qdr")?))?;
//! assert!((340.0..350.0).contains(&report.makespan_us));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod config;
#[cfg(test)]
mod conformance;
mod data;
mod error;
mod keys;
mod late;
mod lateness;
mod links;
mod load;
mod mailbox;
mod network;
mod parameters;
mod port;
mod process;
mod program;
mod queue;
mod record;
mod report;
mod script;
mod statements;
mod task;
pub mod timeline;
mod totals;
mod window_data;
mod window_port;
mod window_work;
mod windows;
mod world;

pub use config::{Acquisition, Config, Copies, Limits, Progress, Protocol, UnknownWord};
pub use data::ReduceOp;
pub use error::{SimError, Stuck};
pub use late::Late;
pub use mailbox::{CollectiveCall, Ended, Incoming, Outgoing};
pub use parameters::{BadNetwork, Cpu, Network, Path, Thread};
pub use port::{Flight, Port};
pub use report::{Count, Report, Statement, Statistics};
pub use task::TaskFuture;
pub use totals::LineTotal;
pub use window_data::{Fetched, Operand, SharedMemory, WindowMemory};

pub use carrousel_rank::epoch::Inefficiency;

use carrousel_program::{check_no_windows, programs, staging, windows};
use carrousel_rank::epoch::{Flags, Neighbours, Staging, WindowSetup};
use carrousel_rank::{Mirror, Options, Published, RankId};
use carrousel_scenario::{OptionSetting, Scenario};
use carrousel_schedule::Threshold;
use config::Classical;
use mailbox::Mailbox;
use process::{Driver, Process};
use script::Script;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use task::Task;
pub use world::RunProgress;
use world::World;

/// Runs a scenario once.
///
/// # Errors
/// If the scenario or the configuration asks for something that the simulator does not have, ranks get stuck, a
/// message does not fit its receive, or a limit is hit.
pub fn simulate(scenario: &Scenario, config: &Config) -> Result<Report, SimError> {
    simulate_watched(scenario, config, &mut |_| true)
}

/// As [`simulate`], and shows from time to time how far the run is; it is given up when `watch` returns false.
///
/// # Errors
/// As [`simulate`], and when the run is given up.
pub fn simulate_watched(
    scenario: &Scenario,
    config: &Config,
    watch: &mut dyn FnMut(RunProgress) -> bool,
) -> Result<Report, SimError> {
    if !matches!(config.progress, Progress::None | Progress::Thread) {
        return Err(SimError::UnsupportedProgress(config.progress));
    }
    let programs = programs(scenario)?;
    let title = scenario.title.as_ref().unwrap_or(&scenario.file);
    let options = program::options(&scenario.options, config)?;
    let driver = |rank: u32| Driver::Script(Script::new(Arc::clone(&programs[rank as usize])));
    // Windows that no statement is about need no memory.
    let are_used = check_no_windows(scenario).is_err();
    let windows = if are_used { windows(scenario) } else { Vec::new() };
    let windows: Vec<Flags> = windows.into_iter().map(|window| window.flags).collect();
    let staging = staging(&scenario.options);
    let threshold = program::threshold(&scenario.options, config);
    let job = Place { ranks: scenario.ranks, nodes: &scenario.nodes, windows: &windows, staging, threshold };
    match config.protocol {
        Protocol::Published => {
            world::<Published>(job, &options, config, driver).run(Some(scenario), title, watch)
        }
        Protocol::Mirror => world::<Mirror>(job, &options, config, driver).run(Some(scenario), title, watch),
        Protocol::Rget | Protocol::Rput => {
            world::<Mirror<Classical>>(job, &options, config, driver).run(Some(scenario), title, watch)
        }
    }
}

/// The job whose ranks are tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskJob {
    /// The title of the report.
    pub title: String,
    /// The node of each rank, from 0.
    pub nodes: Vec<u32>,
    /// The options that are set.
    pub options: Vec<OptionSetting>,
}

impl TaskJob {
    /// A job of this many ranks, each on a node of its own, without options.
    pub fn new(title: &str, ranks: u32) -> Self {
        Self { title: title.to_owned(), nodes: (0..ranks).collect(), options: Vec::new() }
    }
}

/// Runs a job once whose ranks are tasks, each a future that calls its [`Port`].
///
/// The real time of a task does not count; its computations take the time that it states by [`Port::compute`]. A rank
/// whose future has ended stays in the library for the others, as a rank of a scenario does.
///
/// # Errors
/// If the configuration or the options ask for something that the simulator does not have, a rank fails or panics,
/// ranks get stuck, or a limit is hit.
pub fn simulate_tasks(
    job: &TaskJob,
    config: &Config,
    mut start: impl FnMut(Port) -> TaskFuture,
) -> Result<Report, SimError> {
    if !matches!(config.progress, Progress::None | Progress::Thread) {
        return Err(SimError::UnsupportedProgress(config.progress));
    }
    let options = program::options(&job.options, config)?;
    let ranks = job.nodes.len() as u32;
    let driver = |me: u32| {
        let mailbox = Rc::new(RefCell::new(Mailbox { me, ranks, ..Mailbox::default() }));
        let future = start(Port(Rc::clone(&mailbox)));
        Driver::Task(Box::new(Task::new(me, mailbox, future)))
    };
    let (staging, threshold) = (staging(&job.options), program::threshold(&job.options, config));
    let watch: &mut dyn FnMut(RunProgress) -> bool = &mut |_| true;
    let place = Place { ranks, nodes: &job.nodes, windows: &[], staging, threshold };
    match config.protocol {
        Protocol::Published => {
            world::<Published>(place, &options, config, driver).run(None, &job.title, watch)
        }
        Protocol::Mirror => world::<Mirror>(place, &options, config, driver).run(None, &job.title, watch),
        Protocol::Rget | Protocol::Rput => {
            world::<Mirror<Classical>>(place, &options, config, driver).run(None, &job.title, watch)
        }
    }
}

/// Where a job runs, and with which windows.
#[derive(Clone, Copy)]
struct Place<'a> {
    ranks: u32,
    /// By rank.
    nodes: &'a [u32],
    /// The flags of each window that there is from the beginning.
    windows: &'a [Flags],
    /// How they stage large accumulates.
    staging: Staging,
    /// From which size on a copy within a node is scheduled.
    threshold: Threshold,
}

/// The ranks of a job before they begin.
fn world<'a, P: carrousel_rank::Protocol>(
    place: Place<'_>,
    options: &Options,
    config: &'a Config,
    mut driver: impl FnMut(u32) -> Driver,
) -> World<'a, P> {
    let mut nodes: BTreeMap<u32, Vec<RankId>> = BTreeMap::new();
    for (rank, node) in (0..).map(RankId).zip(place.nodes) {
        nodes.entry(*node).or_default().push(rank);
    }
    let nodes: BTreeMap<u32, Neighbours> =
        nodes.into_iter().map(|(node, ranks)| (node, ranks.into_iter().collect())).collect();
    let process = |me: u32| {
        let neighbours = nodes[&place.nodes[me as usize]].clone();
        let setup = WindowSetup { staging: place.staging, neighbours, ..WindowSetup::default() };
        let mut process =
            Process::new(me, place.ranks, (options, setup, place.threshold), config, driver(me));
        for flags in place.windows {
            process.create_window(*flags);
        }
        process
    };
    World::new((0..place.ranks).map(process).collect(), place.nodes, config)
}

//! Runs a scenario, or tasks, over a simulated network, in virtual time.
//!
//! [`simulate`] drives the same `Rank`s as production does, each by the program that a scenario gives it,
//! over a model of cards, links and CPUs whose costs stand in a parameter set ([`Network`]). Time is
//! integer nanoseconds, events of one time happen in the order in which they were caused: a run is a
//! function of scenario and [`Config`]. [`simulate_tasks`] does the same with ranks that are futures, whose
//! calls ([`Port`]) cost what statements do, and whose messages have bytes.
//!
//! **The model.** *CPU*: a rank computes, works in the library, or waits there; calls, posted
//! operations, handled packets and copied bytes cost time. *Progress*: what arrives waits until the rank
//! is in the library; each call first takes in what has arrived (but see [`Protocol::Rget`]), a blocking
//! one until it is done, and after its program a rank stays there. A progress thread handles arrivals
//! while the rank computes, for a price. *Cards* move data of writes and reads by themselves, and send the packets
//! behind them. An atomic, once a protocol posts one, is to them a read of 8 bytes, and costs as much. *Links*:
//! transfers larger than a packet share the sender's and the receiver's link equally.
//! **Not modelled.** Memory registration, switches and their contention, limits of a card's queues,
//! copies by the CPU within a node (an engine does them), several threads on one core.
//! **Entry point.** [`simulate`], [`simulate_tasks`]; begin reading at `world`.
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
mod desk;
mod error;
mod links;
mod load;
mod network;
mod parameters;
mod port;
mod process;
mod program;
mod queue;
mod record;
mod report;
mod script;
mod task;
pub mod timeline;
mod world;

pub use config::{Config, Limits, Progress, Protocol, UnknownWord};
pub use data::ReduceOp;
pub use desk::{Ended, Gathering, Incoming, Outgoing};
pub use error::{SimError, Stuck};
pub use parameters::{BadNetwork, Cpu, Network, Path, Thread};
pub use port::{Flight, Port};
pub use report::{Count, Report, Statement, Statistics};
pub use task::TaskFuture;

use carrousel_program::programs;
use carrousel_rank::{Mirror, Options, Published};
use carrousel_scenario::{OptionSetting, Scenario};
use config::Classical;
use desk::Desk;
use process::{Driver, Process};
use script::Script;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use task::Task;
use world::World;

/// Runs a scenario once.
///
/// # Errors
/// When the scenario or the configuration asks for what the simulator cannot do, when ranks get stuck,
/// when a message does not fit its receive, or when a limit is hit.
pub fn simulate(scenario: &Scenario, config: &Config) -> Result<Report, SimError> {
    if !matches!(config.progress, Progress::None | Progress::Thread) {
        return Err(SimError::UnsupportedProgress(config.progress));
    }
    let programs = programs(scenario)?;
    let title = scenario.title.as_ref().unwrap_or(&scenario.file);
    let options = program::options(&scenario.options, config)?;
    let driver = |rank: u32| Driver::Script(Script::new(Arc::clone(&programs[rank as usize])));
    let job = (scenario.ranks, &scenario.nodes[..]);
    match config.protocol {
        Protocol::Published => world::<Published>(job, &options, config, driver).run(Some(scenario), title),
        Protocol::Mirror => world::<Mirror>(job, &options, config, driver).run(Some(scenario), title),
        Protocol::Rget | Protocol::Rput => {
            world::<Mirror<Classical>>(job, &options, config, driver).run(Some(scenario), title)
        }
    }
}

/// What tasks are the ranks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskJob {
    /// What the report is of.
    pub title: String,
    /// The node of each rank, from 0.
    pub nodes: Vec<u32>,
    /// Options that are set.
    pub options: Vec<OptionSetting>,
}

impl TaskJob {
    /// So many ranks, each on a node of its own, and no option set.
    pub fn new(title: &str, ranks: u32) -> Self {
        Self { title: title.to_owned(), nodes: (0..ranks).collect(), options: Vec::new() }
    }
}

/// Runs a job once whose ranks are tasks, each a future that calls its [`Port`].
///
/// The time that a task really takes costs nothing; what it computes costs what it says by
/// [`Port::compute`]. A rank whose future has ended is in the library for the others, as one whose scenario has.
///
/// # Errors
/// When the configuration or the options ask for what the simulator cannot do, when a rank fails or panics, when
/// ranks get stuck, or when a limit is hit.
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
        let desk = Rc::new(RefCell::new(Desk { me, ranks, ..Desk::default() }));
        let future = start(Port(Rc::clone(&desk)));
        Driver::Task(Box::new(Task::new(me, desk, future)))
    };
    let place = (ranks, &job.nodes[..]);
    match config.protocol {
        Protocol::Published => world::<Published>(place, &options, config, driver).run(None, &job.title),
        Protocol::Mirror => world::<Mirror>(place, &options, config, driver).run(None, &job.title),
        Protocol::Rget | Protocol::Rput => {
            world::<Mirror<Classical>>(place, &options, config, driver).run(None, &job.title)
        }
    }
}

/// So many ranks, on these nodes, before they begin.
fn world<'a, P: carrousel_rank::Protocol>(
    (ranks, nodes): (u32, &[u32]),
    options: &Options,
    config: &'a Config,
    mut driver: impl FnMut(u32) -> Driver,
) -> World<'a, P> {
    let processes = (0..ranks).map(|me| Process::new(me, ranks, options, driver(me))).collect();
    World::new(processes, nodes, config)
}

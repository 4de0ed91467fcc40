//! Runs a scenario, or tasks, over a simulated network, in virtual time.
//!
//! [`simulate`] drives the same `Rank`s as production does, each by its program in a scenario, over a model of cards,
//! links and CPUs. The costs of the model are in a parameter set ([`Network`]). Time is in integer nanoseconds, and
//! events of one time happen in the order in which they were caused: a run is a function of scenario and [`Config`].
//! [`simulate_tasks`] does the same with ranks that are futures. Their calls ([`Port`]) cost as much as statements,
//! and their messages have bytes.
//!
//! **The model.** *CPU*: a rank computes, works in the library, or waits there; calls, posted operations, handled
//! packets and copied bytes cost time. *Progress*: arrivals wait until the rank is in the library. Each call first
//! takes in all arrivals (but see [`Protocol::Rget`]), a blocking call does so until it is done, and after its
//! program a rank stays in the library. A progress thread handles arrivals while the rank computes, at a cost.
//! *Cards* move the data of writes and reads by themselves, and send the packets behind them. To them an atomic, once
//! a protocol posts one, is a read of 8 bytes, and costs as much. *Links*: transfers larger than a packet share the
//! sender's and the receiver's link equally.
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
mod error;
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
mod task;
pub mod timeline;
mod world;

pub use config::{Config, Limits, Progress, Protocol, UnknownWord};
pub use data::ReduceOp;
pub use error::{SimError, Stuck};
pub use mailbox::{CollectiveCall, Ended, Incoming, Outgoing};
pub use parameters::{BadNetwork, Cpu, Network, Path, Thread};
pub use port::{Flight, Port};
pub use report::{Count, Report, Statement, Statistics};
pub use task::TaskFuture;

use carrousel_program::{check_no_windows, programs};
use carrousel_rank::{Mirror, Options, Published};
use carrousel_scenario::{OptionSetting, Scenario};
use config::Classical;
use mailbox::Mailbox;
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
/// If the scenario or the configuration asks for something that the simulator does not have, ranks get stuck, a
/// message does not fit its receive, or a limit is hit.
pub fn simulate(scenario: &Scenario, config: &Config) -> Result<Report, SimError> {
    if !matches!(config.progress, Progress::None | Progress::Thread) {
        return Err(SimError::UnsupportedProgress(config.progress));
    }
    check_no_windows(scenario)?;
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
    let place = (ranks, &job.nodes[..]);
    match config.protocol {
        Protocol::Published => world::<Published>(place, &options, config, driver).run(None, &job.title),
        Protocol::Mirror => world::<Mirror>(place, &options, config, driver).run(None, &job.title),
        Protocol::Rget | Protocol::Rput => {
            world::<Mirror<Classical>>(place, &options, config, driver).run(None, &job.title)
        }
    }
}

/// The ranks of a job on these nodes, before they begin.
fn world<'a, P: carrousel_rank::Protocol>(
    (ranks, nodes): (u32, &[u32]),
    options: &Options,
    config: &'a Config,
    mut driver: impl FnMut(u32) -> Driver,
) -> World<'a, P> {
    let processes = (0..ranks).map(|me| Process::new(me, ranks, options, driver(me))).collect();
    World::new(processes, nodes, config)
}

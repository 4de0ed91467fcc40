//! Runs a scenario over a simulated network, in virtual time.
//!
//! [`simulate`] drives the same `Rank`s as production does, each by the program that a scenario gives it,
//! over a model of cards, links and CPUs whose costs stand in a parameter set ([`Network`]). Time is
//! integer nanoseconds, events of one time happen in the order in which they were caused: a run is a
//! function of scenario and [`Config`].
//!
//! **The model.** *CPU*: a rank computes, works in the library, or waits there; calls, posted
//! operations, handled packets and copied bytes cost time. *Progress*: what arrives waits until the rank
//! is in the library; each call first takes in what has arrived (but see [`Protocol::Rget`]), a blocking
//! one until it is done, and after its program a rank stays there. A progress thread handles arrivals
//! while the rank computes, for a price. *Cards* move data of writes and reads by themselves. *Links*:
//! transfers larger than a packet share the sender's and the receiver's link equally.
//! **Not modelled.** Memory registration, switches and their contention, limits of a card's queues,
//! copies by the CPU within a node (an engine does them), several threads on one core.
//! **Entry point.** [`simulate`]; begin reading at `world`.
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
mod error;
mod links;
mod network;
mod parameters;
mod process;
mod program;
mod queue;
mod record;
mod report;
pub mod timeline;
mod world;

pub use config::{Config, Limits, Progress, Protocol, UnknownWord};
pub use error::{SimError, Stuck};
pub use parameters::{BadNetwork, Cpu, Network, Path, Thread};
pub use report::{Count, Report, Statement, Statistics};

use carrousel_rank::{Mirror, Published};
use carrousel_scenario::Scenario;

/// Runs a scenario once.
///
/// # Errors
/// When the scenario or the configuration asks for what the simulator cannot do, when ranks get stuck,
/// when a message does not fit its receive, or when a limit is hit.
pub fn simulate(scenario: &Scenario, config: &Config) -> Result<Report, SimError> {
    if !matches!(config.progress, Progress::None | Progress::Thread) {
        return Err(SimError::UnsupportedProgress(config.progress));
    }
    program::check(scenario)?;
    match config.protocol {
        Protocol::Published => world::World::<Published>::new(scenario, config)?.run(),
        Protocol::Mirror | Protocol::Rget | Protocol::Rput => {
            world::World::<Mirror>::new(scenario, config)?.run()
        }
    }
}

//! Jobs of the library in one thread, under a system that a seed decides: which rank runs, how long it stalls, whether it
//! leaves or dies, and which of its calls fail.
//!
//! A seed is a job: options, ranks, what they send each other, and the faults. The ranks are what programs link:
//! `carrousel`, its endpoint, rings in shared memory, the client of the launcher; and the launcher's decisions are its own
//! (`carrousel_launch::coordinator`). What they ask of the system comes here (`carrousel_system`). Each of those calls may
//! let another rank run, and takes some time; when all wait, time goes on to the first that has waited long enough.
//!
//! **Promises.** A seed is the same job each time, call by call. A failure names what is wrong: bytes, order, an error that
//! no fault explains, a rank that sleeps while there is a message for it, a bound that is exceeded, a job that does not
//! end.
//! **Leaves to others.** Orders of memory (loom), other orders of a protocol's events (`verify`), what systems really do
//! (`cargo xtask soak`). Several nodes are not simulated.
//! **Limits.** A rank is interrupted where it asks the system, and at a few places that are named (`Point`), not
//! between any two instructions. Compiled only under `--cfg carrousel_simulated`.
//! **Entry point.** `cargo xtask simulate`; begin reading at `run`, then `world`.
#![forbid(unsafe_code)]

#[cfg(carrousel_simulated)]
mod actor;
#[cfg(carrousel_simulated)]
mod arguments;
#[cfg(carrousel_simulated)]
mod chart;
#[cfg(carrousel_simulated)]
mod faults;
#[cfg(carrousel_simulated)]
mod job;
#[cfg(carrousel_simulated)]
mod launcher;
#[cfg(carrousel_simulated)]
mod plan;
#[cfg(carrousel_simulated)]
mod program;
#[cfg(carrousel_simulated)]
mod run;
#[cfg(carrousel_simulated)]
mod system;
#[cfg(carrousel_simulated)]
mod trace;
#[cfg(carrousel_simulated)]
mod world;

#[cfg(carrousel_simulated)]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(carrousel_simulated))]
fn main() -> std::process::ExitCode {
    eprintln!("error: this build has no simulation in it: `cargo xtask simulate` makes one that has");
    std::process::ExitCode::FAILURE
}

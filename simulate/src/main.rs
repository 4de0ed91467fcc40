//! Jobs of the library in one thread, under a system that a seed decides: which rank runs, how long it stalls, whether
//! it leaves or dies, and which of its calls fail.
//!
//! A seed is a job: options, ranks, what they send each other, and the faults. The ranks are what programs link:
//! `carrousel`, its endpoint, rings in shared memory, the client of the launcher; and the launcher's decisions are its
//! own (`carrousel_launch::coordinator`). What they ask of the system comes here (`carrousel_system`). Each of those
//! calls may let another rank run, and takes some time; when all wait, time goes on to the first that has waited long
//! enough. In the place of the real things are processes and their ends, time, waiting, sockets that would block,
//! copies that are forbidden, memory that is missing.
//!
//! **Promises.**
//! - A seed is the same job each time, call by call; a step of the tests compares two runs.
//! - A failure names what is wrong: bytes, order, an error that no fault explains, a rank that sleeps while there is a
//!   message for it (so a wake-up was lost), a bound that is exceeded, a job that does not end. A job with a fault ends
//!   within a minute of virtual time without the launcher's help; one without ends without an error.
//! - Defects of the past can be put back (`Defect`), and a step of the tests finds each.
//! - A build for use has none of it: the crate is empty without `--cfg carrousel_simulated`.
//!
//! **Leaves to others.** Orders of memory (loom), other orders of a protocol's events (`verify`), what systems really
//! do (`cargo xtask soak`). Several nodes, and traces, are not simulated.
//! **Limits.** A rank is interrupted where it asks the system, and at a few places that are named (`Point`), not
//! between any two instructions.
//! **Entry point.** `cargo xtask simulate`; begin reading at `run`, then `world`, the scheduler, in which each rank has
//! a stack of its own. `plan` is what ranks send each other, `faults` what goes wrong, `program` the program of a rank,
//! `launcher` what carries out the launcher's decisions, `system` the calls, `actor` a rank's process; `trace` and
//! `chart` show a seed.
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

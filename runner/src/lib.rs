//! Runs scenarios between real processes: each rank's program as calls of the library `carrousel`.
//!
//! **Promises.** Every message has its own payload, and what a receive or a collective brings is compared with what was
//! sent, byte by byte. Nothing but the statements happens while the clock runs, as far as their memory and the values in
//! them are known before: memory is made before, and what has come is compared after.
//! **Leaves to others.** The meaning of statements (`carrousel-program`), starting processes, and printing.
//! **Limits.** Every message has memory of its own, also if it is of a named buffer: whether a program uses buffers
//! rightly is for the checker to find, not for luck.
//! **Entry point.** [`run_scenario`] in each rank of a job, then [`gather`]; [`WaitReports`] in the launcher.
#![forbid(unsafe_code)]

mod arrived;
mod deadlock_report;
mod envelope;
mod error;
mod gather;
mod memory;
mod payload;
mod run_scenario;

pub use deadlock_report::WaitReports;
pub use error::{FailedStatement, RunError};
pub use gather::gather;
pub use memory::exceeds_memory_ahead;
pub use run_scenario::{Done, Times, run_scenario, site};

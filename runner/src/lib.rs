//! Runs scenarios between real processes: each rank's program as calls of the library `carrousel`.
//!
//! **Promises.** Every message has a payload of its own (`payload`), and the data of receives and collectives is
//! compared with the data that was sent, byte by byte, in every run (`arrived`). While the clock runs, nothing but the
//! statements happens, as far as their memory and values are known before: memory is made before, and received data is
//! compared after. No process is started here, and nothing printed.
//! **Leaves to others.** The meaning of statements (`carrousel-program`), starting processes, and printing.
//! **Limits.** Every message has memory of its own, even if it names a buffer. The checker finds wrong uses of buffers;
//! a run would find them only by luck. Scenarios with windows are refused.
//! **Entry point.** [`run_scenario()`] in each rank of a job, then [`gather()`], which collects the results at rank 0;
//! [`WaitReports`] in the launcher: the reports of ranks that wait for long, as a list of which rank waits for which
//! (the search for a cycle is `carrousel-verify`'s).
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

//! What a rank asks of the system it runs on: time, memory, descriptors, processes. One trait, [`System`], of which
//! [`SYSTEM`] is the implementation of this build.
//!
//! **Promises.** In a build for use, [`SYSTEM`] is [`Real`]: a value without size, whose functions are the system's calls
//! and are inlined. What only a simulation wants ([`System::passes`], [`System::attempt`], [`System::restores`]) is nothing
//! there, so the code is the same as without it. Under `--cfg carrousel_simulated` it is `Installed`, which asks the
//! system that the thread has installed: many ranks can run in one thread then, each with a time, a process and failures
//! of its own.
//! **Leaves to others.** What answers mean: this crate decides nothing. Mapping memory, which needs `unsafe`, is in
//! `transport-shm`, starting processes in `launch`; neither is done for a simulated rank in another way.
//! [`inherited`] tells a child made by `fork` from the process whose part in a job it has a copy of.
//! **Limits.** Linux only.
//! **Entry point.** [`System`].
//!
//! ```
//! use carrousel_system::{SYSTEM, System};
//! let began = SYSTEM.now();
//! SYSTEM.yield_now();
//! assert!(SYSTEM.now() >= began);
//! ```
#![deny(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod inherited;
#[cfg(carrousel_simulated)]
mod installed;
mod interface;
mod memory;
mod real;

#[cfg(carrousel_simulated)]
pub use installed::{Installed, install};
pub use interface::{Call, Defect, Point, System};
pub use real::Real;

/// The system of this build.
#[cfg(not(carrousel_simulated))]
pub const SYSTEM: Real = Real;
/// The system of this build: the one that the thread has installed.
#[cfg(carrousel_simulated)]
pub const SYSTEM: Installed = Installed;

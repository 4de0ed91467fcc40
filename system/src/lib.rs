//! What a rank asks of the system it runs on: time, words that it waits for, memory, descriptors, processes, and its
//! launcher's socket. One trait, [`System`], of which [`SYSTEM`] is the implementation of this build.
//!
//! **Promises.**
//! - It decides nothing: what an answer means, its callers know.
//! - [`record`] makes the files that a job writes for its user, in directories that others may write to.
//! - [`inherited`] tells a child made by `fork` from the process whose part in a job it has a copy of.
//! - A text for a person is one write ([`stderr::tell`]): the reports of two ranks do not mix.
//! - In a build for use, [`SYSTEM`] is [`Real`]: a value without size, whose functions are the system's calls and are
//!   inlined. What only a simulation wants is nothing there, so the instructions of a message are the same as without
//!   this crate, and counted.
//! - Under `--cfg carrousel_simulated`, [`SYSTEM`] is `Installed`, which asks the system that the thread has installed:
//!   many ranks can run in one thread then, each with a time, a process and failures of its own. It is told of places
//!   where another rank may run ([`System::passes`]), asked which calls fail ([`System::attempt`]), and which defects
//!   of the past are put back ([`System::restores`]).
//! - `transport-shm`, `engine` and the client in `launch` ask for time, processes and waiting here and nowhere else.
//!
//! **Leaves to others.** Mapping memory, which needs `unsafe`: it is in `transport-shm`, which announces it by
//! [`System::attempt`]. Starting processes: `launch`.
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
pub mod record;
pub mod stderr;

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

//! Programs whose source can be run for real and simulated.
//!
//! A program is an `async fn` of its [`World`], and its `main` hands it to [`run`]. Started by `carrousel run`, or by
//! any launcher that speaks PMI-1, the process is a rank of that job, over the engine. Started by `carrousel sim
//! --app`, it simulates all ranks of a job, as a `handover` in the environment asks: each is a task in virtual time
//! over the simulator's network, with the same protocol and with the bytes that it really sends.
//!
//! **Promises.** The same calls have the same meaning both ways, and return errors of MPI's classes: `carrousel` or
//! `transport-sim` carries out each call, this crate decides nothing, and a test compares every byte that comes from
//! the two. A simulated run is a function of program, arguments and configuration, provided that the program uses no
//! clock, no address, and no random number without a seed.
//! **Time.** [`World::now`] and [`World::compute`] are real, or virtual. In a simulation, real computation takes no
//! virtual time; only the times that the program states do, by [`World::compute`] or [`World::compute_as`]. Calls take
//! the time that the network's parameters give.
//! **Waiting.** A blocking call (`send`, `recv`, `sendrecv`, `probe`, the collectives, `compute`) blocks its rank, as
//! in MPI: nothing else of the rank goes on meanwhile, even if several futures are joined. [`Request`]s go on by
//! themselves, and can be awaited together. A call has effect once it has been polled, and is not undone when its
//! future is dropped. A [`Request`] that is dropped is waited for; a receive without a message is cancelled first. Both
//! ways, no byte is written to memory that was given up.
//! **Windows.** [`World::window`] makes memory that all ranks access. An epoch is a value ([`FenceEpoch`],
//! [`AccessEpoch`], [`ExposureEpoch`], [`LockEpoch`], [`LockAllEpoch`]): it has the calls that access targets, and
//! closing it consumes it, so an access outside of an epoch does not compile. Non-blocking closes and flushes are
//! futures ([`WindowRequest`]). A rank's own memory is reached through guards ([`Memory`], [`MemoryMut`]); an access of
//! another rank while a guard lives is a race, and ends a simulation with an error. So far windows are simulated; in a
//! real run [`World::window`] is an error.
//! **Limits.** All ranks of the job: there are no smaller communicators. A simulated rank is a task of one thread:
//! `static` variables of a program are common to all ranks. Next to the command, this is the only crate that knows both
//! the engine and the simulator: a program that names `carrousel` alone has no simulator in it.
//! **Entry point.** [`run`], then [`World`].
//!
//! ```no_run
//! use carrousel_app::{Error, World, run};
//!
//! async fn app(world: World) -> Result<(), Error> {
//!     let (next, last) = ((world.rank() + 1) % world.size(), (world.rank() + world.size() - 1) % world.size());
//!     let mut token = [0];
//!     world.sendrecv(&[world.rank()], next, 0, &mut token, last, 0).await?;
//!     assert_eq!(token, [last]);
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     run(app)
//! }
//! ```
#![forbid(unsafe_code)]

mod collectives;
mod handover;
mod outcome;
mod real;
mod request;
mod run;
mod several;
mod simulate;
mod window;
mod world;

pub use carrousel::{
    Any, Class, Complex32, Complex64, Element, Error, RankOrTag, Source, Status, Tag, zerocopy,
};
pub use carrousel_rank::epoch::{AccumulateOp, Flags};
pub use carrousel_transport_sim::{Config, Network, Progress, Protocol, Report, SimError, Stuck, TaskJob};
pub use handover::{Drawing, Handover, VARIABLE};
pub use outcome::{Failed, Outcome};
pub use real::threads;
pub use request::Request;
pub use run::run;
pub use several::{wait_all, wait_any};
pub use simulate::simulate;
pub use window::{
    Access, AccessEpoch, ExposureEpoch, FenceEpoch, FetchRequest, Fetched, LockAllEpoch, LockEpoch, Memory,
    MemoryMut, Number, PassiveAccess, Stride, Window, WindowRequest,
};
pub use world::World;

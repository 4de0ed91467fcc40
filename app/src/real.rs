//! A program as a rank of a real job.

use crate::world::World;
use carrousel::{Communicator, Error, block_on, init_with};
use carrousel_options::Settings;
use std::fmt::Display;
use std::future::Future;

/// Runs `app` as `ranks` ranks, each a thread of this process, and returns what each returns.
///
/// For tests of programs: each rank has the same code and transport as a process of its own would have.
///
/// # Errors
/// If a job of so many ranks cannot be set up.
///
/// # Panics
/// If a rank panics.
pub fn threads<T: Send, F: Future<Output = T>>(
    ranks: u32,
    app: impl Fn(World) -> F + Sync,
) -> Result<Vec<T>, Error> {
    carrousel::threads(ranks, |world: &Communicator| block_on(app(World::real(world.clone()))))
}

/// Runs `app` as the rank that this process is.
pub(crate) fn run<E: Display, F: Future<Output = Result<(), E>>>(
    settings: &Settings,
    app: impl Fn(World) -> F,
) -> Result<(), String> {
    let job = init_with(settings).map_err(|error| error.to_string())?;
    let world = job.world().clone();
    let rank = world.rank();
    // A job that is not finalized has failed: the other ranks are told.
    block_on(app(World::real(world))).map_err(|error| format!("rank {rank}: {error}"))?;
    job.finalize().map_err(|error| format!("rank {rank}: {error}"))
}

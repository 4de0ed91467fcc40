//! Jobs whose ranks are threads of one process.

use crate::shared::Shared;
use crate::{CallSite, Communicator, Error};
use carrousel_engine::{AnyNetwork, Endpoint, LocalJob, check_usage_of_build};
use carrousel_rank::RankId;
use carrousel_transport_shm::Settings;
use std::sync::Barrier;
use std::thread;

/// The communicator of all ranks, at an endpoint.
fn world(endpoint: Endpoint) -> Communicator {
    Communicator::world(Shared::new(endpoint))
}

/// The ranks of a job, all of them in this thread, which has to see to it that no call waits for another
/// rank: for counting what a message costs.
///
/// # Errors
/// When a job of so many ranks cannot be set up.
#[doc(hidden)]
pub fn in_one_thread(ranks: u32) -> Result<Vec<Communicator>, Error> {
    in_one_thread_over(ranks, Settings::default())
}

/// As [`in_one_thread`], over nodes that are made in another way: where there are many, with smaller rings.
///
/// # Errors
/// As [`in_one_thread`].
#[doc(hidden)]
pub fn in_one_thread_over(ranks: u32, settings: Settings) -> Result<Vec<Communicator>, Error> {
    let job = LocalJob::new(ranks);
    (0..ranks).map(|me| Ok(world(job.shm(me, settings)?))).collect()
}

/// As [`in_one_thread`], of ranks that share no memory, and reach each other through the network that `network` makes for
/// each rank.
///
/// # Errors
/// As [`in_one_thread`], and when a network cannot be made.
#[doc(hidden)]
pub fn in_one_thread_apart<E: ToString>(
    ranks: u32,
    mut network: impl FnMut(RankId) -> Result<AnyNetwork, E>,
) -> Result<Vec<Communicator>, Error> {
    let job = LocalJob::new(ranks);
    let mut rank = |me: u32| {
        let network =
            network(RankId(me)).map_err(|error| carrousel_engine::Error::Memory(error.to_string()))?;
        Ok(world(job.apart(me, network)?))
    };
    (0..ranks).map(&mut rank).collect()
}

/// Runs `body` as `ranks` ranks, each a thread of this process, and returns what each returns.
///
/// For tests of applications, and for looking at them under a sanitizer; each rank has the same code and
/// transport as a process of its own would have.
///
/// # Errors
/// When a job of so many ranks cannot be set up; in debug builds, also when ranks disagree at the end, or one has not
/// received a message (as with the option `check_usage`).
///
/// # Panics
/// When a rank does.
#[track_caller]
pub fn threads<T: Send>(ranks: u32, body: impl Fn(&Communicator) -> T + Sync) -> Result<Vec<T>, Error> {
    let site = CallSite::caller();
    let job = LocalJob::new(ranks);
    let barrier = Barrier::new(ranks as usize);
    let one = |me: u32| -> Result<T, Error> {
        let endpoint = job.shm(me, Settings::default());
        barrier.wait();
        let world = world(endpoint?);
        world.shared.with(|endpoint| endpoint.set_check_usage(check_usage_of_build()));
        let value = body(&world);
        let mut left = world.leave(site);
        let disagreed = left.clone().err();
        // A process would end now, and be missed. A thread goes on until those that have called something else come to
        // the end, too.
        while matches!(left, Err(Error::Disagreement(_))) {
            left = world.leave(site);
        }
        // Peers may not have opened this one's memory before all are here.
        barrier.wait();
        match disagreed.or(left?) {
            Some(error) => Err(error),
            None => Ok(value),
        }
    };
    thread::scope(|scope| {
        let one = &one;
        let ranks: Vec<_> = (0..ranks).map(|me| scope.spawn(move || one(me))).collect();
        let join = |rank: thread::ScopedJoinHandle<'_, Result<T, Error>>| {
            rank.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        ranks.into_iter().map(join).collect()
    })
}

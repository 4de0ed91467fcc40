//! Jobs whose ranks are threads of one process.

use crate::endpoint::{Endpoint, NodeTopology};
use crate::session::check_usage_of_build;
use crate::shared::Shared;
use crate::{CallSite, Communicator, Error};
use carrousel_rank::{Options, RankId};
use carrousel_transport_shm::Settings;
use carrousel_transport_verbs::{self as verbs, Verbs};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

/// What ranks of one process publish for each other.
type Addresses = Arc<Mutex<Vec<String>>>;

/// Rank `me` of a job whose ranks are all in this process, and share memory.
fn shm(me: u32, ranks: u32, settings: Settings, addresses: &Addresses) -> Result<Communicator, Error> {
    let topology = NodeTopology {
        me: RankId(me),
        ranks,
        neighbours: (0..ranks).map(RankId).collect(),
        here: ranks as usize,
    };
    rank(&topology, &Options::default(), settings, None, addresses)
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::Memory(error.to_string())
}

/// The rank at a place in a job whose ranks are all in this process.
fn rank(
    topology: &NodeTopology,
    options: &Options,
    settings: Settings,
    net: Option<Verbs>,
    addresses: &Addresses,
) -> Result<Communicator, Error> {
    let lost = |rank: RankId| Error::PeerLost { rank: rank.0, why: None };
    let known = Arc::clone(addresses);
    let look_up = move |rank: RankId| {
        let addresses = known.lock().map_err(|_| lost(rank))?;
        addresses.get(rank.0 as usize).cloned().ok_or(lost(rank))
    };
    let endpoint = Endpoint::new(topology, options, settings, Ok(net), true, Box::new(look_up));
    let endpoint = endpoint.map_err(refused)?;
    addresses.lock().map_err(|_| lost(topology.me))?[topology.me.0 as usize] = endpoint.address();
    Ok(Communicator::world(Shared::new(endpoint)))
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
    let addresses = Arc::new(Mutex::new(vec![String::new(); ranks as usize]));
    (0..ranks).map(|me| shm(me, ranks, settings, &addresses)).collect()
}

/// As [`in_one_thread`], of ranks that share no memory, and reach each other through an adapter.
///
/// # Errors
/// As [`in_one_thread`].
#[doc(hidden)]
pub fn in_one_thread_apart(
    ranks: u32,
    device: &Arc<verbs::Device>,
    settings: &verbs::Settings,
) -> Result<Vec<Communicator>, Error> {
    let addresses = Arc::new(Mutex::new(vec![String::new(); ranks as usize]));
    let apart = (0..ranks).map(RankId).map(|me| {
        let topology = NodeTopology { me, ranks, neighbours: vec![me], here: ranks as usize };
        let net = Verbs::over(device, me, ranks, settings).map_err(refused)?;
        // As large as the transport takes them.
        let options = Options { eager_threshold: settings.eager, ..Options::default() };
        rank(&topology, &options, Settings::default(), Some(net), &addresses)
    });
    apart.collect()
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
    let addresses = Arc::new(Mutex::new(vec![String::new(); ranks as usize]));
    let barrier = Barrier::new(ranks as usize);
    let one = |me: u32| -> Result<T, Error> {
        let world = shm(me, ranks, Settings::default(), &addresses);
        barrier.wait();
        let world = world?;
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

//! Jobs whose ranks are threads of one process.

use crate::core::{Core, Place};
use crate::shared::Shared;
use crate::{Communicator, Error};
use carrousel_rank::{Options, RankId};
use carrousel_transport_shm::Settings;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

/// Runs `body` as `ranks` ranks, each a thread of this process, and returns what each returns.
///
/// For tests of applications, and for looking at them under a sanitizer; each rank has the same code and
/// transport as a process of its own would have.
///
/// # Errors
/// When a job of so many ranks cannot be set up.
///
/// # Panics
/// When a rank does.
pub fn threads<T: Send>(ranks: u32, body: impl Fn(&Communicator) -> T + Sync) -> Result<Vec<T>, Error> {
    let addresses = Arc::new(Mutex::new(vec![String::new(); ranks as usize]));
    let barrier = Barrier::new(ranks as usize);
    let one = |me: u32| -> Result<T, Error> {
        let place = Place { me: RankId(me), ranks, neighbours: (0..ranks).map(RankId).collect() };
        let known = Arc::clone(&addresses);
        let look_up = move |rank: RankId| {
            let addresses = known.lock().map_err(|_| Error::PeerLost { rank: rank.0 })?;
            Ok(addresses[rank.0 as usize].clone())
        };
        let core = Core::new(&place, &Options::default(), Settings::default(), Box::new(look_up));
        if let (Ok(core), Ok(mut addresses)) = (&core, addresses.lock()) {
            addresses[me as usize] = core.address();
        }
        barrier.wait();
        let world = Communicator::world(Shared::new(core.map_err(|error| Error::Memory(error.to_string()))?));
        let value = body(&world);
        world.shared.with(Core::finalize)?;
        // Peers may not have opened this one's memory before all are here.
        barrier.wait();
        Ok(value)
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

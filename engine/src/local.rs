//! Jobs whose ranks are all in one process.

use crate::Error;
use crate::backends::AnyNetwork;
use crate::backends::shm::Settings;
use crate::endpoint::{Endpoint, NodeTopology};
use carrousel_rank::{Options, RankId};
use carrousel_system::inherited;
use std::fmt;
use std::sync::{Arc, Mutex};

/// A job whose ranks are all in this process: for tests, sanitizers, and for counting the cost of a message. Each
/// rank has the code and the transports of a process of its own. Clones are of the same job.
#[derive(Clone, Debug)]
pub struct LocalJob {
    /// The published addresses, by rank.
    addresses: Arc<Mutex<Vec<String>>>,
    ranks: u32,
}

impl LocalJob {
    /// A job of this many ranks; none of them is made yet.
    pub fn new(ranks: u32) -> Self {
        Self { addresses: Arc::new(Mutex::new(vec![String::new(); ranks as usize])), ranks }
    }

    /// Rank `me`, which shares memory with all others.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn shm(&self, me: u32, settings: Settings) -> Result<Endpoint, Error> {
        let neighbours = (0..self.ranks).map(RankId).collect();
        let topology =
            NodeTopology { me: RankId(me), ranks: self.ranks, neighbours, here: self.ranks as usize };
        self.endpoint(&topology, &Options::default(), settings, None)
    }

    /// Rank `me`, which shares memory with no other, and reaches them through a network.
    ///
    /// # Errors
    /// When there is too little memory.
    pub fn apart(&self, me: u32, network: AnyNetwork) -> Result<Endpoint, Error> {
        let me = RankId(me);
        let topology =
            NodeTopology { me, ranks: self.ranks, neighbours: vec![me], here: self.ranks as usize };
        // As large as the transport takes them.
        let options = Options { eager_threshold: network.largest_eager(), ..Options::default() };
        self.endpoint(&topology, &options, Settings::default(), Some(network))
    }

    fn endpoint(
        &self,
        topology: &NodeTopology,
        options: &Options,
        settings: Settings,
        net: Option<AnyNetwork>,
    ) -> Result<Endpoint, Error> {
        inherited::keep()?;
        let lost = |rank: RankId| Error::PeerLost { rank: rank.0, why: None };
        let known = Arc::clone(&self.addresses);
        let look_up = move |rank: RankId| {
            let addresses = known.lock().map_err(|_| lost(rank))?;
            addresses.get(rank.0 as usize).cloned().ok_or(lost(rank))
        };
        let endpoint = Endpoint::new(topology, options, settings, Ok(net), true, Box::new(look_up));
        let endpoint = endpoint.map_err(refused)?;
        let mut addresses = self.addresses.lock().map_err(|_| lost(topology.me))?;
        addresses[topology.me.0 as usize] = endpoint.address();
        Ok(endpoint)
    }
}

fn refused(error: impl fmt::Display) -> Error {
    Error::Memory(error.to_string())
}

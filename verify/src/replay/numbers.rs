//! The ranks of a part, and those of the trace. In a job of ours both are the same. An endpoint inside another MPI library
//! numbers its peers itself, and its part says which address each number stands for: the same address is the same rank.

use carrousel_rank::RankId;
use carrousel_trace::{RANKS_MAX, TraceEndpoint, TracePart};
use std::collections::HashMap;

/// The ranks of the trace by address: those that have recorded, and others that they name.
#[derive(Debug)]
pub(super) struct Addresses {
    ranks: HashMap<String, u32>,
    /// How many ranks there are.
    count: u32,
    /// The addresses of those that have recorded nothing, in the order of their ranks.
    strangers: Vec<String>,
}

impl Addresses {
    /// Those of a trace of so many ranks.
    pub(super) fn new(ranks: HashMap<String, u32>, count: u32) -> Self {
        Self { ranks, count, strangers: Vec::new() }
    }

    /// The rank at an address, which is a new one if nobody has recorded there. `None` if there are too many.
    fn rank_at(&mut self, address: String) -> Option<u16> {
        if let Some(rank) = self.ranks.get(&address) {
            return u16::try_from(*rank).ok();
        }
        let rank = u16::try_from(self.count).ok()?;
        self.count += 1;
        self.strangers.push(address.clone());
        self.ranks.insert(address, rank.into());
        Some(rank)
    }

    /// How many ranks there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The addresses that have no part, in the order of their ranks: the last ones.
    pub(super) fn strangers(&self) -> &[String] {
        &self.strangers
    }
}

const _: () = assert!(RANKS_MAX == u16::MAX as u32 + 1);

/// The ranks of a part.
#[derive(Debug)]
pub(super) struct Numbers {
    me: RankId,
    count: u32,
    /// By the endpoint's own numbers, which come in order.
    peers: Vec<Option<u16>>,
    endpoint: Option<TraceEndpoint>,
}

impl Numbers {
    /// Those of a rank of the trace, of so many, or of the endpoint whose part this is.
    pub(super) fn new(me: u16, ranks: u32, part: Option<&TracePart>) -> Self {
        let endpoint = part.and_then(TracePart::endpoint).cloned();
        let Some((own, count)) = part.filter(|_| endpoint.is_some()).map(TracePart::numbers) else {
            return Self { me: RankId(me.into()), count: ranks, peers: Vec::new(), endpoint };
        };
        let mut numbers = Self { me: RankId(own), count, peers: Vec::new(), endpoint };
        numbers.set(RankId(own), me);
        numbers
    }

    /// Its own rank in the part.
    pub(super) fn me(&self) -> RankId {
        self.me
    }

    /// How many ranks there are in the part.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The endpoint, if it is one.
    pub(super) fn endpoint(&self) -> Option<&TraceEndpoint> {
        self.endpoint.as_ref()
    }

    /// The rank in the trace of a rank in the part. `None` if there is none.
    pub(super) fn of(&self, rank: RankId) -> Option<u16> {
        match self.endpoint {
            None => u16::try_from(rank.0).ok().filter(|_| rank.0 < self.count),
            Some(_) => *self.peers.get(rank.0 as usize)?,
        }
    }

    /// The endpoint has numbered a peer. False if it cannot have this number.
    pub(super) fn name(&mut self, rank: RankId, address: String, addresses: &mut Addresses) -> bool {
        if self.endpoint.is_none() || rank.0 >= self.count || self.of(rank).is_some() {
            return false;
        }
        let Some(of_trace) = addresses.rank_at(address) else { return false };
        if self.peers.contains(&Some(of_trace)) {
            return false;
        }
        self.set(rank, of_trace);
        true
    }

    fn set(&mut self, rank: RankId, of_trace: u16) {
        let at = rank.0 as usize;
        if self.peers.len() <= at {
            self.peers.resize(at + 1, None);
        }
        self.peers[at] = Some(of_trace);
    }
}

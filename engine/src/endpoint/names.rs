//! Ranks of peers that are not known ahead: each process numbers those that it has met, in the order in which it did.

use crate::Error;
use crate::backends::shm;
use carrousel_rank::RankId;
use carrousel_transport::Name;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Looks up the address that a rank has published: the one for its node and, after a space, the one for other nodes, if
/// it has one.
pub type LookUp = Box<dyn FnMut(RankId) -> Result<String, Error> + Send>;

/// The peers of an endpoint of its own, by address. Clones are of the same.
#[derive(Clone, Debug)]
pub(super) struct Names(Arc<Mutex<KnownPeers>>);

#[derive(Debug)]
struct KnownPeers {
    /// What every address of the job begins with.
    job: String,
    /// By rank.
    addresses: Vec<String>,
    ranks: HashMap<String, RankId>,
    most: u32,
    /// The node of this process, whose processes are reached by shared memory; `None` if no other process is.
    node: Option<u64>,
}

impl KnownPeers {
    /// Whether the process at an address, which is not this one, is reached by shared memory.
    fn is_near(&self, address: &str) -> bool {
        let node =
            address.split(' ').next().and_then(|shm| shm.parse().ok()).map(|shm: shm::Address| shm.node());
        node.is_some() && node == self.node
    }
}

impl Names {
    /// No peers yet, of a job with this name, and never more than `most`.
    pub(super) fn new(job: &str, most: u32) -> Self {
        let (addresses, ranks) = (Vec::new(), HashMap::new());
        Self(Arc::new(Mutex::new(KnownPeers { job: format!("{job} "), addresses, ranks, most, node: None })))
    }

    /// Every change is made at once: a panic leaves nothing half done.
    fn known(&self) -> MutexGuard<'_, KnownPeers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address by which peers know that of this job.
    pub(super) fn full(&self, address: &str) -> String {
        format!("{}{address}", self.known().job)
    }

    /// The rank of the peer at this address, which may be new. `None` if it is of another job, or there are too many.
    pub(super) fn rank_of(&self, full: &str) -> Option<RankId> {
        let mut known = self.known();
        let address = full.strip_prefix(&known.job)?;
        if let Some(rank) = known.ranks.get(address) {
            return Some(*rank);
        }
        let rank = RankId(u32::try_from(known.addresses.len()).ok().filter(|next| *next < known.most)?);
        let address = address.to_owned();
        known.addresses.push(address.clone());
        known.ranks.insert(address, rank);
        Some(rank)
    }

    /// From now on the processes of this node are reached by shared memory; before, none is.
    pub(super) fn share_node(&self, node: u64) {
        self.known().node = Some(node);
    }

    /// Whether a peer is reached by shared memory: both ends see that alike, as its address and that of this process say it.
    pub(super) fn is_near(&self, rank: RankId) -> bool {
        let known = self.known();
        known.addresses.get(rank.0 as usize).is_some_and(|address| known.is_near(address))
    }

    /// Whether a peer has this rank.
    pub(super) fn knows(&self, rank: RankId) -> bool {
        (rank.0 as usize) < self.known().addresses.len()
    }

    /// The full address of a peer.
    pub(super) fn address_of(&self, rank: RankId) -> Option<String> {
        let known = self.known();
        known.addresses.get(rank.0 as usize).map(|address| format!("{}{address}", known.job))
    }

    /// Says which rank a peer is that introduces itself, through shared memory if `near`, or over the network. A peer that
    /// comes by the other one has no rank: its messages would come by two ways, and overtake each other.
    pub(super) fn introduce(&self, near: bool) -> Name {
        let names = self.clone();
        Box::new(move |text| {
            let full = std::str::from_utf8(text).ok()?;
            let is_expected = || {
                let known = names.known();
                full.strip_prefix(&known.job).is_some_and(|address| known.is_near(address) == near)
            };
            if is_expected() { names.rank_of(full) } else { None }
        })
    }

    /// Says where a peer is.
    pub(super) fn look_up(&self) -> LookUp {
        let names = self.clone();
        Box::new(move |rank| {
            let known = names.known();
            known.addresses.get(rank.0 as usize).cloned().ok_or(Error::PeerLost { rank: rank.0, why: None })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_met_has_a_rank_and_strangers_have_none() {
        let names = Names::new("job 7", 2);
        assert_eq!(names.full("here"), "job 7 here");
        assert_eq!(names.rank_of("job 7 here"), Some(RankId(0)));
        assert_eq!(names.rank_of("job 8 there"), None, "of another job");
        let mut introduce = names.introduce(false);
        assert_eq!(introduce(b"job 7 there"), Some(RankId(1)));
        assert_eq!(introduce(b"job 7 here"), Some(RankId(0)));
        assert_eq!(introduce(b"job 7 anywhere"), None, "there is room for two");
        assert_eq!(introduce(b"job 8 there"), None);
        assert_eq!(introduce(&[0xff]), None);
        assert!(names.knows(RankId(1)) && !names.knows(RankId(2)));
        assert_eq!(names.address_of(RankId(1)).as_deref(), Some("job 7 there"));
        let mut look_up = names.look_up();
        assert_eq!(look_up(RankId(1)).ok().as_deref(), Some("there"));
        assert!(look_up(RankId(2)).is_err());
    }

    #[test]
    fn a_peer_comes_by_the_way_on_which_its_node_is() {
        let names = Names::new("job", 4);
        let (here, there) = ("job shm:1:2:3:4:5:6:a verbs", "job shm:1:2:3:4:5:6:b verbs");
        let introduced = |near: bool, full: &str| names.introduce(near)(full.as_bytes());
        assert_eq!(introduced(true, here), None, "no other process is reached by shared memory");
        names.share_node(0xa);
        assert_eq!((introduced(false, here), introduced(true, there)), (None, None));
        assert_eq!((introduced(true, here), introduced(false, there)), (Some(RankId(0)), Some(RankId(1))));
        assert!(names.is_near(RankId(0)) && !names.is_near(RankId(1)) && !names.is_near(RankId(2)));
    }
}

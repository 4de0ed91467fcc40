//! The line that a job says about itself (option `report`): what it consists of, and what carries its messages.
//!
//! It is for those who cannot see it otherwise: a misspelt variable may leave a program without this library, which then
//! says nothing at all.

use crate::endpoint::{Endpoint, NodeTopology};
use carrousel_rank::RankId;
use carrousel_system::stderr;
use std::collections::BTreeMap;

/// How a count is written.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Says what a job or a process consists of, in one line.
#[cold]
pub fn say(parts: &[String]) {
    stderr::tell(format!("carrousel {}: {}", env!("CARGO_PKG_VERSION"), parts.join("; ")));
}

/// What reaches ranks of other nodes, as far as this endpoint has something for that.
#[cold]
pub fn network(endpoint: &Endpoint) -> String {
    match endpoint.network() {
        Ok(Some(device)) => device,
        Ok(None) => "no network".to_owned(),
        Err(why) => why.to_owned(),
    }
}

/// What rank 0 of a job says of it, where `nodes` has the node of each rank.
#[cold]
pub(crate) fn of_job(endpoint: &Endpoint, topology: &NodeTopology, nodes: &[u32]) -> Option<Vec<String>> {
    if topology.me != RankId(0) {
        return None;
    }
    let is_apart = topology.here > topology.neighbours.len();
    let Shares { nodes, shm, verbs } = Shares::of(nodes, is_apart);
    let ranks = topology.ranks as usize;
    let mut parts = vec![format!("{} on {}", counted(ranks, "rank"), counted(nodes, "node"))];
    parts.push(format!("shm: {}", counted(shm, "rank")));
    parts.push(match (verbs, endpoint.network()) {
        (0, _) => "verbs: 0 ranks".to_owned(),
        (_, Ok(_)) => format!("verbs: {}, rank 0 by {}", counted(verbs, "rank"), network(endpoint)),
        (_, Err(why)) => format!("verbs: not at rank 0: {why}"),
    });
    Some(parts)
}

/// How many ranks of a job use each transport.
#[derive(Debug, PartialEq, Eq)]
struct Shares {
    nodes: usize,
    /// Ranks that have another one on their node.
    shm: usize,
    /// Ranks that have another one which shared memory does not reach.
    verbs: usize,
}

impl Shares {
    /// Of a job whose ranks are on these nodes. With `is_apart`, ranks of one node talk over the network, too.
    fn of(nodes: &[u32], is_apart: bool) -> Self {
        let mut counts = BTreeMap::new();
        for node in nodes {
            *counts.entry(node).or_insert(0) += 1;
        }
        let shm = if is_apart { 0 } else { counts.values().filter(|count| **count > 1).sum() };
        let is_wide = counts.len() > 1 || is_apart && nodes.len() > 1;
        Self { nodes: counts.len(), shm, verbs: if is_wide { nodes.len() } else { 0 } }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shares, counted};

    #[test]
    fn ranks_are_counted_by_the_transports_that_they_have_a_peer_on() {
        let of = |nodes: &[u32], is_apart| {
            let Shares { nodes, shm, verbs } = Shares::of(nodes, is_apart);
            (nodes, shm, verbs)
        };
        assert_eq!(of(&[0], false), (1, 0, 0));
        assert_eq!(of(&[0, 0, 0], false), (1, 3, 0));
        assert_eq!(of(&[0, 0, 1], false), (2, 2, 3));
        assert_eq!(of(&[4, 9], false), (2, 0, 2));
        assert_eq!((of(&[0, 0], true), of(&[0], true)), ((1, 0, 2), (1, 0, 0)));
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "rank")), ["0 ranks", "1 rank", "2 ranks"]);
    }
}

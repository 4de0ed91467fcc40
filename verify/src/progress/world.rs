//! The state of a pair of ranks, and the steps from one to the next.

use carrousel_rank::{Event, Handle, Packet, Protocol, Rank};
use std::collections::VecDeque;

/// The rank that sends.
pub(super) const SENDER: usize = 0;
/// The rank that receives.
pub(super) const RECEIVER: usize = 1;

/// One rank, and what is to come to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct End<P: Protocol> {
    pub(super) rank: Rank<P>,
    /// The requests of its calls so far.
    pub(super) calls: Vec<Handle>,
    /// Packets on their way to it, in the order in which they were sent.
    pub(super) coming: VecDeque<Packet>,
    /// Its transfers that are under way: the request to report, and of a read the packet behind the data.
    pub(super) transfers: Vec<(Event, Option<Packet>)>,
    /// What its transport has, and it was not told of.
    pub(super) arrived: VecDeque<Event>,
    /// The peer's requests whose RTS or RTR has arrived.
    pub(super) heard: Vec<Handle>,
}

/// The two ranks of one of the programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World<P: Protocol> {
    pub(super) program: u32,
    pub(super) ends: [End<P>; 2],
    /// What eager messages cost that have been sent, and no receive has taken.
    pub(super) held: u64,
    /// The last call has not posted the transfer that it could have: of this rank, so many calls before it.
    pub(super) late: Option<(usize, usize)>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A rank makes its next call, behind what the driver owes to it.
    Call(usize),
    /// The first packet on its way to a rank arrives.
    Arrive(usize),
    /// A transfer of a rank is complete.
    Land(usize, usize),
    /// A rank is told of the first arrival, in a call that starts nothing.
    Take(usize),
}

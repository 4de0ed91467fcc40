//! The state of a pair of ranks, and the steps from one to the next.

use carrousel_rank::{Event, Handle, Packet, Protocol, Rank};
use std::collections::VecDeque;

/// The rank that sends.
pub(super) const SENDER: usize = 0;
/// The rank that receives.
pub(super) const RECEIVER: usize = 1;

/// One rank, with the packets and completions on their way to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PairEnd<P: Protocol> {
    pub(super) rank: Rank<P>,
    /// The requests of its calls so far.
    pub(super) calls: Vec<Handle>,
    /// Packets on their way to it, in the order in which they were sent.
    pub(super) coming: VecDeque<Packet>,
    /// Its transfers on their way: the completion to report, and of a read the packet behind the data.
    pub(super) transfers: Vec<(Event, Option<Packet>)>,
    /// Events that its transport has, and that were not fed to it.
    pub(super) arrived: VecDeque<Event>,
    /// The peer's requests whose RTS or RTR has arrived.
    pub(super) heard: Vec<Handle>,
}

/// The two ranks of one of the programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PairState<P: Protocol> {
    pub(super) program: u32,
    pub(super) ends: [PairEnd<P>; 2],
    /// The cost of eager messages that were sent, and that no receive has taken.
    pub(super) held: u64,
    /// The call that has not posted the transfer that it could have: its rank, and its number.
    pub(super) late: Option<(usize, usize)>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairAction {
    /// A rank makes its next call, after the initial progress that it needs.
    Call(usize),
    /// The first packet on its way to a rank arrives.
    Arrive(usize),
    /// A transfer of a rank is complete.
    Land(usize, usize),
    /// The first arrival is fed to a rank, in a call that starts nothing.
    Take(usize),
}

//! Flows between two ranks that nothing goes through any more.

use crate::hashed::Hashed;
use crate::model::Model;
use crate::network::{Channel, ChannelKind};
use crate::program::Start;
use crate::state::{Proc, State};
use carrousel_rank::{Explore, Protocol, RankId, Source};
use smallvec::SmallVec;

/// Whether items of the program's own messages are in a channel.
pub(crate) fn is_of_messages(channel: Channel) -> bool {
    matches!(
        channel.kind,
        ChannelKind::Forward | ChannelKind::Back | ChannelKind::Written | ChannelKind::Read(_)
    ) && !channel.context.is_collective()
}

/// The peers with which a rank has flows of messages, each once.
pub(crate) fn flow_peers<P: Protocol>(proc: &Proc<P>) -> SmallVec<[u16; 4]> {
    let mut peers: SmallVec<[u16; 4]> = proc.rank.flow_peers().map(|peer| peer.0 as u16).collect();
    peers.dedup();
    peers
}

impl<P: Protocol> Model<P> {
    /// Forgets all flows of a state through which no message goes any more, as a search that reduces orders does in each step.
    pub fn forget_spent_flows(&self, state: &mut State<P>) {
        for me in 0..state.procs.len() as u16 {
            let mut proc = Proc::clone(&state.procs[usize::from(me)]);
            let spent = flow_peers(&proc).into_iter().filter(|peer| are_spent(self, state, me, *peer));
            spent.for_each(|peer| proc.rank.forget_flows(RankId(u32::from(peer))));
            state.procs.set(usize::from(me), Hashed::new(proc));
        }
    }
}

/// Whether an item that lands, and is in the network no more, is the last one between two ranks, unless the step that takes
/// it sends others.
pub(crate) fn is_last<P: Protocol>(model: &Model<P>, next: &State<P>, channel: Channel) -> bool {
    let Channel { at, peer, .. } = channel;
    model.is_reducing()
        && is_of_messages(channel)
        && are_done(model, next, at, peer)
        && !has_open(model, next, peer, at)
}

/// Forgets the flows of a rank with a peer behind the last item between them, if nothing has left and nothing waits.
pub(crate) fn forget_behind_last<P: Protocol>(
    model: &Model<P>,
    state: &State<P>,
    (me, peer): (u16, u16),
    proc: &mut Proc<P>,
) {
    if !waits_for(model, state, me, proc, peer) {
        proc.rank.forget_flows(RankId(u32::from(peer)));
    }
}

/// Whether no message goes between two ranks any more, but for those of collectives.
pub(crate) fn are_spent<P: Protocol>(model: &Model<P>, state: &State<P>, one: u16, other: u16) -> bool {
    let mut pairs = [(one, other), (other, one)].into_iter();
    are_done(model, state, one, other) && !pairs.any(|(me, peer)| has_open(model, state, me, peer))
}

/// Whether neither of two ranks does anything any more that concerns the other, but for collectives, and nothing of that kind
/// is on its way.
fn are_done<P: Protocol>(model: &Model<P>, state: &State<P>, one: u16, other: u16) -> bool {
    let facts = model.facts(state.job);
    let will_name = |me: u16, peer: u16| facts.rank(me).will_name(state.procs[usize::from(me)].pc, peer);
    let brings = |me: u16, peer: u16| {
        let mut to_me = state.network.iter_to(me);
        to_me.any(|(channel, _)| channel.peer == peer && !channel.context.is_collective())
    };
    let pairs = [(one, other), (other, one)];
    !pairs.iter().any(|(me, peer)| will_name(*me, *peer))
        && !pairs.iter().any(|(me, peer)| brings(*me, *peer))
}

/// As [`waits_for`], of a rank as it is in a state.
fn has_open<P: Protocol>(model: &Model<P>, state: &State<P>, me: u16, peer: u16) -> bool {
    waits_for(model, state, me, &state.procs[usize::from(me)], peer)
}

/// Whether a rank has a message of a peer that has no receive yet, or a request that a message to or from that peer may end.
fn waits_for<P: Protocol>(model: &Model<P>, state: &State<P>, me: u16, proc: &Proc<P>, peer: u16) -> bool {
    let concerns = |ordinal| match model.start(state, me, ordinal) {
        Start::Send { to, .. } => to == u32::from(peer),
        Start::Receive { from: Source::Rank(from), .. } => from.0 == u32::from(peer),
        Start::Receive { .. } | Start::Collective { .. } | Start::Synchronize(_) | Start::Access(_) => false,
        Start::Later(_) => true,
    };
    proc.arrived.iter().any(|message| message.from == peer)
        || proc.open.iter().any(|open| {
            open.message.is_some_and(|message| message.from == peer)
                || !proc.is_complete(open) && concerns(open.ordinal)
        })
}

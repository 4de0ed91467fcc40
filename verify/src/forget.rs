//! What no rank will ask for any more is forgotten: states are one that differ in nothing else.
//!
//! Two ranks know of each other what was sent, processed and announced between them. That is a part of the library's state, and
//! some of it makes no difference from some step on. It is forgotten as soon as that is so, whatever step it is that makes it
//! so: otherwise one and the same state would be met with it and without it.

use crate::action::Action;
use crate::learned::{StepBegin, StepInput};
use crate::model::Model;
use crate::network::{Channel, ChannelKind};
use crate::program::{Act, Start};
use crate::spent::{are_spent, flow_peers, is_of_messages};
use crate::state::State;
use crate::step::take;
use carrousel_rank::{Explore, Protocol, RankId, Source};
use smallvec::SmallVec;

/// Forgets what an action has made useless, which has led from `state` to `next`.
pub(crate) fn forget<P: Protocol>(model: &Model<P>, state: &State<P>, action: Action, next: &mut State<P>) {
    if !model.is_reducing() {
        return;
    }
    match action {
        Action::Land(channel) | Action::Overtake { channel, .. } => {
            let is_spent =
                is_of_messages(channel) && forget_spent(model, state, (channel.at, channel.peer), next);
            if !is_spent {
                forget_seen(model, state, channel, next);
            }
        }
        Action::Step { rank, .. } => {
            let peers = peers_of_step(model, state, rank, next);
            peers.into_iter().for_each(|peer| _ = forget_spent(model, state, (rank, peer), next));
        }
        Action::Announce { .. } | Action::Lock(_) => {}
    }
}

/// A packet of a flow has come out, and none is on its way back: each announcement from now on tells the sender that its
/// messages have been processed that have been. Whether one did before makes no difference any more.
fn forget_seen<P: Protocol>(model: &Model<P>, state: &State<P>, channel: Channel, next: &mut State<P>) {
    let Channel { at, peer, context, kind } = channel;
    let (sender, receiver) = match kind {
        ChannelKind::Forward => (peer, at),
        ChannelKind::Back => (at, peer),
        _ => return,
    };
    let back = Channel { at: sender, peer: receiver, context, kind: ChannelKind::Back };
    let is_ordered = !context.is_collective() && model.facts(state.job).is_ordered(sender, receiver);
    if !P::rtr_tells_seen() || !is_ordered || next.network.has(back) {
        return;
    }
    let [of_sender, of_receiver] = [sender, receiver].map(|rank| RankId(u32::from(rank)));
    let proc = &next.procs[usize::from(sender)];
    if proc.rank.has_unseen(of_receiver, context) {
        let processed = next.procs[usize::from(receiver)].rank.processed(of_sender, context);
        let input = StepInput::Forget(receiver, context, processed);
        let begin = StepBegin { job: state.job, me: sender, proc: proc.clone(), input };
        take(model, begin, state, next);
    }
}

/// The peers with which a rank may have had its last message because of the step that it has taken.
fn peers_of_step<P: Protocol>(
    model: &Model<P>,
    before: &State<P>,
    me: u16,
    next: &State<P>,
) -> SmallVec<[u16; 4]> {
    let start = match model.next_act(before, me) {
        Some(Act::Start(ordinal)) => model.program(before.job, me).starts[usize::from(*ordinal)],
        // A receive from any source may be among these.
        Some(
            Act::Claim(ordinal) | Act::ReceiveClaimed(ordinal) | Act::Discard(ordinal) | Act::Cancel(ordinal),
        ) => match model.start(before, me, *ordinal) {
            start @ Start::Receive { .. } => start,
            _ => return SmallVec::new(),
        },
        _ => return SmallVec::new(),
    };
    match start {
        Start::Send { to, .. } => [to as u16].into_iter().collect(),
        Start::Receive { from: Source::Rank(from), .. } => [from.0 as u16].into_iter().collect(),
        // Any of its peers; or it is known only now which one.
        Start::Receive { .. } | Start::Later(_) => flow_peers(&next.procs[usize::from(me)]),
        Start::Collective { .. } | Start::Synchronize(_) | Start::Access(_) => SmallVec::new(),
    }
}

/// Forgets the flows between two ranks if no message goes through them any more. Whether that is so.
fn forget_spent<P: Protocol>(
    model: &Model<P>,
    state: &State<P>,
    (one, other): (u16, u16),
    next: &mut State<P>,
) -> bool {
    let are_spent = are_spent(model, next, one, other);
    if are_spent {
        for (me, peer) in [(one, other), (other, one)] {
            let proc = &next.procs[usize::from(me)];
            if proc.rank.flow_peers().any(|known| known.0 == u32::from(peer)) {
                let (proc, input) = (proc.clone(), StepInput::ForgetFlows(peer));
                take(model, StepBegin { job: state.job, me, proc, input }, state, next);
            }
        }
    }
    are_spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Settings;
    use crate::scenario::job;
    use carrousel_rank::Mirror;
    use carrousel_scenario::load;
    use stateright::Model as _;

    /// Walks one way through a program, and returns how many flows there are in each state.
    fn flows_on_the_way(text: &str) -> Vec<usize> {
        let scenario = load("test.scn", text.as_bytes()).expect("it is a scenario");
        let job = job(&scenario, false).expect("it is a job");
        let model = Model::<Mirror>::new([job].into(), Settings::default());
        let (mut states, mut counts) = (model.init_states(), Vec::new());
        let mut actions = Vec::new();
        while let Some(state) = states.pop() {
            counts.push(state.procs.iter().map(|proc| proc.rank.flow_peers().count()).sum());
            model.actions(&state, &mut actions);
            states.extend(actions.drain(..).take(1).filter_map(|action| model.next_state(&state, action)));
        }
        counts
    }

    #[test]
    fn of_ranks_that_have_had_their_last_message_no_flow_is_left() {
        for (from, size) in [("any", "8"), ("1", "8"), ("any", "64KiB"), ("1", "64KiB")] {
            let other = if from == "any" { "any" } else { "2" };
            let text = format!(
                "ranks 3\nrank 0\n  recv from {from} tag 0 size {size}\n  recv from {other} tag 0 size {size}\n\
                 rank 1..2\n  send to 0 tag 0 size {size}\n"
            );
            let counts = flows_on_the_way(&text);
            assert!(counts.iter().any(|flows| *flows > 0) && counts.last() == Some(&0), "{text}{counts:?}");
        }
    }

    #[test]
    fn a_message_without_a_receive_keeps_its_flow() {
        let counts = flows_on_the_way("ranks 2\nrank 0\n  send to 1 tag 0 size 8\n");
        assert!(*counts.last().expect("there are states") > 0, "{counts:?}");
    }
}

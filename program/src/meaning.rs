//! Translates a statement of the language to its action. There is no other translation.

use crate::action::Action;
use crate::communicators::{Group, Groups};
use crate::envelope::{pattern, selector, source, tag};
use crate::names::Ordinal;
use crate::operation::{Buffer, Collective, Operation, Part, Receive, Send};
use crate::windows::{access, own_access, synchronization};
use carrousel_rank::{Kind, RankId};
use carrousel_scenario as scenario;
use carrousel_scenario::{BufferId, CommunicatorId, Op};

/// The bytes by which a rank tells the others of a split whether it has a color, its color, and its key.
const SPLIT_BYTES: u64 = 12;

/// The requests and ranks that a statement names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Named<'a> {
    /// The requests that it waits for, or tests.
    pub(crate) awaited: &'a [Ordinal],
    /// The group of its epoch.
    pub(crate) group: &'a [RankId],
    /// It binds a name.
    pub(crate) is_bound: bool,
}

/// The action of a statement whose values are known, or are those of its outline.
pub(crate) fn meaning<'a>(op: &Op, on: CommunicatorId, groups: &Groups, named: Named<'a>) -> Action<'a> {
    let group = groups.of(on);
    let communicator = group.communicator;
    let collective = |kind, root, len| Action::Start {
        operation: Operation::Collective(Collective { kind, communicator, root, len }),
        blocking: true,
    };
    let send = |to, tag, len, synchronous, buffer| send(to, tag, len, (synchronous, buffer), group);
    let receive = |from, tag, len, buffer| receive(from, tag, len, buffer, group);
    match *op {
        Op::Compute { ns } => Action::Compute { ns },
        Op::ReadBuf(buffer) => Action::Touch { buffer, write: false },
        Op::WriteBuf(buffer) => Action::Touch { buffer, write: true },
        Op::Send { to, tag, size, buf, synchronous, blocking } => {
            Action::Start { operation: Operation::Send(send(to, tag, size, synchronous, buf)), blocking }
        }
        Op::Recv { from, tag, size, buf, blocking } => {
            Action::Start { operation: Operation::Receive(receive(from, tag, size, buf)), blocking }
        }
        Op::SendRecv { to, send_tag, send_size, from, recv_tag, recv_size } => Action::Exchange {
            send: send(to, send_tag, send_size, false, None),
            receive: receive(from, recv_tag, recv_size, None),
        },
        Op::Probe { from, tag } => Action::Probe(pattern(from, tag, group)),
        Op::Wait(_) | Op::WaitAll => Action::Wait(named.awaited),
        Op::Test(_) => Action::Test(named.awaited.first().copied()),
        Op::Barrier { blocking } => {
            let barrier = Collective { kind: Kind::Barrier, communicator, root: 0, len: 0 };
            Action::Start { operation: Operation::Collective(barrier), blocking }
        }
        Op::Bcast { root, size } => collective(Kind::Broadcast, root, size),
        Op::Reduce { root, size } => collective(Kind::Reduce, root, size),
        Op::AllReduce { size } => collective(Kind::AllReduce, 0, size),
        Op::Gather { root, size } => collective(Kind::Gather, root, size),
        Op::AllGather { size } => collective(Kind::AllGather, 0, size),
        Op::AllToAll { size } => collective(Kind::AllToAll, 0, size),
        Op::Split { color, key, made, .. } => {
            let tell = Collective { kind: Kind::AllGather, communicator, root: 0, len: SPLIT_BYTES };
            let made = made.map(|made| groups.of(made).communicator);
            Action::Split { tell, color, key, made }
        }
        Op::Load { .. }
        | Op::Store { .. }
        | Op::Put { .. }
        | Op::Get { .. }
        | Op::Accumulate { .. }
        | Op::FetchOp { .. }
        | Op::CompareSwap { .. }
        | Op::Fence { .. }
        | Op::Start { .. }
        | Op::Complete { .. }
        | Op::Post { .. }
        | Op::WaitEpoch { .. }
        | Op::Lock { .. }
        | Op::Unlock { .. }
        | Op::LockAll { .. }
        | Op::UnlockAll { .. }
        | Op::Flush { .. } => on_window(op, named)
            .unwrap_or_else(|| unreachable!("each statement on a window is one of its calls")),
        Op::Deferred(_) => unreachable!("its values are known, or those of its outline"),
    }
}

/// The action of a statement on a window; `None` if it is about none.
pub(crate) fn on_window<'a>(op: &Op, named: Named<'a>) -> Option<Action<'a>> {
    let access = access(op, named.is_bound).map(Action::Access);
    let accessed = access.or_else(|| own_access(op).map(Action::TouchWindow));
    accessed.or_else(|| synchronization(op, named.group).map(Action::Synchronize))
}

/// A message without bytes uses no buffer that another statement could see.
fn buffer(named: Option<BufferId>, len: u64, part: Part) -> Buffer {
    named.filter(|_| len > 0).map_or(Buffer::Own(part), Buffer::Named)
}

fn send(
    to: u32,
    number: u32,
    len: u64,
    (synchronous, named): (bool, Option<BufferId>),
    group: &Group,
) -> Send {
    let (buffer, communicator) = (buffer(named, len, Part::Outgoing), group.communicator);
    Send { to: group.rank(to), tag: tag(number), communicator, len, synchronous, buffer }
}

fn receive(
    from: scenario::Source,
    tag: scenario::TagSelector,
    len: u64,
    named: Option<BufferId>,
    group: &Group,
) -> Receive {
    let (buffer, communicator) = (buffer(named, len, Part::Incoming), group.communicator);
    Receive { from: source(from, group), tag: selector(tag), communicator, len, buffer }
}

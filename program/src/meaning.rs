//! Translates a statement of the language to its action. There is no other translation.

use crate::action::Action;
use crate::communicators::{Group, Groups};
use crate::envelope::{pattern, selector, source, tag};
use crate::names::Ordinal;
use crate::operation::{Buffer, Collective, Operation, Part, Receive, Send};
use carrousel_rank::Kind;
use carrousel_scenario as scenario;
use carrousel_scenario::{BufferId, CommunicatorId, Op};

/// The bytes by which a rank tells the others of a split whether it has a color, its color, and its key.
const SPLIT_BYTES: u64 = 12;

/// The action of a statement whose values are known, or are those of its outline; `None` if it has no meaning yet.
/// `awaited` are the requests that it waits for, or tests.
pub(crate) fn meaning<'a>(
    op: &Op,
    on: CommunicatorId,
    groups: &Groups,
    awaited: &'a [Ordinal],
) -> Option<Action<'a>> {
    let group = groups.of(on);
    let communicator = group.communicator;
    let collective = |kind, root, len| Action::Start {
        operation: Operation::Collective(Collective { kind, communicator, root, len }),
        blocking: true,
    };
    let send = |to, tag, len, synchronous, named| send(to, tag, len, (synchronous, named), group);
    let receive = |from, tag, len, named| receive(from, tag, len, named, group);
    Some(match *op {
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
        Op::Wait(_) | Op::WaitAll => Action::Wait(awaited),
        Op::Test(_) => Action::Test(awaited.first().copied()),
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
        Op::Deferred(_)
        | Op::Load { .. }
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
        | Op::Flush { .. } => return None,
    })
}

/// The action of a statement of a program, as [`meaning`]: all statements of a program have a meaning.
pub(crate) fn meaning_in_program<'a>(
    op: &Op,
    on: CommunicatorId,
    groups: &Groups,
    awaited: &'a [Ordinal],
) -> Action<'a> {
    meaning(op, on, groups, awaited)
        .unwrap_or_else(|| unreachable!("a program has statements with a meaning only"))
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

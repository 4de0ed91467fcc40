//! Questions about whole files: the kinds of statements that they have, including those without a meaning yet.

use crate::windows::access;
use carrousel_scenario::{Op, Scenario, Source, TagSelector};

/// The things that some statement of a scenario does, in some execution at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Aspects {
    /// It waits for something.
    pub waits: bool,
    /// It has values that only an execution has: a value out of its range stops the process.
    pub asks_for_messages: bool,
    /// It sends a message of the program.
    pub sends: bool,
    /// It receives a message of the program.
    pub receives: bool,
    /// It receives from any source, or with any tag.
    pub receives_any: bool,
    /// It reads or writes a buffer of its rank.
    pub uses_buffer: bool,
    /// It accesses the memory of a window.
    pub accesses_window: bool,
    /// It opens, closes or flushes an epoch.
    pub is_of_epoch: bool,
    /// It locks a window.
    pub locks: bool,
    /// It starts a request that has to be waited for. The requests that begin epochs are complete from the beginning.
    pub leaves_request: bool,
    /// Its rank can pass it while a message of it has not been received.
    pub may_leave_message: bool,
}

/// The aspects of all statements of a scenario.
pub fn aspects(scenario: &Scenario) -> Aspects {
    let mut all = Aspects::default();
    for step in scenario.programs.iter().flat_map(|program| &program.steps) {
        let op = step.op.outline();
        all.asks_for_messages |= matches!(step.op, Op::Deferred(_));
        all.waits |= waits(op);
        all.sends |= matches!(op, Op::Send { .. } | Op::SendRecv { .. });
        all.receives |= matches!(op, Op::Recv { .. } | Op::SendRecv { .. });
        all.receives_any |= receives_any(op);
        all.uses_buffer |= uses_buffer(op);
        all.accesses_window |= accesses_window(op);
        all.is_of_epoch |= is_of_epoch(op);
        all.locks |= matches!(op, Op::Lock { .. } | Op::LockAll { .. });
        // An access has a request if it binds a name.
        all.leaves_request |= leaves_request(op) || step.bind.is_some() && access(op, true).is_some();
        all.may_leave_message |= may_leave_message(op);
    }
    all
}

/// Whether a statement waits for something, in some execution at least.
fn waits(op: &Op) -> bool {
    match op {
        Op::Compute { .. } | Op::Test(_) | Op::ReadBuf(_) | Op::WriteBuf(_) => false,
        Op::Load { .. } | Op::Store { .. } => false,
        Op::Put { .. } | Op::Get { .. } | Op::Accumulate { .. } => false,
        Op::FetchOp { .. } | Op::CompareSwap { .. } => false,
        op => !op.starts_request(),
    }
}

/// Whether a statement reads or writes a buffer of its rank.
fn uses_buffer(op: &Op) -> bool {
    match *op {
        Op::Send { .. } | Op::Recv { .. } | Op::SendRecv { .. } => true,
        Op::Bcast { size, .. }
        | Op::Reduce { size, .. }
        | Op::AllReduce { size }
        | Op::Gather { size, .. }
        | Op::AllGather { size }
        | Op::AllToAll { size } => size > 0,
        Op::ReadBuf(_) | Op::WriteBuf(_) => true,
        Op::Put { .. } | Op::Get { .. } | Op::Accumulate { .. } => true,
        _ => false,
    }
}

fn receives_any(op: &Op) -> bool {
    match *op {
        Op::Recv { from, tag, .. } => from == Source::Any || tag == TagSelector::Any,
        Op::SendRecv { from, recv_tag, .. } => from == Source::Any || recv_tag == TagSelector::Any,
        _ => false,
    }
}

fn accesses_window(op: &Op) -> bool {
    matches!(
        op,
        Op::Put { .. }
            | Op::Get { .. }
            | Op::Accumulate { .. }
            | Op::FetchOp { .. }
            | Op::CompareSwap { .. }
            | Op::Load { .. }
            | Op::Store { .. }
    )
}

fn is_of_epoch(op: &Op) -> bool {
    matches!(
        op,
        Op::Fence { .. }
            | Op::Start { .. }
            | Op::Complete { .. }
            | Op::Post { .. }
            | Op::WaitEpoch { .. }
            | Op::Lock { .. }
            | Op::Unlock { .. }
            | Op::LockAll { .. }
            | Op::UnlockAll { .. }
            | Op::Flush { .. }
    )
}

/// Whether a statement starts a request that has to be waited for. The requests that begin epochs are complete from
/// the beginning.
fn leaves_request(op: &Op) -> bool {
    let is_born_complete =
        matches!(op, Op::Start { .. } | Op::Post { .. } | Op::Lock { .. } | Op::LockAll { .. });
    op.starts_request() && !is_born_complete
}

/// Whether a rank can pass a statement while a message of it has not been received. In the other collectives, no rank
/// returns before all have entered.
fn may_leave_message(op: &Op) -> bool {
    matches!(
        op,
        Op::Send { .. }
            | Op::SendRecv { .. }
            | Op::Bcast { .. }
            | Op::Reduce { .. }
            | Op::Gather { .. }
            | Op::Barrier { blocking: false }
    )
}

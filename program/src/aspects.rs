//! What the statements of a scenario are about, whether they have a meaning yet or not: for questions about whole files.

use carrousel_scenario::{Op, Scenario, Source, TagSelector};

/// What some statement of a scenario does, if only at worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Aspects {
    /// It waits for something.
    pub waits: bool,
    /// It has values that only an execution has: one that leaves its range stops its process.
    pub asks_for_messages: bool,
    /// It sends a message of the program.
    pub sends: bool,
    /// It receives a message of the program.
    pub receives: bool,
    /// It receives from any source, or with any tag.
    pub receives_any: bool,
    /// It has a buffer of its rank read or written.
    pub uses_buffer: bool,
    /// It accesses the memory of a window.
    pub accesses_window: bool,
    /// It opens, closes or flushes an epoch.
    pub is_of_epoch: bool,
    /// It locks a window.
    pub locks: bool,
    /// It starts a request that has to be waited for. Those of epochs that begin are complete at birth.
    pub leaves_request: bool,
    /// A rank can be done with it while a message of it has not been received.
    pub may_leave_message: bool,
}

/// What the statements of a scenario do.
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
        all.leaves_request |= leaves_request(op);
        all.may_leave_message |= may_leave_message(op);
    }
    all
}

/// Whether a statement waits for something, if only at worst.
fn waits(op: &Op) -> bool {
    match op {
        Op::Compute { .. } | Op::Test(_) | Op::ReadBuf(_) | Op::WriteBuf(_) => false,
        Op::Load { .. } | Op::Store { .. } => false,
        Op::Put { .. } | Op::Get { .. } | Op::Accumulate { .. } => false,
        Op::FetchOp { .. } | Op::CompareSwap { .. } => false,
        op => !op.starts_request(),
    }
}

/// Whether a statement has a buffer of its rank read or written.
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

/// Whether a statement starts a request that has to be waited for. Those of epochs that begin are complete at birth.
fn leaves_request(op: &Op) -> bool {
    let is_born_complete =
        matches!(op, Op::Start { .. } | Op::Post { .. } | Op::Lock { .. } | Op::LockAll { .. });
    op.starts_request() && !is_born_complete
}

/// Whether a rank can be done with a statement while a message of it has not been received. From the other collectives
/// nobody returns as long as anybody is missing.
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

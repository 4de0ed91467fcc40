//! What each check speaks of: that nothing was violated where nothing could be is no proof.

use carrousel_scenario::{Check, Op, Scenario, Source, TagSelector};

/// Whether a scenario has something that a check speaks of.
pub(crate) fn is_applicable(check: Check, scenario: &Scenario) -> bool {
    let all = || scenario.programs.iter().flat_map(|program| &program.steps).map(|step| &step.op);
    let mut ops = all().map(Op::outline);
    match check {
        // At a value that leaves its range, which only the run shows, a rank cannot go on.
        Check::DeadlockFreedom => ops.any(waits) || all().any(|op| matches!(op, Op::Deferred(_))),
        // A message that a receive could get.
        Check::MatchingOrder => {
            let (mut sends, mut receives) = (false, false);
            for op in ops {
                sends |= matches!(op, Op::Send { .. } | Op::SendRecv { .. });
                receives |= matches!(op, Op::Recv { .. } | Op::SendRecv { .. });
            }
            sends && receives
        }
        Check::BufferSafety => ops.any(uses_buffer),
        Check::MatchDeterminism => ops.any(is_wildcard),
        Check::RmaRace => ops.any(accesses_window),
        Check::EpochUsage => ops.any(|op| is_of_epoch(op) || accesses_window(op)),
        Check::LockExclusion => ops.any(|op| matches!(op, Op::Lock { .. } | Op::LockAll { .. })),
        Check::RequestLeak => ops.any(leaves_request),
        Check::UnmatchedMessage => ops.any(may_leave_message),
    }
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

fn is_wildcard(op: &Op) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_scenario::load;

    /// The checks that speak of something in a program of three ranks.
    fn applicable(program: &str) -> Vec<&'static str> {
        let text = format!("ranks 3\nwindow w 64\nrank 0\n{program}\n");
        let scenario = load("f", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let checks = Check::ALL.into_iter().filter(|check| is_applicable(*check, &scenario));
        checks.map(Check::name).collect()
    }

    #[test]
    fn a_check_applies_where_a_file_has_what_it_speaks_of() {
        let (deadlock, order, buffer) = ("deadlock-freedom", "matching-order", "buffer-safety");
        let (matches, race, epoch) = ("match-determinism", "rma-race", "epoch-usage");
        let (lock, leak, unmatched) = ("lock-exclusion", "request-leak", "unmatched-message");
        let table: [(&str, &[&str]); 20] = [
            ("", &[]),
            ("  compute 1us", &[]),
            ("  barrier", &[deadlock]),
            ("  ibarrier\n  wait all", &[deadlock, leak, unmatched]),
            ("  allreduce size 0", &[deadlock]),
            ("  allreduce size 8", &[deadlock, buffer]),
            ("  bcast root 0 size 8", &[deadlock, buffer, unmatched]),
            ("  send to 1 tag 0 size 8", &[deadlock, buffer, unmatched]),
            ("  isend to 1 tag 0 size 0", &[buffer, leak, unmatched]),
            ("  recv from 1 tag 0 size 8", &[deadlock, buffer]),
            ("  recv from 1 tag any size 8", &[deadlock, buffer, matches]),
            ("  irecv from any tag 0 size 8", &[buffer, matches, leak]),
            ("  sendrecv to 1 tag 0 size 8 from 1 tag 0 size 8", &[deadlock, order, buffer, unmatched]),
            ("  probe from any tag any", &[deadlock]),
            (
                "  r = probe from any tag any\n  isend to source(r) tag 0 size 8",
                &[deadlock, buffer, leak, unmatched],
            ),
            (
                "  r = recv from 1 tag 0 size 8\n  recv from source(r) tag any size 8",
                &[deadlock, buffer, matches],
            ),
            ("  write buf b", &[buffer]),
            ("  fence w\n  put w to 1 size 8\n  fence w", &[deadlock, buffer, race, epoch]),
            ("  lock w at 1 shared\n  unlock w at 1", &[deadlock, epoch, lock]),
            ("  ipost w from [1]\n  wait_epoch w", &[deadlock, epoch]),
        ];
        for (program, expected) in table {
            assert_eq!(applicable(program), expected, "{program}");
        }
    }
}

//! Steps in words.

use crate::machine::Event;
use crate::plan::{AccessId, LockId, Plan};

/// A step of an execution in a line.
pub(crate) fn event(plan: &Plan, event: Event) -> String {
    match event {
        Event::Calls(rank, at) => format!("rank {rank} calls {}", statement(plan, rank, at)),
        Event::Returns(rank, at) => format!("rank {rank} returns from {}", statement(plan, rank, at)),
        Event::Activates(epoch) => {
            let epoch = &plan.epochs[epoch];
            format!(
                "the epoch of {} begins at rank {}",
                statement(plan, epoch.rank, epoch.opened_at),
                epoch.rank
            )
        }
        Event::Begins(id) => format!("{} begins", access(plan, id)),
        Event::ComesBack(id) => format!("{} has its answer", access(plan, id)),
        Event::Ends(id) => format!("{} is over", access(plan, id)),
        Event::Arrives(id) => format!("{} arrives", lock(plan, id)),
        Event::Granted(id) => format!("{} is granted", lock(plan, id)),
        Event::Released(id) => format!("{} is given back", lock(plan, id)),
        Event::Withdrawn(id) => format!("{} is not needed", lock(plan, id)),
    }
}

fn statement(plan: &Plan, rank: u8, at: u8) -> String {
    let statement = &plan.program.ranks[usize::from(rank)][usize::from(at)];
    format!("`{}` (statement {at})", crate::program::words(statement))
}

fn access(plan: &Plan, id: AccessId) -> String {
    let transfer = &plan.accesses[id];
    format!("rank {}'s {}", transfer.origin, statement(plan, transfer.origin, transfer.at))
}

fn lock(plan: &Plan, id: LockId) -> String {
    let lock = &plan.locks[id];
    let epoch = &plan.epochs[lock.epoch];
    format!(
        "rank {}'s lock of rank {}, {}",
        lock.origin,
        lock.target,
        statement(plan, epoch.rank, epoch.opened_at)
    )
}

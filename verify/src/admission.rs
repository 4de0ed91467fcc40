//! The calls of a program that its epochs do not admit.
//!
//! What a window admits depends on the calls of its rank alone, and programs have no branches: so a window that no event
//! reaches says of each call whether it is one too many. Such a call ends the execution, as MPI's default error handler ends
//! the job. It commutes with nothing, and a reduced search takes it last.

use crate::program::{Act, Job, Program};
use carrousel_rank::RankId;
use carrousel_rank::epoch::{AllEpochRules, Call, EpochUsageError, Window, WindowSetup};
use std::collections::BTreeMap;

/// By step: what the library says of calls that it refuses.
pub(crate) type Refused = BTreeMap<u16, EpochUsageError>;

/// By rank: the calls that its epochs do not admit.
pub(crate) fn all_refused(job: &Job) -> Vec<Refused> {
    if job.windows.is_empty() {
        return Vec::new();
    }
    (0..).zip(&job.ranks).map(|(rank, program)| refused(job, rank, program)).collect()
}

/// The calls of a rank that its epochs do not admit.
fn refused(job: &Job, rank: u16, program: &Program) -> Refused {
    let ranks = job.ranks.len() as u32;
    let window = |_| Window::new(RankId(u32::from(rank)), ranks, WindowSetup::default());
    let mut windows: Vec<Window<AllEpochRules>> = job.windows.iter().map(window).collect();
    let mut refused = Refused::new();
    for (step, act) in (0..).zip(&program.steps) {
        let (window, call) = match &act.act {
            Act::Access(index) => {
                let access = program.accesses[usize::from(*index)];
                (access.window, Call::Transfer { transfer: access.transfer, with_request: false })
            }
            Act::Start(ordinal) => match program.synchronization(*ordinal) {
                Some(call) => (call.window, call.call()),
                None => continue,
            },
            _ => continue,
        };
        let admitted = windows[usize::from(window)].call(call, &mut Vec::new());
        refused.extend(admitted.err().map(|error| (step, error)));
    }
    refused
}

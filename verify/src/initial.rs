//! The beginning of a job: before the first step of any rank.

use crate::hints;
use crate::model::Model;
use crate::network::Network;
use crate::oracle::check_end;
use crate::state::{Hashed, Proc, State};
use carrousel_rank::epoch::{Flags, Neighbours, WindowSetup};
use carrousel_rank::{Job as RankJob, Protocol, Rank, RankId};
use smallvec::SmallVec;

/// The states in which a job begins: one for each way in which an MPI may take the flags of its windows.
pub(crate) fn states<P: Protocol>(model: &Model<P>, job: u32) -> Vec<State<P>> {
    let windows = &model.jobs()[job as usize].windows;
    let flags: Vec<Flags> = windows.iter().map(|window| window.flags).collect();
    let taken = if model.is_portable() { hints::taken(&flags) } else { vec![flags] };
    taken.iter().map(|flags| state(model, job, flags)).collect()
}

/// The state in which a job begins if its windows have these flags.
fn state<P: Protocol>(model: &Model<P>, job: u32, flags: &[Flags]) -> State<P> {
    let programs = &model.jobs()[job as usize];
    let ranks = RankJob { ranks: programs.ranks.len() as u32 };
    let procs = (0..ranks.ranks)
        .map(|me| {
            let mut rank = Rank::new(RankId(me), &ranks, &programs.options);
            for (flags, layout) in flags.iter().zip(&programs.windows) {
                let neighbours = neighbours(&programs.nodes, me);
                rank.create_window(WindowSetup { flags: *flags, staging: layout.staging, neighbours });
            }
            Hashed::new(Proc {
                pc: 0,
                rank,
                open: SmallVec::new(),
                waiting: SmallVec::new(),
                arrived: SmallVec::new(),
                kept: SmallVec::new(),
                epochs: SmallVec::new(),
                accesses: SmallVec::new(),
                left: SmallVec::new(),
                received: SmallVec::new(),
            })
        })
        .collect();
    let mut state =
        State { job, procs, network: Network::default(), begun: Vec::new(), violations: SmallVec::new() };
    check_end(model, &mut state);
    state
}

/// The ranks of a rank's node.
fn neighbours(nodes: &[u32], me: u32) -> Neighbours {
    let own = nodes.get(me as usize);
    (0..).map(RankId).zip(nodes).filter(|(_, node)| Some(*node) == own).map(|(rank, _)| rank).collect()
}

//! The beginning of a job: before the first step of any rank.

use crate::hashed::Hashed;
use crate::model::Model;
use crate::network::Network;
use crate::oracle::check_end;
use crate::state::{Outlook, Proc, State};
use crate::weakest::Weakest;
use carrousel_program::WindowLayout;
use carrousel_rank::epoch::{Neighbours, WindowSetup};
use carrousel_rank::{Job as RankJob, Protocol, Rank, RankId};
use smallvec::SmallVec;

/// The state in which a job begins.
pub(crate) fn state<P: Protocol>(model: &Model<P>, job: u32) -> State<P> {
    let programs = &model.jobs()[job as usize];
    // Under the weakest MPI nothing of a library runs for windows.
    let windows = if model.is_portable() { &[][..] } else { &programs.windows[..] };
    let ranks = RankJob { ranks: programs.ranks.len() as u32 };
    let procs = (0..ranks.ranks)
        .map(|me| {
            let mut rank = Rank::new(RankId(me), &ranks, &programs.options);
            for WindowLayout { flags, staging, .. } in windows.iter().copied() {
                let neighbours = neighbours(&programs.nodes, me);
                rank.create_window(WindowSetup { flags, staging, neighbours });
            }
            let mut proc = Proc {
                pc: 0,
                rank,
                open: SmallVec::new(),
                waiting: SmallVec::new(),
                arrived: SmallVec::new(),
                kept: SmallVec::new(),
                epochs: SmallVec::new(),
                accesses: SmallVec::new(),
                received: SmallVec::new(),
                outlook: Outlook::Unknown,
            };
            proc.outlook = model.outlook(job, me as u16, &proc);
            Hashed::new(proc)
        })
        .collect();
    let mut state = State {
        job,
        procs,
        network: Network::default(),
        begun: Vec::new(),
        weakest: Weakest::default(),
        violations: SmallVec::new(),
    };
    check_end(model, &mut state);
    state
}

/// The ranks of a rank's node.
fn neighbours(nodes: &[u32], me: u32) -> Neighbours {
    let own = nodes.get(me as usize);
    (0..).map(RankId).zip(nodes).filter(|(_, node)| Some(*node) == own).map(|(rank, _)| rank).collect()
}

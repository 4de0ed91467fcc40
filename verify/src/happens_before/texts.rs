//! What the programs of all ranks send, receive and enter.

use crate::program::{Act, Ordinal, Program, Start};
use carrousel_rank::{Communicator, Kind, Source, mpi};
use std::collections::{BTreeMap, BTreeSet};

/// A rank, and one of its steps.
pub(crate) type Point = (u16, u16);

/// The messages of a flow that can take each other's place: sender, receiver and tag.
pub(super) type Flow = (Communicator, u16, u16, u64);

/// What the programs of all ranks send, receive and enter, in their order.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) sends: BTreeMap<Flow, Vec<Point>>,
    /// The waits of receives, if there are any.
    pub(super) receives: BTreeMap<Flow, Vec<Option<Point>>>,
    /// By receiver that does not name all that it receives: the steps that wait for its receives.
    pub(super) take_any: BTreeMap<(Communicator, u16), Vec<u16>>,
    /// Of some message it is not known which receive takes it.
    pub(super) is_open: bool,
    /// By communicator, its first rank, as communicators without a common rank may have one number, and the number of the
    /// collective there: who enters it where, and waits for it.
    pub(super) collectives: BTreeMap<(Communicator, u16, usize), Vec<Entered>>,
}

pub(super) struct Entered {
    pub(super) at: Point,
    pub(super) left: Option<u16>,
    pub(super) kind: Kind,
    /// The rank that is the root, where the kind has one.
    pub(super) root: Option<u16>,
    pub(super) len: u64,
    /// So many ranks have to enter it.
    pub(super) members: usize,
}

impl Entered {
    /// Whether two members have entered the same collective.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.kind, self.root, self.len) == (other.kind, other.root, other.len)
    }
}

impl Texts {
    pub(super) fn read(&mut self, ranks: usize, rank: u16, program: &Program) {
        let mut receives: BTreeMap<Ordinal, (Flow, usize)> = BTreeMap::new();
        // By communicator: the waits for receives.
        let mut received: BTreeMap<Communicator, Vec<u16>> = BTreeMap::new();
        let mut takes_any: BTreeSet<Communicator> = BTreeSet::new();
        let mut entered: BTreeMap<Ordinal, ((Communicator, u16, usize), usize)> = BTreeMap::new();
        let mut numbers: BTreeMap<Communicator, usize> = BTreeMap::new();
        for (step, it) in (0..).zip(&program.steps) {
            match &it.act {
                Act::Start(request) => match program.starts[usize::from(*request)] {
                    Start::Send { to, tag, communicator, .. } => {
                        let flow = (communicator, rank, to as u16, mpi::tag(tag).0);
                        self.sends.entry(flow).or_default().push((rank, step));
                    }
                    Start::Receive { from: Source::Rank(from), tag, communicator, .. } if tag.is_exact() => {
                        let flow = (communicator, from.0 as u16, rank, tag.tag().0);
                        let waits = self.receives.entry(flow).or_default();
                        receives.insert(*request, (flow, waits.len()));
                        waits.push(None);
                    }
                    Start::Receive { communicator, .. } => {
                        takes_any.insert(communicator);
                    }
                    Start::Collective { kind, communicator, root, len } => {
                        let number = numbers.entry(communicator).or_default();
                        let place = (communicator, program.rank_in(communicator, 0), *number);
                        *number += 1;
                        let its = self.collectives.entry(place).or_default();
                        entered.insert(*request, (place, its.len()));
                        let has_root = matches!(kind, Kind::Broadcast | Kind::Reduce | Kind::Gather);
                        let root = has_root.then(|| program.rank_in(communicator, root));
                        let members =
                            program.members(communicator).map_or(ranks, |members| members.len() as usize);
                        its.push(Entered { at: (rank, step), left: None, kind, root, len, members });
                    }
                    // It may take what others would, or its message may be taken by others.
                    Start::Later(_) => self.is_open = true,
                    Start::Synchronize(_) | Start::Access(_) => {}
                },
                Act::Wait(requests) => {
                    for request in requests.iter() {
                        if let Start::Receive { communicator, .. } = program.starts[usize::from(*request)] {
                            received.entry(communicator).or_default().push(step);
                        }
                        if let Some((flow, number)) = receives.remove(request)
                            && let Some(waits) = self.receives.get_mut(&flow)
                        {
                            waits[number] = Some((rank, step));
                        }
                        if let Some((place, number)) = entered.remove(request)
                            && let Some(its) = self.collectives.get_mut(&place)
                        {
                            its[number].left = Some(step);
                        }
                    }
                }
                // A receive that is cancelled takes nothing, and one that claims takes what a probe has found.
                Act::Claim(_) | Act::ReceiveClaimed(_) | Act::Discard(_) | Act::Cancel(_) => {
                    self.is_open = true;
                }
                Act::Define(_)
                | Act::Test(_)
                | Act::Probe { .. }
                | Act::Compute(_)
                | Act::Access(_)
                | Act::TouchWindow(_)
                | Act::AwaitGrants(_)
                | Act::Touch { .. } => {}
            }
        }
        for communicator in takes_any {
            let waits = received.remove(&communicator).unwrap_or_default();
            self.take_any.insert((communicator, rank), waits);
        }
    }
}

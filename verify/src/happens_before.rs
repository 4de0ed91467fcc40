//! Which steps of a job's ranks are over, in every execution, before others begin.
//!
//! Programs have no branches, so their text says much of it. A rank takes its steps one after the other; a receive is complete
//! when its send has begun; and nobody leaves a barrier that somebody has not entered. Of receives whose source and tag are
//! named, the n-th takes the n-th message of that source and tag, if no other receive of that rank can (MPI-4.1, 3.5). Where
//! others can, messages are counted. A rank that lacks n of all messages to it lacks at most n of each sender. Values that are
//! known only at run time order nothing. A step that no execution takes is behind all others: a rank waits there for a message
//! that nobody sends, or for a rank that does not come.
//!
//! **Promises.** What is said holds of the library and of the weakest MPI.
//! **Leaves to others.** What epochs and locks keep apart (`access_order`, `weakest`).

use crate::program::{Act, Job, Ordinal, Program, Start};
use crate::weakest::Order;
use carrousel_rank::{Communicator, Kind, Source, mpi};
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::{mem, slice};

/// Edges that are followed for one job. What is not known by then counts as not ordered.
const WORK_MAX: usize = 1 << 27;

/// A rank, and one of its steps.
pub(crate) type Point = (u16, u16);

/// The members of a collective without which a member cannot leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedMembers {
    Nobody,
    Root,
    All,
}

impl AwaitedMembers {
    /// The members that the root, or another member, needs: all in a barrier, and otherwise those that have its data (MPI-4.1, 6.1
    /// and 6.14).
    pub(crate) fn of(kind: Kind, len: u64, is_root: bool) -> Self {
        match kind {
            Kind::Barrier => Self::All,
            _ if len == 0 => Self::Nobody,
            Kind::Broadcast if is_root => Self::Nobody,
            Kind::Broadcast => Self::Root,
            Kind::Reduce | Kind::Gather if !is_root => Self::Nobody,
            Kind::Reduce | Kind::Gather | Kind::AllReduce | Kind::AllGather | Kind::AllToAll => Self::All,
        }
    }
}

/// What follows a step.
#[derive(Clone, Copy, Debug)]
enum Edge {
    /// This step is behind it.
    To(Point),
    /// All steps of this list are behind it.
    ToAll(usize),
}

/// The order of the steps of a job. It is found when it is first asked for.
pub(crate) struct HappensBefore<'a> {
    job: &'a Job,
    collectives: bool,
    edges: OnceCell<StepEdges>,
    work: Cell<usize>,
}

/// What follows the steps of each rank directly.
#[derive(Debug)]
struct StepEdges {
    /// By rank: ascending by step.
    of_ranks: Vec<Vec<(u16, Edge)>>,
    /// The steps that leave a collective behind those that enter it.
    leave: Vec<Vec<Point>>,
    /// By rank: the step that it takes in no execution, and so none behind it; the most if there is none.
    stuck: Vec<u16>,
}

/// By rank: the first step that is surely over only when something else is.
pub(crate) struct Behind(Vec<u16>);

impl Behind {
    /// Whether a step begins behind it.
    pub(crate) fn has(&self, (rank, step): Point) -> bool {
        self.0[usize::from(rank)] < step
    }
}

/// The messages of a flow that can take each other's place: sender, receiver and tag.
type Flow = (Communicator, u16, u16, u64);

/// What the programs of all ranks send, receive and enter, in their order.
#[derive(Default)]
struct Texts {
    sends: BTreeMap<Flow, Vec<Point>>,
    /// The waits of receives, if there are any.
    receives: BTreeMap<Flow, Vec<Option<Point>>>,
    /// By receiver that does not name all that it receives: the steps that wait for its receives.
    take_any: BTreeMap<(Communicator, u16), Vec<u16>>,
    /// Of some message it is not known which receive takes it.
    is_open: bool,
    /// By communicator, its first rank, as communicators without a common rank may have one number, and the number of the
    /// collective there: who enters it where, and waits for it.
    collectives: BTreeMap<(Communicator, u16, usize), Vec<Entered>>,
}

struct Entered {
    at: Point,
    left: Option<u16>,
    kind: Kind,
    /// The rank that is the root, where the kind has one.
    root: Option<u16>,
    len: u64,
    /// So many ranks have to enter it.
    members: usize,
}

impl Entered {
    /// Whether two members have entered the same collective.
    fn is_like(&self, other: &Self) -> bool {
        (self.kind, self.root, self.len) == (other.kind, other.root, other.len)
    }
}

impl<'a> HappensBefore<'a> {
    /// What the text of a job says, with one of the orders of the weakest MPI switched off.
    pub(crate) fn new(job: &'a Job, without: Option<Order>) -> Self {
        let collectives = without != Some(Order::CollectivesWait);
        Self { job, collectives, edges: OnceCell::new(), work: Cell::new(WORK_MAX) }
    }
}

impl StepEdges {
    fn new(job: &Job, collectives: bool) -> Self {
        let mut texts = Texts::default();
        for (rank, program) in (0..).zip(&job.ranks) {
            texts.read(job.ranks.len(), rank, program);
        }
        let stuck = texts.stuck(job, collectives);
        let mut edges = Self { of_ranks: vec![Vec::new(); job.ranks.len()], leave: Vec::new(), stuck };
        edges.follow_messages(&texts);
        if collectives {
            texts.collectives.values().for_each(|entered| edges.follow_collective(entered));
        }
        edges.of_ranks.iter_mut().for_each(|edges| edges.sort_by_key(|(step, _)| *step));
        edges
    }

    fn follow_messages(&mut self, texts: &Texts) {
        if texts.is_open {
            return;
        }
        for (flow, sends) in &texts.sends {
            let (communicator, _, to, _) = *flow;
            if texts.take_any.contains_key(&(communicator, to)) {
                continue;
            }
            let receives = texts.receives.get(flow).map_or(&[][..], Vec::as_slice);
            for ((from, step), left) in sends.iter().zip(receives) {
                self.of_ranks[usize::from(*from)].extend(left.map(|left| (*step, Edge::To(left))));
            }
        }
        self.count_messages(texts);
    }

    /// Receives that may take what others could: only how many there are says which sends have begun.
    fn count_messages(&mut self, texts: &Texts) {
        let mut sends: BTreeMap<(Communicator, u16), BTreeMap<u16, Vec<u16>>> = BTreeMap::new();
        for ((communicator, from, to, _), points) in &texts.sends {
            let by_sender = sends.entry((*communicator, *to)).or_default().entry(*from).or_default();
            by_sender.extend(points.iter().map(|(_, step)| *step));
        }
        for (place, waits) in &texts.take_any {
            let Some(senders) = sends.get_mut(place) else { continue };
            senders.values_mut().for_each(|steps| steps.sort_unstable());
            let all: usize = senders.values().map(Vec::len).sum();
            let mut waits = waits.clone();
            waits.sort_unstable();
            for (received, left) in (1..).zip(&waits) {
                for (from, steps) in senders.iter() {
                    let others = all - steps.len();
                    let begun = received.min(all).checked_sub(others).and_then(|begun| begun.checked_sub(1));
                    if let Some(last) = begun.and_then(|last| steps.get(last)) {
                        self.of_ranks[usize::from(*from)].push((*last, Edge::To((place.1, *left))));
                    }
                }
            }
        }
    }

    fn follow_collective(&mut self, entered: &[Entered]) {
        let Some(first) = entered.first() else { return };
        let (kind, root, len) = (first.kind, first.root, first.len);
        if entered.len() != first.members || !entered.iter().all(|it| it.is_like(first)) {
            return;
        }
        let is_root = |it: &Entered| root == Some(it.at.0);
        for awaited in [AwaitedMembers::Root, AwaitedMembers::All] {
            let awaits = |it: &&Entered| AwaitedMembers::of(kind, len, is_root(it)) == awaited;
            let leave = entered.iter().filter(awaits).filter_map(|it| Some((it.at.0, it.left?)));
            self.leave.push(leave.collect());
            let edge = Edge::ToAll(self.leave.len() - 1);
            for it in entered.iter().filter(|it| awaited == AwaitedMembers::All || is_root(it)) {
                self.of_ranks[usize::from(it.at.0)].push((it.at.1, edge));
            }
        }
    }
}

impl HappensBefore<'_> {
    /// What is surely behind the end of a step; only the steps of its own rank if that takes too long.
    pub(crate) fn behind(&self, start: Point) -> Behind {
        let (rank, step) = start;
        let alone = |mut first: Vec<u16>| {
            first.fill(u16::MAX);
            first[usize::from(rank)] = step;
            first
        };
        let edges = self.edges.get_or_init(|| StepEdges::new(self.job, self.collectives));
        let mut first = alone(vec![0; edges.of_ranks.len()]);
        let mut is_met = vec![false; edges.leave.len()];
        // Ranks, each with the steps that are known to be behind since it was last looked at.
        let mut new = vec![(rank, step, u16::MAX)];
        while let Some((rank, from, to)) = new.pop() {
            let own = &edges.of_ranks[usize::from(rank)];
            let [begin, end] = [from, to].map(|last| own.partition_point(|(at, _)| *at <= last));
            for (_, edge) in &own[begin..end] {
                let reached = match edge {
                    Edge::To(point) => slice::from_ref(point),
                    Edge::ToAll(list) if mem::replace(&mut is_met[*list], true) => continue,
                    Edge::ToAll(list) => &edges.leave[*list],
                };
                let Some(left) = self.work.get().checked_sub(1 + reached.len()) else {
                    return Behind(alone(first));
                };
                self.work.set(left);
                for (rank, step) in reached {
                    let known = &mut first[usize::from(*rank)];
                    if *step < *known {
                        new.push((*rank, *step, *known));
                        *known = *step;
                    }
                }
            }
        }
        // Nothing is taken behind the step where a rank is stuck.
        first.iter_mut().zip(&edges.stuck).for_each(|(first, stuck)| *first = *stuck.min(first));
        Behind(first)
    }
}

impl Texts {
    /// By rank: the step that it surely never takes, if it has one. As many messages are received as are sent at most, in all and
    /// of each flow, and a collective is left as its kind says; all else goes on.
    fn stuck(&self, job: &Job, collectives: bool) -> Vec<u16> {
        let none = || vec![u16::MAX; job.ranks.len()];
        if self.is_open {
            return none();
        }
        let waits = self.waits(job.ranks.len(), collectives);
        // By rank: how many of its waits are over.
        let mut over = vec![0; job.ranks.len()];
        let at =
            |over: &[usize], rank: usize| waits[rank].get(over[rank]).map_or(u16::MAX, |(step, _)| *step);
        let mut work = WORK_MAX;
        loop {
            let before = over.clone();
            for rank in 0..waits.len() {
                while let Some((_, awaited)) = waits[rank].get(over[rank]) {
                    let Some(left) = work.checked_sub(1 + awaited.len()) else { return none() };
                    work = left;
                    if !awaited.iter().all(|(from, step)| *step < at(&over, usize::from(*from))) {
                        break;
                    }
                    over[rank] += 1;
                }
            }
            if over == before {
                return (0..waits.len()).map(|rank| at(&over, rank)).collect();
            }
        }
    }

    /// By rank, ascending: the steps that wait, each with the steps of other ranks without which it does not end. One that nobody
    /// takes stands for what is not there.
    fn waits(&self, ranks: usize, collectives: bool) -> Vec<Vec<(u16, Vec<Point>)>> {
        let mut waits: Vec<BTreeMap<u16, Vec<Point>>> = vec![BTreeMap::new(); ranks];
        let nobody = (0, u16::MAX);
        for (flow, receives) in &self.receives {
            let mut sends = self.sends.get(flow).into_iter().flatten().copied();
            for left in receives {
                let sent = sends.next().unwrap_or(nobody);
                if let Some((rank, step)) = left {
                    waits[usize::from(*rank)].entry(*step).or_default().push(sent);
                }
            }
        }
        for entered in self.collectives.values().filter(|_| collectives) {
            let Some(first) = entered.first().filter(|first| entered.iter().all(|it| it.is_like(first)))
            else {
                continue;
            };
            let is_root = |it: &Entered| first.root == Some(it.at.0);
            for it in entered {
                let awaited: Vec<Point> = match AwaitedMembers::of(first.kind, first.len, is_root(it)) {
                    AwaitedMembers::Nobody => continue,
                    AwaitedMembers::Root => {
                        vec![entered.iter().find(|it| is_root(it)).map_or(nobody, |root| root.at)]
                    }
                    AwaitedMembers::All if entered.len() == first.members => {
                        entered.iter().map(|it| it.at).collect()
                    }
                    AwaitedMembers::All => vec![nobody],
                };
                if let Some(left) = it.left {
                    waits[usize::from(it.at.0)].entry(left).or_default().extend(awaited);
                }
            }
        }
        waits.into_iter().map(|of_rank| of_rank.into_iter().collect()).collect()
    }

    fn read(&mut self, ranks: usize, rank: u16, program: &Program) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::job;
    use carrousel_scenario::load;

    /// Whether `read buf first` is over, in every execution, before `read buf then` begins.
    fn is_ordered(ranks: u32, programs: &str) -> bool {
        let text = format!("ranks {ranks}\n{programs}");
        let scenario =
            load("order.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let job = job(&scenario, false).unwrap_or_else(|error| panic!("{error}"));
        let find = |buffer: &str| {
            let line = 1 + text.lines().position(|line| line.trim() == format!("read buf {buffer}")).unwrap();
            let of_line = |program: &Program| {
                program
                    .steps
                    .iter()
                    .position(|step| step.line as usize == line && matches!(step.act, Act::Touch { .. }))
            };
            let at = (0..).zip(&job.ranks).find_map(|(rank, program)| Some((rank, of_line(program)? as u16)));
            at.unwrap_or_else(|| panic!("nothing touches `{buffer}`"))
        };
        HappensBefore::new(&job, None).behind(find("first")).has(find("then"))
    }

    #[test]
    fn a_named_receive_is_behind_its_send() {
        let sends = "rank 0\nsend to 1 tag 3 size 8\nread buf first\nsend to 1 tag 3 size 8\n";
        let first = "rank 1\nrecv from 0 tag 3 size 8\nread buf then\nrecv from 0 tag 3 size 8\n";
        let second = "rank 1\nrecv from 0 tag 3 size 8\nrecv from 0 tag 3 size 8\nread buf then\n";
        assert!(!is_ordered(2, &format!("{sends}{first}")));
        assert!(is_ordered(2, &format!("{sends}{second}")));
        // A posted receive has not received yet.
        let posted =
            "rank 1\na = irecv from 0 tag 3 size 8\nb = irecv from 0 tag 3 size 8\nread buf then\nwait a b\n";
        assert!(!is_ordered(2, &format!("{sends}{posted}")));
        // With a tag of its own, the second message may be received first.
        let other = sends.replacen("tag 3", "tag 4", 1);
        let by_tag = "rank 1\nrecv from 0 tag 3 size 8\nread buf then\nrecv from 0 tag 4 size 8\n";
        assert!(is_ordered(2, &format!("{other}{by_tag}")));
        // Any tag takes what another receive could.
        let any =
            "rank 1\na = irecv from 0 tag any size 8\nrecv from 0 tag 3 size 8\nread buf then\nwait a\n";
        assert!(!is_ordered(2, &format!("{other}{any}")));
    }

    #[test]
    fn order_goes_through_other_ranks() {
        let programs = "rank 0\nread buf first\nsend to 1 tag 0 size 8\nrank 1\nrecv from 0 tag 0 size 8\nsend to 2 tag 0 size 8\nrank 2\nrecv from 1 tag 0 size 8\nread buf then\n";
        assert!(is_ordered(3, programs));
        let early = programs.replacen(
            "recv from 0 tag 0 size 8\nsend to 2 tag 0 size 8",
            "send to 2 tag 0 size 8\nrecv from 0 tag 0 size 8",
            1,
        );
        assert!(!is_ordered(3, &early));
    }

    #[test]
    fn who_has_received_all_has_received_each() {
        let senders = "rank 1\nread buf first\nsend to 0 tag 0 size 8\nrank 2\nsend to 0 tag 1 size 8\n";
        let all = "rank 0\nrecv from any tag any size 8\nrecv from any tag any size 8\nread buf then\n";
        assert!(is_ordered(3, &format!("{senders}{all}")));
        let one = "rank 0\nrecv from any tag any size 8\nread buf then\nrecv from any tag any size 8\n";
        assert!(!is_ordered(3, &format!("{senders}{one}")));
        // Of three messages, two of which are from rank 1, two received ones hold its first.
        let again = senders.replacen("rank 2", "send to 0 tag 0 size 8\nrank 2", 1);
        assert!(is_ordered(3, &format!("{again}{all}recv from any tag any size 8\n")));
    }

    #[test]
    fn collectives_order_those_whose_data_they_need() {
        let around = |collective: &str| {
            format!(
                "rank 1\nread buf first\n{collective}\nrank 0\n{collective}\nread buf then\nrank 2\n{collective}\n"
            )
        };
        for collective in ["barrier", "allreduce size 8", "reduce root 0 size 8", "gather root 0 size 8"] {
            assert!(is_ordered(3, &around(collective)), "{collective}");
        }
        for collective in ["bcast root 0 size 8", "reduce root 2 size 8", "allreduce size 0", "x = ibarrier"]
        {
            assert!(!is_ordered(3, &around(collective)), "{collective}");
        }
        assert!(is_ordered(3, &around("bcast root 1 size 8")));
        assert!(is_ordered(3, &around("x = ibarrier\nwait x")));
        // A collective that somebody never enters is left by nobody: nothing is behind it.
        let lacks = around("barrier").replacen("rank 2\nbarrier", "rank 2\nread buf other", 1);
        assert!(is_ordered(3, &lacks));
    }

    #[test]
    fn a_step_that_is_never_taken_is_behind_all_others() {
        let programs = |receive: &str| {
            format!(
                "rank 0\nread buf first\nsend to 1 tag 0 size 8\nrank 1\n{receive}\nrank 2\nrecv from 1 tag 0 size 8\nread buf then\n"
            )
        };
        // Nobody sends with tag 1, so rank 1 never sends to rank 2 either.
        assert!(is_ordered(3, &programs("recv from 0 tag 1 size 8\nsend to 2 tag 0 size 8")));
        assert!(!is_ordered(3, &programs("send to 2 tag 0 size 8\nrecv from 0 tag 1 size 8")));
        // Nor is it ever over itself: what happens is not behind it.
        let last = "rank 0\nread buf then\nrank 1\nrecv from 0 tag 1 size 8\nread buf first\nrank 2\nread buf other\n";
        assert!(!is_ordered(3, last));
        // A barrier that rank 0 never enters.
        assert!(is_ordered(3, &programs("barrier\nsend to 2 tag 0 size 8")));
        assert!(!is_ordered(3, &programs("b = ibarrier\nsend to 2 tag 0 size 8\nwait b")));
        // Two that wait for each other, and a third that waits for one of them.
        let circle = "rank 0\nread buf first\nrank 1\nrecv from 2 tag 0 size 8\nsend to 2 tag 0 size 8\nread buf then\nrank 2\n\
                      recv from 1 tag 0 size 8\nsend to 1 tag 0 size 8\n";
        assert!(is_ordered(3, circle));
    }

    #[test]
    fn communicators_with_one_number_are_two() {
        let programs = "comm half = split color me/2\nrank 0\nread buf first\nbarrier on half\nrank 1\nbarrier on half\nrank 2\nbarrier on half\nread buf then\nrank 3\nbarrier on half\n";
        assert!(!is_ordered(4, programs));
        let within =
            programs.replacen("barrier on half\nrank 2", "barrier on half\nread buf then\nrank 2", 1);
        let within = within.replacen("barrier on half\nread buf then\nrank 3", "barrier on half\nrank 3", 1);
        assert!(is_ordered(4, &within));
    }
}

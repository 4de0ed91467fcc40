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

mod texts;

pub(crate) use self::texts::Point;

use self::texts::{Entered, Texts};
use crate::program::Job;
use crate::weakest::Order;
use carrousel_rank::{Communicator, Kind};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::{mem, slice};

/// Edges that are followed for one job. What is not known by then counts as not ordered.
const WORK_MAX: usize = 1 << 27;

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
    edges: OnceCell<(StepEdges, Stuck)>,
    work: Cell<usize>,
}

/// By rank: the first step that no execution takes; `u16::MAX` for a rank that may take all of its steps.
type Stuck = Vec<u16>;

/// What follows the steps of each rank directly.
#[derive(Debug)]
struct StepEdges {
    /// By rank: ascending by step.
    of_ranks: Vec<Vec<(u16, Edge)>>,
    /// The steps that leave a collective behind those that enter it.
    leave: Vec<Vec<Point>>,
    /// Waits that end in no execution: nobody sends what they wait for, or somebody does not come.
    endless: Vec<Point>,
}

/// By rank: the first step that is surely over only when something else is.
pub(crate) struct Behind(Vec<u16>);

impl Behind {
    /// Whether a step begins behind it.
    pub(crate) fn has(&self, (rank, step): Point) -> bool {
        self.0[usize::from(rank)] < step
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
        let of_ranks = vec![Vec::new(); job.ranks.len()];
        let mut edges = Self { of_ranks, leave: Vec::new(), endless: Vec::new() };
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
        for (flow, receives) in &texts.receives {
            let sent = texts.sends.get(flow).map_or(0, Vec::len);
            self.endless.extend(receives.iter().skip(sent).flatten());
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
        if !entered.iter().all(|it| it.is_like(first)) {
            return;
        }
        let is_root = |it: &Entered| root == Some(it.at.0);
        for awaited in [AwaitedMembers::Root, AwaitedMembers::All] {
            let awaits = |it: &&Entered| AwaitedMembers::of(kind, len, is_root(it)) == awaited;
            let leave = entered.iter().filter(awaits).filter_map(|it| Some((it.at.0, it.left?)));
            let are_there = match awaited {
                AwaitedMembers::All => entered.len() == first.members,
                _ => entered.iter().any(is_root),
            };
            if !are_there {
                self.endless.extend(leave);
                continue;
            }
            self.leave.push(leave.collect());
            let edge = Edge::ToAll(self.leave.len() - 1);
            for it in entered.iter().filter(|it| awaited == AwaitedMembers::All || is_root(it)) {
                self.of_ranks[usize::from(it.at.0)].push((it.at.1, edge));
            }
        }
    }

    /// How far each rank gets at most: a step is taken when all that it is behind have been.
    fn stuck(&self) -> Stuck {
        let mut entering = vec![0; self.leave.len()];
        // By rank and step: how many others it still waits for.
        let mut waits: Vec<BTreeMap<u16, usize>> = vec![BTreeMap::new(); self.of_ranks.len()];
        let mut wait = |(rank, step): Point| *waits[usize::from(rank)].entry(step).or_default() += 1;
        self.endless.iter().for_each(|point| wait(*point));
        for (_, edge) in self.of_ranks.iter().flatten() {
            match edge {
                Edge::To(point) => wait(*point),
                Edge::ToAll(list) => entering[*list] += 1,
            }
        }
        let entered = self.leave.iter().zip(&entering).filter(|(_, entering)| **entering > 0);
        entered.for_each(|(leave, _)| leave.iter().for_each(|point| wait(*point)));
        let first = |waits: &BTreeMap<u16, usize>| waits.keys().next().copied().unwrap_or(u16::MAX);
        // By rank: how many of its edges have been followed.
        let mut followed = vec![0; self.of_ranks.len()];
        let mut goes_on: Vec<usize> = (0..self.of_ranks.len()).collect();
        while let Some(rank) = goes_on.pop() {
            while let Some((step, edge)) = self.of_ranks[rank].get(followed[rank])
                && *step < first(&waits[rank])
            {
                followed[rank] += 1;
                let reached = match edge {
                    Edge::To(point) => slice::from_ref(point),
                    Edge::ToAll(list) => {
                        entering[*list] -= 1;
                        if entering[*list] == 0 { &self.leave[*list] } else { &[][..] }
                    }
                };
                for (other, at) in reached.iter().map(|(other, at)| (usize::from(*other), *at)) {
                    let left = waits[other].entry(at).or_default();
                    *left -= 1;
                    if *left == 0 {
                        waits[other].remove(&at);
                        goes_on.push(other);
                    }
                }
            }
        }
        waits.iter().map(first).collect()
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
        let (edges, stuck) = self.edges.get_or_init(|| {
            let edges = StepEdges::new(self.job, self.collectives);
            let stuck = edges.stuck();
            (edges, stuck)
        });
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
        first.iter_mut().zip(stuck).for_each(|(first, stuck)| *first = *stuck.min(first));
        Behind(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Act, Program};
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

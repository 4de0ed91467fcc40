//! Every schedule has the result by which its operation is defined: the rounds of all members, over real bytes.

use carrousel_collective::*;
use std::collections::{BTreeMap, VecDeque};

const MEMBERS_MAX: u32 = 17;
/// The bytes of an element; a combination adds elements as little-endian numbers.
const ELEMENT: u32 = 2;
const ALGORITHMS: [Algorithm; 11] = [
    Algorithm::Nothing,
    Algorithm::Alone,
    Algorithm::Dissemination,
    Algorithm::Tree,
    Algorithm::GatherTree,
    Algorithm::GatherLinear,
    Algorithm::Doubling,
    Algorithm::RingReduce,
    Algorithm::Bruck,
    Algorithm::RingGather,
    Algorithm::Pairwise,
];

/// One member: its rounds, its memory, and its progress.
struct Member {
    schedule: Schedule,
    buffers: [Vec<u8>; 3],
    round: u32,
    sends: bool,
    receives: bool,
    /// The end of the part of scratch that was used.
    scratch_used: u64,
}

/// A message under way, and whether its sender waits for it.
struct Flight {
    bytes: Vec<u8>,
    taken: bool,
}

fn seed(comm_rank: u32, at: usize) -> u8 {
    (at as u8).wrapping_mul(31).wrapping_add((comm_rank as u8).wrapping_mul(101)).wrapping_add(7)
}

impl Member {
    fn new(shape: &Shape, algorithm: Algorithm) -> Option<Self> {
        let schedule = Schedule::new(shape).expect("the shape is right").by(algorithm)?;
        let (source, target) = schedule.source_and_target_len();
        let source = (0..source as usize).map(|at| seed(shape.me, at)).collect();
        let buffers = [source, vec![0xEE; target as usize], vec![0xDD; schedule.scratch_len() as usize]];
        Some(Self { schedule, buffers, round: 0, sends: false, receives: false, scratch_used: 0 })
    }

    /// Bytes of a buffer; panics if they are outside of it.
    fn at(&mut self, at: At, len: u64) -> &mut [u8] {
        if at.buffer == Buffer::Scratch {
            self.scratch_used = self.scratch_used.max(at.offset + len);
        }
        &mut self.buffers[at.buffer as usize][at.offset as usize..(at.offset + len) as usize]
    }

    fn local(&mut self, local: Local) {
        assert_ne!(local.into.buffer, Buffer::Source, "a contribution is never written");
        let bytes = self.at(local.from, local.len).to_vec();
        let into = self.at(local.into, local.len);
        match local.what {
            What::Copy => into.copy_from_slice(&bytes),
            What::Combine => {
                assert_eq!(local.len % u64::from(ELEMENT), 0, "no element is divided");
                add(into, &bytes);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.round == self.schedule.rounds()
    }
}

fn add(into: &mut [u8], bytes: &[u8]) {
    for (into, from) in into.chunks_exact_mut(2).zip(bytes.chunks_exact(2)) {
        let sum = u16::from_le_bytes([into[0], into[1]]).wrapping_add(u16::from_le_bytes([from[0], from[1]]));
        into.copy_from_slice(&sum.to_le_bytes());
    }
}

/// Carries out the rounds of all members until no member can go on. `synchronous`: every send waits until its message
/// is taken. `order` is the order in which members are tried.
fn run(members: &mut [Member], synchronous: bool, order: &[usize]) {
    let mut flights: BTreeMap<(u32, u32), VecDeque<Flight>> = BTreeMap::new();
    loop {
        let mut moved = false;
        for &me in order {
            let member = &mut members[me];
            if member.is_over() {
                continue;
            }
            let comm_rank = me as u32;
            let round = member.schedule.round(member.round);
            if !member.sends {
                member.sends = true;
                member.receives = true;
                moved = true;
                if let Some(message) = round.send {
                    assert_ne!(message.peer, comm_rank);
                    let bytes = member.at(message.at, message.len).to_vec();
                    let flight = Flight { bytes, taken: false };
                    flights.entry((comm_rank, message.peer)).or_default().push_back(flight);
                }
            }
            if member.receives {
                let taken = match round.receive {
                    None => true,
                    Some(message) => {
                        let flight = flights.entry((message.peer, comm_rank)).or_default();
                        let flight = flight.iter_mut().find(|flight| !flight.taken);
                        flight
                            .map(|flight| {
                                assert_eq!(
                                    flight.bytes.len() as u64,
                                    message.len,
                                    "both ends know the length"
                                );
                                assert_ne!(message.at.buffer, Buffer::Source);
                                member.at(message.at, message.len).copy_from_slice(&flight.bytes);
                                flight.taken = true;
                            })
                            .is_some()
                    }
                };
                if taken {
                    member.receives = false;
                    moved = true;
                }
            }
            let flight = round.send.map(|message| flights.entry((comm_rank, message.peer)).or_default());
            let sent = flight.is_none_or(|flight| !synchronous || flight.iter().all(|flight| flight.taken));
            if !member.receives && sent {
                round.then.into_iter().flatten().for_each(|local| member.local(local));
                member.round += 1;
                member.sends = false;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for member in members.iter() {
        let (shape, algorithm) = (member.schedule.shape(), member.schedule.algorithm());
        assert!(member.is_over(), "{algorithm:?} is stuck in round {} of {shape:?}", member.round);
    }
    assert!(flights.values().flatten().all(|flight| flight.taken), "a message is left");
}

/// The content of the target of `me` by the definition; `None` if it is not written.
fn defined(shape: &Shape, sources: &[Vec<u8>]) -> Option<Vec<u8>> {
    let (me, root) = (shape.me as usize, shape.root as usize);
    let len = shape.len as usize;
    let sum = || {
        let mut sum = vec![0; len];
        sources.iter().for_each(|source| add(&mut sum, source));
        sum
    };
    match shape.kind {
        Kind::Barrier => None,
        Kind::Broadcast => (me != root).then(|| sources[root].clone()),
        Kind::Reduce => (me == root).then(sum),
        Kind::AllReduce => Some(sum()),
        Kind::Gather => (me == root).then(|| sources.concat()),
        Kind::AllGather => Some(sources.concat()),
        Kind::AllToAll => {
            Some(sources.iter().flat_map(|source| &source[me * len..][..len]).copied().collect())
        }
    }
}

fn roots(kind: Kind, members: u32) -> u32 {
    if matches!(kind, Kind::Broadcast | Kind::Reduce | Kind::Gather) { members } else { 1 }
}

fn check(kind: Kind, members: u32, root: u32, len: u64, algorithm: Algorithm) -> bool {
    let shape = |me| Shape { kind, members, me, root, len, element: ELEMENT };
    let new = || (0..members).map(|me| Member::new(&shape(me), algorithm)).collect::<Option<Vec<_>>>();
    let Some(first) = new() else { return false };
    let sources: Vec<Vec<u8>> = first.iter().map(|member| member.buffers[0].clone()).collect();
    let up: Vec<usize> = (0..members as usize).collect();
    let down: Vec<usize> = up.iter().rev().copied().collect();
    for (synchronous, order) in [(false, &up), (false, &down), (true, &up), (true, &down)] {
        let mut all = new().expect("as before");
        run(&mut all, synchronous, order);
        for (me, member) in (0..).zip(&all) {
            let shape = shape(me);
            match defined(&shape, &sources) {
                Some(target) => assert_eq!(member.buffers[1], target, "{algorithm:?} {shape:?}"),
                None => {
                    assert!(member.buffers[1].iter().all(|byte| *byte == 0xEE), "{algorithm:?} {shape:?}")
                }
            }
            assert_eq!(member.buffers[0], sources[me as usize], "{shape:?}");
            let needed = member.schedule.scratch_len();
            assert_eq!(member.scratch_used, needed, "scratch: {algorithm:?} {shape:?}");
        }
    }
    true
}

fn check_all(kind: Kind) {
    for members in 1..=MEMBERS_MAX {
        for root in 0..roots(kind, members) {
            // No element, one element, fewer and more elements than members, and uneven divisions.
            for len in [0, 2, 10, 2 * u64::from(members), 54] {
                let done = ALGORITHMS.iter().filter(|algorithm| check(kind, members, root, len, **algorithm));
                assert!(done.count() >= 1);
            }
        }
    }
}

macro_rules! each {
    ($($name:ident: $kind:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check_all(Kind::$kind);
        })*
    };
}

each!(
    a_broadcast_is_one: Broadcast,
    a_reduction_is_one: Reduce,
    an_allreduce_is_one: AllReduce,
    a_gather_is_one: Gather,
    an_allgather_is_one: AllGather,
    an_all_to_all_is_one: AllToAll,
    a_barrier_comes_to_an_end: Barrier,
);

/// The members of which each member has heard when it leaves a barrier.
#[test]
fn a_barrier_hears_from_everybody() {
    for members in 1..=MEMBERS_MAX {
        let schedule = |me| {
            let shape = Shape { kind: Kind::Barrier, members, me, root: 0, len: 0, element: 1 };
            Schedule::new(&shape).expect("the shape is right")
        };
        let rounds = schedule(0).rounds();
        let mut heard: Vec<u32> = (0..members).map(|me| 1 << me).collect();
        for round in 0..rounds {
            let before = heard.clone();
            for me in 0..members {
                let from = schedule(me).round(round).receive.expect("each round has a message").peer;
                heard[me as usize] |= before[from as usize];
            }
        }
        assert!(heard.iter().all(|heard| *heard == (1 << members) - 1), "{members} members");
    }
}

/// The sizes at which the algorithm changes.
#[test]
fn what_is_long_goes_another_way() {
    let by = |kind, len| {
        let shape = Shape { kind, members: 5, me: 1, root: 0, len, element: 2 };
        Schedule::new(&shape).expect("the shape is right").algorithm()
    };
    assert_eq!([8, 2048, 2050].map(|len| by(Kind::AllReduce, len)), {
        [Algorithm::Doubling, Algorithm::Doubling, Algorithm::RingReduce]
    });
    assert_eq!(
        [6000, 6001].map(|len| by(Kind::Gather, len)),
        [Algorithm::GatherTree, Algorithm::GatherLinear]
    );
    assert_eq!([16384, 16385].map(|len| by(Kind::AllGather, len)), [Algorithm::Bruck, Algorithm::RingGather]);
}

#[test]
fn a_shape_that_is_none_is_refused() {
    let shape = Shape { kind: Kind::Reduce, members: 3, me: 0, root: 0, len: 8, element: 4 };
    let wrong = |shape: Shape| Schedule::new(&shape).expect_err("it is refused");
    let comm_rank = |comm_rank, members| ShapeError::CommRank { comm_rank, members };
    assert_eq!(wrong(Shape { me: 3, ..shape }), comm_rank(3, 3));
    assert_eq!(wrong(Shape { root: 7, ..shape }), comm_rank(7, 3));
    assert_eq!(wrong(Shape { members: 0, ..shape }), comm_rank(0, 0));
    assert_eq!(wrong(Shape { len: 9, ..shape }), ShapeError::Element { len: 9, element: 4 });
    assert_eq!(wrong(Shape { element: 0, ..shape }), ShapeError::Element { len: 8, element: 0 });
    let kind = Kind::Gather;
    assert_eq!(
        wrong(Shape { kind, len: u64::MAX / 2, ..shape }),
        ShapeError::TooLong { len: u64::MAX / 2, members: 3 }
    );
    // An operation without a root ignores it.
    assert!(Schedule::new(&Shape { kind: Kind::AllReduce, root: 7, ..shape }).is_ok());
    let many =
        Shape { kind: Kind::Barrier, members: u32::MAX, me: u32::MAX - 1, root: 0, len: 0, element: 0 };
    let many = Schedule::new(&many).expect("it is right");
    assert_eq!(many.rounds(), 32);
    assert_eq!(many.round(31).send.map(|message| message.peer), Some((1 << 31) - 1));
}

/// A tree has the least depth; a ring has one round for each member.
#[test]
fn rounds_grow_as_they_should() {
    let rounds = |kind, members, len| {
        let shape = Shape { kind, members, me: 0, root: 0, len, element: 2 };
        Schedule::new(&shape).expect("the shape is right").rounds()
    };
    assert_eq!([1, 2, 3, 8, 9, 1024].map(|n| rounds(Kind::Broadcast, n, 8)), [0, 1, 2, 3, 4, 10]);
    assert_eq!([1, 2, 4, 8, 1024].map(|n| rounds(Kind::AllReduce, n, 8)), [1, 1, 2, 3, 10]);
    assert_eq!([2, 4, 8].map(|n| rounds(Kind::AllReduce, n, 1 << 20)), [2, 6, 14]);
    assert_eq!([2, 4, 8].map(|n| rounds(Kind::AllToAll, n, 8)), [1, 3, 7]);
}

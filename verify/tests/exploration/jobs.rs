//! Small jobs that use everything a program can use, drawn from a fixed sequence.

use crate::dice::Dice;
use carrousel_program::Group;
use carrousel_rank::{Communicator, Kind, Members, Options, RankId, Source, Speculation, TagSelector, mpi};
use carrousel_verify::program::{Act, Job, Ordinal, Program, Sought, Start};
use std::sync::Arc;

/// Two ranks that use everything.
pub(crate) const TWO: Shape = Shape {
    ranks: 2,
    requests: 4,
    speculation: Speculation::Always,
    extras: true,
    collectives: 3,
    group: false,
};
/// Three ranks that use everything.
pub(crate) const THREE: Shape = Shape {
    ranks: 3,
    requests: 3,
    speculation: Speculation::Always,
    extras: true,
    collectives: 3,
    group: false,
};
/// Three ranks that have a collective between their messages.
pub(crate) const MIXED: Shape = Shape { requests: 2, collectives: 1, ..THREE };

/// How jobs are drawn.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Ranks of a job.
    pub(crate) ranks: u64,
    /// Requests of a rank, at most.
    pub(crate) requests: u64,
    /// Whether receives are announced.
    pub(crate) speculation: Speculation,
    /// Tests, probes and buffers, which only a program can have.
    pub(crate) extras: bool,
    /// One job in so many has a collective.
    pub(crate) collectives: u64,
    /// Whether some of the ranks have another communicator, in which half of everything happens.
    pub(crate) group: bool,
}

/// Draws a job.
pub(crate) fn draw_job(dice: &mut Dice, shape: Shape) -> Job {
    let group = shape.group.then(|| draw_group(dice, shape));
    let collective = dice.one_in(shape.collectives).then(|| draw_collective(dice, shape, group.as_ref()));
    let program = |me| Arc::new(draw_program(dice, shape, me, (collective, group.as_ref())));
    let ranks = (0..shape.ranks).map(program).collect();
    let options =
        Options { eager_threshold: 1, speculation: shape.speculation, credit_every: 2, ..Options::default() };
    Job { ranks, options, windows: Vec::new(), nodes: Vec::new() }
}

/// Draws some of the ranks, at least two, in any order.
fn draw_group(dice: &mut Dice, shape: Shape) -> Group {
    let mut members: Vec<RankId> = (0..shape.ranks as u32).map(RankId).collect();
    for at in 1..members.len() {
        members.swap(at, dice.below(at as u64 + 1) as usize);
    }
    members.truncate(2 + dice.below(shape.ranks - 1) as usize);
    let communicator = Communicator::new(1).expect("there are so many");
    Group { communicator, members: Members::new(&members, shape.ranks as u32).expect("they are ranks") }
}

/// Draws a collective, eager or by rendezvous.
fn draw_collective(dice: &mut Dice, shape: Shape, group: Option<&Group>) -> Start {
    const KINDS: [Kind; 6] =
        [Kind::Broadcast, Kind::Reduce, Kind::AllReduce, Kind::Gather, Kind::AllGather, Kind::AllToAll];
    let (communicator, members) = match group.filter(|_| dice.one_in(2)) {
        Some(group) => (group.communicator, group.members.len().into()),
        None => (Communicator::WORLD, shape.ranks),
    };
    if dice.one_in(3) {
        return Start::Collective { kind: Kind::Barrier, communicator, root: 0, len: 0 };
    }
    let kind = KINDS[dice.below(KINDS.len() as u64) as usize];
    Start::Collective { kind, communicator, root: dice.below(members) as u32, len: 1 + dice.below(2) }
}

/// Enters a collective, and waits for it or leaves that for later.
fn enter(dice: &mut Dice, shape: Shape, collective: Start, program: &mut Program, open: &mut Vec<Ordinal>) {
    let request = program.start(0, collective);
    if !dice.one_in(3) {
        program.act(0, Act::Wait([request].into()));
        return;
    }
    if shape.extras && dice.one_in(2) {
        program.act(0, Act::Test(request));
    }
    open.push(request);
}

fn define(program: &mut Program) {
    let communicators: Vec<Communicator> = program.groups.iter().map(|group| group.communicator).collect();
    communicators.into_iter().for_each(|it| program.act(0, Act::Define(it)));
}

fn draw_program(
    dice: &mut Dice,
    shape: Shape,
    me: u64,
    (collective, group): (Option<Start>, Option<&Group>),
) -> Program {
    let group = group.filter(|group| group.members.contains(RankId(me as u32)));
    let mut program = Program { groups: group.cloned().into_iter().collect(), ..Program::default() };
    let mut open: Vec<Ordinal> = Vec::new();
    let requests = dice.below(shape.requests + 1);
    // Messages of a communicator may come, and be sent, before it is known; collectives may come, too.
    let defined = if group.is_some() { dice.below(requests + 1) } else { 0 };
    // Some ranks never enter it.
    let of_mine = |start: &Start| {
        let Start::Collective { communicator, .. } = *start else { return false };
        communicator == Communicator::WORLD || group.is_some()
    };
    let collective = collective.filter(of_mine).filter(|_| !dice.one_in(10));
    let of_group = |start: &Start| matches!(start, Start::Collective { communicator, .. } if *communicator != Communicator::WORLD);
    let earliest = if collective.as_ref().is_some_and(of_group) { defined } else { 0 };
    let before = dice.below(requests + 1).max(earliest);
    for number in 0..requests {
        if number == defined {
            define(&mut program);
        }
        if number == before
            && let Some(collective) = collective
        {
            enter(dice, shape, collective, &mut program, &mut open);
        }
        let peer = |dice: &mut Dice| {
            let other = (me + 1 + dice.below((shape.ranks - 1).max(1))) % shape.ranks;
            if dice.one_in(12) { me as u32 } else { other as u32 }
        };
        let group = group.filter(|_| dice.one_in(2));
        let communicator = group.map_or(Communicator::WORLD, |group| group.communicator);
        let peer = |dice: &mut Dice| match group {
            None => peer(dice),
            Some(Group { members, .. }) => {
                let drawn = members.rank(dice.below(members.len().into()) as u32);
                drawn.expect("there are so many").0
            }
        };
        let buffer = if shape.extras && dice.one_in(4) { 0 } else { program.starts.len() as u16 + 1 };
        let len = 1 + dice.below(2);
        let tag = dice.below(3) as u32;
        let start = if dice.one_in(2) {
            Start::Send { to: peer(dice), tag, communicator, len, synchronous: dice.one_in(6), buffer }
        } else {
            // Messages in two communicators match less often.
            let from = if dice.one_in(if shape.group { 2 } else { 3 }) {
                Source::Any
            } else {
                Source::Rank(RankId(peer(dice)))
            };
            let tag = match dice.below(4) {
                0 => mpi::ANY_TAG,
                1 if shape.group => mpi::ANY_TAG,
                // One bit of two: what it accepts overlaps with what others do, and contains neither.
                1 => TagSelector::new(mpi::tag(tag), 1 << dice.below(2)),
                _ => mpi::selector(Some(tag)),
            };
            if shape.extras && dice.one_in(6) {
                let sought = Sought::Known(communicator, from, tag);
                program.act(0, Act::Probe { sought, into: None });
            }
            Start::Receive { from, tag, communicator, len, buffer }
        };
        let request = program.start(0, start);
        match dice.below(5) {
            0 => program.act(0, Act::Wait([request].into())),
            1 if shape.extras => {
                program.act(0, Act::Test(request));
                open.push(request);
            }
            2 if matches!(start, Start::Receive { .. }) => {
                program.act(0, Act::Cancel(request));
                open.push(request);
            }
            _ => open.push(request),
        }
    }
    if defined == requests {
        define(&mut program);
    }
    if before == requests
        && let Some(collective) = collective
    {
        enter(dice, shape, collective, &mut program, &mut open);
    }
    if shape.extras && dice.one_in(5) {
        program.act(0, Act::Touch { buffer: 0, write: dice.one_in(2) });
    }
    if !open.is_empty() && !dice.one_in(8) {
        program.act(0, Act::Wait(open.into()));
    }
    program
}

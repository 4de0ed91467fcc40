//! Small jobs that use everything a program can use, drawn from a fixed sequence.

use carrousel_rank::{Kind, Options, RankId, Source, Speculation, TagSelector, mpi};
use carrousel_verify::program::{Act, Job, Ordinal, Program, Sought, Start};
use std::sync::Arc;

/// Two ranks that use everything.
pub(crate) const TWO: Shape =
    Shape { ranks: 2, requests: 4, speculation: Speculation::Always, extras: true, collectives: 3 };
/// Three ranks that use everything.
pub(crate) const THREE: Shape =
    Shape { ranks: 3, requests: 3, speculation: Speculation::Always, extras: true, collectives: 3 };
/// Three ranks that have a collective between their messages.
pub(crate) const MIXED: Shape = Shape { requests: 2, collectives: 1, ..THREE };

/// A small generator of numbers: the sequence is part of the test.
pub(crate) struct Dice(u64);

impl Dice {
    /// The sequence that begins with `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

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
}

/// Draws a job.
pub(crate) fn draw_job(dice: &mut Dice, shape: Shape) -> Job {
    let collective = dice.one_in(shape.collectives).then(|| draw_collective(dice, shape));
    let ranks = (0..shape.ranks).map(|me| Arc::new(draw_program(dice, shape, me, collective))).collect();
    let options =
        Options { eager_threshold: 1, speculation: shape.speculation, credit_every: 2, ..Options::default() };
    Job { ranks, options }
}

/// Draws a collective, eager or by rendezvous.
fn draw_collective(dice: &mut Dice, shape: Shape) -> Start {
    const KINDS: [Kind; 6] =
        [Kind::Broadcast, Kind::Reduce, Kind::AllReduce, Kind::Gather, Kind::AllGather, Kind::AllToAll];
    if dice.one_in(3) {
        return Start::BARRIER;
    }
    let kind = KINDS[dice.below(KINDS.len() as u64) as usize];
    Start::Collective { kind, root: dice.below(shape.ranks) as u32, len: 1 + dice.below(2) }
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

fn draw_program(dice: &mut Dice, shape: Shape, me: u64, collective: Option<Start>) -> Program {
    let mut program = Program::default();
    let mut open: Vec<Ordinal> = Vec::new();
    let requests = dice.below(shape.requests + 1);
    // Some ranks never enter it.
    let collective = collective.filter(|_| !dice.one_in(10));
    let before = dice.below(requests + 1);
    for number in 0..requests {
        if number == before
            && let Some(collective) = collective
        {
            enter(dice, shape, collective, &mut program, &mut open);
        }
        let peer = |dice: &mut Dice| {
            let other = (me + 1 + dice.below((shape.ranks - 1).max(1))) % shape.ranks;
            if dice.one_in(12) { me as u32 } else { other as u32 }
        };
        let buffer = if shape.extras && dice.one_in(4) { 0 } else { program.starts.len() as u16 + 1 };
        let len = 1 + dice.below(2);
        let tag = dice.below(3) as u32;
        let start = if dice.one_in(2) {
            Start::Send { to: peer(dice), tag, len, synchronous: dice.one_in(6), buffer }
        } else {
            let from = if dice.one_in(3) { Source::Any } else { Source::Rank(RankId(peer(dice))) };
            let tag = match dice.below(4) {
                0 => mpi::ANY_TAG,
                // One bit of two: what it accepts overlaps with what others do, and contains neither.
                1 => TagSelector::new(mpi::tag(tag), 1 << dice.below(2)),
                _ => mpi::selector(Some(tag)),
            };
            if shape.extras && dice.one_in(6) {
                program.act(0, Act::Probe { sought: Sought::Known(from, tag), into: None });
            }
            Start::Receive { from, tag, len, buffer }
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

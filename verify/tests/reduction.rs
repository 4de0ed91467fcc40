//! The reduced search and the unreduced one come to the same verdicts.
//!
//! Every execution of some thousand small jobs that use everything a program can use, explored twice. The
//! jobs are drawn from a fixed sequence, so that a failure is found again by its number.

use carrousel_rank::{Mirror, Options, Protocol, Published, RankId, Source, Speculation, Tag, TagSelector};
use carrousel_scenario::Check;
use carrousel_verify::explore::{Limits, explore};
use carrousel_verify::model::Settings;
use carrousel_verify::program::{Act, Job, Ordinal, Program, Start};
use std::sync::Arc;

/// A small generator of numbers: the sequence is part of the test.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// How jobs are drawn.
#[derive(Clone, Copy)]
struct Shape {
    ranks: u64,
    requests: u64,
    speculation: Speculation,
    /// Tests, probes and buffers, which only a program can have.
    extras: bool,
}

fn draw_job(dice: &mut Dice, shape: Shape) -> Job {
    let barrier = shape.extras && dice.one_in(3);
    let ranks = (0..shape.ranks).map(|me| Arc::new(draw_program(dice, shape, me, barrier))).collect();
    let options =
        Options { eager_threshold: 1, speculation: shape.speculation, credit_every: 2, ..Options::default() };
    Job { ranks, options }
}

fn draw_program(dice: &mut Dice, shape: Shape, me: u64, barrier: bool) -> Program {
    let mut program = Program::default();
    let mut open: Vec<Ordinal> = Vec::new();
    let requests = dice.below(shape.requests + 1);
    for _ in 0..requests {
        let peer = |dice: &mut Dice| {
            let other = (me + 1 + dice.below(shape.ranks - 1)) % shape.ranks;
            if dice.one_in(12) { me as u32 } else { other as u32 }
        };
        let buffer = if shape.extras && dice.one_in(4) { 0 } else { program.starts.len() as u16 + 1 };
        let len = 1 + dice.below(2);
        let tag = dice.below(2) as u32;
        let start = if dice.one_in(2) {
            Start::Send { to: peer(dice), tag, len, synchronous: dice.one_in(6), buffer }
        } else {
            let from = if dice.one_in(3) { Source::Any } else { Source::Rank(RankId(peer(dice))) };
            let tag = if dice.one_in(3) { TagSelector::Any } else { TagSelector::Tag(Tag(tag)) };
            if shape.extras && dice.one_in(6) {
                program.act(0, Act::Probe(from, tag));
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
    if barrier && !dice.one_in(10) {
        let request = program.start(0, Start::Barrier);
        program.act(0, Act::Wait([request].into()));
    }
    if shape.extras && dice.one_in(5) {
        program.act(0, Act::Touch { buffer: 0, write: dice.one_in(2) });
    }
    if !open.is_empty() && !dice.one_in(8) {
        program.act(0, Act::Wait(open.into()));
    }
    program
}

/// The violated checks; `None` if the job has too many states to be explored whole.
fn verdicts<P: Protocol>(job: &Job, settings: Settings) -> Option<(Vec<Check>, u64)> {
    let limits = Limits { threads: 1, max_states: Some(60_000), ..Limits::default() };
    let outcome = explore::<P>([job.clone()].into(), settings, &limits);
    assert!(outcome.broken.is_none(), "the library broke a promise: {job:?}");
    let checks = outcome.violations.iter().map(|(check, _)| *check).collect();
    outcome.exhaustive.then_some((checks, outcome.states))
}

fn compare<P: Protocol>(shape: Shape, jobs: u64, portable: bool) {
    let mut dice = Dice(7);
    let (mut compared, mut smaller, mut violated) = (0, 0, [0; Check::ALL.len()]);
    for number in 0..jobs {
        let job = draw_job(&mut dice, shape);
        let reduced = verdicts::<P>(&job, Settings { reduce: true, portable, ..Settings::default() });
        let whole = verdicts::<P>(&job, Settings { reduce: false, portable, ..Settings::default() });
        if let (Some((reduced, fewer)), Some((whole, states))) = (reduced, whole) {
            assert_eq!(reduced, whole, "job {number} comes out differently: {job:#?}");
            compared += 1;
            smaller += u64::from(fewer < states);
            whole.iter().for_each(|check| violated[*check as usize] += 1);
        }
    }
    assert!(compared * 10 > jobs * 8, "too many of the jobs are too large: {compared} of {jobs} compared");
    assert!(smaller * 2 > compared, "the reduction reduces {smaller} of {compared} jobs");
    for check in
        [Check::DeadlockFreedom, Check::RequestLeak, Check::UnmatchedMessage, Check::MatchDeterminism]
    {
        assert!(violated[check as usize] > 0, "no job violates {check}: the comparison says little");
    }
}

const TWO: Shape = Shape { ranks: 2, requests: 4, speculation: Speculation::Always, extras: true };
const THREE: Shape = Shape { ranks: 3, requests: 3, speculation: Speculation::Always, extras: true };

#[test]
fn two_ranks_mirror() {
    compare::<Mirror>(TWO, 1500, false);
}

#[test]
fn two_ranks_published() {
    compare::<Published>(TWO, 1500, false);
}

#[test]
fn three_ranks_mirror() {
    compare::<Mirror>(THREE, 800, false);
}

#[test]
fn three_ranks_published() {
    compare::<Published>(THREE, 800, false);
}

#[test]
fn three_ranks_without_speculation() {
    compare::<Mirror>(Shape { speculation: Speculation::Off, ..THREE }, 1500, false);
}

#[test]
fn the_weakest_mpi() {
    compare::<Mirror>(Shape { speculation: Speculation::Off, ..TWO }, 1500, true);
}

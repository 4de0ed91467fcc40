//! The reduced search and the unreduced one come to the same verdicts.
//!
//! Every execution of some thousand small jobs that use everything a program can use, explored twice. The
//! jobs are drawn from a fixed sequence, so that a failure is found again by its number.

use crate::asking::draw_scenario;
use crate::dice::Dice;
use crate::jobs::{MIXED, Shape, THREE, TWO, draw_job};
use carrousel_rank::{
    ANNOUNCED_FROM, Communicator, Mirror, Options, Protocol, Published, RankId, Source, Speculation, Tag,
    TagSelector, mpi,
};
use carrousel_scenario::{Check, load};
use carrousel_verify::explore::{Limits, explore};
use carrousel_verify::model::Settings;
use carrousel_verify::program::{Act, Job, Ordinal, Program, Start};
use carrousel_verify::scenario::job;
use carrousel_verify::search::CoverPoint;
use std::sync::Arc;

/// The violated checks; `None` if the job has too many states to be explored whole.
fn verdicts<P: Protocol>(job: &Job, settings: Settings) -> Option<(Vec<Check>, u64)> {
    let limits = Limits { threads: 1, max_states: Some(60_000), ..Limits::default() };
    let outcome = explore::<P>([job.clone()].into(), settings, &limits);
    assert!(outcome.broken.is_none(), "the library broke a promise: {job:?}");
    let checks = outcome.violations.iter().map(|(check, _)| *check).collect();
    outcome.exhaustive.then_some((checks, outcome.states))
}

fn compare<P: Protocol>(shape: Shape, jobs: u64, portable: bool) {
    let mut dice = Dice::new(7);
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
    println!("{compared} of {jobs} compared, {smaller} reduced, violated: {violated:?}");
    assert!(compared * 10 > jobs * 8, "too many of the jobs are too large: {compared} of {jobs} compared");
    assert!(smaller * 2 > compared, "the reduction reduces {smaller} of {compared} jobs");
    for check in
        [Check::DeadlockFreedom, Check::RequestLeak, Check::UnmatchedMessage, Check::MatchDeterminism]
    {
        assert!(violated[check as usize] > 0, "no job violates {check}: the comparison says little");
    }
}

#[test]
fn two_ranks_mirror() {
    compare::<Mirror>(TWO, 1500, false);
}

#[test]
fn two_ranks_published() {
    compare::<Published>(TWO, 1500, false);
}

#[test]
fn collectives_between_messages_mirror() {
    compare::<Mirror>(MIXED, 600, false);
}

#[test]
fn collectives_between_messages_published() {
    compare::<Published>(MIXED, 600, false);
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

#[test]
fn collectives_under_the_weakest_mpi() {
    compare::<Mirror>(Shape { speculation: Speculation::Off, ranks: 2, ..MIXED }, 1000, true);
    compare::<Mirror>(Shape { speculation: Speculation::Off, ..MIXED }, 400, true);
}

#[test]
fn communicators_mirror() {
    compare::<Mirror>(Shape { group: true, ..TWO }, 600, false);
    compare::<Mirror>(Shape { group: true, collectives: 2, ..MIXED }, 900, false);
    compare::<Mirror>(Shape { group: true, ..THREE }, 300, false);
}

#[test]
fn communicators_published() {
    compare::<Published>(Shape { group: true, ..TWO }, 500, false);
    compare::<Published>(Shape { group: true, collectives: 2, ..MIXED }, 500, false);
}

#[test]
fn communicators_under_the_weakest_mpi() {
    let group = |shape| Shape { group: true, speculation: Speculation::Off, ..shape };
    compare::<Mirror>(group(TWO), 600, true);
    compare::<Mirror>(Shape { collectives: 1, ..group(MIXED) }, 400, true);
}

/// The same for scenarios whose ranks ask for the sources of their messages.
fn compare_asking<P: Protocol>(ranks: u64, scenarios: u64, speculation: &str, portable: bool) {
    let mut dice = Dice::new(11);
    let (mut compared, mut smaller, mut violated) = (0, 0, [0; Check::ALL.len()]);
    for number in 0..scenarios {
        let text = draw_scenario(&mut dice, ranks, speculation);
        let scenario = load("drawn.scn", text.as_bytes())
            .unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)));
        let job = job(&scenario, portable).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let [reduced, whole] = [true, false]
            .map(|reduce| verdicts::<P>(&job, Settings { reduce, portable, ..Settings::default() }));
        if let (Some((reduced, fewer)), Some((whole, states))) = (reduced, whole) {
            assert_eq!(reduced, whole, "scenario {number} comes out differently:\n{text}");
            compared += 1;
            smaller += u64::from(fewer < states);
            whole.iter().for_each(|check| violated[*check as usize] += 1);
        }
    }
    println!("{compared} of {scenarios} compared, {smaller} reduced, violated: {violated:?}");
    assert!(compared * 10 > scenarios * 8, "too many are too large: {compared} of {scenarios} compared");
    assert!(smaller * 2 > compared, "the reduction reduces {smaller} of {compared} scenarios");
    // With one sender there is nothing to choose from.
    let determined = (ranks == 2).then_some(Check::MatchDeterminism);
    for check in [
        Check::DeadlockFreedom,
        Check::BufferSafety,
        Check::MatchDeterminism,
        Check::RequestLeak,
        Check::UnmatchedMessage,
    ] {
        let times = violated[check as usize];
        let is_drawn = times > 0 && times < compared;
        assert!(is_drawn || determined == Some(check), "{check} is violated {times} times: that says little");
    }
}

#[test]
fn ranks_that_ask_mirror() {
    compare_asking::<Mirror>(3, 150, "always", false);
    compare_asking::<Mirror>(2, 150, "always", false);
}

#[test]
fn ranks_that_ask_published() {
    compare_asking::<Published>(3, 150, "always", false);
}

#[test]
fn ranks_that_ask_without_speculation() {
    compare_asking::<Mirror>(3, 250, "off", false);
}

#[test]
fn ranks_that_ask_under_the_weakest_mpi() {
    compare_asking::<Mirror>(3, 200, "off", true);
}

/// The situations that an exploration meets, and the violated checks.
fn met(job: &Job, reduce: bool) -> (Vec<bool>, Vec<Check>, u64) {
    let settings = Settings { reduce, ..Settings::default() };
    let limits = Limits { threads: 1, max_states: Some(1_000_000), ..Limits::default() };
    let outcome = explore::<Mirror>([job.clone()].into(), settings, &limits);
    assert!(outcome.exhaustive && outcome.broken.is_none(), "{} states", outcome.states);
    let checks = outcome.violations.iter().map(|(check, _)| *check).collect();
    (outcome.reached.iter().map(|times| *times > 0).collect(), checks, outcome.states)
}

/// Only the oldest receives are announced: one behind these may be so only once another one, from another rank or of a
/// collective, has its message.
#[test]
fn an_arrival_lets_a_receive_from_another_rank_be_announced() {
    let message = |from: u32, len| {
        let (from, tag) = (Source::Rank(RankId(from)), mpi::selector(Some(0)));
        Start::Receive { from, tag, communicator: Communicator::WORLD, len, buffer: 0 }
    };
    let send = |tag, len| Start::Send {
        to: 0,
        tag,
        communicator: Communicator::WORLD,
        len,
        synchronous: false,
        buffer: 0,
    };
    let options = Options { eager_threshold: 1, speculation: Speculation::Always, ..Options::default() };
    for collective in [false, true] {
        let mut receiver = Program::default();
        let first = receiver.start(0, if collective { Start::BARRIER } else { message(2, 1) });
        let others: Vec<Ordinal> = (1..ANNOUNCED_FROM).map(|_| receiver.start(0, message(2, 1))).collect();
        let last = receiver.start(0, message(1, 2));
        receiver.act(0, Act::Wait([first].into()));
        receiver.act(0, Act::Wait([last].into()));
        receiver.act(0, Act::Cancel(others[0]));
        let (mut one, mut other) = (Program::default(), Program::default());
        one.start(0, send(0, 2));
        // No receive is for this one if the first thing to come is of a barrier.
        other.start(0, send(u32::from(collective), 1));
        if collective {
            one.start(0, Start::BARRIER);
            other.start(0, Start::BARRIER);
        }
        let job = Job {
            ranks: [receiver, one, other].map(Arc::new).into(),
            options,
            windows: Vec::new(),
            nodes: Vec::new(),
        };
        let ((reduced, few, fewer), (whole, checks, states)) = (met(&job, true), met(&job, false));
        assert!(whole[CoverPoint::Written as usize] && whole[CoverPoint::Crossed as usize], "{whole:?}");
        assert_eq!((reduced, few), (whole, checks), "collective: {collective}");
        assert!(fewer < states, "{fewer} of {states}");
    }
}

/// Every program of two ranks with up to two sends and two receives, over two tags, any tag, masks that overlap in part, and any source.
fn compare_all<P: Protocol>() {
    let sends: Vec<Start> = (0..2)
        .flat_map(|tag| {
            [1, 2].map(|len| Start::Send {
                to: 1,
                tag,
                communicator: Communicator::WORLD,
                len,
                synchronous: false,
                buffer: 0,
            })
        })
        .collect();
    let tags = [
        mpi::ANY_TAG,
        mpi::selector(Some(0)),
        TagSelector::new(Tag(0), 0b01),
        TagSelector::new(Tag(1), 0b10),
    ];
    let receives: Vec<Start> = [Source::Any, Source::Rank(RankId(0))]
        .into_iter()
        .flat_map(|from| {
            let of = move |tag| {
                [1, 2].map(|len| Start::Receive {
                    from,
                    tag,
                    communicator: Communicator::WORLD,
                    len,
                    buffer: 0,
                })
            };
            tags.into_iter().flat_map(of)
        })
        .collect();
    let (sends, receives) = (up_to_two(&sends), up_to_two(&receives));
    let options = Options {
        eager_threshold: 1,
        speculation: Speculation::Always,
        credit_every: 2,
        ..Options::default()
    };
    for sender in &sends {
        for receiver in &receives {
            let job = Job {
                ranks: vec![program(sender), program(receiver)],
                options,
                windows: Vec::new(),
                nodes: Vec::new(),
            };
            let [reduced, whole] = [true, false].map(|reduce| {
                verdicts::<P>(&job, Settings { reduce, ..Settings::default() }).map(|(checks, _)| checks)
            });
            assert!(whole.is_some(), "too many states: {job:#?}");
            assert_eq!(reduced, whole, "comes out differently: {job:#?}");
        }
    }
}

fn up_to_two(kinds: &[Start]) -> Vec<Vec<Start>> {
    let pairs = kinds.iter().flat_map(|a| kinds.iter().map(move |b| vec![*a, *b]));
    std::iter::once(Vec::new()).chain(kinds.iter().map(|kind| vec![*kind])).chain(pairs).collect()
}

/// All requests started, then waited for.
fn program(starts: &[Start]) -> Arc<Program> {
    let mut program = Program::default();
    let requests: Vec<Ordinal> = starts.iter().map(|start| program.start(0, *start)).collect();
    program.act(0, Act::Wait(requests.into()));
    Arc::new(program)
}

#[test]
fn all_small_programs_mirror() {
    compare_all::<Mirror>();
}

#[test]
fn all_small_programs_published() {
    compare_all::<Published>();
}

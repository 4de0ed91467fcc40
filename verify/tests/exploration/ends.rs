//! The reduced search ends in the same states as the unreduced one.
//!
//! A persistent-set search promises this, and it is stronger than equal verdicts: an order of events that is left out
//! though it matters shows in the final states of the ranks and their libraries long before it shows in a verdict.

use crate::dice::Dice;
use crate::jobs::{MIXED, Shape, THREE, TWO, draw_job};
use carrousel_rank::{Communicator, Explore as _, Mirror, Protocol, Published, RankId};
use carrousel_verify::hashed::Hashed;
use carrousel_verify::model::{Model, Settings};
use carrousel_verify::program::{Act, Job, Program, Start};
use carrousel_verify::state::{Proc, State};
use carrousel_verify::violation::Violation;
use stateright::Model as _;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// States of one job, at most; a job with more is not compared.
const STATES: usize = 20_000;

/// The states in which a job can end; `None` if there are too many states to tell.
fn ends<P: Protocol>(job: &Job, reduce: bool) -> Option<HashSet<State<P>>> {
    let model = Model::<P>::new([job.clone()].into(), Settings { reduce, ..Settings::default() });
    let mut seen: HashSet<State<P>> = HashSet::new();
    let mut ends = HashSet::new();
    let mut open = model.init_states();
    let mut actions = Vec::new();
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        if seen.len() > STATES {
            return None;
        }
        model.actions(&state, &mut actions);
        if actions.is_empty() {
            assert!(
                !state.violations.iter().any(Violation::is_fatal),
                "the library broke a promise: {job:?}"
            );
            // The violations of a state depend on the last step before it.
            let mut end = State { violations: Default::default(), ..state };
            for rank in 0..end.procs.len() {
                let mut forgetful = Proc::clone(&end.procs[rank]);
                model.forget_arrival_order(0, rank as u16, &mut forgetful);
                // The message of a receive is forgotten, too, if no statement asks for it.
                let program = &job.ranks[rank];
                let asked = |ordinal| program.keeps.contains_key(&ordinal);
                let received = forgetful.open.iter().filter(|open| {
                    matches!(program.starts[usize::from(open.ordinal)], Start::Receive { .. })
                        && !asked(open.ordinal)
                });
                let received: Vec<_> = received.filter_map(|open| open.handle).collect();
                received.into_iter().for_each(|handle| forgetful.rank.forget_message(handle));
                end.procs.set(rank, Hashed::new(forgetful));
            }
            model.forget_spent_flows(&mut end);
            forget_seen(job, &mut end);
            ends.insert(end);
        } else {
            open.extend(actions.drain(..).filter_map(|action| model.next_state(&state, action)));
        }
    }
    Some(ends)
}

/// What a receiver has processed its sender need not have been told: its next announcement would.
fn forget_seen<P: Protocol>(job: &Job, end: &mut State<P>) {
    let ranks = 0..job.ranks.len();
    let groups = job.ranks.iter().flat_map(|program| program.groups.iter().map(|group| group.communicator));
    let communicators: BTreeSet<Communicator> = groups.chain([Communicator::WORLD]).collect();
    for (from, to) in ranks.clone().flat_map(|from| ranks.clone().map(move |to| (from, to))) {
        for context in communicators.iter().map(|it| it.messages()) {
            let [sender, receiver] = [from, to].map(|rank| RankId(rank as u32));
            if P::rtr_tells_seen() && end.procs[from].rank.has_unseen(receiver, context) {
                let processed = end.procs[to].rank.processed(sender, context);
                let mut forgetful = Proc::clone(&end.procs[from]);
                forgetful.rank.forget_seen(receiver, context, processed);
                end.procs.set(from, Hashed::new(forgetful));
            }
        }
    }
}

fn compare<P: Protocol>(shape: Shape, jobs: u64) {
    let mut dice = Dice::new(13);
    let mut compared = 0;
    for number in 0..jobs {
        let job = draw_job(&mut dice, shape);
        if let (Some(whole), Some(reduced)) = (ends::<P>(&job, false), ends::<P>(&job, true)) {
            assert!(reduced == whole, "job {number} ends differently: {job:#?}");
            compared += 1;
        }
    }
    assert!(compared * 10 > jobs * 7, "too many of the jobs are too large: {compared} of {jobs} compared");
}

/// A rank that has only itself to talk to.
const ONE: Shape = Shape { ranks: 1, ..TWO };

#[test]
fn one_rank_mirror() {
    compare::<Mirror>(ONE, 500);
}

#[test]
fn one_rank_published() {
    compare::<Published>(ONE, 500);
}

#[test]
fn two_ranks_mirror() {
    compare::<Mirror>(TWO, 1000);
}

#[test]
fn communicators_mirror() {
    compare::<Mirror>(Shape { group: true, ..TWO }, 800);
    compare::<Mirror>(Shape { group: true, ..MIXED }, 300);
}

#[test]
fn two_ranks_published() {
    compare::<Published>(TWO, 1000);
}

#[test]
fn collectives_between_messages_mirror() {
    compare::<Mirror>(MIXED, 400);
}

#[test]
fn collectives_between_messages_published() {
    compare::<Published>(MIXED, 400);
}

#[test]
fn three_ranks_mirror() {
    compare::<Mirror>(THREE, 500);
}

#[test]
fn three_ranks_published() {
    compare::<Published>(THREE, 500);
}

/// A send to somebody else stands between two receives of one flow: the second can be announced before the
/// first message arrives, and the first with it.
#[test]
fn a_receive_behind_a_send_is_announced_in_time() {
    let (large, small) = (1 << 20, 1);
    let send = |to| Start::Send {
        to,
        tag: 0,
        communicator: Communicator::WORLD,
        len: large,
        synchronous: false,
        buffer: 0,
    };
    let receive = |from: u32, buffer| Start::Receive {
        from: carrousel_rank::Source::Rank(carrousel_rank::RankId(from)),
        tag: carrousel_rank::mpi::selector(Some(0)),
        communicator: Communicator::WORLD,
        len: large,
        buffer,
    };
    let program = |starts: &[Start]| {
        let mut program = Program::default();
        let requests: Vec<_> = starts.iter().map(|start| program.start(0, *start)).collect();
        program.act(0, Act::Wait(requests.into()));
        Arc::new(program)
    };
    let ranks = vec![
        program(&[send(1), send(1)]),
        program(&[receive(0, 1), send(2), receive(0, 2)]),
        program(&[receive(1, 1)]),
    ];
    let options = carrousel_rank::Options {
        eager_threshold: small,
        speculation: carrousel_rank::Speculation::Always,
        ..carrousel_rank::Options::default()
    };
    let job = Job { ranks, options, windows: Vec::new(), nodes: Vec::new() };
    let (whole, reduced) = (ends::<Mirror>(&job, false), ends::<Mirror>(&job, true));
    assert!(whole.is_some() && whole == reduced);
}

//! Each property is seen violated, by its name: in a state that a wrong window would have led to, made by hand or by a
//! window with one rule off. A program that keeps all of them is seen to.

use super::super::program::transfer;
use super::super::situations::EpochCoverPoint;
use super::super::state::LaneItem;
use super::super::step::{self, EpochAction};
use super::*;
use crate::situations::Situations;
use carrousel_epoch::{EpochRules, Event, Flush, Order, TransferKind};
use std::collections::VecDeque;

/// A program, and a state of it.
struct Run {
    program: EpochProgram,
    state: EpochState,
}

use EpochAction::{Act, Arrive, Program, See};

/// The only operation of rank 0.
const FIRST: OperationName = OperationName { origin: 0, at: 0 };

impl Run {
    fn new(lines: &[&str]) -> Self {
        Self::under::<AllEpochRules>(Flags::default(), lines)
    }

    fn under<R: EpochRules>(flags: Flags, lines: &[&str]) -> Self {
        let program = EpochProgram::parse(flags, lines, false).expect("every word is a step");
        let state = EpochState::new::<R>(&program);
        Self { program, state }
    }

    /// Takes these steps, up to the first violation.
    fn steps(mut self, actions: &[EpochAction]) -> Self {
        for action in actions {
            let mut possible = Vec::new();
            step::actions(&self.program, &self.state, &mut possible);
            if self.state.violation.is_none() {
                assert!(possible.contains(action), "{action:?} is not among {possible:?}");
                self.state = self.after(*action);
            }
        }
        self
    }

    fn after(&self, action: EpochAction) -> EpochState {
        let situations = Situations::<EpochCoverPoint>::default();
        step::after(&self.program, &self.state, action, &situations)
    }

    /// Takes the first step that is possible, again and again.
    fn end(mut self) -> Self {
        let mut possible = Vec::new();
        loop {
            step::actions(&self.program, &self.state, &mut possible);
            let Some(action) = possible.drain(..).next() else { return self };
            self.state = self.after(action);
            assert_eq!(self.state.violation, None, "{action:?} of {}", self.program);
        }
    }

    fn lane(&mut self, from: usize, to: usize) -> &mut VecDeque<LaneItem> {
        let pair = self.state.pair(from, to);
        &mut self.state.lanes[pair]
    }

    fn hears(&mut self, me: usize, event: Event) {
        self.state.ranks[me].window.event(event, &mut Vec::new()).expect("a window takes it");
    }

    /// The request that a rank waits for, as if its window completed it now.
    fn completes(mut self, me: usize) -> Result<(), String> {
        let (request, _) = *self.state.ranks[me].requests.first().expect("a request is open");
        complete(&mut self.state, me, request, Ok(()))
    }
}

/// The property that is violated.
#[track_caller]
fn is(result: Result<(), String>, property: &str) {
    let what = result.expect_err("nothing is seen");
    assert_eq!(what.split(':').next(), Some(property), "{what}");
}

/// A type with one rule off.
macro_rules! without {
    ($name:ident: $rule:ident) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        enum $name {}
        impl EpochRules for $name {
            fn $rule() -> bool {
                false
            }
        }
    };
}

#[test]
fn a_run_that_keeps_all_is_not_reported() {
    let programs: [&[&str]; 5] = [
        &["start:1 put:1 get:1 complete", "post:0 wait"],
        &["fence put:1 fence xlock:1 put:1 unlock:1", "fence put:0 fence lock:0 iunlock:0 waitall"],
        &["lock_all put:1 flush:1 rput:0 iflush_local unlock_all waitall", "xlock:1 get:1 iunlock:1 waitall"],
        &[
            "post:12 iwait start:12 put:1 put:2 icomplete waitall",
            "start:0 complete post:0 wait",
            "start:0 get:0 complete post:0 wait",
        ],
        &["xlock:1 put:1 unlock:1 send:1 start:1 put:1 complete", "recv:0 post:0 wait"],
    ];
    for lines in programs {
        let Run { program, state } = Run::new(lines).end();
        assert!(state.is_over(&program), "{}", stuck(&state, &program));
        assert_eq!(quiet(&state), Ok(()), "{program}");
    }
}

const PUT: &[&str] = &["start:1 put:1 complete", "post:0 wait"];

fn put_to_1() -> Transfer {
    match transfer(TransferKind::Put, 1, false) {
        EpochStep::Call(Call::Transfer { transfer, .. }, _) => transfer,
        other => unreachable!("{other} is no transfer"),
    }
}

/// S1.
#[test]
fn a_grant_that_was_not_given_is_seen() {
    let mut run = Run::new(PUT);
    run.hears(0, Event::Granted { from: id(1), word: GrantWord::Exposures, value: 1 });
    is(state(&run.state, &run.program), "late-copy");
}

/// S1.
#[test]
fn counts_that_do_not_grow_are_seen() {
    let known = StoredWord { stored: 2, seen: 1 };
    assert_eq!(store(known, 1, 0, 3), Ok(()));
    is(store(known, 1, 0, 2), "counts-grow");
}

/// S2.
#[test]
fn a_transfer_before_its_grant_is_seen() {
    let run = Run::new(PUT).steps(&[Program(0)]);
    is(issue(&run.state, 0, 0, put_to_1()), "granted-first");
    let run = run.steps(&[Program(1), See(1, 0, GrantWord::Exposures)]);
    assert_eq!(issue(&run.state, 0, 0, put_to_1()), Ok(()));
}

/// S3, of an exposure, a fence and a lock.
#[test]
fn a_transfer_to_memory_that_is_not_exposed_is_seen() {
    let on_its_way =
        Run::new(PUT).steps(&[Program(1), See(1, 0, GrantWord::Exposures), Program(0), Program(0)]);
    assert_eq!(act(&on_its_way.state, FIRST), Ok(()));
    let closed = Run::new(PUT).end();
    is(act(&closed.state, FIRST), "exposed");

    let mut locked = Run::new(&["lock:1 put:1 unlock:1", "post:0 wait"]).steps(&[Program(0), Program(0)]);
    is(act(&locked.state, FIRST), "exposed");
    locked = locked.steps(&[Arrive(0, 1, 0)]);
    assert_eq!(act(&locked.state, FIRST), Ok(()));
    // Another kind of epoch exposes the memory.
    locked = Run::new(&["lock:1 put:1 unlock:1", "post:0 wait"]).steps(&[Program(1), Program(0), Program(0)]);
    is(act(&locked.state, FIRST), "exposed");

    let fence = Run::new(&["fence put:1 fence", "fence fence"]).steps(&[Program(0), Program(0)]);
    is(act(&fence.state, FIRST), "exposed");
    let fence = fence.steps(&[Program(1), See(1, 0, GrantWord::Exposures)]);
    assert_eq!(act(&fence.state, FIRST), Ok(()));
}

/// S4.
#[test]
fn a_second_done_and_one_before_the_close_are_seen() {
    let done = Packet::Done { access: 1 };
    let mut run = Run::new(PUT).steps(&[Program(0), Program(0)]);
    is(post(&mut run.state.clone(), 0, 1, done), "one-done");
    run = run.steps(&[Program(0)]);
    assert_eq!(post(&mut run.state, 0, 1, done), Ok(()));
    is(post(&mut run.state, 0, 1, done), "one-done");
    let mut lock = Run::new(&["lock:1 unlock:1", ""]).steps(&[Program(0)]);
    is(post(&mut lock.state, 0, 1, Packet::LockRelease { access: 1 }), "one-done");
}

/// S4.
#[test]
fn a_done_before_the_data_is_seen() {
    let mut run = Run::new(PUT).steps(&[
        Program(1),
        See(1, 0, GrantWord::Exposures),
        Program(0),
        Program(0),
        Program(0),
    ]);
    run.lane(0, 1).rotate_left(1);
    is(run.after(Arrive(0, 1, 0)).violation.map_or(Ok(()), Err), "done-is-last");
    // A get has arrived, and reads later.
    let mut run = Run::new(&["start:1 get:1 complete", "post:0 wait"]).steps(&[
        Program(1),
        See(1, 0, GrantWord::Exposures),
        Program(0),
        Program(0),
        Program(0),
        Arrive(0, 1, 0),
    ]);
    assert_eq!(run.lane(0, 1).front(), Some(&LaneItem::Packet(Packet::Done { access: 1 }, Order::Fenced)));
    is(run.after(Arrive(0, 1, 0)).violation.map_or(Ok(()), Err), "done-is-last");
    assert_eq!(run.steps(&[Act(FIRST), Arrive(0, 1, 0)]).state.violation, None);
}

/// S5: Done of all, and all data.
#[test]
fn an_exposure_that_ends_too_early_is_seen() {
    let granted = [Program(1), See(1, 0, GrantWord::Exposures), Program(0), Program(0), Program(1)];
    let run = Run::new(PUT).steps(&granted);
    is(run.completes(1), "done-by-all");
    let run = Run::new(PUT).steps(&granted).steps(&[Program(0)]);
    is(run.completes(1), "data-is-there");
    let run = Run::new(PUT).steps(&granted).steps(&[Program(0), Arrive(0, 1, 0)]);
    assert_eq!(run.completes(1), Ok(()));
}

/// S6.
#[test]
fn an_epoch_that_overtakes_a_deferred_one_is_seen() {
    without!(Skipping: stops_at_first);
    let flags = Flags { exposure_after_access: true, ..Flags::default() };
    let lines = [
        "start:1 icomplete start:1 icomplete post:1 iwait waitall",
        "post:0 wait post:0 wait start:0 complete",
    ];
    let run = Run::under::<Skipping>(flags, &lines).steps(&[Program(0); 5]);
    is(run.state.violation.map_or(Ok(()), Err), "opening-order");
    assert_eq!(Run::under::<AllEpochRules>(flags, &lines).steps(&[Program(0); 5]).state.violation, None);
}

/// S7.
#[test]
fn epochs_side_by_side_that_may_not_be_are_seen() {
    let flags = Flags { access_after_access: true, ..Flags::default() };
    let lines = ["start:1 icomplete start:1 icomplete waitall", "post:0 wait post:0 wait"];
    let mut run = Run::under::<AllEpochRules>(flags, &lines).steps(&[Program(0); 3]);
    assert_eq!(state(&run.state, &run.program), Ok(()));
    run.program.flags = Flags::default();
    is(state(&run.state, &run.program), "table");
}

/// S8.
#[test]
fn a_lock_of_several_is_seen() {
    let held = |origin, mode| Grant { origin: id(origin), mode };
    let (shared, exclusive) = (Mode::Shared, Mode::Exclusive);
    assert_eq!(exclusion(0, [held(0, shared), held(1, shared)].into_iter()), Ok(()));
    assert_eq!(exclusion(0, [held(1, exclusive)].into_iter()), Ok(()));
    is(exclusion(0, [held(0, shared), held(1, exclusive)].into_iter()), "exclusion");
}

/// MPI-4.1 12.5.3.
#[test]
fn memory_that_is_locked_and_exposed_is_seen() {
    without!(Exposing: exposure_waits_for_lock);
    let steps = [Program(0), Arrive(0, 1, 0), Program(1)];
    let lines = ["lock:1 unlock:1", "post:0 wait"];
    let run = Run::under::<Exposing>(Flags::default(), &lines).steps(&steps);
    is(run.state.violation.map_or(Ok(()), Err), "locked-or-exposed");
    assert_eq!(Run::new(&lines).steps(&steps).state.violation, None);
}

/// Its holder has left a fence epoch, whose data may be on its way.
#[test]
fn memory_that_is_locked_in_a_fence_epoch_is_seen() {
    without!(Locking: lock_waits_for_exposure);
    let lines = ["fence fence", "fence fence lock:0 unlock:0"];
    // Rank 1 leaves the fence epoch, of which rank 0 has not yet heard all.
    let both = [Program(0), Program(1), See(0, 1, GrantWord::Exposures), See(1, 0, GrantWord::Exposures)];
    let run = Run::under::<Locking>(Flags::default(), &lines).steps(&both);
    let run = run.steps(&[
        See(0, 0, GrantWord::Exposures),
        See(1, 1, GrantWord::Exposures),
        Program(0),
        Program(1),
    ]);
    let run = run.steps(&[Arrive(0, 1, 0), Arrive(1, 1, 0), Arrive(1, 0, 0), Program(1), Arrive(1, 0, 0)]);
    is(run.state.violation.map_or(Ok(()), Err), "locked-or-exposed");
}

/// S9.
#[test]
fn a_fence_that_ends_before_all_have_called_it_is_seen() {
    let run = Run::new(&["fence fence", "fence fence"]).steps(&[Program(0), Program(1), Program(0)]);
    is(run.completes(0), "fence-is-barrier");
}

/// S10, with a request: not before what it covers, and not later.
#[test]
fn a_flush_that_is_complete_too_early_or_too_late_is_seen() {
    let lines = ["lock:1 put:1 iflush:1 unlock:1 waitall", ""];
    let mut run = Run::new(&lines).steps(&[Program(0); 3]);
    run.state.ranks[0].operations[0].is_complete = true;
    is(state(&run.state, &run.program), "flush");
    run.state.ranks[0].operations[0].is_complete = false;
    assert_eq!(state(&run.state, &run.program), Ok(()));
    is(run.completes(0), "flush");
}

/// S10, of a flush that waits.
#[test]
fn a_flush_that_returns_too_early_or_too_late_is_seen() {
    let lines = ["lock:1 put:1 flush:1 unlock:1", ""];
    let mut run = Run::new(&lines).steps(&[Program(0); 3]);
    run.state.ranks[0].operations[0].is_complete = true;
    is(state(&run.state, &run.program), "flush");
    let is_returning = Run::new(&lines).end();
    let mut early = Run::new(&lines).steps(&[Program(0); 3]);
    early.state.ranks[0].window = is_returning.state.ranks[0].window.clone();
    is(blocking_flush(0, &early.state.ranks[0], &early.program.ranks[0]), "flush");
}

/// S11.
#[test]
fn a_request_that_is_complete_twice_or_fails_is_seen() {
    let mut run = Run::new(PUT).steps(&[Program(0), Program(0), Program(0)]);
    let (request, _) = run.state.ranks[0].requests[0].clone();
    is(complete(&mut run.state.clone(), 0, request, Err(Failure::PeerDied(id(1)))), "success");
    run.state.ranks[0].requests.clear();
    is(complete(&mut run.state, 0, request, Ok(())), "once");
}

/// S11.
#[test]
fn an_opening_with_a_request_and_a_close_without_one_are_seen() {
    let run = Run::new(PUT);
    let rank = &run.state.ranks[0];
    let request = Returned::Request(RequestId(0));
    let transfer = |with_request| Call::Transfer { transfer: put_to_1(), with_request };
    let flush = Flush { target: None, is_local: false };
    let lock = Call::Lock { target: id(1), mode: Mode::Shared };
    for opening in [Call::Post(&[]), Call::Start(&[]), Call::LockAll, lock, Call::Fence, transfer(false)] {
        assert_eq!(returned(rank, opening, Returned::Nothing), Ok(()));
        is(returned(rank, opening, request), "at-birth");
    }
    let closes = [Call::Wait, Call::Complete, Call::Unlock(id(1)), Call::UnlockAll];
    for close in closes.into_iter().chain([transfer(true), Call::FlushWithRequest(flush)]) {
        assert_eq!(returned(rank, close, request), Ok(()));
        is(returned(rank, close, Returned::Nothing), "at-birth");
    }
    is(returned(rank, Call::Flush(flush), request), "at-birth");
    let fenced = Run::new(&["fence fence"]).steps(&[Program(0)]);
    is(returned(&fenced.state.ranks[0], Call::Fence, Returned::Nothing), "at-birth");
}

#[test]
fn an_operation_and_a_close_that_are_complete_too_early_are_seen() {
    let run = Run::new(&["lock:1 rput:1 unlock:1 waitall", ""]).steps(&[Program(0); 2]);
    is(run.completes(0), "own-request");
    let run = Run::new(PUT).steps(&[Program(0); 3]);
    is(run.completes(0), "close-completes");
}

/// S15.
#[test]
fn a_deferred_epoch_of_a_program_that_waits_is_seen() {
    let lines = ["start:1 icomplete start:1 icomplete waitall", "post:0 wait post:0 wait"];
    let mut run = Run::new(&lines).steps(&[Program(0); 3]);
    assert_eq!(state(&run.state, &run.program), Ok(()));
    run.program.is_blocking = true;
    is(state(&run.state, &run.program), "blocking-is-immediate");
}

#[test]
fn a_packet_that_no_correct_peer_sends_is_seen() {
    let mut run = Run::new(PUT);
    run.lane(0, 1).push_back(LaneItem::Packet(Packet::Done { access: 7 }, Order::Lane));
    is(run.after(Arrive(0, 1, 0)).violation.map_or(Ok(()), Err), "honest-packets");
}

#[test]
fn a_call_that_is_not_allowed_is_seen() {
    let run = Run::new(&["complete"]);
    is(run.after(Program(0)).violation.map_or(Ok(()), Err), "usage");
}

#[test]
fn what_is_left_at_the_end_is_seen() {
    let nothing = Run::new(&["", ""]);
    assert_eq!(quiet(&nothing.state), Ok(()));
    let left = |run: &Run| quiet(&run.state).expect_err("something is left");
    let mut counted = Run::new(&["", ""]);
    counted.hears(0, Event::Granted { from: id(1), word: GrantWord::Exposures, value: 1 });
    assert_eq!(left(&counted), "quiet: at the end, rank 0 and rank 1 count differently");
    let locked = Run::new(&["lock:1", ""]).steps(&[Program(0), Arrive(0, 1, 0), See(1, 0, GrantWord::Locks)]);
    assert_eq!(left(&locked), "quiet: at the end, the lock of rank 1 is held");
    let granted = [Program(0), Program(1), Program(1), See(1, 0, GrantWord::Exposures)];
    let closed = Run::new(&["start:1", "post:0 iwait"]).steps(&granted);
    assert_eq!(left(&closed), "quiet: at the end, rank 1 has a closed epoch");
    let mut open = nothing;
    open.state.ranks[0].requests.push((RequestId(0), StandsFor::Operation(0)));
    assert_eq!(left(&open), "quiet: at the end, rank 0 has a closed epoch");
}

#[test]
fn ranks_that_wait_for_ever_are_named_with_their_step() {
    let Run { program, state } = Run::new(&["start:1 complete", "send:0"]).end();
    assert!(!state.is_over(&program));
    assert_eq!(stuck(&state, &program), "never-stuck: nothing can happen, and rank 0 waits in `complete`");
}

//! Calls that are not allowed: each error names the epoch in the way, and changes nothing.

use carrousel_epoch::*;
use carrousel_wire::RankId;

const ME: RankId = RankId(0);
const OTHER: RankId = RankId(1);
const THIRD: RankId = RankId(2);

fn put(target: RankId) -> Call<'static> {
    let transfer = Transfer { target, kind: TransferKind::Put, place: Blocks::contiguous(0, 8), local: 0 };
    Call::Transfer { transfer, with_request: true }
}

const fn lock(target: RankId) -> Call<'static> {
    Call::Lock { target, mode: Mode::Shared }
}

const fn flush(target: Option<RankId>) -> Call<'static> {
    Call::Flush(Flush { target, is_local: false })
}

/// The error of the last of these calls, if it has one; the others are right.
#[track_caller]
fn last(calls: &[Call<'static>]) -> Option<String> {
    let (last, before) = calls.split_last().expect("there is a call");
    let (mut window, mut work) = (Window::<AllEpochRules>::new(ME, 3, Flags::default()), Vec::new());
    for call in before {
        window.call(*call, &mut work).unwrap_or_else(|error| panic!("{call:?}: {error}"));
    }
    let (known, done) = (window.clone(), work.len());
    let error = window.call(*last, &mut work).err()?;
    assert_eq!((window, work.len()), (known, done), "an error changes nothing");
    Some(error.to_string())
}

#[track_caller]
fn is_right(calls: &[Call<'static>]) {
    assert_eq!(last(calls), None, "{calls:?}");
}

#[track_caller]
fn is_wrong(calls: &[Call<'static>], words: &str) {
    let error = last(calls).unwrap_or_else(|| panic!("{calls:?} is accepted"));
    assert!(error.contains(words), "{error:?} does not say {words:?}");
}

const POST: Call<'static> = Call::Post(&[OTHER]);
const START: Call<'static> = Call::Start(&[OTHER]);

#[test]
fn one_exposure_and_one_access_are_open_at_a_time() {
    is_wrong(&[POST, POST], "no exposure epoch can be opened while the exposure epoch 0 (of rank 1) is open");
    is_wrong(&[START, START], "no access epoch can be opened while the access epoch 0 (of rank 1) is open");
    is_wrong(&[START, lock(THIRD)], "while the access epoch 0");
    is_wrong(&[lock(OTHER), Call::Start(&[THIRD])], "while the lock epoch 0 (of rank 1) is open");
    is_right(&[POST, START]);
    is_right(&[START, POST]);
    is_right(&[START, Call::Complete, START]);
}

#[test]
fn locks_of_several_targets_are_open_at_once() {
    is_right(&[lock(OTHER), lock(THIRD), lock(ME)]);
    is_wrong(&[lock(OTHER), lock(THIRD), lock(THIRD)], "while the lock epoch 1 (of rank 2) is open");
    is_right(&[POST, lock(OTHER)]);
}

#[test]
fn own_memory_is_not_locked_and_exposed() {
    is_wrong(&[POST, lock(ME)], "no lock epoch can be opened while the exposure epoch 0");
    is_wrong(&[lock(ME), POST], "no exposure epoch can be opened while the lock epoch 0 (of rank 0)");
    is_wrong(&[POST, Call::LockAll], "no lock_all epoch can be opened while the exposure epoch 0");
}

#[test]
fn nothing_is_opened_inside_lock_all() {
    for call in [POST, START, lock(OTHER), Call::LockAll, Call::Fence] {
        is_wrong(&[Call::LockAll, call], "while the lock_all epoch 0 is open");
    }
    is_wrong(&[lock(OTHER), Call::LockAll], "while the lock epoch 0");
    is_wrong(&[START, Call::LockAll], "while the access epoch 0");
}

#[test]
fn a_fence_epoch_has_operations_or_other_epochs() {
    for call in [POST, START, lock(OTHER), Call::LockAll] {
        is_right(&[Call::Fence, call]);
        is_wrong(&[Call::Fence, put(OTHER), call], "while the fence epoch 0 is open");
    }
    is_wrong(
        &[Call::Fence, lock(OTHER), Call::Unlock(OTHER), put(OTHER)],
        "the fence epoch 0 takes no operations",
    );
    is_right(&[Call::Fence, lock(OTHER), Call::Unlock(OTHER), Call::Fence, put(OTHER)]);
    for call in [POST, START, lock(OTHER)] {
        is_wrong(&[call, Call::Fence], "no fence epoch can be opened while the");
    }
}

#[test]
fn operations_need_an_epoch_with_their_target() {
    is_wrong(&[put(OTHER)], "no epoch is open in which rank 1 could be accessed");
    is_wrong(&[POST, put(OTHER)], "no epoch is open in which rank 1 could be accessed");
    is_wrong(&[START, put(THIRD)], "rank 2 is not a target of the access epoch 0 (of rank 1)");
    is_wrong(&[lock(OTHER), put(THIRD)], "rank 2 is not a target of the lock epoch 0 (of rank 1)");
    is_wrong(&[START, put(RankId(3))], "rank 3 does not exist in a window of 3 ranks");
    is_right(&[lock(OTHER), lock(THIRD), put(THIRD)]);
    is_right(&[Call::LockAll, put(ME)]);
}

#[test]
fn closes_need_their_epoch() {
    is_wrong(&[Call::Complete], "no access epoch is open that this call could close");
    is_wrong(&[START, Call::Wait], "no exposure epoch is open");
    is_wrong(&[Call::Test], "no exposure epoch is open");
    is_wrong(&[lock(OTHER), Call::Unlock(THIRD)], "no lock epoch is open");
    is_wrong(&[lock(OTHER), Call::UnlockAll], "no lock_all epoch is open");
}

#[test]
fn flushes_need_a_lock() {
    is_wrong(&[START, flush(Some(OTHER))], "a flush needs an open lock or lock_all epoch of rank 1");
    is_wrong(&[Call::Fence, flush(None)], "a flush needs an open lock or lock_all epoch");
    is_wrong(&[lock(THIRD), flush(Some(OTHER))], "of rank 1");
    is_wrong(&[lock(THIRD), Call::Unlock(THIRD), flush(None)], "a flush needs");
    is_right(&[lock(THIRD), flush(None)]);
    is_right(&[Call::LockAll, flush(Some(OTHER))]);
}

#[test]
fn groups_name_each_rank_once() {
    is_wrong(&[Call::Start(&[OTHER, THIRD, OTHER])], "rank 1 is in the group twice");
    is_wrong(&[Call::Post(&[RankId(9)])], "rank 9 does not exist in a window of 3 ranks");
}

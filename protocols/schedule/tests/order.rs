//! What is queued, in which order it comes out, and that each rule is needed for it.

use carrousel_schedule::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SMALL: u64 = 8;
const LARGE: u64 = 64 * 1024;

fn on_node(bytes: u64) -> Transfer {
    Transfer { place: Place::Node, bytes, granted: Granted::InCall, accumulates: false }
}

fn accumulate(bytes: u64) -> Transfer {
    Transfer { accumulates: true, ..on_node(bytes) }
}

fn remote(bytes: u64) -> Transfer {
    Transfer { place: Place::Remote, ..on_node(bytes) }
}

fn schedule<R: ScheduleRules>() -> Schedule<&'static str, u32, R> {
    Schedule::new(Threshold::default())
}

fn due<T, R: ScheduleRules>(schedule: &mut Schedule<T, u32, R>) -> Vec<T> {
    std::iter::from_fn(|| schedule.take_due()).collect()
}

/// A rule set with one rule off.
macro_rules! without {
    ($name:ident, $rule:ident) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        enum $name {}
        impl ScheduleRules for $name {
            fn $rule() -> bool {
                false
            }
        }
    };
}
without!(AccumulatesInAnyOrder, accumulates_in_order);
without!(NoticeBesideCopies, notice_behind_copies);
without!(DemandMissesQueued, demand_reaches_queued);
without!(LateGrantWaits, late_grant_is_due);

#[test]
fn small_copies_and_all_that_is_remote_go_out_in_the_call() {
    let mut schedule = schedule::<AllScheduleRules>();
    assert_eq!(schedule.offer(1, on_node(8 * 1024 - 1), "small"), Some("small"));
    assert_eq!(schedule.offer(8, remote(LARGE), "remote"), Some("remote"));
    assert_eq!(schedule.offer(1, on_node(8 * 1024), "large"), None);
    assert!(!schedule.is_due(), "nothing is due while its epoch is open");
    assert_eq!(schedule.take_due(), None);
    assert!(!schedule.is_empty());
}

#[test]
fn a_small_copy_that_is_granted_late_waits_for_the_close() {
    let mut schedule = schedule::<AllScheduleRules>();
    let late = Transfer { granted: Granted::Later, ..on_node(SMALL) };
    assert_eq!(schedule.offer(1, late, "small"), None);
    assert_eq!(schedule.take_due(), None);
    schedule.demand(&1);
    assert_eq!(schedule.take_due(), Some("small"));
}

#[test]
fn who_has_nothing_else_to_do_makes_the_oldest_copy() {
    let mut schedule = schedule::<AllScheduleRules>();
    schedule.demand_oldest(|_| true);
    assert!(!schedule.is_due() && !schedule.waits_for(|_| true));
    for (target, work) in [(2, "first"), (1, "second"), (2, "third")] {
        assert_eq!(schedule.offer(target, on_node(LARGE), work), None);
    }
    schedule.demand_oldest(|_| true);
    schedule.demand_oldest(|_| true);
    assert_eq!(due(&mut schedule), ["first"], "it was due already: no other becomes due");
    assert!(schedule.waits_for(|target| *target == 2));
    schedule.demand_oldest(|target| *target == 2);
    assert_eq!(due(&mut schedule), ["third"]);
    assert!(!schedule.waits_for(|target| *target == 2));
    schedule.demand_all(|_| true);
    assert_eq!(due(&mut schedule), ["second"]);
}

#[test]
fn a_flush_leaves_what_comes_after_it_and_other_targets() {
    let mut schedule = schedule::<AllScheduleRules>();
    assert_eq!(schedule.offer(1, on_node(LARGE), "first"), None);
    assert_eq!(schedule.offer(2, on_node(LARGE), "other"), None);
    schedule.demand(&1);
    assert_eq!(schedule.offer(1, on_node(LARGE), "second"), None);
    assert_eq!(due(&mut schedule), ["first"]);
    schedule.demand_all(|_| true);
    assert_eq!(due(&mut schedule), ["other", "second"]);
    assert!(schedule.is_empty());
}

#[test]
fn a_close_takes_targets_in_program_order_and_tells_each_as_soon_as_it_can() {
    let mut schedule = schedule::<AllScheduleRules>();
    for (target, name) in [(3, "3a"), (1, "1a"), (3, "3b"), (2, "2a")] {
        assert_eq!(schedule.offer(target, on_node(LARGE), name), None);
    }
    schedule.demand_all(|&target| target != 2);
    assert_eq!(schedule.notice(1, "done 1"), None);
    assert_eq!(schedule.notice(3, "done 3"), None);
    assert_eq!(due(&mut schedule), ["3a", "3b", "done 3", "1a", "done 1"]);
    assert_eq!(schedule.notice(1, "done 1"), Some("done 1"), "nothing is queued for it any more");
}

#[test]
fn what_waits_for_a_lost_target_is_given_back() {
    let mut schedule = schedule::<AllScheduleRules>();
    for (target, name) in [(1, "1a"), (2, "2a"), (1, "1b")] {
        assert_eq!(schedule.offer(target, on_node(LARGE), name), None);
    }
    schedule.demand_all(|_| true);
    assert_eq!(schedule.lost(&1).collect::<Vec<_>>(), ["1a", "1b"]);
    assert_eq!(due(&mut schedule), ["2a"]);
    assert_eq!(schedule, self::schedule(), "an empty schedule is as a new one");
}

/// Two accumulates to one target, the small one later: what comes out before the close, and at it.
fn two_accumulates<R: ScheduleRules>() -> Vec<&'static str> {
    let mut schedule = schedule::<R>();
    let mut out: Vec<_> = schedule.offer(1, accumulate(LARGE), "large").into_iter().collect();
    out.extend(schedule.offer(1, accumulate(SMALL), "small"));
    out.extend(schedule.offer(1, on_node(SMALL), "put"));
    schedule.demand(&1);
    out.extend(due(&mut schedule));
    out
}

#[test]
fn accumulates_to_one_target_keep_their_order() {
    assert_eq!(two_accumulates::<AllScheduleRules>(), ["put", "large", "small"]);
    let wrong = two_accumulates::<AccumulatesInAnyOrder>();
    assert_eq!(wrong, ["small", "put", "large"], "without the rule the later one is first");
}

/// A large copy, and its epoch's end: what the target sees.
fn copy_and_done<R: ScheduleRules>() -> Vec<&'static str> {
    let mut schedule = schedule::<R>();
    let mut out: Vec<_> = schedule.offer(1, on_node(LARGE), "copy").into_iter().collect();
    out.extend(schedule.notice(1, "done"));
    schedule.demand(&1);
    out.extend(due(&mut schedule));
    out
}

#[test]
fn a_target_hears_of_the_end_behind_its_data() {
    assert_eq!(copy_and_done::<AllScheduleRules>(), ["copy", "done"]);
    assert_eq!(copy_and_done::<NoticeBesideCopies>(), ["done", "copy"], "it reads what it has not got");
}

#[test]
fn a_flush_gets_the_copies_that_it_covers() {
    fn flushed<R: ScheduleRules>() -> Vec<&'static str> {
        let mut schedule = schedule::<R>();
        assert_eq!(schedule.offer(1, on_node(LARGE), "copy"), None);
        schedule.demand(&1);
        due(&mut schedule)
    }
    assert_eq!(flushed::<AllScheduleRules>(), ["copy"]);
    assert_eq!(flushed::<DemandMissesQueued>(), [""; 0], "the flush never completes");
}

#[test]
fn a_copy_whose_epoch_is_closed_already_is_due_when_it_is_granted() {
    fn granted_late<R: ScheduleRules>() -> Vec<&'static str> {
        let mut schedule = schedule::<R>();
        schedule.demand_all(|_| true);
        let awaited = Transfer { granted: Granted::Awaited, ..on_node(SMALL) };
        assert_eq!(schedule.offer(1, awaited, "copy"), None);
        due(&mut schedule)
    }
    assert_eq!(granted_late::<AllScheduleRules>(), ["copy"]);
    assert_eq!(granted_late::<LateGrantWaits>(), [""; 0], "the epoch never completes");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer(u32, Transfer),
    Notice(u32),
    Demand(u32),
    DemandAll,
    Next,
}

fn transfers() -> impl Strategy<Value = Transfer> {
    let places = prop_oneof![Just(Place::Node), Just(Place::Remote)];
    let grants = prop_oneof![Just(Granted::InCall), Just(Granted::Later), Just(Granted::Awaited)];
    let sizes = prop_oneof![Just(SMALL), Just(LARGE)];
    (places, sizes, grants, any::<bool>()).prop_map(|(place, bytes, granted, accumulates)| Transfer {
        place,
        bytes,
        granted,
        accumulates,
    })
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u32, transfers()).prop_map(|(target, transfer)| Step::Offer(target, transfer)),
        1 => (0..4u32).prop_map(Step::Notice),
        1 => (0..4u32).prop_map(Step::Demand),
        1 => Just(Step::DemandAll),
        3 => Just(Step::Next),
    ]
}

proptest! {
    #[test]
    fn each_work_comes_out_once_and_ordered_work_in_order(steps in prop::collection::vec(steps(), 1..60)) {
        let mut schedule = Schedule::<usize, u32>::new(Threshold::default());
        // What was put in: to whom, whether it is an accumulate on the node, whether it is a notice.
        let mut given: Vec<(u32, bool, bool)> = Vec::new();
        let mut out: Vec<usize> = Vec::new();
        for &step in &steps {
            match step {
                // Accumulates of one target all take one way: a target is on the node, or it is not.
                Step::Offer(target, transfer) => {
                    let place = if target < 3 { Place::Node } else { Place::Remote };
                    given.push((target, transfer.accumulates, false));
                    out.extend(schedule.offer(target, Transfer { place, ..transfer }, given.len() - 1));
                }
                Step::Notice(target) => {
                    given.push((target, false, true));
                    out.extend(schedule.notice(target, given.len() - 1));
                }
                Step::Demand(target) => schedule.demand(&target),
                Step::DemandAll => {
                    schedule.demand_all(|_| true);
                    prop_assert_eq!(schedule.is_due(), !schedule.is_empty(), "a close leaves nothing that is not due");
                }
                Step::Next => out.extend(schedule.take_due()),
            }
        }
        schedule.demand_all(|_| true);
        out.extend(std::iter::from_fn(|| schedule.take_due()));
        prop_assert!(schedule.is_empty());
        prop_assert_eq!(&schedule, &Schedule::new(Threshold::default()));
        let mut sorted = out.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..given.len()).collect::<Vec<_>>(), "each once");
        let mut last_accumulate: BTreeMap<u32, usize> = BTreeMap::new();
        let mut latest: BTreeMap<u32, usize> = BTreeMap::new();
        for work in out {
            let (target, accumulates, notice) = given[work];
            if accumulates && let Some(before) = last_accumulate.insert(target, work) {
                prop_assert!(before < work, "accumulate {} came out before {}", before, work);
            }
            if notice {
                let behind = (0..work).filter(|&earlier| given[earlier].0 == target).count();
                let seen = latest.get(&target).copied().unwrap_or(0);
                prop_assert!(seen >= behind, "a notice left {} works of its target behind", behind - seen);
            }
            *latest.entry(target).or_default() += 1;
        }
    }
}

//! Jobs that the model allows are followed as far as their traces go.

use crate::pair::{Pair, Place, parts, receive, replay_of, replayed, send, trace};
use carrousel_rank::{Context, Direction, Event, RankId};
use carrousel_trace::TraceEnd;
use carrousel_verify::replay::{MpiUsageError, ReplayVerdict};
use std::collections::VecDeque;

/// Whichever of the two has the lower number: the parts are gone through in that order.
#[test]
fn what_a_lost_peer_has_sent_cannot_be_received() {
    for (me, lost) in [(0, 1), (1, 0)] {
        let place = Place::new();
        let mut pair = Pair::new(&place);
        pair.call(lost, 3, send(me as u32, 5, 8));
        pair.event(me, Event::Lost(RankId(lost as u32)));
        pair.ranks[me].1.end(TraceEnd::Finalized);
        pair.ranks[lost].1.end(TraceEnd::Left);
        let report = replayed(&place).expect("it is a trace");
        assert!(report.misuses.is_empty(), "rank {lost} is lost: {:?}", report.misuses);
    }
}

#[test]
fn what_has_happened_is_allowed() {
    let place = Place::new();
    trace(&place);
    let report = replayed(&place).expect("it is a trace");
    assert_eq!(
        (report.verdict, &report.departure, &report.gaps[..]),
        (ReplayVerdict::Allowed, &None, &[][..])
    );
    assert_eq!((report.calls, report.ranks), (13, 2));
    // The trace has what it should have.
    let text = parts().concat().concat();
    for kind in [
        "\"fin\"",
        "\"eager\"",
        "\"rts\"",
        "\"ats\"",
        "\"rtr\"",
        "\"cancel\"",
        "\"cancel_ack\"",
        "\"ack\"",
        "\"written\"",
        "\"read\"",
        "\"announce\"",
        "\"probe\"",
        "\"define\"",
        "\"refused\"",
        "\"context\":3",
    ] {
        assert!(text.contains(kind), "{kind} is not in it");
    }
}

#[test]
fn lanes_are_not_ordered_among_each_other() {
    // What comes of the back direction may come before what was sent earlier in the forward direction, in a trace as in
    // the model: here, both ranks send, and each hears the other's answer first.
    let place = Place::new();
    let mut pair = Pair::new(&place);
    let receives = [0, 1].map(|me| pair.call(me, 1, receive(1 - me as u32, 0, 64)));
    let sends = [0, 1].map(|me| pair.call(me, 2, send(1 - me as u32, 1, 64)));
    for lane in [Direction::ToSender, Direction::ToReceiver] {
        for (from, to) in [(0, 1), (1, 0)] {
            let key = (from, to, Context::MESSAGES, lane);
            while let Some(packet) = pair.packets.get_mut(&key).and_then(VecDeque::pop_front) {
                let context = Context::MESSAGES;
                pair.event(to as usize, Event::Packet { from: RankId(from), context, packet });
            }
        }
    }
    for (me, (_, recorder)) in pair.ranks.iter_mut().enumerate() {
        assert!(!pair.done.iter().any(|(other, _)| *other == me), "{receives:?} {sends:?}");
        recorder.end(TraceEnd::Left);
    }
    assert_eq!(replayed(&place).expect("it is a trace").verdict, ReplayVerdict::Allowed);
}

#[test]
fn a_part_that_is_cut_is_followed_as_far_as_it_goes() {
    let whole = parts();
    let mut told = String::new();
    for keep in (1..whole[0].len()).rev() {
        let mut parts = whole.clone();
        parts[0].truncate(keep);
        let report = replay_of(&parts).expect("it is a trace");
        assert_eq!((report.verdict, report.departure), (ReplayVerdict::Incomplete, None), "{keep} lines");
        assert_eq!((report.gaps[0].rank, report.gaps[0].record), (0, keep as u64));
        told += &format!("{:?}\n", report.gaps);
    }
    insta::assert_snapshot!(told);
}

/// Where it was sent is known although thousands of messages with other tags came and went.
#[test]
fn a_message_that_is_left_is_told_however_many_tags_there_are() {
    let place = Place::new();
    let mut pair = Pair::new(&place);
    for tag in 0..5000 {
        let sent = pair.call(0, 10 + tag, send(1, tag, 8));
        pair.end(0, sent);
        pair.settle();
        if tag != 3 {
            let got = pair.call(1, 1, receive(0, tag, 8));
            pair.settle();
            pair.end(1, got);
        }
    }
    pair.ranks.iter_mut().for_each(|(_, recorder)| recorder.end(TraceEnd::Finalized));
    let report = replayed(&place).expect("it is a trace");
    let [MpiUsageError::NotReceived { tag: 3, count: 1, place, .. }] = &report.misuses[..] else {
        panic!("{:?}", report.misuses)
    };
    assert_eq!((report.verdict, place.line), (ReplayVerdict::Allowed, Some(13)));
}

#[test]
fn much_may_be_in_flight() {
    let place = Place::new();
    let mut pair = Pair::new(&place);
    for _ in 0..5000 {
        let sent = pair.call(0, 1, send(1, 0, 8));
        pair.end(0, sent);
    }
    pair.settle();
    for _ in 0..5000 {
        let got = pair.call(1, 1, receive(0, 0, 8));
        pair.end(1, got);
    }
    pair.ranks.iter_mut().for_each(|(_, recorder)| recorder.end(TraceEnd::Finalized));
    let report = replayed(&place).expect("it is a trace");
    // Of the counts of what has been seen, the last one is behind the last send.
    assert_eq!((report.verdict, report.calls, report.answers), (ReplayVerdict::Allowed, 10_000, 10_000));
}

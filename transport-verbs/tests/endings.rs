//! How it ends: with goodbyes, or without one.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport::{Arrival, Handle, RankId, Transport, ZcopySource};
use carrousel_transport_verbs::{Loss, Settings};
use fake::{End, Event, FakeAdapter, MESSAGE, Reports, drive, meet};
use std::time::Duration;

const WRITTEN: Arrival = Arrival::Written(Handle { index: 0, generation: 0 });
const READ: Arrival = Arrival::Read(Handle { index: 1, generation: 0 });

#[test]
fn who_has_heard_goodbye_need_not_be_heard() {
    let mut by_two = Settings::default();
    by_two.control_service_level = by_two.service_level + 1;
    for settings in [Settings::default(), by_two] {
        let mut one = End::new(FakeAdapter(0), 0, 2, settings.clone());
        let mut other = End::new(FakeAdapter(1), 1, 2, settings);
        meet(&mut one, &mut other, 0, 1);
        drive(&mut [&mut one, &mut other], |ends| {
            ends.iter_mut().all(|end| end.verbs.unacknowledged().is_empty())
        });
        // As by a peer that has no receive buffer left, and posts none.
        FakeAdapter(0).stall(true);
        one.verbs.finish();
        for _ in 0..10 {
            one.poll();
            assert!(!one.verbs.unacknowledged().is_empty(), "the other one may need it");
        }
        other.verbs.finish();
        drive(&mut [&mut one, &mut other], |ends| {
            ends.iter_mut().all(|end| end.verbs.unacknowledged().is_empty())
        });
        assert_eq!(one.heard.lost, []);
        FakeAdapter(0).stall(false);
    }
}

#[test]
fn who_leaves_receives_nothing_and_takes_packets() {
    let mut one = End::new(FakeAdapter(0), 0, 2, Settings::default());
    let mut other = End::new(FakeAdapter(1), 1, 2, Settings::default());
    assert!(one.verbs.out().receives(RankId(1)), "it may be connected to");
    meet(&mut one, &mut other, 0, 1);
    drive(&mut [&mut one, &mut other], |ends| {
        ends.iter_mut().all(|end| end.verbs.unacknowledged().is_empty())
    });
    assert!(one.verbs.out().receives(RankId(1)));
    let before = other.heard.packets;
    other.verbs.leave();
    drive(&mut [&mut one, &mut other], |ends| !ends[0].verbs.out().receives(RankId(1)));
    assert!(other.verbs.out().receives(RankId(0)), "nobody else leaves");
    one.send(1, &[1; 8]);
    assert_eq!(one.verbs.unacknowledged(), [RankId(1)]);
    drive(&mut [&mut one, &mut other], |ends| {
        ends.iter_mut().all(|end| end.verbs.unacknowledged().is_empty())
    });
    assert_eq!((other.heard.packets - before, one.heard.lost), (1, vec![]));
}

#[test]
fn what_was_posted_and_what_waits_is_over_once_when_the_device_has_failed() {
    let mut settings = Settings::default();
    settings.depth = 4;
    for is_abandoned in [false, true] {
        let mut own = End::new(FakeAdapter(2), 0, 3, settings.clone());
        let mut other = End::new(FakeAdapter(3), 1, 3, settings.clone());
        meet(&mut own, &mut other, 0, 1);
        drive(&mut [&mut own], |ends| ends[0].verbs.unacknowledged().is_empty());
        FakeAdapter(2).stall(true);
        let (data, name) = ([7; 16], 5);
        assert!(own.verbs.out().send_zcopy(RankId(1), &MESSAGE, &data, ZcopySource { key: 1, name }));
        // Not all of them are posted.
        (0..3).for_each(|_| own.write_nothing(1));
        (0..3).for_each(|_| own.read_nothing(1));
        assert!(own.verbs.out().is_waiting());
        if is_abandoned {
            own.verbs.out().abandon(RankId(1));
        }
        let mut reports = Reports::default();
        own.verbs.poll(own.now, &mut reports);
        assert_eq!((reports.0.len(), own.verbs.out().zcopy_done()), (0, None));
        FakeAdapter(2).say(Event::Fatal);
        reports.hear(&mut own, 7);
        assert_eq!(reports.0, [&[Arrival::Lost(RankId(1))][..], &[WRITTEN; 3], &[READ; 3]].concat());
        assert_eq!(own.verbs.out().zcopy_done(), Some(name));
        assert!(own.verbs.unacknowledged().is_empty(), "nobody waits for what does not come");
        // A peer that is to be connected to now is lost, too.
        own.verbs.out().connect(RankId(2), &other.verbs.address());
        own.write_nothing(2);
        reports.hear(&mut own, 9);
        assert_eq!(reports.0[7..], [Arrival::Lost(RankId(2)), WRITTEN]);
        assert!(matches!(own.verbs.out().loss_of(RankId(2)), Some(Loss::Device(_))));
        // What comes all the same comes too late.
        FakeAdapter(2).stall(false);
        while own.verbs.poll(own.now, &mut reports) > 0 {}
        assert_eq!((reports.0.len(), own.verbs.out().zcopy_done()), (9, None));
    }
}

#[test]
fn what_has_no_completion_at_the_end_of_a_full_queue_is_over_with_the_connection() {
    let mut settings = Settings::default();
    // Every second one has a completion, so the last one has none.
    settings.depth = 5;
    let mut own = End::new(FakeAdapter(4), 0, 2, settings.clone());
    let mut other = End::new(FakeAdapter(5), 1, 2, settings);
    meet(&mut own, &mut other, 0, 1);
    drive(&mut [&mut own], |ends| ends[0].verbs.unacknowledged().is_empty());
    (0..6).for_each(|_| own.send(1, &[1; 8]));
    assert!(own.verbs.out().is_waiting(), "the queue is full");
    own.verbs.out().abandon(RankId(1));
    drive(&mut [&mut own], |ends| ends[0].verbs.unacknowledged().is_empty());
    assert_eq!(own.heard.lost, [RankId(1)]);
}

#[test]
fn who_was_given_up_before_there_was_a_connection_notices() {
    // Only the peer asks for a connection, or both do.
    for has_asked in [false, true] {
        let mut own = End::new(FakeAdapter(6), 0, 2, Settings::default());
        let mut other = End::new(FakeAdapter(7), 1, 2, Settings::default());
        if has_asked {
            own.verbs.out().connect(RankId(1), &other.verbs.address());
        }
        own.verbs.out().abandon(RankId(1));
        other.verbs.out().connect(RankId(0), &own.verbs.address());
        other.send(0, &[1; 8]);
        drive(&mut [&mut own, &mut other], |ends| {
            ends[1].tick();
            !ends[1].heard.lost.is_empty()
        });
        assert_eq!((own.heard.packets, own.heard.lost), (0, vec![RankId(1)]));
    }
}

#[test]
fn who_is_of_a_larger_job_is_not_connected_to() {
    let own = End::new(FakeAdapter(8), 0, 2, Settings::default());
    let mut settings = Settings::default();
    settings.patience = Duration::from_millis(200);
    let mut other = End::new(FakeAdapter(9), 2, 3, settings);
    other.verbs.out().connect(RankId(0), &own.verbs.address());
    other.send(0, &[1; 8]);
    drive(&mut [&mut other], |ends| !ends[0].heard.lost.is_empty());
    assert_eq!(other.verbs.out().loss_of(RankId(0)), Some(&Loss::NoAnswer));
}

#[test]
fn a_connection_that_cannot_be_made_is_a_loss_also_to_who_was_asked_for_it() {
    // Of the queue pairs that it is asked for it can make none.
    let mut own = End::new(FakeAdapter(10).without_connections(), 0, 2, Settings::default());
    let mut other = End::new(FakeAdapter(11), 1, 2, Settings::default());
    other.verbs.out().connect(RankId(0), &own.verbs.address());
    drive(&mut [&mut own, &mut other], |ends| !ends[0].heard.lost.is_empty());
    assert!(matches!(own.verbs.out().loss_of(RankId(1)), Some(Loss::System(_))));
}

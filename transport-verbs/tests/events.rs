//! What an adapter has to say, and what comes of it: a loss for that reason, or none.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport::{Arrival, Handle, RankId, Transport};
use carrousel_transport_verbs::{Choice, Device, Loss, Settings, Verbs};
use fake::{End, Event, FakeAdapter, Reports, connected, drive, meet};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

fn loss_of(end: &mut End, rank: u32) -> Option<Loss> {
    end.verbs.out().loss_of(RankId(rank)).cloned()
}

/// Rank 0, whose adapter is the first one, and two that it is connected to.
fn three(adapters: [FakeAdapter; 2]) -> [End; 3] {
    let [own, theirs] = adapters;
    let mut ends = [(own, 0), (theirs, 1), (theirs, 2)]
        .map(|(adapter, me)| End::new(adapter, me, 3, Settings::default()));
    let [own, one, other] = &mut ends;
    meet(own, one, 0, 1);
    meet(own, other, 0, 2);
    ends
}

#[test]
fn who_is_missed_while_the_own_port_is_down_is_lost_for_that() {
    let [mut one, mut other] = connected([FakeAdapter(0), FakeAdapter(1)]);
    FakeAdapter(0).say(Event::PortDown);
    // Neither does more than wait.
    drive(&mut [&mut one, &mut other], |ends| {
        ends.iter_mut().for_each(|end| end.tick());
        ends.iter().all(|end| !end.heard.lost.is_empty())
    });
    assert_eq!(one.heard.lost, [RankId(1)]);
    assert_eq!(loss_of(&mut one, 1), Some(Loss::Device("port 1 of fake0 is down".to_owned())));
    assert_eq!(loss_of(&mut other, 0), Some(Loss::Silent));
}

#[test]
fn a_port_that_is_up_again_is_no_reason() {
    let [mut one, mut other] = connected([FakeAdapter(2), FakeAdapter(3)]);
    FakeAdapter(2).say(Event::PortDown);
    FakeAdapter(2).say(Event::PortUp);
    let before = other.heard.packets;
    one.send(1, &[1; 8]);
    drive(&mut [&mut one, &mut other], |ends| ends[1].heard.packets > before);
    FakeAdapter(3).cut();
    one.send(1, &[1; 8]);
    drive(&mut [&mut one], |ends| !ends[0].heard.lost.is_empty());
    assert_eq!(loss_of(&mut one, 1), Some(Loss::Silent));
}

#[test]
fn a_device_that_has_failed_loses_everybody() {
    for (event, why) in [
        (Event::Fatal, "fake4: the device has failed"),
        (Event::CompletionsFailed, "fake4: a completion queue has overrun"),
        (Event::ReceivesFailed, "fake4: the shared receive queue has failed"),
    ] {
        let [mut own, mut one, _other] = three([FakeAdapter(4), FakeAdapter(5)]);
        FakeAdapter(4).say(event);
        drive(&mut [&mut own], |ends| ends[0].heard.lost.len() == 2);
        for rank in [1, 2] {
            assert_eq!(loss_of(&mut own, rank), Some(Loss::Device(why.to_owned())), "{event:?}");
        }
        // The others have lost nobody, until they miss somebody.
        one.poll();
        assert_eq!(one.heard.lost, [], "{event:?}");
    }
}

#[test]
fn a_queue_pair_that_has_failed_loses_its_peer() {
    let [mut own, mut one, _other] = three([FakeAdapter(6), FakeAdapter(7)]);
    FakeAdapter(6).say(Event::PairFailed);
    drive(&mut [&mut own], |ends| !ends[0].heard.lost.is_empty());
    assert_eq!(own.heard.lost, [RankId(2)]);
    assert_eq!(loss_of(&mut own, 2), Some(Loss::Failed("its queue pair has failed")));
    let before = one.heard.packets;
    own.send(1, &[1; 8]);
    drive(&mut [&mut own, &mut one], |ends| ends[1].heard.packets > before);
    assert_eq!(loss_of(&mut own, 1), None);
}

#[test]
fn of_those_that_share_a_device_nobody_waits_for_what_another_has_heard() {
    let choice = Choice { device: Some(FakeAdapter(8).name()), ..Choice::default() };
    let device = Device::open(&choice).expect("it is there");
    for _ in 0..50 {
        let ranks = [0, 1].map(|me| {
            Verbs::over(&device, RankId(me), 2, &Settings::default()).expect("the device takes both")
        });
        // All of their threads wake, and there is one for each event.
        (0..20).for_each(|_| FakeAdapter(8).say(Event::PortUp));
        let (ended, has_ended) = channel();
        thread::spawn(move || {
            drop(ranks);
            ended.send(())
        });
        assert_eq!(has_ended.recv_timeout(Duration::from_secs(30)), Ok(()), "a thread waits for ever");
    }
}

const READ: Arrival = Arrival::Read(Handle { index: 1, generation: 0 });
const WRITTEN: Arrival = Arrival::Written(Handle { index: 0, generation: 0 });
const LOST: [Arrival; 2] = [Arrival::Lost(RankId(1)), Arrival::Lost(RankId(2))];

#[test]
fn a_loss_is_told_when_the_adapter_has_let_go_of_what_was_to_be_read_and_written() {
    let ([mut own, _one, _other], mut reports) =
        (three([FakeAdapter(9), FakeAdapter(10)]), Reports::default());
    FakeAdapter(9).stall(true);
    own.write_nothing(1);
    own.read_nothing(1);
    own.verbs.out().abandon(RankId(1));
    // It is lost for all that follows; of another one that nothing is read of somebody is told at once.
    own.read_nothing(1);
    own.send(2, &[1; 8]);
    own.verbs.out().abandon(RankId(2));
    for _ in 0..100 {
        own.verbs.poll(own.now, &mut reports);
    }
    assert_eq!(loss_of(&mut own, 1), Some(Loss::Abandoned));
    assert_eq!(reports.0, [LOST[1]]);
    FakeAdapter(9).stall(false);
    reports.hear(&mut own, 5);
    assert_eq!(reports.0[1..], [LOST[0], WRITTEN, READ, READ]);
    assert!(own.verbs.unacknowledged().is_empty());
}

#[test]
fn of_an_adapter_that_has_failed_nobody_waits_to_hear_more() {
    for is_waited_for in [false, true] {
        let ([mut own, _one, _other], mut reports) =
            (three([FakeAdapter(11), FakeAdapter(12)]), Reports::default());
        FakeAdapter(11).stall(true);
        own.read_nothing(1);
        if is_waited_for {
            own.verbs.out().abandon(RankId(1));
        }
        own.verbs.poll(own.now, &mut reports);
        assert_eq!(reports.0, []);
        FakeAdapter(11).say(Event::Fatal);
        reports.hear(&mut own, 3);
        assert_eq!(reports.0, [LOST[0], LOST[1], READ], "waited for: {is_waited_for}");
        FakeAdapter(11).stall(false);
    }
}

#[test]
fn a_queue_pair_that_refuses_what_its_peer_asks_for_still_says_what_becomes_of_its_own() {
    let ([mut own, _one, _other], mut reports) =
        (three([FakeAdapter(13), FakeAdapter(14)]), Reports::default());
    FakeAdapter(13).stall(true);
    own.read_nothing(2);
    FakeAdapter(13).say(Event::PairRefuses);
    for _ in 0..100 {
        own.verbs.poll(own.now, &mut reports);
    }
    assert_eq!(reports.0, [], "it may be reading still");
    assert!(matches!(loss_of(&mut own, 2), Some(Loss::Nonsense(_))));
    FakeAdapter(13).stall(false);
    reports.hear(&mut own, 2);
    assert_eq!(reports.0, [LOST[1], READ]);
}

//! What an adapter has to say, and what comes of it: a loss for that reason, or none.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport::{RankId, Transport};
use carrousel_transport_verbs::{Choice, Device, Loss, Settings, Verbs};
use fake::{Adapter, End, Event, connected, drive, meet};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

fn loss_of(end: &mut End, rank: u32) -> Option<Loss> {
    end.verbs.out().loss_of(RankId(rank)).cloned()
}

/// Rank 0, whose adapter is the first one, and two that it is connected to.
fn three(adapters: [Adapter; 2]) -> [End; 3] {
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
    let [mut one, mut other] = connected([Adapter(0), Adapter(1)]);
    Adapter(0).say(Event::PortDown);
    // Neither does more than wait.
    drive(&mut [&mut one, &mut other], |ends| {
        ends.iter_mut().for_each(|end| end.verbs.check());
        ends.iter().all(|end| !end.heard.lost.is_empty())
    });
    assert_eq!(one.heard.lost, [RankId(1)]);
    assert_eq!(loss_of(&mut one, 1), Some(Loss::Device("port 1 of fake0 is down".to_owned())));
    assert_eq!(loss_of(&mut other, 0), Some(Loss::Silent));
}

#[test]
fn a_port_that_is_up_again_is_no_reason() {
    let [mut one, mut other] = connected([Adapter(2), Adapter(3)]);
    Adapter(2).say(Event::PortDown);
    Adapter(2).say(Event::PortUp);
    let before = other.heard.packets;
    one.send(1, &[1; 8]);
    drive(&mut [&mut one, &mut other], |ends| ends[1].heard.packets > before);
    Adapter(3).cut();
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
        let [mut own, mut one, _other] = three([Adapter(4), Adapter(5)]);
        Adapter(4).say(event);
        drive(&mut [&mut own], |ends| ends[0].heard.lost.len() == 2);
        for rank in [1, 2] {
            assert_eq!(loss_of(&mut own, rank), Some(Loss::Device(why.to_owned())), "{event:?}");
        }
        // Of others it is none, until they miss somebody.
        one.poll();
        assert_eq!(one.heard.lost, [], "{event:?}");
    }
}

#[test]
fn a_queue_pair_that_has_failed_loses_its_peer() {
    let [mut own, mut one, _other] = three([Adapter(6), Adapter(7)]);
    Adapter(6).say(Event::PairFailed);
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
    let choice = Choice { device: Some(Adapter(8).name()), ..Choice::default() };
    let device = Device::open(&choice).expect("it is there");
    for _ in 0..50 {
        let ranks = [0, 1].map(|me| {
            Verbs::over(&device, RankId(me), 2, &Settings::default()).expect("the device takes both")
        });
        // All of their threads wake, and there is one for each event.
        (0..20).for_each(|_| Adapter(8).say(Event::PortUp));
        let (ended, has_ended) = channel();
        thread::spawn(move || {
            drop(ranks);
            ended.send(())
        });
        assert_eq!(has_ended.recv_timeout(Duration::from_secs(30)), Ok(()), "a thread waits for ever");
    }
}

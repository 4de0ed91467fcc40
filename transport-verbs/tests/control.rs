//! Packets without data have queue pairs of their own if they have a service level of their own: they need not wait for data,
//! and each direction is in order all the same.
#![cfg(feature = "verbs")]

mod fake;

use carrousel_transport::{Arrival, Direction, Head, Header, Outbound, RankId, Transport};
use carrousel_transport_verbs::{Settings, Verbs};
use fake::{End, FakeAdapter, Reports, drive, head, meet};
use std::time::Duration;

/// The service level of data.
const DATA: u8 = 0;
/// That of packets that have none.
const CONTROL: u8 = 5;
const RANKS: [RankId; 2] = [RankId(0), RankId(1)];
/// Towards the receiver: with data, and without.
const EAGER: Head = head(Direction::ToReceiver, 1);
const ATP: Head = head(Direction::ToReceiver, 5);
/// Towards the sender.
const ATS: Head = head(Direction::ToSender, 2);

fn settings() -> Settings {
    let mut settings = Settings::default();
    (settings.service_level, settings.control_service_level) = (DATA, CONTROL);
    settings
}

/// Ranks 0 and 1, which have exchanged a message.
fn pair(adapters: [FakeAdapter; 2], settings: [Settings; 2]) -> [End; 2] {
    let ([one, other], [first, second]) = (adapters, settings);
    let mut ends = [End::new(one, 0, 2, first), End::new(other, 1, 2, second)];
    let [one, other] = &mut ends;
    meet(one, other, 0, 1);
    ends
}

fn send(verbs: &mut Verbs, packet: Head) {
    let data: &[u8] = if packet == EAGER { &[1; 3] } else { &[] };
    verbs.out().send(RANKS[1], &packet, data);
}

/// The packets that have come to rank 1 by now.
fn come(ends: &mut [End; 2]) -> Vec<Header> {
    let mut reports = Reports::default();
    while ends[1].verbs.poll(Duration::ZERO, &mut reports) + ends[0].poll() > 0 {}
    let packet = |arrival: &Arrival| match arrival {
        Arrival::Packet { packet, .. } => *packet,
        other => panic!("{other:?}"),
    };
    reports.0.iter().map(packet).collect()
}

#[test]
fn what_has_no_data_overtakes_data_of_the_other_lane_only() {
    let mut ends = pair([FakeAdapter(0), FakeAdapter(1)], [settings(), settings()]);
    FakeAdapter(0).hold(Some(DATA));
    [EAGER, ATP, ATS].into_iter().for_each(|packet| send(&mut ends[0].verbs, packet));
    assert_eq!(come(&mut ends), [ATS.header()], "it need not wait, and the other must not");
    FakeAdapter(0).hold(None);
    assert_eq!(come(&mut ends), [EAGER.header(), ATP.header()]);
}

#[test]
fn data_waits_for_what_has_none_and_was_sent_before() {
    let mut ends = pair([FakeAdapter(2), FakeAdapter(3)], [settings(), settings()]);
    FakeAdapter(2).hold(Some(CONTROL));
    [ATP, EAGER, ATS, EAGER].into_iter().for_each(|packet| send(&mut ends[0].verbs, packet));
    assert_eq!(come(&mut ends), []);
    FakeAdapter(2).hold(None);
    let come = come(&mut ends);
    let forward: Vec<Header> = come.iter().copied().filter(|packet| *packet != ATS.header()).collect();
    assert_eq!(forward, [ATP, EAGER, EAGER].map(|head| head.header()));
    assert_eq!(come.len(), 4);
}

#[test]
fn no_more_packets_wait_for_their_turn_than_the_window() {
    let mut ends = pair([FakeAdapter(4), FakeAdapter(5)], [settings(), settings()]);
    FakeAdapter(4).hold(Some(DATA));
    send(&mut ends[0].verbs, EAGER);
    let more = 3 * usize::from(settings().window);
    (0..more).for_each(|_| send(&mut ends[0].verbs, ATP));
    assert_eq!(come(&mut ends), []);
    assert!(ends[0].verbs.out().is_waiting(), "for credits of packets that wait");
    FakeAdapter(4).hold(None);
    let come = come(&mut ends);
    assert_eq!(
        (come.len(), come[0], come[1], come[more]),
        (more + 1, EAGER.header(), ATP.header(), ATP.header())
    );
}

#[test]
fn there_is_a_second_queue_pair_only_if_both_ends_have_one() {
    for (adapters, which) in [([FakeAdapter(6), FakeAdapter(7)], 0), ([FakeAdapter(8), FakeAdapter(9)], 1)] {
        let mut both = [Settings::default(), Settings::default()];
        both[which] = settings();
        let mut ends = pair(adapters, both);
        adapters[0].hold(Some(DATA));
        [EAGER, ATP, ATS].into_iter().for_each(|packet| send(&mut ends[0].verbs, packet));
        assert_eq!(come(&mut ends), []);
        adapters[0].hold(None);
        assert_eq!(come(&mut ends), [EAGER.header(), ATP.header(), ATS.header()]);
    }
}

/// Rank 0 says goodbye, of which one half is late or not, and goes. Whether that is a loss to rank 1.
fn is_lost(adapters: [FakeAdapter; 2], held: Option<u8>) -> bool {
    let [mut one, mut other] = pair(adapters, [settings(), settings()]);
    adapters[0].hold(held);
    one.verbs.finish();
    while !one.verbs.unacknowledged().is_empty() {
        one.poll();
        other.poll();
    }
    drop(one);
    // Periods of looking whether a peer acknowledges: the first begins with a poll that finds nothing, the second asks, and the
    // third hears that nobody answers.
    for _ in 0..4 {
        other.now += Duration::from_secs(1);
        while other.poll() > 0 {}
    }
    !other.heard.lost.is_empty()
}

#[test]
fn who_has_said_goodbye_by_both_ways_may_go() {
    assert!(!is_lost([FakeAdapter(10), FakeAdapter(11)], None));
    for held in [DATA, CONTROL] {
        assert!(is_lost([FakeAdapter(12), FakeAdapter(13)], Some(held)), "more may have come");
        FakeAdapter(12).hold(None);
    }
}

#[test]
fn a_failed_second_queue_pair_is_the_end_of_both() {
    let [mut one, mut other] = pair([FakeAdapter(14), FakeAdapter(15)], [settings(), settings()]);
    // By each way something that has no completion of its own.
    [EAGER, ATS].into_iter().for_each(|packet| send(&mut one.verbs, packet));
    // The one that was made last.
    FakeAdapter(14).say(fake::Event::PairFailed);
    drive(&mut [&mut one, &mut other], |ends| !ends[0].heard.lost.is_empty());
    assert_eq!(one.heard.lost, [RANKS[1]]);
    while one.poll() > 0 {}
    assert!(one.verbs.unacknowledged().is_empty(), "what was posted to it has come back");
}

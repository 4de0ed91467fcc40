//! Buffers that are used often: sent from where they are, the bytes that are in them.
#![allow(unsafe_code)]

use super::PATIENCE;
use super::ends::{pair, request};
use super::stale::Page;
use carrousel_reuse::{Policy, Thresholds};
use carrousel_transport::{
    Arrival, Context, Handler, Keys, Memory, Outbound, Packet, Payload, RankId, Regions, Tag, Transport,
};
use carrousel_transport_verbs::{Out, Registrations, Verbs};
use std::time::Instant;

const TO: RankId = RankId(1);

/// What has come.
#[derive(Default)]
struct Got(Vec<Vec<u8>>);

impl Regions for Got {
    fn bytes(&self, _: Memory, _: u64) -> Option<&[u8]> {
        None
    }

    fn bytes_mut(&mut self, _: Memory, _: u64) -> Option<&mut [u8]> {
        None
    }

    fn keys(&mut self, _: Memory, _: u64, _: bool) -> Option<Keys> {
        None
    }
}

impl Handler<Out> for Got {
    type Regions = Self;

    fn regions(&mut self) -> &mut Self {
        self
    }

    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), _: &mut Out) {
        if let Arrival::Packet { .. } = arrival {
            let mut bytes = vec![0; data.len()];
            data.copy_to(&mut bytes);
            self.0.push(bytes);
        }
    }
}

/// One rank that sends, and one that receives.
struct Scene {
    sender: Verbs,
    receiver: Verbs,
    registrations: Registrations,
    got: Got,
    sent: u32,
}

impl Scene {
    /// A registration pays for 6 uses, and is made at the third.
    fn new() -> Self {
        let [(sender, _), (receiver, _)] = pair();
        let policy =
            Policy { thresholds: Thresholds::uniform(6), speculation_percent: 50, ..Policy::default() };
        let registrations = Registrations::new(sender.device(), true, Some(policy));
        let said = registrations.describe();
        assert!(said.ends_with("; small buffers that are used often are not copied"), "{said}");
        Self { sender, receiver, registrations, got: Got::default(), sent: 0 }
    }

    /// Sends bytes, and waits until they may be changed. Returns whether they were not copied.
    fn send(&mut self, bytes: &[u8]) -> bool {
        self.sent += 1;
        let (name, packet) = (self.sent, Packet::Eager { tag: Tag(0), len: bytes.len() as u64 });
        let out = self.sender.out();
        // SAFETY: the bytes are borrowed until they are returned, and the registration is released then.
        let Some(held) = (unsafe { self.registrations.acquire_often_used(bytes.as_ptr(), bytes.len()) })
        else {
            out.send(TO, Context::MESSAGES, &packet, bytes);
            return false;
        };
        let is_lent = out.lend(TO, Context::MESSAGES, &packet, bytes, (held.keys().local, name));
        let began = Instant::now();
        while is_lent && self.sender.out().returned() != Some(name) {
            self.sender.poll(&mut Got::default());
            self.receiver.poll(&mut self.got);
            assert!(began.elapsed() < PATIENCE, "the adapter gives nothing back");
        }
        self.registrations.release(held);
        is_lent
    }

    /// What has come, when so many messages have.
    fn got(&mut self, count: usize) -> Vec<Vec<u8>> {
        let began = Instant::now();
        while self.got.0.len() < count {
            self.sender.poll(&mut Got::default());
            self.receiver.poll(&mut self.got);
            assert!(began.elapsed() < PATIENCE, "{} of {count} have come", self.got.0.len());
        }
        std::mem::take(&mut self.got.0)
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn what_is_used_often_is_not_copied() {
    let mut scene = Scene::new();
    let mut page = Page::map(None);
    for round in 0..3 {
        let lent: Vec<bool> = (0..8)
            .map(|count| {
                page.fill(round * 10 + count);
                scene.send(page.bytes())
            })
            .collect();
        assert_eq!(lent, [false, false, true, true, true, true, true, true], "round {round}");
        let sent: Vec<_> = (0..8).map(|count| vec![round * 10 + count; page.bytes().len()]).collect();
        assert_eq!(scene.got(8), sent, "round {round}");
        // Other pages at the same place, whose uses count anew.
        page = Page::map(Some(&page));
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn who_has_no_credit_copies() {
    let mut scene = Scene::new();
    let page = Page::map(None);
    page.fill(7);
    (0..3).for_each(|_| {
        scene.send(page.bytes());
    });
    assert_eq!(scene.got(3).len(), 3);
    // Nobody receives, until there is no credit.
    let out = scene.sender.out();
    let packet = Packet::Done { send: request(0) };
    while !out.is_waiting() {
        out.send(TO, Context::MESSAGES, &packet, &[]);
        scene.sent += 1;
    }
    let before = scene.sent as usize;
    assert!(!scene.send(page.bytes()), "it is copied, and waits");
    page.fill(8);
    assert_eq!(scene.got(before - 3 + 1).last(), Some(&vec![7; page.bytes().len()]));
}

//! Buffers that are used often: sent, put and got from where they are, the bytes that are in them.
#![allow(unsafe_code, reason = "the test maps and unmaps memory")]

use super::PATIENCE;
use super::ends::{Watch, drive, now, pair, request};
use super::stale::{LEN, MAPPED, Page};
use carrousel_registration::{CLASSES, Path, Policy, Thresholds};
use carrousel_transport::{
    Arrival, Context, Direction, Handler, Head, Header, Memory, OnlyKeys, Outbound, Payload, Protocol,
    RankId, Read, Transport, Write, ZcopySource,
};
use carrousel_transport_verbs::{Access, MrGuard, Out, Registrations, Settings, Verbs};
use std::time::Instant;

const TO: RankId = RankId(1);

/// How often a buffer is copied. The use behind that makes half of those that pay, and has it registered.
const SENDS_COPIED: u8 = 2;
const PUTS_COPIED: u8 = 3;
const GETS_COPIED: u8 = 5;
/// Uses after which it is looked.
const USES: u8 = 8;

/// Of each of the uses of a buffer: whether it is copied, if only so many are.
fn first(copied: u8) -> Vec<bool> {
    (0..USES).map(|at| at < copied).collect()
}

fn registrations(verbs: &Verbs) -> Registrations {
    let enough = |copied: u8| [2 * (u32::from(copied) + 1); CLASSES];
    let thresholds = Thresholds {
        eager_by_send: enough(SENDS_COPIED),
        put: enough(PUTS_COPIED),
        get: enough(GETS_COPIED),
        ..Thresholds::uniform(Thresholds::NEVER)
    };
    let policy = Policy { thresholds, speculation_percent: 50, ..Policy::default() };
    let registrations = Registrations::new(verbs.device(), true, Some(policy));
    let said = registrations.describe();
    assert!(said.ends_with("; small buffers that are used often are not copied"), "{said}");
    registrations
}

/// What has come.
#[derive(Default)]
struct Got {
    messages: Vec<Vec<u8>>,
    memory: OnlyKeys,
}

/// The head of every message.
const HEAD: Head =
    Head::new(Header::new(Protocol::Messages, Direction::ToReceiver, 1, Context::MESSAGES), [&[5; 8], &[]]);

impl Handler<Out> for Got {
    type Regions = OnlyKeys;

    fn regions(&mut self) -> &mut OnlyKeys {
        &mut self.memory
    }

    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), _: &mut Out) {
        if let Arrival::Packet { .. } = arrival {
            let at = HEAD.body().len();
            let mut bytes = vec![0; data.len() - at];
            data.copy_to(at, &mut bytes);
            self.messages.push(bytes);
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
    fn new() -> Self {
        let [(sender, _), (receiver, _)] = pair();
        let registrations = registrations(&sender);
        Self { sender, receiver, registrations, got: Got::default(), sent: 0 }
    }

    /// Sends bytes. If they are not copied, returns what is to be released when they are returned.
    fn post(&mut self, bytes: &[u8]) -> Option<MrGuard> {
        self.sent += 1;
        let name = self.sent;
        let (start, out) = (bytes.as_ptr().cast_mut(), self.sender.out());
        // SAFETY: the bytes are not changed until they are returned, and the registration is released then.
        let held = unsafe { self.registrations.acquire_often_used(start, bytes.len(), Path::EagerBySend) };
        let Some(held) = held else {
            out.send(TO, &HEAD, bytes);
            return None;
        };
        if out.send_zcopy(TO, &HEAD, bytes, ZcopySource { key: held.keys().local, name }) {
            return Some(held);
        }
        self.registrations.release(held);
        None
    }

    /// Sends bytes, and waits until they may be changed. Returns whether they were not copied.
    fn send(&mut self, bytes: &[u8]) -> bool {
        let Some(held) = self.post(bytes) else { return false };
        let began = Instant::now();
        while self.sender.out().zcopy_done() != Some(self.sent) {
            self.sender.poll(now(), &mut Got::default());
            self.receiver.poll(now(), &mut self.got);
            assert!(began.elapsed() < PATIENCE, "the adapter gives nothing back");
        }
        self.registrations.release(held);
        true
    }

    /// What has come, when so many messages have.
    fn got(&mut self, count: usize) -> Vec<Vec<u8>> {
        let began = Instant::now();
        while self.got.messages.len() < count {
            self.sender.poll(now(), &mut Got::default());
            self.receiver.poll(now(), &mut self.got);
            assert!(began.elapsed() < PATIENCE, "{} of {count} have come", self.got.messages.len());
        }
        std::mem::take(&mut self.got.messages)
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn what_is_used_often_is_not_copied() {
    let mut scene = Scene::new();
    let mut page = Page::map(None);
    for round in 0..3 {
        let bytes = (0..USES).map(|at| round * 10 + at);
        let copied: Vec<bool> = bytes
            .clone()
            .map(|byte| {
                page.fill(byte);
                !scene.send(page.bytes())
            })
            .collect();
        assert_eq!(copied, first(SENDS_COPIED), "round {round}");
        let sent: Vec<_> = bytes.map(|byte| vec![byte; LEN]).collect();
        assert_eq!(scene.got(USES.into()), sent, "round {round}");
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
    // The receiver does not look any more, so no credit comes back.
    let mut lent = Vec::new();
    while let Some(held) = scene.post(page.bytes()) {
        lent.push(held);
    }
    // Four are spent: for the three, and for the packet by which the two have met. Some of them may have been given back.
    let window = usize::from(Settings::default().window);
    assert!((window - 4..=window).contains(&lent.len()), "{} of a window of {window}", lent.len());
    let (began, mut returned) = (Instant::now(), 0);
    while returned < lent.len() {
        scene.sender.poll(now(), &mut Got::default());
        returned += usize::from(scene.sender.out().zcopy_done().is_some());
        assert!(began.elapsed() < PATIENCE, "{returned} of {} are returned", lent.len());
    }
    assert!(scene.sender.out().is_waiting(), "the one that is copied");
    let sent = lent.len() + 1;
    lent.drain(..).for_each(|held| scene.registrations.release(held));
    page.fill(8);
    assert_eq!(scene.got(sent), vec![vec![7; LEN]; sent]);
}

/// What is in memory that nothing was written to.
const NOTHING: u8 = 0xff;

/// A rank that puts into the memory of its peer and gets from there. Its own registered memory is where it copies through.
struct OneSided {
    ranks: [(Verbs, Watch); 2],
    registrations: Registrations,
    asked: u32,
}

/// A transfer that is not known to be complete.
struct UnderWay {
    path: Path,
    byte: u8,
    complete: Arrival,
    /// Of the page, unless it is copied.
    held: Option<MrGuard>,
}

impl OneSided {
    fn new() -> Self {
        let ranks = pair();
        let registrations = registrations(&ranks[0].0);
        Self { ranks, registrations, asked: 0 }
    }

    fn acquire(&mut self, path: Path, page: &Page) -> Option<MrGuard> {
        // SAFETY: mapped, for writing too, and nobody uses it until the transfer is complete; it is released then.
        unsafe { self.registrations.acquire_often_used(page.start(), LEN, path) }
    }

    /// Begins to put the page, which is filled with a byte, or to get it filled.
    fn begin(&mut self, path: Path, page: &Page, byte: u8) -> UnderWay {
        let (in_page, in_peer) = if path == Path::Put { (byte, NOTHING) } else { (NOTHING, byte) };
        page.fill(in_page);
        let held = self.acquire(path, page);
        let [(verbs, staging), (_, peer)] = &mut self.ranks;
        peer.set(&[in_peer; LEN]);
        staging.set(&[NOTHING; LEN]);
        let len = LEN as u64;
        let (local, keys) = if let Some(held) = &held {
            (Memory { address: page.start().addr() as u64, key: 0 }, Some(held.keys()))
        } else {
            if path == Path::Put {
                staging.set(page.bytes());
            }
            let own = staging.word(0);
            (own, staging.regions().0)
        };
        self.asked += 1;
        let (remote, request, told) = (peer.word(0), request(self.asked), &mut OnlyKeys(keys));
        let complete = if path == Path::Put {
            let write = Write { to: TO, from: local, into: remote, len, request, notice: None };
            verbs.out().write(&write, told);
            Arrival::Written(request)
        } else {
            let read = Read { of: TO, from: remote, into: local, len, request, notice: None };
            verbs.out().read(&read, told);
            Arrival::Read(request)
        };
        UnderWay { path, byte, complete, held }
    }

    /// Waits until a transfer is complete, and looks at its bytes. Returns whether they were copied.
    fn end(&mut self, transfer: UnderWay, page: &Page) -> bool {
        let UnderWay { path, byte, complete, held } = transfer;
        drive(&mut self.ranks, |ranks| ranks[0].1.arrivals.contains(&complete));
        let [(_, staging), (_, peer)] = &self.ranks;
        let (was_copied, staged) = (held.is_none(), staging.bytes(LEN));
        if let Some(held) = held {
            self.registrations.release(held);
        } else if path == Path::Get {
            page.set(staged[..].try_into().expect("so many"));
        }
        let arrived = if path == Path::Put { peer.bytes(LEN) } else { page.bytes().to_vec() };
        assert_eq!(arrived, [byte; LEN], "{path:?}");
        assert_eq!(staged, [if was_copied { byte } else { NOTHING }; LEN], "{path:?}");
        was_copied
    }

    fn transfer(&mut self, path: Path, page: &Page, byte: u8) -> bool {
        let transfer = self.begin(path, page, byte);
        self.end(transfer, page)
    }

    /// Posts writes of nothing until there is no room: what comes behind them is not even posted.
    fn fill_queue(&mut self) {
        let [(verbs, own), (_, peer)] = &mut self.ranks;
        let (from, into, request) = (own.word(0), peer.word(0), request(0));
        while !verbs.out().is_waiting() {
            verbs.out().write(&Write { to: TO, from, into, len: 0, request, notice: None }, own.regions());
        }
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn puts_and_gets_are_copied_until_it_pays() {
    let mut scene = OneSided::new();
    for (path, copies) in [(Path::Put, PUTS_COPIED), (Path::Get, GETS_COPIED)] {
        let mut page = Page::map(None);
        for round in 0..3 {
            let bytes = (0..USES).map(|at| round * 10 + at);
            let copied: Vec<bool> = bytes.map(|byte| scene.transfer(path, &page, byte)).collect();
            assert_eq!(copied, first(copies), "{path:?}, round {round}");
            page.unmap();
            page = Page::map(Some(&page));
        }
    }
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn uses_count_on_all_paths_together() {
    let mut scene = OneSided::new();
    let page = Page::map(None);
    // The fourth use is enough for a put. A get would need two more, but finds what the put has registered.
    let paths = [Path::Get, Path::Get, Path::Get, Path::Put, Path::Get];
    let copied = paths.map(|path| scene.transfer(path, &page, 1));
    assert_eq!(copied, [true, true, true, false, false]);
}

#[test]
#[ignore = "needs an InfiniBand or RoCE device"]
fn a_registration_lasts_until_the_transfer_is_complete() {
    let mut scene = OneSided::new();
    for (path, copies) in [(Path::Put, PUTS_COPIED), (Path::Get, GETS_COPIED)] {
        let page = Page::map(None);
        // SAFETY: mapped for writing, and not used before it is released.
        let whole = unsafe { scene.registrations.acquire(page.start(), MAPPED, Access::Write) };
        scene.registrations.release(whole.expect("it can be registered"));
        for _ in 0..copies {
            assert!(scene.transfer(path, &page, 1), "{path:?}");
        }
        scene.fill_queue();
        let transfer = scene.begin(path, &page, 2);
        // A part of what is registered goes, though not of what is transferred.
        page.discard_half();
        assert!(scene.acquire(path, &page).is_none(), "{path:?}: it is of no use for another transfer");
        assert!(!scene.end(transfer, &page), "{path:?}");
        assert!(scene.transfer(path, &page, 3), "{path:?}: uses count anew");
    }
}

//! Large accumulates, one side at a time: what the origin sends, and when; whom the target gives a buffer.

use carrousel_epoch::*;
use carrousel_wire::RankId;

const TARGET: RankId = RankId(1);
const OTHER: RankId = RankId(2);
const LARGE: u64 = (8 << 10) + 8;
const ONE_BUFFER: Staging = Staging { threshold: 8 << 10, buffers: 1 };

struct Staged {
    window: Window<AllEpochRules>,
    work: Vec<Output>,
}

impl Staged {
    /// Rank 0 of 4.
    fn new(setup: WindowSetup) -> Self {
        Self { window: Window::new(RankId(0), 4, setup), work: Vec::new() }
    }

    /// The same, with its target exposed to it twice.
    fn granted() -> Self {
        let mut driven = Self::new(WindowSetup { staging: ONE_BUFFER, ..WindowSetup::default() });
        driven.event(Event::Granted { from: TARGET, word: GrantWord::Exposures, value: 2 });
        driven.call(Call::Start(&[TARGET]));
        driven
    }

    fn call(&mut self, call: Call<'_>) -> Returned {
        self.window.call(call, &mut self.work).unwrap_or_else(|error| panic!("{call:?}: {error}"))
    }

    fn access(&mut self, target: RankId, kind: TransferKind, len: u64) {
        let transfer = Transfer { target, kind, place: Blocks::contiguous(0, len), local: 0 };
        self.call(Call::Transfer { transfer, with_request: false });
    }

    fn event(&mut self, event: Event) {
        self.window.event(event, &mut self.work).unwrap_or_else(|error| panic!("{event:?}: {error}"));
    }

    fn packet(&mut self, from: RankId, packet: Packet) {
        self.event(Event::Packet { from, packet });
    }

    /// What was asked for since the last look: of operations, their age, and whether they are staged.
    fn told(&mut self) -> Vec<Told> {
        let told = self.work.drain(..).filter_map(|output| match output {
            Output::Issue { operation, is_staged, .. } => Some(Told::Issue(operation.age, is_staged)),
            Output::Post { to, packet, order } => Some(Told::Post(to, packet, order)),
            _ => None,
        });
        told.collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Issue(u64, bool),
    Post(RankId, Packet, Order),
}

const ASK: Told = Told::Post(TARGET, Packet::StagingRequest, Order::Lane);
const DONE: Told = Told::Post(TARGET, Packet::Done { access: 1 }, Order::Lane);

#[test]
fn a_large_accumulate_waits_for_its_buffer_and_done_for_it() {
    let mut origin = Staged::granted();
    origin.access(TARGET, TransferKind::Accumulate, LARGE);
    assert_eq!(origin.told(), [ASK]);
    origin.call(Call::Complete);
    assert_eq!(origin.told(), [], "Done stays behind the data");
    origin.packet(TARGET, Packet::StagingGrant);
    assert_eq!(origin.told(), [Told::Issue(1, true), DONE]);
}

#[test]
fn no_buffer_is_asked_for_before_the_access_is_granted() {
    let mut origin = Staged::new(WindowSetup::default());
    origin.call(Call::Lock { target: TARGET, mode: Mode::Exclusive });
    origin.access(TARGET, TransferKind::Accumulate, LARGE);
    let request = Packet::LockRequest { mode: Mode::Exclusive, access: 1 };
    assert_eq!(origin.told(), [Told::Post(TARGET, request, Order::Lane)]);
    origin.event(Event::Granted { from: TARGET, word: GrantWord::Locks, value: 1 });
    assert_eq!(origin.told(), [ASK]);
}

#[test]
fn accumulates_keep_their_order_and_nothing_else_waits() {
    let mut origin = Staged::granted();
    origin.access(TARGET, TransferKind::Accumulate, LARGE);
    origin.access(TARGET, TransferKind::FetchAndOp, 8);
    origin.access(TARGET, TransferKind::Put, LARGE);
    origin.access(TARGET, TransferKind::GetAccumulate, LARGE);
    origin.access(TARGET, TransferKind::CompareAndSwap, 8);
    assert_eq!(origin.told(), [ASK, Told::Issue(3, false)], "a put is no accumulate");
    origin.call(Call::Complete);
    origin.packet(TARGET, Packet::StagingGrant);
    assert_eq!(origin.told(), [Told::Issue(1, true), Told::Issue(2, false), ASK], "up to the next large one");
    origin.packet(TARGET, Packet::StagingGrant);
    let done = Told::Post(TARGET, Packet::Done { access: 1 }, Order::Fenced);
    assert_eq!(origin.told(), [Told::Issue(4, true), Told::Issue(5, false), done]);
}

/// An epoch without large accumulates is not held back by the one before it; its accumulates are.
#[test]
fn a_later_epoch_that_a_flag_lets_pass_waits_only_with_its_accumulates() {
    let flags = Flags { access_after_access: true, ..Flags::default() };
    let mut origin = Staged::new(flags.into());
    origin.event(Event::Granted { from: TARGET, word: GrantWord::Exposures, value: 3 });
    for kind in [(TransferKind::Accumulate, LARGE), (TransferKind::Put, 8), (TransferKind::Accumulate, 8)] {
        origin.call(Call::Start(&[TARGET]));
        origin.access(TARGET, kind.0, kind.1);
        origin.call(Call::Complete);
    }
    let done = |access| Told::Post(TARGET, Packet::Done { access }, Order::Lane);
    assert_eq!(origin.told(), [ASK, Told::Issue(2, false), done(2)]);
    origin.packet(TARGET, Packet::StagingGrant);
    assert_eq!(origin.told(), [Told::Issue(1, true), done(1), Told::Issue(3, false), done(3)]);
}

#[test]
fn what_the_origins_processor_applies_is_not_staged() {
    let neighbours = [RankId(3), TARGET].into_iter().collect();
    let mut origin = Staged::new(WindowSetup { neighbours, ..WindowSetup::default() });
    origin.call(Call::LockAll);
    for (value, from) in (0..4).map(|rank| (1, RankId(rank))) {
        origin.event(Event::Granted { from, word: GrantWord::Locks, value });
    }
    origin.told();
    for target in [TARGET, RankId(0), RankId(3)] {
        origin.access(target, TransferKind::Accumulate, LARGE);
    }
    assert_eq!(origin.told(), [1, 2, 3].map(|age| Told::Issue(age, false)));
    origin.access(OTHER, TransferKind::Accumulate, LARGE - 8);
    assert_eq!(origin.told(), [Told::Issue(4, false)], "it is as large as the threshold");
    origin.access(OTHER, TransferKind::Accumulate, LARGE);
    assert_eq!(origin.told(), [Told::Post(OTHER, Packet::StagingRequest, Order::Lane)]);
}

#[test]
fn a_buffer_goes_from_one_origin_to_the_next_when_its_operand_was_applied() {
    let mut target = Staged::new(WindowSetup { staging: ONE_BUFFER, ..WindowSetup::default() });
    let grant = |to| Told::Post(RankId(to), Packet::StagingGrant, Order::Lane);
    for (origin, expected) in [(3, vec![grant(3)]), (1, vec![]), (2, vec![])] {
        target.packet(RankId(origin), Packet::StagingRequest);
        assert_eq!(target.told(), expected);
    }
    target.event(Event::Applied { origin: RankId(3) });
    assert_eq!(target.told(), [grant(1)]);
    target.packet(RankId(3), Packet::StagingRequest);
    assert_eq!(target.told(), [], "it is the last in the queue");
    target.event(Event::Died(RankId(2)));
    target.event(Event::Died(RankId(1)));
    assert_eq!(target.told(), [grant(3)], "the dead have none, and want none");
    assert!(!target.window.is_quiet());
    target.event(Event::Applied { origin: RankId(3) });
    assert!(target.window.is_quiet());
}

#[test]
fn accumulates_that_wait_for_a_target_end_with_its_death() {
    let mut origin = Staged::granted();
    for len in [LARGE, 8, LARGE] {
        origin.access(TARGET, TransferKind::Accumulate, len);
    }
    let close = origin.call(Call::Complete).request().expect("a close has a request");
    origin.event(Event::Died(TARGET));
    let failed = Output::Complete { request: close, result: Err(Failure::PeerDied(TARGET)) };
    assert_eq!(origin.work.last(), Some(&failed));
    origin.packet(TARGET, Packet::StagingGrant);
    assert!(origin.window.is_quiet(), "what comes of it now is not heard");
}

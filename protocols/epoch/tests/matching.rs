//! Epoch ids and their matching, one window at a time (nonblocking-rma-epochs VII-B).

use carrousel_epoch::*;
use carrousel_wire::RankId;

struct Driven {
    window: Window<AllEpochRules>,
    work: Vec<Output>,
}

impl Driven {
    fn new(me: u32, ranks: u32, flags: Flags) -> Self {
        Self { window: Window::new(RankId(me), ranks, flags), work: Vec::new() }
    }

    fn call(&mut self, call: Call<'_>) -> Returned {
        self.window.call(call, &mut self.work).unwrap_or_else(|error| panic!("{call:?}: {error}"))
    }

    fn event(&mut self, event: Event) {
        self.window.event(event, &mut self.work).unwrap_or_else(|error| panic!("{event:?}: {error}"));
    }

    fn granted(&mut self, from: u32, value: u64) {
        self.event(Event::Granted { from: RankId(from), word: GrantWord::Exposures, value });
    }

    /// The work since the last look.
    fn work(&mut self) -> Vec<Output> {
        core::mem::take(&mut self.work)
    }

    fn accesses(&self, peer: u32) -> u64 {
        self.window.counts(RankId(peer), GrantWord::Exposures).expect("there is such a rank").requested
    }
}

fn put(target: u32) -> Call<'static> {
    let transfer = Transfer {
        target: RankId(target),
        kind: TransferKind::Put,
        place: Blocks::contiguous(0, 8),
        local: 0,
    };
    Call::Transfer { transfer, with_request: false }
}

fn done(to: u32, access: u64) -> Output {
    Output::Post { to: RankId(to), packet: Packet::Done { access }, order: Order::Lane }
}

/// VII-B: P0 opens six access epochs to T0..T5. P1 is in T0, T1, T2, T3 and T5, and P2 in T4 and T5.
#[test]
fn the_sixth_access_epoch_is_the_fifth_towards_p1_and_the_second_towards_p2() {
    const P1: RankId = RankId(1);
    const P2: RankId = RankId(2);
    let flags = Flags { access_after_access: true, ..Flags::default() };
    let mut p0 = Driven::new(0, 3, flags);
    // P2 has opened its second exposure far ahead: that is one number, and nothing is queued.
    p0.granted(2, 2);
    let groups: [&[RankId]; 6] = [&[P1], &[P1], &[P1], &[P1], &[P2], &[P2, P1]];
    for group in groups {
        p0.call(Call::Start(group));
        p0.call(Call::Complete);
    }
    assert_eq!((p0.accesses(1), p0.accesses(2)), (5, 2));
    let to_p2 = [done(2, 1), done(2, 2)];
    let posts = |work: Vec<Output>| -> Vec<Output> {
        work.into_iter().filter(|output| matches!(output, Output::Post { .. })).collect()
    };
    assert_eq!(posts(p0.work()), to_p2, "each target is done as soon as it can be");
    p0.granted(1, 4);
    assert_eq!(
        posts(p0.work()),
        [1, 2, 3, 4].map(|access| done(1, access)),
        "one value grants four accesses"
    );
    p0.granted(1, 5);
    assert_eq!(posts(p0.work()), [done(1, 5)]);
    assert_eq!(p0.window.epochs().count(), 0);
}

#[test]
fn deferred_epochs_have_no_id_yet() {
    let mut p0 = Driven::new(0, 2, Flags::default());
    for _ in 0..3 {
        p0.call(Call::Start(&[RankId(1)]));
        p0.call(put(1));
        p0.call(Call::Complete);
    }
    assert_eq!((p0.accesses(1), p0.window.deferred()), (1, 2));
    p0.granted(1, 3);
    // The first epoch transfers; the second is activated only when the first is complete, and then it is granted.
    let [Output::Issue { operation, epoch: 0, .. }, Output::Post { .. }] = p0.work()[..] else {
        panic!("one epoch")
    };
    p0.event(Event::Complete(operation));
    let [Output::Complete { .. }, Output::Issue { epoch: 1, .. }, last] = p0.work()[..] else {
        panic!("the next")
    };
    assert_eq!((last, p0.accesses(1)), (done(1, 2), 2));
}

#[test]
fn recorded_operations_are_replayed_in_program_order() {
    let mut p0 = Driven::new(0, 3, Flags::default());
    p0.call(Call::Start(&[RankId(1)]));
    p0.call(Call::Complete);
    p0.call(Call::Start(&[RankId(2), RankId(1)]));
    for target in [2, 1, 2] {
        p0.call(put(target));
    }
    p0.granted(1, 2);
    p0.granted(2, 1);
    let issued: Vec<(u64, u32)> = p0
        .work()
        .iter()
        .filter_map(|output| match output {
            Output::Issue { operation, transfer, .. } => Some((operation.age, transfer.target.0)),
            _ => None,
        })
        .collect();
    assert_eq!(issued, [(2, 1), (1, 2), (3, 2)], "by grant, and within a target in program order");
    p0.call(put(1));
    assert!(matches!(p0.work()[..], [Output::Issue { .. }]), "the epoch is active: it is issued at once");
}

#[test]
fn a_target_is_done_while_another_has_not_granted() {
    let mut p0 = Driven::new(0, 3, Flags::default());
    p0.call(Call::Start(&[RankId(1), RankId(2)]));
    p0.call(put(1));
    p0.call(Call::Complete);
    p0.granted(1, 1);
    assert!(matches!(p0.work()[..], [Output::Issue { .. }, last] if last == done(1, 1)));
}

/// Two exposures of one origin are active; the later one is done first, which only a peer without our order can do.
#[test]
fn done_is_taken_for_the_exposure_with_its_id() {
    let mut host = Driven::new(0, 2, Flags { exposure_after_exposure: true, ..Flags::default() });
    let requests = [(); 2].map(|()| {
        host.call(Call::Post(&[RankId(1)]));
        host.call(Call::Wait).request().expect("a close has a request")
    });
    host.work();
    for (access, request) in [(2, requests[1]), (1, requests[0])] {
        host.event(Event::Packet { from: RankId(1), packet: Packet::Done { access } });
        assert_eq!(host.work(), [Output::Complete { request, result: Ok(()) }]);
    }
}

#[test]
fn test_closes_the_exposure_when_all_are_done() {
    let mut host = Driven::new(0, 3, Flags::default());
    host.call(Call::Post(&[RankId(1), RankId(2)]));
    assert_eq!(host.call(Call::Test), Returned::Nothing);
    host.event(Event::Packet { from: RankId(2), packet: Packet::Done { access: 1 } });
    assert_eq!(host.call(Call::Test), Returned::Nothing);
    host.event(Event::Packet { from: RankId(1), packet: Packet::Done { access: 1 } });
    host.work();
    let request = host.call(Call::Test).request().expect("both are done");
    assert_eq!(host.work(), [Output::Complete { request, result: Ok(()) }]);
    assert!(host.window.call(Call::Test, &mut Vec::new()).is_err(), "it is closed");
}

#[test]
fn epochs_without_peers_end_at_once() {
    let mut p0 = Driven::new(0, 2, Flags::default());
    for (open, close) in [(Call::Start(&[]), Call::Complete), (Call::Post(&[]), Call::Wait)] {
        p0.call(open);
        let request = p0.call(close).request().expect("a close has a request");
        assert_eq!(p0.work(), [Output::Complete { request, result: Ok(()) }]);
    }
}

#[test]
fn own_requests_end_when_local_buffers_can_be_used() {
    let mut p0 = Driven::new(0, 2, Flags::default());
    p0.call(Call::Lock { target: RankId(1), mode: Mode::Shared });
    let transfer =
        Transfer { target: RankId(1), kind: TransferKind::Put, place: Blocks::contiguous(0, 8), local: 7 };
    let request = p0.call(Call::Transfer { transfer, with_request: true }).request().expect("it has one");
    p0.event(Event::Granted { from: RankId(1), word: GrantWord::Locks, value: 1 });
    let [.., Output::Issue { operation, transfer: issued, .. }] = p0.work()[..] else {
        panic!("it is granted")
    };
    assert_eq!(issued, transfer, "passed on as it is");
    p0.event(Event::LocallyComplete(operation));
    assert_eq!(p0.work(), [Output::Complete { request, result: Ok(()) }]);
    p0.event(Event::Complete(operation));
    assert_eq!(p0.work(), [], "once");
}

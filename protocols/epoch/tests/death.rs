//! Deaths of peers: what waited for them ends with an error, and the rest goes on.

use carrousel_epoch::*;
use carrousel_wire::RankId;

const DEAD: RankId = RankId(1);
const ALIVE: RankId = RankId(2);
const FAILED: Result<(), Failure> = Err(Failure::PeerDied(DEAD));

struct Survivor {
    window: Window<AllEpochRules>,
    work: Vec<Output>,
}

impl Survivor {
    fn new() -> Self {
        Self { window: Window::new(RankId(0), 3, Flags::default()), work: Vec::new() }
    }

    fn call(&mut self, call: Call<'_>) -> Returned {
        self.window.call(call, &mut self.work).unwrap_or_else(|error| panic!("{call:?}: {error}"))
    }

    fn close(&mut self, call: Call<'_>) -> RequestId {
        self.call(call).request().expect("a close has a request")
    }

    fn event(&mut self, event: Event) {
        self.window.event(event, &mut self.work).unwrap_or_else(|error| panic!("{event:?}: {error}"));
    }

    fn put(&mut self, target: RankId) -> RequestId {
        let transfer =
            Transfer { target, kind: TransferKind::Put, place: Blocks::contiguous(0, 8), local: 0 };
        self.close(Call::Transfer { transfer, with_request: true })
    }

    fn results(&mut self) -> Vec<(RequestId, Result<(), Failure>)> {
        let completed = self.work.drain(..).filter_map(|output| match output {
            Output::Complete { request, result } => Some((request, result)),
            _ => None,
        });
        completed.collect()
    }
}

#[test]
fn an_access_epoch_ends_with_an_error_when_its_other_targets_are_done() {
    let mut rank = Survivor::new();
    rank.call(Call::Start(&[DEAD, ALIVE]));
    let (to_dead, to_alive) = (rank.put(DEAD), rank.put(ALIVE));
    let closed = rank.close(Call::Complete);
    rank.event(Event::Died(DEAD));
    assert_eq!(rank.results(), [(to_dead, FAILED)]);
    rank.event(Event::Granted { from: ALIVE, word: GrantWord::Exposures, value: 1 });
    let issued = rank.work.iter().find_map(|output| match output {
        Output::Issue { operation, .. } => Some(*operation),
        _ => None,
    });
    rank.event(Event::Complete(issued.expect("it is granted")));
    assert_eq!(rank.results(), [(to_alive, Ok(())), (closed, FAILED)]);
}

#[test]
fn an_exposure_and_a_fence_do_not_wait_for_the_dead() {
    let mut rank = Survivor::new();
    rank.call(Call::Post(&[DEAD]));
    let closed = rank.close(Call::Wait);
    rank.event(Event::Died(DEAD));
    assert_eq!(rank.results(), [(closed, FAILED)]);
    rank.call(Call::Post(&[DEAD]));
    let closed = rank.close(Call::Wait);
    assert_eq!(rank.results(), [(closed, FAILED)], "also what is opened later");
    rank.call(Call::Fence);
    let fence = rank.close(Call::Fence);
    for peer in [RankId(0), ALIVE] {
        rank.event(Event::Granted { from: peer, word: GrantWord::Exposures, value: 1 });
        rank.event(Event::Packet { from: peer, packet: Packet::Done { access: 1 } });
    }
    assert_eq!(rank.results(), [(fence, FAILED)]);
}

#[test]
fn deferred_epochs_and_flushes_end_with_an_error() {
    let mut rank = Survivor::new();
    rank.call(Call::Lock { target: ALIVE, mode: Mode::Shared });
    rank.close(Call::Unlock(ALIVE));
    rank.call(Call::Lock { target: DEAD, mode: Mode::Shared });
    assert_eq!(rank.window.deferred(), 1);
    let put = rank.put(DEAD);
    let flush = rank.close(Call::FlushWithRequest(Flush { target: Some(DEAD), is_local: false }));
    let Returned::Flush(point) = rank.call(Call::Flush(Flush { target: None, is_local: false })) else {
        panic!("a blocking flush has no request")
    };
    assert_eq!(rank.window.is_flushed(point), Ok(false));
    rank.event(Event::Died(DEAD));
    assert_eq!(rank.results(), [(put, FAILED), (flush, FAILED)]);
    assert_eq!(rank.window.is_flushed(point), FAILED.map(|()| true));
    let put = rank.put(DEAD);
    assert_eq!(rank.results(), [(put, FAILED)]);
    let closed = rank.close(Call::Unlock(DEAD));
    rank.event(Event::Granted { from: ALIVE, word: GrantWord::Locks, value: 1 });
    assert_eq!(rank.results().last(), Some(&(closed, FAILED)));
    assert!(rank.window.is_quiet());
}

#[test]
fn a_lock_that_the_dead_hold_is_reported_and_stays_held() {
    let mut rank = Survivor::new();
    let request = |from, mode| Event::Packet { from, packet: Packet::LockRequest { mode, access: 1 } };
    rank.event(request(DEAD, Mode::Exclusive));
    rank.event(request(ALIVE, Mode::Exclusive));
    rank.work.clear();
    rank.event(Event::Died(DEAD));
    let report = Report::HolderDied { origin: DEAD, mode: Mode::Exclusive };
    assert_eq!(rank.work, [Output::Report(report)], "the next one does not get it");
    rank.event(Event::Died(DEAD));
    assert_eq!(rank.work.len(), 1, "once");
    // Late packets of the dead are not heard.
    rank.event(Event::Packet { from: DEAD, packet: Packet::LockRelease { access: 1 } });
    assert_eq!(rank.window.lock().dead_holders().count(), 1);
}

#[test]
fn a_waiting_request_of_the_dead_goes() {
    let mut rank = Survivor::new();
    let request = |from, mode| Event::Packet { from, packet: Packet::LockRequest { mode, access: 1 } };
    rank.event(request(RankId(0), Mode::Shared));
    rank.event(request(DEAD, Mode::Exclusive));
    rank.event(request(ALIVE, Mode::Shared));
    rank.work.clear();
    rank.event(Event::Died(DEAD));
    assert_eq!(rank.work, [Output::Store { to: ALIVE, word: GrantWord::Locks, value: 1 }]);
}

//! Windows of a rank: their requests are requests of the rank, and what they ask for names the window.

use carrousel_rank::epoch::{
    Blocks, Call, Event, Flags, Flush, GrantWord, Mode, OperationId, Packet, Transfer, TransferKind,
};
use carrousel_rank::{
    Called, Event as RankEvent, Failure, Handle, Job, Mirror, Options, Rank, RankId, UsageError, WindowError,
    WindowIndex, WindowWork, Work,
};

const ME: RankId = RankId(0);
const PEER: RankId = RankId(1);

/// A rank of two, with as many windows.
fn rank(windows: usize) -> Rank<Mirror> {
    let mut rank = Rank::new(ME, &Job { ranks: 2 }, &Options::default());
    for number in 0..windows {
        assert_eq!(rank.create_window(Flags::default()), WindowIndex(number as u32));
    }
    rank
}

fn put(target: RankId) -> Call<'static> {
    let transfer = Transfer { target, kind: TransferKind::Put, place: Blocks::contiguous(0, 8), local: 7 };
    Call::Transfer { transfer, with_request: false }
}

/// What the rank asks for in a call.
fn asked(rank: &mut Rank<Mirror>, window: u32, call: Call<'_>) -> (Called, Vec<Work>) {
    let mut work = Vec::new();
    let called = rank.call_window(WindowIndex(window), call, &mut work).expect("the call is right");
    (called, work)
}

fn told(rank: &mut Rank<Mirror>, window: u32, event: Event) -> Vec<Work> {
    let mut work = Vec::new();
    rank.event_window(WindowIndex(window), event, &mut work).expect("it can be");
    work
}

fn operation(work: &[Work]) -> OperationId {
    work.iter()
        .find_map(|work| match work {
            Work::Window { work: WindowWork::Transfer { operation, .. }, .. } => Some(*operation),
            _ => None,
        })
        .expect("a transfer begins")
}

/// Locks the peer's memory, puts, and closes the epoch; the operation and the request of the close.
fn lock_put_unlock(rank: &mut Rank<Mirror>) -> (OperationId, Handle) {
    let lock = Call::Lock { target: PEER, mode: Mode::Exclusive };
    let (called, work) = asked(rank, 1, lock);
    assert_eq!(called, Called::Done, "its request would be complete at birth");
    let Work::Window { window: WindowIndex(1), work: WindowWork::Post { to: PEER, packet, .. } } = work[0]
    else {
        panic!("{work:?}")
    };
    assert_eq!(packet, Packet::LockRequest { mode: Mode::Exclusive, access: 1 });
    assert_eq!(asked(rank, 1, put(PEER)).1, [], "the lock is not granted");
    let (Called::Request(close), _) = asked(rank, 1, Call::Unlock(PEER)) else {
        panic!("a close has a request")
    };
    assert_eq!(rank.status(close), Ok(None));
    let work = told(rank, 1, Event::Granted { from: PEER, word: GrantWord::Locks, value: 1 });
    (operation(&work), close)
}

#[test]
fn the_request_of_a_close_is_one_of_the_rank() {
    let mut rank = rank(2);
    let (put, close) = lock_put_unlock(&mut rank);
    let work = told(&mut rank, 1, Event::Complete(put));
    assert!(matches!(work[..], [Work::Complete { request, .. }] if request == close), "{work:?}");
    assert!(rank.is_complete(close));
    let status = rank.release(close).expect("it is open").expect("it is complete");
    assert_eq!(status.failure, None);
    assert_eq!(rank.release(close), Err(UsageError::NoSuchRequest(close)));
}

#[test]
fn a_request_that_is_complete_at_birth_completes_behind_its_call() {
    let mut rank = rank(1);
    asked(&mut rank, 0, Call::LockAll);
    let flush = Flush { target: None, is_local: false };
    let (called, work) = asked(&mut rank, 0, Call::FlushWithRequest(flush));
    let Called::Request(request) = called else { panic!("{called:?}") };
    assert!(
        matches!(work[..], [Work::Complete { request: complete, .. }] if complete == request),
        "{work:?}"
    );
    let (Called::Flush(point), _) = asked(&mut rank, 0, Call::Flush(flush)) else {
        panic!("it has no request")
    };
    assert_eq!(rank.is_flushed(WindowIndex(0), point), Ok(true));
}

#[test]
fn a_lost_peer_ends_the_epochs_that_need_it() {
    let mut rank = rank(2);
    let (_, close) = lock_put_unlock(&mut rank);
    let mut work = Vec::new();
    rank.event(RankEvent::Lost(PEER), &mut work).expect("a peer may be lost");
    let status = rank.release(close).expect("it is open").expect("it has ended");
    assert_eq!(status.failure, Some(Failure::PeerLost(PEER)));
}

#[test]
fn a_window_that_does_not_exist_and_a_call_out_of_place_change_nothing() {
    let mut rank = rank(1);
    let before = rank.clone();
    let (nowhere, mut work) = (WindowIndex(1), Vec::new());
    assert_eq!(rank.call_window(nowhere, Call::Fence, &mut work), Err(UsageError::NoSuchWindow(nowhere)));
    let event = Event::Granted { from: PEER, word: GrantWord::Locks, value: 1 };
    assert_eq!(rank.event_window(nowhere, event, &mut work), Err(WindowError::NoSuchWindow(nowhere)));
    assert!(matches!(rank.event_window(WindowIndex(0), event, &mut work), Err(WindowError::Event(_))));
    assert!(matches!(rank.call_window(WindowIndex(0), put(PEER), &mut work), Err(UsageError::Window(_))));
    assert_eq!((work, rank), (Vec::new(), before));
}

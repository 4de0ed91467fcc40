//! Calls of the two ends that are illegal, by the tables of `SendSide` and `ReceiveSide`, are refused in debug builds.
#![cfg(debug_assertions)]

use carrousel_matching::{Handle, Tag};
use carrousel_rendezvous::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

const SEND: Handle = Handle { index: 3, generation: 0 };
const TAG: Tag = Tag(5);

fn is_refused(call: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// What the request of a message is doing: the columns of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    NotUnderWay,
    Offered,
    Written,
}

fn rendezvous<S: SendSide>(sender: &mut S) -> Route {
    sender.rendezvous(&Outgoing { tag: TAG, len: 8, send: SEND }, Adaptation::Fixed, || true)
}

/// A sending end with such a message.
fn sender<P: Protocol>(message: Message) -> P::Sender {
    let mut sender = P::Sender::default();
    if message == Message::Written {
        let (receive, memory) = (Handle { index: 0, generation: 0 }, Memory { address: 0, key: 0 });
        let tag = carrousel_matching::TagSelector::exact(TAG);
        let rtr = Rtr { tag, seen: 0, ahead: 0, receive, len: 8, memory };
        assert_eq!(sender.rtr(&rtr, Adaptation::Fixed), Ok(()));
        assert!(matches!(rendezvous(&mut sender), Route::Write(_)));
    } else if message == Message::Offered {
        assert!(matches!(rendezvous(&mut sender), Route::Rts(_)));
    }
    sender
}

/// The table, row by row: in which columns a call is legal.
fn sending<P: Protocol>() {
    let legal = |call: fn(&mut P::Sender), columns: &[Message]| {
        for message in [Message::NotUnderWay, Message::Offered, Message::Written] {
            let mut sender = sender::<P>(message);
            assert_eq!(is_refused(|| call(&mut sender)), !columns.contains(&message), "{message:?}");
        }
    };
    legal(|sender| sender.eager(TAG, SEND), &[Message::NotUnderWay]);
    legal(
        |sender| {
            rendezvous(sender);
        },
        &[Message::NotUnderWay],
    );
    legal(|sender| sender.answered(SEND), &[Message::Offered]);
    legal(|sender| sender.finished(SEND), &[Message::Offered, Message::Written]);
    let twice = |sender: &mut P::Sender| (0..2).for_each(|_| sender.finished(SEND));
    assert!(is_refused(|| twice(&mut sender::<P>(Message::Offered))));
}

fn receiving<P: Protocol>() {
    let legal = |call: fn(&mut P::Receiver), columns: [bool; 2]| {
        for (announced, is_legal) in [0, 1].into_iter().zip(columns) {
            let mut receiver = P::Receiver::default();
            (0..announced).for_each(|_| receiver.announced(1));
            assert_eq!(is_refused(|| call(&mut receiver)), !is_legal, "{announced} announced");
        }
    };
    let unused = Matched { tag: TAG, fate: Fate::Dropped, announced: false, exempt: false };
    let taken = Matched { announced: true, ..unused };
    assert!(!is_refused(|| {
        P::Receiver::default().matched(&unused);
    }));
    legal(|receiver| receiver.announced(1), [true, true]);
    legal(|receiver| receiver.announced(0), [false, false]);
    legal(|receiver| receiver.withdrawn(), [false, true]);
    for (announced, matched, is_legal) in [
        (false, taken, false),
        (true, taken, true),
        (true, unused, true),
        (true, Matched { fate: Fate::Used, ..taken }, true),
        (true, Matched { fate: Fate::Used, ..unused }, false),
    ] {
        let mut receiver = P::Receiver::default();
        if announced {
            receiver.announced(1);
        }
        assert_eq!(
            is_refused(|| {
                receiver.matched(&matched);
            }),
            !is_legal,
            "{matched:?}"
        );
    }
}

#[test]
fn a_mirror_sender_refuses_illegal_calls() {
    sending::<Mirror>();
}

#[test]
fn a_published_sender_refuses_illegal_calls() {
    sending::<Published>();
}

#[test]
fn a_mirror_receiver_refuses_illegal_calls() {
    receiving::<Mirror>();
}

#[test]
fn a_published_receiver_refuses_illegal_calls() {
    receiving::<Published>();
}

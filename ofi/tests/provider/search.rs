//! Searches for messages that have arrived, claims, and cancellations (fi_tagged(3), fi_endpoint(3)).

use crate::host::{ANY, EAGAIN, pair};
use carrousel_ofi::bindings as b;

const PEEK: u64 = b::FI_PEEK as u64;
const CLAIM: u64 = b::FI_CLAIM;
const DISCARD: u64 = b::FI_DISCARD;

#[test]
fn a_search_tells_what_has_arrived_and_leaves_it() {
    let (domain, one, two) = pair();
    assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, PEEK), 0);
    let failure = two.wait_error(&[]);
    assert_eq!((failure.context, failure.error), (4, b::FI_ENOMSG));
    for len in [3, 1 << 20] {
        let sent = vec![7; len];
        assert_eq!(one.tsendmsg(&sent, 1, 6, u64::from(b::FI_REMOTE_CQ_DATA | b::FI_COMPLETION)), 0);
        for _ in 0..2 {
            assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, PEEK), 0);
            let found = two.wait(&[]);
            assert_eq!((found.context, found.len, found.tag), (4, len, 1));
            assert_eq!((found.data, found.source), (99, 0));
            assert!(found.has(b::FI_RECV | b::FI_TAGGED | b::FI_REMOTE_CQ_DATA));
        }
        let mut got = vec![0; len];
        assert_eq!(two.trecv(&mut got, ANY, (1, 0), 5), 0);
        assert_eq!((two.wait(&[one]).len, got == sent, one.wait(&[two]).context), (len, true, 6));
    }
    domain.close([one, two]);
}

#[test]
fn a_claimed_message_is_received_by_who_has_claimed_it() {
    let (domain, one, two) = pair();
    for len in [3, 1 << 20] {
        let sent = [vec![1; len], vec![2; len]];
        sent.iter().for_each(|sent| assert_eq!(one.tsend(sent, 0, 1, 6), 0));
        assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, PEEK | CLAIM), 0);
        assert_eq!((two.wait(&[]).context, two.read().err()), (4, Some(EAGAIN)));
        // The other message is for other receives.
        let mut got = [vec![0; len], vec![0; len]];
        let [first, second] = &mut got;
        assert_eq!(two.trecv(second, ANY, (1, 0), 5), 0);
        assert_eq!(two.wait(&[one]).context, 5);
        assert_eq!(two.trecvmsg(first, (1, 0), 3, CLAIM), -(b::FI_ENOMSG as isize), "of another context");
        assert_eq!(two.trecvmsg(first, (1, 0), 4, CLAIM), 0);
        assert_eq!((two.wait(&[one]).len, got == sent), (len, true));
        assert_eq!((one.wait(&[two]).context, one.wait(&[two]).context), (6, 6));
    }
    domain.close([one, two]);
}

#[test]
fn a_discarded_message_is_gone() {
    let (domain, one, two) = pair();
    for len in [3, 1 << 20] {
        let sent = vec![1; len];
        (0..2).for_each(|_| assert_eq!(one.tsend(&sent, 0, 1, 6), 0));
        assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, PEEK | DISCARD), 0);
        assert_eq!((two.wait(&[]).len, one.wait(&[two]).context), (len, 6));
        assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, PEEK | CLAIM), 0);
        assert_eq!(two.wait(&[]).len, len);
        assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, CLAIM | DISCARD), 0);
        assert_eq!((two.wait(&[]).context, one.wait(&[two]).context), (4, 6));
        assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, PEEK), 0);
        assert_eq!(two.wait_error(&[]).error, b::FI_ENOMSG);
    }
    domain.close([one, two]);
}

#[test]
fn every_cancelled_receive_says_so() {
    let (domain, one, two) = pair();
    let mut rooms = vec![[0; 4]; 100];
    for (at, room) in rooms.iter_mut().enumerate() {
        assert_eq!(two.trecv(room, ANY, (at as u64, 0), at + 1), 0);
    }
    assert_eq!(one.tsend(b"come", 0, 50, 0), 0);
    assert_eq!(two.wait(&[one]).context, 51);
    for at in 0..rooms.len() {
        let expected = if at == 50 { -(b::FI_ENOENT as isize) } else { 0 };
        assert_eq!(two.cancel(at + 1), expected);
    }
    let mut cancelled: Vec<_> = (1..rooms.len()).map(|_| two.wait_error(&[])).collect();
    cancelled.sort_unstable_by_key(|failure| failure.context);
    assert!(cancelled.iter().all(|failure| failure.error == b::FI_ECANCELED));
    let contexts: Vec<_> = cancelled.iter().map(|failure| failure.context).collect();
    assert_eq!(contexts, (1..=rooms.len()).filter(|context| *context != 51).collect::<Vec<_>>());
    domain.close([one, two]);
}

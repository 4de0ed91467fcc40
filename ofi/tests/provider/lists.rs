//! Operations on several buffers at once (`iov_limit`).

use crate::host::{ANY, End, Failure, call, close, pair};
use carrousel_ofi::bindings as b;
use std::ffi::c_void;

const TAG: u64 = 7;
/// On both sides of what goes at once, and of what fits a packet.
const SIZES: [usize; 3] = [100, 9000, 1 << 20];
const FEW: std::ops::Range<usize> = 0..4;

/// Buffers of different lengths, one of them empty, that have so many bytes together.
fn parts(bytes: &mut [u8]) -> Vec<b::iovec> {
    let (first, rest) = bytes.split_at_mut(bytes.len() / 7);
    let (second, third) = rest.split_at_mut(13);
    let iovec = |part: &mut [u8]| b::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() };
    [first, &mut [], second, third].map(iovec).into()
}

/// Bytes of which no two parts look alike.
fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

fn context(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

fn tsendv(end: &End, bytes: &mut [u8], number: usize) -> isize {
    let (list, null) = (parts(bytes), std::ptr::null_mut());
    call!(end.ep, tagged.sendv(list.as_ptr(), null, list.len(), 0, TAG, context(number)))
}

fn trecvv(end: &End, room: &mut [u8], number: usize) -> isize {
    let (list, null) = (parts(room), std::ptr::null_mut());
    call!(end.ep, tagged.recvv(list.as_ptr(), null, list.len(), ANY, TAG, 0, context(number)))
}

#[test]
fn messages_are_gathered_and_scattered() {
    let (domain, one, two) = pair();
    for (round, len) in SIZES.into_iter().enumerate() {
        // Early receives and late ones; several buffers at either end, or at both.
        let (mut sent, mut got) = (sample(len), [vec![0; len], vec![0; len]]);
        let original = sent.clone();
        let [first, second] = &mut got;
        assert_eq!(trecvv(&two, first, 1), 0);
        assert_eq!((tsendv(&one, &mut sent, 3), one.tsend(&original, 0, TAG, 4)), (0, 0));
        // What is sent at once is the host's again: it was copied.
        assert_eq!(trecvv(&two, second, 2), 0);
        for number in [1, 2] {
            let done = two.wait(&[one]);
            assert_eq!((done.context, done.len, done.tag), (number, len, TAG), "round {round}");
        }
        assert!(got.iter().all(|got| *got == original), "{len} bytes");
        let mut contexts = [one.wait(&[two]).context, one.wait(&[two]).context];
        contexts.sort_unstable();
        assert_eq!(contexts, [3, 4]);
    }
    // A list that is too short gets what fits.
    let (mut sent, mut got) = (sample(100), vec![0; 90]);
    assert_eq!((trecvv(&two, &mut got, 1), tsendv(&one, &mut sent, 2)), (0, 0));
    let Failure { context, error, overflow, .. } = two.wait_error(&[one]);
    assert_eq!((context, error, overflow, &got[..]), (1, b::FI_ETRUNC, 10, &sent[..90]));
    one.wait(&[two]);
    domain.close([one, two]);
}

#[test]
fn lists_that_are_too_long_are_refused_and_searches_have_none() {
    let (domain, one, two) = pair();
    let mut bytes = sample(100);
    let list = [parts(&mut bytes), parts(&mut [0; 50])].concat();
    let (null, number) = (std::ptr::null_mut(), context(5));
    let invalid = -(b::FI_EINVAL as isize);
    assert_eq!(call!(one.ep, tagged.sendv(list.as_ptr(), null, 5, 0, TAG, number)), invalid);
    assert_eq!(call!(one.ep, tagged.recvv(list.as_ptr(), null, 5, ANY, TAG, 0, number)), invalid);
    assert_eq!(call!(one.ep, msg.sendv(list.as_ptr(), null, 5, 0, number)), invalid);
    assert_eq!(call!(one.ep, msg.recvv(list.as_ptr(), null, 5, ANY, number)), invalid);
    assert_eq!(call!(one.ep, rma.writev(list.as_ptr(), null, 5, 0, 0, 0, number)), invalid);
    // A buffer for many messages is one.
    let msg =
        b::fi_msg { msg_iov: list.as_ptr(), desc: null, iov_count: 4, addr: ANY, context: number, data: 0 };
    assert_eq!(call!(two.ep, msg.recvmsg(&msg, u64::from(b::FI_MULTI_RECV))), invalid);
    // A message is claimed, then received into several buffers.
    assert_eq!(one.tsend(&sample(100), 0, TAG, 1), 0);
    one.wait(&[two]);
    let mut got = vec![0; 100];
    let claim = u64::from(b::FI_PEEK) | b::FI_CLAIM;
    while two.trecvmsg(&mut [], (TAG, 0), 5, claim) == 0 && two.wait_either().is_err() {}
    let list = parts(&mut got);
    let msg = b::fi_msg_tagged {
        msg_iov: list.as_ptr(),
        desc: null,
        iov_count: list.len(),
        addr: ANY,
        tag: TAG,
        ignore: 0,
        context: number,
        data: 0,
    };
    assert_eq!(call!(two.ep, tagged.recvmsg(&msg, b::FI_CLAIM)), 0);
    assert_eq!((two.wait(&[one]).context, got == sample(100)), (5, true));
    domain.close([one, two]);
}

#[test]
fn a_receive_into_several_buffers_waits_behind_one_for_many() {
    let (domain, one, two) = pair();
    let (mut buffer, mut got, null) = ([0; 128], [sample(200), sample(200)], std::ptr::null_mut());
    assert_eq!(two.recv_many(&mut buffer, 1), 0);
    for (room, number) in got.iter_mut().zip(2..) {
        let list = parts(room);
        assert_eq!(call!(two.ep, msg.recvv(list.as_ptr(), null, list.len(), ANY, context(number))), 0);
    }
    // The second of them is cancelled before the engine has it.
    assert_eq!(two.cancel(3), 0);
    assert_eq!(two.wait_error(&[one]).context, 3);
    assert_eq!(one.send(&[9; 100], 0, 9), 0);
    assert_eq!(two.wait(&[one]).context, 1);
    let mut sent = sample(200);
    sent.reverse();
    let list = parts(&mut sent);
    assert_eq!(call!(one.ep, msg.sendv(list.as_ptr(), null, list.len(), 0, context(8))), 0);
    let done = two.wait(&[one]);
    assert_eq!((done.context, done.len, got[0] == sent), (2, 200, true));
    domain.close([one, two]);
}

#[test]
fn memory_of_a_peer_is_written_and_read_by_lists() {
    let (domain, one, two) = pair();
    for len in SIZES {
        let (mut sent, mut memory, mut got) = (sample(len), vec![0; len], vec![0; len]);
        let start = memory.as_ptr().addr() as u64;
        let (mr, key) = End::register(&domain, &mut memory, b::FI_REMOTE_READ | b::FI_REMOTE_WRITE, 0);
        let (list, null) = (parts(&mut sent), std::ptr::null_mut());
        assert_eq!(call!(one.ep, rma.writev(list.as_ptr(), null, list.len(), 0, start, key, context(1))), 0);
        assert_eq!((one.wait(&[two]).context, memory == sent), (1, true), "{len} bytes");
        let list = parts(&mut got);
        assert_eq!(call!(one.ep, rma.readv(list.as_ptr(), null, list.len(), 0, start, key, context(2))), 0);
        assert_eq!((one.wait(&[two]).context, got == sent, close(mr)), (2, true, 0), "{len} bytes");
    }
    domain.close([one, two]);
}

#[test]
fn operands_and_results_of_atomics_are_lists() {
    let (domain, one, two) = pair();
    let mut memory: Vec<u8> = FEW.flat_map(|value| (value as u64 * 10).to_ne_bytes()).collect();
    let start = memory.as_ptr().addr() as u64;
    let (mr, key) = End::register(&domain, &mut memory, b::FI_REMOTE_READ | b::FI_REMOTE_WRITE, 0);
    let (mut operands, mut old, null) = ([1u64, 2, 3, 4], [0u64; 4], std::ptr::null_mut());
    // Three and one, and one and three.
    let list = |values: &mut [u64; 4], first: usize| {
        let (one, two) = values.split_at_mut(first);
        [one, two].map(|part| b::fi_ioc { addr: part.as_mut_ptr().cast(), count: part.len() })
    };
    let (operand, mut result) = (list(&mut operands, 3), list(&mut old, 1));
    let (u64s, sum) = (b::FI_UINT64, b::FI_SUM);
    let fetched = call!(
        one.ep,
        atomic.readwritev(
            operand.as_ptr(),
            null,
            2,
            result.as_mut_ptr(),
            null,
            2,
            0,
            start,
            key,
            u64s,
            sum,
            null.cast()
        )
    );
    assert_eq!(fetched, 0);
    one.wait(&[two]);
    let values = |bytes: &[u8]| {
        FEW.map(|at| u64::from_ne_bytes(bytes[8 * at..][..8].try_into().expect("8"))).collect::<Vec<_>>()
    };
    assert_eq!((old, values(&memory)), ([0, 10, 20, 30], vec![1, 12, 23, 34]));
    // Lists of different lengths.
    let differs = call!(
        one.ep,
        atomic.readwritev(
            operand.as_ptr(),
            null,
            2,
            result.as_mut_ptr(),
            null,
            1,
            0,
            start,
            key,
            u64s,
            sum,
            null.cast()
        )
    );
    assert_eq!((differs, close(mr)), (-(b::FI_EINVAL as isize), 0));
    domain.close([one, two]);
}

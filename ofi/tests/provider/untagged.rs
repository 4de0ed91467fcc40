//! Messages without tags (fi_msg(3)), and buffers for many of them.

use crate::host::{ANY, EAGAIN, Failure, Hints, Opened, pair};
use carrousel_ofi::bindings as b;

/// Sets how much room the next message of a buffer has at least.
fn set_least_room(end: &crate::host::End, bytes: usize) {
    // SAFETY: the endpoint is open, and the value is of this length.
    let result = unsafe {
        let setopt = (*(*end.ep).ops).setopt.expect("it has options");
        let (level, name) = (b::FI_OPT_ENDPOINT as i32, b::FI_OPT_MIN_MULTI_RECV as i32);
        setopt(end.ep.cast(), level, name, (&raw const bytes).cast(), size_of::<usize>())
    };
    assert_eq!(result, 0);
}

#[test]
fn messages_with_and_without_tags_do_not_meet() {
    let (domain, one, two) = pair();
    for len in [5, 1 << 20] {
        let (tagged, plain) = (vec![1; len], vec![2; len]);
        assert_eq!((one.tsend(&tagged, 0, 0, 1), one.send(&plain, 0, 2)), (0, 0));
        let (mut first, mut second) = (vec![0; len], vec![0; len]);
        assert_eq!(two.recv(&mut first, ANY, 3), 0);
        let got = two.wait(&[one]);
        assert!(got.context == 3 && got.has(b::FI_RECV | b::FI_MSG) && !got.has(b::FI_TAGGED));
        assert_eq!(two.trecv(&mut second, ANY, (0, u64::MAX), 4), 0);
        assert_eq!((two.wait(&[one]).context, first == plain, second == tagged), (4, true, true));
        let _ = (one.wait(&[two]), one.wait(&[two]));
    }
    domain.close([one, two]);
}

#[test]
fn a_buffer_takes_messages_until_it_is_used_up() {
    let (domain, one, two) = pair();
    set_least_room(&two, 64);
    let (mut buffer, mut other) = (vec![0u8; 1024], vec![0u8; 1024]);
    assert_eq!((two.recv_many(&mut buffer, 1), two.recv_many(&mut other, 2)), (0, 0));
    let lens = [100, 0, 1, 500, 200, 150, 300, 3];
    let sent: Vec<_> = lens.iter().zip(1u8..).map(|(len, byte)| vec![byte; *len]).collect();
    for sent in &sent {
        assert_eq!(one.send(sent, 0, 9), 0);
    }
    let mut released = Vec::new();
    for (at, sent) in sent.iter().enumerate() {
        let got = two.wait(&[one]);
        assert!(got.has(b::FI_RECV | b::FI_MSG), "message {at}");
        assert_eq!(got.len, sent.len());
        // SAFETY: the provider says that the message is there.
        let bytes = unsafe { std::slice::from_raw_parts(got.buffer as *const u8, got.len) };
        assert_eq!(bytes, sent);
        let range = if got.context == 1 { buffer.as_ptr_range() } else { other.as_ptr_range() };
        assert!(got.buffer >= range.start.addr() && got.buffer + got.len <= range.end.addr());
        if got.has(b::FI_MULTI_RECV) {
            released.push((at, got.context));
        }
    }
    // What is left of the first buffer is less than 64 bytes behind the sixth message.
    assert_eq!(released, [(5, 1)]);
    domain.close([one, two]);
}

/// As libfabric's providers tcp, shm and efa: what is left is enough for what the host has said (`FI_OPT_MIN_MULTI_RECV`), so
/// a larger message ends the buffer with an error, and the next one goes into the next buffer.
#[test]
fn a_message_larger_than_what_is_left_of_a_buffer_ends_it() {
    let (domain, one, two) = pair();
    set_least_room(&two, 64);
    let (mut buffer, mut other) = (vec![0u8; 256], vec![0u8; 1024]);
    assert_eq!((two.recv_many(&mut buffer, 1), two.recv_many(&mut other, 2)), (0, 0));
    for len in [100, 200, 300] {
        assert_eq!(one.send(&vec![len as u8; len], 0, 9), 0);
    }
    let first = two.wait(&[one]);
    assert!((first.context, first.len) == (1, 100) && !first.has(b::FI_MULTI_RECV));
    let Failure { context, error, flags, overflow, .. } = two.wait_error(&[one]);
    // The next message begins at a multiple of 16 bytes.
    assert_eq!((context, error, overflow), (1, b::FI_ETRUNC, 200 - (256 - 112)));
    assert_ne!(flags & u64::from(b::FI_MULTI_RECV), 0, "the buffer is the host's again");
    let third = two.wait(&[one]);
    assert_eq!((third.context, third.len, third.buffer), (2, 300, other.as_ptr().addr()));
    assert_eq!(other[..300], [300u64 as u8; 300]);
    domain.close([one, two]);
}

#[test]
fn a_receive_behind_a_buffer_waits_for_its_end() {
    let (domain, one, two) = pair();
    set_least_room(&two, 100);
    let (mut buffer, mut single) = ([0; 256], [0; 200]);
    assert_eq!((two.recv_many(&mut buffer, 1), two.recv(&mut single, ANY, 2)), (0, 0));
    for (len, context) in [(100, 1), (100, 1), (200, 2)] {
        assert_eq!(one.send(&vec![context; len], 0, 9), 0);
        let got = two.wait(&[one]);
        assert_eq!((got.context, got.len), (usize::from(context), len));
    }
    assert_eq!(single, [2; 200]);
    domain.close([one, two]);
}

#[test]
fn a_buffer_does_not_keep_others_from_receiving() {
    let mut hints = Hints::default();
    hints.info.caps = 0;
    let domain = Opened::new(&hints);
    let (one, two) = domain.pair();
    // A buffer for messages of the endpoint itself, then a receive of a message of the other one.
    let (mut buffer, mut single) = ([0; 256], [0; 3]);
    let iov = b::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let (desc, context) = (std::ptr::null_mut(), std::ptr::without_provenance_mut(1));
    let msg = b::fi_msg { msg_iov: &iov, desc, iov_count: 1, addr: 1, context, data: 0 };
    assert_eq!(crate::host::call!(two.ep, msg.recvmsg(&msg, u64::from(b::FI_MULTI_RECV))), 0);
    assert_eq!((two.recv(&mut single, 0, 2), one.send(b"one", 0, 9)), (0, 0));
    assert_eq!((two.wait(&[one]).context, &single), (2, b"one"));
    domain.close([one, two]);
}

#[test]
fn buffers_and_receives_behind_them_are_cancelled() {
    let (domain, one, two) = pair();
    let (mut buffer, mut other, mut single) = ([0; 256], [0; 256], [0; 4]);
    assert_eq!((two.recv_many(&mut buffer, 1), two.recv_many(&mut other, 2)), (0, 0));
    assert_eq!(two.recv(&mut single, ANY, 3), 0);
    for context in [2, 1, 3] {
        assert_eq!(two.cancel(context), 0);
        let failure = two.wait_error(&[]);
        assert_eq!((failure.context, failure.error), (context, b::FI_ECANCELED));
    }
    assert_eq!(two.read().err(), Some(EAGAIN));
    assert_eq!((two.recv(&mut single, ANY, 4), one.send(b"next", 0, 9)), (0, 0));
    assert_eq!((two.wait(&[one]).context, &single), (4, b"next"));
    domain.close([one, two]);
}

#[test]
fn a_buffer_without_room_is_refused() {
    let (domain, one, two) = pair();
    set_least_room(&two, 4096);
    assert_eq!(two.recv_many(&mut [0; 1024], 1), -(b::FI_ETOOSMALL as isize));
    domain.close([one, two]);
}

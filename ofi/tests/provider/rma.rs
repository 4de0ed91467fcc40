//! Reads and writes of a peer's memory (fi_rma(3)).

use crate::host::{EAGAIN, End, Hints, Opened, call, close, pair};
use carrousel_ofi::bindings as b;
use std::ffi::c_void;

/// On both sides of what fits a packet.
const SIZES: [usize; 4] = [0, 8, 8200, 1 << 20];
const ALL: u32 = b::FI_REMOTE_READ | b::FI_REMOTE_WRITE;

fn write(end: &End, bytes: &[u8], address: u64, key: u64, context: usize) -> isize {
    let (data, null) = (bytes.as_ptr().cast(), std::ptr::null_mut());
    call!(end.ep, rma.write(data, bytes.len(), null, 0, address, key, context as *mut c_void))
}

fn read(end: &End, room: &mut [u8], address: u64, key: u64, context: usize) -> isize {
    let (data, null) = (room.as_mut_ptr().cast(), std::ptr::null_mut());
    call!(end.ep, rma.read(data, room.len(), null, 0, address, key, context as *mut c_void))
}

#[test]
fn what_is_written_is_there_and_is_read_back() {
    let (domain, one, two) = pair();
    for len in SIZES {
        let sent: Vec<u8> = (0..len).map(|at| at as u8 ^ 0x5a).collect();
        let mut memory = vec![0; len + 16];
        let start = memory.as_ptr().addr() as u64;
        let (mr, key) = End::register(&domain, &mut memory, ALL, 0);
        assert_eq!(write(&one, &sent, start + 16, key, 1), 0);
        let done = one.wait(&[two]);
        assert!(done.context == 1 && done.has(b::FI_RMA | b::FI_WRITE));
        assert_eq!((&memory[..16], memory[16..] == sent), (&[0; 16][..], true), "{len} bytes");
        let mut got = vec![0; len];
        assert_eq!(read(&one, &mut got, start + 16, key, 2), 0);
        let done = one.wait(&[two]);
        assert!(done.context == 2 && done.has(b::FI_RMA | b::FI_READ) && got == sent);
        assert_eq!(two.read().err(), Some(EAGAIN), "the target is told nothing");
        assert_eq!(close(mr), 0);
    }
    domain.close([one, two]);
}

#[test]
fn data_for_the_target_is_told_there() {
    let (domain, one, two) = pair();
    let mut memory = vec![0; 1 << 16];
    let start = memory.as_ptr().addr() as u64;
    let (mr, key) = End::register(&domain, &mut memory, ALL, 0);
    let null = std::ptr::null_mut();
    for (len, data) in [(4, 7), (1 << 16, 8)] {
        let sent = vec![3u8; len];
        let result = call!(one.ep, rma.writedata(sent.as_ptr().cast(), len, null, data, 0, start, key, null));
        assert_eq!(result, 0);
        let told = two.wait(&[one]);
        assert!(told.has(b::FI_RMA | b::FI_REMOTE_WRITE | b::FI_REMOTE_CQ_DATA));
        assert_eq!((told.data, told.source, told.len), (data, 0, len));
        one.wait(&[two]);
    }
    assert_eq!(call!(one.ep, rma.inject([9u8].as_ptr().cast(), 1, 0, start, key)), 0);
    while std::hint::black_box(&memory)[0] != 9 {
        two.progress();
    }
    (0..100).for_each(|_| assert_eq!(one.read().err(), Some(EAGAIN)));
    assert_eq!(close(mr), 0);
    domain.close([one, two]);
}

#[test]
fn memory_is_reached_with_its_key_only() {
    let (domain, one, two) = pair();
    let mut memory = vec![0; 1 << 16];
    let start = memory.as_ptr().addr() as u64;
    let (open, key) = End::register(&domain, &mut memory, ALL, 0);
    let (only_read, read_key) = End::register(&domain, &mut memory, b::FI_REMOTE_READ, 0);
    for len in [16, 1 << 16] {
        let sent = vec![1; len];
        for (what, address, key, error) in [
            ("no key", start, key + 100, b::FI_ENOKEY),
            ("beyond the end", start + 1, key, b::FI_EACCES),
            ("before the beginning", start - 1, key, b::FI_EACCES),
            ("wraps around", u64::MAX, key, b::FI_EACCES),
            ("no permission", start, read_key, b::FI_EACCES),
        ] {
            let address = if what == "beyond the end" { start + (1 << 16) - len as u64 + 1 } else { address };
            assert_eq!(write(&one, &sent, address, key, 1), 0);
            let failure = one.wait_error(&[two]);
            assert_eq!((failure.context, failure.error), (1, error), "write {what}, {len} bytes");
            if key != read_key {
                assert_eq!(read(&one, &mut vec![0; len], address, key, 2), 0);
                let failure = one.wait_error(&[two]);
                assert_eq!((failure.context, failure.error), (2, error), "read {what}, {len} bytes");
            }
        }
    }
    assert!(memory.iter().all(|byte| *byte == 0));
    // All goes on.
    assert_eq!(write(&one, &[5], start, key, 1), 0);
    assert_eq!((one.wait(&[two]).context, memory[0]), (1, 5));
    assert_eq!((close(open), close(only_read)), (0, 0));
    domain.close([one, two]);
}

#[test]
fn hosts_choose_keys_and_name_offsets_if_they_want() {
    let mut hints = Hints::default();
    hints.info.caps = u64::from(b::FI_RMA | b::FI_MSG);
    let domain = Opened::new(&hints);
    let (one, two) = domain.pair();
    let mut memory = [0; 64];
    let (mr, key) = End::register(&domain, &mut memory, ALL, 0xabcd);
    assert_eq!(key, 0xabcd);
    assert_eq!(write(&one, b"here", 60, 0xabcd, 1), 0);
    assert_eq!((one.wait(&[two]).context, &memory[60..]), (1, &b"here"[..]));
    // A key is given once.
    let (mut second, null) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the domain is open.
    let result = unsafe {
        let reg = (*(*domain.domain).mr).reg.expect("it registers");
        reg(domain.domain.cast(), memory.as_ptr().cast(), 8, 0, 0, 0xabcd, 0, &mut second, null)
    };
    assert_eq!((result, close(mr)), (-(b::FI_ENOKEY as i32), 0));
    domain.close([one, two]);
}

#[test]
fn an_operation_behind_a_fence_waits() {
    let (domain, one, two) = pair();
    let mut memory = [0; 64];
    let start = memory.as_ptr().addr() as u64;
    let (mr, key) = End::register(&domain, &mut memory, ALL, 0);
    let iov = b::iovec { iov_base: b"b".as_ptr().cast_mut().cast(), iov_len: 1 };
    let there = b::fi_rma_iov { addr: start, len: 1, key };
    let null = std::ptr::null_mut::<c_void>();
    let msg = b::fi_msg_rma {
        msg_iov: &iov,
        desc: null.cast(),
        iov_count: 1,
        addr: 0,
        rma_iov: &there,
        rma_iov_count: 1,
        context: null,
        data: 0,
    };
    let fenced = u64::from(b::FI_FENCE | b::FI_COMPLETION);
    assert_eq!(write(&one, b"a", start, key, 1), 0);
    assert_eq!(call!(one.ep, rma.writemsg(&msg, fenced)), EAGAIN);
    one.wait(&[two]);
    assert_eq!(call!(one.ep, rma.writemsg(&msg, fenced)), 0);
    one.wait(&[two]);
    assert_eq!((memory[0], close(mr)), (b'b', 0));
    domain.close([one, two]);
}

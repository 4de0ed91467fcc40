//! Objects, what they refuse, and queues that a host fills itself.

use crate::host::{ANY, End, Hints, Opened, VERSION, bind, call, close, control, pair};
use carrousel_ofi::bindings as b;
use std::ffi::c_void;

const BUSY: i32 = -(b::FI_EBUSY as i32);
const INVALID: i32 = -(b::FI_EINVAL as i32);

#[test]
fn what_is_in_use_does_not_close() {
    let (domain, one, two) = pair();
    assert_eq!((close(one.cq), close(one.av)), (BUSY, BUSY));
    assert_eq!((close(domain.domain), close(domain.fabric)), (BUSY, BUSY));
    domain.close([one, two]);
}

#[test]
fn an_endpoint_needs_its_queues_before_it_is_enabled() {
    let domain = Opened::new(&Hints::default());
    let (ep, cq, av) = (domain.bare(), domain.cq(b::FI_CQ_FORMAT_CONTEXT), domain.av());
    let enable = || control(ep, b::FI_ENABLE, std::ptr::null_mut());
    let end = End { ep, cq, av };
    assert_eq!(end.tsend(b"", 0, 0, 0), -(b::FI_EOPBADSTATE as isize));
    assert_eq!(enable(), -(b::FI_ENOAV as i32));
    assert_eq!((bind(ep, av, 0), bind(ep, av, 0)), (0, INVALID));
    assert_eq!(enable(), -(b::FI_ENOCQ as i32));
    assert_eq!(bind(ep, cq, 0), -(b::FI_EBADFLAGS as i32));
    assert_eq!((bind(ep, cq, b::FI_RECV.into()), bind(ep, cq, b::FI_RECV.into())), (0, INVALID));
    assert_eq!((enable(), enable()), (0, 0));
    // Objects of other domains, and of other kinds, are not bound.
    let other = Opened::new(&Hints::default());
    let (bare, foreign) = (domain.bare(), other.cq(b::FI_CQ_FORMAT_DATA));
    assert_eq!(bind(bare, foreign, b::FI_RECV.into()), INVALID);
    assert_eq!(bind(bare, domain.domain, 0), INVALID);
    assert_eq!((close(bare), close(foreign)), (0, 0));
    other.close([]);
    domain.close([end]);
}

#[test]
fn unknown_peers_and_flags_are_refused() {
    let (domain, one, two) = pair();
    assert_eq!(one.tsend(b"", 7, 0, 0), INVALID as isize);
    assert_eq!(one.trecv(&mut [], 7, (0, 0), 0), INVALID as isize);
    let wrong = -(b::FI_EBADFLAGS as isize);
    assert_eq!(one.trecvmsg(&mut [], (0, 0), 0, b::FI_MULTI_RECV.into()), wrong);
    assert_eq!(one.trecvmsg(&mut [], (0, 0), 0, u64::from(b::FI_PEEK) | b::FI_CLAIM | b::FI_DISCARD), wrong);
    assert_eq!(one.tsendmsg(b"", 0, 0, b::FI_PEEK.into()), wrong);
    let null = std::ptr::null_mut::<c_void>();
    assert_eq!(call!(one.ep, collective.barrier(0, null)), -(b::FI_ENOSYS as isize));
    // What was refused has left nothing behind.
    let mut got = [0; 2];
    assert_eq!((two.trecv(&mut got, ANY, (0, 0), 1), one.tsend(b"ok", 0, 0, 2)), (0, 0));
    assert_eq!((two.wait(&[one]).context, &got), (1, b"ok"));
    domain.close([one, two]);
}

#[test]
fn addresses_are_looked_up_and_removed() {
    let (domain, one, two) = pair();
    let name = two.name();
    let (mut room, mut len) = (vec![0; name.len()], name.len());
    assert_eq!(call!(one.av, ops.lookup(0, room.as_mut_ptr().cast(), &mut len)), 0);
    assert_eq!(room, name);
    let mut short = 5;
    assert_eq!(call!(one.av, ops.lookup(0, room.as_mut_ptr().cast(), &mut short)), 0);
    assert_eq!(
        (short, call!(one.av, ops.lookup(9, room.as_mut_ptr().cast(), &mut len))),
        (name.len(), INVALID)
    );
    let mut text = [0u8; 20];
    let mut len = text.len();
    call!(one.av, ops.straddr(name.as_ptr().cast(), text.as_mut_ptr().cast(), &mut len));
    assert!(text.starts_with(b"carrousel shm:") && text[19] == 0 && len > 20, "{len}");
    let mut at = 5;
    let garbage = vec![1u8; name.len()];
    let null = std::ptr::null_mut();
    assert_eq!(call!(one.av, ops.insert(garbage.as_ptr().cast(), 1, &mut at, 0, null)), 0);
    assert_eq!(at, u64::MAX);
    let mut first = 0;
    assert_eq!(call!(one.av, ops.remove(&mut first, 1, 0)), 0);
    assert_eq!(call!(one.av, ops.remove(&mut first, 1, 0)), INVALID);
    assert_eq!(one.tsend(b"", 0, 0, 0), INVALID as isize);
    assert_eq!(one.insert(&name), 0);
    assert_eq!(one.tsend(b"", 0, 0, 0), 0);
    domain.close([one, two]);
}

#[test]
fn an_endpoint_closes_with_receives_that_have_no_message() {
    let (domain, one, two) = pair();
    let mut rooms = [[0; 64]; 3];
    let [a, b, c] = &mut rooms;
    assert_eq!((two.trecv(a, ANY, (0, 0), 1), two.recv(b, ANY, 2)), (0, 0));
    assert_eq!(two.recv_many(c, 3), 0);
    domain.close([one, two]);
}

#[test]
fn an_error_entry_of_an_earlier_version_is_shorter() {
    let domain = Opened::of_version(&Hints::default(), 1 << 16 | 17);
    let (one, two) = domain.pair();
    assert_eq!(two.trecvmsg(&mut [], (1, 0), 4, b::FI_PEEK.into()), 0);
    // SAFETY: zeros are a value of this structure of C.
    let mut entry = b::fi_cq_err_entry { src_addr: 77, ..unsafe { std::mem::zeroed() } };
    assert_eq!(call!(two.cq, ops.readerr(&mut entry, 0)), 1);
    assert_eq!((entry.err as u32, entry.src_addr), (b::FI_ENOMSG, 77), "it has no such field");
    domain.close([one, two]);
}

#[test]
fn a_host_reads_the_events_that_it_writes() {
    let domain = Opened::of_version(&Hints::default(), VERSION);
    let (mut eq, null) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: zeros are a value of this structure of C.
    let mut attr = b::fi_eq_attr { flags: b::FI_WRITE.into(), ..unsafe { std::mem::zeroed() } };
    assert_eq!(call!(domain.fabric, ops.eq_open(&mut attr, &mut eq, null)), 0);
    let (mut event, mut room) = (0, [0u8; 8]);
    let start = room.as_mut_ptr().cast();
    let again = crate::host::EAGAIN;
    assert_eq!(call!(eq, ops.read(&mut event, start, 8, 0)), again);
    assert_eq!(call!(eq, ops.sread(&mut event, start, 8, 10, 0)), again);
    assert_eq!(call!(eq, ops.write(5, b"event".as_ptr().cast(), 5, 0)), 5);
    assert_eq!(call!(eq, ops.read(&mut event, start, 3, 0)), -(b::FI_ETOOSMALL as isize));
    assert_eq!(call!(eq, ops.read(&mut event, start, 8, b::FI_PEEK.into())), 5);
    assert_eq!(call!(eq, ops.read(&mut event, start, 8, 0)), 5);
    assert_eq!((event, &room[..5], call!(eq, ops.read(&mut event, start, 8, 0))), (5, &b"event"[..], again));
    assert_eq!(close(eq), 0);
    domain.close([]);
}

/// Opens a queue with this wait object, bound to an endpoint that knows itself.
fn waiting(domain: &Opened, wait_obj: u32) -> End {
    let (ep, av, mut cq) = (domain.bare(), domain.av(), std::ptr::null_mut());
    // SAFETY: zeros are a value of this structure of C.
    let mut attr =
        b::fi_cq_attr { format: b::FI_CQ_FORMAT_TAGGED, wait_obj, ..unsafe { std::mem::zeroed() } };
    assert_eq!(call!(domain.domain, ops.cq_open(&mut attr, &mut cq, std::ptr::null_mut())), 0);
    assert_eq!((bind(ep, av, 0), bind(ep, cq, u64::from(b::FI_RECV | b::FI_SEND))), (0, 0));
    assert_eq!(control(ep, b::FI_ENABLE, std::ptr::null_mut()), 0);
    let end = End { ep, cq, av };
    assert_eq!(end.insert(&end.name()), 0);
    end
}

#[test]
fn a_host_blocks_in_a_descriptor() {
    let domain = Opened::new(&Hints::default());
    let end = waiting(&domain, b::FI_WAIT_FD);
    let (mut descriptor, mut kind) = (-1, 77u32);
    assert_eq!(control(end.cq, b::FI_GETWAIT, (&raw mut descriptor).cast()), 0);
    assert_eq!((control(end.cq, b::FI_GETWAITOBJ, (&raw mut kind).cast()), kind), (0, b::FI_WAIT_FD));
    let mut fids = [end.cq.cast::<b::fid>()];
    let mut trywait = || call!(domain.fabric, ops.trywait(fids.as_mut_ptr(), 1));
    let mut got = [0; 2];
    assert_eq!((end.trecv(&mut got, ANY, (1, 0), 5), trywait()), (0, 0));
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure.
    let mut wait = |milliseconds| unsafe { libc::poll(&mut poll, 1, milliseconds) };
    assert_eq!((wait(0), wait(5000)), (0, 1), "it wakes the host to look");
    assert_eq!(end.tsend(b"hi", 0, 1, 6), 0);
    assert_eq!(trywait(), crate::host::EAGAIN as i32);
    let contexts = [end.wait(&[]).context, end.wait(&[]).context];
    assert!(contexts.contains(&5) && contexts.contains(&6));
    assert_eq!((trywait(), wait(0)), (0, 0));
    domain.close([end]);
}

#[test]
fn a_host_waits_in_calls_if_it_has_said_so() {
    let domain = Opened::new(&Hints::default());
    let (never, calls) = (waiting(&domain, b::FI_WAIT_NONE), waiting(&domain, b::FI_WAIT_UNSPEC));
    let mut entry = [0u64; 6];
    let (room, null) = (entry.as_mut_ptr().cast(), std::ptr::null());
    assert_eq!(call!(never.cq, ops.sread(room, 1, null, 1)), -(b::FI_ENOSYS as isize));
    assert_eq!(control(never.cq, b::FI_GETWAIT, room), -(b::FI_ENODATA as i32));
    let began = std::time::Instant::now();
    assert_eq!(call!(calls.cq, ops.sread(room, 1, null, 30)), crate::host::EAGAIN);
    assert!(began.elapsed() >= std::time::Duration::from_millis(30));
    assert_eq!(calls.tsend(b"", 0, 1, 6), 0);
    assert_eq!((call!(calls.cq, ops.sread(room, 1, null, -1)), entry[0]), (1, 6));
    // Another thread ends a wait.
    let cq = calls.cq.expose_provenance();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let cq = std::ptr::with_exposed_provenance_mut::<b::fid_cq>(cq);
            assert_eq!(call!(cq, ops.signal()), 0);
        });
        assert_eq!(call!(calls.cq, ops.sread(room, 1, null, -1)), crate::host::EAGAIN);
    });
    domain.close([never, calls]);
}

//! Messages with tags (fi_tagged(3)), and how they complete.

use crate::host::{ANY, EAVAIL, Hints, Opened, bind, call, control, pair};
use carrousel_ofi::bindings as b;

const TAG: u64 = 0xfeed_0000_0000_0007;
/// On both sides of the thresholds of injects, packets and eager messages.
const SIZES: [usize; 6] = [0, 8, 8000, 8192, 8193, 1 << 20];

fn bytes(len: usize, first: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_add(first)).collect()
}

#[test]
fn a_message_arrives_whether_or_not_its_receive_is_early() {
    let (domain, one, two) = pair();
    for (round, len) in SIZES.into_iter().enumerate() {
        for early in [true, false] {
            let (sent, mut got) = (bytes(len, round as u8), vec![0; len]);
            let receive = |got: &mut [u8]| assert_eq!(two.trecv(got, 0, (TAG, 0xff), 5), 0);
            if early {
                receive(&mut got);
                (0..10).for_each(|_| [one, two].iter().for_each(|end| end.progress()));
            }
            assert_eq!(one.tsend(&sent, 0, TAG + 1, 6), 0);
            if !early {
                two.progress();
                receive(&mut got);
            }
            let received = two.wait(&[one]);
            assert_eq!((received.context, received.len, received.tag), (5, len, TAG + 1));
            assert!(received.has(b::FI_RECV | b::FI_TAGGED) && !received.has(b::FI_REMOTE_CQ_DATA));
            assert_eq!((received.source, got == sent), (0, true), "{len} bytes, early: {early}");
            let sent = one.wait(&[two]);
            assert_eq!(sent.context, 6);
            assert!(sent.has(b::FI_SEND | b::FI_TAGGED));
        }
    }
    domain.close([one, two]);
}

#[test]
fn data_travels_with_a_message() {
    let (domain, one, two) = pair();
    for len in SIZES {
        let (sent, mut got) = (bytes(len, 1), vec![0; len]);
        assert_eq!(one.tsendmsg(&sent, TAG, 6, u64::from(b::FI_REMOTE_CQ_DATA | b::FI_COMPLETION)), 0);
        assert_eq!(two.trecv(&mut got, ANY, (TAG, 0), 5), 0);
        let received = two.wait(&[one]);
        assert!(received.has(b::FI_REMOTE_CQ_DATA));
        assert_eq!((received.data, got == sent), (99, true));
        one.wait(&[two]);
    }
    let null = std::ptr::null_mut::<std::ffi::c_void>();
    assert_eq!(call!(one.ep, tagged.senddata(null.cast_const(), 0, null, u64::MAX, 0, TAG, null)), 0);
    assert_eq!(call!(one.ep, tagged.injectdata(null.cast_const(), 0, 3, 0, TAG)), 0);
    for data in [u64::MAX, 3] {
        assert_eq!(two.trecv(&mut [], ANY, (TAG, 0), 5), 0);
        assert_eq!(two.wait(&[one]).data, data);
    }
    domain.close([one, two]);
}

#[test]
fn an_inject_leaves_its_buffer_alone() {
    let (domain, one, two) = pair();
    // More than the eager window holds: the last ones are copied.
    const COUNT: usize = 1000;
    let mut buffer = vec![0; 8000];
    for at in 0..COUNT {
        buffer.fill(at as u8);
        let (data, len) = (buffer.as_ptr().cast(), buffer.len());
        assert_eq!(call!(one.ep, tagged.inject(data, len, 0, at as u64)), 0);
    }
    for at in 0..COUNT {
        let mut got = vec![0; buffer.len()];
        assert_eq!(two.trecv(&mut got, 0, (at as u64, 0), at), 0);
        assert_eq!(two.wait(&[one]).context, at);
        assert!(got.iter().all(|byte| *byte == at as u8), "message {at}");
    }
    assert_eq!(one.read(), Err(crate::host::EAGAIN), "an inject reports nothing");
    let long = vec![0u8; 1 << 16];
    let result = call!(one.ep, tagged.inject(long.as_ptr().cast(), long.len(), 0, 0));
    assert_eq!(result, -(b::FI_EMSGSIZE as isize));
    domain.close([one, two]);
}

#[test]
fn only_completions_are_reported_that_are_asked_for() {
    let mut domain = Opened::new(&Hints::default());
    domain.cq_flags = b::FI_SELECTIVE_COMPLETION;
    let (one, two) = domain.pair();
    let mut got = [[0; 4]; 2];
    let [first, second] = &mut got;
    assert_eq!(two.trecv(first, ANY, (1, 0), 1), 0);
    assert_eq!(two.trecvmsg(second, (2, 0), 2, u64::from(b::FI_COMPLETION)), 0);
    assert_eq!((one.tsend(b"left", 0, 1, 1), one.tsend(b"told", 0, 2, 2)), (0, 0));
    assert_eq!(two.wait(&[one]).context, 2);
    assert_eq!(one.read().err(), Some(crate::host::EAGAIN));
    // Failures are reported in any case.
    assert_eq!(two.trecv(&mut [0; 2], ANY, (3, 0), 3), 0);
    assert_eq!(one.tsend(b"long", 0, 3, 3), 0);
    assert_eq!(two.wait_error(&[one]).error, b::FI_ETRUNC);
    assert_eq!(got, [*b"left", *b"told"]);
    domain.close([one, two]);
}

#[test]
fn a_delivered_message_completes_once_it_is_received() {
    let (domain, one, two) = pair();
    assert_eq!(one.tsendmsg(b"hello", TAG, 1, u64::from(b::FI_DELIVERY_COMPLETE | b::FI_COMPLETION)), 0);
    for _ in 0..1000 {
        assert_eq!(one.read().err(), Some(crate::host::EAGAIN));
        two.progress();
    }
    let mut got = [0; 5];
    assert_eq!(two.trecv(&mut got, ANY, (TAG, 0), 5), 0);
    assert_eq!((two.wait(&[one]).len, one.wait(&[two]).context), (5, 1));
    domain.close([one, two]);
}

#[test]
fn a_message_that_is_too_long_says_by_how_much() {
    let (domain, one, two) = pair();
    for len in [100, 1 << 20] {
        let mut got = [0; 60];
        assert_eq!(two.trecv(&mut got, ANY, (TAG, 0), 5), 0);
        let sent = bytes(len, 1);
        assert_eq!(one.tsend(&sent, 0, TAG, 6), 0);
        let failure = two.wait_error(&[one]);
        assert_eq!((failure.context, failure.error, failure.overflow), (5, b::FI_ETRUNC, len - 60));
        assert_eq!(failure.tag, TAG, "hosts want to know whose it was");
        assert_eq!(one.wait(&[two]).context, 6);
    }
    domain.close([one, two]);
}

#[test]
fn a_directed_receive_gets_messages_of_its_source_only() {
    let domain = Opened::new(&Hints::default());
    let (one, two) = domain.pair();
    let three = domain.end();
    three.insert(&two.name());
    let of_three = two.insert(&three.name());
    let (mut first, mut second) = ([0; 3], [0; 3]);
    assert_eq!(two.trecv(&mut first, of_three, (TAG, u64::MAX), 3), 0);
    assert_eq!(two.trecv(&mut second, 0, (TAG, u64::MAX), 1), 0);
    assert_eq!(one.tsend(b"one", 0, 1, 0), 0);
    let got = two.wait(&[one, three]);
    assert_eq!((got.context, got.source), (1, 0));
    assert_eq!(three.tsend(b"333", 0, 1, 0), 0);
    let got = two.wait(&[one, three]);
    assert_eq!((got.context, got.source), (3, of_three));
    assert_eq!((&first, &second), (b"333", b"one"));
    domain.close([one, two, three]);
}

#[test]
fn an_endpoint_sends_to_itself() {
    let (domain, one, two) = pair();
    for len in SIZES {
        let (sent, mut got) = (bytes(len, 9), vec![0; len]);
        assert_eq!((one.trecv(&mut got, 1, (TAG, 0), 5), one.tsend(&sent, 1, TAG, 6)), (0, 0));
        let mut contexts = [one.wait(&[]).context, one.wait(&[]).context];
        contexts.sort_unstable();
        assert_eq!((contexts, got == sent), ([5, 6], true));
    }
    domain.close([one, two]);
}

#[test]
fn counters_count_what_completes() {
    let domain = Opened::new(&Hints::default());
    let (one, two) = (domain.bare(), domain.bare());
    let (av, sends, receives) = (domain.av(), domain.cntr(), domain.cntr());
    for (ep, cntr, flag) in [(one, sends, b::FI_SEND), (two, receives, b::FI_RECV)] {
        assert_eq!((bind(ep, av, 0), bind(ep, cntr, flag.into())), (0, 0));
        assert_eq!(control(ep, b::FI_ENABLE, std::ptr::null_mut()), 0);
    }
    let cq = std::ptr::null_mut();
    let (one, two) = (crate::host::End { ep: one, cq, av }, crate::host::End { ep: two, cq, av });
    let to = one.insert(&two.name());
    let mut got = [[0; 4]; 3];
    for room in &mut got {
        assert_eq!(two.trecv(room, ANY, (TAG, 0), 0), 0);
    }
    (0..3).for_each(|_| assert_eq!(one.tsend(b"four", to, TAG, 0), 0));
    assert_eq!(call!(receives, ops.wait(3, 10_000)), 0);
    assert_eq!((call!(sends, ops.read()), call!(receives, ops.read()), got), (3, 3, [*b"four"; 3]));
    assert_eq!(call!(receives, ops.wait(4, 20)), -(b::FI_ETIMEDOUT as i32));
    // A failure ends the wait for a success.
    assert_eq!((two.trecv(&mut [0; 2], ANY, (TAG, 0), 0), one.tsend(b"four", to, TAG, 0)), (0, 0));
    assert_eq!(call!(receives, ops.wait(4, 10_000)), -(b::FI_EAVAIL as i32));
    assert_eq!(
        (call!(receives, ops.readerr()), call!(receives, ops.set(9)), call!(receives, ops.add(1))),
        (1, 0, 0)
    );
    assert_eq!((call!(receives, ops.read()), crate::host::close(receives)), (10, -(b::FI_EBUSY as i32)));
    for object in [one.ep, two.ep] {
        assert_eq!(crate::host::close(object), 0);
    }
    assert_eq!([sends, receives].map(crate::host::close), [0, 0]);
    assert_eq!((crate::host::close(av), crate::host::close(domain.domain)), (0, 0));
}

/// Threads that use the objects of a domain at once.
#[test]
fn threads_may_use_a_domain_at_once() {
    use_by_two_threads(b::FI_THREAD_SAFE);
}

/// A host that has promised not to do that is wrong, and unharmed.
#[test]
fn threads_use_a_domain_at_once_that_was_opened_for_one() {
    (0..5).for_each(|_| use_by_two_threads(b::FI_THREAD_DOMAIN));
}

fn use_by_two_threads(threading: b::fi_threading) {
    #[derive(Clone, Copy)]
    struct Shared(crate::host::End);
    // SAFETY: the domain was opened for it (FI_THREAD_SAFE), or sees to it.
    unsafe impl Send for Shared {}
    let mut hints = Hints::default();
    hints.domain.threading = threading;
    let domain = Opened::new(&hints);
    let (one, two) = domain.pair();
    const COUNT: u64 = 2000;
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (one, two) = (Shared(one), Shared(two));
            scope.spawn(move || {
                let (Shared(one), Shared(two)) = ({ one }, { two });
                for at in 0..COUNT {
                    let mut got = [0; 8];
                    let tag = thread << 32 | at;
                    assert_eq!(two.trecv(&mut got, ANY, (tag, 0), 0), 0);
                    let data = tag.to_le_bytes();
                    assert_eq!(call!(one.ep, tagged.inject(data.as_ptr().cast(), 8, 0, tag)), 0);
                    // Whichever thread reads the completion: the bytes are there before.
                    while std::hint::black_box(&got) != &data {
                        let _ = two.read();
                    }
                }
            });
        }
    });
    domain.close([one, two]);
}

/// fi_cq(3): "while an item is in the error queue", a read says so.
#[test]
fn an_error_is_told_before_what_has_ended_since() {
    let (domain, one, two) = pair();
    let (mut never, mut got) = ([0; 4], [[0; 4]; 3]);
    assert_eq!(two.trecv(&mut never, ANY, (TAG + 1, 0), 1), 0);
    assert_eq!(two.cancel(1), 0);
    for (room, context) in got.iter_mut().zip(2..) {
        assert_eq!((two.trecv(room, ANY, (TAG, 0), context), one.tsend(b"four", 0, TAG, 9)), (0, 0));
    }
    (0..100).for_each(|_| two.progress());
    assert_eq!(two.read(), Err(EAVAIL));
    assert_eq!(two.error().map(|failure| (failure.context, failure.error)), Some((1, b::FI_ECANCELED)));
    assert_eq!([(); 3].map(|()| two.wait(&[one]).context), [2, 3, 4]);
    domain.close([one, two]);
}

/// fi_tagged(3): the flag is for endpoints with `FI_TAGGED_MULTI_RECV`, which the provider does not offer.
#[test]
fn buffers_for_many_messages_with_tags_are_refused() {
    let (domain, one, two) = pair();
    let refused = two.trecvmsg(&mut [0; 1 << 10], (TAG, 0), 1, b::FI_MULTI_RECV.into());
    assert_eq!(refused, -(b::FI_EBADFLAGS as isize));
    domain.close([one, two]);
    let mut hints = Hints::default();
    hints.info.caps = u64::from(b::FI_TAGGED) | b::FI_TAGGED_MULTI_RECV;
    assert_eq!(hints.getinfo(crate::host::VERSION).err(), Some(-(b::FI_ENODATA as i32)));
}

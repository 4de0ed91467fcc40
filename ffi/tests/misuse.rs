//! Every misuse of a rank is an error code, and changes nothing.

mod pair;

use carrousel_error as E;
use carrousel_ffi::*;
use pair::*;
use std::ptr;

/// A rank that is freed at the end.
struct Own(*mut carrousel_rank);

impl Own {
    fn new() -> Self {
        Self(create(None, 0, 2).expect("it can be made"))
    }

    fn call(&self, it: &carrousel_call) -> Result<carrousel_handle, E> {
        call(self.0, it)
    }

    fn event(&self, event: &carrousel_event) -> Result<(), E> {
        done(carrousel_rank_event(self.0, Some(event)))
    }

    /// Takes all work, and says how much there was.
    fn drain(&self) -> usize {
        let mut count = 0;
        while next_work(self.0).is_ok() {
            count += 1;
        }
        count
    }

    fn words(&self) -> String {
        let mut words = [0; 256];
        let told = carrousel_rank_error_text(self.0, words.as_mut_ptr(), words.len(), None);
        assert_eq!(told, E::None);
        words.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte as u8)).collect()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        assert_eq!(carrousel_rank_free(Some(&mut self.0)), E::None);
    }
}

fn event(kind: carrousel_event_kind) -> carrousel_event {
    carrousel_event { kind: kind as u32, peer: 1, ..Default::default() }
}

#[test]
fn a_rank_of_another_version_or_place_is_not_made() {
    let made = |abi, me, ranks| got(|rank| carrousel_rank_create(abi, None, me, ranks, None, rank)).err();
    assert_eq!(carrousel_abi_version(), CARROUSEL_ABI_VERSION);
    assert_eq!(made(CARROUSEL_ABI_VERSION + 1, 0, 2), Some(E::WrongAbi));
    assert_eq!(made(CARROUSEL_ABI_VERSION, 2, 2), Some(E::NoSuchRank));
    assert_eq!(made(CARROUSEL_ABI_VERSION, 0, 0), Some(E::NoSuchRank));
    let mut options = got(|options| carrousel_options_default(options)).expect("there are some");
    options.speculation = 3;
    let made = got(|rank| carrousel_rank_create(CARROUSEL_ABI_VERSION, None, 0, 2, Some(&options), rank));
    assert_eq!(made.err(), Some(E::UnknownValue));
}

#[test]
fn null_is_refused_wherever_something_has_to_be() {
    let own = Own::new();
    let (rank, none) = (own.0, ptr::null_mut());
    let call = receive(1, 8);
    let handle = carrousel_handle::default();
    let pattern = carrousel_pattern::default();
    let mut place = std::mem::MaybeUninit::uninit();
    let refused = [
        carrousel_rank_create(CARROUSEL_ABI_VERSION, None, 0, 2, None, None),
        carrousel_options_default(None),
        carrousel_rank_free(None),
        carrousel_rank_call(none, Some(&call), Some(&mut place)),
        carrousel_rank_call(rank, None, Some(&mut place)),
        carrousel_rank_call(rank, Some(&call), None),
        carrousel_rank_send_eagerly(rank, None),
        carrousel_rank_receive_kept(rank, Some(&call), None),
        carrousel_rank_receive_next(rank, Some(&call), None, 8, None),
        carrousel_rank_event(rank, None),
        carrousel_rank_next_work(none, None),
        carrousel_rank_may_announce(rank, None),
        carrousel_rank_release(rank, handle, None),
        carrousel_rank_probe(rank, None, None),
        carrousel_rank_probe(rank, Some(&pattern), None),
        carrousel_rank_claim(rank, Some(&pattern), None, None),
        carrousel_rank_define(rank, 1, ptr::null(), 1),
        carrousel_rank_needs_initial_progress(rank, None, None),
        carrousel_rank_schedule(rank, None, None),
        carrousel_rank_create_window(rank, None, None),
        carrousel_rank_window_call(rank, 0, None, None, None),
        carrousel_rank_window_event(rank, 0, None),
        carrousel_rank_error_text(none, ptr::null_mut(), 0, None),
        carrousel_packet_encode(0, None, ptr::null_mut(), None),
        carrousel_packet_decode(ptr::null(), 0, 0, None, None, None),
        carrousel_packet_to_receiver(None, None),
        carrousel_window_setup_default(None),
    ];
    assert!(refused.iter().all(|error| *error == E::NullPointer), "{refused:?}");
    assert_eq!(
        got(|pending| carrousel_rank_pending(rank, None, pending)).err(),
        Some(E::Empty),
        "nothing began"
    );
}

#[test]
fn numbers_that_mean_nothing_are_refused() {
    let own = Own::new();
    for kind in [0, 7, u32::MAX] {
        assert_eq!(own.call(&carrousel_call { kind, ..Default::default() }).err(), Some(E::UnknownValue));
        assert_eq!(own.event(&carrousel_event { kind, ..Default::default() }).err(), Some(E::UnknownValue));
    }
    assert_eq!(own.call(&carrousel_call { synchronous: 2, ..send(1, 8) }).err(), Some(E::UnknownValue));
    assert_eq!(own.call(&carrousel_call { has_data: 2, ..send(1, 8) }).err(), Some(E::UnknownValue));
    let collective = carrousel_call_kind::Collective as u32;
    let call = carrousel_call { kind: collective, collective: 0, ..Default::default() };
    assert_eq!(own.call(&call).err(), Some(E::UnknownValue));
    let of = carrousel_packet { kind: 13, ..Default::default() };
    assert_eq!(own.event(&packet(1, 0, of)).err(), Some(E::UnknownValue));
    let rts = carrousel_packet { kind: carrousel_packet_kind::Rts as u32, hint: 4, ..Default::default() };
    assert_eq!(own.event(&packet(1, 0, rts)).err(), Some(E::UnknownValue));
    assert_eq!(own.drain(), 0);
}

#[test]
fn usage_errors_have_codes_and_words() {
    let own = Own::new();
    let to_none = carrousel_call { peer: 2, ..send(1, 8) };
    assert_eq!(own.call(&to_none).err(), Some(E::NoSuchRank));
    assert_eq!(own.words(), "rank 2 does not exist in a job of 2 ranks");
    let elsewhere = carrousel_call { communicator: 1 << 15, ..send(1, 8) };
    assert_eq!(own.call(&elsewhere).err(), Some(E::NoSuchCommunicator));
    let barrier = carrousel_call {
        kind: carrousel_call_kind::Collective as u32,
        collective: carrousel_collective_kind::Barrier as u32,
        communicator: 3,
        element: 1,
        ..Default::default()
    };
    assert_eq!(own.call(&barrier).err(), Some(E::NoSuchCommunicator));
    let reduce = carrousel_call {
        collective: carrousel_collective_kind::Reduce as u32,
        communicator: 0,
        len: 9,
        element: 8,
        ..barrier
    };
    assert_eq!(own.call(&reduce).err(), Some(E::WrongCollective));
    let define =
        |number, members: &[u32]| carrousel_rank_define(own.0, number, members.as_ptr(), members.len());
    assert_eq!(define(1, &[1]), E::NotAMember);
    assert_eq!(define(1, &[1, 1]), E::MemberTwice);
    assert_eq!(define(1, &[1, 0, 1]), E::WrongLength, "it names a rank twice");
    assert_eq!(define(1, &[0, 7]), E::NoSuchRank);
    assert_eq!(define(1, &[1, 0]), E::None);
    assert_eq!(define(1, &[1, 0]), E::AlreadyDefined);
    assert_eq!(carrousel_rank_define(own.0, 2, ptr::without_provenance(4), usize::MAX), E::WrongLength);
    assert_eq!(
        carrousel_rank_define(own.0, 2, ptr::without_provenance(3), 1),
        E::WrongLength,
        "it is not aligned"
    );
    assert_eq!(carrousel_rank_forget(own.0, 0), E::InUse);
    assert_eq!(carrousel_rank_forget(own.0, 9), E::NoSuchCommunicator);
    assert_eq!(carrousel_rank_may_forget(own.0, 1), E::None);
    assert_eq!(carrousel_rank_forget(own.0, 1), E::None);
    assert_eq!(carrousel_rank_window_event(own.0, 0, Some(&Default::default())), E::UnknownValue);
    let granted = carrousel_window_event { kind: 2, word: 1, peer: 1, ..Default::default() };
    assert_eq!(carrousel_rank_window_event(own.0, 0, Some(&granted)), E::NoSuchWindow);
}

#[test]
fn a_request_that_is_not_open_is_known_to_be_that() {
    let own = Own::new();
    let request = own.call(&send(1, 8)).expect("it is right");
    assert_eq!(own.drain(), 2);
    let release = |request| got(|status| carrousel_rank_release(own.0, request, status));
    let status = |request| got(|status| carrousel_rank_status(own.0, request, status));
    assert_eq!(release(request).map(|status| status.len), Ok(8));
    assert_eq!(release(request).err(), Some(E::NoSuchRequest));
    assert_eq!(status(request).err(), Some(E::NoSuchRequest));
    let about = |kind: carrousel_call_kind, request| carrousel_call {
        kind: kind as u32,
        request,
        ..Default::default()
    };
    let never = carrousel_handle { index: u32::MAX, generation: 1 };
    for request in [request, never] {
        use carrousel_call_kind as K;
        for kind in [K::Cancel, K::Discard, K::ReceiveClaimed] {
            assert_eq!(own.call(&about(kind, request)).err(), Some(E::NoSuchRequest), "{kind:?}");
        }
        for kind in [carrousel_event_kind::Written, carrousel_event_kind::Read] {
            let report = carrousel_event { request, ..event(kind) };
            assert_eq!(own.event(&report).err(), Some(E::ImpossibleEvent), "{kind:?}");
        }
    }
    let posted = own.call(&carrousel_call { peer: 1, ..receive(1, 8) }).expect("it is right");
    assert_eq!(release(posted).err(), Some(E::Incomplete));
    assert_eq!(own.call(&about(carrousel_call_kind::Discard, posted)).err(), Some(E::NotClaimed));
    let offered = own.call(&send(2, 1 << 20)).expect("it is right");
    assert_eq!(own.drain(), 1);
    assert_eq!(own.call(&about(carrousel_call_kind::Cancel, offered)).err(), Some(E::NotAReceive));
}

#[test]
fn work_that_is_left_comes_before_the_next_input() {
    let own = Own::new();
    let request = own.call(&send(1, 8)).expect("it is right");
    let refused = [
        own.call(&send(2, 8)).err(),
        own.event(&event(carrousel_event_kind::Lost)).err(),
        done(carrousel_rank_send_eagerly(own.0, Some(&send(1, 8)))).err(),
        done(carrousel_rank_define(own.0, 1, [0, 1].as_ptr(), 2)).err(),
        got(|window| carrousel_rank_create_window(own.0, None, window)).err(),
    ];
    assert!(refused.iter().all(|error| *error == Some(E::WorkLeft)), "{refused:?}");
    let status = got(|status| carrousel_rank_status(own.0, request, status));
    assert!(status.is_ok(), "to look changes nothing");
    assert_eq!(own.drain(), 2);
    assert!(own.call(&send(2, 8)).is_ok());
}

#[test]
fn impossible_packets_and_reports_are_refused() {
    let own = Own::new();
    let of =
        |kind: carrousel_packet_kind| carrousel_packet { kind: kind as u32, len: 8, ..Default::default() };
    use carrousel_packet_kind as K;
    for kind in [K::Ats, K::Cts, K::Atp, K::Fin, K::RtrAck, K::RtsAck] {
        assert_eq!(own.event(&packet(1, 0, of(kind))).err(), Some(E::ImpossibleEvent), "{kind:?}");
        assert!(own.words().starts_with("rank 1 sent an impossible packet"), "{}", own.words());
    }
    let ack = carrousel_packet { seen: 5, ..of(K::Ack) };
    assert_eq!(own.event(&packet(1, 0, ack)).err(), Some(E::ImpossibleEvent));
    assert_eq!(own.event(&packet(7, 0, of(K::Eager))).err(), Some(E::ImpossibleEvent), "there is no rank 7");
    let lost = carrousel_event { peer: 7, ..event(carrousel_event_kind::Lost) };
    assert_eq!(own.event(&lost).err(), Some(E::NoSuchRank));
    assert_eq!(own.drain(), 0);
}

#[test]
fn bytes_that_are_no_packet_are_refused() {
    let eager =
        carrousel_packet { kind: carrousel_packet_kind::Eager as u32, tag: 5, len: 3, ..Default::default() };
    let mut head = [0; CARROUSEL_HEAD_MAX + 3];
    let len =
        got(|len| carrousel_packet_encode(6, Some(&eager), head.as_mut_ptr(), len)).expect("it is right");
    let decode = |bytes: &[u8], total| {
        let mut context = std::mem::MaybeUninit::uninit();
        let mut packet = std::mem::MaybeUninit::uninit();
        let decoded = got(|body| {
            let (first, len) = (bytes.as_ptr(), bytes.len());
            carrousel_packet_decode(first, len, total, Some(&mut context), Some(&mut packet), body)
        });
        // SAFETY: they are written if it is a packet.
        decoded.map(|body| unsafe { (context.assume_init(), packet.assume_init(), body) })
    };
    assert_eq!(decode(&head[..len + 3], len + 3), Ok((6, eager, len)));
    assert_eq!(decode(&head[..len], len + 3), Ok((6, eager, len)), "its data may be elsewhere");
    assert_eq!(decode(&head[..len], len - 1), Err(E::WrongLength));
    assert_eq!(decode(&head[..3], 3), Err(E::NoPacket));
    assert_eq!(decode(&[], 0), Err(E::NoPacket));
    assert_eq!(decode(&[0xff; 40], 40), Err(E::NoPacket));
    let unknown = carrousel_packet { kind: 99, ..eager };
    let encoded = got(|len| carrousel_packet_encode(6, Some(&unknown), head.as_mut_ptr(), len));
    assert_eq!(encoded, Err(E::UnknownValue));
}

#[test]
fn windows_refuse_what_epochs_do_not_admit() {
    let own = Own::new();
    assert_eq!(got(|window| carrousel_rank_create_window(own.0, None, window)), Ok(0));
    let call = |it: &carrousel_window_call| {
        let mut called = std::mem::MaybeUninit::uninit();
        got(|request| carrousel_rank_window_call(own.0, 0, Some(it), Some(&mut called), request)).err()
    };
    use carrousel_window_call_kind as K;
    for kind in [K::Wait, K::Complete, K::Unlock, K::UnlockAll, K::Test] {
        assert_eq!(call(&window_call(kind)), Some(E::WrongEpoch), "{kind:?}");
    }
    assert_eq!(call(&carrousel_window_call { kind: 0, ..window_call(K::Fence) }), Some(E::UnknownValue));
    assert_eq!(
        call(&carrousel_window_call { target: 0, mode: 0, ..window_call(K::Lock) }),
        Some(E::UnknownValue)
    );
    assert_eq!(
        call(&carrousel_window_call { target: 9, mode: 1, ..window_call(K::Lock) }),
        Some(E::NoSuchRank)
    );
    assert_eq!(call(&carrousel_window_call { group_len: 1, ..window_call(K::Start) }), Some(E::NullPointer));
    let twice = [1, 1];
    let start = carrousel_window_call { group: twice.as_ptr(), group_len: 2, ..window_call(K::Start) };
    assert_eq!(call(&start), Some(E::MemberTwice));
    assert_eq!(call(&window_call(K::LockAll)), None);
    own.drain();
    let mut put = window_call(K::Transfer);
    assert_eq!(call(&put), Some(E::UnknownValue));
    put.transfer =
        carrousel_transfer { target: 1, kind: 1, len: 8, count: 2, stride: 4, ..Default::default() };
    assert_eq!(call(&put), Some(E::WrongLength), "blocks overlap");
    put.transfer = carrousel_transfer { offset: u64::MAX, count: 1, stride: 8, ..put.transfer };
    assert_eq!(call(&put), Some(E::WrongLength), "it has no end");
    let complete = |age, place| carrousel_window_event {
        kind: carrousel_window_event_kind::Complete as u32,
        operation: carrousel_operation { age, place },
        ..Default::default()
    };
    for (age, place) in [(0, 0), (1, 0), (u64::MAX, u32::MAX)] {
        let refused = carrousel_rank_window_event(own.0, 0, Some(&complete(age, place)));
        assert_eq!(refused, E::ImpossibleEvent, "{age} {place}");
    }
    assert_eq!(carrousel_rank_is_flushed(own.0, 0, CARROUSEL_ALL_TARGETS, 2), E::UnknownValue);
    assert_eq!(carrousel_rank_is_flushed(own.0, 0, CARROUSEL_ALL_TARGETS, 0), E::None);
}

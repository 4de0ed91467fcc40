//! The protocols alone: each does what it does within a rank, and refuses what is not due.

mod pair;

use carrousel_error as E;
use carrousel_ffi::*;
use pair::{done, got};
use std::mem::MaybeUninit;
use std::ptr;

const ABI: u32 = CARROUSEL_ABI_VERSION;

fn handle(index: u32) -> carrousel_handle {
    carrousel_handle { index, generation: 0 }
}

#[test]
fn matching_gives_the_first_that_matches() {
    let mut matching = got(|out| carrousel_matching_create(ABI, None, out)).expect("it can be made");
    let envelope = |source, tag| carrousel_envelope { source, context: 0, tag };
    let any = carrousel_pattern { source: CARROUSEL_ANY_SOURCE, context: 0, tag: 5, ignore: 0 };
    let receive = |pattern: &carrousel_pattern, request| {
        let mut whose = MaybeUninit::uninit();
        got(|message| carrousel_matching_receive(matching, Some(pattern), request, Some(&mut whose), message))
    };
    let arrive = |its: carrousel_envelope, number| {
        got(|out| carrousel_matching_arrive(matching, Some(&its), number, out))
    };
    assert_eq!(receive(&any, handle(1)), Err(E::Empty));
    assert_eq!(receive(&any, handle(1)), Err(E::InUse), "it is posted already");
    assert_eq!(receive(&any, handle(2)), Err(E::Empty));
    assert_eq!(arrive(envelope(3, 4), 70), Err(E::Empty));
    assert_eq!(arrive(envelope(3, 5), 71), Ok(handle(1)));
    assert_eq!(carrousel_matching_cancel(matching, handle(2)), E::None);
    assert_eq!(carrousel_matching_cancel(matching, handle(2)), E::NoSuchRequest);
    assert_eq!(arrive(envelope(2, 5), 72), Err(E::Empty));
    let mut receives = MaybeUninit::uninit();
    assert_eq!(got(|messages| carrousel_matching_len(matching, Some(&mut receives), messages)), Ok(2));
    let mut whose = MaybeUninit::uninit();
    assert_eq!(got(|out| carrousel_matching_probe(matching, Some(&any), Some(&mut whose), out)), Ok(72));
    assert_eq!(receive(&any, handle(3)), Ok(72));
    assert_eq!(
        got(|out| carrousel_matching_probe(matching, Some(&any), Some(&mut whose), out)),
        Err(E::Empty)
    );
    assert_eq!(carrousel_matching_free(Some(&mut matching)), E::None);
}

#[test]
fn an_announced_receive_is_written_into() {
    let mut sender =
        got(|out| carrousel_sender_create(ABI, None, 1 << 20, 4, 0, out)).expect("it can be made");
    let mut receiver =
        got(|out| carrousel_receiver_create(ABI, None, 1 << 20, 4, 0, out)).expect("it can be made");
    assert_eq!(got(|out| carrousel_sender_create(ABI, None, 0, 0, 2, out)).err(), Some(E::UnknownValue));
    assert_eq!(carrousel_receiver_announced(receiver), E::WrongState, "nothing was permitted");
    let candidate = carrousel_candidate { tag: 3, len: 1 << 20, ..Default::default() };
    let mut ahead = MaybeUninit::uninit();
    let seen = got(|seen| carrousel_receiver_announce(receiver, Some(&candidate), seen, Some(&mut ahead)));
    assert_eq!(seen, Ok(0));
    assert_eq!(carrousel_receiver_announced(receiver), E::None);
    let rtr = carrousel_packet {
        kind: carrousel_packet_kind::Rtr as u32,
        tag: 3,
        len: 1 << 20,
        receive: handle(9),
        memory: carrousel_memory { address: 0x1000, key: 7 },
        ..Default::default()
    };
    assert_eq!(carrousel_sender_packet(sender, Some(&rtr)), E::None);
    assert_eq!(carrousel_sender_packet(sender, Some(&rtr)), E::ImpossibleEvent, "it is announced already");
    let route = got(|route| carrousel_sender_rendezvous(sender, 3, 1 << 20, handle(1), 1, route))
        .expect("it is right");
    assert_eq!((route.is_write, route.receive, route.memory), (1, handle(9), rtr.memory));
    let again = got(|route| carrousel_sender_rendezvous(sender, 3, 8, handle(1), 1, route));
    assert_eq!(again.err(), Some(E::WrongState), "its name is in use");
    let used = carrousel_matched {
        tag: 3,
        fate: carrousel_fate::Used as u32,
        announced: 1,
        own_rtr: 1,
        exempt: 0,
        waited: 1,
    };
    assert_eq!(got(|ack| carrousel_receiver_arrived(receiver, 1, 64, ack)).err(), Some(E::Empty));
    assert_eq!(carrousel_receiver_matched(receiver, Some(&used)), E::None);
    assert_eq!(carrousel_receiver_matched(receiver, Some(&used)), E::WrongState, "none is announced now");
    assert_eq!(carrousel_receiver_withdrawn(receiver), E::WrongState);
    assert_eq!(carrousel_sender_finished(sender, handle(1)), E::None);
    assert_eq!(carrousel_sender_finished(sender, handle(1)), E::NoSuchRequest);
    let rts_ack = carrousel_packet { kind: carrousel_packet_kind::RtsAck as u32, ..Default::default() };
    assert_eq!(carrousel_sender_packet(sender, Some(&rts_ack)), E::NoSuchRequest);
    let eager = carrousel_packet { kind: carrousel_packet_kind::Eager as u32, ..Default::default() };
    assert_eq!(carrousel_sender_packet(sender, Some(&eager)), E::UnknownValue, "it goes the other way");
    assert_eq!(carrousel_sender_free(Some(&mut sender)), E::None);
    assert_eq!(carrousel_receiver_free(Some(&mut receiver)), E::None);
}

#[test]
fn eager_messages_keep_to_the_window() {
    let mut sender = got(|out| carrousel_sender_create(ABI, None, 300, 4, 0, out)).expect("it can be made");
    let mut receiver =
        got(|out| carrousel_receiver_create(ABI, None, 300, 4, 0, out)).expect("it can be made");
    assert_eq!(carrousel_sender_eager(sender, 1, 36, handle(0)), E::None);
    assert_eq!(carrousel_sender_eager(sender, 1, 100, handle(1)), E::None);
    assert_eq!(carrousel_sender_eager(sender, 1, 100, handle(2)), E::Empty, "it does not fit");
    assert_eq!(got(|ack| carrousel_receiver_taken(receiver, 36, 1, ack)).err(), Some(E::Empty));
    let ack = got(|ack| carrousel_receiver_taken(receiver, 100, 2, ack)).expect("half of the window is free");
    assert_eq!(carrousel_sender_packet(sender, Some(&ack)), E::None);
    assert_eq!(carrousel_sender_eager(sender, 1, 100, handle(2)), E::None);
    let more = carrousel_packet { taken: 10_000, ..ack };
    assert_eq!(carrousel_sender_packet(sender, Some(&more)), E::ImpossibleEvent);
    assert_eq!(carrousel_sender_free(Some(&mut sender)), E::None);
    assert_eq!(carrousel_receiver_free(Some(&mut receiver)), E::None);
}

#[test]
fn a_window_alone_grants_and_completes() {
    let made = |me| got(|out| carrousel_window_create(ABI, None, me, 2, None, out)).expect("it can be made");
    let (mut origin, mut target) = (made(0), made(1));
    assert_eq!(got(|out| carrousel_window_create(ABI, None, 2, 2, None, out)).err(), Some(E::NoSuchRank));
    use carrousel_window_call_kind as K;
    let call = |window, it: carrousel_window_call| {
        let mut called = MaybeUninit::uninit();
        got(|request| carrousel_window_take_call(window, Some(&it), Some(&mut called), request))
    };
    let work = |window| got(|work| carrousel_window_next_work(window, work));
    let group = |rank: &'static [u32; 1], kind| carrousel_window_call {
        group: rank.as_ptr(),
        group_len: 1,
        ..pair::window_call(kind)
    };
    assert_eq!(call(origin, group(&[1], K::Start)), Ok(0));
    let mut put = pair::window_call(K::Transfer);
    put.transfer =
        carrousel_transfer { target: 1, kind: 1, len: 8, count: 1, stride: 8, ..Default::default() };
    assert_eq!(call(origin, put), Ok(0));
    let closed = call(origin, pair::window_call(K::Complete)).expect("an epoch is open");
    assert_eq!(work(origin).err(), Some(E::Empty), "nothing moves before the grant");
    assert_eq!(call(target, group(&[0], K::Post)), Ok(0));
    let grant = work(target).expect("it exposes its memory");
    assert_eq!((grant.kind, grant.peer, grant.value), (carrousel_window_work_kind::Store as u32, 0, 1));
    let granted = carrousel_window_event {
        kind: carrousel_window_event_kind::Granted as u32,
        peer: 1,
        word: grant.word,
        value: grant.value,
        ..Default::default()
    };
    assert_eq!(carrousel_window_take_event(origin, Some(&granted)), E::None);
    let transfer = work(origin).expect("it is granted");
    assert_eq!(transfer.kind, carrousel_window_work_kind::Transfer as u32);
    assert_eq!(carrousel_window_take_event(origin, Some(&granted)), E::WorkLeft);
    let post = work(origin).expect("the access is over behind it");
    assert_eq!(post.kind, carrousel_window_work_kind::Post as u32);
    let back = carrousel_window_event { value: 0, ..granted };
    assert_eq!(carrousel_window_take_event(origin, Some(&back)), E::ImpossibleEvent);
    let complete = carrousel_window_event {
        kind: carrousel_window_event_kind::Complete as u32,
        operation: transfer.operation,
        ..Default::default()
    };
    assert_eq!(carrousel_window_take_event(origin, Some(&complete)), E::None);
    let over = work(origin).expect("the epoch is complete");
    assert_eq!(
        (over.kind, over.request, over.has_failed),
        (carrousel_window_work_kind::Complete as u32, closed, 0)
    );
    assert_eq!(carrousel_window_is_quiet(origin), E::None);
    assert_eq!(carrousel_window_is_quiet(target), E::InUse);
    assert_eq!(carrousel_window_is_flushed(origin, CARROUSEL_ALL_TARGETS, 0), E::None);
    assert_eq!(carrousel_window_free(Some(&mut origin)), E::None);
    assert_eq!(carrousel_window_free(Some(&mut target)), E::None);
}

#[test]
fn a_lock_is_granted_in_order() {
    let mut lock = got(|out| carrousel_lock_create(ABI, None, 3, out)).expect("it can be made");
    let (exclusive, shared) = (carrousel_lock_mode::Exclusive as u32, carrousel_lock_mode::Shared as u32);
    let grant =
        || got(|grant| carrousel_lock_next_grant(lock, grant)).map(|grant| (grant.origin, grant.mode));
    assert_eq!(carrousel_lock_request(lock, 0, exclusive), E::None);
    assert_eq!(carrousel_lock_request(lock, 1, shared), E::WorkLeft);
    assert_eq!((grant(), grant()), (Ok((0, exclusive)), Err(E::Empty)));
    assert_eq!(carrousel_lock_request(lock, 1, shared), E::None);
    assert_eq!(carrousel_lock_request(lock, 2, shared), E::None);
    assert_eq!(carrousel_lock_request(lock, 0, shared), E::WrongLock);
    assert_eq!(carrousel_lock_request(lock, 3, shared), E::NoSuchRank);
    assert_eq!(carrousel_lock_request(lock, 2, 9), E::UnknownValue);
    assert_eq!(carrousel_lock_release(lock, 1), E::WrongLock);
    assert_eq!(carrousel_lock_release(lock, 0), E::None);
    assert_eq!((grant(), grant(), grant()), (Ok((1, shared)), Ok((2, shared)), Err(E::Empty)));
    let mut held = MaybeUninit::uninit();
    assert_eq!(got(|waited| carrousel_lock_died(lock, 1, Some(&mut held), waited)), Ok(0));
    let standing = |origin| got(|standing| carrousel_lock_standing(lock, origin, standing));
    assert_eq!(standing(1), Ok(carrousel_standing::DeadHolder as u32));
    assert_eq!(standing(2), Ok(carrousel_standing::Holds as u32));
    assert_eq!(standing(3), Err(E::NoSuchRank));
    assert_eq!(carrousel_lock_free(Some(&mut lock)), E::None);
}

#[test]
fn a_ticket_gets_the_lock_through_shared_words() {
    let made = |origin| got(|out| carrousel_ticket_create(ABI, None, origin, out)).expect("it can be made");
    let (mut first, mut second) = (made(0), made(1));
    let mut words = [[0_u64; 2]; 5];
    let exclusive = carrousel_lock_mode::Exclusive as u32;
    let run = |ticket, words: &mut [[u64; 2]; 5], begin: Result<carrousel_access, E>| {
        let mut access = begin.expect("it may");
        loop {
            let word = &mut words[access.word as usize][access.owner as usize];
            let answer = *word;
            if access.kind == carrousel_access_kind::Store as u32 {
                *word = access.value;
            } else if access.kind == carrousel_access_kind::Increment as u32 {
                *word += 1;
            }
            let mut next = MaybeUninit::uninit();
            let state = got(|state| carrousel_ticket_answer(ticket, answer, state, Some(&mut next)))
                .expect("it was asked");
            if state != carrousel_ticket_state::Access as u32 {
                return state;
            }
            // SAFETY: it is written.
            access = unsafe { next.assume_init() };
        }
    };
    let request = |ticket| got(|access| carrousel_ticket_request(ticket, exclusive, access));
    assert_eq!(run(first, &mut words, request(first)), carrousel_ticket_state::Holds as u32);
    assert_eq!(run(second, &mut words, request(second)), carrousel_ticket_state::Waits as u32);
    assert_eq!(request(first).err(), Some(E::WrongLock));
    assert_eq!(got(|access| carrousel_ticket_release(second, access)).err(), Some(E::WrongLock));
    assert_eq!(got(|access| carrousel_ticket_poll(first, access)).err(), Some(E::Empty));
    let release = got(|access| carrousel_ticket_release(first, access));
    assert_eq!(run(first, &mut words, release), carrousel_ticket_state::Released as u32);
    let poll = got(|access| carrousel_ticket_poll(second, access));
    assert_eq!(run(second, &mut words, poll), carrousel_ticket_state::Holds as u32);
    assert_eq!(carrousel_ticket_free(Some(&mut first)), E::None);
    assert_eq!(carrousel_ticket_free(Some(&mut second)), E::None);
}

#[test]
fn a_buffer_that_is_used_often_is_registered() {
    let mut policy = got(|policy| carrousel_registration_policy_default(policy)).expect("there is one");
    policy.thresholds = [[2; 9]; 4];
    policy.speculation_percent = 100;
    let make = |policy: carrousel_registration_policy| {
        got(|out| carrousel_registration_create(ABI, None, Some(&policy), out))
    };
    assert_eq!(
        make(carrousel_registration_policy { bucket_bits_max: 40, ..policy }).err(),
        Some(E::UnknownValue)
    );
    assert_eq!(make(carrousel_registration_policy { page_bits: 64, ..policy }).err(), Some(E::UnknownValue));
    assert_eq!(make(carrousel_registration_policy { learns: 3, ..policy }).err(), Some(E::UnknownValue));
    let mut cache = make(policy).expect("it can be made");
    let put = carrousel_path::Put as u32;
    let transfer = |path| got(|route| carrousel_registration_transfer(cache, 0x7000, 2000, path, route));
    assert_eq!(transfer(0).err(), Some(E::UnknownValue));
    assert_eq!(transfer(put).map(|route| route.kind), Ok(carrousel_route_kind::Copy as u32));
    let route = transfer(put).expect("it is right");
    let expected = (carrousel_route_kind::Register as u32, 0x7000, 0x8000);
    assert_eq!((route.kind, route.start, route.end), expected);
    let never = carrousel_region { index: 9, generation: 0 };
    assert_eq!(carrousel_registration_failed(cache, never), E::WrongRegion);
    assert_eq!(got(|usable| carrousel_registration_registered(cache, route.region, usable)), Ok(1));
    assert_eq!(
        got(|usable| carrousel_registration_registered(cache, route.region, usable)),
        Err(E::WrongRegion)
    );
    assert_eq!(carrousel_registration_invalidate(cache, 0x7000, 0), E::WrongLength);
    assert_eq!(carrousel_registration_invalidate(cache, 0x7000, 1), E::None);
    let work = || got(|region| carrousel_registration_next_work(cache, region));
    assert_eq!(work(), Err(E::Empty), "a transfer holds it");
    assert_eq!(carrousel_registration_release(cache, route.region), E::None);
    assert_eq!(done(carrousel_registration_clear(cache)), Err(E::WorkLeft));
    assert_eq!((work(), work()), (Ok(route.region), Err(E::Empty)));
    assert_eq!(carrousel_registration_release(cache, route.region), E::WrongRegion);
    let mut words = [0; 64];
    assert_eq!(carrousel_registration_error_text(cache, words.as_mut_ptr(), words.len(), None), E::None);
    assert_ne!(words[0], 0);
    assert_eq!(carrousel_registration_free(Some(&mut cache)), E::None);
    assert_eq!(cache, ptr::null_mut());
}

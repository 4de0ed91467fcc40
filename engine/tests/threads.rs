//! Endpoints driven by one thread without a lock, and by several behind one; several reductions at a time.
#![allow(unsafe_code, reason = "the endpoint's memory is lent by pointer")]

use carrousel_engine::{CallContext, CallSite, Endpoint, LocalJob, ReduceOp, SendEnvelope, SendKind};
use carrousel_rank::{Collective, Communicator, Handle, Kind, RankId, Source, Tag, TagSelector};
use carrousel_transport_shm::Settings;
use std::sync::{Arc, Mutex};
use std::thread;

const WORLD: CallContext = CallContext { communicator: Communicator::WORLD, site: None };

/// On both sides of the threshold of eager messages.
const SIZES: [usize; 2] = [100, 100_000];
const ROUNDS: u32 = 50;

fn endpoints(ranks: u32) -> Vec<Endpoint> {
    let job = LocalJob::new(ranks);
    (0..ranks).map(|me| job.shm(me, Settings::default()).expect("there is memory")).collect()
}

fn content(len: usize, tag: u32) -> Vec<u8> {
    (0..len as u32).map(|at| (at * 7 + tag) as u8).collect()
}

fn send(endpoint: &mut Endpoint, bytes: &[u8], to: u32, tag: u32) -> Option<Handle> {
    let envelope = SendEnvelope::new(RankId(to), Tag(tag.into()));
    // SAFETY: the callers keep the bytes, and do not change them, until they have ended the request.
    unsafe { endpoint.send(bytes, WORLD.caller(), envelope, SendKind::Standard) }
        .expect("there is such a rank")
}

fn receive(endpoint: &mut Endpoint, bytes: &mut [u8], from: u32, tag: u32) -> Handle {
    let (from, tag) = (Source::Rank(RankId(from)), TagSelector::exact(Tag(tag.into())));
    // SAFETY: the callers keep the bytes, and do not use them, until they have ended the request.
    unsafe { endpoint.receive(bytes, WORLD.caller(), from, tag) }.expect("there is such a rank")
}

/// Waits for a request with the lock held only while the endpoint is called.
fn wait(endpoint: &Mutex<Endpoint>, request: Handle) {
    loop {
        let mut locked = endpoint.lock().expect("no thread has panicked");
        if locked.test(request) {
            return locked.finish(request, |_| ()).expect("it is complete").expect("it has a message");
        }
        drop(locked);
        thread::yield_now();
    }
}

#[test]
fn several_threads_drive_an_endpoint_behind_a_lock() {
    let endpoints: Vec<_> = endpoints(2).into_iter().map(|endpoint| Arc::new(Mutex::new(endpoint))).collect();
    let exchange = |me: u32, tag: u32| {
        let (endpoint, peer) = (&endpoints[me as usize], 1 - me);
        for round in 0..ROUNDS {
            for len in SIZES {
                let (data, mut got) = (content(len, tag + round), vec![0; len]);
                let (sent, received) = {
                    let mut locked = endpoint.lock().expect("no thread has panicked");
                    let received = receive(&mut locked, &mut got, peer, tag);
                    (send(&mut locked, &data, peer, tag), received)
                };
                wait(endpoint, received);
                if let Some(sent) = sent {
                    wait(endpoint, sent);
                }
                assert_eq!(got, data, "rank {me}, tag {tag}, round {round}, {len} bytes");
            }
        }
    };
    // Three threads of each rank, each with a tag of its own.
    thread::scope(|scope| {
        for (me, tag) in (0..2).flat_map(|me| (0..3).map(move |tag| (me, tag))) {
            scope.spawn(move || exchange(me, tag));
        }
    });
}

#[test]
fn one_thread_drives_an_endpoint_without_a_lock() {
    thread::scope(|scope| {
        for (me, mut endpoint) in (0..2).zip(endpoints(2)) {
            // The endpoint moves into another thread than the one that has made it.
            scope.spawn(move || {
                for len in SIZES {
                    let (data, mut got) = (content(len, me), vec![0; len]);
                    let received = receive(&mut endpoint, &mut got, 1 - me, 0);
                    let sent = send(&mut endpoint, &data, 1 - me, 0);
                    for request in [Some(received), sent].into_iter().flatten() {
                        endpoint.wait(request, CallSite::caller(), |_| ()).expect("the peer is there");
                    }
                    assert_eq!(got, content(len, 1 - me));
                }
            });
        }
    });
}

/// Starts an allreduce of one byte; its memory is that of `bytes`: source, target, and scratch.
fn reduce(endpoint: &mut Endpoint, bytes: &mut [Vec<u8>; 3], op: ReduceOp) -> Handle {
    let call =
        Collective { kind: Kind::AllReduce, len: 1, element: 1, ..Collective::barrier(Communicator::WORLD) };
    let needed = endpoint.scratch_len(&call).expect("it is small") as usize;
    let [source, target, scratch] = bytes;
    scratch.resize(needed, 0);
    // SAFETY: the caller keeps the bytes, and does not use them, until it has ended the request.
    let (source, target, scratch) = unsafe {
        let source = endpoint.register(source.as_slice());
        (source, endpoint.register_mut(target.as_mut_slice()), endpoint.register_mut(scratch.as_mut_slice()))
    };
    let call = Collective { source, target, scratch, ..call };
    endpoint.collective(call, Some(op), Kind::AllReduce, CallSite::caller()).expect("all ranks are there")
}

type Combine = fn(u8, u8) -> u8;

#[test]
fn reductions_with_different_operations_are_outstanding_at_a_time() {
    let ops: [Combine; 3] = [u8::wrapping_add, u8::max, |left, right| left ^ right];
    thread::scope(|scope| {
        for (me, mut endpoint) in (0u8..3).zip(endpoints(3)) {
            scope.spawn(move || {
                let mut bytes: [[Vec<u8>; 3]; 3] = ops.map(|_| [vec![me + 5], vec![0], Vec::new()]);
                let start = |(bytes, op): (&mut [Vec<u8>; 3], Combine)| {
                    let op =
                        ReduceOp::new(move |into: &mut [u8], from: &[u8]| into[0] = op(into[0], from[0]));
                    reduce(&mut endpoint, bytes, op)
                };
                let open: Vec<Handle> = bytes.iter_mut().zip(ops).map(start).collect();
                for request in open {
                    endpoint.wait(request, CallSite::caller(), |_| ()).expect("all ranks are there");
                    endpoint.end_collective(request);
                }
                let results = bytes.map(|[_, target, _]| target[0]);
                assert_eq!(results, [5 + 6 + 7, 7, 5 ^ 6 ^ 7]);
            });
        }
    });
}

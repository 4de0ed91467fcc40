//! Waiting for one of several requests, for all, and awaiting them, between ranks that are threads.

use carrousel::{Any, Class, Communicator, Error, Request, block_on, threads, wait_all, wait_any, wait_some};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// On both sides of the threshold of eager messages.
const SIZES: [usize; 3] = [8, 16 << 10, 100_000];

fn run(ranks: u32, body: impl Fn(&Communicator) + Sync) {
    threads(ranks, body).expect("the job can be set up");
}

#[test]
fn any_is_the_one_that_has_come() {
    run(3, |world| {
        for size in SIZES {
            if world.rank() > 0 {
                // Rank 2 is told to send; rank 1 sends when rank 0 has that message.
                world.recv(&mut [0u8; 1], 0, 9).expect("rank 0 is there");
                world.send(&vec![world.rank() as u8; size], 0, 0).expect("rank 0 is there");
                continue;
            }
            let receive = |from| world.irecv(vec![0u8; size], from, 0).expect("there is such a rank");
            let mut open: Vec<Request<u8>> = vec![receive(1), receive(2)];
            for (sender, place) in [(2, 1), (1, 0)] {
                world.send(&[0u8], sender, 9).expect("it is there");
                let (at, outcome) = wait_any(&mut open).expect("there is one left");
                let (buffer, status) = outcome.expect("it fits");
                assert_eq!((at, status.map(|status| status.source)), (place, Some(sender)));
                assert!(buffer == vec![sender as u8; size], "{size} bytes from rank {sender}");
            }
            assert!(open.is_empty() && wait_any(&mut open).is_none());
        }
    });
}

#[test]
fn some_are_all_that_have_come() {
    run(2, |world| {
        const COUNT: u32 = 5000;
        if world.rank() == 1 {
            // Its messages come one half after the other, the first one in reverse.
            for tag in (0..COUNT).step_by(2).rev() {
                world.send(&[tag], 0, tag).expect("rank 0 is there");
            }
            world.recv(&mut [0u8; 1], 0, COUNT).expect("rank 0 is there");
            for tag in (1..COUNT).step_by(2) {
                world.ssend(&[tag], 0, tag).expect("rank 0 is there");
            }
            return;
        }
        let receive = |tag| world.irecv(vec![0u32; 1], 1, tag).expect("there is such a rank");
        let mut open: Vec<Request<u32>> = (0..COUNT).map(receive).collect();
        let mut tags: Vec<u32> = (0..COUNT).collect();
        for half in 0..2 {
            while tags.iter().any(|tag| tag % 2 == half) {
                let some = wait_some(&mut open);
                assert!(some.is_sorted_by_key(|(at, _)| *at) && !some.is_empty());
                for (at, outcome) in some.into_iter().rev() {
                    let (got, _) = outcome.expect("it fits");
                    assert_eq!(got, [tags.remove(at)]);
                    assert!(got[0] % 2 == half);
                }
                assert_eq!(open.len(), tags.len());
            }
            if half == 0 {
                world.send(&[0u8], 1, COUNT).expect("rank 1 is there");
            }
        }
        assert!(wait_some(&mut open).is_empty());
    });
}

#[test]
fn all_come_in_the_order_of_their_requests() {
    run(2, |world| {
        let peer = 1 - world.rank();
        let open = SIZES.map(|size| world.irecv(vec![0u8; size], peer, size as u32));
        let open: Result<Vec<_>, Error> = open.into_iter().collect();
        let sends = SIZES.iter().rev().map(|size| world.isend(vec![*size as u8; *size], peer, *size as u32));
        let sends: Result<Vec<_>, Error> = sends.collect();
        let received = wait_all(open.expect("there is such a rank")).expect("all fit");
        let sizes: Vec<_> = received.iter().map(|(_, status)| status.map(|got| got.bytes as usize)).collect();
        assert_eq!(sizes, SIZES.map(Some));
        assert_eq!(wait_all(sends.expect("there is such a rank")).expect("all are received").len(), 3);
    });
}

/// A request that has been waited for ends before its scope does; another one has its name by then.
#[test]
fn the_end_of_a_scope_is_not_that_of_others() {
    run(2, |world| {
        let peer = 1 - world.rank();
        // Few requests, and so many that those that have ended are looked for.
        for count in [3, 300] {
            let (mut first, mut places) = ([0u8; 1], vec![[0u8; 1]; count]);
            let mut later = None;
            let ended = world.scope(|scope| {
                scope.isend(&[1u8], peer, 1)?;
                let receive = scope.irecv(&mut first, peer, 1)?;
                receive.wait()?;
                later = Some(world.irecv(vec![0u8; 1000], peer, 2)?);
                for (tag, place) in (3..).zip(&mut places) {
                    scope.isend(&[7u8], peer, tag)?;
                    let receive = scope.irecv(place, peer, tag)?;
                    if tag % 3 != 0 {
                        receive.wait()?;
                    }
                }
                Ok(())
            });
            ended.expect("all of them come");
            assert_eq!(first, [1]);
            assert!(places.iter().all(|place| *place == [7]));
            world.send(&[5u8; 1000], peer, 2).expect("it is there");
            let (buffer, _) = later.expect("it was started").wait().expect("it fits");
            assert!(buffer == [5u8; 1000], "the buffer is lent until its request has ended");
        }
    });
}

#[test]
fn all_are_over_when_one_is_wrong() {
    run(2, |world| {
        let peer = 1 - world.rank();
        let room = [100, 10, 100];
        let open: Vec<_> = room.map(|room| world.irecv(vec![0u8; room], peer, 0)).into_iter().collect();
        let open: Vec<_> = open.into_iter().map(|request| request.expect("there is such a rank")).collect();
        world.barrier().expect("both are there");
        for _ in room {
            world.send(&[1u8; 100], peer, 0).expect("it is there");
        }
        let error = wait_all(open).expect_err("the second does not fit");
        assert!(matches!(error, Error::Truncated { sent: 100, room: 10, .. }), "{error}");
        assert_eq!(error.class(), Class::Truncate);
        // The third message is received: nothing is left of it.
        world.barrier().expect("both are there");
        assert_eq!(world.iprobe(Any, Any), Ok(None));
    });
}

#[test]
fn requests_of_a_scope_are_waited_for_too() {
    run(2, |world| {
        let (peer, here) = (1 - world.rank(), [7u8; 100]);
        let mut there = [[0u8; 100]; 3];
        let order = world.scope(|scope| {
            let [one, two, three] = &mut there;
            let mut open = vec![scope.irecv(one, peer, 0)?, scope.irecv(two, peer, 1)?];
            let last = scope.irecv(three, peer, 2)?;
            world.barrier()?;
            for tag in [1, 0, 2] {
                scope.isend(&here, peer, tag)?;
            }
            let mut order = Vec::new();
            while let Some((_, status)) = wait_any(&mut open) {
                order.extend(status?.map(|status| status.tag));
            }
            order.extend(wait_all([last])?[0].map(|status| status.tag));
            Ok(order)
        });
        let order = order.expect("everybody sends");
        assert_eq!(order.len(), 3);
        assert_eq!(order[2], 2);
        assert_eq!(there, [here; 3]);
    });
}

#[test]
fn an_awaited_request_is_what_its_wait_returns() {
    run(2, |world| {
        let peer = 1 - world.rank();
        block_on(async {
            for size in SIZES {
                let receive = world.irecv(vec![0u8; size], peer, 0)?;
                let send = world.isend(vec![3u8; size], peer, 0)?;
                let (buffer, status) = receive.await?;
                assert_eq!(status.map(|status| status.bytes), Some(size as u64));
                assert!(buffer == vec![3; size]);
                assert_eq!(send.await?.0.len(), size);
            }
            Ok::<(), Error>(())
        })
        .expect("both are there");
    });
}

#[test]
fn a_request_that_has_ended_says_so() {
    run(1, |world| {
        world.send(&[1u8; 4], 0, 0).expect("there is such a rank");
        let mut request = world.irecv(vec![0u8; 4], 0, 0).expect("there is such a rank");
        let (buffer, _) = block_on(&mut request).expect("it fits");
        assert_eq!(buffer, [1; 4]);
        assert!(request.test());
        assert_eq!(block_on(&mut request), Err(Error::Ended));
        assert_eq!(request.wait().map_err(|error| error.class()), Err(Class::Request));
    });
}

/// Counts who wakes it.
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_executor_that_waits_to_be_woken_is_woken() {
    run(2, |world| {
        let count = Arc::new(Count(AtomicU32::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        if world.rank() == 0 {
            let mut request = pin!(world.irecv(vec![0u8; 8], 1, 0).expect("there is such a rank"));
            let mut polls = 0;
            let mut poll = |request: Pin<&mut Request<u8>>| request.poll(&mut context);
            assert!(poll(request.as_mut()).is_pending(), "nothing has been sent");
            world.send(&[0u8], 1, 1).expect("rank 1 is there");
            loop {
                polls += 1;
                assert_eq!(count.0.load(Ordering::Relaxed), polls, "a poll in vain wakes the task");
                if let Poll::Ready(outcome) = poll(request.as_mut()) {
                    break assert_eq!(outcome.expect("it fits").0, [5; 8]);
                }
            }
        } else {
            world.recv(&mut [0u8], 0, 1).expect("rank 0 is there");
            world.send(&[5u8; 8], 0, 0).expect("rank 0 is there");
        }
    });
}

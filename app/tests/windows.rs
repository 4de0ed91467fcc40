//! Windows in simulated programs: every call, the bytes that come of it, and the mistakes that are found.

use carrousel_app::*;
use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

fn job(ranks: u32) -> TaskJob {
    TaskJob::new("windows", ranks)
}

fn config() -> Config {
    Config::new(Network::named("qdr").expect("it comes with the simulator"))
}

fn simulated<T: 'static, E: Display, F>(job: &TaskJob, app: impl Fn(World) -> F) -> Vec<T>
where
    F: Future<Output = Result<T, E>> + 'static,
{
    simulate(job, &config(), app).unwrap_or_else(|error| panic!("{error}")).0
}

/// On nodes of their own, and two to a node.
fn places(ranks: u32) -> [TaskJob; 2] {
    let near = TaskJob { nodes: (0..ranks).map(|rank| rank / 2).collect(), ..job(ranks) };
    [job(ranks), near]
}

#[test]
fn a_fence_moves_what_was_put_and_got() {
    for job in places(4) {
        let all = simulated(&job, async |world: World| {
            let (me, size) = (world.rank(), world.size());
            let window = world.window::<u32>(4).await?;
            window.memory_mut()[3] = 100 + me;
            let epoch = window.fence().await?;
            epoch.put(vec![me], (me + 1) % size, 0).await?;
            let got = epoch.get(1, (me + 2) % size, 3).await?;
            let epoch = epoch.fence().await?;
            let got = got.take_one()?;
            // What has come is sent on, without waiting for anybody.
            let here = window.memory()[0];
            epoch.put(vec![here, got], (me + 1) % size, 1).await?;
            let (closed, epoch) = epoch.ifence().await?;
            world.compute(Duration::from_micros(50)).await;
            closed.await?;
            epoch.end().await?;
            let memory = window.memory().to_vec();
            Ok::<_, Error>(memory)
        });
        for (me, memory) in (0..4).zip(all) {
            let (last, before) = ((me + 3) % 4, (me + 2) % 4);
            assert_eq!(memory, [last, before, 100 + (last + 2) % 4, 100 + me], "rank {me}");
        }
    }
}

#[test]
fn columns_of_a_matrix_are_accessed_with_a_stride() {
    const COLUMNS: usize = 3;
    fn column(at: usize) -> Stride {
        Stride { at, block: 1, distance: COLUMNS }
    }
    for job in places(2) {
        let all = simulated(&job, async |world: World| {
            let (me, other) = (world.rank(), 1 - world.rank());
            let window = world.window::<u64>(4 * COLUMNS).await?;
            let epoch = window.fence().await?;
            epoch.put([10, 20, 30, 40].iter().map(|n| n + u64::from(me)).collect(), other, column(1)).await?;
            let epoch = epoch.fence().await?;
            epoch
                .accumulate(AccumulateOp::Sum, vec![1, 2], other, Stride { at: 1, block: 1, distance: 6 })
                .await?;
            let epoch = epoch.fence().await?;
            let got = epoch.get(4, other, column(1)).await?;
            let rows = epoch.get(4, other, Stride { at: 0, block: 2, distance: COLUMNS }).await?;
            let wrong = epoch.get(4, other, column(COLUMNS)).await;
            epoch.fence().await?.end().await?;
            assert!(wrong.is_err(), "the last block begins behind the end");
            let memory = window.memory().to_vec();
            Ok::<_, Error>((memory, got.take()?, rows.take()?))
        });
        for (me, (memory, got, rows)) in (0_u64..2).zip(all) {
            let there = 1 - me;
            assert_eq!(memory, [0, 11 + there, 0, 0, 20 + there, 0, 0, 32 + there, 0, 0, 40 + there, 0]);
            assert_eq!(got, [11 + me, 20 + me, 32 + me, 40 + me], "rank {me}");
            assert_eq!(rows, [0, 11 + me, 0, 20 + me], "rank {me}");
        }
    }
}

#[test]
fn groups_post_start_complete_and_wait() {
    for size in [1, 1_000, 300_000] {
        for job in places(3) {
            let all = simulated(&job, move |world: World| async move {
                let window = world.window::<u8>(size).await?;
                match world.rank() {
                    0 => {
                        let access = window.start(&[1, 2]).await?;
                        for target in [1, 2] {
                            access.put(vec![target as u8; size], target, 0).await?;
                        }
                        access.complete().await?;
                        let access = window.start(&[2]).await?;
                        let got = access.get(size, 2, 0).await?;
                        let closed = access.icomplete().await?;
                        closed.await?;
                        assert_eq!(got.take()?, vec![2; size]);
                    }
                    1 => {
                        window.post(&[0]).await?.wait().await?;
                        assert!(window.memory().iter().all(|byte| *byte == 1));
                    }
                    _ => {
                        for _ in 0..2 {
                            let exposure = window.post(&[0]).await?;
                            let mut closed = exposure.iwait().await?;
                            while !closed.test().await {
                                world.compute(Duration::from_micros(10)).await;
                            }
                            closed.await?;
                        }
                        assert!(window.memory().iter().all(|byte| *byte == 2));
                    }
                }
                Ok::<_, Error>(())
            });
            assert_eq!(all.len(), 3);
        }
    }
}

#[test]
fn locks_make_read_and_write_one() {
    const ROUNDS: u64 = 20;
    for job in places(4) {
        let all = simulated(&job, async |world: World| {
            let window = world.window::<u64>(2).await?;
            for _ in 0..ROUNDS {
                let lock = window.lock(0).await?;
                let seen = lock.get(1, 0, 0).await?;
                lock.flush(0).await?;
                lock.put(vec![seen.take_one()? + 1], 0, 0).await?;
                lock.unlock().await?;
            }
            world.barrier().await?;
            let lock = window.lock_shared(0).await?;
            let seen = lock.rget(1, 0, 0).await?.await?;
            lock.unlock().await?;
            Ok::<_, Error>(seen[0])
        });
        assert_eq!(all, [4 * ROUNDS; 4]);
    }
}

#[test]
fn atomics_need_no_exclusive_lock() {
    for job in places(5) {
        let all = simulated(&job, async |world: World| {
            let me = world.rank();
            let window = world.window::<i64>(6).await?;
            let epoch = window.lock_all().await?;
            epoch.accumulate(AccumulateOp::Sum, vec![1, 10], 0, 0).await?;
            let ticket = epoch.fetch_and_op(AccumulateOp::Sum, 1, 0, 2).await?;
            epoch.raccumulate(AccumulateOp::Max, vec![i64::from(me)], 0, 3).await?.await?;
            let before = epoch.rget_accumulate(AccumulateOp::Or, vec![1 << me], 0, 4).await?;
            // The first one succeeds.
            let swapped = epoch.compare_and_swap(0, 1 + i64::from(me), 0, 5).await?;
            epoch.iflush_all().await?.await?;
            assert_eq!(before.await?.len(), 1);
            let (ticket, first) = (ticket.take_one()?, swapped.take_one()?);
            epoch.flush_local_all().await?;
            epoch.iunlock_all().await?.await?;
            world.barrier().await?;
            let memory = window.memory().to_vec();
            Ok::<_, Error>((memory, ticket, first))
        });
        let memory = &all[0].0;
        assert_eq!(memory[..5], [5, 50, 5, 4, 0b11111]);
        let mut tickets: Vec<i64> = all.iter().map(|(_, ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        assert_eq!(tickets, [0, 1, 2, 3, 4], "each got another");
        assert_eq!(all.iter().filter(|(_, _, first)| *first == 0).count(), 1, "one was first");
        assert!((1..=5).contains(&memory[5]));
    }
}

#[test]
fn epochs_are_closed_in_one_wait() {
    let all = simulated(&job(3), async |world: World| {
        let flags = Flags { access_after_access: true, ..Flags::default() };
        let window = world.window_with::<u32>(3, flags).await?;
        let mut closed = Vec::new();
        for target in 0..3 {
            let lock = window.ilock(target).await?;
            lock.put(vec![7 + world.rank()], target, world.rank() as usize).await?;
            closed.push(lock.iunlock().await?);
        }
        WindowRequest::wait_all(closed).await?;
        world.barrier().await?;
        let memory = window.memory().to_vec();
        Ok::<_, Error>(memory)
    });
    assert_eq!(all, [[7, 8, 9], [7, 8, 9], [7, 8, 9]]);
}

/// What one rank's mistake says.
fn mistake<F>(ranks: u32, app: impl Fn(World) -> F) -> String
where
    F: Future<Output = Result<(), Error>> + 'static,
{
    simulate(&job(ranks), &config(), app).expect_err("it is a mistake").to_string()
}

#[test]
fn mistakes_are_named() {
    let says = |found: String, what: &str| assert!(found.contains(what), "{found}");
    says(
        mistake(2, async |world: World| {
            let window = world.window::<u32>(4).await?;
            let epoch = window.fence().await?;
            epoch.put(vec![1, 2], 1, 3).await?;
            Ok(())
        }),
        "MPI_ERR_RMA_RANGE: elements 3 to 5 of the window at rank 1, which has 4",
    );
    says(
        mistake(3, async |world: World| {
            let window = world.window::<u32>(4).await?;
            let access = window.start(&[1]).await?;
            access.put(vec![1], 2, 0).await
        }),
        "is not a target of the",
    );
    says(
        mistake(2, async |world: World| {
            let window = world.window::<u32>(4).await?;
            let lock = window.lock(1).await?;
            let again = window.lock(1).await?;
            again.unlock().await?;
            lock.unlock().await
        }),
        "MPI_ERR_RMA_SYNC",
    );
    says(
        mistake(2, async |world: World| {
            let window = world.window::<u32>(4).await?;
            let lock = window.lock_all().await?;
            lock.get(1, 1, 0).await?.take().map(drop)
        }),
        "MPI_ERR_RMA_SYNC: the operation is not complete",
    );
    says(
        mistake(2, async |world: World| {
            let window = world.window::<f64>(4).await?;
            window.lock_all().await?.accumulate(AccumulateOp::Xor, vec![1.0], 1, 0).await
        }),
        "MPI_ERR_OP",
    );
    says(
        mistake(2, async |world: World| {
            let window = world.window::<u8>(4).await?;
            let epoch = window.lock_all().await?;
            // Both locks are there now, so a put goes at once.
            let _ = epoch.get(1, 1, 0).await?;
            epoch.flush_all().await?;
            world.barrier().await?;
            let guard = (world.rank() == 1).then(|| window.memory());
            world.barrier().await?;
            match guard {
                None => epoch.put(vec![1], 1, 0).await?,
                Some(guard) => {
                    world.compute(Duration::from_micros(100)).await;
                    assert_eq!(guard[0], 0);
                }
            }
            epoch.unlock_all().await
        }),
        "uses its memory of a window while an operation of rank 0",
    );
    says(
        mistake(2, async |world: World| {
            let window = world.window::<u8>(4).await?;
            if world.rank() == 0 {
                let access = window.start(&[1]).await?;
                access.put(vec![1], 1, 0).await?;
                access.complete().await?;
            }
            Ok(())
        }),
        "`complete` never returns",
    );
}

#[test]
fn real_runs_say_that_they_have_none() {
    let results = threads(1, async |world: World| world.window::<u8>(8).await.map(drop));
    let error =
        results.expect("the ranks have run").remove(0).expect_err("it is not carried out").to_string();
    assert!(error.contains("a window cannot be carried out in real runs yet"), "{error}");
}

//! The same source for real, between threads, and simulated: what comes is the same.

use carrousel_app::*;
use std::time::Duration;

/// On both sides of every threshold: nothing, eager, rendezvous.
const SIZES: [usize; 5] = [0, 8, 1000, 16 << 10, 100_000];

fn pattern(len: usize, seed: u32) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + seed as usize * 7 + at / 251) as u8).collect()
}

/// Uses every call, and returns all that it has received.
async fn all_calls(world: World) -> Result<Vec<u8>, Error> {
    let (me, size) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    let mut all = Vec::new();
    for len in SIZES {
        let (here, mut there) = (pattern(len, me), vec![0u8; len]);
        // Everybody sends to the next, two ways at once.
        let got = world.sendrecv(&here, next, 1, &mut there, last, 1).await?;
        assert_eq!(got, Status { source: last, tag: 1, bytes: len as u64 });
        all.extend_from_slice(&there);
        // One after the other.
        for rank in 0..size {
            there.fill(0);
            match rank {
                _ if rank == me => {
                    world.send(&here, next, 2).await?;
                    world.ssend(&here, next, 3).await?;
                }
                _ if rank == last => {
                    let found = world.probe(Any, 2).await?;
                    assert_eq!(found.count::<u8>()?, len);
                    world.recv(&mut there, found.source, 2).await?;
                    all.extend_from_slice(&there);
                    world.recv(&mut there, Any, 3).await?;
                    all.extend_from_slice(&there);
                }
                _ => {}
            }
            world.barrier().await?;
        }
        assert_eq!(world.iprobe(Any, Any).await?, None);
        // Before somebody sends the next.
        world.barrier().await?;
        all.extend(requests(&world, len).await?);
        all.extend(collectives(&world, len / 8).await?);
    }
    Ok(all)
}

/// Requests, waited for in every way.
async fn requests(world: &World, len: usize) -> Result<Vec<u8>, Error> {
    let (me, size) = (world.rank(), world.size());
    let mut all = Vec::new();
    let mut receives = Vec::new();
    for peer in 0..size {
        receives.push(world.irecv(vec![0u8; len], peer, peer).await?);
    }
    let mut sends = Vec::new();
    for peer in 0..size {
        sends.push(world.isend(pattern(len, me + peer), peer, me).await?);
    }
    world.compute(Duration::from_micros(20)).await;
    let mut any: Vec<Vec<u8>> = vec![Vec::new(); size as usize];
    while let Some((_, outcome)) = wait_any(&mut receives).await {
        let (buffer, status) = outcome?;
        // In which order they come is of the network.
        any[status.map_or(0, |status| status.source) as usize] = buffer;
    }
    all.extend(any.concat());
    for (buffer, status) in wait_all(sends).await? {
        assert_eq!((buffer.len(), status), (len, None));
    }
    let mut receive = world.irecv(vec![0u8; len], (me + 1) % size, 50).await?;
    let send = world.issend(pattern(len, me), (me + size - 1) % size, 50).await?;
    while !receive.test().await {
        world.compute(Duration::from_micros(1)).await;
    }
    all.extend(receive.await?.0);
    send.await?;
    // Nobody sends this: cancelled, and dropped.
    let mut never = world.irecv(vec![1u8; len], Any, 99).await?;
    never.cancel().await;
    assert_eq!(never.await?.1, None);
    drop(world.irecv(vec![1u8; len], Any, 99).await?);
    // A send that is dropped arrives: dropping waits for it.
    let own = world.irecv(vec![0u8; len], me, 7).await?;
    drop(world.isend(pattern(len, me), me, 7).await?);
    all.extend(own.await?.0);
    world.ibarrier().await?.await?;
    Ok(all)
}

async fn collectives(world: &World, len: usize) -> Result<Vec<u8>, Error> {
    let (me, size) = (world.rank(), world.size() as usize);
    let here: Vec<u64> = (0..len as u64).map(|at| at * 3 + u64::from(me)).collect();
    let mut all = Vec::new();
    let mut keep = |values: &[u64]| all.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    let mut data = if me == 1 { here.clone() } else { vec![0; len] };
    world.broadcast(&mut data, 1).await?;
    keep(&data);
    let mut one = vec![0; if me == 2 { len } else { 0 }];
    world.reduce(&here, &mut one, 2, |left, right| left.wrapping_add(right)).await?;
    keep(&one);
    world.allreduce(&here, &mut data, u64::max).await?;
    keep(&data);
    let mut gathered = vec![0; if me == 0 { len * size } else { 0 }];
    world.gather(&here, &mut gathered, 0).await?;
    keep(&gathered);
    let mut everything = vec![0; len * size];
    world.allgather(&here, &mut everything).await?;
    keep(&everything);
    let mut exchanged = vec![0; len * size];
    world.alltoall(&everything, &mut exchanged).await?;
    keep(&exchanged);
    Ok(all)
}

fn config(network: &str) -> Config {
    let mut config = Config::new(Network::named(network).expect("it comes with the simulator"));
    config.timeline = false;
    config
}

#[test]
fn every_call_brings_the_same_bytes_for_real_and_simulated() {
    const RANKS: u32 = 4;
    let real = threads(RANKS, all_calls).expect("the job can be set up");
    let real: Vec<_> = real.into_iter().map(|rank| rank.expect("all is right")).collect();
    assert!(real.iter().all(|bytes| bytes.len() > 1_000_000));
    for network in ["qdr", "shm"] {
        for (_, protocol) in Protocol::ALL {
            for progress in [Progress::None, Progress::Thread] {
                for ranks_per_node in [1, 2] {
                    let nodes = (0..RANKS).map(|rank| rank / ranks_per_node).collect();
                    let job = TaskJob { nodes, ..TaskJob::new("all calls", RANKS) };
                    let config = Config { protocol, progress, ..config(network) };
                    let simulated = simulate(&job, &config, all_calls).expect("all is right").0;
                    assert!(simulated == real, "{network}, {protocol:?}, {progress:?}");
                }
            }
        }
    }
}

#[test]
fn a_simulated_run_is_the_same_each_time() {
    let run = |seed| {
        let config = Config { seed, jitter_per_mille: 500, ..config("qdr") };
        let (values, report) = simulate(&TaskJob::new("all calls", 3), &config, all_calls).expect("it ends");
        (values, serde_json::to_string(&report).expect("it is JSON"))
    };
    assert!(run(1) == run(1));
    let (one, other) = (run(1), run(2));
    assert!(one.0 == other.0, "jitter changes no byte");
    assert!(one.1 != other.1, "jitter changes times");
}

/// The scenario of this name, as a program.
async fn receiver_early(world: World) -> Result<(), Error> {
    let busy = Duration::from_micros(700);
    if world.rank() == 0 {
        let receive = world.irecv(vec![0u8; 1 << 20], 1, 0).await?;
        world.compute(busy).await;
        assert_eq!(wait_all([receive]).await?[0].0, vec![7u8; 1 << 20]);
    } else {
        world.compute(Duration::from_micros(10)).await;
        let send = world.isend(vec![7u8; 1 << 20], 0, 0).await?;
        world.compute(busy).await;
        send.await?;
    }
    Ok(())
}

#[test]
fn a_program_takes_as_long_as_the_scenario_that_does_the_same() {
    let text = "ranks 2\nrank 0\n  r = irecv from 1 tag 0 size 1MiB\n  compute 700us\n  wait r\nrank 1\n  \
                compute 10us\n  s = isend to 0 tag 0 size 1MiB\n  compute 700us\n  wait s\n";
    let scenario = carrousel_scenario::load("early.scn", text.as_bytes()).expect("it is a scenario");
    for (_, protocol) in Protocol::ALL {
        for progress in [Progress::None, Progress::Thread] {
            let config = Config { protocol, progress, ..config("qdr") };
            let expected = carrousel_transport_sim::simulate(&scenario, &config).expect("it ends");
            let (_, found) = simulate(&TaskJob::new("early", 2), &config, receiver_early).expect("it ends");
            let times = |report: &Report| {
                let of = report.statements.iter();
                of.map(|s| (s.rank, s.op.to_string(), s.begin_us, s.end_us, s.complete_us))
                    .collect::<Vec<_>>()
            };
            assert_eq!(times(&found), times(&expected), "{protocol:?}, {progress:?}");
        }
    }
}

#[test]
fn who_is_stuck_is_told_with_the_place_in_the_source() {
    async fn app(world: World) -> Result<(), Error> {
        let peer = 1 - world.rank();
        let request = world.irecv(vec![0u8; 8], peer, 3).await?;
        if world.rank() == 0 {
            request.await?;
        } else {
            world.ssend(&[0u8; 8], peer, 4).await?;
            request.await?;
        }
        Ok(())
    }
    let result = simulate(&TaskJob::new("stuck", 2), &config("qdr"), app);
    let Err(SimError::Deadlock { stuck, .. }) = &result else { panic!("they wait for each other") };
    let said: Vec<_> = stuck.iter().map(|stuck| (stuck.rank, stuck.statement.as_str())).collect();
    assert_eq!(said, [(0, "wait"), (1, "ssend to 0 tag 4, 8 bytes")]);
    assert!(stuck.iter().all(|stuck| stuck.file == Some(file!())));
    let text = result.map(|_| ()).expect_err("they wait").to_string();
    assert!(text.contains("both.rs:"), "{text}");
}

#[test]
fn a_rank_that_fails_is_named() {
    async fn fails(world: World) -> Result<(), String> {
        world.compute(Duration::from_micros(u64::from(world.rank()))).await;
        if world.rank() == 2 { Err("out of luck".to_owned()) } else { Ok(()) }
    }
    async fn panics(world: World) -> Result<(), Error> {
        world.barrier().await?;
        assert_ne!(world.rank(), 1, "not this one");
        world.barrier().await
    }
    let job = TaskJob::new("fails", 4);
    let failed = simulate(&job, &config("qdr"), fails).map(|_| ()).expect_err("rank 2 fails");
    assert_eq!(failed, SimError::Failed { rank: 2, message: "out of luck".to_owned() });
    let panicked = simulate(&job, &config("qdr"), panics).map(|_| ()).expect_err("rank 1 panics");
    assert!(panicked.to_string().starts_with("rank 1 panicked: "), "{panicked}");
    assert!(panicked.to_string().contains("not this one"), "{panicked}");
}

#[test]
fn a_task_that_waits_for_nothing_of_ours_does_not_hang() {
    async fn app(_: World) -> Result<(), Error> {
        std::future::pending().await
    }
    let foreign = simulate(&TaskJob::new("foreign", 2), &config("qdr"), app).map(|_| ());
    assert_eq!(foreign, Err(SimError::Foreign { rank: 0 }));
}

#[test]
fn mistakes_are_the_same_errors() {
    async fn app(world: World) -> Result<Vec<Option<Class>>, Error> {
        let class = |result: Result<(), Error>| result.err().map(|error| error.class());
        let mut found = vec![
            class(world.send(&[0u8], 2, 0).await),
            class(world.send(&[0u8], 0, 1 << 31).await),
            class(world.irecv(vec![0u8], 2, 0).await.map(drop)),
            class(world.broadcast(&mut [0u8], 2).await),
            class(world.allreduce(&[0u8; 2], &mut [0u8], u8::max).await),
            class(world.sendrecv(&[0u8], 5, 0, &mut [0u8], 1, 0).await.map(drop)),
            class(world.sendrecv(&[0u8], world.rank(), 0, &mut [0u8], 5, 0).await.map(drop)),
        ];
        let peer = 1 - world.rank();
        for size in [100, 100_000] {
            let send = world.isend(vec![0u8; size], peer, 0).await?;
            found.push(class(world.recv(&mut [0u8; 10], peer, 0).await.map(drop)));
            send.await?;
        }
        let mut request = world.isend(vec![0u8], world.rank(), 1).await?;
        (&mut request).await?;
        found.push(class(request.await.map(drop)));
        world.recv(&mut [0u8], world.rank(), 1).await?;
        // Of the `sendrecv` that was refused because of its receive, nothing has been sent.
        assert_eq!(world.iprobe(world.rank(), Any).await?, None);
        Ok(found)
    }
    use Class::*;
    let expected = [Rank, Tag, Rank, Rank, Count, Rank, Rank, Truncate, Truncate, Request].map(Some);
    let real = threads(2, app).expect("the job can be set up");
    for rank in real {
        assert_eq!(rank.expect("all errors are expected"), expected);
    }
    let simulated = simulate(&TaskJob::new("wrong", 2), &config("qdr"), app).expect("all are expected").0;
    assert_eq!(simulated, [expected, expected]);
}

#[test]
fn thousands_of_ranks_run_in_one_process() {
    /// A token goes around the ring, and all ranks sum up the ranks that have had it.
    async fn app(world: World) -> Result<u64, Error> {
        let (me, size) = (world.rank(), world.size());
        let mut token = [0u64];
        if me > 0 {
            world.recv(&mut token, me - 1, 0).await?;
        }
        token[0] += u64::from(me);
        world.send(&token, (me + 1) % size, 0).await?;
        if me == 0 {
            world.recv(&mut token, size - 1, 0).await?;
        }
        let mut sum = [0];
        world.allreduce(&[u64::from(me)], &mut sum, |left, right| left + right).await?;
        assert!(me > 0 || token == sum);
        Ok(sum[0])
    }
    const RANKS: u32 = 4096;
    let (sums, report) = simulate(&TaskJob::new("ring", RANKS), &config("qdr"), app).expect("it ends");
    let sum = u64::from(RANKS) * u64::from(RANKS - 1) / 2;
    assert_eq!(sums, vec![sum; RANKS as usize]);
    assert_eq!(report.statements.len(), 3 * RANKS as usize);
}

/// Polls two futures until both are ready, first the first.
async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut one, mut other) = (None, None);
    std::future::poll_fn(|context| {
        use std::task::Poll;
        if one.is_none()
            && let Poll::Ready(value) = a.as_mut().poll(context)
        {
            one = Some(value);
        }
        if other.is_none()
            && let Poll::Ready(value) = b.as_mut().poll(context)
        {
            other = Some(value);
        }
        if one.is_some() && other.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (one.expect("it is ready"), other.expect("it is ready"))
}

#[test]
fn parts_of_a_rank_go_on_side_by_side() {
    async fn app(world: World) -> Result<u64, Error> {
        let peer = 1 - world.rank();
        let chain = async |tag: u32| {
            let mut sum = 0;
            for round in 0..10u64 {
                let receive = world.irecv(vec![0u64], peer, tag).await?;
                let send = world.isend(vec![round * u64::from(tag)], peer, tag).await?;
                sum += receive.await?.0[0];
                send.await?;
            }
            Ok::<_, Error>(sum)
        };
        let (one, other) = both(chain(3), chain(5)).await;
        Ok(one? * 1000 + other?)
    }
    let expected = 45 * 3 * 1000 + 45 * 5;
    let real = threads(2, app).expect("the job can be set up");
    assert_eq!(real, [Ok(expected), Ok(expected)]);
    let simulated = simulate(&TaskJob::new("parts", 2), &config("qdr"), app).expect("it ends").0;
    assert_eq!(simulated, [expected; 2]);
}

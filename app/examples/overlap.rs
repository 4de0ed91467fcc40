//! Overlap: whether a large message moves while both of its ranks compute. One rank receives, the other sends; both
//! start their request, compute, and wait for it. If the data moves meanwhile, neither has to wait.
//!
//! `carrousel run -n 2 -- target/release/examples/overlap`

use carrousel::Communicator;
use std::error::Error;
use std::time::{Duration, Instant};

const BYTES: usize = 1 << 20;
/// The time for which both compute; the late one also begins later by this time.
const COMPUTE: Duration = Duration::from_millis(10);
const LATE: Duration = Duration::from_millis(1);

/// The times of a rank's first call and of its wait, in microseconds.
type Took = [f64; 2];

/// Sends from rank 0 to rank 1; one of them is late. The buffers are allocated and touched before.
fn exchange(world: &Communicator, receiver_is_first: bool) -> Result<Took, Box<dyn Error>> {
    let sends = world.rank() == 0;
    let buffer = vec![if sends { 7u8 } else { 1 }; BYTES];
    world.barrier()?;
    if sends == receiver_is_first {
        compute(LATE);
    }
    let begin = Instant::now();
    let request = if sends { world.isend(buffer, 1, 0)? } else { world.irecv(buffer, 0, 0)? };
    let call = begin.elapsed();
    compute(COMPUTE);
    let begin = Instant::now();
    let (buffer, _) = request.wait()?;
    let wait = begin.elapsed();
    if buffer.iter().any(|byte| *byte != 7) {
        return Err("what came is not what was sent".into());
    }
    Ok([call, wait].map(|time| time.as_secs_f64() * 1e6))
}

/// Computes for this time, without calling the library.
fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let job = carrousel::init()?;
    let world = job.world();
    if world.size() != 2 {
        return Err(format!("two ranks are needed, not {}", world.size()).into());
    }
    for (name, receiver_is_first) in [("receiver first", true), ("sender first", false)] {
        // The first exchange makes the connection.
        exchange(world, receiver_is_first)?;
        let took = exchange(world, receiver_is_first)?;
        if world.rank() == 1 {
            world.send(&took, 0, 1)?;
            continue;
        }
        let ([isend, send_wait], mut received) = (took, [0.0; 2]);
        world.recv(&mut received, 1, 1)?;
        let [irecv, recv_wait] = received;
        println!("{name}: irecv {irecv:.1} us, its wait {recv_wait:.1} us");
        println!("{name}: isend {isend:.1} us, its wait {send_wait:.1} us");
    }
    job.finalize()?;
    Ok(())
}

//! Jobs of one kind, with known bounds of time and memory.

use crate::Counts;
use crate::group::Burst;
use crate::plan::{Sending, content};
use carrousel::{Communicator, Error};
use fastrand::Rng;
use std::time::Duration;

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Case {
    /// The plan of the seed
    Plan,
    /// Join and leave
    Empty,
    /// Join, meet in a barrier, and leave
    Start,
    /// Rank 0 sends 200 MB in small messages to rank 1, which makes no call for a second
    Flood,
    /// Rank 0 has 40,000 sends of 16 KiB under way to rank 1
    Outstanding,
    /// Rank 0 has 100,000 sends of 100 bytes under way to rank 1, which has as many receives posted
    Posted,
    /// More communicators are made and given up than there are numbers
    Communicators,
    /// A message of each kind, and a collective: so short that each of its system calls can be made to fail
    Small,
}

/// Runs the case; not [`Case::Plan`].
pub(crate) fn run(case: Case, world: &Communicator) -> Result<Counts, String> {
    let text = |error: Error| error.to_string();
    let mut rng = Rng::with_seed(1);
    let burst = |count, bytes, sending, late| Burst {
        senders: &[0],
        receiver: 1,
        count,
        bytes,
        sending,
        late: Duration::from_millis(late),
        tag: 0,
        key: 1,
    };
    match case {
        Case::Plan => Err("a plan takes a seed".to_owned()),
        Case::Empty => Ok(Counts::default()),
        Case::Start => {
            world.barrier().map_err(text)?;
            Ok(Counts::default())
        }
        Case::Flood => burst(200_000, 1000, Sending::Blocking, 1000).run(world, &mut rng),
        Case::Outstanding => {
            let mut counts = burst(40_000, 16 << 10, Sending::Outstanding, 200).run(world, &mut rng)?;
            counts.include(burst(40_000, 16 << 10, Sending::Reversed, 200).run(world, &mut rng)?);
            Ok(counts)
        }
        Case::Posted => posted(world),
        Case::Communicators => communicators(world),
        Case::Small => small(world),
    }
}

/// Each message has a tag of its own. The cost of one must not depend on the others.
fn posted(world: &Communicator) -> Result<Counts, String> {
    const MESSAGES: u32 = 100_000;
    const BYTES: usize = 100;
    let text = |error: Error| error.to_string();
    let data = content(1, BYTES);
    let mut counts = Counts::default();
    if world.rank() == 0 {
        let send =
            world.scope(|scope| (0..MESSAGES).try_for_each(|number| scope.isend(&data, 1, number).map(drop)));
        send.map_err(text)?;
        return Ok(counts);
    }
    let mut all = vec![0; BYTES * MESSAGES as usize];
    let receive = world.scope(|scope| {
        let mut buffers = (0..).zip(all.chunks_mut(BYTES));
        buffers.try_for_each(|(number, buffer)| scope.irecv(buffer, 0, number).map(drop))
    });
    receive.map_err(text)?;
    for (number, got) in all.chunks(BYTES).enumerate() {
        if got != data {
            return Err(format!("message {number} is wrong"));
        }
        counts.add(BYTES);
    }
    Ok(counts)
}

/// More than fit into 16 bits.
const COMMUNICATORS: u32 = 70_000;

fn communicators(world: &Communicator) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let (me, size) = (world.rank(), world.size());
    for number in 0..COMMUNICATORS {
        let new = world.duplicate().map_err(|error| format!("communicator {number}: {error}"))?;
        if number % 1000 == 0 {
            let mut got = [0];
            let status = new.sendrecv(&[number], (me + 1) % size, 0, &mut got, (me + size - 1) % size, 0);
            status.map_err(|error| format!("communicator {number}: {error}"))?;
            if got != [number] {
                return Err(format!("communicator {number}: got {got:?}"));
            }
            counts.add(4);
        }
    }
    Ok(counts)
}

fn small(world: &Communicator) -> Result<Counts, String> {
    let text = |error: Error| error.to_string();
    let (me, size) = (world.rank(), world.size());
    let (to, from) = ((me + 1) % size, (me + size - 1) % size);
    let mut counts = Counts::default();
    for bytes in [0, 100, 5000, 20_000, 300_000] {
        let mut buffer = vec![0u8; bytes];
        world.sendrecv(&vec![me as u8 + 1; bytes], to, 7, &mut buffer, from, 7).map_err(text)?;
        if buffer.iter().any(|byte| u32::from(*byte) != from + 1) {
            return Err(format!("a message of {bytes} bytes is wrong"));
        }
        counts.add(bytes);
    }
    let mut sum = [0];
    world.allreduce(&[me], &mut sum, |left, right| left + right).map_err(text)?;
    match sum == [size * (size - 1) / 2] {
        true => Ok(counts),
        false => Err(format!("the sum of all ranks is {sum:?}")),
    }
}

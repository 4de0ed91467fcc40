//! Gathers the results of the statements of all ranks at rank 0.

use crate::run_scenario::Done;
use carrousel::{Communicator, Error, Status};

/// The tag by which ranks send their results to rank 0.
const DONE: u32 = 0;

/// The results of the statements of all ranks, by rank, at rank 0; an empty list at other ranks. All ranks call it.
///
/// # Errors
/// If the library returns an error.
pub fn gather(world: &Communicator, done: &[Done]) -> Result<Vec<Vec<Done>>, Error> {
    // A communicator of its own: no receive of the program can match these messages.
    let world = world.duplicate()?;
    let numbers: Vec<Numbers> = done.iter().map(numbers).collect();
    if world.rank() > 0 {
        world.send(&numbers, 0, DONE)?;
        return Ok(Vec::new());
    }
    let mut all = vec![done.to_vec()];
    for rank in 1..world.size() {
        let status = world.probe(rank, DONE)?;
        let mut numbers: Vec<Numbers> = vec![[0.0; 8]; status.count::<Numbers>()?];
        world.recv(&mut numbers, rank, DONE)?;
        all.push(numbers.into_iter().map(from_numbers).collect());
    }
    Ok(all)
}

/// A result as a message to rank 0: times, destination and tag, source, tag and bytes. A missing number is NaN. All
/// numbers except times and sizes have 32 bits, so they are exact.
type Numbers = [f64; 8];

fn numbers(done: &Done) -> Numbers {
    let Done { times: [begin, end, complete], sent, received } = *done;
    let (to, tag) = sent.map_or((f64::NAN, f64::NAN), |(to, tag)| (to.into(), tag.into()));
    let [from, of, bytes] = received
        .map_or([f64::NAN; 3], |Status { source, tag, bytes }| [source.into(), tag.into(), bytes as f64]);
    [begin, end, complete, to, tag, from, of, bytes]
}

fn from_numbers([begin, end, complete, to, tag, from, of, bytes]: Numbers) -> Done {
    let sent = (!to.is_nan()).then_some((to as u32, tag as u32));
    let received =
        (!from.is_nan()).then_some(Status { source: from as u32, tag: of as u32, bytes: bytes as u64 });
    Done { times: [begin, end, complete], sent, received }
}

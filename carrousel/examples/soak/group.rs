//! Common actions of the ranks of a communicator: collectives, shifts, and bursts to a rank that comes late.

use crate::plan::{CollectiveKind, Sending, content};
use crate::{Counts, pause};
use carrousel::{Any, Communicator, Error};
use fastrand::Rng;
use std::thread;
use std::time::Duration;

/// The contribution of a member to a collective.
fn elements(key: u64, member: u32, count: usize) -> Vec<u64> {
    let bytes = content(key ^ (u64::from(member) + 1), count * size_of::<u64>());
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// A reduction is associative and commutative, in any order of the members.
type Combine = fn(u64, u64) -> u64;
const COMBINE: [Combine; 3] = [u64::wrapping_add, |left, right| left ^ right, |left, right| left.max(right)];

fn differ(kind: CollectiveKind, found: &[u64], expected: &[u64]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
    let wrong = found.iter().zip(expected).filter(|(found, expected)| found != expected).count();
    Err(format!("{kind:?}: {wrong} of {} elements are wrong, the first one at {at:?}", expected.len()))
}

/// Calls a collective, and checks its result.
pub(crate) fn collective(
    communicator: &Communicator,
    kind: CollectiveKind,
    (root, count, key): (u32, usize, u64),
    rng: &mut Rng,
) -> Result<Counts, String> {
    let (me, size) = (communicator.rank(), communicator.size());
    let text = |error: Error| error.to_string();
    let own = elements(key, me, count);
    let combine = COMBINE[(key % COMBINE.len() as u64) as usize];
    let reduced = || {
        let mut members = (0..size).map(|member| elements(key, member, count));
        let first = members.next().unwrap_or_default();
        members.fold(first, |all, its| {
            all.into_iter().zip(its).map(|(left, right)| combine(left, right)).collect()
        })
    };
    let all = || -> Vec<u64> { (0..size).flat_map(|member| elements(key, member, count)).collect() };
    let is_root = me == root;
    match kind {
        // All members draw the same: `barrier` and `ibarrier` are different collectives (MPI-4.1 6.12).
        CollectiveKind::Barrier if key % 2 == 0 => communicator.barrier().map_err(text)?,
        CollectiveKind::Barrier => {
            let mut request = communicator.ibarrier().map_err(text)?;
            while !request.test() {
                pause(rng);
            }
            request.wait().map_err(text)?;
        }
        CollectiveKind::Broadcast => {
            let mut data = if is_root { own } else { vec![0; count] };
            communicator.broadcast(&mut data, root).map_err(text)?;
            differ(kind, &data, &elements(key, root, count))?;
        }
        CollectiveKind::Reduce => {
            let mut target = vec![0; if is_root { count } else { 0 }];
            communicator.reduce(&own, &mut target, root, combine).map_err(text)?;
            differ(kind, &target, &if is_root { reduced() } else { Vec::new() })?;
        }
        CollectiveKind::AllReduce => {
            let mut target = vec![0; count];
            communicator.allreduce(&own, &mut target, combine).map_err(text)?;
            differ(kind, &target, &reduced())?;
        }
        CollectiveKind::Gather => {
            let mut target = vec![0; if is_root { count * size as usize } else { 0 }];
            communicator.gather(&own, &mut target, root).map_err(text)?;
            differ(kind, &target, &if is_root { all() } else { Vec::new() })?;
        }
        CollectiveKind::AllGather => {
            let mut target = vec![0; count * size as usize];
            communicator.allgather(&own, &mut target).map_err(text)?;
            differ(kind, &target, &all())?;
        }
        CollectiveKind::AllToAll => {
            let source = elements(key, me, count * size as usize);
            let mut target = vec![0; count * size as usize];
            communicator.alltoall(&source, &mut target).map_err(text)?;
            let part = me as usize * count..(me as usize + 1) * count;
            let expected: Vec<u64> = (0..size)
                .flat_map(|member| elements(key, member, count * size as usize)[part.clone()].to_vec())
                .collect();
            differ(kind, &target, &expected)?;
        }
    }
    Ok(Counts { collectives: 1, ..Counts::default() })
}

/// Every rank sends and receives at the same time.
pub(crate) fn shift(communicator: &Communicator, by: u32, bytes: usize, key: u64) -> Result<Counts, String> {
    let (me, size) = (communicator.rank(), communicator.size());
    let (to, from) = ((me + by) % size, (me + size - by) % size);
    let mine = content(key ^ u64::from(me), bytes);
    let mut buffer = vec![0; bytes];
    let status =
        communicator.sendrecv(&mine, to, 5, &mut buffer, from, 5).map_err(|error| error.to_string())?;
    let mut counts = Counts::default();
    counts.add(bytes);
    match buffer == content(key ^ u64::from(from), bytes) && (status.source, status.tag) == (from, 5) {
        true => Ok(counts),
        false => Err(format!("a message of {bytes} bytes from rank {from} is wrong: {status:?}")),
    }
}

/// Many messages of one size to a receiver that comes later.
pub(crate) struct Burst<'a> {
    pub(crate) senders: &'a [u32],
    pub(crate) receiver: u32,
    pub(crate) count: u32,
    pub(crate) bytes: usize,
    pub(crate) sending: Sending,
    pub(crate) late: Duration,
    /// The tag of all messages, if they are received in their order.
    pub(crate) tag: u32,
    pub(crate) key: u64,
}

impl Burst<'_> {
    pub(crate) fn run(&self, communicator: &Communicator, rng: &mut Rng) -> Result<Counts, String> {
        let me = communicator.rank();
        let done = if me == self.receiver {
            self.receive(communicator, rng)
        } else if self.senders.contains(&me) {
            self.send(communicator).map_err(|error| error.to_string())
        } else {
            Ok(Counts::default())
        };
        done.map_err(|wrong| format!("a burst of {} x {} bytes: {wrong}", self.count, self.bytes))
    }

    fn content(&self, sender: u32) -> Vec<u8> {
        content(self.key ^ u64::from(sender), self.bytes)
    }

    fn send(&self, communicator: &Communicator) -> Result<Counts, Error> {
        // All messages have the same bytes, except for the first ones, which contain a number.
        let mut data = self.content(communicator.rank());
        if self.sending == Sending::Blocking {
            for number in 0..self.count {
                mark(&mut data, number);
                communicator.send(&data, self.receiver, self.tag)?;
            }
            return Ok(Counts::default());
        }
        communicator.scope(|scope| {
            for number in 0..self.count {
                let tag = if self.sending == Sending::Reversed { number } else { self.tag };
                scope.isend(&data, self.receiver, tag)?;
            }
            Ok(())
        })?;
        Ok(Counts::default())
    }

    fn receive(&self, communicator: &Communicator, rng: &mut Rng) -> Result<Counts, String> {
        thread::sleep(self.late);
        let text = |error: Error| error.to_string();
        let mut counts = Counts::default();
        let mut buffer = vec![0; self.bytes];
        if self.sending == Sending::Reversed {
            for sender in self.senders {
                let expected = self.content(*sender);
                for number in (0..self.count).rev() {
                    communicator.recv(&mut buffer, *sender, number).map_err(text)?;
                    if buffer != expected {
                        return Err(format!("message {number} of rank {sender} is wrong"));
                    }
                    counts.add(self.bytes);
                }
            }
            return Ok(counts);
        }
        let mut next: Vec<(u32, Vec<u8>)> =
            self.senders.iter().map(|sender| (0, self.content(*sender))).collect();
        for _ in 0..self.count as usize * self.senders.len() {
            let status = communicator.recv(&mut buffer, Any, self.tag).map_err(text)?;
            let at = self.senders.iter().position(|sender| *sender == status.source);
            let (number, expected) =
                at.and_then(|at| next.get_mut(at)).ok_or("a message that nobody sends")?;
            if self.sending == Sending::Blocking {
                mark(expected, *number);
            }
            if buffer != *expected || status.bytes != self.bytes as u64 {
                return Err(format!("message {number} of rank {} is wrong: {status:?}", status.source));
            }
            *number += 1;
            counts.add(self.bytes);
            if rng.u32(..500) == 0 {
                pause(rng);
            }
        }
        Ok(counts)
    }
}

/// Writes the number of a message into its first bytes, if they have room for it.
fn mark(data: &mut [u8], number: u32) {
    if let Some(first) = data.first_chunk_mut() {
        *first = number.to_le_bytes();
    }
}

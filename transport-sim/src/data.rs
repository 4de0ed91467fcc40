//! The bytes of a rank that a task drives: the buffers of its requests, and arrived data.
//!
//! A buffer is moved here when its request begins, and moved back when the request ends. So the simulator never
//! writes to memory of the task, even if the task is dropped in between.

use crate::keys::ByKey;
use crate::window_data::{InOperation, SharedMemory};
use carrousel_rank::{Handle, Kept, Memory, Work};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fmt;
use std::sync::Arc;

/// Combines the first bytes with the second ones, into the first.
pub type ReduceOp = Arc<dyn Fn(&mut [u8], &[u8]) + Send + Sync>;

/// The bytes of one rank.
#[derive(Default)]
pub(crate) struct Data {
    /// Buffers of requests, by key. The address of a name counts from the beginning of its buffer.
    buffers: BTreeMap<u32, Vec<u8>>,
    /// The last key that was assigned.
    last: u32,
    /// Data that arrived before its receive.
    kept: BTreeMap<Kept, Vec<u8>>,
    /// The data of eager packets that have arrived and are not handled yet, in order of arrival.
    arrived: VecDeque<Vec<u8>>,
    /// The data of the packet that is being handled.
    at_hand: Vec<u8>,
    /// The memory of each request.
    lent: BTreeMap<Handle, Lent>,
    /// The rank's memory of each window.
    pub(crate) windows: Vec<SharedMemory>,
    /// Operations on windows that are not complete, by name.
    pub(crate) operations: ByKey<u64, InOperation>,
    /// The last name that was given.
    last_operation: u64,
}

/// The memory of a request.
#[derive(Default)]
pub(crate) struct Lent {
    /// The keys of its buffers.
    pub(crate) keys: Vec<u32>,
    /// The key of the buffer that the task gets back.
    pub(crate) back: Option<u32>,
    /// The operation of a reduction.
    pub(crate) op: Option<ReduceOp>,
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Data").field("buffers", &self.buffers.len()).finish_non_exhaustive()
    }
}

impl Data {
    /// Takes a buffer in, and returns its name.
    pub(crate) fn register(&mut self, bytes: Vec<u8>) -> Memory {
        loop {
            self.last = self.last.wrapping_add(1);
            if let Entry::Vacant(entry) = self.buffers.entry(self.last) {
                entry.insert(bytes);
                return Memory { address: 0, key: self.last };
            }
        }
    }

    /// An operation on a window begins; returns its name.
    pub(crate) fn begin_operation(&mut self, operation: InOperation) -> u64 {
        self.last_operation += 1;
        self.operations.insert(self.last_operation, operation);
        self.last_operation
    }

    /// A request with this memory has begun.
    pub(crate) fn lend(&mut self, request: Handle, lent: Lent) {
        self.lent.insert(request, lent);
    }

    /// Drops the memory of a request that was refused.
    pub(crate) fn forget(&mut self, lent: &Lent) {
        for key in &lent.keys {
            self.buffers.remove(key);
        }
    }

    /// A request has ended: returns the buffer for the task, or an empty one.
    pub(crate) fn end(&mut self, request: Handle) -> Vec<u8> {
        let Some(lent) = self.lent.remove(&request) else { return Vec::new() };
        let back = lent.back.and_then(|key| self.buffers.remove(&key)).unwrap_or_default();
        self.forget(&lent);
        back
    }

    /// The bytes under a name; empty if it has none.
    pub(crate) fn bytes(&self, memory: Memory, len: u64) -> &[u8] {
        let buffer = self.buffers.get(&memory.key).map_or(&[][..], Vec::as_slice);
        range(memory, len).and_then(|range| buffer.get(range)).unwrap_or_default()
    }

    /// Writes under a name; does nothing if it has not enough room.
    pub(crate) fn write(&mut self, memory: Memory, bytes: &[u8]) {
        let buffer = self.buffers.get_mut(&memory.key);
        let place = buffer.zip(range(memory, bytes.len() as u64));
        if let Some(place) = place.and_then(|(buffer, range)| buffer.get_mut(range)) {
            place.copy_from_slice(bytes);
        }
    }

    /// An eager packet has arrived, with this data.
    pub(crate) fn arrive(&mut self, bytes: Vec<u8>) {
        self.arrived.push_back(bytes);
    }

    /// The first arrived eager packet is handled now.
    pub(crate) fn handle(&mut self) {
        self.at_hand = self.arrived.pop_front().unwrap_or_default();
    }

    /// Carries out an output that moves bytes within this rank.
    pub(crate) fn perform(&mut self, work: Work) {
        match work {
            Work::Place { into, len, .. } => self.place(into, len),
            Work::Keep { kept, .. } => {
                self.kept.insert(kept, std::mem::take(&mut self.at_hand));
            }
            Work::Take { kept, into, len, .. } => self.take(kept, into, len),
            Work::Copy { from, into, len } => self.copy(from, into, len),
            Work::Combine { request, from, into, len } => self.combine(request, from, into, len),
            Work::Send { .. }
            | Work::Write { .. }
            | Work::Read { .. }
            | Work::Window { .. }
            | Work::Complete { .. } => {}
        }
    }

    /// Copies the data of the present packet to its place.
    fn place(&mut self, into: Memory, len: u64) {
        let mut bytes = std::mem::take(&mut self.at_hand);
        bytes.truncate(len as usize);
        self.write(into, &bytes);
        self.at_hand = bytes;
    }

    /// Copies kept data to its place.
    fn take(&mut self, kept: Kept, into: Memory, len: u64) {
        let mut bytes = self.kept.remove(&kept).unwrap_or_default();
        bytes.truncate(len as usize);
        self.write(into, &bytes);
    }

    /// Copies from one place to another.
    fn copy(&mut self, from: Memory, into: Memory, len: u64) {
        let bytes = self.bytes(from, len).to_vec();
        self.write(into, &bytes);
    }

    /// Combines by the operation of a reduction.
    fn combine(&mut self, request: Handle, from: Memory, into: Memory, len: u64) {
        let (from, mut result) = (self.bytes(from, len), self.bytes(into, len).to_vec());
        if let Some(op) = self.lent.get(&request).and_then(|lent| lent.op.as_ref()) {
            op(&mut result, from);
            self.write(into, &result);
        }
    }
}

fn range(memory: Memory, len: u64) -> Option<std::ops::Range<usize>> {
    let end = memory.address.checked_add(len)?;
    Some(usize::try_from(memory.address).ok()?..usize::try_from(end).ok()?)
}

/// The data on its way between ranks that tasks drive: the network itself carries sizes only.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    /// The data of eager packets, by transfer.
    pub(crate) eager: BTreeMap<u32, Vec<u8>>,
    /// The source and the target of each write, by the writing rank and its request.
    pub(crate) writes: BTreeMap<(u32, Handle), (Memory, Memory)>,
    /// The source and the target of each read, by the reading rank and its request.
    pub(crate) reads: BTreeMap<(u32, Handle), (Memory, Memory)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Handle = Handle { index: 3, generation: 1 };

    #[test]
    fn a_buffer_is_there_until_its_request_ends() {
        let mut data = Data::default();
        let memory = data.register(vec![1, 2, 3, 4]);
        data.lend(REQUEST, Lent { keys: vec![memory.key], back: Some(memory.key), op: None });
        data.write(Memory { address: 2, ..memory }, &[9, 9]);
        assert_eq!(data.bytes(memory, 4), [1, 2, 9, 9]);
        assert_eq!(data.end(REQUEST), [1, 2, 9, 9]);
        assert_eq!(data.bytes(memory, 4), [0; 0]);
        data.write(memory, &[5]);
        assert_eq!(data.end(REQUEST), [0; 0]);
    }

    #[test]
    fn what_is_outside_of_a_buffer_is_nowhere() {
        let mut data = Data::default();
        let memory = data.register(vec![1, 2, 3, 4]);
        for (address, len) in [(0, 5), (4, 1), (u64::MAX, 2)] {
            assert_eq!(data.bytes(Memory { address, ..memory }, len), [0; 0], "{address}");
        }
        data.write(Memory { address: 3, ..memory }, &[7, 7]);
        assert_eq!(data.bytes(memory, 4), [1, 2, 3, 4]);
    }

    #[test]
    fn a_reduction_combines_by_its_own_operation() {
        let mut data = Data::default();
        let (from, into) = (data.register(vec![1, 2]), data.register(vec![10, 20]));
        let add: ReduceOp = Arc::new(|into, from| into.iter_mut().zip(from).for_each(|(l, r)| *l += r));
        data.lend(REQUEST, Lent { keys: vec![], back: None, op: Some(add) });
        data.combine(Handle { index: 4, generation: 1 }, from, into, 2);
        assert_eq!(data.bytes(into, 2), [10, 20], "of a request that is no reduction");
        data.combine(REQUEST, from, into, 2);
        assert_eq!(data.bytes(into, 2), [11, 22]);
    }
}

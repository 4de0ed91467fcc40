//! The bytes of windows that tasks have made, and of the operations on them.
//!
//! The memory of a window is shared with its task, which sees it through guards. So an operation that takes place while
//! the task has a guard of that memory is a race of the program, and ends the run with the names of both.

use carrousel_rank::epoch::{self, AccumulateOp, ElementType, TransferKind};
use std::cell::RefCell;
use std::rc::Rc;
use zerocopy::IntoBytes;

/// Memory that one rank gives to a window, aligned for any element.
#[derive(Debug, Default)]
pub struct WindowMemory {
    words: Vec<u128>,
    len: usize,
}

impl WindowMemory {
    /// So many bytes, all zero.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(size_of::<u128>())], len }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.words.as_bytes()[..self.len]
    }

    /// Its bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.words.as_mut_bytes()[..self.len]
    }
}

/// A rank's memory of a window: its task has it, too.
pub type SharedMemory = Rc<RefCell<WindowMemory>>;

/// The bytes that an operation fetches, once it is complete.
pub type Fetched = Rc<RefCell<Option<Vec<u8>>>>;

/// What an operation brings along.
#[derive(Debug, Default)]
pub struct Operand {
    /// What is written, combined or swapped in.
    pub bytes: Vec<u8>,
    /// How it is combined with the target, if it is.
    pub combine: Option<(AccumulateOp, ElementType)>,
    /// What a compare-and-swap compares with.
    pub compare: Vec<u8>,
    /// Where to leave what is fetched, if somebody takes it.
    pub fetched: Option<Fetched>,
}

/// An operation under way.
#[derive(Debug)]
pub(crate) struct InOperation {
    operand: Operand,
    /// What was fetched; the task sees it when the operation is complete.
    found: Option<Vec<u8>>,
    /// The statement that has begun it.
    pub(crate) statement: u32,
}

impl Operand {
    /// Changes one block of the target, for which the operands from `at` on are. A window without bytes has none.
    fn change(&self, kind: TransferKind, target: &mut [u8], at: usize) {
        let Some(bytes) = self.bytes.get(at..at + target.len()) else { return };
        match (kind, self.combine) {
            (TransferKind::CompareAndSwap, _) if target != self.compare.as_slice() => {}
            (TransferKind::Put | TransferKind::CompareAndSwap, _) => target.copy_from_slice(bytes),
            (_, Some((op, element))) => {
                let applied = op.apply(element, target, bytes);
                debug_assert_eq!(applied, Ok(()), "it was checked when it was called");
            }
            (_, None) => {}
        }
    }
}

impl InOperation {
    pub(crate) fn new(operand: Operand, statement: u32) -> Self {
        Self { operand, found: None, statement }
    }

    /// It is complete.
    pub(crate) fn end(self) {
        if let (Some(found), Some(fetched)) = (self.found, self.operand.fetched) {
            fetched.replace(Some(found));
        }
    }

    /// It takes place in this memory; false if the memory is in use.
    pub(crate) fn take_place(&mut self, memory: &RefCell<WindowMemory>, transfer: &epoch::Transfer) -> bool {
        let len = transfer.place.len as usize;
        let ranges = transfer.place.offsets().map(|offset| offset as usize..offset as usize + len);
        if transfer.kind == TransferKind::Get {
            let Ok(memory) = memory.try_borrow() else { return false };
            let blocks: Option<Vec<&[u8]>> = ranges.map(|range| memory.bytes().get(range)).collect();
            self.found = blocks.map(|blocks| blocks.concat());
            return true;
        }
        let Ok(mut memory) = memory.try_borrow_mut() else { return false };
        let mut found = Vec::new();
        for (at, range) in ranges.enumerate() {
            let Some(target) = memory.bytes_mut().get_mut(range) else { return true };
            if transfer.kind.reads() {
                found.extend_from_slice(target);
            }
            self.operand.change(transfer.kind, target, at * len);
        }
        self.found = transfer.kind.reads().then_some(found);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::RankId;
    use carrousel_rank::epoch::Blocks;

    fn transfer(kind: TransferKind, offset: u64, len: u64) -> epoch::Transfer {
        epoch::Transfer { target: RankId(1), kind, place: Blocks::contiguous(offset, len), local: 1 }
    }

    fn memory(bytes: &[u8]) -> RefCell<WindowMemory> {
        let mut memory = WindowMemory::new(bytes.len());
        memory.bytes_mut().copy_from_slice(bytes);
        RefCell::new(memory)
    }

    #[test]
    fn each_kind_does_what_it_is_called() {
        let sum = Some((AccumulateOp::Sum, ElementType::U8));
        let kinds = [
            (TransferKind::Put, None, vec![], [1, 9, 8, 4], None),
            (TransferKind::Get, None, vec![], [1, 2, 3, 4], Some(vec![2, 3])),
            (TransferKind::Accumulate, sum, vec![], [1, 11, 11, 4], None),
            (TransferKind::GetAccumulate, sum, vec![], [1, 11, 11, 4], Some(vec![2, 3])),
            (TransferKind::FetchAndOp, sum, vec![], [1, 11, 11, 4], Some(vec![2, 3])),
            (TransferKind::CompareAndSwap, None, vec![2, 3], [1, 9, 8, 4], Some(vec![2, 3])),
            (TransferKind::CompareAndSwap, None, vec![2, 4], [1, 2, 3, 4], Some(vec![2, 3])),
        ];
        for (kind, combine, compare, expected, fetched) in kinds {
            let memory = memory(&[1, 2, 3, 4]);
            let seen = Fetched::default();
            let fetching = Some(Rc::clone(&seen));
            let operand = Operand { bytes: vec![9, 8], combine, compare, fetched: fetching };
            let mut operation = InOperation::new(operand, 0);
            assert!(operation.take_place(&memory, &transfer(kind, 1, 2)));
            assert_eq!(memory.borrow().bytes(), expected, "{kind:?}");
            assert_eq!(seen.take(), None, "not before it is complete");
            operation.end();
            assert_eq!(seen.take(), fetched, "{kind:?}");
        }
    }

    #[test]
    fn blocks_are_taken_one_after_the_other() {
        let memory = memory(&[1, 2, 3, 4, 5]);
        let place = Blocks { offset: 0, len: 1, count: 3, stride: 2 };
        let take = |kind, bytes: Vec<u8>| {
            let seen = Fetched::default();
            let combine = Some((AccumulateOp::Sum, ElementType::U8));
            let operand = Operand { bytes, combine, fetched: Some(Rc::clone(&seen)), ..Operand::default() };
            let mut operation = InOperation::new(operand, 0);
            assert!(operation.take_place(&memory, &epoch::Transfer { place, ..transfer(kind, 0, 0) }));
            operation.end();
            seen.take()
        };
        assert_eq!(take(TransferKind::Put, vec![9, 8, 7]), None);
        assert_eq!(memory.borrow().bytes(), [9, 2, 8, 4, 7]);
        assert_eq!(take(TransferKind::GetAccumulate, vec![1, 1, 1]), Some(vec![9, 8, 7]));
        assert_eq!(take(TransferKind::Get, vec![]), Some(vec![10, 9, 8]));
        assert_eq!(memory.borrow().bytes(), [10, 2, 9, 4, 8]);
    }

    #[test]
    fn memory_that_is_in_use_is_not_touched() {
        let memory = memory(&[1, 2]);
        let mut operation = InOperation::new(Operand { bytes: vec![7], ..Operand::default() }, 0);
        let (put, get) = (transfer(TransferKind::Put, 0, 1), transfer(TransferKind::Get, 0, 1));
        let reader = memory.borrow();
        assert!(!operation.take_place(&memory, &put), "somebody reads it");
        assert!(operation.take_place(&memory, &get), "two may read");
        drop(reader);
        let writer = memory.borrow_mut();
        assert!(!operation.take_place(&memory, &get), "somebody writes it");
        drop(writer);
        assert_eq!(memory.borrow().bytes(), [1, 2]);
    }
}

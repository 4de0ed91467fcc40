//! A transfer that two processes copy together: each takes chunks of it until none is left.
//!
//! The process that has to make the transfer, its *owner*, opens it and begins with some chunks; a process that comes to
//! help, its *helper*, takes chunks, too. The owner does not wait for a helper that has taken no chunk: without a helper
//! it copies everything. It waits for a helper that has taken a chunk.
//!
//! The state is two control words in front of a ring's messages, each with the number of the transfer in its upper half,
//! so that a helper that comes too late finds another transfer there, or nothing to take. Chunks are taken upwards only:
//! whatever the other process stores there, neither process takes a chunk twice, nor goes on for ever.
//!
//! The owner opens a transfer before it publishes the message that announces it, and the helper takes a chunk after
//! it has read that message, so the helper sees all that was stored before. The helper counts a chunk when it has
//! copied it (`COUNT`); the owner that sees the count (`SEE`) sees the chunk.

pub use crate::sync::Sound;
use crate::sync::{AtomicU64, Ordering};
use std::ops::Range;

/// Control words of a transfer.
pub const WORDS: usize = 2;

/// The first chunk that neither process has taken.
const NEXT: usize = 0;
/// How many chunks the helper has copied.
const COPIED: usize = 1;

/// The bit in the count that says that a chunk could not be copied.
const FAILED: u32 = 1 << 31;

/// The most chunks of a transfer: the count is in the bits below the one for a failure.
pub const CHUNKS_MAX: u32 = FAILED - 1;

/// The memory orders, see [`crate::ring::RingOrders`].
pub trait ChunkOrders {
    /// The helper counts a chunk.
    const COUNT: Ordering = Ordering::Release;
    /// The owner loads the count.
    const SEE: Ordering = Ordering::Acquire;
}

impl ChunkOrders for Sound {}

const fn pack(number: u32, value: u32) -> u64 {
    (number as u64) << 32 | value as u64
}

const fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// Consecutive chunks of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// The first chunk.
    pub first: u32,
    /// How many chunks.
    pub count: u32,
}

/// The state of the helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// The helper is still copying.
    Copying,
    /// The helper has copied all chunks that it took.
    Copied,
    /// The helper could not copy a chunk that it took, and takes no more.
    Failed,
    /// The control words have values that no honest helper stores.
    Corrupt,
}

/// The owner's side of a transfer.
#[derive(Debug)]
pub struct Owner<'a> {
    words: &'a [AtomicU64],
    number: u32,
    chunks: u32,
    /// Chunks that the owner has taken.
    taken: u32,
    /// The chunk behind those that the owner took last.
    left: u32,
    /// Whether the owner has found control words that no honest helper stores.
    is_corrupt: bool,
}

impl<'a> Owner<'a> {
    /// Opens transfer `number` of so many chunks, at most [`CHUNKS_MAX`], in `words`, which are [`WORDS`] long; the owner
    /// takes the first half. The transfer has to be over before another one is opened there.
    pub fn open(words: &'a [AtomicU64], number: u32, chunks: u32) -> (Self, Chunks) {
        let count = chunks.div_ceil(2);
        words[COPIED].store(pack(number, 0), Ordering::Relaxed);
        words[NEXT].store(pack(number, count), Ordering::Relaxed);
        let owner = Self { words, number, chunks, taken: count, left: count, is_corrupt: false };
        (owner, Chunks { first: 0, count })
    }

    /// Takes half of the chunks that are left, or all of them if no helper has come.
    pub fn take(&mut self) -> Option<Chunks> {
        let left = self.left;
        let taken = take(&self.words[NEXT], self.number, left..self.chunks, |next, rest| {
            if next == left { rest } else { rest.div_ceil(2) }
        });
        let Ok(taken) = taken else {
            self.is_corrupt = true;
            return None;
        };
        let taken = taken?;
        self.taken += taken.count;
        self.left = taken.first + taken.count;
        Some(taken)
    }

    /// Whether the helper has taken a chunk, once none is left to take.
    pub fn is_helped(&self) -> bool {
        self.taken < self.chunks
    }

    /// The state of the helper, once no chunk is left to take.
    pub fn help<O: ChunkOrders>(&self) -> Help {
        let (number, count) = unpack(self.words[COPIED].load(O::SEE));
        let copied = count & !FAILED;
        if self.is_corrupt || number != self.number || copied > self.chunks - self.taken {
            Help::Corrupt
        } else if copied < self.chunks - self.taken {
            Help::Copying
        } else if count & FAILED != 0 {
            Help::Failed
        } else {
            Help::Copied
        }
    }
}

/// The helper's side of a transfer, which may be over.
#[derive(Debug)]
pub struct Helper<'a> {
    words: &'a [AtomicU64],
    number: u32,
    chunks: u32,
    /// The chunk behind those that the helper took last.
    left: u32,
}

impl<'a> Helper<'a> {
    /// The helper of transfer `number`, of so many chunks, in `words`.
    pub fn new(words: &'a [AtomicU64], number: u32, chunks: u32) -> Self {
        Self { words, number, chunks, left: 0 }
    }

    /// Takes half of the chunks that are left, if any are. The caller has to [count](Self::count) them.
    pub fn take(&mut self) -> Option<Chunks> {
        let half = |_, rest: u32| rest.div_ceil(2);
        // This helper leaves another transfer that is there by now alone, and words that no honest owner stores.
        let taken = take(&self.words[NEXT], self.number, self.left..self.chunks, half).ok()??;
        self.left = taken.first + taken.count;
        Some(taken)
    }

    /// Counts chunks that were taken and have been copied, or could not be.
    pub fn count<O: ChunkOrders>(&self, chunks: Chunks, copied: bool) {
        if !copied {
            self.words[COPIED].fetch_or(FAILED.into(), Ordering::Relaxed);
        }
        self.words[COPIED].fetch_add(chunks.count.into(), O::COUNT);
    }
}

/// The control words are of another transfer, or offer chunks of this one that were taken before.
struct UnexpectedTransferError;

/// Takes the next chunks of transfer `number`, which are among those in `left`: `count` gets the next chunk and how many
/// are left, and says how many to take.
fn take(
    word: &AtomicU64,
    number: u32,
    mut left: Range<u32>,
    count: impl Fn(u32, u32) -> u32,
) -> Result<Option<Chunks>, UnexpectedTransferError> {
    let mut found = word.load(Ordering::Relaxed);
    loop {
        let (there, first) = unpack(found);
        if there != number || first < left.start {
            return Err(UnexpectedTransferError);
        }
        if first >= left.end {
            return Ok(None);
        }
        let count = count(first, left.end - first);
        let next = pack(number, first + count);
        match word.compare_exchange(found, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Ok(Some(Chunks { first, count })),
            // The word has changed, and a smaller chunk number is refused: so this loop ends.
            Err(other) => (found, left.start) = (other, first),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn words() -> [AtomicU64; WORDS] {
        [AtomicU64::new(0), AtomicU64::new(0)]
    }

    fn chunks(first: u32, count: u32) -> Chunks {
        Chunks { first, count }
    }

    #[test]
    fn without_help_the_owner_takes_all() {
        let words = words();
        let (mut owner, first) = Owner::open(&words, 7, 9);
        assert_eq!((first, owner.take()), (chunks(0, 5), Some(chunks(5, 4))));
        assert_eq!((owner.take(), owner.help::<Sound>()), (None, Help::Copied));
        assert!(!owner.is_helped());
        assert_eq!(Helper::new(&words, 7, 9).take(), None);
    }

    #[test]
    fn a_helper_takes_half_and_is_waited_for() {
        let words = words();
        let (mut owner, _) = Owner::open(&words, 7, 8);
        let mut helper = Helper::new(&words, 7, 8);
        assert_eq!(
            (helper.take(), owner.take(), owner.take()),
            (Some(chunks(4, 2)), Some(chunks(6, 1)), Some(chunks(7, 1)))
        );
        assert_eq!((owner.take(), helper.take(), owner.help::<Sound>()), (None, None, Help::Copying));
        assert!(owner.is_helped());
        helper.count::<Sound>(chunks(4, 2), true);
        assert_eq!(owner.help::<Sound>(), Help::Copied);
    }

    #[test]
    fn a_failed_chunk_is_reported_once_all_are_counted() {
        let words = words();
        let (mut owner, _) = Owner::open(&words, 7, 4);
        let mut helper = Helper::new(&words, 7, 4);
        let (one, other) = (helper.take().expect("two are left"), helper.take().expect("one is left"));
        assert_eq!(owner.take(), None);
        helper.count::<Sound>(one, false);
        assert_eq!(owner.help::<Sound>(), Help::Copying);
        helper.count::<Sound>(other, true);
        assert_eq!(owner.help::<Sound>(), Help::Failed);
    }

    #[test]
    fn a_helper_of_another_transfer_takes_nothing() {
        let words = words();
        Owner::open(&words, 7, 8);
        assert_eq!(Helper::new(&words, 6, 8).take(), None);
        assert_eq!(
            Helper::new(&words, 7, 4).take(),
            None,
            "it goes by the number of chunks that it was told"
        );
    }

    #[test]
    fn an_impossible_count_is_reported() {
        for (number, count) in [(6, 0), (7, 1), (7, u32::MAX)] {
            let words = words();
            let (mut owner, _) = Owner::open(&words, 7, 8);
            owner.take();
            words[COPIED].store(pack(number, count), Ordering::Relaxed);
            assert_eq!(owner.help::<Sound>(), Help::Corrupt);
        }
    }

    #[test]
    fn chunks_that_were_taken_are_not_taken_again() {
        // Whatever is stored before each attempt: the beginning, the chunk that was taken last, one before it.
        for back in [0, 1, 4] {
            let words = words();
            let back_to = |first: u32| words[NEXT].store(pack(7, first), Ordering::Relaxed);
            let (mut owner, first) = Owner::open(&words, 7, 9);
            assert_eq!(first, chunks(0, 5));
            back_to(back);
            assert_eq!((owner.take(), owner.help::<Sound>()), (None, Help::Corrupt), "back to {back}");
            // A correct value that is stored later does not make it good.
            back_to(5);
            owner.take();
            assert_eq!(owner.help::<Sound>(), Help::Corrupt);
            let mut helper = Helper::new(&words, 7, 9);
            back_to(3);
            assert_eq!(helper.take(), Some(chunks(3, 3)));
            back_to(back);
            assert_eq!(helper.take(), None, "back to {back}");
        }
    }

    #[test]
    fn another_transfer_in_the_words_of_the_owners_is_reported() {
        let words = words();
        let (mut owner, _) = Owner::open(&words, 7, 9);
        words[NEXT].store(pack(8, 5), Ordering::Relaxed);
        assert_eq!((owner.take(), owner.help::<Sound>()), (None, Help::Corrupt));
    }
}

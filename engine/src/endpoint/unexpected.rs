//! The data of unexpected messages.

use carrousel_rank::Kept;
use carrousel_system::{Point, SYSTEM, System};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The most unused buffers that are kept for further messages.
const SPARE: usize = 64;

/// The data of messages that arrived before their receive, by message.
#[derive(Debug, Default)]
pub(crate) struct UnexpectedBuffers {
    data: HashMap<Kept, Vec<u8>, BuildHasherDefault<NameHasher>>,
    spare: Vec<Vec<u8>>,
}

/// Hashes the names of messages, which this process counts itself: no peer can choose them so that they collide. A hash that
/// withstands that, as the standard library's does, takes as long as all else that is done for a message.
#[derive(Debug, Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    #[inline]
    fn write_u16(&mut self, part: u16) {
        self.write_u32(u32::from(part));
    }

    #[inline]
    fn write_u32(&mut self, part: u32) {
        // Fibonacci hashing: the upper bits of the product depend on all bits of the parts.
        self.0 = (self.0.rotate_left(u32::BITS) ^ u64::from(part)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The map takes a position from the lowest bits, and a mark from the highest.
        self.0 ^ self.0 >> u32::BITS
    }
}

impl UnexpectedBuffers {
    /// Whether the data of no message is kept.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Memory for the `len` bytes of a message.
    pub(crate) fn keep(&mut self, kept: Kept, len: usize) -> &mut [u8] {
        SYSTEM.passes(Point::Kept { bytes: len });
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(len, 0);
        self.data.entry(kept).insert_entry(buffer).into_mut()
    }

    /// Passes the data of a message to `read`, and forgets it.
    pub(crate) fn take(&mut self, kept: Kept, read: impl FnOnce(&[u8])) {
        if let Some(buffer) = self.data.remove(&kept) {
            SYSTEM.passes(Point::Taken { bytes: buffer.len() });
            read(&buffer);
            if self.spare.len() < SPARE {
                self.spare.push(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_rank::{Context, RankId};
    use std::collections::HashSet;
    use std::hash::Hash;

    fn kept(from: u32, number: u32) -> Kept {
        Kept { from: RankId(from), context: Context::MESSAGES, number }
    }

    #[test]
    fn a_message_is_taken_as_it_was_kept_in_any_order() {
        let mut buffers = UnexpectedBuffers::default();
        let names = || (0..4).flat_map(|from| (0..50).map(move |number| kept(from, number)));
        for round in 0..2 {
            for name in names() {
                let len = (name.number % 7) as usize;
                buffers.keep(name, len).fill(name.from.0 as u8 * 50 + name.number as u8 + round);
            }
            for name in names().collect::<Vec<_>>().into_iter().rev() {
                let mut taken = None;
                buffers.take(name, |data| taken = Some(data.to_vec()));
                let byte = name.from.0 as u8 * 50 + name.number as u8 + round;
                assert_eq!(taken, Some(vec![byte; (name.number % 7) as usize]), "{name:?}");
                buffers.take(name, |data| panic!("{name:?} is taken twice: {data:?}"));
            }
        }
        assert!(buffers.is_empty() && buffers.spare.len() == SPARE);
    }

    /// A map of so many messages has as many places, and looks at the others of a place one by one.
    #[test]
    fn messages_in_a_row_have_different_places() {
        for senders in [1, 8, 64] {
            let (count, mut places) = (1024, HashSet::new());
            for name in
                (0..senders).flat_map(|from| (0..count / senders).map(move |number| kept(from, number)))
            {
                let mut hasher = NameHasher::default();
                name.hash(&mut hasher);
                places.insert(hasher.finish() % u64::from(count));
            }
            // Those of a random hash are 1 - 1/e of all.
            assert!(places.len() > 600, "{senders}: {}", places.len());
        }
    }
}

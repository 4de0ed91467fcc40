//! The cost of copying memory.

use super::{MemoryError, repeated, touched, us_since};
use crate::Budget;
use crate::statistics::Summary;
use std::hint::black_box;
use std::time::Instant;

/// Copies of large messages are long enough by themselves.
const BATCH_BYTES: usize = 256 << 10;

/// A copy between the same two places again and again, which are in the caches of the processor if they are small, in us.
pub(super) fn copy(size: usize, budget: Budget) -> Result<Summary, MemoryError> {
    let (source, mut target) = (touched(size)?, touched(size)?);
    let copies = (BATCH_BYTES / size.max(1)).max(1);
    repeated(budget, || {
        let began = Instant::now();
        for _ in 0..copies {
            black_box(&mut target[..]).copy_from_slice(black_box(&source[..]));
        }
        Ok(us_since(began) / copies as f64)
    })
}

/// All numbers below `count`, in an order that no prefetcher knows, and that is the same each time.
pub(super) fn scattered(count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    // The multiplier of Knuth's MMIX, of which the upper bits are the good ones (The Art of Computer Programming 3.3.4).
    numbers.sort_by_cached_key(|number| {
        (*number as u64 + 1).wrapping_mul(6_364_136_223_846_793_005).rotate_left(29)
    });
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattered_numbers_are_all_of_them_and_seldom_neighbours() {
        let mut numbers = scattered(10_000);
        let near = numbers.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 16).count();
        assert!(near < 100, "{near}");
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(0..10_000));
    }

    #[test]
    fn copies_take_time() {
        let few = Budget { repetitions: Some(3), ..Budget::default() };
        for size in [5000, 1 << 20] {
            let copy = copy(size, few).expect("there is memory");
            assert!(copy.median > 0.0 && copy.count == 3, "{copy:?}");
        }
    }
}

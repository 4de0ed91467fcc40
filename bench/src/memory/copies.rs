//! What copying memory costs.

use super::{MemoryError, PAGE, repeated, touched, us_since};
use crate::Budget;
use crate::statistics::Summary;
use std::hint::black_box;
use std::time::Instant;

/// Messages that are not in a cache lie, each at the beginning of a page, in so much memory: they share few sets of
/// a cache, and the first ones are no longer there when it is their turn again.
pub(super) const COLD_BYTES: usize = 128 << 20;
/// Copies between two looks at the clock.
const COLD_COPIES: usize = 64;
/// Copies of large messages are long enough by themselves.
const BATCH_BYTES: usize = 256 << 10;

/// Which side of a copy is not in a cache. The other one is staging memory, which always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cold {
    Source,
    Target,
}

/// A copy between the same two places again and again, in us.
pub(super) fn warm(size: usize, budget: Budget) -> Result<Summary, MemoryError> {
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

/// A copy between staging memory and messages in turn, in us (speculative-rendezvous 5.3.3, C).
pub(super) fn cold(size: usize, cold: Cold, budget: Budget) -> Result<Summary, MemoryError> {
    let stride = size.max(1).next_multiple_of(PAGE);
    let (mut messages, mut staging) = (touched(COLD_BYTES)?, touched(stride)?);
    let mut places = scattered(COLD_BYTES / stride).into_iter().cycle();
    repeated(budget, || {
        let began = Instant::now();
        for place in places.by_ref().take(COLD_COPIES) {
            let message = &mut messages[place * stride..][..size];
            let staging = &mut staging[..size];
            match cold {
                Cold::Source => black_box(staging).copy_from_slice(black_box(message)),
                Cold::Target => black_box(message).copy_from_slice(black_box(staging)),
            }
        }
        Ok(us_since(began) / COLD_COPIES as f64)
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
    fn copies_take_time_on_both_sides() {
        let few = Budget { repetitions: Some(3), ..Budget::default() };
        for side in [Cold::Source, Cold::Target] {
            let copy = cold(5000, side, few).expect("there is memory");
            assert!(copy.median > 0.0 && copy.count == 3, "{copy:?}");
        }
        assert!(warm(1 << 20, few).is_ok_and(|copy| copy.median > 0.0));
    }
}

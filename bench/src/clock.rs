//! The clock of a node, and computation that takes a given time.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Computes without entering the library, by the clock: what interrupts it makes it no longer.
pub(crate) fn compute(time: Duration) {
    if time.is_zero() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < time {}
}

/// The clock that all processes of a node share.
pub(crate) fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    // It begins at 0 and only goes forward.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_the_node_goes_forward() {
        let before = monotonic();
        compute(Duration::from_micros(10));
        assert!(monotonic() >= before + Duration::from_micros(10));
    }
}

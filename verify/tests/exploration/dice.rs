//! Numbers that look drawn, and are the same in every run.

/// A small generator of numbers: the sequence is part of the test.
pub(crate) struct Dice(u64);

impl Dice {
    /// The sequence that begins with `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Whether a number below `n` is 0.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

//! From how many bytes on a copy is worth queueing.

/// Bytes from which on a copy is queued, unless it is measured: the paper's default (intra-epoch-scheduling 4).
pub const DEFAULT_THRESHOLD: u64 = 8 * 1024;

/// From how many bytes on a copy on the node is queued. 0 queues every copy, `u64::MAX` none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Threshold(pub u64);

/// What a node and its network take, as `carrousel bench` measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Measured {
    /// Bytes that one processor copies in a microsecond.
    pub copied_per_us: u64,
    /// Nanoseconds of the processor to queue a copy and to take it from the queue.
    pub queueing_ns: u64,
    /// Nanoseconds of the processor to post one remote transfer.
    pub posting_ns: u64,
}

impl Default for Threshold {
    fn default() -> Self {
        Self(DEFAULT_THRESHOLD)
    }
}

impl Threshold {
    /// The threshold of a machine: a copy is queued if the remote transfer behind it would else wait longer than
    /// queueing costs.
    ///
    /// A copy that is made in the call delays every remote transfer after it by the time of the copy. A queued one
    /// delays them by the time of queueing, and costs as much again when it is taken out. Below the size at which
    /// both are equal a queue gains nothing. Posting counts too, as a delay that is small beside a post is lost in
    /// it. Rates of zero give the default.
    #[must_use]
    pub fn measured(costs: Measured) -> Self {
        if costs.copied_per_us == 0 {
            return Self::default();
        }
        let worth_ns = costs.queueing_ns.saturating_mul(2).saturating_add(costs.posting_ns);
        Self(worth_ns.saturating_mul(costs.copied_per_us) / 1000)
    }

    /// Whether a copy of this size waits for the remote transfers of its epoch.
    pub(crate) fn queues(self, bytes: u64) -> bool {
        bytes >= self.0 && self.0 != u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_as_large_as_the_threshold_waits() {
        assert!(!Threshold(8192).queues(8191));
        assert!(Threshold(8192).queues(8192));
        assert!(Threshold(0).queues(0), "zero queues every copy");
        assert!(!Threshold(u64::MAX).queues(u64::MAX), "the largest queues none");
    }

    #[test]
    fn a_machine_that_copies_faster_queues_later() {
        let slow = Measured { copied_per_us: 4_000, queueing_ns: 50, posting_ns: 200 };
        assert_eq!(Threshold::measured(slow), Threshold(1_200));
        let fast = Measured { copied_per_us: 12_000, ..slow };
        assert_eq!(Threshold::measured(fast), Threshold(3_600));
    }

    #[test]
    fn what_was_not_measured_or_cannot_be_does_not_overflow() {
        let none = Measured { copied_per_us: 0, queueing_ns: 50, posting_ns: 200 };
        assert_eq!(Threshold::measured(none), Threshold::default());
        let absurd = Measured { copied_per_us: u64::MAX, queueing_ns: u64::MAX, posting_ns: u64::MAX };
        assert_eq!(Threshold::measured(absurd), Threshold(u64::MAX / 1000));
    }
}

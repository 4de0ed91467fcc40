//! How long an epoch takes with and without the schedule (intra-epoch-scheduling 3).

/// What an epoch takes, in one unit of time. Targets grant before its first transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Costs {
    /// α: the processor submits all remote transfers.
    pub submitting: u64,
    /// D: the network streams them.
    pub streaming: u64,
    /// ε: the processor sees that they are complete.
    pub detecting: u64,
    /// ζ: the processor makes all copies on the node.
    pub copying: u64,
    /// C: the program computes within the epoch.
    pub computing: u64,
}

/// L0, equation 1: copies and computing both run while the network streams.
#[must_use]
pub fn scheduled(costs: Costs) -> u64 {
    costs.submitting + costs.detecting + costs.streaming.max(costs.copying + costs.computing)
}

/// L1, equation 2: copies wait for the close, and there for the network.
#[must_use]
pub fn unscheduled(costs: Costs) -> u64 {
    costs.submitting + costs.detecting + costs.streaming.max(costs.computing) + costs.copying
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The paper's (5) and (6) claim a strict gain whenever `C < D`. It is `min(ζ, D - C)`: none without copies.
        #[test]
        fn the_gain_is_the_copying_that_fits_beside_the_network(
            submitting in 0..1000u64, streaming in 0..1000u64, detecting in 0..1000u64,
            copying in 0..1000u64, computing in 0..1000u64,
        ) {
            let costs = Costs { submitting, streaming, detecting, copying, computing };
            let gain = copying.min(streaming.saturating_sub(computing));
            prop_assert_eq!(unscheduled(costs) - scheduled(costs), gain);
        }
    }
}

//! How long a call waits for a grant that is probably on its way.

/// How long a grant takes that nobody delays, and which transfers are worth waiting for it.
///
/// A transfer can begin only when its target has granted the access, and then only while this rank is in the library. A
/// grant that was asked for, or sent, just now comes within a round trip. A program that computes meanwhile would hold
/// back a large transfer for as long as it computes, and with it whoever waits for the epoch's end
/// (nonblocking-rma-epochs III: Late Complete, Late Unlock). So the call of a large transfer stays in the library for
/// that round trip, unless the grant comes earlier. It waits once an epoch, not for each target; a target that is late
/// costs no more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Patience {
    /// Nanoseconds from a request until its grant is here; 0 never waits.
    pub round_trip_ns: u64,
    /// Bytes that the network moves in a microsecond.
    pub streamed_per_us: u64,
}

/// A transfer is worth waiting for if it takes this many round trips.
const WORTH: u64 = 4;

impl Patience {
    /// Until when a grant is on its way that nobody delays, in an epoch that was opened at `opened_ns`.
    ///
    /// Until then, a call has time for copies if the network has nothing to do: they have to be made anyway.
    #[must_use]
    pub fn until(self, opened_ns: u64) -> u64 {
        opened_ns.saturating_add(self.round_trip_ns)
    }

    /// Whether the call of a transfer of this size waits for the grant until then even with nothing else to do.
    #[must_use]
    pub fn is_worth(self, bytes: u64) -> bool {
        let streaming_ns = bytes.saturating_mul(1000).checked_div(self.streamed_per_us);
        let least_ns = self.round_trip_ns.saturating_mul(WORTH);
        self.round_trip_ns > 0 && streaming_ns.is_some_and(|streaming_ns| streaming_ns >= least_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_transfer_of_several_round_trips_waits_for_one() {
        let patience = Patience { round_trip_ns: 3_000, streamed_per_us: 3_000 };
        assert!(!patience.is_worth(35_999));
        assert!(patience.is_worth(36_000));
        assert!(!Patience { round_trip_ns: 0, ..patience }.is_worth(36_000), "it is switched off");
        assert!(!Patience { streamed_per_us: 0, ..patience }.is_worth(36_000), "nothing is known");
        assert_eq!(patience.until(7), 3_007);
        assert_eq!(patience.until(u64::MAX), u64::MAX);
    }
}

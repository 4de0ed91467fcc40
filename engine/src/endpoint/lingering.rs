//! How long a poll looks for an arrival, where the program decides what follows an empty one. Many hosts offer the processor
//! to others then, which takes longer than a message's way: an answer that comes meanwhile waits for them. So the first
//! empty poll after a receive has begun lingers, as long as such receives end meanwhile. Where they do not, a program that
//! computes meanwhile loses next to nothing.

use carrousel_rank::Handle;

/// The most receives that are passed over after a poll that has lingered in vain.
const PASSES_MAX: u8 = 63;

/// Decides which polls linger.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lingering {
    /// The receive that has begun since the last empty poll; the last one of several.
    begun: Option<Handle>,
    /// How many receives are passed over before a poll lingers.
    passes: u8,
    /// The same after the next one that lingers in vain.
    next: u8,
}

impl Lingering {
    /// A receive has begun, for which an empty poll may linger.
    #[inline(always)]
    pub(super) fn begin(&mut self, request: Handle) {
        self.begun = Some(request);
    }

    /// Whether this empty poll may linger. Most may not, and this is all they cost.
    #[inline(always)]
    pub(super) fn is_possible(&self) -> bool {
        self.begun.is_some()
    }

    /// The receive for which this empty poll lingers if it is not complete.
    pub(super) fn request(&mut self) -> Option<Handle> {
        self.begun.take()
    }

    /// Whether a poll lingers that could for a receive.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.passes == 0;
        self.passes = self.passes.saturating_sub(1);
        is_due
    }

    /// A poll has lingered: in vain if the receive is not complete.
    pub(super) fn end(&mut self, is_complete: bool) {
        self.next = if is_complete { 0 } else { (2 * self.next + 1).min(PASSES_MAX) };
        self.passes = self.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of so many requests a poll lingers for, if it is in vain or not.
    fn lingers(
        lingering: &mut Lingering,
        requests: std::ops::RangeInclusive<u32>,
        in_vain: bool,
    ) -> Vec<u32> {
        let mut lingers = |index: &u32| {
            let request = Handle { index: *index, generation: 0 };
            lingering.begin(request);
            assert_eq!(lingering.request(), Some(request));
            assert!(!lingering.is_possible(), "once a request");
            let is_due = lingering.is_due();
            if is_due {
                lingering.end(!in_vain);
            }
            is_due
        };
        requests.filter(|index| lingers(index)).collect()
    }

    #[test]
    fn polls_linger_while_it_helps() {
        assert_eq!(lingers(&mut Lingering::default(), 1..=5, false), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn few_polls_linger_in_vain() {
        let mut lingering = Lingering::default();
        assert_eq!(lingers(&mut lingering, 1..=300, true), [1, 3, 7, 15, 31, 63, 127, 191, 255]);
        assert_eq!(lingers(&mut lingering, 301..=321, false), [319, 320, 321]);
    }
}

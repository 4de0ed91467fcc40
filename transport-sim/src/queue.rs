//! Virtual time: the queue of future events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event. Versions mark events that are out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Occurrence {
    /// A rank's CPU has done what it was doing.
    Cpu { rank: u32, version: u32 },
    /// A rank's progress thread has been woken.
    Wake { rank: u32 },
    /// The last byte of a flow has left, unless the flow was slowed down meanwhile.
    Flow { flow: u32, version: u32 },
    /// The last byte of a transfer has come to the card of its destination.
    Arrive { transfer: u32 },
    /// A transfer is through that card.
    Deliver { transfer: u32 },
}

/// Events by time; at one time, in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// The key is the time and, below it, the insertion number.
    events: BinaryHeap<Reverse<(u128, Occurrence)>>,
    added: u64,
    now: u64,
    processed: u64,
}

impl Queue {
    /// Nanoseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The number of events that have happened.
    pub(crate) fn processed(&self) -> u64 {
        self.processed
    }

    pub(crate) fn add(&mut self, at: u64, what: Occurrence) {
        debug_assert!(at >= self.now, "an event in the past");
        self.added += 1;
        self.events.push(Reverse((u128::from(at) << 64 | u128::from(self.added), what)));
    }

    /// The next event, whose time becomes the present.
    pub(crate) fn next(&mut self) -> Option<Occurrence> {
        let Reverse((key, what)) = self.events.pop()?;
        self.now = (key >> 64) as u64;
        self.processed += 1;
        Some(what)
    }

    /// Advances to the time `at` without using the queue, if nothing else happens up to then: the event would be
    /// added and taken out at once.
    pub(crate) fn skip_to(&mut self, at: u64) -> bool {
        let free = self.events.peek().is_none_or(|Reverse((key, _))| (key >> 64) as u64 > at);
        if free {
            self.now = at;
            self.processed += 1;
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_the_order_of_insertion() {
        let mut queue = Queue::default();
        for rank in [3, 1, 2] {
            queue.add(10, Occurrence::Wake { rank });
        }
        queue.add(5, Occurrence::Wake { rank: 9 });
        let order: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(order, [9, 3, 1, 2].map(|rank| Occurrence::Wake { rank }));
    }

    #[test]
    fn nothing_is_skipped_over() {
        let mut queue = Queue::default();
        queue.add(10, Occurrence::Wake { rank: 0 });
        assert!(queue.skip_to(9));
        assert!(!queue.skip_to(10));
        assert_eq!(queue.now(), 9);
    }
}

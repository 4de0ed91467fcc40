//! Messages of the whole library, over an adapter that is none: copied, and lent to it.
#![cfg(feature = "verbs")]

mod fake;

use allocation_counter::measure;
use fake::{Adapter, Pair};

const WARM_UP: u64 = 600;
const MESSAGES: u64 = 5_000;

#[test]
fn a_message_that_is_lent_costs_no_more_doorbells_and_allocations() {
    for (adapter, lends) in [(Adapter(0), false), (Adapter(1), true)] {
        let pair = Pair::new(adapter, lends);
        let (mut data, mut came) = (vec![0; 4 << 10], vec![0; 4 << 10]);
        let before = adapter.registered().pinned;
        let mut message = |count: u64| {
            let count = count as u8;
            data.fill(count);
            pair.send(&data);
            // It may be changed, and what comes is what it was.
            data.fill(!count);
            pair.receive(&mut came);
            assert!(came.iter().all(|byte| *byte == count), "message {count}, lent: {lends}");
        };
        (0..WARM_UP).for_each(&mut message);
        assert_eq!(adapter.registered().pinned - before, u64::from(lends));
        let doorbells = adapter.doorbells();
        let counted = measure(|| (0..MESSAGES).for_each(&mut message));
        assert_eq!(counted.count_total, 0, "allocations, lent: {lends}");
        // Credits are given back for half a window at a time, or more.
        let more = adapter.doorbells() - doorbells - MESSAGES;
        assert!(more <= MESSAGES / 16, "{more} more doorbells than messages, lent: {lends}");
    }
}

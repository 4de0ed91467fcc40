//! Messages of the whole library, over a fake adapter: copied, and lent to it.
#![cfg(feature = "verbs")]

mod fake;

use allocation_counter::measure;
use carrousel::Error;
use carrousel_transport_verbs::Settings;
use fake::{FakeAdapter, RankPair, apart};
use std::time::Duration;

const WARM_UP: u64 = 600;
const MESSAGES: u64 = 5_000;

#[test]
fn a_message_that_is_lent_costs_no_more_doorbells_and_allocations() {
    for (adapter, lends) in [(FakeAdapter(0), false), (FakeAdapter(1), true)] {
        let pair = RankPair::new(adapter, lends);
        let (mut data, mut came) = (vec![0; 4 << 10], vec![0; 4 << 10]);
        let before = adapter.registered().on_demand;
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
        assert_eq!(adapter.registered().on_demand - before, u64::from(lends));
        let doorbells = adapter.doorbells();
        let counted = measure(|| (0..MESSAGES).for_each(&mut message));
        assert_eq!(counted.count_total, 0, "allocations, lent: {lends}");
        // Credits are given back for half a window at a time, or more.
        let more = adapter.doorbells() - doorbells - MESSAGES;
        assert!(more <= MESSAGES / 16, "{more} more doorbells than messages, lent: {lends}");
    }
}

#[test]
fn who_waits_for_a_peer_that_cannot_be_reached_hears_of_it() {
    let mut settings = Settings::default();
    settings.patience = Duration::from_millis(50);
    settings.choice.device = Some(FakeAdapter(2).name());
    let ranks = apart(&settings);
    FakeAdapter(2).cut();
    for rank in ranks {
        let peer = 1 - rank.rank();
        let (data, mut place) = (vec![1; 4 << 10], vec![0; 4 << 10]);
        // A small message has gone when it is copied; its receive waits until its peer is given up.
        let ended = rank.scope(|scope| {
            scope.isend(&data, peer, 1)?;
            scope.irecv(&mut place, peer, 1)?;
            Ok(())
        });
        let error = ended.expect_err("it does not come");
        assert!(matches!(error, Error::PeerLost { rank, .. } if rank == peer), "{error}");
    }
}

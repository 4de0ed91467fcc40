//! The number of uses that is enough for a buffer, case by case.

use carrousel_registration::*;

const KIB: u64 = 1 << 10;
const PATHS: [Path; 4] = [Path::EagerByWrite, Path::EagerBySend, Path::Put, Path::Get];

fn region(index: u32) -> RegionId {
    RegionId { index, generation: 0 }
}

/// The use of a buffer that asks for its registration, counted from 1.
fn registered_at(policy: Policy, len: u64, path: Path) -> Option<u32> {
    let mut reuse = Reuse::new(policy);
    (1..=3000).find(|_| reuse.on_use(0x1000, len, path) == Advice::Register)
}

/// A policy with a table of one size, in which `uses` are needed.
fn small(buckets_bits: u32, uses: u32) -> Policy {
    Policy {
        thresholds: Thresholds::uniform(uses),
        speculation_percent: 100,
        bucket_bits_min: buckets_bits,
        bucket_bits_max: buckets_bits,
        ..Policy::default()
    }
}

#[test]
fn a_quarter_of_what_pays_is_enough() {
    let policy = Policy::default();
    // The thesis's own example: 4 KiB by the fast path at the 15th use.
    assert_eq!(registered_at(policy, 4 * KIB, Path::EagerByWrite), Some(15));
    assert_eq!(registered_at(policy, 5 * KIB - 1, Path::EagerByWrite), Some(15));
    assert_eq!(registered_at(policy, 3 * KIB, Path::EagerBySend), Some(33));
    assert_eq!(PATHS.map(|path| registered_at(policy, 9 * KIB, path)), [8, 13, 7, 7].map(Some));
    assert_eq!(PATHS.map(|path| registered_at(policy, 128, path)), [108, 392, 49, 49].map(Some));
    let whole = Policy { speculation_percent: 100, ..policy };
    assert_eq!(registered_at(whole, 4 * KIB, Path::Put), Some(56));
    assert_eq!(registered_at(Policy { speculation_percent: 0, ..policy }, KIB, Path::Put), Some(1));
}

#[test]
fn messages_beyond_the_bounds_are_not_even_counted() {
    let mut reuse = Reuse::new(Policy { thresholds: Thresholds::uniform(1), ..Policy::default() });
    for len in [0, 127, 9 * KIB + 1, u64::MAX] {
        assert_eq!(reuse.on_use(0x1000, len, Path::Put), Advice::Copy);
    }
    assert!(reuse.is_empty());
    let never = Thresholds { get: [Thresholds::NEVER; CLASSES], ..Thresholds::uniform(1) };
    let mut reuse = Reuse::new(Policy { thresholds: never, ..Policy::default() });
    assert_eq!(reuse.on_use(0x1000, KIB, Path::Get), Advice::Copy);
    assert!(reuse.is_empty());
    assert_eq!(reuse.on_use(0x1000, KIB, Path::Put), Advice::Register);
}

#[test]
fn size_classes_of_an_address_are_counted_apart_and_paths_together() {
    let mut reuse = Reuse::new(small(4, 2));
    assert_eq!(reuse.on_use(0x1000, KIB, Path::Put), Advice::Copy);
    assert_eq!(reuse.on_use(0x1000, 2 * KIB, Path::Put), Advice::Copy);
    assert_eq!(reuse.on_use(0x1000, KIB + 1, Path::EagerByWrite), Advice::Register);
    assert_eq!(reuse.len(), 2);
}

#[test]
fn a_registered_buffer_goes_directly_until_it_has_to_begin_anew() {
    let mut reuse = Reuse::new(small(4, 3));
    let on_use = |reuse: &mut Reuse| reuse.on_use(0x1000, KIB, Path::Put);
    assert_eq!([(); 3].map(|()| on_use(&mut reuse)), [Advice::Copy, Advice::Copy, Advice::Register]);
    reuse.registered(0x1000, KIB, region(4));
    assert_eq!(on_use(&mut reuse), Advice::Direct(region(4)));
    assert_eq!(reuse.registered_len(), 1);
    reuse.lost(region(4));
    assert_eq!(reuse.registered_len(), 0);
    reuse.restart(0x1000, KIB);
    assert_eq!([(); 2].map(|()| on_use(&mut reuse)), [Advice::Copy, Advice::Register]);
}

#[test]
fn what_cannot_be_registered_is_asked_for_ever_less_often() {
    let mut reuse = Reuse::new(small(4, 3));
    let uses_until_asked = |reuse: &mut Reuse| {
        (1..).find(|_| reuse.on_use(0x1000, KIB, Path::Put) == Advice::Register).unwrap_or(0)
    };
    assert_eq!(uses_until_asked(&mut reuse), 3);
    let counts = [(); 4].map(|()| {
        reuse.refused(0x1000, KIB);
        uses_until_asked(&mut reuse)
    });
    // The use that was refused counts.
    assert_eq!(counts, [5, 11, 23, 47]);
    // The count of refusals is cleared by a registration.
    reuse.registered(0x1000, KIB, region(0));
    reuse.lost(region(0));
    reuse.restart(0x1000, KIB);
    assert_eq!(uses_until_asked(&mut reuse), 2);
    (0..100).for_each(|_| reuse.refused(0x1000, KIB));
    assert_eq!(reuse.on_use(0x1000, KIB, Path::Put), Advice::Copy);
}

#[test]
fn losing_a_registration_reaches_all_its_buffers_and_no_others() {
    let mut reuse = Reuse::new(small(4, 1));
    for (address, name) in [(0x1000, region(0)), (0x1100, region(0)), (0x2000, region(1))] {
        assert_eq!(reuse.on_use(address, KIB, Path::Put), Advice::Register);
        reuse.registered(address, KIB, name);
        reuse.registered(address, KIB, name);
    }
    assert_eq!(reuse.registered_len(), 3);
    reuse.lost(RegionId { generation: 7, ..region(0) });
    assert_eq!(reuse.registered_len(), 3);
    reuse.lost(region(0));
    reuse.lost(region(0));
    assert_eq!(reuse.registered_len(), 1);
    // Another registration has the index of the first one, before its buffers have noticed.
    reuse.registered(0x2000, KIB, RegionId { generation: 1, ..region(0) });
    reuse.restart(0x1000, KIB);
    reuse.restart(0x1100, KIB);
    assert_eq!(reuse.registered_len(), 1);
    reuse.lost(RegionId { generation: 1, ..region(0) });
    assert_eq!(reuse.registered_len(), 0);
}

#[test]
fn a_registration_that_is_given_up_or_replaced_counts_no_longer() {
    let mut reuse = Reuse::new(small(4, 1));
    for address in [0x1000, 0x2000] {
        assert_eq!(reuse.on_use(address, KIB, Path::Put), Advice::Register);
    }
    reuse.registered(0x1000, KIB, region(0));
    reuse.restart(0x1000, KIB);
    assert_eq!(reuse.registered_len(), 0);
    reuse.registered(0x1000, KIB, region(0));
    // Another registration has the index, and the loss of the first one was not reported.
    reuse.registered(0x2000, KIB, RegionId { generation: 1, ..region(0) });
    assert_eq!(reuse.registered_len(), 1);
}

#[test]
fn little_reuse_stops_the_table_only_where_its_chains_grow() {
    // Four buckets, up to eight.
    let mut reuse = Reuse::new(Policy { bucket_bits_min: 2, ..small(3, 2) });
    for buffer in 0..8 {
        assert!(!reuse.is_stopped(), "{buffer}");
        assert_eq!(reuse.on_use(buffer << 12, KIB, Path::Put), Advice::Copy);
    }
    assert!(reuse.is_stopped());
    assert_eq!([(); 3].map(|()| reuse.on_use(8 << 12, KIB, Path::Put)), [Advice::Copy; 3]);
    assert_eq!(reuse.len(), 8);
}

#[test]
fn a_stop_is_not_final_because_the_others_go_on_counting() {
    let mut reuse = Reuse::new(small(3, 2));
    (0..9).for_each(|buffer| assert_eq!(reuse.on_use(buffer << 12, KIB, Path::Put), Advice::Copy));
    for buffer in 0..2 {
        assert!(reuse.is_stopped());
        assert_eq!(reuse.on_use(buffer << 12, KIB, Path::Put), Advice::Register);
        reuse.registered(buffer << 12, KIB, region(buffer as u32));
    }
    // 2 of 8 are 25 %, and 2 of 10 are the 20 % that are demanded.
    for buffer in 20..23 {
        assert!(!reuse.is_stopped());
        assert_eq!(reuse.on_use(buffer << 12, KIB, Path::Put), Advice::Copy);
    }
    assert!(reuse.is_stopped());
    assert_eq!(reuse.len(), 11);
}

#[test]
fn a_share_of_nothing_never_stops() {
    let mut reuse = Reuse::new(Policy { share_percent: 0, ..small(0, 2) });
    (0..100).for_each(|buffer| assert_eq!(reuse.on_use(buffer << 12, KIB, Path::Put), Advice::Copy));
    assert_eq!(reuse.len(), 100);
}

#[test]
fn a_full_table_takes_no_more_and_goes_on_counting() {
    let mut reuse = Reuse::new(Policy { entries_max: 2, ..small(4, 2) });
    (0..3).for_each(|buffer| assert_eq!(reuse.on_use(buffer << 12, KIB, Path::Put), Advice::Copy));
    assert_eq!(reuse.on_use(2 << 12, KIB, Path::Put), Advice::Copy);
    assert_eq!(reuse.on_use(1 << 12, KIB, Path::Put), Advice::Register);
    assert_eq!(reuse.len(), 2);
    reuse.clear();
    assert_eq!(reuse.on_use(2 << 12, KIB, Path::Put), Advice::Copy);
    assert_eq!(reuse.on_use(2 << 12, KIB, Path::Put), Advice::Register);
}

/// At which of its uses the last of many buffers is registered, when all before it were lost after so many
/// uses of ten that pay.
fn after_losses(learns: bool, uses: u32) -> Option<u32> {
    let policy = Policy { speculation_percent: 20, learns, ..small(8, 10) };
    let mut reuse = Reuse::new(policy);
    for buffer in 0..20u32 {
        let address = u64::from(buffer) << 12;
        (0..2).for_each(|_| {
            let _ = reuse.on_use(address, KIB, Path::Put);
        });
        reuse.registered(address, KIB, region(buffer));
        (2..uses)
            .for_each(|_| assert_eq!(reuse.on_use(address, KIB, Path::Put), Advice::Direct(region(buffer))));
        reuse.lost(region(buffer));
    }
    (1..=10).find(|_| reuse.on_use(u64::MAX >> 1, KIB, Path::Put) == Advice::Register)
}

#[test]
fn speculation_that_does_not_pay_is_given_up_if_that_is_wanted() {
    assert_eq!(after_losses(false, 9), Some(2));
    assert_eq!(after_losses(true, 9), Some(10));
    assert_eq!(after_losses(true, 10), Some(2));
}

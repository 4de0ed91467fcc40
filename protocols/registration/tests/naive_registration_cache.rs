//! Uses and cache together agree with a model of plain lists, for any sequence of calls.

use carrousel_registration::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

const PAGE: u64 = 1 << 10;
const PAGES: u64 = 8;
/// The number of uses that are needed, for every path and class.
const NEEDED: u32 = 3;

#[derive(Clone, Debug)]
enum CacheInput {
    Transfer(u64, u64),
    /// A rendezvous.
    Acquire(u64, u64),
    /// The driver's answer to the n-th question.
    Answer(usize, bool),
    /// Releases the n-th hold.
    Release(usize),
    Invalidate(u64, u64),
}

/// The state of a registration.
#[derive(Clone, Copy, Debug)]
struct Region {
    span: Span,
    holds: u32,
    /// A page has been invalidated, or another one covers it.
    is_dead: bool,
}

/// The promises, in their plainest form, and the counts.
#[derive(Default)]
struct NaiveUses {
    /// The pages that the driver has registered, and was not told to deregister.
    regions: BTreeMap<RegionId, Region>,
    /// Registrations under way: the pages, and whether they were invalidated since.
    asked: Vec<(RegionId, Span, bool)>,
    /// The pages whose registration was asked for.
    buffers: BTreeMap<RegionId, (u64, u64)>,
    /// Uses since the last restart, by address and class.
    uses: BTreeMap<(u64, u64), u32>,
    /// How often a registration failed since there was one.
    refusals: BTreeMap<(u64, u64), u32>,
    held: Vec<RegionId>,
}

impl NaiveUses {
    /// The number of uses after which a registration is requested.
    fn needed(&self, key: (u64, u64)) -> u32 {
        NEEDED.saturating_mul(1 << self.refusals.get(&key).copied().unwrap_or(0).min(31))
    }

    fn has_valid(&self, span: Span) -> bool {
        self.regions.values().any(|region| !region.is_dead && region.span.contains(span))
    }

    fn hold(&mut self, region: RegionId, span: Span) {
        let known = self.regions.get_mut(&region).expect("it is registered");
        assert!(!known.is_dead && known.span.contains(span), "{known:?} for {span}");
        known.holds += 1;
        self.held.push(region);
    }

    /// If one registration covers another one, only one of them is handed out.
    fn keep_one(&mut self, new: RegionId, span: Span) {
        let covers = |(name, region): (&RegionId, &Region)| {
            *name != new && !region.is_dead && region.span.contains(span)
        };
        let is_covered = self.regions.iter().any(covers);
        for (name, region) in &mut self.regions {
            region.is_dead |=
                if *name == new { is_covered } else { span.contains(region.span) && !is_covered };
        }
    }

    fn deregister(&mut self, work: &mut Vec<Deregister>) {
        for Deregister(region) in work.drain(..) {
            let known = self.regions.remove(&region).expect("it is registered");
            assert_eq!(known.holds, 0, "{region} is in use");
        }
    }
}

fn input() -> impl Strategy<Value = CacheInput> {
    // Few addresses, so that buffers are used again.
    let span = || (0..PAGES * 2, 1..6u64).prop_map(|(at, len)| (at * PAGE / 2, len * PAGE / 2));
    prop_oneof![
        10 => span().prop_map(|(at, len)| CacheInput::Transfer(at, len)),
        3 => span().prop_map(|(at, len)| CacheInput::Acquire(at, len)),
        6 => (any::<usize>(), prop::bool::weighted(0.9)).prop_map(|(n, well)| CacheInput::Answer(n, well)),
        6 => any::<usize>().prop_map(CacheInput::Release),
        1 => span().prop_map(|(at, len)| CacheInput::Invalidate(at, len)),
    ]
}

fn compare(limits: Limits, inputs: &[CacheInput]) {
    let policy = Policy {
        thresholds: Thresholds::uniform(NEEDED),
        speculation_percent: 100,
        bucket_bits_min: 1,
        ..Policy::default()
    };
    let mut memory = RegistrationCache::<AllCacheRules, AllReuseRules>::new(limits, policy);
    let mut naive = NaiveUses::default();
    let mut work = Vec::new();
    for input in inputs {
        match *input {
            CacheInput::Transfer(at, len) => {
                let span = Span::new(at, len).expect("there are bytes");
                let key = (at, len / 1024);
                let uses = naive.uses.entry(key).or_default();
                *uses += 1;
                let uses = *uses;
                let needed = naive.needed(key);
                let route = memory.transfer(at, len, Path::EagerByWrite, &mut work);
                naive.deregister(&mut work);
                match route {
                    Route::Copy => {
                        // It had no registration, or lost it, or there is no room for a new one.
                        if uses >= needed {
                            assert!(!naive.has_valid(span), "{span} is registered");
                            naive.uses.insert(key, 1);
                        }
                    }
                    Route::Direct(region) => {
                        assert!(uses >= NEEDED, "{span} was used {uses} times");
                        naive.refusals.remove(&key);
                        naive.hold(region, span);
                    }
                    Route::Register(region, pages) => {
                        assert!(uses >= needed && !naive.has_valid(span), "{span} was used {uses} times");
                        assert!(pages.contains(span));
                        naive.asked.push((region, pages, false));
                        naive.buffers.insert(region, (at, len));
                    }
                }
            }
            CacheInput::Acquire(at, len) => {
                let span = Span::new(at, len).expect("there are bytes");
                let acquired = memory.acquire(span, &mut work);
                naive.deregister(&mut work);
                match acquired {
                    Acquired::Hit(region) => naive.hold(region, span),
                    Acquired::Register(region, pages) => {
                        assert!(!naive.has_valid(span));
                        naive.asked.push((region, pages, false));
                    }
                    Acquired::Refused(_) => assert!(!naive.has_valid(span)),
                }
            }
            CacheInput::Answer(n, well) if !naive.asked.is_empty() => {
                let (region, span, is_stale) = naive.asked.swap_remove(n % naive.asked.len());
                let buffer = naive.buffers.remove(&region);
                let restart = |naive: &mut NaiveUses| {
                    if let Some((at, len)) = buffer {
                        naive.uses.insert((at, len / 1024), 1);
                    }
                };
                if !well {
                    assert_eq!(memory.failed(region), Ok(()));
                    restart(&mut naive);
                    if let Some((at, len)) = buffer {
                        *naive.refusals.entry((at, len / 1024)).or_default() += 1;
                    }
                } else {
                    naive.regions.insert(region, Region { span, holds: 0, is_dead: is_stale });
                    let answer = memory.registered(region, &mut work).expect("it was asked for");
                    naive.deregister(&mut work);
                    assert_eq!(answer == Registration::Stale, is_stale);
                    if is_stale {
                        restart(&mut naive);
                        assert!(!naive.regions.contains_key(&region));
                    } else {
                        naive.hold(region, span);
                        naive.keep_one(region, span);
                        if let Some((at, len)) = buffer {
                            naive.refusals.remove(&(at, len / 1024));
                        }
                        // Another request for it may have failed meanwhile.
                        let uses = buffer.and_then(|(at, len)| naive.uses.get_mut(&(at, len / 1024)));
                        uses.into_iter().for_each(|uses| *uses = NEEDED.max(*uses));
                    }
                }
            }
            CacheInput::Release(n) if !naive.held.is_empty() => {
                let region = naive.held.swap_remove(n % naive.held.len());
                naive.regions.get_mut(&region).expect("it is held").holds -= 1;
                assert_eq!(memory.release(region, &mut work), Ok(()));
                naive.deregister(&mut work);
            }
            CacheInput::Invalidate(at, len) => {
                let span = Span::new(at, len).expect("there are bytes");
                memory.invalidate(span, &mut work);
                naive.deregister(&mut work);
                naive.regions.values_mut().for_each(|region| region.is_dead |= region.span.overlaps(span));
                naive.asked.iter_mut().for_each(|(_, pages, stale)| *stale |= pages.overlaps(span));
                let is_kept = |region: &Region| region.is_dead && region.holds == 0;
                assert!(!naive.regions.values().any(is_kept), "{:?}", naive.regions);
            }
            _ => {}
        }
        assert_eq!(memory.cache().len() as usize, naive.regions.len() + naive.asked.len());
        assert_eq!(memory.reuse().len(), naive.uses.len());
        assert!(memory.reuse().registered_len() as usize <= memory.reuse().len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn uses_and_cache_agree_with_plain_lists(
        entries in 0..6u32,
        pages in 0..12u64,
        inputs in vec(input(), 0..200),
    ) {
        compare(Limits { page_bits: 10, entries, bytes: pages * PAGE }, &inputs);
    }
}

//! The cache agrees with one that is a plain list, for any sequence of calls.

use carrousel_registration::*;
use proptest::collection::vec;
use proptest::prelude::*;

const PAGE_BITS: u32 = 4;
const PAGES: u64 = 12;

#[derive(Clone, Copy, Debug, PartialEq)]
enum NaiveState {
    Asked,
    Stale,
    Valid,
    Doomed,
}

#[derive(Clone, Debug)]
struct NaiveRegion {
    region: RegionId,
    span: Span,
    state: NaiveState,
    holds: u32,
    /// When it was last released.
    used: usize,
}

/// The expected behaviour, in its plainest form.
struct Naive {
    limits: Limits,
    entries: Vec<NaiveRegion>,
}

impl Naive {
    /// Whether a request fits once the entries that `keep` does not want are evicted.
    fn fits(&self, len: u64, keep: impl Fn(&NaiveRegion) -> bool) -> bool {
        let kept = self.entries.iter().filter(|entry| keep(entry));
        let (count, bytes) = kept.fold((0, 0), |(n, b), entry| (n + 1, b + entry.span.len()));
        count < self.limits.entries && bytes + len <= self.limits.bytes
    }

    fn is_idle(entry: &NaiveRegion) -> bool {
        entry.state == NaiveState::Valid && entry.holds == 0
    }

    /// Evicts for a request of `len` bytes, or says why it cannot.
    fn evict(&mut self, len: u64) -> Result<Vec<RegionId>, RegistrationError> {
        if !self.fits(len, |_| false) {
            return Err(RegistrationError::TooLarge);
        }
        if !self.fits(len, |entry| !Self::is_idle(entry)) {
            return Err(RegistrationError::Full);
        }
        let mut gone = Vec::new();
        while !self.fits(len, |_| true) {
            let idle = self.entries.iter().filter(|entry| Self::is_idle(entry));
            let victim = idle.min_by_key(|entry| entry.used).expect("the idle ones make room").region;
            self.entries.retain(|entry| entry.region != victim);
            gone.push(victim);
        }
        Ok(gone)
    }

    /// Ends the valid entries that `which` selects; those that are not in use are gone.
    fn end(&mut self, which: impl Fn(&NaiveRegion) -> bool) -> Vec<RegionId> {
        for entry in self.entries.iter_mut().filter(|entry| entry.state == NaiveState::Valid) {
            if which(entry) {
                entry.state = NaiveState::Doomed;
            }
        }
        self.sweep()
    }

    fn sweep(&mut self) -> Vec<RegionId> {
        let is_gone = |entry: &NaiveRegion| entry.state == NaiveState::Doomed && entry.holds == 0;
        let gone = self.entries.iter().filter(|entry| is_gone(entry)).map(|entry| entry.region).collect();
        self.entries.retain(|entry| !is_gone(entry));
        gone
    }

    fn entry(&mut self, region: RegionId) -> &mut NaiveRegion {
        self.entries.iter_mut().find(|entry| entry.region == region).expect("it exists")
    }
}

#[derive(Clone, Debug)]
enum Input {
    Acquire(Span),
    /// Answers the n-th question, modulo their number: with success, or not.
    Answer(usize, bool),
    /// Releases the n-th hold.
    Release(usize),
    /// Acquires by the n-th name that was ever given.
    Again(usize, Span),
    Invalidate(Span),
    Clear,
}

fn span() -> impl Strategy<Value = Span> {
    (0..PAGES << PAGE_BITS, 1..4u64 << PAGE_BITS)
        .prop_filter_map("there are bytes", |(start, len)| Span::new(start, len))
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        8 => span().prop_map(Input::Acquire),
        6 => (any::<usize>(), prop::bool::weighted(0.9)).prop_map(|(n, well)| Input::Answer(n, well)),
        6 => any::<usize>().prop_map(Input::Release),
        3 => (any::<usize>(), span()).prop_map(|(n, span)| Input::Again(n, span)),
        2 => span().prop_map(Input::Invalidate),
        1 => Just(Input::Clear),
    ]
}

fn sorted(mut regions: Vec<RegionId>) -> Vec<RegionId> {
    regions.sort();
    regions
}

fn compare(limits: Limits, inputs: &[Input]) {
    let mut cache = Cache::<AllCacheRules>::new(limits);
    let mut naive = Naive { limits, entries: Vec::new() };
    let (mut asked, mut held, mut named) = (Vec::new(), Vec::new(), Vec::new());
    for (now, input) in inputs.iter().enumerate() {
        let mut work = Vec::new();
        let mut gone = Vec::new();
        match *input {
            Input::Acquire(span) => match cache.acquire(span, &mut work) {
                Acquired::Hit(region) => {
                    let entry = naive.entry(region);
                    assert!(
                        entry.state == NaiveState::Valid && entry.span.contains(span),
                        "{entry:?} for {span}"
                    );
                    entry.holds += 1;
                    held.push(region);
                }
                Acquired::Register(region, pages) => {
                    let covers =
                        |entry: &NaiveRegion| entry.state == NaiveState::Valid && entry.span.contains(span);
                    assert!(!naive.entries.iter().any(covers), "{span} was registered");
                    assert_eq!(Some(pages), span.pages(PAGE_BITS));
                    gone = naive.evict(pages.len()).expect("it is not refused");
                    let entry =
                        NaiveRegion { region, span: pages, state: NaiveState::Asked, holds: 1, used: 0 };
                    assert!(naive.entries.iter().all(|other| other.region.index != region.index));
                    naive.entries.push(entry);
                    asked.push(region);
                    named.push(region);
                }
                Acquired::Refused(refusal) => {
                    let len = span.pages(PAGE_BITS).expect("there are pages").len();
                    assert_eq!(naive.evict(len), Err(refusal));
                }
            },
            Input::Answer(n, well) if !asked.is_empty() => {
                let region = asked.swap_remove(n % asked.len());
                let NaiveRegion { span, state, .. } = *naive.entry(region);
                let covered =
                    |entry: &NaiveRegion| entry.state == NaiveState::Valid && entry.span.contains(span);
                if !well {
                    assert_eq!(cache.failed(region), Ok(()));
                    naive.entries.retain(|entry| entry.region != region);
                } else if state == NaiveState::Stale {
                    assert_eq!(cache.registered(region, &mut work), Ok(Registration::Stale));
                    naive.entries.retain(|entry| entry.region != region);
                    gone = vec![region];
                } else {
                    assert_eq!(cache.registered(region, &mut work), Ok(Registration::Usable));
                    held.push(region);
                    if naive.entries.iter().any(covered) {
                        naive.entry(region).state = NaiveState::Doomed;
                    } else {
                        gone = naive.end(|entry| span.contains(entry.span));
                        naive.entry(region).state = NaiveState::Valid;
                    }
                }
            }
            Input::Release(n) if !held.is_empty() => {
                let region = held.swap_remove(n % held.len());
                assert_eq!(cache.release(region, &mut work), Ok(()));
                let entry = naive.entry(region);
                entry.holds -= 1;
                entry.used = now;
                gone = naive.sweep();
            }
            Input::Again(n, span) if !named.is_empty() => {
                let region = named[n % named.len()];
                let is_it = |entry: &&mut NaiveRegion| {
                    entry.region == region && entry.state == NaiveState::Valid && entry.span.contains(span)
                };
                let entry = naive.entries.iter_mut().find(is_it);
                assert_eq!(cache.acquire_again(region, span), entry.is_some());
                if let Some(entry) = entry {
                    entry.holds += 1;
                    held.push(region);
                }
            }
            Input::Invalidate(_) | Input::Clear => {
                let span = if let Input::Invalidate(span) = *input { span } else { Span::ALL };
                if matches!(input, Input::Clear) {
                    cache.clear(&mut work);
                } else {
                    cache.invalidate(span, &mut work);
                }
                gone = naive.end(|entry| entry.span.overlaps(span));
                for entry in naive.entries.iter_mut().filter(|entry| entry.state == NaiveState::Asked) {
                    if entry.span.overlaps(span) {
                        entry.state = NaiveState::Stale;
                    }
                }
            }
            _ => {}
        }
        let work = work.into_iter().map(|Deregister(region)| region).collect();
        assert_eq!(sorted(work), sorted(gone), "after {input:?}");
        assert_eq!(cache.len() as usize, naive.entries.len());
        assert_eq!(cache.bytes(), naive.entries.iter().map(|entry| entry.span.len()).sum::<u64>());
        assert!(cache.len() <= limits.entries && cache.bytes() <= limits.bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn the_cache_agrees_with_a_plain_list(
        entries in 0..6u32,
        pages in 0..10u64,
        inputs in vec(input(), 0..80),
    ) {
        compare(Limits { page_bits: PAGE_BITS, entries, bytes: pages << PAGE_BITS }, &inputs);
    }
}

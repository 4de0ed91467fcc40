//! From how many uses on it pays to register a buffer whose messages would be copied otherwise.
//!
//! A copy, C, is saved by each use, which costs a look-up, V, instead; the registration, R, is to be paid once. So it pays
//! from the first n on for which n (C - V) > R (speculative-rendezvous 5.3.3, equations 5.1 to 5.5).
//!
//! There what the message itself takes is the same. Here an eager message that is not copied may take longer: its adapter
//! gathers two pieces, and says when it has read them, which is listened to, as its buffer may be changed only then. So
//! of eager messages what is saved, C - V, is measured as a whole, by sending them in both ways.
//!
//! Messages are in the caches of the processor, as what a program has just written is, or uses often. From elsewhere a copy
//! takes longer, and registering pays sooner than is said here; but it never costs more than it saves where it is said to
//! pay.

use super::copies::{self, scattered};
use super::loans::Loans;
use super::registration::{RegistrationPhase, time};
use super::{Adapter, MemoryError, PAGE, repeated, us_since};
use crate::Budget;
use crate::statistics::Summary;
use carrousel_registration::{
    CLASSES, Limits, Path, Policy, Registration, RegistrationCache, Route, Thresholds,
};
use serde::Serialize;
use std::time::Instant;

/// Buffers that are looked for, as in the spectrum test of speculative-rendezvous 5.5.
const BUFFERS: usize = 1000;
/// Times as long as other costs is measured what a loan saves.
const LOANS: f64 = 5.0;
/// Bytes of a size class.
const CLASS_BYTES: usize = 1 << 10;

/// The cost of a message of one size class in addition to its transfer, in us.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassCosts {
    /// Which class, see [`CLASSES`].
    pub class: usize,
    /// Bytes of the messages that were measured.
    pub size: usize,
    /// To copy it into staging memory, or from there (C).
    pub copy: Summary,
    /// To find the registration of its buffer, and to give it back (V).
    pub look_up: Summary,
    /// The time that an eager message without a copy saves as a whole (C - V); negative if that takes longer.
    pub saved: Summary,
    /// To register the pages of its buffer, and to end that (R).
    pub registration: Summary,
}

impl ClassCosts {
    /// From how many uses on registering pays: by the medians, if it pays at all as far as they are sure. Where what is
    /// saved cannot be told from nothing, copying loses nothing.
    pub fn uses(&self, path: Path) -> u32 {
        let [_, worst] = self.spread(path);
        if worst == Thresholds::NEVER {
            return worst;
        }
        uses_that_pay(self.registration.median, self.saving(path).0)
    }

    /// The same from the ends of what the medians are [sure](Summary::sure) to be: that which speaks for registering, and
    /// that which speaks against it.
    pub fn spread(&self, path: Path) -> [u32; 2] {
        let ([cheapest, dearest], (_, [least, most])) = (self.registration.sure(), self.saving(path));
        [uses_that_pay(cheapest, most), uses_that_pay(dearest, least)]
    }

    /// The time that a use saves, and the interval in which that is sure. A put or a get is of one piece, and is waited
    /// for, also from staging memory.
    fn saving(&self, path: Path) -> (f64, [f64; 2]) {
        let Self { copy, look_up, saved, .. } = self;
        match path {
            Path::EagerByWrite | Path::EagerBySend => (saved.median, saved.sure()),
            Path::Put | Path::Get => {
                let ([copy_least, copy_most], [look_least, look_most]) = (copy.sure(), look_up.sure());
                (copy.median - look_up.median, [copy_least - look_most, copy_most - look_least])
            }
        }
    }
}

/// The least whole number of uses above `registration` / `saved`, both of the same unit, where `saved` is what each use
/// costs less than a copy; [`Thresholds::NEVER`] if that is nothing (speculative-rendezvous 5.3).
fn uses_that_pay(registration: f64, saved: f64) -> u32 {
    if saved.is_nan() || saved <= 0.0 {
        return Thresholds::NEVER;
    }
    // Saturates: what pays after four thousand million uses does not pay.
    ((registration / saved).floor() as u32).saturating_add(1)
}

/// The thresholds that follow. Of classes that were not measured: never.
pub fn thresholds(costs: &[ClassCosts]) -> Thresholds {
    let mut thresholds = Thresholds::uniform(Thresholds::NEVER);
    for path in Path::ALL {
        for cost in costs {
            if let Some(uses) = thresholds.of_mut(path).get_mut(cost.class) {
                *uses = cost.uses(path);
            }
        }
    }
    thresholds
}

/// Measures one size class after the other.
///
/// # Errors
/// When the adapter refuses, or there is too little memory.
pub fn reuse_costs(adapter: &Adapter, budget: Budget) -> Result<Vec<ClassCosts>, MemoryError> {
    let mut costs = Vec::new();
    let mut loans = Loans::new(adapter, CLASSES * CLASS_BYTES)?;
    // The time saved is small compared with a message, of which few fit into a time.
    let longer = Budget { seconds: budget.seconds * LOANS, ..budget };
    for class in 0..CLASSES {
        let size = size_of_class(class);
        let cost = ClassCosts {
            class,
            size,
            copy: copies::copy(size, budget)?,
            look_up: look_up(size, budget),
            saved: loans.saved(size, longer)?,
            registration: time(adapter, size.next_multiple_of(PAGE), budget, RegistrationPhase::Both)?,
        };
        costs.push(cost);
    }
    Ok(costs)
}

/// Bytes of the messages that stand for a size class: the middle of it. The last one has no end, and is as if it were as wide
/// as the others, which is where the thesis ends it: what is longer saves more.
fn size_of_class(class: usize) -> usize {
    class * CLASS_BYTES + CLASS_BYTES / 2
}

/// Finding the registration of one of many buffers, and giving it back, in us.
fn look_up(size: usize, budget: Budget) -> Summary {
    let (mut memory, addresses) = registered(size);
    let mut work = Vec::new();
    let done = repeated::<std::convert::Infallible>(budget, || {
        let began = Instant::now();
        for address in &addresses {
            if let Route::Direct(region) = memory.transfer(*address, size as u64, Path::Put, &mut work) {
                // It is held, by the line above.
                let _ = memory.release(region, &mut work);
            }
        }
        Ok(us_since(began) / addresses.len() as f64)
    });
    match done {
        Ok(summary) => summary,
    }
}

/// A table and a cache in which each of many buffers is registered; and their addresses, in a scattered order. They are
/// never looked at, so there is no memory behind them.
fn registered(size: usize) -> (RegistrationCache, Vec<u64>) {
    const BASE: usize = 0x7f00_0000_0000;
    let stride = 2 * size.max(1).next_multiple_of(PAGE);
    let policy = Policy { thresholds: Thresholds::uniform(1), bytes_min: 0, ..Policy::default() };
    let mut memory = RegistrationCache::new(Limits::default(), policy);
    let mut work = Vec::new();
    let addresses = scattered(BUFFERS).into_iter().map(|at| (BASE + at * stride) as u64);
    let known =
        addresses.filter(|address| match memory.transfer(*address, size as u64, Path::Put, &mut work) {
            Route::Register(region, _) => {
                memory.registered(region, &mut work) == Ok(Registration::Usable)
                    && memory.release(region, &mut work).is_ok()
            }
            Route::Direct(_) | Route::Copy => false,
        });
    let known = known.collect();
    (memory, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(value: f64) -> Summary {
        Summary { median: value, lower: value, upper: value, count: 1 }
    }

    /// Of a hundred values: their median is sure to 0.18 of what is between their quartiles.
    fn about(median: f64, lower: f64, upper: f64) -> Summary {
        Summary { median, lower, upper, count: 100 }
    }

    fn costs() -> ClassCosts {
        ClassCosts {
            class: 4,
            size: 4608,
            copy: about(2.0, 1.0, 3.0),
            look_up: exactly(0.5),
            saved: about(1.25, 0.75, 1.75),
            registration: about(30.0, 20.0, 40.0),
        }
    }

    #[test]
    fn a_registration_pays_when_the_copies_that_it_saves_cost_more() {
        // 20 uses cost exactly as much as the registration, so it takes one more (equation 5.3).
        assert_eq!(uses_that_pay(30.0, 1.5), 21);
        assert_eq!(uses_that_pay(30.1, 1.5), 21);
        assert_eq!(uses_that_pay(29.9, 1.5), 20);
        assert_eq!(uses_that_pay(0.0, 1.5), 1);
    }

    #[test]
    fn it_never_pays_where_a_use_saves_nothing() {
        for saved in [0.0, -0.1, f64::NAN] {
            assert_eq!(uses_that_pay(30.0, saved), Thresholds::NEVER);
            assert_eq!(uses_that_pay(0.0, saved), Thresholds::NEVER);
        }
        assert_eq!(uses_that_pay(30.0, 1e-12), Thresholds::NEVER);
    }

    #[test]
    fn what_an_eager_message_saves_is_measured_as_a_whole() {
        let uses = Path::ALL.map(|path| costs().uses(path));
        assert_eq!(uses, [25, 25, 21, 21]);
    }

    #[test]
    fn what_may_not_pay_is_never_registered() {
        // By the median it would pay; of four values that says nothing.
        let unsure = ClassCosts { saved: Summary { count: 4, ..about(0.5, 0.0, 1.0) }, ..costs() };
        assert_eq!([Path::Put, Path::EagerBySend].map(|path| unsure.uses(path)), [21, Thresholds::NEVER]);
        let surer = ClassCosts { saved: about(0.5, 0.0, 1.0), ..costs() };
        assert_eq!(surer.uses(Path::EagerBySend), 61);
    }

    #[test]
    fn the_spread_reaches_from_the_best_case_to_the_worst() {
        // (30 - 3.64) / (1.5 + 0.364), and (30 + 3.64) / (1.5 - 0.364).
        assert_eq!(costs().spread(Path::Put), [15, 30]);
        // The same with 1.25 and 0.182.
        assert_eq!(costs().spread(Path::EagerBySend), [19, 32]);
        let worse = ClassCosts { look_up: about(1.9, 1.0, 2.8), ..costs() };
        assert_eq!(worse.spread(Path::Put), [34, Thresholds::NEVER]);
    }

    #[test]
    fn thresholds_are_those_of_the_classes_that_were_measured() {
        let thresholds = thresholds(&[costs()]);
        assert_eq!((thresholds.put[4], thresholds.eager_by_send[4]), (21, 25));
        assert_eq!(thresholds.put.iter().filter(|uses| **uses == Thresholds::NEVER).count(), CLASSES - 1);
    }

    #[test]
    fn a_class_is_measured_in_its_middle() {
        assert_eq!([0, 1, CLASSES - 2, CLASSES - 1].map(size_of_class), [512, 1536, 7680, 8704]);
    }

    #[test]
    fn every_buffer_that_is_looked_for_is_found() {
        for size in [512, 8192] {
            let (mut memory, addresses) = registered(size);
            assert_eq!(addresses.len(), BUFFERS);
            let mut work = Vec::new();
            for address in addresses {
                let route = memory.transfer(address, size as u64, Path::EagerBySend, &mut work);
                let Route::Direct(region) = route else { panic!("{route:?}") };
                assert_eq!(memory.release(region, &mut work), Ok(()));
            }
            assert_eq!(work, []);
        }
        let few = Budget { repetitions: Some(3), ..Budget::default() };
        assert!(look_up(512, few).median > 0.0);
    }
}

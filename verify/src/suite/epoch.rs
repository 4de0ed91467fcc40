//! The epoch suite: every program of a window up to some bounds, in every order of events.

use super::bounded::{BoundedFamily, bounded};
use super::{SuiteReport, SuiteSettings};
use crate::epoch::{EpochBounds, EpochCoverPoint, EpochFamily, EpochItems, FlagSettings};
use crate::situations::names;

const GENERAL: &[EpochCoverPoint] = &[
    EpochCoverPoint::Deferred,
    EpochCoverPoint::Replayed,
    EpochCoverPoint::EarlyGrant,
    EpochCoverPoint::Nested,
];

/// The bounds, each with what its exploration has to meet.
fn families(full: bool) -> Vec<(EpochBounds, &'static [EpochCoverPoint])> {
    use EpochItems::{Fences, Flushes, General, Locks, Mixed};
    use FlagSettings::{Every, Off, OffAndOn};
    let family =
        |items, ranks, each, all, flags| EpochBounds::Family(EpochFamily { items, ranks, each, all, flags });
    let mut families = vec![
        (family(General, 2, 2, 3, Every), GENERAL),
        (family(Fences, 2, 2, 4, Off), GENERAL),
        (family(Locks, 2, 1, 2, OffAndOn), GENERAL),
        (family(Locks, 2, 2, 2, OffAndOn), GENERAL),
        (family(Flushes, 2, 1, 2, Off), GENERAL),
        (family(Mixed, 2, 2, 3, Off), GENERAL),
        (family(General, 3, 1, 3, Off), GENERAL),
    ];
    if full {
        families.push((family(General, 2, 2, 4, OffAndOn), GENERAL));
        families.push((family(Fences, 2, 3, 5, Off), GENERAL));
        families.push((family(Locks, 2, 2, 4, OffAndOn), GENERAL));
        families.push((family(Mixed, 2, 2, 4, OffAndOn), GENERAL));
        families.push((family(Mixed, 3, 1, 3, OffAndOn), GENERAL));
    }
    families
}

/// Explores windows with every rule on.
pub fn epoch(settings: &SuiteSettings<'_>) -> SuiteReport {
    let families = families(settings.full).into_iter().map(|(bounds, must_reach)| BoundedFamily {
        name: bounds.name(),
        bounds,
        must_reach: names(must_reach),
    });
    bounded("epoch", &families.collect::<Vec<_>>(), settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured() {
        for (bounds, _) in families(false) {
            use crate::bounds::Bounds;
            let limits = crate::explore::Limits { threads: 2, ..crate::explore::Limits::default() };
            println!("{} programs", bounds.count());
            let outcome = bounds.explore(&limits);
            println!(
                "{}: {} states, {:.1} s, {:?}",
                bounds.name(),
                outcome.states,
                outcome.seconds,
                outcome.reached
            );
            println!("{}", outcome.broken.unwrap_or_default());
        }
    }
}

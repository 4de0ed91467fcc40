//! The epoch suite: every program of a window up to some bounds, in every order of events.

use super::bounded::{BoundedFamily, bounded};
use super::{SuiteReport, SuiteSettings};
use crate::epoch::{EpochBounds, EpochCoverPoint, EpochFamily, EpochItems, FlagSettings};
use crate::situations::names;

use EpochCoverPoint::{
    BehindFlush, BehindStaged, Deferred, EarlyGrant, Enclosed, EndedFirst, ExposureWaits, Fenced, Flagged,
    Flushed, HeldBack, LockedWhileExposed, Nested, NoBuffer, Queued, Replayed, Staged, Stuck,
};

const GENERAL: &[EpochCoverPoint] =
    &[Deferred, Replayed, EarlyGrant, Nested, Flagged, EndedFirst, Fenced, Stuck];
/// With three ranks, whose closes wait.
const THREE: &[EpochCoverPoint] = &[EarlyGrant];
const FENCES: &[EpochCoverPoint] = &[Deferred, Replayed, EarlyGrant, Nested, Enclosed, HeldBack];
const LOCKS: &[EpochCoverPoint] = &[Replayed, Nested, Fenced, Queued];
const FLUSHES: &[EpochCoverPoint] = &[Flushed, BehindFlush];
const ACCUMULATES: &[EpochCoverPoint] = &[Staged, NoBuffer, BehindStaged, Fenced];
const MIXED: &[EpochCoverPoint] =
    &[Deferred, EarlyGrant, Nested, Queued, HeldBack, LockedWhileExposed, ExposureWaits, Stuck];

/// The bounds, each with what its exploration has to meet.
fn families(full: bool) -> Vec<(EpochBounds, &'static [EpochCoverPoint])> {
    use EpochItems::{Accumulates, Fences, Flushes, General, Locks, Mixed};
    use FlagSettings::{Every, Off, OffAndOn};
    let family =
        |items, ranks, each, all, flags| EpochBounds::Family(EpochFamily { items, ranks, each, all, flags });
    let mut families = vec![
        (family(General, 2, 2, 3, Every), GENERAL),
        (family(Fences, 2, 2, 4, Off), FENCES),
        (family(Locks, 2, 1, 2, OffAndOn), LOCKS),
        (family(Locks, 2, 2, 2, OffAndOn), LOCKS),
        (family(Flushes, 2, 1, 1, Off), FLUSHES),
        (family(Accumulates, 3, 1, 3, Off), ACCUMULATES),
        (family(Mixed, 2, 2, 3, Off), MIXED),
        (family(General, 3, 1, 3, Off), THREE),
    ];
    if full {
        families.push((family(General, 2, 2, 4, OffAndOn), GENERAL));
        families.push((family(General, 3, 2, 4, Off), THREE));
        families.push((family(Flushes, 2, 1, 2, Off), FLUSHES));
        families.push((family(Fences, 2, 3, 5, Off), FENCES));
        families.push((family(Accumulates, 3, 2, 3, Off), ACCUMULATES));
        families.push((family(Locks, 2, 2, 4, OffAndOn), LOCKS));
        families.push((family(Mixed, 2, 2, 4, OffAndOn), MIXED));
        families.push((family(Mixed, 3, 1, 3, OffAndOn), MIXED));
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

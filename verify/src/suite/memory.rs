//! The memory suite: registered memory, with everything that an application, a kernel and an adapter can do
//! within some bounds.

use super::bounded::{BoundedFamily, bounded};
use super::{SuiteReport, SuiteSettings};
use crate::memory::{MemoryBounds, MemoryCoverPoint, TransferKind};
use crate::situations::names;

const BOTH: &[TransferKind] = &[TransferKind::Small, TransferKind::Large];

/// What every exploration has to meet.
const ALWAYS: &[MemoryCoverPoint] =
    &[MemoryCoverPoint::Registered, MemoryCoverPoint::Hit, MemoryCoverPoint::InvalidatedInUse];
/// With small messages that are always used often enough, and pages that move.
const MOVED: &[MemoryCoverPoint] = &[
    MemoryCoverPoint::Registered,
    MemoryCoverPoint::Hit,
    MemoryCoverPoint::InvalidatedInUse,
    MemoryCoverPoint::Copied,
    MemoryCoverPoint::Evicted,
    MemoryCoverPoint::Stale,
];

/// The bounds, each with what its exploration has to meet.
fn families(full: bool) -> Vec<(MemoryBounds, &'static [MemoryCoverPoint])> {
    const SMALL: MemoryBounds = MemoryBounds::SMALL;
    let mut families = vec![
        (SMALL, ALWAYS),
        (MemoryBounds { unmaps: 2, moves: 1, ..SMALL }, MOVED),
        (
            MemoryBounds { moves: 1, entries: 1, fails: true, ..SMALL },
            &[MemoryCoverPoint::Failed, MemoryCoverPoint::Stale],
        ),
        (
            MemoryBounds { moves: 1, kinds: BOTH, ..SMALL },
            &[MemoryCoverPoint::Refused, MemoryCoverPoint::Stale],
        ),
        (MemoryBounds { moves: 1, threads: 2, ..SMALL }, MOVED),
        (MemoryBounds { pages: 3, moves: 1, ..SMALL }, MOVED),
        (
            MemoryBounds { sends: 5, uses: 2, one_chain: true, ..SMALL },
            &[
                MemoryCoverPoint::Copied,
                MemoryCoverPoint::Registered,
                MemoryCoverPoint::Hit,
                MemoryCoverPoint::Stopped,
            ],
        ),
    ];
    if full {
        families.push((MemoryBounds { sends: 4, moves: 1, ..SMALL }, MOVED));
        families
            .push((MemoryBounds { sends: 4, unmaps: 2, moves: 1, entries: 1, fails: true, ..SMALL }, MOVED));
        families.push((MemoryBounds { pages: 3, kinds: BOTH, moves: 1, ..SMALL }, MOVED));
        families.push((
            MemoryBounds { pages: 3, longest: 3, moves: 1, entries: 3, registered_pages: 6, ..SMALL },
            MOVED,
        ));
    }
    families
}

/// Explores registered memory with every rule on.
pub fn memory(settings: &SuiteSettings<'_>) -> SuiteReport {
    let families = families(settings.full).into_iter().map(|(bounds, must_reach)| BoundedFamily {
        name: bounds.name(),
        bounds,
        must_reach: names(must_reach),
    });
    bounded("memory", &families.collect::<Vec<_>>(), settings)
}

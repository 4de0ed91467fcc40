//! The memory suite: registered memory, with everything that an application, a kernel and an adapter can do
//! within some bounds.

use super::bounded::{BoundedFamily, bounded};
use super::{SuiteReport, SuiteSettings};
use crate::memory::{Bounds, Kind, Reached, SET, explore};

const BOTH: &[Kind] = &[Kind::Small, Kind::Large];

/// What every exploration has to meet.
const ALWAYS: &[Reached] = &[Reached::Registered, Reached::Hit, Reached::InvalidatedInUse];
/// With small messages that are always used often enough, and pages that move.
const MOVED: &[Reached] = &[
    Reached::Registered,
    Reached::Hit,
    Reached::InvalidatedInUse,
    Reached::Copied,
    Reached::Evicted,
    Reached::Stale,
];

/// The bounds, each with what its exploration has to meet.
fn families(full: bool) -> Vec<(Bounds, &'static [Reached])> {
    const SMALL: Bounds = Bounds::SMALL;
    let mut families = vec![
        (SMALL, ALWAYS),
        (Bounds { unmaps: 2, moves: 1, ..SMALL }, MOVED),
        (Bounds { moves: 1, entries: 1, fails: true, ..SMALL }, &[Reached::Failed, Reached::Stale]),
        (Bounds { moves: 1, kinds: BOTH, ..SMALL }, &[Reached::Refused, Reached::Stale]),
        (Bounds { moves: 1, threads: 2, ..SMALL }, MOVED),
        (Bounds { pages: 3, moves: 1, ..SMALL }, MOVED),
        (
            Bounds { sends: 5, uses: 2, one_chain: true, ..SMALL },
            &[Reached::Copied, Reached::Registered, Reached::Hit, Reached::Stopped],
        ),
    ];
    if full {
        families.push((Bounds { sends: 4, moves: 1, ..SMALL }, MOVED));
        families.push((Bounds { sends: 4, unmaps: 2, moves: 1, entries: 1, fails: true, ..SMALL }, MOVED));
        families.push((Bounds { pages: 3, kinds: BOTH, moves: 1, ..SMALL }, MOVED));
        families.push((
            Bounds { pages: 3, longest: 3, moves: 1, entries: 3, registered_pages: 6, ..SMALL },
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
        must_reach: must_reach.iter().map(|what| what.name()).collect(),
    });
    bounded("memory", SET, &families.collect::<Vec<_>>(), explore, settings)
}

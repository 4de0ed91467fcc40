//! The memory suite: registered memory, with everything that an application, a kernel and an adapter can do
//! within some bounds.

use super::{Row, SuiteReport, SuiteSettings};
use crate::memory::{Bounds, Kind, Outcome, Reached, explore};
use crate::report::Verdict;
use std::time::Instant;

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
    let began = Instant::now();
    let families = families(settings.full);
    let mine: Vec<_> = families
        .iter()
        .enumerate()
        .filter(|(index, _)| settings.is_mine(*index))
        .map(|(_, one)| one)
        .collect();
    let rows = mine
        .iter()
        .enumerate()
        .map(|(at, (bounds, must_reach))| {
            if let Some(began) = settings.began {
                began(&bounds.name(), at, mine.len());
            }
            let mut row = row(bounds.name());
            row.must_reach = must_reach.iter().map(|what| what.name().to_owned()).collect();
            add(explore(*bounds, settings.threads), &mut row);
            row
        })
        .collect();
    SuiteReport {
        suite: "memory".to_owned(),
        full: settings.full,
        shard: settings.shard,
        seconds: began.elapsed().as_secs_f64(),
        rows,
    }
}

/// A line without results.
fn row(name: String) -> Row {
    Row {
        name,
        protocol: crate::memory::SET.to_owned(),
        source: None,
        programs: 0,
        programs_in_all: 0,
        states: 0,
        transitions: 0,
        seconds: 0.0,
        verdict: Verdict::Proven,
        reached: Reached::ALL.iter().map(|what| (what.name().to_owned(), 0)).collect(),
        must_reach: Vec::new(),
        counterexample: None,
    }
}

/// Adds what an exploration found. All that an application can do counts as one program.
pub(super) fn add(outcome: Outcome, row: &mut Row) {
    row.programs += 1;
    row.programs_in_all += 1;
    row.states += outcome.states;
    row.transitions += outcome.generated;
    row.seconds += outcome.seconds;
    for (what, times) in Reached::ALL.iter().zip(outcome.reached) {
        *row.reached.entry(what.name().to_owned()).or_default() += times;
    }
    if let Some(broken) = outcome.broken {
        row.verdict = Verdict::Violated;
        row.counterexample = Some(broken);
    }
}

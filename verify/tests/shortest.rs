//! Shortest counterexamples are shortest: as short as what one thread finds by depth in all orders of events.

mod jobs;

use carrousel_rank::{Mirror, Protocol, Published, Speculation};
use carrousel_scenario::{Check, load};
use carrousel_verify::explore::{Limits, explore};
use carrousel_verify::model::Settings;
use carrousel_verify::program::Job;
use carrousel_verify::report::Report;
use carrousel_verify::run::{Request, check};
use carrousel_verify::shortest::{EXPANDED_MIN, shorten};
use jobs::{Dice, MIXED, Shape, THREE, TWO, draw_job};

/// Steps to the violation of each check, by a search of all orders; `None` if there are too many to tell.
fn lengths<P: Protocol>(job: &Job, settings: Settings) -> Option<Vec<(Check, usize)>> {
    let limits = Limits { threads: 1, max_states: Some(10_000), ..Limits::default() };
    let outcome = explore::<P>([job.clone()].into(), Settings { reduce: false, ..settings }, &limits);
    let length = |(check, path): &(Check, _)| (*check, steps::<P>(path));
    outcome.exhaustive.then(|| outcome.violations.iter().map(length).collect())
}

fn steps<P: Protocol>(path: &carrousel_verify::explore::Path<P>) -> usize {
    path.steps.len() - 1
}

fn compare<P: Protocol>(shape: Shape, jobs: u64, portable: bool) {
    let mut dice = Dice::new(17);
    let (mut compared, mut shorter, mut found) = (0, 0, [0; Check::ALL.len()]);
    let (mut known, mut unknown) = (0, 0);
    for number in 0..jobs {
        let job = draw_job(&mut dice, shape);
        let settings = Settings { portable, ..Settings::default() };
        let Some(expected) = lengths::<P>(&job, settings) else { continue };
        for threads in [1, 2] {
            let limits = Limits { threads, ..Limits::default() };
            let mut outcome = explore::<P>([job.clone()].into(), settings, &limits);
            let before: usize = outcome.violations.iter().map(|(_, path)| steps(path)).sum();
            let shortened = shorten(&job, settings, &mut outcome, &limits);
            assert_eq!(shortened.counterexamples.len(), expected.len(), "job {number}: {job:#?}");
            for (it, (check, length)) in shortened.counterexamples.iter().zip(&expected) {
                assert_eq!(it.check, *check, "job {number}: {job:#?}");
                let wrong = format!("{check} of job {number}, {threads} threads: {job:#?}");
                if it.is_known {
                    assert_eq!(steps(&it.path), *length, "{wrong}");
                    known += 1;
                } else {
                    // The searches have ended at their bound.
                    assert!(shortened.states >= EXPANDED_MIN && steps(&it.path) >= *length, "{wrong}");
                    unknown += 1;
                }
            }
            let after: usize = shortened.counterexamples.iter().map(|it| steps(&it.path)).sum();
            shorter += usize::from(after < before);
        }
        compared += 1;
        expected.iter().for_each(|(check, _)| found[*check as usize] += 1);
    }
    assert!(compared * 10 > jobs * 7, "too many of the jobs are too large: {compared} of {jobs} compared");
    assert!(known > unknown * 20, "{unknown} of {} are not known to be shortest", known + unknown);
    assert!(shorter > 0, "the first counterexample is always a shortest one: the comparison says little");
    for check in [
        Check::DeadlockFreedom,
        Check::BufferSafety,
        Check::RequestLeak,
        Check::UnmatchedMessage,
        Check::MatchDeterminism,
    ] {
        assert!(found[check as usize] > 0, "no job violates {check}: the comparison says little");
    }
}

#[test]
fn two_ranks_mirror() {
    compare::<Mirror>(TWO, 250, false);
}

#[test]
fn two_ranks_published() {
    compare::<Published>(TWO, 250, false);
}

#[test]
fn three_ranks_mirror() {
    compare::<Mirror>(Shape { speculation: Speculation::Off, ..THREE }, 150, false);
}

#[test]
fn three_ranks_with_collectives_under_the_weakest_mpi() {
    compare::<Mirror>(Shape { speculation: Speculation::Off, ..MIXED }, 200, true);
}

fn verify(text: &str, threads: usize) -> Report {
    let scenario =
        load("test.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let limits = Limits { threads, ..Limits::default() };
    check(&scenario, &Request { limits, ..Request::default() }).unwrap_or_else(|error| panic!("{error}"))
}

fn told(report: &Report, check: Check) -> (usize, &str) {
    let found = report.checks[check as usize].counterexample.as_ref();
    found.map_or((0, ""), |found| (found.steps.len(), &found.summary))
}

/// A request that is left behind in a ring takes as many steps on 16 ranks as on 3.
#[test]
fn a_leak_in_a_ring_is_as_short_on_many_ranks() {
    let ring = |ranks: u32, rest: &str| {
        format!(
            "ranks {ranks}\nrank *\n  r = irecv from (me+size-1)%size tag 0 size 64KiB\n  \
             s = isend to (me+1)%size tag 0 size 64KiB\n{rest}"
        )
    };
    for (rest, steps) in [("", 2), ("  wait r\n", 8), ("  wait s\n", 7)] {
        for ranks in [3, 6, 16] {
            for threads in [1, 2] {
                let report = verify(&ring(ranks, rest), threads);
                let (found, summary) = told(&report, Check::RequestLeak);
                assert_eq!(found, steps, "{ranks} ranks{rest}: {summary}");
                assert!(!summary.contains("may be a shorter way"), "{summary}");
                assert!(report.states < 10_000, "{} states at {ranks} ranks", report.states);
            }
        }
    }
}

/// The states of the searches for shorter paths are counted, and no more than those of the first search or a few
/// thousand.
#[test]
fn what_shortening_costs_is_counted_and_bounded() {
    let race = |ranks: u32| {
        format!(
            "ranks {ranks}\nrank 0\n  repeat {0}\n    recv from any tag 0 size 8\n  end\n\
             rank 1..{0}\n  send to 0 tag 0 size 8\n",
            ranks - 1
        )
    };
    let limits = Limits { threads: 1, ..Limits::default() };
    for ranks in [3, 8] {
        let text = race(ranks);
        let scenario = load("f", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let job = carrousel_verify::scenario::job(&scenario, false).unwrap_or_else(|error| panic!("{error}"));
        let mut outcome = explore::<Mirror>([job.clone()].into(), Settings::default(), &limits);
        let first = outcome.states;
        let shortened = shorten(&job, Settings::default(), &mut outcome, &limits);
        assert!(shortened.states > 0);
        // What is generated and not expanded any more comes on top: a step for each rank at most.
        let most = first.max(EXPANDED_MIN) * (u64::from(ranks) + 1);
        assert!(shortened.states <= most, "{} states after {first}", shortened.states);
        assert_eq!(verify(&text, 1).states, first + shortened.states);
    }
}

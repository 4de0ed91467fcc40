//! Shortest counterexamples are shortest: as short as what one thread finds by depth in all orders of events.

use crate::dice::Dice;
use crate::jobs::{MIXED, Shape, THREE, TWO, draw_job};
use carrousel_rank::{Mirror, Protocol, Published, Speculation};
use carrousel_scenario::{Check, load};
use carrousel_verify::explore::{Limits, explore};
use carrousel_verify::model::Settings;
use carrousel_verify::program::Job;
use carrousel_verify::report::Report;
use carrousel_verify::run::{Request, check};
use carrousel_verify::shortest::{EXPANDED_MIN, shorten};

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

/// What comparing some jobs has shown.
#[derive(Default)]
struct Comparison {
    /// Jobs.
    jobs: u64,
    /// Searches, of those jobs, that have found something shorter than the first search.
    shorter: u64,
    /// Jobs that violate each check.
    found: [u64; Check::ALL.len()],
    /// Counterexamples that are known to be shortest.
    known: u64,
    /// And those that are not, as the searches have ended at their bound.
    unknown: u64,
}

impl Comparison {
    /// Compares the counterexamples of a job with those of a search of all orders.
    fn compare<P: Protocol>(&mut self, job: &Job, settings: Settings) {
        let Some(expected) = lengths::<P>(job, settings) else { return };
        for threads in [1, 2] {
            let limits = Limits { threads, ..Limits::default() };
            let mut outcome = explore::<P>([job.clone()].into(), settings, &limits);
            let before: usize = outcome.violations.iter().map(|(_, path)| steps(path)).sum();
            let shortened = shorten(job, settings, &mut outcome, &limits, None);
            assert_eq!(shortened.counterexamples.len(), expected.len(), "{job:#?}");
            for (it, (check, length)) in shortened.counterexamples.iter().zip(&expected) {
                assert_eq!(it.check, *check, "{job:#?}");
                if it.is_known {
                    assert_eq!(steps(&it.path), *length, "{check}, {threads} threads: {job:#?}");
                    self.known += 1;
                } else {
                    assert!(
                        shortened.states >= EXPANDED_MIN && steps(&it.path) >= *length,
                        "{check}: {job:#?}"
                    );
                    self.unknown += 1;
                }
            }
            let after: usize = shortened.counterexamples.iter().map(|it| steps(&it.path)).sum();
            self.shorter += u64::from(after < before);
        }
        self.jobs += 1;
        expected.iter().for_each(|(check, _)| self.found[*check as usize] += 1);
    }

    /// Says whether all that says something.
    fn judge(&self, drawn: u64, checks: &[Check]) {
        let Self { jobs, shorter, found, known, unknown } = self;
        assert!(jobs * 10 > drawn * 7, "too many of the jobs are too large: {jobs} of {drawn} compared");
        assert!(*known > unknown * 20, "{unknown} of {} are not known to be shortest", known + unknown);
        assert!(
            *shorter > 0,
            "the first counterexample is always a shortest one: the comparison says little"
        );
        for check in checks {
            assert!(found[*check as usize] > 0, "no job violates {check}: the comparison says little");
        }
    }
}

fn compare<P: Protocol>(shape: Shape, jobs: u64, portable: bool) {
    let mut dice = Dice::new(17);
    let mut compared = Comparison::default();
    for _ in 0..jobs {
        let settings = Settings { portable, ..Settings::default() };
        compared.compare::<P>(&draw_job(&mut dice, shape), settings);
    }
    let checks = [
        Check::DeadlockFreedom,
        Check::BufferSafety,
        Check::RequestLeak,
        Check::UnmatchedMessage,
        Check::MatchDeterminism,
    ];
    compared.judge(jobs, &checks);
}

/// A master that answers each sender by the values of its message, rightly or wrongly.
fn draw_master(dice: &mut Dice) -> String {
    let received = 2 + dice.below(2);
    let mut text = "ranks 3\nrank 0\n".to_owned();
    for number in 0..received {
        let tag = ["any", "0", "1"][dice.below(3) as usize];
        text.push_str(&format!("  r{number} = irecv from any tag {tag} size 8\n"));
    }
    for _ in 0..1 + dice.below(2) {
        let name = format!("r{}", dice.below(received));
        let to = ["source(r)", "source(r)+1", "source(r)", "3-source(r)"][dice.below(4) as usize];
        let tag = ["tag(r)", "tag(r)-1", "2"][dice.below(3) as usize];
        let call = ["send", "isend"][dice.below(2) as usize];
        let call = format!("  {call} to {to} tag {tag} size 8\n").replace("(r)", &format!("({name})"));
        text.push_str(&format!("  wait {name}\n{call}"));
    }
    if dice.below(3) > 0 {
        text.push_str("  wait all\n");
    }
    for me in 1..3 {
        text.push_str(&format!("rank {me}\n"));
        for _ in 0..1 + dice.below(2) {
            text.push_str(&format!("  isend to 0 tag {} size 8\n", dice.below(2)));
        }
        if dice.below(3) > 0 {
            text.push_str(&format!(
                "  {} from 0 tag any size 8\n",
                ["recv", "irecv"][dice.below(2) as usize]
            ));
        }
        text.push_str("  wait all\n");
    }
    text
}

/// A value that leaves its range counts as a deadlock, and happens on the way; so deadlocks are searched for otherwise.
#[test]
fn values_of_the_run() {
    let mut dice = Dice::new(23);
    let mut compared = Comparison::default();
    let (mut drawn, mut on_the_way) = (0, 0);
    while drawn < 120 {
        let text = draw_master(&mut dice);
        // A name that is waited for twice has no request any more.
        let Ok(scenario) = load("drawn.scn", text.as_bytes()) else { continue };
        drawn += 1;
        let report = verify(&text, 1);
        on_the_way += u64::from(told(&report, Check::DeadlockFreedom).1.contains("cannot go on"));
        let job = carrousel_verify::scenario::job(&scenario, false).unwrap_or_else(|error| panic!("{error}"));
        compared.compare::<Mirror>(&job, Settings::default());
    }
    assert!(on_the_way > 10, "only {on_the_way} of {drawn} shortest deadlocks are values out of range");
    compared.judge(drawn, &[Check::DeadlockFreedom, Check::RequestLeak, Check::UnmatchedMessage]);
}

#[test]
fn two_ranks_mirror() {
    compare::<Mirror>(TWO, 250, false);
    compare::<Mirror>(Shape { group: true, ..TWO }, 250, false);
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
    compare::<Mirror>(Shape { speculation: Speculation::Off, group: true, ..TWO }, 250, true);
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
        let shortened = shorten(&job, Settings::default(), &mut outcome, &limits, None);
        assert!(shortened.states > 0);
        // What is generated and not expanded any more comes on top: a step for each rank at most.
        let most = first.max(EXPANDED_MIN) * (u64::from(ranks) + 1);
        assert!(shortened.states <= most, "{} states after {first}", shortened.states);
        assert_eq!(verify(&text, 1).states, first + shortened.states);
    }
}

/// A halo of six ranks, two rounds, and one rank that reads what it receives too early, behind them.
const READ_TOO_EARLY: &str = "\
ranks 6
rank *
  repeat 2
    sendrecv to (me+1)%size tag 0 size 8 from (me+size-1)%size tag 0 size 8
  end
rank 4
  send to 5 tag 1 size 8
rank 5
  r = irecv from 4 tag 1 size 8 buf edge
  read buf edge
  wait r
";

/// Without any search, no step is left that the rest can do without.
#[test]
fn steps_that_the_violation_can_do_without_are_left_out() {
    let scenario =
        load("f", READ_TOO_EARLY.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let job = carrousel_verify::scenario::job(&scenario, false).unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits { threads: 1, ..Limits::default() };
    let mut outcome = explore::<Mirror>([job.clone()].into(), Settings::default(), &limits);
    let before: usize = outcome.violations.iter().map(|(_, path)| steps(path)).sum();
    let shortened = shorten(&job, Settings::default(), &mut outcome, &limits, Some(0));
    let [found] = &shortened.counterexamples[..] else { panic!("one check is violated") };
    assert!(!found.is_known && found.is_minimal);
    // Ranks 5, 4 and 3 take part in two rounds, rank 2 in one: a round takes at most five steps of a rank.
    assert!(
        steps(&found.path) < before && steps(&found.path) <= 30,
        "{} of {before} steps",
        steps(&found.path)
    );
}

/// With all steps, the text tells of the bound, and of the option that raises it.
#[test]
fn a_bound_is_named_with_its_option() {
    let scenario =
        load("f", READ_TOO_EARLY.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let limits = Limits { threads: 1, ..Limits::default() };
    let request = Request { limits, shortest_states: Some(7), ..Request::default() };
    let report = check(&scenario, &request).unwrap_or_else(|error| panic!("{error}"));
    let found = report.checks[Check::BufferSafety as usize].counterexample.as_ref();
    let found = found.unwrap_or_else(|| panic!("buffer-safety is violated"));
    let remark = "the search for it has ended at its bound of 7 states, which `--shortest-states` raises.";
    assert!(found.summary.ends_with(remark), "{}", found.summary);
    assert!(!found.sentences.contains("shorter way"), "{}", found.sentences);
}

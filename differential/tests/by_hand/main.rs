//! Small programs with windows whose verdicts people have derived from the text of MPI-4.1, chapter 12, and from the page of
//! the language: the checker, with its reductions and without, and the oracle say the same.

mod assertions;
mod closes_without_wait;
mod fences_and_groups;
mod locks;
mod operations;

use carrousel_differential::{CHECKS, Mode, judge, read};
use carrousel_scenario::load_with;
use carrousel_verify::explore::Limits;
use carrousel_verify::report::Verdict;
use carrousel_verify::run::{Request, check};

/// What a program violates by default, and under every MPI.
pub(crate) fn expect(program: &str, by_default: &[&str], under_every_mpi: &[&str]) {
    let scenario = load_with("by-hand.scn", program.as_bytes(), &carrousel_options::vocabulary())
        .unwrap_or_else(|error| panic!("{error}"));
    let known = read(&scenario).unwrap_or_else(|unknown| panic!("{unknown}\n{program}"));
    for (mode, expected) in [(Mode::Default, by_default), (Mode::Portable, under_every_mpi)] {
        let name = mode.name();
        let judged = judge(&known, mode, 2_000_000).unwrap_or_else(|| panic!("it is too large\n{program}"));
        assert_eq!(judged.violated.names(), expected, "the oracle, {name}\n{program}");
        for reduce in [true, false] {
            let limits = Limits { threads: 1, ..Limits::default() };
            let request = Request { portable: mode == Mode::Portable, reduce, limits, ..Request::default() };
            let report = check(&scenario, &request).unwrap_or_else(|error| panic!("{error}\n{program}"));
            assert!(report.exhaustive, "{program}");
            let is_violated = |name: &&str| {
                report.checks.iter().any(|it| it.name == *name && it.verdict == Verdict::Violated)
            };
            let violated: Vec<&str> = CHECKS.into_iter().filter(is_violated).collect();
            assert_eq!(violated, expected, "the checker, {name}, reduced: {reduce}\n{program}");
        }
    }
}

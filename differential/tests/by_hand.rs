//! Small programs with windows whose verdicts people have derived from the text of MPI-4.1, chapter 12, and from the page of
//! the language: the checker, with its reductions and without, and the oracle say the same.

use carrousel_differential::{CHECKS, Mode, judge, read};
use carrousel_scenario::load_with;
use carrousel_verify::explore::Limits;
use carrousel_verify::report::Verdict;
use carrousel_verify::run::{Request, check};

/// What a program violates by default, and under every MPI.
fn expect(program: &str, by_default: &[&str], under_every_mpi: &[&str]) {
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

/// An origin has what it has fetched, so its target has exposed its memory; and the lock that the target has given back
/// before, though it never waits for that, is complete.
#[test]
fn an_exposure_that_has_let_somebody_in_has_begun() {
    let program = |fetch: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  lock w at 1 exclusive\n  put w to 1 size 8 at 8\n  a = iunlock w at 1\n  \
             post w from [1]\n  wait_epoch w\nrank 1\n  start w to [0]\n  {fetch}\n  complete w\n  \
             store w at 8 size 8\n"
        )
    };
    expect(&program("fetch_op w at 0"), &["request-leak"], &["request-leak"]);
    expect(&program("get w from 0 size 8"), &["request-leak"], &["request-leak"]);
    // What is only written may leave its origin before anybody is let in.
    expect(&program("put w to 0 size 8"), &["request-leak"], &["rma-race", "request-leak"]);
}

/// An answer under a lock: the lock was granted, and what the rank has closed before is complete. It is not told that the
/// write of its own fetch is over.
#[test]
fn an_epoch_that_has_fetched_has_begun() {
    let program = |first: u8| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  lock w at 1 shared\n  put w to 1 size 8 at {first}\n  a = iunlock w at 1\n  \
             lock w at 1 shared\n  f = fetch_op w at 1 at 8\n  wait f\n  send to 1 tag 0 size 8\n  \
             unlock w at 1\nrank 1\n  recv from 0 tag 0 size 8\n  load w at 0 size 8\n"
        )
    };
    expect(&program(0), &["request-leak"], &["request-leak"]);
}

/// Two accumulates of one origin to one place, each in an exposure of its own: when the second is over, the first is
/// (MPI-4.1, 12.7.2), though no call of the target ends the first.
#[test]
fn an_accumulate_that_is_over_has_those_before_it_over() {
    let program = |second: &str| {
        format!(
            "ranks 2\nwindow w 16\nrank 0\n  fence w assert noprecede\n  acc w to 1 size 8\n  fence w\n  {second}\n  \
             fence w assert nosucceed\nrank 1\n  fence w assert noprecede\n  fence w assert noprecede\n  \
             fence w assert nosucceed\n  store w at 0 size 8\n"
        )
    };
    // The second fences do not say the same.
    expect(&program("acc w to 1 size 8"), &["epoch-usage"], &["epoch-usage"]);
    expect(&program("acc w to 1 size 16"), &["epoch-usage"], &["epoch-usage"]);
    expect(&program("acc w to 1 size 8 at 8"), &["epoch-usage"], &["rma-race", "epoch-usage"]);
}

/// The lock that rank 1 gives back goes to rank 0, which waits for it, and not to the exposure that was called for meanwhile:
/// by default lock and exposure take turns, and nothing races. Under every MPI they may meet.
#[test]
fn a_lock_that_is_waited_for_comes_before_an_exposure() {
    expect(
        "ranks 3\nwindow w 16\nrank 0\n  lock_all w\n  acc w to 2 size 8 at 8 op no_op\n  unlock_all w\n\
         rank 1\n  lock w at 2 exclusive\n  unlock w at 2\n  send to 2 tag 0 size 8\n  start w to [2]\n  \
         put w to 2 size 8 at 8\n  complete w\nrank 2\n  recv from 1 tag 0 size 8\n  post w from [1]\n  wait_epoch w\n",
        &["epoch-usage"],
        &["rma-race", "epoch-usage"],
    );
}

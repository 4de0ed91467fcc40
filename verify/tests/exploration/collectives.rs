//! Collectives are free of deadlock, whatever the network does: every execution of each one, at 2 to 8 ranks, eager
//! and by rendezvous. A wrong use of them is reported.

use carrousel_rank::Mirror;
use carrousel_scenario::{Check, load};
use carrousel_verify::explain::explain;
use carrousel_verify::explore::{Limits, explore};
use carrousel_verify::model::Settings;
use carrousel_verify::program::Job;
use carrousel_verify::rendezvous::Rendezvous;
use carrousel_verify::report::{Report, Verdict};
use carrousel_verify::run::{Request, check};
use carrousel_verify::scenario::job;

/// The statements, with a root that is not the first rank.
const STATEMENTS: [&str; 6] = [
    "bcast root 1 size",
    "reduce root 1 size",
    "allreduce size",
    "gather root 1 size",
    "allgather size",
    "alltoall size",
];
/// Eager, and by rendezvous.
const SIZES: [&str; 2] = ["8", "1MiB"];
/// The same, and the algorithms for what is short by rendezvous.
const WAYS: [(&str, &str); 3] = [("", "8"), ("", "1MiB"), ("option eager_threshold 4\n", "8")];
/// States of one proof, at most.
const STATES_MAX: u64 = 200_000;

fn verify(text: &str, rendezvous: Rendezvous, portable: bool) -> Report {
    verify_with(text, rendezvous, portable, true)
}

fn verify_with(text: &str, rendezvous: Rendezvous, portable: bool, reduce: bool) -> Report {
    let scenario =
        load("test.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let limits = Limits { threads: 1, max_states: Some(STATES_MAX), ..Limits::default() };
    let request = Request { rendezvous, portable, limits, reduce, ..Request::default() };
    check(&scenario, &request).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn is_proven(text: &str, rendezvous: Rendezvous) -> u64 {
    let report = verify(text, rendezvous, false);
    assert_eq!(report.checks.len(), Check::ALL.len());
    assert_eq!(report.checks[0].verdict, Verdict::Proven, "{text}");
    for check in report.checks.iter().filter(|check| check.verdict != Verdict::NotApplicable) {
        assert_eq!(check.verdict, Verdict::Proven, "{} after {} states:\n{text}", check.name, report.states);
    }
    report.states
}

fn all_are_proven(rendezvous: Rendezvous) {
    for statement in ["barrier"].into_iter().chain(STATEMENTS) {
        for (option, size) in WAYS {
            let size = if statement == "barrier" { "" } else { size };
            let states = (2..=8).map(|ranks| {
                let text = format!("ranks {ranks}\n{option}rank *\n  {statement} {size}\n");
                is_proven(&text, rendezvous)
            });
            println!("{option}{statement} {size}: {:?} states at 2 to 8 ranks", states.collect::<Vec<_>>());
        }
    }
}

/// The reduction hides nothing: all orders of events, as far as they can be counted.
#[test]
fn every_collective_is_proven_without_the_reduction() {
    for statement in ["barrier"].into_iter().chain(STATEMENTS) {
        for ((option, size), ranks) in WAYS.into_iter().flat_map(|way| [2, 3, 4].map(|ranks| (way, ranks))) {
            let size = if statement == "barrier" { "" } else { size };
            let text = format!("ranks {ranks}\n{option}rank *\n  {statement} {size}\n");
            for rendezvous in [Rendezvous::Mirror, Rendezvous::Published] {
                let report = verify_with(&text, rendezvous, false, false);
                assert_eq!(report.verdict, Verdict::Proven, "{} states: {text}", report.states);
                println!(
                    "{option}{statement} {size}: {} states at {ranks} ranks, {rendezvous:?}",
                    report.states
                );
            }
        }
    }
}

#[test]
fn every_collective_is_proven_mirror() {
    all_are_proven(Rendezvous::Mirror);
}

#[test]
fn every_collective_is_proven_published() {
    all_are_proven(Rendezvous::Published);
}

/// One after the other, with messages around them.
#[test]
fn collectives_among_messages_are_proven() {
    for ranks in 2..=4 {
        for size in SIZES {
            let text = format!(
                "ranks {ranks}\nrank *\n  r = irecv from (me+size-1)%size tag 0 size {size}\n  \
                 allreduce size {size}\n  s = isend to (me+1)%size tag 0 size {size}\n  \
                 bcast root 0 size {size}\n  wait r s\n  b = ibarrier\n  gather root 1 size {size}\n  wait b\n"
            );
            println!("{ranks} ranks, {size}: {} states", is_proven(&text, Rendezvous::Mirror));
        }
    }
}

/// The violated checks, and what is said of the first.
fn violated(text: &str, portable: bool) -> (Vec<&'static str>, String) {
    let report = verify(text, Rendezvous::Mirror, portable);
    let violated = || report.checks.iter().filter(|check| check.verdict == Verdict::Violated);
    let said = violated().find_map(|check| check.counterexample.as_ref().map(|it| it.summary.clone()));
    (violated().map(|check| check.name).collect(), said.unwrap_or_default())
}

#[test]
fn a_deadlock_names_the_collective_and_who_is_missing() {
    let (checks, said) = violated("ranks 3\nrank 0..1\n  allreduce size 8\n", false);
    assert_eq!(checks, ["deadlock-freedom"]);
    assert!(said.contains("for rank 2 to enter the allreduce, but rank 2 has finished"), "{said}");
    let text = "ranks 3\nrank 0..1\n  gather root 0 size 1MiB\n  send to 2 tag 0 size 8\n\
                rank 2\n  recv from 0 tag 0 size 8\n  recv from 1 tag 0 size 8\n  gather root 0 size 1MiB\n";
    let (checks, said) = violated(text, false);
    assert_eq!(checks, ["deadlock-freedom"]);
    assert!(said.contains("for rank 2 to enter the gather"), "{said}");
    assert!(said.contains("They wait for each other"), "{said}");
}

#[test]
fn a_collective_without_all_ranks_is_never_proven() {
    for statement in STATEMENTS {
        for size in SIZES {
            for missing in 0..3 {
                let ranks: Vec<String> = (0..3)
                    .filter(|rank| *rank != missing)
                    .map(|rank| format!("rank {rank}\n  {statement} {size}\n"))
                    .collect();
                let text = format!("ranks 3\n{}", ranks.concat());
                let (checks, said) = violated(&text, false);
                let expected = ["deadlock-freedom", "unmatched-message"];
                assert!(checks.iter().any(|check| expected.contains(check)), "{text}{checks:?}");
                assert!(checks.iter().all(|check| expected.contains(check)), "{text}{checks:?} {said}");
            }
        }
    }
}

/// No scenario says so, but jobs that are not made of one can.
#[test]
fn ranks_that_disagree_on_a_size_are_told() {
    let of = |size: u64| {
        let text = format!("ranks 2\nrank *\n  bcast root 0 size {size}\n");
        job(&load("test.scn", text.as_bytes()).expect("it is right"), false).expect("it can be explored")
    };
    let violated = |sizes: [u64; 2]| {
        let [root, other] = sizes.map(of);
        let job = Job { ranks: vec![root.ranks[0].clone(), other.ranks[1].clone()], ..root };
        let outcome = explore::<Mirror>([job.clone()].into(), Settings::default(), &Limits::default());
        let [(check, path)] = &outcome.violations[..] else { panic!("{sizes:?}") };
        (check.name(), explain(&job, path, *check, None, None).summary)
    };
    let (check, said) = violated([64, 8]);
    assert_eq!(check, "buffer-safety");
    assert!(said.contains("do not agree on its size"), "{said}");
    let (check, said) = violated([64, 0]);
    assert_eq!(check, "unmatched-message");
    assert!(said.contains("call the same collectives"), "{said}");
}

/// This library's root does not wait for what is buffered; another MPI's may.
#[test]
fn under_the_weakest_mpi_a_collective_may_wait_for_everybody() {
    let text = "ranks 2\nrank 0\n  bcast root 0 size 8\n  send to 1 tag 0 size 8\n\
                rank 1\n  recv from 0 tag 0 size 8\n  bcast root 0 size 8\n";
    assert_eq!(violated(text, false), (Vec::new(), String::new()));
    let (checks, said) = violated(text, true);
    assert_eq!(checks, ["deadlock-freedom"]);
    assert!(said.contains("for rank 1 to enter the bcast"), "{said}");
    for statement in STATEMENTS {
        let text = format!("ranks 3\nrank *\n  {statement} 1MiB\n");
        assert_eq!(violated(&text, true), (Vec::new(), String::new()), "{text}");
    }
}

#[test]
fn too_many_bytes_are_refused() {
    let text = b"ranks 3\nrank *\n  allgather size 9223372036854775807\n";
    let scenario = load("test.scn", text).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let error = check(&scenario, &Request::default()).expect_err("that is more than there are numbers");
    assert!(error.to_string().contains("`allgather` of 3 ranks moves more bytes"), "{error}");
}

//! Scenarios with windows: the verdicts are the same whether orders are left out or not, and the checks find what they say.

use crate::drawn::{Compared, compare, compare_epochs, compare_unchecked, verdicts, verify};
use carrousel_scenario::{Check, load};
use carrousel_verify::report::Verdict;
use carrousel_verify::run::{Request, check};

#[test]
fn verdicts_are_the_same_with_and_without_the_reduction() {
    let Compared { programs, violated, .. } = compare(1, false);
    assert!(programs >= 200, "{programs} of 400 programs are small enough");
    for check in [Check::DeadlockFreedom, Check::RmaRace, Check::EpochUsage] {
        assert!(violated[check as usize] >= 5, "{check:?}: {}", violated[check as usize]);
    }
}

/// What is never under way together, and locks that are brief, are left out of the search: the programs are such that it
/// would be missed.
#[test]
fn epochs_that_follow_each_other_have_the_same_verdicts_with_and_without_the_reduction() {
    let Compared { programs, fewer, violated } = compare_epochs(500, 9);
    assert!(programs >= 300, "{programs} of 500 programs are small enough");
    assert!(fewer * 2 > programs, "the reduction reduces {fewer} of {programs}");
    let races = violated[Check::RmaRace as usize];
    assert!(races >= 50 && programs - races >= 50, "{races} of {programs} have a race");
    assert!(violated[Check::DeadlockFreedom as usize] >= 5, "{violated:?}");
}

/// Whether `nocheck` is true depends on orders that make no other difference.
#[test]
fn what_says_nocheck_has_the_same_verdicts_with_and_without_the_reduction() {
    for (seed, portable) in [(5, false), (6, true)] {
        let Compared { programs, fewer, violated } = compare_unchecked(seed, portable);
        assert!(programs >= 150, "{programs} of 400 programs are small enough");
        assert!(fewer * 2 > programs, "the reduction reduces {fewer} of {programs}");
        assert!(violated[Check::EpochUsage as usize] >= 20, "{violated:?}");
        assert!(u64::from(programs) - u64::from(violated[Check::EpochUsage as usize]) >= 20, "{violated:?}");
    }
}

#[test]
fn what_says_nocheck_is_reduced_too() {
    let counter = "lock_all w assert nocheck\n  fetch_op w at 0\n  unlock_all w";
    let handed_on = "barrier\nrank 0\n  lock w at 2 exclusive assert nocheck\n  put w to 2 size 8\n  unlock w at 2\n  \
                     barrier\nrank 1\n  barrier\n  lock w at 2 exclusive\n  put w to 2 size 8\n  unlock w at 2\n\
                     rank 2\n  barrier";
    let halo = "post w from [(me+2)%3 (me+1)%3] assert nocheck\n  barrier\n  \
                start w to [(me+1)%3 (me+2)%3] assert nocheck\n  put w to (me+1)%3 size 8\n  \
                put w to (me+2)%3 size 8 at 8\n  complete w\n  wait_epoch w";
    for program in [counter, handed_on, halo] {
        let report = verify(&format!("ranks 3\nwindow w 16\nrank *\n  {program}\n"), false, true, 5_000);
        assert!(report.exhaustive, "{} states are too many:\n{program}", report.states);
        let all = report.checks.iter().all(|check| check.verdict != Verdict::Violated);
        assert!(all, "{program}");
    }
}

/// The checks that are violated.
fn violated(text: &str) -> Vec<&'static str> {
    let (verdicts, _) = verdicts(text, false, true, 200_000).expect("it is small");
    let violated = verdicts.into_iter().filter(|(_, verdict)| *verdict == Verdict::Violated);
    violated.map(|(check, _)| check.name()).collect()
}

/// Ranks that do something with a window of 16 bytes.
fn ranks(options: &str, programs: &[&str]) -> String {
    let lines = |program: &str| program.replace("; ", "\n  ");
    let blocks =
        (0..).zip(programs).map(|(rank, program): (u32, _)| format!("rank {rank}\n  {}\n", lines(program)));
    format!("ranks {}\nwindow w 16\n{options}{}", programs.len(), blocks.collect::<String>())
}

/// Two ranks that do something with a window of 16 bytes.
fn two(options: &str, first: &str, second: &str) -> String {
    ranks(options, &[first, second])
}

#[test]
fn what_is_wrong_with_a_window_is_found() {
    let exposed = "post w from [0]; wait_epoch w";
    let table: [(&str, &str, &[&str]); 18] = [
        ("start w to [1]; put w to 1 size 8; complete w", exposed, &[]),
        ("start w to [1]; put w to 1 size 8; put w to 1 size 8 at 4; complete w", exposed, &["rma-race"]),
        ("start w to [1]; put w to 1 size 8; get w from 1 size 8; complete w", exposed, &["rma-race"]),
        ("start w to [1]; acc w to 1 size 8; fetch_op w at 1; complete w", exposed, &[]),
        (
            "start w to [1]; put w to 1 size 8; complete w",
            "post w from [0]; load w at 4 size 8; wait_epoch w",
            &["rma-race"],
        ),
        (
            "start w to [1]; put w to 1 size 8; complete w",
            "post w from [0]; wait_epoch w; load w at 4 size 8",
            &[],
        ),
        (
            "start w to [1]; put w to 1 size 8; complete w",
            "store w at 0 size 8; post w from [0]; wait_epoch w",
            &[],
        ),
        ("start w to [1]; get w from 1 size 8 buf b; read buf b; complete w", exposed, &["buffer-safety"]),
        (
            "start w to [1]; put w to 1 size 8 buf b; e = icomplete w; read buf b; wait e; write buf b",
            exposed,
            &[],
        ),
        (
            "start w to [1]; put w to 1 size 8 buf b; e = icomplete w; write buf b; wait e",
            exposed,
            &["buffer-safety"],
        ),
        ("start w to [1]; put w to 1 size 8; icomplete w", exposed, &["request-leak"]),
        ("start w to [1]; put w to 1 size 8", "post w from [0]", &["epoch-usage"]),
        ("start w to [1]; put w to 0 size 8; complete w", exposed, &["epoch-usage"]),
        ("flush w at 1", "", &["epoch-usage"]),
        ("unlock w at 1", "", &["epoch-usage"]),
        (
            "lock w at 1 shared; put w to 1 size 8 buf b; flush_local w at 1; write buf b; unlock w at 1",
            "",
            &[],
        ),
        (
            "lock w at 1 shared; put w to 1 size 8 buf b; r = iflush w at 1; write buf b; wait r; unlock w at 1",
            "",
            &["buffer-safety"],
        ),
        ("lock w at 1 exclusive; put w to 1 size 8; unlock w at 1", "store w at 0 size 8", &["rma-race"]),
    ];
    for (first, second, expected) in table {
        assert_eq!(violated(&two("", first, second)), expected, "{first} | {second}");
    }
}

/// Each rank counts its own accesses, so the first of one has the number of the first of the other.
#[test]
fn data_in_flight_is_told_as_that_of_its_origin() {
    let ends = |access: &str, other: u32| {
        format!("lock w at {other} shared; {access}; unlock w at {other}; recv from {other} tag 9 size 8")
    };
    let text = two("", &ends("get w from 1 size 8", 1), &ends("put w to 0 size 8", 0));
    let scenario = load("drawn.scn", text.as_bytes()).expect("it is right");
    let report = check(&scenario, &Request::default()).expect("it can be explored");
    let deadlock = report.checks.iter().find_map(|check| check.counterexample.as_ref()).expect("both wait");
    let told: Vec<&str> = deadlock.steps.iter().map(|step| &*step.what).collect();
    for expected in [
        "the data of rank 0's get (line 5) reaches rank 0",
        "the data of rank 1's put (line 10) reaches memory of rank 0",
    ] {
        let tells = told.iter().filter(|step| step.starts_with(expected)).count();
        assert_eq!(tells, 1, "{expected}: {told:#?}");
    }
}

/// A message orders what a completed flush has completed, and not what a local one has.
#[test]
fn only_what_is_complete_at_the_target_is_ordered_by_a_message() {
    let program = |flush: &str| {
        let origin = format!(
            "lock w at 1 shared; put w to 1 size 8; {flush} w at 1; send to 1 tag 0 size 8; unlock w at 1"
        );
        two("", &origin, "recv from 0 tag 0 size 8; load w at 0 size 8")
    };
    assert_eq!(violated(&program("flush")), [""; 0]);
    assert_eq!(violated(&program("flush_local")), ["rma-race"]);
}

/// Serial activation keeps epochs of one window apart, and a flag is a promise of the program that they may meet.
#[test]
fn a_flag_lets_two_epochs_race() {
    let origin = "start w to [1]; put w to 1 size 8; icomplete w; start w to [1]; put w to 1 size 8; icomplete w; wait all";
    let target = "post w from [0]; iwait_epoch w; post w from [0]; iwait_epoch w; wait all";
    assert_eq!(violated(&two("", origin, target)), [""; 0]);
    let both = "option w.access_after_access on\noption w.exposure_after_exposure on\n";
    assert_eq!(violated(&two(both, origin, target)), ["rma-race"]);
}

/// One of two ranks waits, under a lock, for a message that the other one sends under the same lock: all is well if that
/// one gets the lock first. Which of the two it is must not matter to the search.
#[test]
fn both_orders_of_two_lock_requests_are_explored() {
    for (waits, sends) in [(0, 1), (1, 0)] {
        let locked = "lock w at 2 exclusive\n  put w to 2 size 8\n  flush w at 2";
        let text = format!(
            "ranks 3\nwindow w 8\nrank {waits}\n  {locked}\n  recv from {sends} tag 0 size 8\n  unlock w at 2\n\
             rank {sends}\n  {locked}\n  send to {waits} tag 0 size 8\n  unlock w at 2\n"
        );
        assert_eq!(violated(&text), ["deadlock-freedom"], "{text}");
    }
}

/// What seems to keep two accesses apart, and does not. As they follow each other in the order that a search takes first, it
/// finds the race only if it looks for another one.
#[test]
fn accesses_that_something_else_orders_are_found_to_race() {
    let put = "put w to 0 size 8";
    for (rank, peer) in [(1, 2), (2, 1)] {
        let three = |programs: [&str; 3]| {
            let [zero, one, other] = programs;
            ranks("", &if rank == 1 { [zero, one, other] } else { [zero, other, one] })
        };
        // Behind a flush that is local only, and in one epoch.
        let late = format!(
            "lock_all w; {put}; flush_local w at 0; recv from {peer} tag 0 size 8; {put}; unlock_all w"
        );
        let text = three(["compute 1us", &late, &format!("send to {rank} tag 0 size 8")]);
        assert_eq!(violated(&text), ["rma-race"], "{text}");
        assert_eq!(violated(&text.replace("flush_local", "flush")), [""; 0], "{text}");
        // Before a barrier, but over behind the next one only.
        let early = format!("lock_all w; {put}; barrier; flush w at 0; barrier; unlock_all w");
        let behind = format!("lock_all w; barrier; {put}; barrier; unlock_all w");
        let text = three(["barrier; barrier", &early, &behind]);
        assert_eq!(violated(&text), ["rma-race"], "{text}");
        let early = format!("lock_all w; {put}; flush w at 0; barrier; barrier; unlock_all w");
        let text = three(["barrier; barrier", &early, &behind]);
        assert_eq!(violated(&text), [""; 0], "{text}");
        // In an exposure to one rank, within the fence epoch in which the other one accesses the memory.
        let exposes = format!("fence w; post w from [{rank}]; wait_epoch w; fence w");
        let starts =
            format!("fence w; recv from {peer} tag 0 size 8; start w to [0]; {put}; complete w; fence w");
        let fenced = format!("fence w; {put}; send to {rank} tag 0 size 8; fence w");
        let text = three([&exposes, &starts, &fenced]);
        assert_eq!(violated(&text), ["rma-race"], "{text}");
    }
}

/// Each of two ranks has one lock and wants another, or all.
#[test]
fn locks_that_are_held_while_others_are_waited_for_have_an_order() {
    let one = |first: u32, second: u32| {
        let lock =
            |host: u32| format!("lock w at {host} exclusive; put w to {host} size 8; flush w at {host}");
        format!("{}; {}; unlock w at {second}; unlock w at {first}", lock(first), lock(second))
    };
    let text = ranks("", &[&one(2, 3), &one(3, 2), "compute 1us", "compute 1us"]);
    assert_eq!(violated(&text), ["deadlock-freedom"], "{text}");
    let text = ranks("", &[&one(2, 3), &one(2, 3), "compute 1us", "compute 1us"]);
    assert_eq!(violated(&text), [""; 0], "{text}");
    // A lock_all has one lock, and waits for another behind an exclusive request, which waits for the other lock_all.
    let all = |host: u32| format!("lock_all w; fetch_op w at {host}; flush w at {host}; unlock_all w");
    let exclusive =
        |host: u32| format!("lock w at {host} exclusive; fetch_op w at {host}; unlock w at {host}");
    let text = ranks("", &[&all(2), &all(3), &exclusive(3), &exclusive(2)]);
    assert_eq!(violated(&text), ["deadlock-freedom"], "{text}");
    // The second rank finds the lock taken for ever.
    let kept = "lock w at 2 exclusive; put w to 2 size 8; flush w at 2";
    let given_back = format!("{kept}; unlock w at 2");
    for both in [[kept, &given_back], [&given_back, kept]] {
        let text = ranks("", &[both[0], both[1], "compute 1us"]);
        assert_eq!(violated(&text), ["deadlock-freedom", "epoch-usage"], "{text}");
    }
}

/// Shared requests come to the same end in every order, whatever is locked exclusively elsewhere, or later.
#[test]
fn the_order_of_shared_requests_is_not_explored() {
    let shared = "lock_all w\n  fetch_op w at 0\n  unlock_all w";
    let exclusive = "lock w at 0 exclusive\n  put w to 0 size 8\n  unlock w at 0";
    let text = format!("ranks 4\nwindow w 8\nrank *\n  {shared}\n  barrier\n  {exclusive}\n");
    let (_, states) = verdicts(&text, false, true, 10_000).expect("few orders are left");
    assert!(states < 2_000, "{states}");
}

/// A lock of a rank's own memory is held when the call returns, since the program may access that memory by itself.
#[test]
fn a_lock_of_ones_own_memory_is_held_when_its_call_returns() {
    let origin = "lock w at 1 exclusive; put w to 1 size 8; unlock w at 1";
    let own = |mode: &str| format!("lock w at 1 {mode}; store w at 0 size 8; unlock w at 1");
    assert_eq!(violated(&two("", origin, &own("exclusive"))), [""; 0]);
    let shared = "lock w at 1 shared; put w to 1 size 8; unlock w at 1";
    assert_eq!(violated(&two("", shared, &own("shared"))), ["rma-race"]);
    // Nor does a rank get its own lock past another one that waits for it.
    let holds =
        "lock w at 1 exclusive; put w to 1 size 8; flush w at 1; recv from 1 tag 0 size 8; unlock w at 1";
    let waits = "recv from 0 tag 1 size 8; lock w at 1 exclusive; send to 0 tag 0 size 8; unlock w at 1";
    let told = holds.replace("flush w at 1;", "flush w at 1; send to 1 tag 1 size 8;");
    assert_eq!(violated(&two("", &told, waits)), ["deadlock-freedom"]);
}

/// What completes the accesses of one window leaves those of another as they are.
#[test]
fn buffers_of_one_window_are_not_freed_by_another() {
    let open = "lock v at 1 shared; lock w at 1 shared; get w from 1 size 8 buf b";
    let other = ["flush v at 1", "flush_all v", "unlock v at 1"];
    let same = ["flush w at 1", "flush_all w", "unlock w at 1"];
    for (frees, expected) in
        other.map(|it| (it, vec!["buffer-safety"])).into_iter().chain(same.map(|it| (it, vec![])))
    {
        let rest = match frees.split_once("unlock ") {
            Some((_, "v at 1")) => "unlock w at 1",
            Some(_) => "unlock v at 1",
            None => "unlock w at 1; unlock v at 1",
        };
        let text = two("window v 16\n", &format!("{open}; {frees}; read buf b; {rest}"), "");
        assert_eq!(violated(&text), expected, "{text}");
    }
}

/// MPI-4.1 12.5.3: no rank may expose its memory while another holds its lock, and none may request the lock of what is
/// exposed. A message behind the unlock orders both.
#[test]
fn memory_is_not_exposed_while_it_is_locked() {
    let locks = "lock w at 1 shared; get w from 1 size 8; flush w at 1";
    let posts = "recv from 0 tag 0 size 8; post w from []; wait_epoch w";
    let early = format!("{locks}; send to 1 tag 0 size 8; unlock w at 1");
    assert_eq!(violated(&two("", &early, posts)), ["epoch-usage"]);
    let late = format!("{locks}; unlock w at 1; send to 1 tag 0 size 8");
    assert_eq!(violated(&two("", &late, posts)), [""; 0]);
    let all = "lock_all w; get w from 1 size 8; flush_all w; barrier; unlock_all w";
    assert_eq!(violated(&two("", all, "barrier; post w from []; wait_epoch w")), ["epoch-usage"]);
    assert_eq!(
        violated(&two("", "lock_all w; unlock_all w", "post w from []; wait_epoch w")),
        ["epoch-usage"]
    );
}

/// R14: both ranks close an access before they post, which needs a flag.
#[test]
fn an_access_that_is_closed_before_the_exposure_opens_waits_for_it() {
    let both = |other: u32| {
        format!(
            "start w to [{other}]; put w to {other} size 8; icomplete w; post w from [{other}]; iwait_epoch w; wait all"
        )
    };
    assert_eq!(violated(&two("", &both(1), &both(0))), ["deadlock-freedom"]);
    assert_eq!(violated(&two("option w.exposure_after_access on\n", &both(1), &both(0))), [""; 0]);
}

#[test]
fn an_atomic_read_conflicts_with_what_writes_only() {
    let reads = ["fetch_op w at 1 op no_op", "get_acc w to 1 size 8 op no_op"].map(under_lock);
    for read in &reads {
        for other in ["load w at 0 size 8".to_owned(), under_lock("get w from 1 size 8")] {
            assert_eq!(violated(&two("", read, &other)), [""; 0], "{read} {other}");
        }
        for other in ["store w at 0 size 8".to_owned(), under_lock("put w to 1 size 8")] {
            assert_eq!(violated(&two("", read, &other)), ["rma-race"], "{read} {other}");
        }
    }
    let fences =
        |access: &str| two("", &format!("fence w; {access}; fence w"), "fence w assert noput; fence w");
    assert_eq!(violated(&fences("fetch_op w at 1 op no_op")), [""; 0]);
    assert_eq!(violated(&fences("fetch_op w at 1")), ["epoch-usage"]);
}

fn under_lock(access: &str) -> String {
    format!("lock w at 1 shared; {access}; unlock w at 1")
}

//! Flow control stops no program that MPI allows: whatever is free of deadlocks where each standard send may wait for its
//! receive is so with room for one eager message.

use carrousel_scenario::Check;
use carrousel_verify::report::Verdict;
use carrousel_verify::run::{Request, check};

const CALLS: [&str; 5] = [
    "send to 1-me tag 0 size 8",
    "send to 1-me tag 1 size 8",
    "recv from 1-me tag 0 size 8",
    "recv from 1-me tag 1 size 8",
    "isend to 1-me tag 0 size 8",
];

/// All lists of up to `most` calls.
fn programs(most: u32) -> Vec<Vec<&'static str>> {
    let of = |length: u32| {
        (0..CALLS.len().pow(length)).map(move |mut number| {
            let mut next = || {
                let call = CALLS[number % CALLS.len()];
                number /= CALLS.len();
                call
            };
            (0..length).map(|_| next()).collect()
        })
    };
    (1..=most).flat_map(of).collect()
}

fn is_free(text: &str, portable: bool) -> bool {
    let scenario = carrousel_scenario::load("pair.scn", text.as_bytes()).expect("it is a scenario");
    let request = Request { portable, ..Request::default() };
    let report = check(&scenario, &request).expect("it can be explored");
    let deadlocks =
        report.checks.iter().find(|one| one.check == Check::DeadlockFreedom).expect("it is checked");
    assert!(report.checks.iter().all(|one| one.verdict != Verdict::Inconclusive));
    deadlocks.verdict == Verdict::Proven
}

fn text(option: &str, ranks: [&[&str]; 2]) -> String {
    let program = |rank: usize| format!("rank {rank}\n  {}\n  wait all\n", ranks[rank].join("\n  "));
    format!("ranks 2\n{option}{}{}", program(0), program(1))
}

#[test]
fn what_mpi_allows_is_not_stopped_by_room_for_one_message() {
    let programs = programs(3);
    let (mut allowed, mut buffered, mut stopped) = (0, 0, 0);
    // Of equal pairs one; every third of them, which are of all shapes.
    let pairs = programs
        .iter()
        .enumerate()
        .flat_map(|(at, first)| programs[at..].iter().map(move |second| [&first[..], &second[..]]));
    for pair in pairs.step_by(7) {
        let bounded = is_free(&text("option eager_window 1\n", pair), false);
        if is_free(&text("", pair), true) {
            allowed += 1;
            assert!(bounded, "{pair:#?}");
        } else if is_free(&text("", pair), false) {
            // It counts on buffers: for one message there is room, for more there need not be.
            if bounded { buffered += 1 } else { stopped += 1 }
        }
    }
    assert!(allowed > 20 && buffered > 20 && stopped > 20, "{allowed} {buffered} {stopped}");
}

/// Neither end miscounts, whether there is a window or not.
#[test]
fn messages_of_any_size_may_follow_each_other() {
    let sends = ["send to 1-me tag 0 size 9223372036854775807"; 3];
    let receives = ["recv from 1-me tag 0 size 9223372036854775807"; 3];
    let largest = "option eager_threshold 9223372036854775807\noption eager_window 9223372036854775807\n";
    for (option, portable) in [("", true), (largest, false)] {
        assert!(is_free(&text(option, [&sends, &receives]), portable), "{option}");
    }
}

#[test]
fn a_program_that_counts_on_more_room_than_there_is_waits_for_ever() {
    let sends = ["send to 1-me tag 0 size 8"; 3];
    let receives = ["recv from 1-me tag 0 size 8"; 3];
    let both: Vec<&str> = sends.into_iter().chain(receives).collect();
    // Three messages of 8 bytes cost 3 x 72.
    for (window, free) in [(216, true), (215, false)] {
        let text = text(&format!("option eager_window {window}\n"), [&both, &both]);
        assert_eq!(is_free(&text, false), free, "{window}");
    }
}

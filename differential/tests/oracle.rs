//! The oracle alone: on files whose verdict people have decided, and on programs of which MPI's text decides it.

use carrousel_differential::program::{Program, Statement};
use carrousel_differential::{CHECKS, Mode, generate, judge, read, shrink};
use carrousel_scenario::{Scenario, load_with};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// States of a program, at most.
const STATES_MAX: usize = 2_000_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is a part of the workspace").to_owned()
}

fn load(name: &str, text: &str) -> Scenario {
    load_with(name, text.as_bytes(), &carrousel_options::vocabulary())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The checks that a file expects to be violated, of those that the oracle decides.
fn expected(scenario: &Scenario) -> Vec<&'static str> {
    let has = |check: &&str| scenario.expects.iter().any(|expect| expect.check.name() == *check);
    CHECKS.into_iter().filter(has).collect()
}

/// Compares the oracle's verdict on a file with the file's `expect` lines. Returns false if the oracle does not know one of
/// its statements.
fn agrees(name: &str, text: &str, mode: Mode) -> bool {
    let scenario = load(name, text);
    let Ok(program) = read(&scenario) else { return false };
    let judgement = judge(&program, mode, STATES_MAX).unwrap_or_else(|| panic!("{name} is too large"));
    assert_eq!(judgement.violated.names(), expected(&scenario), "{name}, {}: {text}", mode.name());
    true
}

fn portable(text: &str) {
    assert!(agrees("portable.scn", text, Mode::Portable), "the oracle knows all statements");
}

#[test]
fn scenarios_of_windows_have_the_verdict_that_they_expect() {
    let mut known = 0;
    for entry in std::fs::read_dir(root().join("tests/scenarios/rma")).expect("it is there") {
        let path = entry.expect("it can be read").path();
        let text = std::fs::read_to_string(&path).expect("it is text");
        // Four ranks: too much for a search without any reduction.
        if ["counter-then-writes.scn", "asserted-counter.scn"].iter().any(|large| path.ends_with(large)) {
            continue;
        }
        known += u32::from(agrees(&path.display().to_string(), &text, Mode::Default));
    }
    assert!(known >= 50, "only {known} files have statements that the oracle knows");
}

#[test]
fn examples_of_the_page_have_the_verdict_that_it_says() {
    let page = std::fs::read_to_string(root().join("docs/language.md")).expect("it is there");
    let mut known = BTreeMap::new();
    for (number, part) in page.split("```scn").enumerate().skip(1) {
        let (kind, rest) = part.split_once('\n').expect("a block has lines");
        let text = rest.split("```").next().expect("a block ends");
        let mode = match kind.trim() {
            "" => Mode::Default,
            "portable" => Mode::Portable,
            _ => continue,
        };
        if text.contains("window ") && agrees(&format!("example {number}"), text, mode) {
            *known.entry(mode.name()).or_insert(0) += 1;
        }
    }
    assert!(known["portable"] >= 6 && known["default"] >= 4, "{known:?}");
}

#[test]
fn a_put_in_a_fence_epoch_is_complete_at_the_targets_fence_only() {
    portable(
        "ranks 2\nwindow w 8\nexpect rma-race violated\nrank 0\n  fence w\n  put w to 0 size 8\n  fence w\n\
         rank 1\n  fence w\n  fence w\n  lock w at 0 exclusive\n  put w to 0 size 8\n  unlock w at 0\n",
    );
}

#[test]
fn accumulates_of_one_origin_are_ordered() {
    portable(
        "ranks 2\nwindow w 8\nrank 0\n  lock_all w\n  acc w to 1 size 8 op replace\n  \
         get_acc w to 1 size 8 op no_op\n  acc w to 0 size 8 op replace\n  acc w to 0 size 8 op sum\n  unlock_all w\n",
    );
}

#[test]
fn the_operation_decides_and_not_the_function() {
    let beside = |one: &str, other: &str, races: bool| {
        let race = if races { "expect rma-race violated\n" } else { "" };
        portable(&format!(
            "ranks 3\nwindow w 8\n{race}rank 0\n  lock w at 2 shared\n  {one}\n  unlock w at 2\n\
             rank 1\n  lock w at 2 shared\n  {other}\n  unlock w at 2\n"
        ));
    };
    beside("acc w to 2 size 8", "fetch_op w at 2", false);
    beside("acc w to 2 size 8", "get_acc w to 2 size 8 op no_op", false);
    beside("cas w at 2", "cas w at 2", false);
    beside("cas w at 2", "fetch_op w at 2 op no_op", false);
    beside("cas w at 2", "fetch_op w at 2", true);
    beside("acc w to 2 size 8", "acc w to 2 size 8 op replace", true);
    beside("acc w to 2 size 8", "get w from 2 size 8", true);
}

#[test]
fn what_comes_back_may_still_be_written() {
    let text = |operation: &str, synchronization: &str, verdict: &str| {
        format!(
            "ranks 2\nwindow w 8\n{verdict}rank 0\n  lock_all w\n  f = fetch_op w at 1 op {operation}\n  {synchronization}\n  \
             send to 1 tag 0 size 8\n  unlock_all w\n  wait f\nrank 1\n  recv from 0 tag 0 size 8\n  load w at 0 size 8\n"
        )
    };
    let races = "expect rma-race violated\n";
    portable(&text("sum", "wait f", races));
    portable(&text("sum", "flush_local w at 1", races));
    portable(&text("sum", "flush w at 1", ""));
    portable(&text("no_op", "wait f", ""));
}

#[test]
fn an_answer_completes_the_accumulates_before_it() {
    let text = |answer: &str, verdict: &str| {
        format!(
            "ranks 2\nwindow w 16\n{verdict}rank 0\n  lock_all w\n  acc w to 1 size 8\n  {answer}\n  wait f\n  \
             send to 1 tag 0 size 8\n  unlock_all w\nrank 1\n  recv from 0 tag 0 size 8\n  load w at 0 size 8\n"
        )
    };
    portable(&text("f = fetch_op w at 1 op no_op", ""));
    portable(&text("f = fetch_op w at 1 at 8 op no_op", "expect rma-race violated\n"));
    portable(&text("f = get w from 1 size 8", "expect rma-race violated\n"));
}

#[test]
fn a_lock_between_fences_overlaps_their_epoch() {
    let text = |before: &str, behind: &str, verdict: &str| {
        format!(
            "ranks 2\nwindow w 8\n{verdict}rank 0\n  fence w{before}\n  lock w at 1 shared\n  get w from 1 size 8\n  \
             unlock w at 1\n  fence w{behind}\nrank 1\n  fence w{before}\n  fence w{behind}\n"
        )
    };
    portable(&text("", "", "expect epoch-usage violated\n"));
    portable(&text(" assert nosucceed", " assert noprecede", ""));
}

#[test]
fn a_shared_request_may_wait_behind_an_exclusive_one_that_came_later() {
    portable(
        "ranks 3\nwindow w 32\nexpect deadlock-freedom violated\nrank 0\n  lock_all w\n  recv from 1 tag 0 size 8\n  \
         unlock_all w\nrank 1\n  lock_all w\n  get w from 0 size 8\n  unlock_all w\n  send to 0 tag 0 size 8\n\
         rank 2\n  lock w at 0 exclusive\n  unlock w at 0\n",
    );
}

/// Buffers by their first use, as files number them.
fn with_buffers_in_order(mut program: Program) -> Program {
    for statements in &mut program.ranks {
        let mut seen: Vec<u8> = Vec::new();
        for statement in statements {
            let buffer = match statement {
                Statement::Access(_, access) => access.buffer.as_mut(),
                Statement::Buffer { buffer, .. } => Some(buffer),
                _ => None,
            };
            if let Some(buffer) = buffer {
                let at = seen.iter().position(|other| other == buffer);
                let at = at.unwrap_or_else(|| {
                    seen.push(*buffer);
                    seen.len() - 1
                });
                *buffer = at as u8;
            }
        }
    }
    program
}

#[test]
fn a_program_is_the_same_behind_its_text() {
    for seed in 0..500 {
        let program = generate(seed, 2 + (seed % 2) as u8);
        let text = program.text("a program", &[]);
        let again = read(&load("random.scn", &text)).expect("the oracle knows what it has written");
        assert_eq!(again, with_buffers_in_order(program), "seed {seed}: {text}");
    }
}

#[test]
fn a_seed_is_one_program() {
    assert_eq!(generate(7, 3), generate(7, 3));
    assert_ne!(generate(7, 3), generate(8, 3));
}

#[test]
fn what_is_left_of_a_program_is_what_a_property_needs() {
    let races = |program: &Program| {
        judge(program, Mode::Default, STATES_MAX).is_some_and(|judgement| judgement.violated.has("rma-race"))
    };
    let (seed, program) =
        (0..).map(|seed| (seed, generate(seed, 3))).find(|(_, program)| races(program)).expect("some race");
    let smallest = shrink(&program, &races);
    assert!(races(&smallest) && smallest.len() <= program.len(), "seed {seed}");
    for (rank, statements) in smallest.ranks.iter().enumerate() {
        for (at, statement) in statements.iter().enumerate() {
            let is_request = matches!(statement, Statement::Wait(_)) || statement.starts_request();
            let mut without = smallest.clone();
            without.ranks[rank].remove(at);
            assert!(is_request || !races(&without), "statement {at} of rank {rank} is needed: {smallest:?}");
        }
    }
}

//! What is said of wrong programs: short enough to be taken in, and right about the cause.
//!
//! `scenarios/mistakes` has programs after public reports of defects, each wrong in one place. Five of them are somebody's
//! whole program: what is printed of these is a snapshot, and so is what names a cause that is easily missed.

use carrousel_tests::{carrousel, printed, root, scenarios, stdout};
use std::path::Path;

/// Lines of a report, and steps of a counterexample.
const LINES_MAX: usize = 60;
const STEPS_MAX: usize = 25;

/// What `carrousel verify` prints of a scenario, without what it took.
fn told(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    let output = carrousel().args(["verify", "--threads", "1"]).arg(path).output().expect("it runs");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {}", path.display(), printed(&output));
    stdout(&output)
}

/// The numbers of the steps that are told, in order.
fn steps(text: &str) -> Vec<usize> {
    let is_step = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        line.starts_with("  ") && words.next().is_some_and(|who| ["rank", "ranks", "network"].contains(&who))
    };
    let numbers =
        text.lines().filter(is_step).filter_map(|line| line.split_whitespace().next()?.parse().ok());
    numbers.collect()
}

#[test]
fn what_is_said_of_a_wrong_program_is_short() {
    let mut long = Vec::new();
    let mut said = 0;
    for path in scenarios() {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        if !text.contains("\nexpect ") {
            continue;
        }
        let text = told(&path);
        let (lines, most) = (text.lines().count(), steps(&text).into_iter().max().unwrap_or(0));
        said += most;
        let is_of_a_bound =
            text.contains("shorter way") && path.components().any(|it| it.as_os_str() == "mistakes");
        if lines > LINES_MAX || most > STEPS_MAX || is_of_a_bound {
            long.push(format!("{}: {most} steps, {lines} lines\n{text}", path.display()));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
    assert!(said > 300, "no steps are found in what is printed: {said}");
}

/// `--full` has the steps that have no part in it.
#[test]
fn all_steps_are_told_to_who_asks() {
    let path = "tests/scenarios/mistakes/halo-read-before-wait.scn";
    let output = carrousel().args(["verify", "--full", "--threads", "1", path]).output().expect("it runs");
    let text = stdout(&output);
    let whole = steps(&text).len();
    assert!(whole > steps(&told(Path::new(path))).len() + 10, "{text}");
    assert!(!text.contains("no part in it"), "{text}");
}

/// What is printed of the scenario of this name, without the numbers of the search.
fn page(name: &str) -> String {
    let text = told(&root().join(format!("tests/scenarios/mistakes/{name}.scn")));
    let is_effort = |line: &&str| line.contains(" states, ") && line.contains(" transitions, ");
    let lines: Vec<&str> = text.lines().filter(|line| !is_effort(line)).map(str::trim_end).collect();
    lines.join("\n")
}

macro_rules! snapshots {
    ($($test:ident: $name:literal)*) => {
        $(#[test]
        fn $test() {
            insta::assert_snapshot!($name, page($name));
        })*
    };
}

// Somebody's programs, whole.
snapshots! {
    a_halo_exchange: "people-halo"
    a_work_queue: "people-work-queue"
    a_shared_counter: "people-counter"
    a_pipeline_of_epochs: "people-pipeline"
    rows_and_columns: "people-split"
}

// Causes that are easily missed.
snapshots! {
    a_shared_request_behind_an_exclusive_one: "lock-queue"
    a_put_that_is_not_flushed: "flush-missing"
    a_put_that_is_flushed_locally: "flush-local-only"
    a_fetch_op_that_is_not_flushed: "fetch-op-not-flushed"
    a_barrier_where_a_flush_was_meant: "barrier-instead-of-fence"
    a_request_that_lies_unreceived: "queue-loses-its-last-answer"
    a_start_that_takes_the_grant_of_a_fence: "start-takes-fence-grant"
    a_message_that_went_elsewhere: "halo-wrong-neighbour"
    a_receive_that_takes_another_message_than_the_probe_found: "probe-then-receive-any"
}

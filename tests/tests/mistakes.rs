//! What is said of wrong programs: short enough to be taken in, and right about the cause.
//!
//! `scenarios/mistakes` has programs after public reports of defects, each wrong in one place. Five of them are somebody's
//! whole program: what is printed of these is a snapshot, and so is what names a cause that is easily missed.

use carrousel_tests::{carrousel, printed, root, scenarios, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Lines of a report, and steps of a counterexample.
const LINES_MAX: usize = 60;
const STEPS_MAX: usize = 25;

/// What `carrousel verify` prints of a scenario, without what it took.
fn told(path: &Path) -> String {
    told_with(&[], path)
}

/// The same with more arguments.
fn told_with(more: &[&str], path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap_or(path);
    let mut command = carrousel();
    let output = command.args(["verify", "--threads", "1"]).args(more).arg(path).output().expect("it runs");
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
        let is_mistake = path.components().any(|it| it.as_os_str() == "mistakes");
        let ways: &[&[&str]] = if is_mistake { &[&[], &["--portable"]] } else { &[&[]] };
        for way in ways {
            let text = told_with(way, &path);
            let (lines, most) = (text.lines().count(), steps(&text).into_iter().max().unwrap_or(0));
            said += most;
            let is_of_a_bound = text.contains("shorter way") && is_mistake;
            if lines > LINES_MAX || most > STEPS_MAX || is_of_a_bound {
                long.push(format!("{} {way:?}: {most} steps, {lines} lines\n{text}", path.display()));
            }
            let is_marked = |line: &str| steps(line).len() == 1 && line.contains("  ✗ ");
            if is_mistake && most > 0 && !text.lines().any(is_marked) {
                long.push(format!("{} {way:?}: no step is marked\n{text}", path.display()));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
    assert!(said > 300, "no steps are found in what is printed: {said}");
}

/// The numbers behind the word `line` in a sentence.
fn lines_named(sentence: &str) -> BTreeSet<u64> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let is_line = |word: &str| word.trim_start_matches('(') == "line";
    let named = words.windows(2).filter(|pair| is_line(pair[0]));
    named.filter_map(|pair| pair[1].trim_end_matches([')', ',', ';', '.', ':']).parse().ok()).collect()
}

/// A text without a sentence that begins so.
fn without(text: &str, beginning: &str) -> String {
    let Some((before, rest)) = text.split_once(beginning) else { return text.to_owned() };
    format!("{before} {}", rest.split_once(". ").map_or("", |(_, after)| after))
}

/// Whether a text names a rank.
fn names_rank(text: &str, rank: u64) -> bool {
    let name = format!("ank {rank}");
    text.match_indices(&name)
        .any(|(at, _)| text[at + name.len()..].chars().next().is_none_or(|next| !next.is_ascii_digit()))
}

/// What the sentences name is what the reader has to look at, and to change; ranks that only wait for others are not.
/// The step that goes wrong is marked, or the statements at which ranks wait forever.
#[test]
fn the_statements_that_the_sentences_name_are_told() {
    let (mut untold, mut unmarked) = (Vec::new(), Vec::new());
    let mut named_in_all = 0;
    let is_mistake = |path: &PathBuf| path.components().any(|it| it.as_os_str() == "mistakes");
    for path in scenarios().into_iter().filter(is_mistake) {
        for way in [&["--format", "json"][..], &["--format", "json", "--portable"]] {
            let report: Value = serde_json::from_str(&told_with(way, &path)).expect("it is JSON");
            for check in report["checks"].as_array().expect("there are checks") {
                let Some(summary) = check["counterexample"]["summary"].as_str() else { continue };
                let steps = check["counterexample"]["steps"].as_array().expect("there are steps");
                let summary = without(&without(summary, " Because of this,"), " Meanwhile ");
                for line in lines_named(&summary) {
                    let is_its = |step: &&Value| {
                        let is_named = step["rank"].as_u64().is_some_and(|rank| names_rank(&summary, rank));
                        is_named && step["line"] == line && step["kind"] == "statement"
                    };
                    let its = || steps.iter().filter(is_its);
                    named_in_all += its().count();
                    if its().count() > 0 && its().all(|step| step["matters"] == false) {
                        untold.push(format!("{} {way:?}: line {line} of: {summary}", path.display()));
                    }
                }
                let is_marked = |step: &Value| step["matters"] == true && step["wrong"].is_string();
                if !steps.iter().any(is_marked) && check["counterexample"]["stuck"].is_null() {
                    unmarked.push(format!("{} {way:?}: {}", path.display(), check["name"]));
                }
            }
        }
    }
    assert!(untold.is_empty(), "{}", untold.join("\n"));
    assert!(unmarked.is_empty(), "{}", unmarked.join("\n"));
    assert!(named_in_all > 200, "few statements are named: {named_in_all}");
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
fn page(more: &[&str], name: &str) -> String {
    let text = told_with(more, &root().join(format!("tests/scenarios/mistakes/{name}.scn")));
    let is_effort = |line: &&str| line.contains(" states, ") && line.contains(" transitions, ");
    let lines: Vec<&str> = text.lines().filter(|line| !is_effort(line)).map(str::trim_end).collect();
    lines.join("\n")
}

macro_rules! snapshots {
    ($($test:ident: $name:literal)*) => {
        $(#[test]
        fn $test() {
            insta::assert_snapshot!($name, page(&[], $name));
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

/// Where the library keeps an order that MPI does not promise, the chain between two accesses is told, with the call that
/// need not have returned; the bars of epochs are drawn.
#[test]
fn under_every_mpi_what_seems_to_order_is_told() {
    for name in ["fence-then-lock", "barrier-instead-of-fence", "people-pipeline"] {
        insta::assert_snapshot!(format!("portable-{name}"), page(&["--portable"], name));
    }
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

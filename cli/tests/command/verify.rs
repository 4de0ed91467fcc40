//! `carrousel verify` as scripts and people meet it.

use crate::common::{Place, Ran};
use serde_json::{Value, json};

const RING: &str = "scenario \"ring\"\nranks 3\nrank *\n  isend to (me+1)%size tag 0 size 64KiB\n  \
                    irecv from (me+size-1)%size tag 0 size 64KiB\n  wait all\n";
const HEAD_TO_HEAD: &str =
    "ranks 2\nrank *\n  send to 1-me tag 0 size 64KiB\n  recv from 1-me tag 0 size 64KiB\n";
const RACE: &str = "ranks 3\nrank 0\n  recv from any tag 0 size 8\n  recv from any tag 0 size 8\n\
                    rank 1..2\n  send to 0 tag 0 size 8\n";
const LEAK: &str = "ranks 2\nrank 0\n  isend to 1 tag 0 size 8\nrank 1\n  recv from 0 tag 0 size 8\n";
const FENCE: &str = "ranks 2\nwindow w 64\nrank *\n  fence w\n";
const CROWD: &str = "ranks 4096\nwindow w 64\nrank *\n  fence w\n";

fn place() -> Place {
    Place::new()
        .with("ring.scn", RING)
        .with("head.scn", HEAD_TO_HEAD)
        .with("race.scn", RACE)
        .with("leak.scn", LEAK)
        .with("fence.scn", FENCE)
        .with("crowd.scn", CROWD)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is one JSON object")
}

#[test]
fn a_proof_ends_with_0_and_names_all_checks() {
    let ran =
        place().run("verify ring.scn").status(0).says("ring.scn \"ring\": proven").says("deadlock-freedom");
    // The scenario, and each check that speaks of something in it: there is no wildcard, and no window.
    assert_eq!(ran.out.matches("proven").count(), 6, "{}", ran.out);
    assert_eq!(ran.out.matches("not-applicable").count(), 4, "{}", ran.out);
    assert_eq!(ran.err, "");
}

#[test]
fn a_violation_ends_with_1_and_tells_steps_and_chart() {
    let ran = place().run("verify head.scn").status(1).says("deadlock-freedom   violated");
    let ran = ran.says("rank 0   line 3  `send to 1");
    assert!(!ran.out.contains('\u{1b}'), "colours are for terminals");
}

#[test]
fn a_note_does_not_change_the_status() {
    place().run("verify race.scn").status(0).says("race.scn: proven").says("match-determinism  violated");
}

#[test]
fn the_report_has_all_checks_and_a_counterexample_of_each_that_is_violated() {
    let ran = place().run("verify --format json head.scn").status(1);
    let report = json(&ran.out);
    assert_eq!(report["verdict"], "violated");
    assert_eq!(report["exhaustive"], true);
    let checks = report["checks"].as_array().expect("a list");
    assert_eq!(checks.len(), 9);
    let steps = &checks[0]["counterexample"]["steps"];
    assert!(steps.as_array().is_some_and(|steps| !steps.is_empty()));
    assert!(checks[1]["counterexample"].is_null());
}

#[test]
fn a_check_of_what_is_not_there_is_not_applicable() {
    let place = Place::new()
        .with("ring.scn", RING)
        .with("nothing.scn", "ranks 2\n")
        .with("expects.scn", &RING.replacen("rank ", "expect rma-race violated\nrank ", 1));
    let report = json(&place.run("verify --format json ring.scn").status(0).out);
    let not_applicable = ["match-determinism", "rma-race", "epoch-usage", "lock-exclusion"];
    for check in report["checks"].as_array().expect("a list") {
        let name = check["name"].as_str().unwrap_or_default();
        let expected = if not_applicable.contains(&name) { "not-applicable" } else { "proven" };
        assert_eq!(check["verdict"], expected, "{name}");
        assert!(check["counterexample"].is_null(), "{name}");
    }
    assert_eq!(report["verdict"], "proven");
    // A bound changes nothing about that.
    let report = json(&place.run("verify --format json --max-states 2 --threads 1 ring.scn").status(3).out);
    assert_eq!(report["checks"][4]["verdict"], "not-applicable");
    let report = json(&place.run("verify --format json nothing.scn").status(0).out);
    assert_eq!(report["verdict"], "not-applicable");
    place.run("verify expects.scn").status(1).says("rma-race should be violated");
}

#[test]
fn a_bound_leaves_things_open() {
    let big = "ranks 6\nrank *\n  repeat 20\n    isend to (me+1)%size tag 0 size 64KiB\n    \
               irecv from any tag any size 64KiB\n    wait all\n    barrier\n  end\n";
    let place = Place::new().with("big.scn", big);
    let ran = place.run("verify --format json --max-states 500 --threads 1 big.scn").status(3);
    let report = json(&ran.out);
    assert_eq!(report["exhaustive"], false);
    assert_eq!(report["verdict"], "inconclusive");
    // A file that is a test has failed when it has not passed.
    let tests = big.replacen("rank ", "expect request-leak violated\nrank ", 1);
    let place = Place::new().with("test.scn", &tests);
    let ran = place.run("verify --max-states 500 --threads 1 test.scn").status(1);
    ran.says("not as expected: a bound was hit before ").says("request-leak");
}

#[test]
fn a_wrong_file_ends_with_2_and_names_the_place() {
    let place = Place::new().with("wrong.scn", "ranks 2\nrank 0\n  snd to 1 tag 0 size 8\n");
    let ran = place.run("verify --format json wrong.scn").status(2).complains("wrong.scn:3:3: ");
    let ran = ran.complains("did you mean `send`?");
    assert_eq!(ran.out, "");
    place.run("verify nowhere.scn").status(2).complains("cannot read nowhere.scn");
    place.run("verify .").status(2).complains("cannot read .");
}

#[test]
fn an_option_out_of_its_range_is_wrong() {
    let place = Place::new().with("limit.scn", &RING.replace("ranks 3", "ranks 3\noption rtr_limit -1"));
    for command in ["verify", "sim"] {
        place.run(&format!("{command} limit.scn")).status(2).complains("limit.scn:3:1: `rtr_limit` is -1");
    }
}

#[test]
fn windows_are_explored_unless_they_are_too_large() {
    place().run("verify fence.scn").status(0).says("fence.scn: proven");
    place().run("verify crowd.scn").status(2).complains("1 windows of 4096 ranks are too many to explore");
    place().run("verify --portable fence.scn").status(0).says("fence.scn (under every MPI): proven");
}

#[test]
fn of_several_files_the_worst_status_counts() {
    let place = place();
    place.run("verify ring.scn leak.scn").status(1).says("ring.scn").says("leak.scn: violated");
    place.run("verify ring.scn crowd.scn leak.scn").status(2).says("leak.scn: violated");
    let ran = place.run("verify --format json ring.scn leak.scn").status(1);
    assert_eq!(
        ran.out.lines().map(|line| json(line)["verdict"].clone()).collect::<Vec<_>>(),
        ["proven", "violated"]
    );
}

#[test]
fn expectations_decide_the_status() {
    let expecting = |checks: &[&str], scenario: &str| {
        let lines: String = checks.iter().map(|check| format!("expect {check} violated\n")).collect();
        scenario.replacen("rank ", &format!("{lines}rank "), 1)
    };
    let place = Place::new()
        .with("right.scn", &expecting(&["request-leak"], LEAK))
        .with("proven.scn", &expecting(&["request-leak"], RING))
        .with("other.scn", &expecting(&["deadlock-freedom"], LEAK))
        .with("note.scn", &expecting(&["match-determinism"], RACE))
        .with("no-note.scn", &expecting(&["match-determinism"], RING));
    place.run("verify right.scn").status(0).says("as expected").says("expected (line 2)");
    place.run("verify proven.scn").status(1).says("request-leak should be violated");
    place.run("verify other.scn").status(1).says("request-leak should not be violated");
    place.run("verify note.scn").status(0);
    place.run("verify no-note.scn").status(1);
}

#[test]
fn the_weakest_mpi_can_be_asked_for() {
    let small = HEAD_TO_HEAD.replace("64KiB", "8");
    let place = Place::new().with("small.scn", &small);
    place.run("verify small.scn").status(0);
    place.run("verify --portable small.scn").status(1).says("under every MPI");
}

#[test]
fn counterexamples_are_drawn() {
    let place = place();
    place.run("verify head.scn --chart out.svg").status(1).complains("out.svg");
    assert!(place.text("out.svg").starts_with("<"));
    place.run("verify head.scn --chart out.html").status(1);
    assert!(place.text("out.html").contains("<html"));
    place.run("verify ring.scn --chart none.svg").status(0).complains("nothing is violated");
    assert!(!place.path("none.svg").exists());
    place.run("verify head.scn --chart out.png").status(2).complains("neither");
    place.run("verify head.scn ring.scn --chart out.svg").status(2);
}

#[test]
fn a_rule_can_be_switched_off() {
    let place = place();
    place
        .run("verify ring.scn --without EAGER_TAKES_ANNOUNCEMENT")
        .status(0)
        .says("without EAGER_TAKES_ANNOUNCEMENT");
    place
        .run("verify ring.scn --without EAGER_TAKES_ANNOUNCEMENTS")
        .status(2)
        .complains("EAGER_TAKES_ANNOUNCEMENT`");
    place.run("verify ring.scn --protocol published").status(0).says("published rules");
    place.run("verify ring.scn --no-reduction").status(0);
}

#[test]
fn options_come_from_the_environment() {
    let place = Place::new().with("head.scn", HEAD_TO_HEAD);
    let run = |name: &str, value: &str| {
        Ran::from(place.command().args(["verify", "head.scn"]).env(name, value).output().expect("it runs"))
    };
    run("CARROUSEL_EAGER_THRESHOLD", "1MiB").status(0).complains("eager_threshold 1MiB from the environment");
    run("CARROUSEL_EAGER_TRESHOLD", "1MiB").status(2).complains("did you mean CARROUSEL_EAGER_THRESHOLD?");
    run("CARROUSEL_RTR_LIMIT", "many").status(2).complains("CARROUSEL_RTR_LIMIT");
}

#[test]
fn a_scenario_may_come_by_standard_input() {
    Place::new().feed("verify -", RING).status(0).says("<stdin>");
    Place::new().feed("verify -", "ranks x\n").status(2).complains("<stdin>:1:7: ");
}

#[test]
fn reports_of_all_shards_are_merged_and_others_are_not() {
    let place = Place::new().with("none.json", "{}");
    place.run("verify --merge none.json").status(2).complains("none.json is no report of a suite");
    let report = |words: &str| -> Value {
        let ran = place.run(&format!("verify --format json --suite {words}")).status(0);
        serde_json::from_str(&ran.out).expect("it is one JSON object")
    };
    let (first, last) = (report("memory --shard 1/9"), report("memory --shard 9/9"));
    let row = &first["rows"][0];
    assert_eq!((first["rows"].as_array().map(Vec::len), &last["rows"]), (Some(1), &json!([])));
    // As if the second part had half of the same line, and those between the second and the last one nothing.
    let as_part = |report: &Value, number: u32| {
        let mut part = report.clone();
        part["shard"] = json!([number, 9]);
        part.to_string()
    };
    let parts = (1..=9).map(|number| (number, if number <= 2 { &first } else { &last }));
    let place = parts.fold(Place::new(), |place, (number, report)| {
        place.with(&format!("{number}.json"), &as_part(report, number))
    });
    let merge = |parts: &str| place.run(&format!("verify --format json --merge {parts}"));
    let whole: Value = serde_json::from_str(
        &merge("1.json 2.json 3.json 4.json 5.json 6.json 7.json 8.json 9.json").status(0).out,
    )
    .expect("it is one JSON object");
    assert_eq!((&whole["shard"], whole["rows"].as_array().map(Vec::len)), (&json!([1, 1]), Some(1)));
    for count in ["programs", "states", "transitions"] {
        let of_one = row[count].as_u64().filter(|count| *count > 0);
        assert_eq!(whole["rows"][0][count].as_u64(), of_one.map(|count| 2 * count), "{count}");
    }
    let but_last = "1.json 2.json 3.json 4.json 5.json 6.json 7.json 8.json";
    merge(but_last).status(2).complains("part 9 of 9 is there 0 times");
    merge(&format!("{but_last} 9.json 3.json")).status(2).complains("part 3 of 9 is there 2 times");
    let mut other = last.clone();
    other["suite"] = json!("connection");
    let place = place.with("other.json", &other.to_string());
    let ran = place.run(&format!("verify --merge {but_last} other.json")).status(2);
    ran.complains("the reports are not parts of one run: `memory, 9 parts` and `connection, 9 parts`");
}

#[test]
fn files_without_end_and_parts_that_do_not_exist_are_refused() {
    let place = Place::new();
    place.run("verify --merge /dev/zero").status(2).complains("/dev/zero: it is too large, or has no end");
    std::os::unix::fs::symlink("/dev/zero", place.path("endless.scn")).expect("it can be made");
    for command in ["verify", "sim", "run", "fmt --check"] {
        place.run(&format!("{command} endless.scn")).status(2).complains("endless.scn");
    }
    place.run("verify --suite rendezvous --shard 3/2").status(2);
    place.run("verify").status(2);
}

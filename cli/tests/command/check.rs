//! `carrousel run --trace` and `carrousel check`: real jobs are ones that the model allows.
//!
//! A rank that is no scenario is this program once more, in a role that an environment variable names.

use crate::common::{Place, Ran};
use carrousel_trace::sealed;
use serde_json::Value;
use std::fs;
use std::path::Path;

const ROLE: &str = "CHECK_TEST_ROLE";

/// Runs `carrousel run --trace out -n RANKS` on this program in a role.
fn job(place: &Place, ranks: u32, role: &str) -> Ran {
    place.job("run --trace out -n", ranks, ("check::rank", ROLE, role))
}

/// Not a test of its own: a rank of the jobs of the others.
#[test]
fn rank() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let job = carrousel::init().expect("it is a rank");
    let world = job.world();
    let (me, ranks) = (world.rank(), world.size());
    let (next, before) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    match role.as_str() {
        "stencil" => {
            // Messages of both sizes, receives before and after what they get, and a communicator of its own.
            let half = world.split(Some(me % 2), 0).expect("it can be").expect("all are in one");
            for round in 0..40 {
                let len = if round % 2 == 0 { 100 } else { 20_000 };
                let (here, mut there) = (vec![f64::from(round); len], vec![0.0; len]);
                let exchanged = world.scope(|scope| {
                    scope.irecv(&mut there, before, 0)?;
                    scope.isend(&here, next, 0)?;
                    Ok(())
                });
                exchanged.expect("all are there");
                assert!(there.iter().all(|value| *value == f64::from(round)));
                let mut sum = [0.0_f64];
                half.allreduce(&[1.0_f64], &mut sum, |a, b| a + b).expect("all are there");
                let mut request = world.irecv(vec![0u8; 40_000], before, 9).expect("it can be posted");
                request.cancel();
                request.wait().expect("it ends");
            }
            job.finalize().expect("all are there");
        }
        "killed" if me == 1 => {
            world.recv(&mut [0u8; 8], 0, 0).expect("it comes");
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("it may");
        }
        _ => {
            if me == 0 {
                world.send(&[0u8; 8], 1, 0).expect("it is gone at once");
            }
            let result = world.recv(&mut [0u8; 8], 1, 0);
            result.expect_err("rank 1 is gone");
        }
    }
}

fn scenario(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios").join(name);
    fs::read_to_string(path).expect("it is there")
}

#[test]
fn scenarios_do_what_the_model_allows() {
    for name in [
        "halo",
        "radix",
        "collectives",
        "pingpong-crossing",
        "exchange-2",
        "work-queue",
        "to-myself",
        "any-last",
        "sendrecv-ring",
    ] {
        let file = format!("{name}.scn");
        let place = Place::new().with(&file, &scenario(&file));
        let ran = place.run(&format!("run --trace out {file}")).status(0);
        assert_eq!(ran.err, "");
        let checked = place.run("check out").status(0);
        assert!(checked.out.starts_with("OK, "), "{name}: {}", checked.out);
        // The same once more, into the same directory.
        place.run(&format!("run --trace out {file}")).status(0);
        let checked = place.run("check out --format json").status(0);
        let report: Value = serde_json::from_str(&checked.out).expect("it is one JSON object");
        assert_eq!((&report["verdict"], &report["departure"]), (&"allowed".into(), &Value::Null));
        assert!(report["calls"].as_u64() >= Some(4) && report["events"].as_u64() >= Some(4), "{report}");
    }
}

#[test]
fn a_program_does_what_the_model_allows() {
    let place = Place::new();
    job(&place, 4, "stencil").status(0);
    let checked = place.run("check out --format json").status(0);
    let report: Value = serde_json::from_str(&checked.out).expect("it is one JSON object");
    // A barrier or two aside: messages, collectives and cancellations of 40 rounds.
    assert!(report["calls"].as_u64() >= Some(4 * 40 * 5), "{report}");
    let all = place.run("trace text out").status(0).out;
    let heads = all.lines().filter(|line| line.starts_with("{\"carrousel_trace\":")).count();
    assert_eq!(heads, 4, "a part for each rank");
    for kind in ["\"define\"", "\"cancel\"", "\"all_reduce\"", "\"announce\""] {
        assert!(all.contains(kind), "{kind} is not in the trace");
    }
}

#[test]
fn what_is_not_traced_writes_nothing() {
    let place = Place::new().with("halo.scn", &scenario("halo.scn"));
    place.run("run halo.scn").status(0);
    assert_eq!(fs::read_dir(place.path("")).expect("it is there").count(), 1);
}

#[test]
fn the_part_of_a_rank_that_is_killed_is_cut_short() {
    let place = Place::new();
    job(&place, 3, "killed").status(137);
    let checked = place.run("check out").status(3);
    let told = "rank-1.trace: it is cut short behind record ";
    checked.says("OK as far as it goes, ").says(told).says("rank 1 did not end by itself");
    let text = place.run("trace text out --rank 2").status(0);
    text.says("{\"event\":{\"lost\":1},");
    place.run("trace text out --rank 3").status(2).complains("there is no rank 3: the trace is of 3 ranks");
}

#[test]
fn a_change_of_a_real_trace_is_found() {
    let place = Place::new().with("exchange.scn", &scenario("exchange-2.scn"));
    place.run("run --trace out exchange.scn").status(0);
    let part = "out/rank-1.trace";
    let bare = |line: &str| Some(format!("{}}}\n", line.rsplit_once(",\"crc32\":")?.0));
    let told = place.run("trace text out --rank 1").status(0).out;
    let text: String = told.lines().filter_map(bare).collect();
    // The last statement that the application was told of, of a receive.
    let (at, line) = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("\"message\":[0,"))
        .last()
        .expect("it has received");
    let wrong = line.replace("\"message\":[0,", "\"message\":[1,");
    // As if it had been recorded so.
    fs::write(place.path(part), sealed(text.replace(line, &wrong).lines())).expect("it can be written");
    let checked = place.run("check out").status(1);
    let checked = checked.says("the model does not allow this").says("until then ").says("from rank 1, tag");
    // The first one that is like it.
    let first = text.lines().position(|other| other == line).unwrap_or(at) + 1;
    checked.says(&format!("{part}:{first}:")).says(&format!("rank 1, record {first}, at exchange.scn:"));
}

#[test]
fn a_trace_that_is_not_what_was_recorded_is_no_trace() {
    let place = Place::new().with("exchange.scn", &scenario("exchange-2.scn"));
    place.run("run --trace out exchange.scn").status(0);
    let part = "out/rank-0.trace";
    let whole = place.run("trace text out --rank 0").status(0).out;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    // Without a packet that stays unanswered, the model would have nothing against it.
    let without = [&lines[..3], &lines[4..]].concat().concat();
    fs::write(place.path(part), without).expect("it can be written");
    let checked = place.run("check out").status(2);
    checked.complains("rank-0.trace:4: the check value is ").complains("record once more");
}

#[test]
fn a_trace_with_a_limit_ends_there_and_the_job_goes_on() {
    let place = Place::new().with("halo.scn", &scenario("halo.scn"));
    place.run("run --trace out --trace-limit 1KiB halo.scn").status(0);
    for rank in 0..2 {
        let bytes = fs::metadata(place.path(&format!("out/rank-{rank}.trace"))).expect("it is there").len();
        assert!((512..=1024).contains(&bytes), "{bytes} bytes");
    }
    let checked = place.run("check out").status(3);
    checked.says("rank-1.trace: it has reached its limit behind record ").says("rank 1 went on unrecorded");
    let report = place.run("check out --format json").status(3);
    report.says("\"why\":\"limit\"");
    place.run("run --trace-limit 1KiB halo.scn").status(2).complains("--trace");
    place.run("run --trace out --trace-limit much halo.scn").status(2).complains("`much` is no size");
}

/// A message from rank 0 to rank 1, as the two have recorded it.
const HEAD: &str = r#"{"carrousel_trace":5,"rank":ME,"ranks":2,"command":["./pair"],"options":{"eager_threshold":16384,"eager_window":4194304,"speculation":"adaptive","transfer":"read","rtr_limit":64,"credit_every":64}}"#;
const SENDS: &str = r#"
{"call":{"call":{"send":{"to":1,"tag":0,"communicator":0,"len":8,"memory":{"address":0,"key":0},"synchronous":false}},"answer":{"request":{"index":0,"generation":0}},"line":3}}
{"release":{"request":{"index":0,"generation":0},"status":{"len":8}}}
{"end":"finalized"}
"#;
const RECEIVES: &str = r#"
{"call":{"call":{"receive":{"from":"any","tag":{"tag":0},"communicator":0,"len":8,"memory":{"address":0,"key":0}}},"answer":{"request":{"index":0,"generation":0}},"line":5}}
{"event":{"packet":{"from":0,"context":0,"packet":{"eager":{"tag":0,"len":8}}}}}
{"release":{"request":{"index":0,"generation":0},"status":{"message":[0,0],"len":8}}}
{"end":"left"}
"#;

#[test]
fn what_a_person_is_told() {
    let mut told = String::new();
    let mut tell = |what: &str, sends: Option<&str>, receives: &str, status: i32| {
        let place = Place::new();
        fs::create_dir(place.path("out")).expect("it can be made");
        for (rank, text) in [(0, sends), (1, Some(receives))] {
            if let Some(text) = text {
                let text = HEAD.replace("ME", &rank.to_string()) + text;
                let text = sealed(text.lines());
                fs::write(place.path(&format!("out/rank-{rank}.jsonl")), text).expect("it can be written");
            }
        }
        told += &format!("{what}\n{}\n", place.run("check out").status(status).out);
    };
    tell("as it was", Some(SENDS), RECEIVES, 0);
    tell(
        "another message",
        Some(SENDS),
        &RECEIVES.replace("\"eager\":{\"tag\":0", "\"eager\":{\"tag\":1"),
        1,
    );
    tell("another status", Some(SENDS), &RECEIVES.replace("[0,0]", "[0,1]"), 1);
    tell("nobody sends", Some("\n{\"end\":\"left\"}\n"), RECEIVES, 1);
    tell("the sender is killed", Some("\n"), RECEIVES, 3);
    tell("the sender does not begin", None, RECEIVES, 3);
    insta::assert_snapshot!(told);
}

#[test]
fn what_is_no_trace_is_refused() {
    let place = Place::new().with("halo.scn", &scenario("halo.scn"));
    place.run("check nowhere").status(2).complains("cannot read nowhere");
    place.run("check .").status(2).complains("has no part of a trace").complains("carrousel run --trace");
    place.run("run --trace . halo.scn").status(2).complains("halo.scn is no part of a trace");
    place.run("run --trace halo.scn halo.scn").status(2).complains("cannot create");
    place.run("run --trace out halo.scn").status(0);
    let part = place.run("trace text --rank 0 out").out;
    fs::remove_file(place.path("out/rank-0.trace")).expect("it is there");
    fs::write(place.path("out/rank-0.jsonl"), part.replace("\"carrousel_trace\":5", "\"carrousel_trace\":9"))
        .expect("it can be written");
    place.run("check out").status(2).complains("rank-0.jsonl:1: version 9");
}

#[test]
fn a_program_of_others_records_nothing_and_that_is_said() {
    let place = Place::new();
    place.run("run --trace out -n 2 -- true").status(0).complains("no rank has recorded anything in out");
    place.run("check out").status(2).complains("has no part of a trace");
}

#[test]
fn other_launchers_trace_too() {
    let place = Place::new().with("halo.scn", &scenario("halo.scn"));
    for (directory, words) in [("out", "run --trace out halo.scn"), ("by-variable", "run halo.scn")] {
        let Some(mut command) = place.under_hydra(4) else { return };
        command.args(words.split(' '));
        if directory == "by-variable" {
            command.env("CARROUSEL_TRACE", place.path(directory));
        }
        Ran::from(command.output().expect("it can be started")).status(0);
        place.run(&format!("check {directory}")).status(0).says("of 4 ranks");
    }
}

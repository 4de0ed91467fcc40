//! `carrousel bench`: what a user sees of it. The measurements themselves are tested beside their crate.

use crate::common::{Place, Ran};
use serde_json::Value;

#[test]
fn a_result_is_a_line_of_json() {
    let ran =
        Place::new().run("bench pt2pt --bench latency --size 8 --seconds 0.05 --format jsonl").status(0);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    let line: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!(line["bench"], "latency");
    assert_eq!(line["size"], 8);
    assert_eq!(line["unit"], "us");
    assert!(line["value"].as_f64().is_some_and(|us| us > 0.0), "{line}");
    assert!(line["repetitions"].as_u64().is_some_and(|count| count >= 5), "{line}");
}

#[test]
fn tables_are_for_people_and_a_plot_is_drawn() {
    let place = Place::new();
    let names = "latency,bandwidth,multi_latency,reuse_ratio,barrier";
    let ran = place.run(&format!("bench pt2pt --bench {names} --size 8,1KiB --repetitions 5 --plot p.svg"));
    let ran =
        ran.status(0).says("2 ranks on").says("latency: half").says("1KiB").says("MB/s").says("barrier: ");
    let ran = ran.says("  partners  bytes  ").says("  bytes  ratio  ").says("\n         1      8  ");
    ran.complains("drawn in p.svg");
    let text = place.text("p.svg");
    let document = roxmltree::Document::parse(&text).expect("it is XML");
    assert_eq!(document.root_element().tag_name().name(), "svg");
}

#[test]
fn one_object_has_all_results() {
    let ran = Place::new().run("bench pt2pt -n 3 --size 64 --repetitions 5 --format json").status(0);
    let object: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!((&object["ranks"], &object["repetitions"]), (&3.into(), &5.into()));
    let results = object["results"].as_array().expect("there are some");
    let names: Vec<_> = results.iter().map(|result| result["bench"].as_str().unwrap_or("")).collect();
    let (latency, bandwidth) = ("multi_latency", "multi_bandwidth");
    assert_eq!(names, [latency, latency, bandwidth, bandwidth, "multi_pair", "allreduce", "barrier"]);
    assert_eq!((&results[1]["connections"], &results[4]["connections"]), (&2.into(), &Value::Null));
    assert_eq!(results[0]["quartiles"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_job_of_another_launcher_measures_as_well() {
    let place = Place::new();
    let mut command = place.command();
    let words = "run -n 2 -- CARROUSEL bench pt2pt --bench barrier --repetitions 5 --format jsonl";
    command.args(words.split(' ').map(|word| word.replace("CARROUSEL", env!("CARGO_BIN_EXE_carrousel"))));
    let ran = Ran::from(command.output().expect("it can be started")).status(0);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
}

#[test]
fn what_cannot_be_measured_is_told_once_and_before_anything_is_started() {
    let place = Place::new();
    for (words, says) in [
        ("--bench latencies", "latency"),
        ("--bench latency -n 4", "-n 2"),
        ("--size 1GiB", "16MiB"),
        ("--size 8kb", "16KiB"),
        ("--seconds 0", "more than 0"),
        ("--repetitions 0", "1..="),
        ("-n 1", "2.."),
        ("--plot p.png", ".svg"),
        ("--plot p.html", ".svg"),
        ("--plot no/such/p.svg", "no directory"),
        ("--plot p.svg --bench barrier", "nothing to plot"),
    ] {
        let ran = place.run(&format!("bench pt2pt {words}")).status(2).complains(says);
        assert_eq!(ran.err.matches("error:").count(), 1, "{words}: {}", ran.err);
    }
    place.run("bench").status(2).complains("pt2pt");
}

#[test]
fn the_help_says_what_each_measurement_means() {
    let ran = Place::new().run("bench pt2pt --help").status(0);
    for name in [
        "latency",
        "bibandwidth",
        "multi_pair",
        "multi_latency",
        "reuse_none",
        "overlap_receive",
        "progress_send",
        "barrier",
    ] {
        assert!(ran.out.contains(name), "{name} is not in {}", ran.out);
    }
}

#[test]
fn what_memory_costs_needs_an_adapter_and_says_what_to_do_without_one() {
    let place = Place::new();
    for words in ["bench registration", "bench reuse --write reuse.table"] {
        // None has this name, where there are some.
        let mut command = place.command();
        command.args(words.split(' ')).env("CARROUSEL_VERBS_DEVICE", "none_of_them");
        let ran = Ran::from(command.output().expect("it can be started")).status(2);
        ran.complains("memory cannot be registered").complains("rdma link add");
        assert!(!place.path("reuse.table").exists());
    }
    place.run("bench reuse --repetitions 0").status(2).complains("1..=");
    place.run("bench registration --seconds 0").status(2).complains("more than 0");
    place.run("bench reuse --help").status(0).says("CARROUSEL_VERBS_REUSE_TABLE");
}

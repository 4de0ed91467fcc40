//! `carrousel bench`: what a user sees of it. The measurements themselves are tested with their crate.

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
fn an_overlap_says_what_each_call_of_each_case_takes() {
    let place = Place::new();
    let words = "bench pt2pt --bench overlap --size 64KiB,1MiB --repetitions 3 --format json --plot p.svg";
    let ran = place.run(words).status(0);
    let object: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    let results = object["results"].as_array().expect("there are some");
    let mut expected = Vec::new();
    for case in ["receiver_early", "receiver_early_two", "sender_early", "sender_early_two"] {
        for size in [64 << 10, 1 << 20] {
            let calls = ["irecv", "recv_wait", "isend", "send_wait"].map(str::to_owned);
            let second = calls.clone().map(|call| call + "2");
            let second = second.into_iter().filter(|_| case.ends_with("_two"));
            expected.extend(calls.into_iter().chain(second).map(|call| (case.to_owned(), size, call)));
        }
    }
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let found =
        results.iter().map(|it| (text(&it["case"]), it["size"].as_u64().expect("bytes"), text(&it["call"])));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    for result in results {
        assert_eq!((&result["bench"], &result["unit"]), (&"overlap".into(), &"us".into()));
        assert_eq!(result["repetitions"], 3);
        assert!(result["value"].as_f64().is_some_and(|us| us > 0.0), "{result}");
        assert!(result["compute_us"].as_u64().is_some_and(|us| us >= 1000), "{result}");
        assert_eq!(result["quartiles"].as_array().map(Vec::len), Some(2), "{result}");
    }
    assert!(place.text("p.svg").contains("Overlap, sender early, two messages"));
}

#[test]
fn the_table_of_an_overlap_has_a_row_for_each_message() {
    let ran = Place::new().run("bench pt2pt --bench overlap --size 64KiB --repetitions 3").status(0);
    let rows: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let cases = |row: &Vec<&str>| row.first().is_some_and(|word| word.contains("_early"));
    let found: Vec<_> = rows.into_iter().filter(cases).map(|row| (row[0], row[1], row[3])).collect();
    let (receiver, sender) = ("receiver_early", "sender_early");
    let two = ["receiver_early_two", "sender_early_two"];
    let expected =
        [(receiver, "1"), (two[0], "1"), (two[0], "2"), (sender, "1"), (two[1], "1"), (two[1], "2")];
    assert_eq!(found, expected.map(|(case, message)| (case, "64KiB", message)));
    ran.says("irecv us").says("its wait us").says("out of order");
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
        "overlap ",
        "sender_early",
        "hidden_receive",
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

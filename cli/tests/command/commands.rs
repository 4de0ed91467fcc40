//! The other commands, and what all of them have in common.

use crate::common::{Place, Ran};
use serde_json::Value;
use std::process::Stdio;

const PAIR: &str = "ranks 2\nrank 0\n  compute 5us\n  s: send to 1 tag 0 size 64KiB\nrank 1\n  \
                    recv from 0 tag 0 size 64KiB\n";

#[test]
fn a_run_is_a_table_of_statements() {
    let place = Place::new().with("pair.scn", PAIR);
    place.run("sim pair.scn").status(0).says("rank  line  label  op").says("send").says("us over qdr");
    let first = place.run("sim pair.scn --seed 7 --jitter 100").status(0).out;
    assert_eq!(first, place.run("sim pair.scn --seed 7 --jitter 100").status(0).out);
    assert_ne!(first, place.run("sim pair.scn --seed 8 --jitter 100").status(0).out);
}

#[test]
fn many_statements_are_summed_up() {
    let text = PAIR.replace("rank 0\n", "rank 0\n  repeat 40\n    compute 1us\n    compute 2us\n  end\n");
    Place::new()
        .with("many.scn", &text)
        .run("sim many.scn")
        .status(0)
        .says("mean in call us")
        .says("compute 2us");
}

#[test]
fn the_report_of_a_run_is_the_specified_object() {
    let place = Place::new().with("pair.scn", PAIR);
    for protocol in ["mirror", "published", "rget", "rput"] {
        for network in ["qdr", "ddr-iwarp", "shm"] {
            let words = format!("sim pair.scn --format json --protocol {protocol} --network {network}");
            let report: Value = serde_json::from_str(&place.run(&words).status(0).out).expect("it is JSON");
            assert_eq!(report["network"], network);
            assert!(report["makespan_us"].as_f64().is_some_and(|us| us > 5.0));
            let send = &report["statements"][1];
            assert_eq!((&send["rank"], &send["line"], &send["label"]), (&0.into(), &4.into(), &"s".into()));
            assert_eq!(send["op"], "send");
            assert!(send["complete_us"].as_f64() >= send["begin_us"].as_f64());
        }
    }
}

#[test]
fn a_request_has_what_its_rank_computed_and_waited_until_it_was_complete() {
    let early = "ranks 2\nrank 0\n  irecv from 1 tag 0 size 1MiB\n  compute 2ms\n  wait all\nrank 1\n  \
                 compute 50us\n  isend to 0 tag 0 size 1MiB\n  compute 2ms\n  wait all\n";
    let place = Place::new().with("early.scn", early);
    for command in ["sim", "run"] {
        place.run(&format!("{command} early.scn")).status(0).says("  computed us  waited us\n");
        let ran = place.run(&format!("{command} early.scn --format json")).status(0);
        let report: Value = serde_json::from_str(&ran.out).expect("it is JSON");
        let statements = report["statements"].as_array().expect("there are some");
        let us = |at: usize, name: &str| statements[at][name].as_f64().expect("a number");
        for request in [0, 4] {
            // For real it is known to be complete when the wait returns; in virtual time it may be while the rank computes.
            assert!(us(request, "computed_us") >= if command == "run" { 2000.0 } else { 1.0 }, "{}", ran.out);
            assert!(
                us(request, "waited_us") <= us(request + 2, "end_us") - us(request + 2, "begin_us") + 0.002
            );
        }
        let without = statements.iter().filter(|statement| statement.get("computed_us").is_none()).count();
        assert_eq!((statements.len(), without), (7, 5), "{}", ran.out);
    }
    // Where nothing is started there is nothing to overlap.
    let place = place.with("pair.scn", PAIR);
    assert!(!place.run("sim pair.scn").status(0).out.contains("computed us"));
}

#[test]
fn a_run_is_drawn() {
    let place = Place::new().with("pair.scn", PAIR);
    place.run("sim pair.scn --timeline t.svg").status(0);
    assert!(place.text("t.svg").contains("<svg"));
    place.run("sim pair.scn --timeline t.html").status(0);
    assert!(place.text("t.html").contains("<html"));
    place.run("sim pair.scn --timeline t.txt").status(2);
}

#[test]
fn a_run_that_cannot_be_made_ends_with_2() {
    let place = Place::new().with("pair.scn", PAIR);
    place.run("sim pair.scn --copies magic").status(2).complains("`self-at-call`");
    place.run("sim pair.scn --locks magic").status(2).complains("`lazy`");
    place.run("sim pair.scn --progress interrupt").status(2).complains("`none` and `thread` can");
    place.run("sim pair.scn --progress magic").status(2);
    place.run("sim pair.scn --protocol magic").status(2);
    place.run("sim pair.scn --network magic").status(2).complains("`qdr`");
    place.run("sim pair.scn --progress thread").status(0);
}

#[test]
fn a_deadlock_of_a_run_ends_with_1_and_says_who_waits() {
    let stuck = "ranks 2\nrank *\n  recv from 1-me tag 0 size 8\n";
    let ran = Place::new().with("stuck.scn", stuck).run("sim stuck.scn --format json").status(1);
    let ran = ran.complains("rank 0, line 3").complains("rank 1, line 3");
    assert_eq!(ran.out, "");
}

const LAID_OUT: &str = "ranks 2\nrank 0\n  compute 5us\n";
const MESSY: &str = "ranks   2\n rank 0\ncompute 5us";

#[test]
fn files_are_laid_out() {
    let place = Place::new().with("messy.scn", MESSY).with("tidy.scn", LAID_OUT);
    assert_eq!(place.run("fmt messy.scn").status(0).out, LAID_OUT);
    assert_eq!(place.text("messy.scn"), MESSY);
    assert_eq!(place.run("fmt --check messy.scn tidy.scn").status(1).out, "messy.scn\n");
    assert_eq!(place.run("fmt --write messy.scn tidy.scn").status(0).out, "");
    assert_eq!(place.text("messy.scn"), LAID_OUT);
    place.run("fmt --check messy.scn tidy.scn").status(0);
    assert_eq!(place.feed("fmt --stdin", MESSY).status(0).out, LAID_OUT);
    assert_eq!(place.feed("fmt -", MESSY).status(0).out, LAID_OUT);
    place.feed("fmt --check --stdin", MESSY).status(1);
}

#[test]
fn a_file_that_cannot_be_read_is_not_laid_out() {
    let place = Place::new().with("wrong.scn", "ranks 2\nrank 0\n  recv of 1\n").with("tidy.scn", LAID_OUT);
    place.run("fmt --write wrong.scn tidy.scn").status(2).complains("wrong.scn:3:");
    assert_eq!(place.text("wrong.scn"), "ranks 2\nrank 0\n  recv of 1\n");
    place.run("fmt").status(2);
}

#[test]
fn info_says_where_each_value_comes_from() {
    let place = Place::new();
    place
        .run("info")
        .status(0)
        .says("eager_threshold        8KiB      default")
        .says("qdr")
        .says("SEEN_PRUNES");
    let run = |name: &str| {
        let output = place.command().args(["info", "--format", "json"]).env(name, "64KiB").output();
        Ran::from(output.expect("it runs"))
    };
    let info: Value =
        serde_json::from_str(&run("CARROUSEL_EAGER_THRESHOLD").status(0).out).expect("it is JSON");
    let option = &info["options"][0];
    assert_eq!(option["value"], "64KiB");
    assert_eq!(option["source"], "CARROUSEL_EAGER_THRESHOLD");
    assert_eq!(option["default"], "8KiB");
    assert!(info["rules"].as_array().is_some_and(|rules| rules.iter().all(|rule| rule["says"] != "")));
    run("CARROUSEL_EAGER").status(2).complains("CARROUSEL_EAGER");
}

#[test]
fn completions_and_manual_are_generated() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        place.run(&format!("completions {shell}")).status(0).says("portable");
    }
    place.run("man").status(0).says(".TH carrousel 1").says("verify");
    place.run("man verify").status(0).says(".TH carrousel-verify 1").says("max\\-states");
    place.run("man bench pt2pt").status(0).says(".TH carrousel-bench-pt2pt 1").says("hidden_send");
    place.run("man bench pt2pt magic").status(2).complains("no command `magic`");
    place.run("man magic").status(2).complains("there are verify");
}

#[test]
fn help_teaches_by_examples() {
    let place = Place::new();
    for command in
        ["", "verify", "sim", "run", "bench pt2pt", "fmt", "info", "fi", "schema", "completions", "man"]
    {
        place.run(&format!("{command} --help")).status(0).says("Examples:\n");
    }
    for command in ["", "verify", "sim", "run", "bench pt2pt", "fmt", "fi"] {
        place.run(&format!("{command} --help")).status(0).says("Exit status");
    }
    place.run("").status(2);
    place.run("verfy").status(2).complains("verify");
}

#[test]
fn colours_are_for_those_who_want_them() {
    let place = Place::new().with("pair.scn", PAIR);
    let coloured = |words: &str, variables: &[(&str, &str)]| {
        let mut command = place.command();
        command.args(words.split_whitespace()).envs(variables.iter().copied());
        let out = command.output().expect("it runs").stdout;
        out.contains(&0x1b)
    };
    assert!(!coloured("verify pair.scn", &[]));
    assert!(coloured("verify pair.scn", &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured("verify pair.scn", &[("CLICOLOR_FORCE", "0")]));
    assert!(!coloured("verify pair.scn", &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(coloured("verify pair.scn --color always", &[("NO_COLOR", "1")]));
    assert!(!coloured("verify pair.scn --color never", &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured("verify pair.scn --format json", &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_reader_who_leaves_early_ends_a_command_unless_something_worse_was_found() {
    let text = format!("{PAIR}rank 1\n  isend to 0 tag 0 size 8\n");
    let place = Place::new().with("leak.scn", &text);
    for words in ["verify leak.scn", "info", "schema verify", "completions bash", "man", "fmt leak.scn"] {
        let mut command = place.command();
        let (reader, writer) = std::io::pipe().expect("there are pipes");
        drop(reader);
        command.args(words.split_whitespace()).stdout(Stdio::from(writer)).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        let ran = Ran::from(child.wait_with_output().expect("it ends"));
        // A violation stays one; what was fine ends as `cat` does.
        let ran = ran.status(if words.starts_with("verify") { 1 } else { 141 });
        assert_eq!(ran.err, "", "{words}");
    }
}

/// One line of a report of a defect says what was built.
#[test]
fn the_version_names_the_commit_and_the_features() {
    let ran = Place::new().run("--version").status(0);
    let said = ran.out.clone();
    let built = said.trim_end().strip_prefix("carrousel 0.1.0 (").and_then(|rest| rest.strip_suffix(')'));
    let built = built.unwrap_or_else(|| panic!("{said}"));
    let (_, features) = built.split_once("optional features: ").unwrap_or_else(|| panic!("{said}"));
    for (name, is_on) in [("hwloc", cfg!(feature = "hwloc")), ("verbs", cfg!(feature = "verbs"))] {
        assert_eq!(features.contains(name), is_on, "{said}");
    }
    if let Some(commit) = built.strip_prefix("commit ") {
        assert!(commit.chars().take(10).all(|c| c.is_ascii_hexdigit()), "{said}");
    }
}

/// A terminal would take it for a command.
#[test]
fn control_characters_in_the_name_of_a_file_are_not_printed() {
    let place = Place::new().with("a\u{1b}[31mb.scn", PAIR).with("wrong\u{7}.scn", "ranks x\n");
    let run = |words: &[&str]| Ran::from(place.command().args(words).output().expect("it can be started"));
    for (words, said) in [
        (["verify", "a\u{1b}[31mb.scn"], "a\\u{1b}[31mb.scn"),
        (["verify", "wrong\u{7}.scn"], "wrong\\u{7}.scn:1:7"),
        (["fmt", "none\u{1b}.scn"], "cannot read none\\u{1b}.scn"),
    ] {
        let ran = run(&words);
        let text = format!("{}{}", ran.out, ran.err);
        assert!(text.contains(said) && !text.contains(['\u{1b}', '\u{7}']), "{text}");
    }
}

//! `source(NAME)` and `tag(NAME)`: every execution has its own values, and violations that depend on them are found
//! and told.

use carrousel_scenario::load;
use carrousel_verify::rendezvous::Rendezvous;
use carrousel_verify::report::{CheckReport, Counterexample, Report, Verdict};
use carrousel_verify::run::{Request, check};

fn verify_with(text: &str, request: &Request<'_>) -> Report {
    let scenario =
        load("test.scn", text.as_bytes()).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)));
    check(&scenario, request).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn verify(text: &str) -> Report {
    verify_with(text, &Request::default())
}

fn violated(report: &Report) -> Vec<&'static str> {
    let is_violated = |check: &&CheckReport| check.verdict == Verdict::Violated;
    report.checks.iter().filter(is_violated).map(|check| check.name).collect()
}

fn counterexample<'r>(report: &'r Report, name: &str) -> &'r Counterexample {
    let check = report.checks.iter().find(|check| check.name == name).expect("all checks are reported");
    check.counterexample.as_ref().unwrap_or_else(|| panic!("{name} is not violated"))
}

const MASTER: &str = "ranks 3\nrank 0\n  repeat 2\n    r = recv from any tag any size 64KiB\n    \
                      send to source(r) tag tag(r)+1 size 64KiB\n  end\n\
                      rank 1..2\n  send to 0 tag me size 64KiB\n  recv from 0 tag me+1 size 64KiB\n";

#[test]
fn a_master_answers_whoever_has_asked() {
    for rendezvous in [Rendezvous::Mirror, Rendezvous::Published] {
        for portable in [false, true] {
            let report = verify_with(MASTER, &Request { rendezvous, portable, ..Request::default() });
            assert_eq!(violated(&report), ["match-determinism"]);
            assert_eq!(report.verdict, Verdict::Proven);
        }
    }
}

#[test]
fn every_value_is_looked_at() {
    // The answer to the one that came last leaves the other waiting, whichever that is.
    let text = "ranks 3\nrank 0\n  a = recv from any tag 0 size 8\n  b = recv from any tag 0 size 8\n  \
                send to source(b) tag 1 size 8\nrank 1\n  send to 0 tag 0 size 8\n  recv from 0 tag 1 size 8\n\
                rank 2\n  send to 0 tag 0 size 8\n  irecv from 0 tag 1 size 8\n";
    let report = verify(text);
    assert_eq!(violated(&report), ["deadlock-freedom", "match-determinism", "request-leak"]);
    let told = counterexample(&report, "deadlock-freedom");
    assert!(told.summary.contains("rank 1 waits at line 8"), "{}", told.summary);
    let steps: Vec<&str> = told.steps.iter().map(|step| step.what.as_str()).collect();
    let all = steps.join("\n");
    assert!(
        all.contains("`send to source(b) tag 1 size 8` (to 2 tag 1 size 8): sends the data to rank 2"),
        "{all}"
    );
    assert!(all.contains("returns (`source(b)` is 2, `tag(b)` is 0)"), "{all}");
    let chart = told.chart.text(160, false);
    assert!(chart.contains("send to source(b) tag 1 size 8 (to 2 tag "), "{chart}");
    assert!(chart.contains("4: recv returns (`source(b)` is 2"), "{chart}");
}

#[test]
fn a_value_that_leaves_its_range_is_a_deadlock_at_its_statement() {
    let text = "ranks 3\nrank 0\n  r = recv from any tag 0 size 8\n  send to source(r)+1 tag 1 size 8\n\
                rank 1..2\n  isend to 0 tag 0 size 8\n  wait all\n";
    let report = verify(text);
    assert!(violated(&report).contains(&"deadlock-freedom"), "{:?}", violated(&report));
    let told = counterexample(&report, "deadlock-freedom");
    assert_eq!(
        told.summary,
        "Rank 0 cannot go on at line 4 (`send to source(r)+1 tag 1 size 8`): rank 3 does not exist, expected 0 to 2, \
         for `source(r)+1`, where `source(r)` is 2."
    );
    let last = told.steps.last().expect("it has steps");
    assert_eq!((last.rank, last.line), (Some(0), Some(3)));
}

#[test]
fn every_kind_of_value_has_its_range() {
    for (statement, said) in [
        ("send to 1 tag 0-tag(r) size 8", "the tag -7 is out of range"),
        ("isend to 1 tag 0 size 6-tag(r)", "a size of -1"),
        ("recv from 9-tag(r) tag 0 size 8", "rank 2 does not exist, expected 0 to 1"),
        ("probe from 1/(7-tag(r)) tag 0", "divides by zero"),
        ("compute (6-tag(r))*1us", "a time of -1000"),
        ("sendrecv to 1 tag 0 size 8 from 1 tag tag(r)-8 size 8", "the tag -1 is out of range"),
        ("irecv from 1 tag 0 size tag(r)*9223372036854775807", "overflows"),
    ] {
        let text = format!(
            "ranks 2\nrank 0\n  r = recv from any tag any size 8\n  {statement}\nrank 1\n  send to 0 tag 7 size 8\n"
        );
        let report = verify(&text);
        assert_eq!(violated(&report), ["deadlock-freedom"], "{text}");
        let told = counterexample(&report, "deadlock-freedom");
        let beginning = format!("Rank 0 cannot go on at line 4 (`{statement}`): ");
        assert!(told.summary.starts_with(&beginning) && told.summary.contains(said), "{}", told.summary);
    }
}

#[test]
fn a_name_stands_for_its_last_message() {
    let sender = "rank 1\n  send to 0 tag 3 size 8\n  send to 0 tag 4 size 8\n  recv from 0 tag 4 size 8\n";
    let of = |program: &str| format!("ranks 2\nrank 0\n{program}{sender}");
    let answer = "  send to source(r) tag tag(r) size 8\n";
    for program in [
        format!("  recv from any tag any size 8\n  r = recv from any tag any size 8\n{answer}"),
        format!("  r = recv from any tag any size 8\n  r = recv from any tag any size 8\n{answer}"),
        format!(
            "  r = irecv from any tag any size 8\n  wait r\n  r = irecv from any tag any size 8\n  test r\n  wait r\n  wait r\n{answer}"
        ),
        // Completed after the name stands for another one.
        format!(
            "  r = irecv from any tag any size 8\n  r = irecv from any tag any size 8\n  wait all\n{answer}"
        ),
        "  r = irecv from any tag any size 8\n  s = irecv from any tag any size 8\n  wait s r\n  send to source(r) tag tag(s) size 8\n"
            .to_owned(),
        format!(
            "  r = recv from any tag any size 8\n  r = probe from any tag any\n{answer}  recv from source(r) tag tag(r) size 8\n"
        ),
        "  r = recv from any tag any size 8\n  r = sendrecv to source(r) tag tag(r)+1 size 8 from source(r) tag any size 8\n"
            .to_owned(),
    ] {
        let report = verify(&of(&program));
        assert_eq!(violated(&report), [""; 0], "{program}");
    }
}

#[test]
fn what_nobody_asks_for_is_not_part_of_the_state() {
    let states = |receive: &str| {
        let text = format!(
            "ranks 3\nrank 0\n  repeat 3\n    {receive}\n  end\nrank 1\n  repeat 2\n    send to 0 tag 0 size 8\n  end\n\
             rank 2\n  send to 0 tag 1 size 8\n"
        );
        verify(&text).states
    };
    let unnamed = states("recv from any tag any size 8");
    assert_eq!(states("r = recv from any tag any size 8"), unnamed);
    assert_eq!(states("r = irecv from any tag any size 8\n    wait r"), unnamed);
}

#[test]
fn a_probe_that_is_asked_about_finds_either_message() {
    // Without the value nobody could tell which of the two has come first.
    let of = |answers: &str, of_rank_2: &str| {
        format!(
            "ranks 3\nrank 0\n  p = probe from any tag any\n{answers}  recv from 1 tag 0 size 8\n  \
             recv from 2 tag 0 size 8\nrank 1\n  isend to 0 tag 0 size 8\n  recv from 0 tag 9 size 8\n  wait all\n\
             rank 2\n  isend to 0 tag 0 size 8\n{of_rank_2}  wait all\n"
        )
    };
    let one = "  send to source(p) tag 9 size 8\n";
    let other = "  send to 3-source(p) tag 9 size 8\n";
    for portable in [false, true] {
        let request = Request { portable, ..Request::default() };
        assert_eq!(violated(&verify_with(&of(one, ""), &request)), ["deadlock-freedom"], "{portable}");
        let both = of(&format!("{one}{other}"), "  recv from 0 tag 9 size 8\n");
        assert_eq!(violated(&verify_with(&both, &request)), [""; 0], "{portable}");
    }
}

#[test]
fn a_probe_under_the_weakest_mpi_may_find_what_came_later() {
    // Rank 2 sends when the message of rank 1 is there: in this library that one is found.
    let text = "ranks 3\nrank 0\n  probe from 1 tag 0\n  send to 2 tag 0 size 8\n  probe from 2 tag 0\n  \
                p = probe from any tag any\n  send to source(p) tag 9 size 8\n  recv from 1 tag 0 size 8\n  \
                recv from 2 tag 0 size 8\nrank 1\n  isend to 0 tag 0 size 8\n  recv from 0 tag 9 size 8\n  wait all\n\
                rank 2\n  recv from 0 tag 0 size 8\n  isend to 0 tag 0 size 8\n  wait all\n";
    assert_eq!(violated(&verify(text)), [""; 0]);
    let portable = Request { portable: true, ..Request::default() };
    assert_eq!(violated(&verify_with(text, &portable)), ["deadlock-freedom"]);
}

#[test]
fn buffers_of_a_size_that_is_known_later_are_watched() {
    let of = |size: &str| {
        format!(
            "ranks 2\nrank 0\n  r = recv from any tag any size 8\n  e = isend to 1 tag 0 size {size} buf b\n  \
             write buf b\n  wait e\nrank 1\n  send to 0 tag 5 size 8\n  recv from 0 tag 0 size 64\n"
        )
    };
    assert_eq!(violated(&verify(&of("tag(r)"))), ["buffer-safety"]);
    // A message without bytes uses no buffer.
    assert_eq!(violated(&verify(&of("tag(r)-5"))), [""; 0]);
    let longer = of("tag(r)*100").replace("  write buf b\n", "");
    assert_eq!(violated(&verify(&longer)), ["buffer-safety"]);
}

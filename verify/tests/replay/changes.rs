//! Every distortion of a trace is found.

use crate::pair::{parts, replay_of};
use carrousel_verify::replay::ReplayVerdict;

/// The position of the only line that has this text.
#[track_caller]
fn at(lines: &[String], text: &str) -> usize {
    let found: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(text)).collect();
    assert_eq!(found.len(), 1, "{text:?} is in {found:?} of {lines:#?}");
    found[0]
}

/// One thing that is not as it was.
struct Distortion {
    name: &'static str,
    rank: usize,
    change: fn(&mut Vec<String>),
}

fn replace(lines: &mut [String], line: &str, from: &str, to: &str) {
    let at = at(lines, line);
    assert!(lines[at].contains(from), "{from:?} is not in {:?}", lines[at]);
    lines[at] = lines[at].replace(from, to);
}

fn shift(lines: &mut Vec<String>, line: &str, before: &str) {
    let line = lines.remove(at(lines, line));
    lines.insert(at(lines, before), line);
}

fn add(lines: &mut Vec<String>, line: &str, behind: &str) {
    lines.insert(at(lines, behind) + 1, line.to_owned());
}

const DISTORTIONS: [Distortion; 21] = [
    Distortion {
        name: "an event is missing",
        rank: 1,
        change: |lines| drop(lines.remove(at(lines, "\"fin\""))),
    },
    Distortion {
        name: "the last packet of a lane is missing",
        rank: 0,
        change: |lines| drop(lines.remove(at(lines, "\"ats\""))),
    },
    Distortion {
        name: "a completion is missing",
        rank: 0,
        change: |lines| drop(lines.remove(at(lines, "\"written\""))),
    },
    Distortion {
        name: "two packets of a lane have changed places",
        rank: 1,
        change: |lines| {
            let (fin, eager) = (at(lines, "\"fin\""), at(lines, "\"eager\":{\"tag\":1"));
            lines.swap(fin, eager);
        },
    },
    Distortion {
        name: "a packet is changed",
        rank: 1,
        change: |lines| replace(lines, "\"eager\":{\"tag\":1", "\"len\":8", "\"len\":9"),
    },
    Distortion {
        name: "a packet is changed in what is seldom told",
        rank: 1,
        change: |lines| replace(lines, "\"rts\"", "\"address\":4098", "\"address\":4099"),
    },
    Distortion {
        name: "a packet comes twice",
        rank: 0,
        change: |lines| {
            let ats = lines[at(lines, "\"ats\"")].clone();
            add(lines, &ats, "\"ats\"");
        },
    },
    Distortion {
        name: "a packet was never sent",
        rank: 1,
        change: |lines| {
            let packet = "{\"event\":{\"packet\":{\"from\":0,\"context\":3,\"packet\":{\"eager\":{\"tag\":7,\"len\":0}}}}}";
            add(lines, packet, "\"generation\":3},\"status\"");
        },
    },
    Distortion {
        name: "a packet comes from nobody",
        rank: 1,
        change: |lines| replace(lines, "\"fin\"", "\"from\":0", "\"from\":2"),
    },
    Distortion {
        name: "a completion comes before its write",
        rank: 0,
        change: |lines| shift(lines, "\"written\"", "\"send\":{\"to\":1,\"tag\":0"),
    },
    Distortion {
        name: "a completion is another request's",
        rank: 0,
        change: |lines| replace(lines, "\"written\"", "\"index\":0", "\"index\":2"),
    },
    Distortion {
        name: "a status is altered",
        rank: 1,
        change: |lines| replace(lines, "\"message\":[0,0]", "\"len\":64", "\"len\":63"),
    },
    Distortion {
        name: "a request ends before its data has come",
        rank: 1,
        change: |lines| shift(lines, "\"message\":[0,2]", "{\"read\":"),
    },
    Distortion {
        name: "a request ends twice",
        rank: 1,
        change: |lines| {
            let end = lines[at(lines, "\"message\":[0,2]")].clone();
            add(lines, &end, "\"message\":[0,2]");
        },
    },
    Distortion {
        name: "a request has another name",
        rank: 0,
        change: |lines| replace(lines, "\"line\":4", "\"request\":{\"index\":1", "\"request\":{\"index\":2"),
    },
    Distortion {
        name: "a mistake is not found",
        rank: 1,
        change: |lines| {
            let refused = at(lines, "\"refused\"");
            let (front, _) = lines[refused].split_once("\"answer\"").expect("it is a call");
            lines[refused] =
                format!("{front}\"answer\":{{\"request\":{{\"index\":0,\"generation\":1}}}},\"line\":6}}}}");
        },
    },
    Distortion {
        name: "a receive is announced that may not be",
        rank: 1,
        change: |lines| {
            add(lines, "{\"event\":{\"announce\":{\"index\":0,\"generation\":0}}}", "\"fin\"");
        },
    },
    Distortion {
        name: "a probe has found another message",
        rank: 1,
        change: |lines| replace(lines, "\"probe\"", "\"len\":8", "\"len\":64"),
    },
    Distortion {
        name: "a communicator is defined twice",
        rank: 0,
        change: |lines| {
            let define = lines[at(lines, "\"define\"")].clone();
            add(lines, &define, "\"define\"");
        },
    },
    Distortion {
        name: "a lost peer sends",
        rank: 1,
        change: |lines| add(lines, "{\"event\":{\"lost\":0}}", "\"fin\""),
    },
    Distortion {
        name: "a call that may be a rendezvous ignores what has arrived",
        rank: 0,
        change: |lines| replace(lines, "\"line\":5", "\"line\":5", "\"line\":5,\"ignored\":[1]"),
    },
];

/// Only calls that may be a rendezvous come behind all that has arrived.
#[test]
fn a_call_that_stays_eager_may_ignore_what_has_arrived() {
    let mut parts = parts();
    replace(&mut parts[0], "\"line\":4", "\"line\":4", "\"line\":4,\"ignored\":[1]");
    assert_eq!(replay_of(&parts).expect("it is a trace").verdict, ReplayVerdict::Allowed);
}

#[test]
fn every_change_is_found_and_told() {
    let mut told = String::new();
    for Distortion { name, rank, change } in &DISTORTIONS {
        let mut parts = parts();
        change(&mut parts[*rank]);
        let report = replay_of(&parts).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(report.verdict, ReplayVerdict::Departed, "{name}");
        let departure = report.departure.expect("it has departed");
        let line = departure.place.line.map_or_else(String::new, |line| format!(", line {line}"));
        told += &format!("{name}: rank {}, record {}{line}\n", departure.rank, departure.record);
        told += &format!("  it says  {}\n  allowed  {}\n", departure.happened, departure.allowed);
    }
    insta::assert_snapshot!(told);
}

/// The records that can be missing without the model noticing: nothing in the trace depends on them. Only check
/// values show that they are there.
#[test]
fn what_can_be_missing_is_what_nobody_needs() {
    let whole = parts();
    let mut unnoticed = String::new();
    for rank in 0..2 {
        for at in 1..whole[rank].len() - 1 {
            let mut parts = whole.clone();
            let line = parts[rank].remove(at);
            if replay_of(&parts).expect("it is a trace").verdict == ReplayVerdict::Allowed {
                unnoticed += &format!("rank {rank}: {line}\n");
            }
        }
    }
    insta::assert_snapshot!(unnoticed);
}

//! Endpoints inside another MPI library, which number their peers themselves.

use crate::pair::Place;
use carrousel_trace::{Trace, TraceError, sealed};
use carrousel_verify::replay::{MpiUsageError, ReplayReport, ReplayVerdict, Why, check};
use std::fs;

/// What an endpoint records: the numbers are those of libfabric's provider for an Open MPI, and HOST is left to the test.
const HEAD: &str = r#"{"carrousel_trace":5,"rank":0,"ranks":1024,"endpoint":{"address":"ADDRESS","process":PROCESS,HOST"library":"open_mpi"},"command":["./a.out"],"options":{"eager_threshold":16384,"eager_window":4194304,"speculation":"adaptive","transfer":"read","rtr_limit":64,"credit_every":64}}"#;
/// Tag 7 of context 3.
const TAG: u64 = 3 << 34 | 7;
const SENDS: &str = r#"
{"peer":{"rank":4,"address":"TO"}}
{"call":{"call":{"send":{"to":4,"tag":TAG,"communicator":1,"len":8,"memory":{"address":0,"key":0},"synchronous":false}},"answer":{"request":{"index":0,"generation":0}}}}
{"release":{"request":{"index":0,"generation":0},"status":{"len":8}}}
{"end":"finalized"}"#;
const RECEIVES: &str = r#"
{"call":{"call":{"receive":{"from":"any","tag":{"tag":TAG},"communicator":1,"len":8,"memory":{"address":0,"key":0}}},"answer":{"request":{"index":0,"generation":0}}}}
{"peer":{"rank":1,"address":"FROM"}}
{"event":{"packet":{"from":1,"context":2,"packet":{"eager":{"tag":TAG,"len":8}}}}}
{"release":{"request":{"index":0,"generation":0},"status":{"message":[1,TAG],"len":8}}}
{"end":"finalized"}"#;
const ENDS: &str = "\n{\"end\":\"finalized\"}";

/// An endpoint: its address, its process, its rank among so many, and its records.
type End<'a> = (&'a str, u32, Option<(u32, u32)>, &'a str);

fn replayed(ends: &[End<'_>]) -> Result<ReplayReport, TraceError> {
    let place = Place::new();
    fs::create_dir_all(&place.0).expect("it can be made");
    for (number, (address, process, host, records)) in ends.iter().enumerate() {
        let host = host.map_or_else(String::new, |(rank, ranks)| {
            format!("\"host\":{{\"rank\":{rank},\"ranks\":{ranks}}},")
        });
        let text = format!("{HEAD}{records}").replace("ADDRESS", address).replace("HOST", &host);
        let text = text.replace("PROCESS", &process.to_string()).replace("TAG", &TAG.to_string());
        let path = place.0.join(format!("endpoint-{process}-{number}.jsonl"));
        fs::write(path, sealed(text.lines())).expect("it can be written");
    }
    check(Trace::open(&place.0)?, &|_| ())
}

fn of(ends: &[End<'_>]) -> ReplayReport {
    replayed(ends).expect("it is a trace")
}

fn pair(sends: &str, receives: &str) -> ReplayReport {
    of(&[("one", 10, Some((1, 2)), sends), ("zero", 20, Some((0, 2)), receives)])
}

#[test]
fn numbers_of_their_own_are_put_together_by_addresses() {
    let report = pair(&SENDS.replace("TO", "zero"), &RECEIVES.replace("FROM", "one"));
    assert_eq!(
        (report.verdict, report.departure, report.misuses),
        (ReplayVerdict::Allowed, None, Vec::new())
    );
    assert_eq!((report.ranks, report.calls, report.events), (2, 2, 1));
    // A message of somebody else would be from another address.
    let report = pair(&SENDS.replace("TO", "zero"), &RECEIVES.replace("FROM", "zero"));
    assert_eq!(report.verdict, ReplayVerdict::Departed);
}

#[test]
fn a_message_that_was_not_received_is_told_in_words_of_the_library() {
    let report = pair(&SENDS.replace("TO", "zero"), ENDS);
    assert_eq!(report.verdict, ReplayVerdict::Allowed);
    let [misuse @ MpiUsageError::NotReceived { from: 1, to: 0, tag: TAG, .. }] = &report.misuses[..] else {
        panic!("{:?}", report.misuses)
    };
    let told = "rank 0 has not received a message of 8 bytes with tag 7 of context 3, which rank 1 has sent";
    assert_eq!(misuse.to_string(), told);
    // Without a tag it may be the library's.
    let untagged = SENDS.replace("TO", "zero").replace("\"communicator\":1", "\"communicator\":2");
    assert_eq!(pair(&untagged, ENDS).misuses, []);
}

#[test]
fn peers_that_have_recorded_nothing_are_named_and_the_check_goes_as_far_as_it_can() {
    let report = of(&[("zero", 20, Some((0, 2)), &RECEIVES.replace("FROM", "far away"))]);
    assert_eq!((report.verdict, report.calls, report.events), (ReplayVerdict::Incomplete, 1, 0));
    let gaps: Vec<_> = report.gaps.iter().map(|gap| (gap.rank, gap.why)).collect();
    assert_eq!(gaps, [(0, Why::Needs(2)), (1, Why::Missing), (2, Why::Missing)]);
    let strangers: Vec<_> = report.endpoints.iter().filter(|name| name.part.is_none()).collect();
    assert!(
        matches!(&strangers[..], [name] if (name.rank, &*name.address) == (2, "far away")),
        "{strangers:?}"
    );
    // What it has sent to such a peer holds nobody up.
    let report = of(&[("zero", 20, Some((0, 1)), &SENDS.replace("TO", "far away"))]);
    assert_eq!((report.verdict, report.calls, report.answers), (ReplayVerdict::Incomplete, 1, 1));
}

#[test]
fn further_endpoints_and_processes_without_a_rank_come_behind_the_job() {
    let report = of(&[
        ("second", 20, Some((0, 1)), ENDS),
        ("first", 20, Some((0, 1)), &SENDS.replace("TO", "spawned")),
        ("spawned", 30, None, &RECEIVES.replace("FROM", "first")),
    ]);
    // Which of its endpoints is the first one, the names of the files say.
    let ranks = report.endpoints.iter().map(|name| (name.rank, &*name.address)).collect::<Vec<_>>();
    assert_eq!(ranks, [(0, "second"), (1, "first"), (2, "spawned")]);
    assert_eq!((report.verdict, report.events), (ReplayVerdict::Allowed, 1));
}

#[test]
fn what_names_a_peer_that_has_no_number_is_no_execution() {
    let (sends, receives) = (SENDS.replace("TO", "zero"), RECEIVES.replace("FROM", "one"));
    let without =
        |text: &str| text.lines().filter(|line| !line.contains("peer")).collect::<Vec<_>>().join("\n");
    let twice = sends.replacen('\n', "\n{\"peer\":{\"rank\":4,\"address\":\"two\"}}\n", 1);
    let beyond = sends.replace("\"rank\":4", "\"rank\":1024");
    for (sends, receives) in [
        (&without(&sends), &receives),
        (&sends, &without(&receives)),
        (&twice, &receives),
        (&beyond, &receives),
    ] {
        let report = pair(sends, receives);
        assert_eq!(report.verdict, ReplayVerdict::Departed, "{sends}{receives}");
    }
}

#[test]
fn what_is_left_of_an_earlier_run_is_refused() {
    let old: End<'_> = ("old", 9, Some((1, 2)), ENDS);
    let error = replayed(&[("one", 10, Some((1, 2)), ENDS), old]).expect_err("two were rank 1").to_string();
    assert!(error.contains("endpoint-10-0.jsonl") && error.contains("endpoint-9-1.jsonl"), "{error}");
    let twice =
        replayed(&[("one", 10, None, ENDS), ("one", 11, None, ENDS)]).expect_err("one address, two parts");
    assert!(twice.to_string().contains("with this address"), "{twice}");
}

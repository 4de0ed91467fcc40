//! Hang reports (option `hang_report`).

use crate::host::{ANY, EAVAIL, pair};
use crate::processes::test_alone;
use std::time::{Duration, Instant};

const TAG: u64 = 0xab << 32;

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_host_that_waits_in_vain() {
    const LONG: Duration = Duration::from_millis(700);
    let (domain, one, two) = pair();
    // It idles: a buffer for many messages is no wait.
    let (mut many, mut room) = (vec![0; 4096], [[0; 8]; 3]);
    assert_eq!(two.recv_many(&mut many, 9), 0);
    two.find_nothing(LONG);
    // It waits, and it is told once.
    let [first, second, third] = &mut room;
    assert_eq!((two.trecv(first, 0, (TAG, 0), 1), two.trecv(second, ANY, (TAG, 0xff), 2)), (0, 0));
    two.find_nothing(LONG);
    two.find_nothing(LONG);
    // Something moves, then nothing again.
    assert_eq!((one.tsend(&[1; 8], 0, TAG, 3), two.wait(&[one]).context), (0, 1));
    assert_eq!(two.cancel(2), 0);
    two.wait_error(&[one]);
    // A search that it repeats.
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        assert_eq!(two.trecvmsg(third, (TAG + 5, 0), 4, carrousel_ofi::bindings::FI_PEEK.into()), 0);
        assert_eq!(two.read(), Err(EAVAIL));
        two.error();
        two.find_nothing(Duration::from_millis(1));
    }
    assert_eq!(two.cancel(9), 0);
    two.wait_error(&[one]);
    domain.close([one, two]);
}

/// What the host is told, if the option has this value.
fn told(option: Option<&str>) -> Vec<String> {
    let mut job = test_alone("silence::a_host_that_waits_in_vain");
    job.envs([("PMI_RANK", "1"), ("PMI_SIZE", "2")])
        .envs(option.map(|value| ("FI_CARROUSEL_HANG_REPORT", value)));
    let output = job.output().expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let lines = String::from_utf8(output.stderr).expect("it is text");
    lines.lines().map(|line| line.split(" process ").next().unwrap_or(line).to_owned()).collect()
}

#[test]
fn a_host_that_waits_in_vain_is_told_what_for_once() {
    let lines = told(Some("200ms"));
    assert_eq!(lines.iter().filter(|line| *line == "carrousel: rank 1,").count(), 2, "{lines:#?}");
    let report = &lines[1..];
    // The peer is an endpoint of the same process.
    let receive = "  receive from rank 1, tag 0xab00000000, 8 bytes: posted; no message has matched";
    assert_eq!(report[0], receive);
    assert!(
        report[1]
            .starts_with("  receive from any rank, tag 0xab00000000 but for the bits 0xff, 8 bytes: posted")
    );
    assert_eq!(report[3..], ["  search for a message from any rank, tag 0xab00000005: none has come"]);
    for option in [None, Some("0")] {
        assert_eq!(told(option), Vec::<String>::new(), "{option:?}");
    }
}

//! More processes than processors.

use crate::host::{ANY, EAGAIN, pair};
use crate::processes::{child, test_alone, with_parent};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::Read;
use std::time::Duration;

const HELLO: u64 = 1;

/// Reads that find nothing, of which some offer the processor.
const READS: u64 = 80_000;

/// How often another process has run instead of this one while it could have gone on: `sched_yield`, and ends of its time.
fn switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("it is a number")
}

/// Time for the engine to look at the clock twice in a period.
const PERIODS: Duration = Duration::from_millis(50);

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_reads_until_its_parent_ends_it() {
    let (domain, one, two, parent) = with_parent();
    assert_eq!(one.tsend(&one.name(), parent, HELLO, 1), 0);
    assert_eq!(one.wait(&[]).context, 1);
    let until = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    while !until.is_finished() {
        assert_eq!(one.read(), Err(EAGAIN));
    }
    domain.close([one, two]);
}

/// With a processor for both of them, of which the other one wants all it gets.
#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_host_with_too_few_processors() {
    let (domain, one, two) = pair();
    one.find_nothing(PERIODS);
    let mut child = child("crowd::a_child_that_reads_until_its_parent_ends_it", &one);
    let mut name = one.name();
    assert_eq!(one.trecv(&mut name, ANY, (HELLO, 0), 1), 0);
    assert_eq!(one.wait(&[]).context, 1);
    let count = || {
        let before = switches();
        (0..READS).for_each(|_| assert_eq!(one.read(), Err(EAGAIN)));
        switches() - before
    };
    one.find_nothing(PERIODS);
    let alone = count();
    one.insert(&name);
    one.find_nothing(PERIODS);
    println!("switches {alone} {}", count());
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    domain.close([one, two]);
}

#[test]
fn a_host_offers_the_processor_once_the_processes_of_its_vector_have_too_few() {
    // This thread's processors are those of the processes that it starts.
    let all = sched_getaffinity(None).expect("the system says it");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).expect("there is a processor");
    let mut only = CpuSet::new();
    only.set(first);
    sched_setaffinity(None, &only).expect("it may be bound");
    let output = test_alone("crowd::a_host_with_too_few_processors").output().expect("it can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let numbers =
        text.lines().find_map(|line| line.split_once("switches ")?.1.split_once(' ')).expect("it says them");
    let [alone, crowded] =
        [numbers.0, numbers.1].map(|number| number.parse::<u64>().expect("it is a number"));
    // In 80,000 reads the processor is offered 1,250 times; the ends of their time are some tens.
    assert!(alone < READS / 200 && crowded > READS / 100, "{alone} and {crowded}");
}

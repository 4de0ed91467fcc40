//! Two processes, one of which knows the other by its address only, and how one ends.

use crate::host::{ANY, End, Failure, Opened, call, close, pair};
use carrousel_ofi::bindings as b;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable by which a child is told its parent's address.
const PARENT: &str = "PROVIDER_TEST_PARENT";
const HELLO: u64 = 1;
const ANSWER: u64 = 2;
const LARGE: usize = 1 << 20;

/// The command that runs the test of this name in a process of its own.
pub(crate) fn test_alone(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command
}

/// Runs the test of this name in another process, which knows its parent's address.
pub(crate) fn child(test: &str, parent: &End) -> Child {
    let address: String = parent.name().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut command = test_alone(test);
    command.env(PARENT, address).stdin(Stdio::piped()).spawn().expect("it can be started")
}

/// An endpoint that knows its parent, at position 2.
pub(crate) fn with_parent() -> (crate::host::Opened, End, End, u64) {
    let text = std::env::var(PARENT).expect("a parent has started this");
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("it is a number");
    let address: Vec<_> = (0..text.len()).step_by(2).map(byte).collect();
    let (domain, one, two) = pair();
    let parent = one.insert(&address);
    (domain, one, two, parent)
}

/// As [`with_parent`], when the parent has been told who this is.
fn greeted() -> (Opened, End, End, u64) {
    let (domain, one, two, parent) = with_parent();
    assert_eq!(one.tsend(&one.name(), parent, HELLO, 1), 0);
    assert_eq!(one.wait(&[]).context, 1);
    (domain, one, two, parent)
}

/// Two endpoints, of which the first has heard hello of a process that runs this test; that process, and its position in
/// the vector.
fn heard(test: &str) -> (Opened, [End; 2], Child, u64) {
    let (domain, one, two) = pair();
    let child = child(test, &one);
    let mut name = one.name();
    assert_eq!(one.trecv(&mut name, ANY, (HELLO, 0), 1), 0);
    assert_eq!(one.wait(&[]).context, 1);
    let there = one.insert(&name);
    (domain, [one, two], child, there)
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_says_hello() {
    let (domain, one, two, parent) = with_parent();
    // Nobody has inserted this one's address there.
    assert_eq!(one.tsend(&one.name(), parent, HELLO, 1), 0);
    let mut got = vec![0; LARGE];
    assert_eq!(one.trecv(&mut got, parent, (ANSWER, 0), 2), 0);
    let contexts = [one.wait(&[]).context, one.wait(&[]).context];
    assert!(contexts.contains(&1) && contexts.contains(&2));
    assert!(got.iter().all(|byte| *byte == 7));
    assert_eq!(one.tsend(&got, parent, HELLO, 3), 0);
    assert_eq!(one.wait(&[]).context, 3);
    domain.close([one, two]);
}

#[test]
fn a_stranger_is_answered_by_the_address_that_it_sends() {
    let (domain, one, two) = pair();
    let mut child = child("processes::a_child_that_says_hello", &one);
    let mut name = one.name();
    assert_eq!(one.trecv(&mut name, ANY, (HELLO, 0), 1), 0);
    let hello = one.wait(&[]);
    assert_eq!((hello.context, hello.source), (1, u64::MAX), "it is not in the vector");
    let there = one.insert(&name);
    let (sent, mut back) = (vec![7; LARGE], vec![0; LARGE]);
    assert_eq!((one.trecv(&mut back, there, (HELLO, 0), 2), one.tsend(&sent, there, ANSWER, 3)), (0, 0));
    let ended = [one.wait(&[]), one.wait(&[])];
    let received = ended.iter().find(|entry| entry.context == 2).expect("it is received");
    assert_eq!((received.source, back == sent), (there, true));
    assert!(child.wait().expect("it ends").success());
    // It has closed its endpoint: it is not lost.
    assert_eq!(one.trecv(&mut back, ANY, (HELLO, 0), 4), 0);
    one.find_nothing(Duration::from_millis(100));
    domain.close([one, two]);
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_closes() {
    let (domain, one, two, _) = greeted();
    // Until the parent, which never sends to this one, has looked for messages.
    std::io::stdin().read_line(&mut String::new()).expect("the parent is there");
    domain.close([one, two]);
}

#[test]
fn a_peer_that_has_closed_is_no_error_for_who_has_only_heard_it() {
    let (domain, [one, two], mut child, there) = heard("processes::a_child_that_closes");
    let mut got = [0; 8];
    assert_eq!((one.trecv(&mut got, there, (ANSWER, 0), 2), one.trecv(&mut got, ANY, (5, 0), 3)), (0, 0));
    one.find_nothing(Duration::from_millis(100));
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
    one.find_nothing(Duration::from_millis(100));
    // MPICH looks for messages from anybody when it frees a communicator, when others may have ended.
    assert_eq!(one.trecvmsg(&mut [], (5, 0), 4, u64::from(b::FI_PEEK)), 0);
    let failure = one.wait_error(&[]);
    assert_eq!((failure.context, failure.error), (4, b::FI_ENOMSG));
    domain.close([one, two]);
}

/// Messages that are more than the ring of a peer holds.
const INJECTS: u64 = 3000;
/// More than its eager window holds: the sender keeps the rest.
const KEPT: u64 = 8000;

fn inject(count: u64, from: End, to: u64) {
    for number in 0..count {
        let bytes = [number.to_le_bytes(); 100].concat();
        assert_eq!(call!(from.ep, tagged.inject(bytes.as_ptr().cast(), bytes.len(), to, ANSWER)), 0);
    }
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_injects_and_closes() {
    let (domain, one, two, parent) = greeted();
    inject(INJECTS, one, parent);
    domain.close([one, two]);
}

/// MPICH closes without a barrier.
#[test]
fn what_was_injected_arrives_although_its_sender_closes() {
    let (domain, [one, two], mut child, there) = heard("processes::a_child_that_injects_and_closes");
    // The child closes meanwhile.
    std::thread::sleep(Duration::from_millis(1500));
    for number in 0..INJECTS {
        let mut got = vec![0; 800];
        assert_eq!(one.trecv(&mut got, there, (ANSWER, 0), 2), 0);
        assert_eq!(one.wait(&[]).context, 2);
        assert_eq!(got, [number.to_le_bytes(); 100].concat());
    }
    assert!(child.wait().expect("it ends").success());
    domain.close([one, two]);
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_closes_before_its_send_ends() {
    let (domain, one, two, parent) = greeted();
    let bytes = vec![7; LARGE];
    assert_eq!(one.tsend(&bytes, parent, ANSWER, 2), 0);
    domain.close([one, two]);
    drop(bytes);
}

/// MPICH closes although there are sends whose requests were freed.
#[test]
fn what_is_being_sent_arrives_although_its_sender_closes() {
    let (domain, [one, two], mut child, there) = heard("processes::a_child_that_closes_before_its_send_ends");
    // The child closes meanwhile.
    std::thread::sleep(Duration::from_millis(300));
    let mut got = vec![0; LARGE];
    assert_eq!(one.trecv(&mut got, there, (ANSWER, 0), 2), 0);
    assert_eq!(one.wait(&[]).context, 2);
    assert!(got.iter().all(|byte| *byte == 7));
    assert!(child.wait().expect("it ends").success());
    domain.close([one, two]);
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_injects_more_than_fits_and_closes() {
    let (domain, one, two, parent) = greeted();
    inject(KEPT, one, parent);
    domain.close([one, two]);
}

#[test]
fn who_closes_too_is_not_waited_for() {
    let (domain, [one, two], mut child, there) =
        heard("processes::a_child_that_injects_more_than_fits_and_closes");
    inject(KEPT, one, there);
    domain.close([one, two]);
    assert!(child.wait().expect("it ends").success());
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_dies() {
    let (_, one, _, parent) = with_parent();
    assert_eq!(one.tsend(&one.name(), parent, HELLO, 1), 0);
    std::process::abort();
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_child_that_reads_no_queue() {
    let (_, one, _, parent) = with_parent();
    assert_eq!(one.tsend(&one.name(), parent, HELLO, 1), 0);
    std::io::stdin().read_line(&mut String::new()).expect("the parent is there");
}

#[test]
fn who_only_sends_learns_in_bounded_time_that_a_peer_has_died() {
    let (domain, [one, two], mut child, there) = heard("processes::a_child_that_reads_no_queue");
    let text = b"whatever";
    // By injects, which no queue tells of: a host need not read one.
    let inject = || call!(one.ep, tagged.inject(text.as_ptr().cast(), text.len(), there, ANSWER));
    assert_eq!(inject(), 0);
    child.kill().expect("it is there");
    child.wait().expect("it has ended");
    let began = Instant::now();
    let error = loop {
        let returned = inject();
        if returned != 0 && returned != -(b::FI_EAGAIN as isize) {
            break returned;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "nothing tells of it");
    };
    assert_eq!(error, -(b::FI_ECONNRESET as isize));
    domain.close([one, two]);
}

#[test]
fn who_dies_is_not_waited_for() {
    let (domain, [one, two], mut child, there) = heard("processes::a_child_that_reads_no_queue");
    inject(KEPT, one, there);
    let dying = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        child.kill().expect("it is there");
        child.wait().expect("it has ended");
    });
    domain.close([one, two]);
    dying.join().expect("it has killed it");
}

/// Between two endpoints, one of which has lost a peer, either way, with data in a packet and apart.
fn one_sided_operations_go_on(domain: &Opened, one: End, two: End) {
    let null = std::ptr::null_mut();
    for (from, to) in [(one, two), (two, one)] {
        for len in [8, LARGE] {
            let (sent, mut memory, mut got) = (vec![len as u8 ^ 5; len], vec![0; len], vec![0; len]);
            let start = memory.as_ptr().addr() as u64;
            let (mr, key) = End::register(domain, &mut memory, b::FI_REMOTE_READ | b::FI_REMOTE_WRITE, 0);
            let (data, room) = (sent.as_ptr().cast(), got.as_mut_ptr().cast());
            assert_eq!(call!(from.ep, rma.write(data, len, null, 0, start, key, null)), 0);
            assert!(from.wait(&[to]).has(b::FI_RMA | b::FI_WRITE));
            assert_eq!(call!(from.ep, rma.read(room, len, null, 0, start, key, null)), 0);
            assert!(from.wait(&[to]).has(b::FI_RMA | b::FI_READ));
            assert_eq!((memory == sent, got == sent, close(mr)), (true, true, 0));
        }
    }
}

#[test]
fn a_peer_that_dies_is_an_error_in_bounded_time() {
    let (domain, [one, two], mut child, there) = heard("processes::a_child_that_dies");
    let (mut got, mut from_anybody) = ([0; 8], [0; 8]);
    assert_eq!(one.trecv(&mut from_anybody, ANY, (6, 0), 5), 0);
    assert_eq!(one.trecv(&mut got, there, (ANSWER, 0), 2), 0);
    let began = Instant::now();
    let Failure { context, error, .. } = one.wait_error(&[]);
    assert_eq!((context, error), (2, b::FI_ECONNRESET));
    assert!(began.elapsed() < Duration::from_secs(10));
    child.wait().expect("it has ended");
    // Others are not concerned.
    assert_eq!((two.trecv(&mut got, 0, (5, 0), 3), one.tsend(b"whatever", 0, 5, 4)), (0, 0));
    assert_eq!((two.wait(&[one]).context, one.wait(&[two]).context), (3, 4));
    assert_eq!((two.tsend(b"whatever", 0, 6, 6), one.wait(&[two]).context), (0, 5), "from anybody else");
    assert_eq!(two.wait(&[one]).context, 6);
    one_sided_operations_go_on(&domain, one, two);
    // Operations on the peer that is gone fail.
    let null = std::ptr::null_mut();
    assert_eq!(call!(one.ep, rma.read(null, 0, null, there, 0, 0, null)), -(b::FI_ECONNRESET as isize));
    domain.close([one, two]);
}

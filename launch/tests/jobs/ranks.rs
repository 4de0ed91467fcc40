//! Ranks with a client, under our own launcher.

use crate::support::*;
use carrousel_launch::{Ending, LaunchError, PeerEvent};
use std::time::Duration;

pub(crate) fn exchange() {
    let mut client = client();
    assert!(client.is_watched());
    // Values that are longer than one value of the protocol, and an empty one.
    exchange_values(&mut client, |rank| 200 * rank as usize);
    client.barrier().expect("all come");
    let size = client.size();
    let long = "x".repeat(300_000);
    client.report(&format!(r#"{{"size": {size}, "blank": "a = b", "long": "{long}"}}"#)).expect("it is sent");
    assert_eq!(client.peer_events().expect("nobody is lost"), []);
    client.finalize().expect("it is acknowledged");
}

#[test]
fn four_ranks_exchange_values() {
    let done = finish(launcher("4", &["@exchange"]));
    assert_eq!(done.status, 0, "{}", done.stderr);
    let long = "x".repeat(300_000);
    let expected = (0..4).map(|rank| format!(r#"{rank}: {{"size": 4, "blank": "a = b", "long": "{long}"}}"#));
    assert_eq!(done.lines("report "), expected.collect::<Vec<_>>());
    // Although the job ends before the time after which reports count as over.
    assert_eq!(done.stderr.matches("ReportsOver").count(), 1, "{}", done.stderr);
}

/// Rank 1 kills itself; the others wait for the event, report it, and go on until they are ended.
pub(crate) fn survive() {
    let mut client = client();
    client.barrier().expect("all come");
    if client.rank() == 1 {
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("it may");
    }
    let news = until("news", || {
        Some(client.peer_events().expect("the launcher lives")).filter(|news| !news.is_empty())
    });
    assert_eq!(news, [PeerEvent::Lost { rank: 1, how: Ending::Killed(9) }]);
    client.report(r#""told""#).expect("it is sent");
    std::thread::sleep(TEST_TIMEOUT);
}

#[test]
fn a_rank_that_is_killed_is_told_and_the_others_are_ended() {
    let begun = std::time::Instant::now();
    let done = finish(launcher("4 grace=300", &["@survive"]));
    assert_eq!(done.status, 137, "{}", done.stderr);
    assert!(done.first_failure_ms() < 2000, "{}", done.stderr);
    assert!(done.stderr.contains("rank 1 was killed by SIGKILL expected=false"), "{}", done.stderr);
    assert_eq!(done.stderr.matches("failed").count(), 1, "{}", done.stderr);
    assert_eq!(done.lines("report "), [r#"0: "told""#, r#"2: "told""#, r#"3: "told""#]);
    assert!(begun.elapsed() < Duration::from_secs(10), "they are not left to sleep");
}

/// Rank 2 exits before the barrier, in which the others wait.
pub(crate) fn lose_in_barrier() {
    let mut client = client();
    if client.rank() == 2 {
        std::process::exit(5);
    }
    match client.barrier() {
        Err(LaunchError::RankLost { rank: 2, ending: Ending::Exited(5) }) => std::process::exit(6),
        other => panic!("unexpected: {other:?}"),
    }
}

#[test]
fn a_barrier_that_nobody_can_open_is_an_error() {
    let done = finish(launcher("3", &["@barrier"]));
    // The first failure counts, not the failures that follow from it.
    assert_eq!(done.status, 5, "{}", done.stderr);
    assert_eq!(done.stderr.matches("exited with status 6").count(), 2, "{}", done.stderr);
}

pub(crate) fn abort() {
    let mut client = client();
    client.barrier().expect("all come");
    if client.rank() == 3 {
        client.abort(42, "check left == right failed: n=3").expect("it is sent");
    }
    std::thread::sleep(TEST_TIMEOUT);
}

#[test]
fn an_abort_ends_the_job_with_its_code() {
    let done = finish(launcher("4 grace=50", &["@abort"]));
    assert_eq!(done.status, 42, "{}", done.stderr);
    assert!(
        done.stderr.contains("rank 3 aborted with code 42: check left == right failed: n=3"),
        "{}",
        done.stderr
    );
}

/// Rank 0 exits with status 0, but the others still count on it.
pub(crate) fn exit_unfinalised() {
    let mut client = client();
    client.barrier().expect("all come");
    if client.rank() > 0 {
        std::thread::sleep(TEST_TIMEOUT);
    }
}

#[test]
fn an_end_without_finalize_is_a_failure() {
    let done = finish(launcher("2 grace=50", &["@exit_unfinalised"]));
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stderr.contains("rank 0 ended without finalizing"), "{}", done.stderr);
    assert!(done.first_failure_ms() < 2000, "{}", done.stderr);
}

/// Ranks that finalize may leave one after the other.
pub(crate) fn finalize_in_turn() {
    let client = client();
    let rank = client.rank();
    client.finalize().expect("it is acknowledged");
    std::thread::sleep(Duration::from_millis(50) * rank);
}

#[test]
fn an_end_after_finalize_is_no_failure() {
    let done = finish(launcher("3", &["@finalize_in_turn"]));
    assert_eq!((done.status, done.stderr.contains("failed")), (0, false), "{}", done.stderr);
}

/// Reports its process number, and waits longer than the test.
pub(crate) fn sleep() {
    let mut client = client();
    client.report(&std::process::id().to_string()).expect("it is sent");
    std::thread::sleep(TEST_TIMEOUT);
}

#[test]
fn a_launcher_that_is_killed_takes_its_ranks_with_it() {
    ends_with_its_launcher(launcher("3", &["@sleep"]));
}

/// Rank 1 sends the launcher invalid lines.
pub(crate) fn hostile() {
    let mut client = client();
    if client.rank() == 1 {
        let lines = b"\xff\0\n\ncmd=\ncmd=put\ncmd=barrier_in\ncmd=barrier_in\n";
        rustix::net::send(&client, lines, rustix::net::SendFlags::empty()).expect("it is sent");
        std::thread::sleep(TEST_TIMEOUT);
    }
    client.barrier().expect_err("rank 1 is lost");
}

#[test]
fn a_hostile_rank_is_a_failed_one() {
    let done = finish(launcher("2 grace=50", &["@hostile"]));
    assert_eq!(done.status, 1, "{}", done.stderr);
    let expected = "rank 1 broke the launcher's protocol: the line is not UTF-8: `\\xff\\x00`";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
}

/// Rank 1 puts values without end.
pub(crate) fn flood() {
    let mut client = client();
    if client.rank() == 1 {
        let error = (0..100_000).find_map(|number| client.put(&format!("key.{number}"), "value").err());
        println!("\nrefused: {}", error.expect("there is a bound"));
        std::thread::sleep(TEST_TIMEOUT);
    }
    client.barrier().expect_err("rank 1 is lost");
}

#[test]
fn a_rank_that_puts_values_without_end_is_refused_and_ends_the_job() {
    let done = finish(launcher("2 grace=200", &["@flood"]));
    assert_eq!(done.status, 1, "{}", done.stderr);
    let expected = "rank 1 broke the launcher's protocol: it has put more than 4096 values for other ranks";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
    assert!(done.stdout.contains("refused: the launcher refused `cmd=put"), "{}", done.stdout);
}

/// Sends requests, and never reads an answer, until the launcher takes no more.
pub(crate) fn never_read() {
    let client = client();
    let line = b"cmd=get kvsname=job key=PMI_process_mapping\n".repeat(100);
    let (mut taken, mut refused) = (0, 0);
    while taken < 64 << 20 && refused < 100 {
        match rustix::net::send(&client, &line, rustix::net::SendFlags::DONTWAIT) {
            Ok(sent) => (taken, refused) = (taken + sent, 0),
            Err(_) => {
                refused += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    println!("\ntaken: {}", if refused > 0 { "bounded" } else { "all" });
}

#[test]
fn answers_to_a_rank_that_reads_none_do_not_pile_up() {
    let done = finish(launcher("1 prefix", &["@never_read"]));
    assert!(done.stdout.contains("taken: bounded"), "{}{}", done.stdout, done.stderr);
}

/// Rank 1 calls `init` when rank 0 has failed already.
pub(crate) fn initialise_late() {
    if std::env::var("PMI_RANK").as_deref() == Ok("0") {
        std::process::exit(4);
    }
    std::thread::sleep(Duration::from_millis(500));
    let error = client().barrier().expect_err("rank 0 is lost");
    println!("\ntold: {error}");
}

#[test]
fn a_rank_that_comes_late_is_told_what_has_happened() {
    let done = finish(launcher("2 grace=20000", &["@initialise_late"]));
    assert_eq!(done.status, 4, "{}", done.stderr);
    assert!(done.stdout.contains("told: rank 0 exited with status 4"), "{}{}", done.stdout, done.stderr);
}

/// Rank 1 calls `init` again and again when rank 0 has failed, and counts the lines about lost ranks.
pub(crate) fn initialise_again() {
    if std::env::var("PMI_RANK").as_deref() == Ok("0") {
        std::process::exit(4);
    }
    std::thread::sleep(Duration::from_millis(500));
    let client = client();
    rustix::net::send(&client, &b"cmd=init pmi_version=1\n".repeat(50), rustix::net::SendFlags::empty())
        .expect("it is sent");
    let mut told = Vec::new();
    while String::from_utf8_lossy(&told).matches("response_to_init").count() < 50 {
        let mut some = [0; 4096];
        let (read, _) = rustix::net::recv(&client, &mut some[..], rustix::net::RecvFlags::empty())
            .expect("the launcher lives");
        told.extend_from_slice(&some[..read]);
    }
    println!("\ntold: {}", String::from_utf8_lossy(&told).matches("cmd=lost").count());
}

#[test]
fn a_rank_that_comes_again_and_again_is_not_told_everything_again() {
    let done = finish(launcher("2 grace=20000", &["@initialise_again"]));
    // The line comes after the client's own `init`, or after the first of these: once at most.
    let told = done.stdout.lines().find_map(|line| line.strip_prefix("told: ")?.parse::<u32>().ok());
    assert!(told.is_some_and(|told| told <= 1), "{}{}", done.stdout, done.stderr);
}

/// Rank 1 sends a report that has no end.
pub(crate) fn endless() {
    let mut client = client();
    if client.rank() == 1 {
        let more = b"x".repeat(1 << 20);
        let mut next = &b"cmd=report "[..];
        while rustix::net::send(&client, next, rustix::net::SendFlags::NOSIGNAL).is_ok() {
            next = &more;
        }
        std::thread::sleep(TEST_TIMEOUT);
    }
    client.barrier().expect_err("rank 1 is lost");
}

#[test]
fn a_line_without_an_end_is_the_fault_of_its_rank() {
    let done = finish(launcher("2 grace=50", &["@endless"]));
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stderr.contains(ENDLESS), "{}", done.stderr);
}

/// The message about such a rank.
pub(crate) const ENDLESS: &str =
    "rank 1 broke the launcher's protocol: a line is longer than 16384 KiB: `cmd=report xxx";

/// Moves to the group of its launcher, and stays.
pub(crate) fn change_group() {
    let group = rustix::process::getpgid(rustix::process::getppid()).expect("it is there");
    rustix::process::setpgid(None, Some(group)).expect("it is in the same session");
    sleep();
}

#[test]
fn a_rank_that_has_moved_to_another_group_is_ended_too() {
    let done = finish(launcher("2 timeout=500", &["@change_group"]));
    assert_eq!(done.status, 124, "{}", done.stderr);
    let pids: Vec<u32> =
        done.lines("report ").iter().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| !is_alive(*pid)), "{}", done.stderr);
    assert!(!done.stderr.contains("Left"), "{}", done.stderr);
}

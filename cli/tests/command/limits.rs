//! `carrousel verify` within what the system grants it, and when it is ended.

use crate::common::{Place, Ran};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// In all orders (`--no-reduction`), far more states than a test can wait for.
const ENDLESS: &str = "ranks 8\nrank *\n  repeat 40\n    isend to (me+1)%size tag 0 size 64KiB\n    \
                       irecv from (me+size-1)%size tag 0 size 64KiB\n    wait all\n  end\n";

const HANGS: Duration = Duration::from_secs(120);

/// Runs a command under a limit of the shell, such as `ulimit -v 300000`.
fn under(place: &Place, limit: &str, words: &str) -> Ran {
    let command = place.command();
    let mut shell = Command::new("sh");
    let program = command.get_program().to_string_lossy().into_owned();
    shell.args(["-c", &format!("{limit} && exec \"$0\" {words}"), &program]);
    shell.current_dir(place.path(""));
    shell.output().expect("there is a shell").into()
}

/// An allocation that fails aborts the process; it ends with a report before.
#[test]
fn limits_of_address_space_and_data_end_a_search_with_a_report() {
    let place = Place::new().with("endless.scn", ENDLESS);
    for limit in ["ulimit -v 400000", "ulimit -v 250000", "ulimit -d 120000"] {
        let ran = under(&place, limit, "verify --threads 2 endless.scn --no-reduction").status(3);
        assert!(
            ran.out.contains("a bound was hit") && ran.out.contains("limits of this process"),
            "{}",
            ran.out
        );
    }
}

/// A few lines may be about tens of thousands of ranks, or be gone through tens of thousands of times. What is looked at
/// for each of them next to all the others would take minutes, or all memory.
#[test]
fn small_files_about_very_much_end_in_time_and_memory() {
    let asking = "ranks 65535\nrank *\n  p = probe from any tag any\n  send to source(p) tag 0 size 8\n";
    let posting = "ranks 65535\nrank *\n  isend to (me+1)%size tag 0 size 64KiB\n  \
                   recv from any tag 0 size 64KiB\n  p = probe from any tag any\n  \
                   send to source(p) tag 0 size 8\n  wait all\n";
    let entering = "ranks 65535\nrank *\n  barrier\n  recv from (me+1)%size tag 0 size 8\n";
    let fewer = posting.replacen("65535", "2000", 1);
    let names = "r ".repeat(65_536);
    let waiting = format!(
        "ranks 1\nrank 0\n  r = irecv from 0 tag 0 size 8\n  send to 0 tag 0 size 8\n  repeat 60000\n    \
         wait {names}\n  end\n"
    );
    for (name, text, most, status) in [
        // Nobody sends: that is the first state.
        ("asking", asking, 5, 1),
        ("posting", posting, 5, 3),
        ("entering", entering, 5, 3),
        ("posting on fewer ranks", &fewer, 10_000, 3),
        ("waiting", &waiting, 5, 3),
    ] {
        let begin = Instant::now();
        let place = Place::new().with("small.scn", text);
        let words = format!("verify --threads 1 --max-states {most} small.scn");
        let ran = under(&place, "ulimit -v 4000000", &words).status(status);
        assert!(begin.elapsed() < HANGS / 2, "{name}: {:?}\n{}", begin.elapsed(), ran.out);
    }
}

#[test]
fn suites_have_bounds_as_well() {
    let place = Place::new();
    place.run("verify --suite connection --max-memory 1MiB --threads 1").status(3).says("inconclusive");
}

#[test]
fn a_trace_may_have_more_parts_than_files_are_open_without_asking() {
    let ring = "ranks 16\nrank *\n  isend to (me+1)%size tag 0 size 8B\n  \
                irecv from (me+size-1)%size tag 0 size 8B\n  wait all\n";
    let place = Place::new().with("ring.scn", ring);
    place.run("run --trace out ring.scn").status(0);
    let command = place.command();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -Sn 12 && exec \"$0\" check out"]).arg(command.get_program());
    Ran::from(shell.current_dir(place.path("")).output().expect("there is a shell"))
        .status(0)
        .says("16 ranks");
}

/// Starts a run and waits until it catches SIGINT.
fn start(place: &Place, words: &str) -> Child {
    start_into(place, words, Stdio::piped())
}

/// The same with a standard output of the caller's.
fn start_into(place: &Place, words: &str, output: Stdio) -> Child {
    let mut command = place.command();
    command.args(words.split_whitespace()).stdout(output).stderr(Stdio::piped());
    let child = command.spawn().expect("it can be started");
    let begin = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    loop {
        assert!(begin.elapsed() < HANGS, "it does not catch signals");
        let text = fs::read_to_string(&status).expect("it runs");
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        // SIGINT is 2, SIGTERM 15.
        if mask >> 1 & 1 == 1 && mask >> 14 & 1 == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // It has states to tell of.
    std::thread::sleep(Duration::from_millis(300));
    child
}

fn send(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).expect("it runs");
}

fn end(child: Child) -> Ran {
    child.wait_with_output().expect("it ends").into()
}

#[test]
fn what_is_known_is_told_when_somebody_ends_the_search() {
    use rustix::process::Signal;
    let place = Place::new().with("endless.scn", ENDLESS).with("second.scn", "ranks 1\n");
    for signal in [Signal::INT, Signal::TERM] {
        let child = start(&place, "verify --threads 1 endless.scn second.scn --no-reduction");
        send(&child, signal);
        let ran = end(child).status(3).says("inconclusive").says("interrupted before all was explored");
        let ran = ran.complains("1 file is not verified");
        assert!(!ran.out.contains("second.scn"), "{}", ran.out);
    }
    let child = start(&place, "verify --threads 1 --format json endless.scn --no-reduction");
    send(&child, Signal::INT);
    let ran = end(child).status(3);
    let report: Value = serde_json::from_str(&ran.out).expect("it is one JSON object");
    assert_eq!((&report["interrupted"], &report["exhaustive"]), (&true.into(), &false.into()));
    assert_eq!(report["verdict"], "inconclusive");
    assert!(report["states"].as_u64().is_some_and(|states| states > 1), "{}", ran.out);
}

/// `timeout` signals the command, and at once its group, in which the command is, too.
#[test]
fn a_signal_that_comes_twice_ends_the_search_once() {
    use rustix::process::Signal;
    let place = Place::new().with("endless.scn", ENDLESS);
    for _ in 0..3 {
        let child = start(&place, "verify --threads 1 endless.scn --no-reduction");
        send(&child, Signal::TERM);
        // It has come when this one does: otherwise they may be delivered as one.
        std::thread::sleep(Duration::from_millis(2));
        send(&child, Signal::TERM);
        end(child).status(3).says("interrupted before all was explored");
    }
}

#[test]
fn a_file_that_is_a_test_has_not_failed_when_somebody_ends_it() {
    let place =
        Place::new().with("test.scn", &ENDLESS.replacen("rank ", "expect request-leak violated\nrank ", 1));
    let child = start(&place, "verify --threads 1 test.scn --no-reduction");
    send(&child, rustix::process::Signal::INT);
    end(child).status(3).says("interrupted before ");
}

#[test]
fn a_suite_that_is_ended_tells_the_families_so_far() {
    let place = Place::new();
    let child = start(&place, "verify --suite rendezvous --full --threads 1 --format json");
    std::thread::sleep(Duration::from_secs(1));
    send(&child, rustix::process::Signal::INT);
    let ran = end(child).status(3);
    let report: Value = serde_json::from_str(&ran.out).expect("it is one JSON object");
    let rows = report["rows"].as_array().expect("a list");
    assert_eq!(report["interrupted"], true);
    assert!(!rows.is_empty() && rows.len() < 40, "{}", ran.out);
    // It may have come between two families.
    let verdicts = || rows.iter().map(|row| row["verdict"].as_str());
    assert!(verdicts().all(|verdict| matches!(verdict, Some("proven" | "inconclusive"))), "{}", ran.out);
    // Half a suite is not the suite.
    let place = place.with("half.json", &ran.out);
    place.run("verify --merge half.json").status(2).complains("was interrupted before its end");
}

/// A pipe without a reader has no room, so a run whose first signal has come cannot tell what it knows and end.
#[test]
fn a_second_signal_after_a_second_ends_it_at_once() {
    use rustix::fs::{OFlags, fcntl_setfl};
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new().with("endless.scn", ENDLESS);
    let (_unread, mut full) = std::io::pipe().expect("there are pipes");
    fcntl_setfl(&full, OFlags::NONBLOCK).expect("it is a pipe");
    while full.write(&[0; 1 << 10]).is_ok() {}
    fcntl_setfl(&full, OFlags::empty()).expect("it is a pipe");
    let mut child = start_into(&place, "verify --threads 1 endless.scn --no-reduction", full.into());
    send(&child, Signal::INT);
    let begin = Instant::now();
    let status = loop {
        // Those of the first second count as one with the signal above.
        send(&child, Signal::TERM);
        std::thread::sleep(Duration::from_millis(20));
        if let Some(status) = child.try_wait().expect("it is a child") {
            break status;
        }
        assert!(begin.elapsed() < HANGS, "it does not end");
    };
    assert!(matches!(status.signal(), Some(2 | 15)), "{status}");
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
}

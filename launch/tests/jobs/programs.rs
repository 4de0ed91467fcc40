//! Programs that know nothing of launchers: output, input, signals, exit statuses, what they leave behind.

use crate::support::*;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

fn sh(spec: &str, script: &str) -> std::process::Command {
    launcher(spec, &["sh", "-c", script])
}

/// The output without what the test program says about itself.
fn output(done: &Done) -> Vec<&str> {
    let lines = done.stdout.lines();
    let mut lines: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("running ")).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn programs_that_end_well_are_a_success() {
    let done = finish(launcher("8", &["true"]));
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
}

#[test]
fn the_exit_status_is_that_of_the_first_failure() {
    let done = finish(sh("3 grace=50", "test $PMI_RANK = 1 && exit 7; exec sleep 60"));
    assert_eq!(done.status, 7, "{}", done.stderr);
    assert!(done.stderr.contains("rank 1 exited with status 7"), "{}", done.stderr);
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let done = finish(launcher("3", &["/nowhere/to/be found"]));
    assert_eq!(done.status, 99);
    assert!(done.stderr.contains("cannot start `/nowhere/to/be found`"), "{}", done.stderr);
}

#[test]
fn each_line_says_whose_it_is() {
    let done = finish(sh("3 prefix", "echo a; echo b >&2; printf c"));
    let expected = ["[0] a", "[0] c", "[1] a", "[1] c", "[2] a", "[2] c"];
    assert_eq!(output(&done), expected);
    assert_eq!(done.lines("["), ["0] b", "1] b", "2] b"]);
}

#[test]
fn lines_of_ranks_are_never_mixed() {
    let script =
        "i=0; while [ $i -lt 300 ]; do printf $PMI_RANK; printf \"$PMI_RANK-%0100d\\n\" $i; i=$((i+1)); done";
    let done = finish(sh("4", script));
    let lines = output(&done);
    assert_eq!(lines.len(), 1200);
    let whole = (0..4).flat_map(|rank| (0..300).map(move |i| format!("{rank}{rank}-{i:0100}")));
    let mut whole: Vec<String> = whole.collect();
    whole.sort_unstable();
    assert_eq!(lines, whole);
}

#[test]
fn rank_0_reads_standard_input_and_the_others_nothing() {
    let mut command = sh("3 prefix", "cat");
    let mut running = Running(command.stdin(Stdio::piped()).spawn().expect("it can be started"));
    let mut stdin = running.0.stdin.take().expect("it is a pipe");
    stdin.write_all(b"one\ntwo\n").expect("it is read");
    drop(stdin);
    let done = wait(running);
    assert_eq!(output(&done), ["[0] one", "[0] two"]);
    assert_eq!(done.status, 0);
}

#[test]
fn signals_reach_every_rank() {
    let script = "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.05; done";
    let mut running = Running(sh("3 prefix", script).spawn().expect("it can be started"));
    let pid = rustix::process::Pid::from_child(&running.0);
    let mut stdout =
        BufReader::new(running.0.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok);
    assert_eq!(stdout.by_ref().filter(|line| line.ends_with("ready")).take(3).count(), 3);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).expect("it is there");
    assert_eq!(stdout.filter(|line| line.ends_with("got")).count(), 3);
    assert_eq!(running.0.wait().expect("it is a child").code(), Some(0));
}

#[test]
fn an_interrupt_ends_the_job_as_it_would_end_a_program() {
    let mut running = Running(sh("2", "echo ready; exec sleep 60").spawn().expect("it can be started"));
    let pid = rustix::process::Pid::from_child(&running.0);
    let mut stdout = BufReader::new(running.0.stdout.as_mut().expect("it is a pipe"));
    let mut line = String::new();
    while !line.ends_with("ready\n") {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).expect("it can be read"), 0);
    }
    // The other may not be so far yet: it is told as well, by its grace period.
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
    let done = wait(running);
    assert_eq!(done.status, 130, "{}", done.stderr);
    assert!(done.stderr.contains("was killed by SIGINT expected=true"), "{}", done.stderr);
}

#[test]
fn stop_and_continue_reach_the_ranks() {
    let mut running = Running(sh("1 prefix", "echo $$; exec sleep 60").spawn().expect("it can be started"));
    let launcher = rustix::process::Pid::from_child(&running.0);
    let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe"));
    let mut lines = stdout.lines().map_while(Result::ok);
    let rank: u32 =
        lines.find_map(|line| line.strip_prefix("[0] ")?.parse().ok()).expect("it says its number");
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    };
    let both = |wanted: char| {
        let pids = [rank, launcher.as_raw_nonzero().get() as u32];
        until("the state", || {
            pids.iter().all(|pid| (state(*pid) == Some('T')) == (wanted == 'T')).then_some(())
        });
    };
    rustix::process::kill_process(launcher, rustix::process::Signal::TSTP).expect("it is there");
    both('T');
    rustix::process::kill_process(launcher, rustix::process::Signal::CONT).expect("it is there");
    both('S');
    rustix::process::kill_process(launcher, rustix::process::Signal::TERM).expect("it is there");
    assert_eq!(running.0.wait().expect("it is a child").code(), Some(143));
}

#[test]
fn ranks_that_do_not_listen_are_killed() {
    let begun = Instant::now();
    let script = "test $PMI_RANK = 1 && exit 3; trap '' TERM; while :; do sleep 0.1; done";
    let done = finish(sh("2 grace=100", script));
    assert_eq!(done.status, 3, "{}", done.stderr);
    assert!(begun.elapsed() >= Duration::from_secs(1), "they are asked first");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn nothing_is_left_behind() {
    // One in the rank's group, one in a session of its own, whose parent is gone.
    let script = "sleep 61 & echo $!; setsid sh -c 'echo $$; exec sleep 62' & exec sleep 0.2";
    let done = finish(sh("2", script));
    assert_eq!(done.status, 0, "{}", done.stderr);
    let pids: Vec<u32> = output(&done).iter().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(pids.len(), 4, "{}", done.stdout);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
}

#[test]
fn a_reader_that_leaves_ends_the_writers() {
    let mut running = Running(launcher("2", &["yes"]).spawn().expect("it can be started"));
    let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe"));
    assert_eq!(stdout.lines().map_while(Result::ok).filter(|line| line == "y").take(10).count(), 10);
    assert_eq!(running.0.wait().expect("it is a child").code(), Some(128 + 13));
}

#[test]
fn a_slow_reader_loses_nothing() {
    let script = "i=0; while [ $i -lt 30000 ]; do echo $PMI_RANK-$i-----------------------------------; i=$((i+1)); done";
    let mut running = Running(sh("2", script).spawn().expect("it can be started"));
    std::thread::sleep(Duration::from_millis(1500));
    let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe"));
    assert_eq!(stdout.lines().map_while(Result::ok).filter(|line| line.ends_with("---")).count(), 60_000);
    assert_eq!(running.0.wait().expect("it is a child").code(), Some(0));
}

#[test]
fn a_launcher_that_is_killed_takes_programs_with_it_that_know_nothing_of_it() {
    let script = "sleep 61 & echo $!; echo $$; exec sleep 60";
    let mut running = Running(sh("3", script).spawn().expect("it can be started"));
    let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok);
    let pids: Vec<u32> = stdout.filter_map(|line| line.parse().ok()).take(6).collect();
    assert_eq!(pids.len(), 6);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    running.0.kill().expect("it can be killed");
    until("the ranks' end", || pids.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

//! Programs without a client: output, input, signals, exit statuses, descendants.

use crate::support::*;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn sh(spec: &str, script: &str) -> std::process::Command {
    launcher(spec, &["sh", "-c", script])
}

/// The output without the lines of the test program itself.
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
    assert_eq!(done.status, 127);
    assert!(done.stderr.contains("cannot start `/nowhere/to/be found`"), "{}", done.stderr);
    assert_eq!(finish(launcher("2", &["/etc/hostname"])).status, 126);
}

#[test]
fn each_line_has_the_prefix_of_its_rank() {
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
    // The other rank may not be ready yet: it gets the signal, too, or is ended after the grace period.
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
fn ranks_that_ignore_sigterm_are_killed() {
    let begun = Instant::now();
    let script = "test $PMI_RANK = 1 && exit 3; trap '' TERM; while :; do sleep 0.1; done";
    let done = finish(sh("2 grace=100", script));
    assert_eq!(done.status, 3, "{}", done.stderr);
    assert!(begun.elapsed() >= Duration::from_secs(1), "they are asked first");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn nothing_is_left_behind() {
    // One process in the rank's group, and one in a session of its own, whose parent is gone.
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
    let done = wait_without_output(running);
    assert_eq!((done.status, done.lines("failed")), (128 + 13, Vec::new()), "{}", done.stderr);
}

/// As [`wait`], but without a reader of standard output.
pub(crate) fn wait_without_output(mut running: Running) -> Done {
    running.0.stdout = File::open("/dev/null").ok().map(|file| std::os::fd::OwnedFd::from(file).into());
    wait(running)
}

#[test]
fn a_reader_that_leaves_is_not_the_fault_of_ranks_that_do_not_die_of_it() {
    // Programs that ignore SIGPIPE, and get an error when they write.
    let script = "trap '' PIPE; while echo y 2>/dev/null; do :; done; exit 101";
    for spec in ["2", "1 prefix"] {
        let mut running = Running(sh(spec, script).spawn().expect("it can be started"));
        // The launcher is this test program, which prints lines of its own first.
        let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe"));
        let mut lines = stdout.lines().map_while(Result::ok);
        assert!(lines.any(|line| line.ends_with('y')), "no rank has written");
        drop(lines);
        let done = wait_without_output(running);
        assert_eq!((done.status, done.lines("failed")), (128 + 13, Vec::new()), "{}", done.stderr);
    }
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
fn a_killed_launcher_takes_programs_without_a_client_with_it() {
    let script = "sleep 61 & echo $!; echo $$; exec sleep 60";
    let mut running = Running(sh("3", script).spawn().expect("it can be started"));
    let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok);
    let pids: Vec<u32> = stdout.filter_map(|line| line.parse().ok()).take(6).collect();
    assert_eq!(pids.len(), 6);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    running.0.kill().expect("it can be killed");
    until("the ranks' end", || pids.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

#[test]
fn a_killed_launcher_takes_processes_that_left_their_group_with_it() {
    // Sessions of their own, with a parent and without one, and one whose child has left it for another.
    let script = "setsid sh -c 'echo $$; exec sleep 61' & (setsid sh -c 'echo $$; exec sleep 62' &); \
                  setsid sh -c 'setsid sleep 63 & echo $!; echo $$; exec sleep 64' & echo; exec sleep 60";
    let mut running = Running(sh("2", script).spawn().expect("it can be started"));
    let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok);
    let pids: Vec<u32> = stdout.filter_map(|line| line.parse().ok()).take(8).collect();
    assert_eq!(pids.len(), 8);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    running.0.kill().expect("it can be killed");
    until("their end", || pids.iter().all(|pid| !is_alive(*pid)).then_some(()));
}

#[test]
fn a_launcher_killed_after_its_ranks_have_ended_takes_their_descendants_with_it() {
    // The descendant ignores SIGTERM: it has to be killed, which takes a while.
    let script = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & sleep 0.5; echo $$";
    let mut running = Running(sh("1 prefix", script).spawn().expect("it can be started"));
    let lines = BufReader::new(running.0.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok);
    let pids: Vec<u32> = lines.filter_map(|line| line.strip_prefix("[0] ")?.parse().ok()).take(2).collect();
    let [left, rank] = pids[..] else { panic!("{pids:?}") };
    until("the rank's end", || (!is_alive(rank)).then_some(()));
    std::thread::sleep(Duration::from_millis(300));
    running.0.kill().expect("it can be killed");
    until("its end", || (!is_alive(left)).then_some(()));
}

/// Starts a job, waits until each of its ranks has said that it is ready, and sends the launcher these signals, with
/// a second between them.
fn signalled(mut command: Command, ranks: usize, signals: &[rustix::process::Signal]) -> Done {
    let mut running = Running(command.spawn().expect("it can be started"));
    let pid = rustix::process::Pid::from_child(&running.0);
    let mut stdout =
        BufReader::new(running.0.stdout.take().expect("it is a pipe")).lines().map_while(Result::ok);
    assert_eq!(stdout.by_ref().filter(|line| line == "ready").take(ranks).count(), ranks);
    for (index, signal) in signals.iter().enumerate() {
        std::thread::sleep(Duration::from_secs(index.min(1) as u64));
        rustix::process::kill_process(pid, *signal).expect("it is there");
    }
    let reader = std::thread::spawn(move || stdout.count());
    let done = wait_without_output(running);
    reader.join().expect("it reads");
    done
}

const IGNORES_SIGNALS: &str = "trap '' TERM INT HUP; echo ready; while :; do sleep 0.1; done";

#[test]
fn ranks_that_ignore_a_signal_are_killed_when_their_time_is_over() {
    use rustix::process::Signal;
    for (signal, status) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let done = signalled(sh("2 kill_after=200", IGNORES_SIGNALS), 2, &[signal]);
        assert_eq!(done.status, status, "{}", done.stderr);
        assert!(done.stderr.contains("Stopped { stop: Signal("), "{}", done.stderr);
        assert!(done.stderr.contains("ranks: [0, 1]"), "{}", done.stderr);
        assert_eq!(done.lines("failed"), Vec::<&str>::new());
    }
}

#[test]
fn a_second_signal_kills_at_once() {
    use rustix::process::Signal;
    let done = signalled(sh("2 kill_after=600000", IGNORES_SIGNALS), 2, &[Signal::INT, Signal::TERM]);
    assert_eq!(done.status, 130, "{}", done.stderr);
}

#[test]
fn a_rank_that_handles_a_signal_has_its_time_and_its_status() {
    let script = "trap 'sleep 2.5; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let done = signalled(sh("2", script), 2, &[rustix::process::Signal::TERM]);
    assert_eq!((done.status, done.lines("failed")), (0, Vec::new()), "{}", done.stderr);
}

#[test]
fn a_signal_that_comes_while_ranks_are_started_ends_all_of_them() {
    // The first rank sends the signal, while others are still to be started.
    let script = "echo $$; test $PMI_RANK = 0 && kill -TERM $PPID; exec sleep 60";
    let place = tempfile::tempdir().expect("it can be made");
    let done = finish(sh(&format!("200 output={}", place.path().display()), script));
    assert_eq!(done.status, 143, "{}", done.stderr);
    let files = std::fs::read_dir(place.path()).expect("it is there").flatten();
    let texts = files.map(|file| std::fs::read_to_string(file.path()).expect("it is text"));
    let pids: Vec<u32> = texts.filter_map(|text| text.trim().parse().ok()).collect();
    assert!(!pids.is_empty() && pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
}

#[test]
fn a_job_that_takes_too_long_is_ended() {
    let done = finish(sh("2 timeout=300", "trap '' TERM; while :; do sleep 0.1; done"));
    assert_eq!(done.status, 124, "{}", done.stderr);
    assert!(done.stderr.contains("Stopped { stop: TimedOut(300ms), ranks: [0, 1] }"), "{}", done.stderr);
    assert_eq!(finish(launcher("2 timeout=60000", &["true"])).status, 0);
}

#[test]
fn a_reader_that_takes_nothing_does_not_keep_a_job_that_was_to_end() {
    let mut command =
        sh("2 timeout=500", "trap '' PIPE; while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done");
    let mut running = Running(command.spawn().expect("it can be started"));
    let _unread = running.0.stdout.take();
    assert_eq!(wait_without_output(running).status, 124);
}

/// A job whose ranks write more than a pipe holds and exit with status 0, without a reader.
fn unread(spec: &str, signal: Option<rustix::process::Signal>) -> Done {
    let mut command = sh(spec, "head -c 200000 /dev/zero | tr '\\0' y");
    let mut running = Running(command.spawn().expect("it can be started"));
    let _unread = running.0.stdout.take();
    let launcher = rustix::process::Pid::from_child(&running.0);
    if let Some(signal) = signal {
        std::thread::sleep(Duration::from_secs(2));
        rustix::process::kill_process(launcher, signal).expect("it is there");
    }
    wait_without_output(running)
}

#[test]
fn output_that_nobody_has_read_when_the_user_ends_the_job_is_no_success() {
    let done = unread("2", Some(rustix::process::Signal::INT));
    assert_eq!(done.status, 130, "{}", done.stderr);
}

#[test]
fn output_that_nobody_reads_does_not_make_a_job_longer_than_it_may_be() {
    let done = unread("2 timeout=2000", None);
    assert_eq!(done.status, 124, "{}", done.stderr);
}

#[test]
fn a_thousand_ranks_start_and_end() {
    let done = finish(launcher("1000", &["true"]));
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    // Also if all of them fail.
    let done = finish(launcher("1000", &["false"]));
    assert_eq!(done.status, 1);
}

/// The launcher, after these words in a shell's command.
fn limited(before: &str, spec: &str, program: &[&str]) -> Command {
    let inner = launcher(spec, program);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{before} \"$0\" \"$@\"")).arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    command
}

#[test]
fn a_limit_that_is_too_low_is_an_error_before_anything_is_started() {
    let done = finish(limited("ulimit -n 100 && exec", "50", &["echo", "started"]));
    assert_eq!(done.status, 99, "{}", done.stderr);
    let expected =
        "50 ranks on this host need 264 open files (RLIMIT_NOFILE, ulimit -n), and the limit is 100";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
    assert!(!done.stdout.contains("started"));
    // A limit that may be raised is raised.
    let done = finish(limited("ulimit -Sn 100 && exec", "50", &["true"]));
    assert_eq!(done.status, 0, "{}", done.stderr);
}

#[test]
fn exit_statuses_are_known_to_a_launcher_started_with_sigchld_ignored() {
    let done = finish(limited("exec env --ignore-signal=CHLD", "2", &["sh", "-c", "exit 7"]));
    assert_eq!(done.status, 7, "{}", done.stderr);
}

#[test]
fn several_programs_are_one_job() {
    let done = finish(sh("2 exit=0", "echo first $PMI_RANK of $PMI_SIZE"));
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert_eq!(output(&done), ["first 0 of 4", "first 1 of 4", "more 2", "more 3"]);
    assert_eq!(finish(launcher("2 exit=7", &["true"])).status, 7);
}

#[test]
fn each_rank_writes_to_files_of_its_own_and_starts_where_it_should() {
    let place = tempfile::tempdir().expect("it can be made");
    let place = place.path().canonicalize().expect("it is there");
    let spec = format!("2 output={0}/logs/all directory={0}", place.display());
    let done = finish(sh(&spec, "pwd; echo error $PMI_RANK >&2"));
    assert_eq!((done.status, done.stderr.as_str()), (0, ""));
    let read = |name: &str| std::fs::read_to_string(place.join("logs/all").join(name)).expect("it is there");
    for rank in 0..2 {
        assert_eq!(read(&format!("rank.{rank}.out")), format!("{}\n", place.display()));
        assert_eq!(read(&format!("rank.{rank}.err")), format!("error {rank}\n"));
    }
    let done = finish(launcher("2 directory=/nowhere", &["true"]));
    assert_eq!(done.status, 99);
    assert!(done.stderr.contains("cannot start ranks in /nowhere: No such file"), "{}", done.stderr);
}

#[test]
fn ranks_run_on_the_processors_that_are_reported() {
    let script = "grep Cpus_allowed_list /proc/self/status | cut -f 2 | sed \"s/^/rank $PMI_RANK: /\"";
    let all = std::thread::available_parallelism().expect("it is told").get();
    let done = finish(sh("2 bind=room report_bindings", script));
    let ran: Vec<String> = output(&done).iter().map(|line| line.replace(": ", "=")).collect();
    let told = |line: &str| {
        let (rank, rest) = line.split_once(" on ")?;
        let cpus = rest.rsplit_once("processors ")?.1;
        Some(format!("{rank}={cpus}"))
    };
    let mut reported: Vec<String> = done.stderr.lines().filter_map(told).collect();
    reported.sort();
    assert_eq!(ran, reported, "{}", done.stderr);
    assert_eq!(done.stderr.matches(": bound to").count(), if all >= 2 { 2 } else { 0 }, "{}", done.stderr);
    let many = (all + 1).to_string();
    let done = finish(launcher(&format!("{many} bind=core"), &["true"]));
    assert!(done.stderr.contains("ranks cannot have a core each"), "{}", done.stderr);
    assert_eq!(finish(launcher(&format!("{many} bind=room"), &["true"])).status, 0);
    assert_eq!(finish(launcher(&format!("{many} bind=numa"), &["true"])).status, 0);
    // A rank that is bound gets the number of processors of all ranks together.
    let done = finish(sh("2 bind=room", "echo $LAUNCHED_ON_PROCESSORS"));
    assert_eq!(output(&done), [all.to_string(), all.to_string()]);
}

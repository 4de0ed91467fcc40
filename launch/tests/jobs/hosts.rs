//! Jobs on several hosts, all of which are this one: an `ssh` at the front of `PATH` runs its command here.

use crate::support::*;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A login that prints a greeting, refuses the host `closed`, loses the host `lost` after a while, and so on.
const SSH: &str = "#!/bin/sh
options=$*
while [ \"$1\" != -- ]; do shift; done
host=$2; shift 2
echo 'Welcome to this host.'
case $host in
  options) echo \"${options%% -- *}\" >&2; exit 255;;
  closed) echo 'connection refused' >&2; exit 255;;
  babble) echo 'carrousel agent VERSION'; echo 'what is this'; exec sleep 60;;
  old) echo 'carrousel agent 0.0.1'; exec sleep 60;;
  mute) echo 'carrousel agent VERSION'; echo '0 {\"Ended\":{\"rank\":1,\"ending\":{\"Exited\":0}}}'; exec sleep 60;;
  heedless) set -- \"$(echo \"$*\" | sed 's/exec /exec env --ignore-signal=CHLD /')\";;
  lost) { sleep 0.5; kill -9 0; } & ;;
esac
export FAKE_HOST=$host
exec sh -c \"$*\"
";

/// A launcher that finds this `ssh`.
fn launcher(spec: &str, program: &[&str]) -> Command {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("ssh-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("it can be made");
    // Written to another file and moved: another test may be running the old one.
    let (ssh, new) = (directory.join("ssh"), directory.join(format!("{:?}", std::thread::current().id())));
    std::fs::write(&new, SSH.replace("VERSION", env!("CARGO_PKG_VERSION"))).expect("it can be written");
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    std::fs::rename(&new, &ssh).expect("it is ours");
    let mut path = directory.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = crate::support::launcher(spec, program);
    command.env("PATH", path);
    command
}

pub(crate) fn nodes() {
    let mut client = client();
    let rank = client.rank();
    client
        .put(&format!("host.of.{rank}"), &std::env::var("FAKE_HOST").expect("it is there"))
        .expect("it is stored");
    client.barrier().expect("all come");
    let hosts =
        (0..client.size()).map(|rank| client.get(&format!("host.of.{rank}")).expect("it is answered"));
    let hosts: Vec<String> = hosts.collect::<Option<_>>().expect("all are there");
    let nodes = client.nodes().expect("it is answered");
    client.report(&format!("{hosts:?} {nodes:?}")).expect("it is sent");
    client.finalize().expect("it is acknowledged");
}

#[test]
fn ranks_of_several_hosts_find_each_other() {
    let done = finish(launcher("4 hosts=a,b:2", &["@nodes"]));
    assert_eq!(done.status, 0, "{}", done.stderr);
    let seen = r#"["a", "a", "b", "b"] [0, 0, 1, 1]"#;
    let expected = (0..4).map(|rank| format!("{rank}: {seen}"));
    assert_eq!(done.lines("report "), expected.collect::<Vec<_>>());
}

#[test]
fn output_input_and_directory_go_through() {
    let mut command = launcher("3 prefix hosts=a:2,b", &["sh", "-c", "cat; pwd; echo $FAKE_HOST >&2"]);
    let mut running = Running(command.stdin(Stdio::piped()).spawn().expect("it can be started"));
    let mut stdin = running.0.stdin.take().expect("it is a pipe");
    std::io::Write::write_all(&mut stdin, b"for rank 0\n").expect("it is read");
    drop(stdin);
    let done = wait(running);
    assert_eq!(done.status, 0, "{}", done.stderr);
    let here = std::env::current_dir().expect("there is one");
    for line in
        ["[0] for rank 0".to_owned(), format!("[0] {0}", here.display()), format!("[2] {}", here.display())]
    {
        assert!(done.stdout.lines().any(|known| known == line), "{line} in {}", done.stdout);
    }
    assert_eq!(done.stdout.matches("for rank 0").count(), 1);
    assert_eq!(done.lines("["), ["0] a", "1] a", "2] b"]);
}

#[test]
fn a_failure_on_one_host_ends_the_job_on_all() {
    let script = "test $PMI_RANK = 2 && kill -9 $$; exec sleep 60";
    let done = finish(launcher("3 grace=50 hosts=a:2,b", &["sh", "-c", script]));
    assert_eq!(done.status, 137, "{}", done.stderr);
    assert!(done.stderr.contains("rank 2 was killed by SIGKILL"), "{}", done.stderr);
    assert!(done.first_failure_ms() < 2000);
}

#[test]
fn a_login_that_ignores_how_children_end_hides_nothing() {
    let done = finish(launcher("2 hosts=a,heedless", &["sh", "-c", "exit $((PMI_RANK * 7))"]));
    assert_eq!(done.status, 7, "{}", done.stderr);
}

#[test]
fn a_line_without_an_end_is_not_the_fault_of_its_host() {
    let done = finish(launcher("2 grace=50 hosts=a,b", &["@endless"]));
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stderr.contains(crate::ranks::ENDLESS), "{}", done.stderr);
}

#[test]
fn a_login_asks_nothing_and_shares_no_connection() {
    let done = finish(launcher("2 grace=50 hosts=a,options", &["sleep", "60"]));
    let expected = "-oBatchMode=yes -oServerAliveInterval=5 -oControlPath=none -T";
    assert!(done.stderr.lines().any(|line| line == expected), "{}", done.stderr);
}

#[test]
fn another_version_on_a_host_is_named_with_the_host() {
    let done = finish(launcher("2 hosts=a,old", &["sleep", "60"]));
    assert_eq!(done.status, 99, "{}", done.stderr);
    let expected = format!(
        "error: host old: its carrousel is version 0.0.1, and this one is {}: install the same on all hosts",
        env!("CARGO_PKG_VERSION")
    );
    assert!(done.stderr.contains(&expected), "{}", done.stderr);
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    let done = finish(launcher("2 grace=50 hosts=a,closed", &["sleep", "60"]));
    assert_eq!(done.status, 255, "{}", done.stderr);
    assert!(done.stderr.contains("connection refused"), "what ssh says is shown: {}", done.stderr);
    assert!(
        done.stderr.contains("rank 1 was lost with the connection to its host closed"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_host_that_is_lost_ends_the_job() {
    let done = finish(launcher("2 grace=50 hosts=a,lost", &["sleep", "60"]));
    assert_eq!(done.status, 255, "{}", done.stderr);
    assert!(done.stderr.contains("rank 1 was lost with the connection to its host lost"), "{}", done.stderr);
}

#[test]
fn a_program_that_a_host_does_not_have_is_named_with_the_host() {
    let done = finish(launcher("2 hosts=a,b", &["/nowhere/program"]));
    assert_eq!(done.status, 127, "{}", done.stderr);
    assert!(done.stderr.contains("error: host a: cannot start `/nowhere/program`"), "{}", done.stderr);
    assert_eq!(finish(launcher("2 hosts=a,b", &["/etc/hostname"])).status, 126);
}

#[test]
fn a_launcher_that_is_killed_takes_the_ranks_of_all_hosts_with_it() {
    ends_with_its_launcher(launcher("3 hosts=a,b:2", &["@sleep"]));
}

#[test]
fn a_host_that_does_not_keep_to_the_protocol_is_named() {
    let done = finish(launcher("2 grace=50 hosts=a,babble", &["sleep", "60"]));
    assert_eq!(done.status, 255, "{}", done.stderr);
    assert!(done.stderr.contains("host babble is given up: a frame has no valid header"), "{}", done.stderr);
}

#[test]
fn ranks_on_other_hosts_that_ignore_a_signal_are_killed() {
    let script = "trap '' TERM; echo $$; while :; do sleep 0.1; done";
    let mut command = launcher("3 kill_after=200 hosts=a:2,b", &["sh", "-c", script]);
    let mut running = Running(command.spawn().expect("it can be started"));
    let stdout = BufReader::new(running.0.stdout.as_mut().expect("it is a pipe"));
    let lines = stdout.lines().map_while(Result::ok);
    let pids: Vec<u32> = lines.filter_map(|line| line.parse().ok()).take(3).collect();
    let launcher = rustix::process::Pid::from_child(&running.0);
    rustix::process::kill_process(launcher, rustix::process::Signal::TERM).expect("it is there");
    let done = wait(running);
    assert_eq!(done.status, 143, "{}", done.stderr);
    assert!(pids.len() == 3 && pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
}

#[test]
fn several_programs_and_a_timeout_go_through() {
    let done = finish(launcher("2 timeout=60000 exit=0 hosts=a:3,b", &["sh", "-c", "echo first $PMI_RANK"]));
    assert_eq!(done.status, 0, "{}", done.stderr);
    let mut lines: Vec<&str> = done.stdout.lines().filter(|line| line.starts_with(['f', 'm'])).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["first 0", "first 1", "more 2", "more 3"]);
    let done = finish(launcher("2 timeout=300 hosts=a,b", &["sleep", "60"]));
    assert_eq!(done.status, 124, "{}", done.stderr);
}

#[test]
fn a_host_that_never_says_that_it_is_done_is_given_up() {
    let done = finish(launcher("2 hosts=a,mute", &["true"]));
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(done.stderr.contains("host mute is given up: it does not say"), "{}", done.stderr);
}

#[test]
fn a_failure_on_another_host_is_told_while_the_reader_is_slow() {
    let script = "test $PMI_RANK = 0 && exec yes; sleep 2; exit 3";
    let mut running = Running(launcher("2 hosts=a,b", &["sh", "-c", script]).spawn().expect("it starts"));
    let stderr = BufReader::new(running.0.stderr.take().expect("it is a pipe"));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).try_for_each(|line| tell.send(line).map_err(drop))
    });
    let failed = until("the failure", || {
        let line = told.try_recv().ok()?;
        line.starts_with("failed after").then_some(line)
    });
    assert!(failed.contains("rank 1"), "{failed}");
}

#[test]
fn a_slow_reader_loses_nothing_of_other_hosts_when_a_rank_has_failed() {
    let place = tempfile::tempdir().expect("it can be made");
    let place = place.path();
    // Rank 0, which SIGTERM does not end, counts its lines, and blocks when nobody takes more.
    let script = "trap '' TERM; test $PMI_RANK = 1 && exit 3; while ! test -e told; do sleep 0.1; done; \
                  exec 3> written; \
                  while echo a-------------------------------------------------; do echo >&3; done";
    let spec = format!("2 grace=2000 directory={} hosts=a,b", place.display());
    let mut running = Running(launcher(&spec, &["sh", "-c", script]).spawn().expect("it can be started"));
    let stderr = BufReader::new(running.0.stderr.take().expect("it is a pipe"));
    assert!(stderr.lines().map_while(Result::ok).any(|line| line.starts_with("failed after")));
    std::fs::write(place.join("told"), "").expect("it can be written");
    // As much as the launcher takes without a reader: a mebibyte.
    let count = || std::fs::metadata(place.join("written")).map_or(0, |file| file.len() as usize);
    until("the output", || (count() > 20_000).then_some(()));
    // Until long after the rank has been killed.
    std::thread::sleep(std::time::Duration::from_secs(6));
    let stdout = BufReader::new(running.0.stdout.take().expect("it is a pipe"));
    let lines = stdout.lines().map_while(Result::ok).filter(|line| line.ends_with("---")).count();
    // The last line may have been written, and not counted.
    assert!((count()..=count() + 1).contains(&lines), "{lines} of {}", count());
    assert_eq!(running.0.wait().expect("it is a child").code(), Some(3));
}

#[test]
fn input_that_a_rank_on_another_host_does_not_read_is_not_kept_there() {
    const BOUND: usize = 8 << 20;
    let place = tempfile::tempdir().expect("it can be made");
    let script = "while ! test -e go; do sleep 0.1; done; echo $(wc -c)";
    let spec = format!("1 prefix directory={} hosts=a", place.path().display());
    let mut command = launcher(&spec, &["sh", "-c", script]);
    let mut running = Running(command.stdin(Stdio::piped()).spawn().expect("it can be started"));
    let mut stdin = running.0.stdin.take().expect("it is a pipe");
    rustix::io::ioctl_fionbio(&stdin, true).expect("it is ours");
    let (mut taken, mut refused) = (0, 0);
    while taken < 2 * BOUND && refused < 100 {
        match std::io::Write::write(&mut stdin, &[b'x'; 4096]) {
            Ok(more) => (taken, refused) = (taken + more, 0),
            Err(_) => {
                refused += 1;
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
    assert!(taken < BOUND, "{taken}");
    std::fs::write(place.path().join("go"), "").expect("it can be written");
    drop(stdin);
    let done = wait(running);
    assert!(done.stdout.contains(&format!("[0] {taken}")), "{taken}: {}{}", done.stdout, done.stderr);
}

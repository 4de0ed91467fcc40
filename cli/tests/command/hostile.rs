//! A day on which everything goes wrong that a user, another user, or the system can make go wrong.

use crate::common::{Place, Ran};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PAIR: &str = "ranks 2\nrank 0\n  send to 1 tag 0 size 64KiB\nrank 1\n  recv from 0 tag 0 size 64KiB\n";

/// Runs a line of a shell, in which `$C` is the command.
fn shell(place: &Place, line: &str) -> Ran {
    let mut command = place.command();
    let carrousel = command.get_program().to_owned();
    let mut through = Command::new("sh");
    through.args(["-c", line]).env("C", carrousel).stdin(Stdio::null());
    if let Some(directory) = command.current_dir(place.path("")).get_current_dir() {
        through.current_dir(directory);
    }
    through.output().expect("there is a shell").into()
}

/// Waits for the end, for so long.
fn ends_within(mut child: Child, time: Duration) -> Ran {
    let begin = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        if begin.elapsed() > time {
            let _ = child.kill();
            panic!("it goes on: {:?}", Ran::from(child.wait_with_output().expect("it was killed")).err);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("it has ended").into()
}

/// Every command that prints.
const COMMANDS: [&str; 11] = [
    "verify pair.scn",
    "sim pair.scn",
    "fmt pair.scn",
    "info",
    "schema verify",
    "completions bash",
    "man",
    "--help",
    "verify --help",
    "--version",
    "run -n 2 -- echo hi",
];

#[test]
fn output_that_nobody_can_get_is_an_error() {
    let place = Place::new().with("pair.scn", PAIR);
    for words in COMMANDS.into_iter().chain(["run pair.scn", "run -n 1 -- echo hi"]) {
        let ran = shell(&place, &format!("exec $C {words} >&-"));
        assert_eq!(ran.status, Some(2), "{words}: {}", ran.err);
        ran.complains("cannot write the output: Bad file descriptor");
    }
    for words in COMMANDS {
        let ran = shell(&place, &format!("exec $C {words} > /dev/full"));
        assert_eq!(ran.status, Some(2), "{words}: {}", ran.err);
        ran.complains("cannot write the output: No space left");
    }
    // Nothing is to be written, so nothing is lost.
    shell(&place, "exec $C run -n 2 -- true >&-").status(0);
}

#[test]
fn a_scenario_that_does_not_come_can_be_given_up() {
    let place = Place::new();
    shell(&place, "mkfifo pipe.scn").status(0);
    for signal in [Signal::TERM, Signal::INT] {
        let mut command = place.command();
        let mut child =
            command.args(["verify", "pipe.scn"]).stderr(Stdio::piped()).spawn().expect("it starts");
        let pid = Pid::from_child(&child);
        // It has begun to wait when it has its handlers, which it has a moment after it is started.
        let status = format!("/proc/{}/status", child.id());
        let catches = || {
            let text = fs::read_to_string(&status).expect("it runs");
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("it is told");
            u64::from_str_radix(caught.trim(), 16).expect("a mask") >> 14 & 1 == 1
        };
        while !catches() {
            std::thread::sleep(Duration::from_millis(5));
        }
        kill_process(pid, signal).expect("it runs");
        let begin = Instant::now();
        while child.try_wait().expect("it can be waited for").is_none() {
            if begin.elapsed() > Duration::from_secs(20) {
                let _ = child.kill();
                panic!("{signal:?} is ignored");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn an_input_that_has_no_end_is_refused() {
    let place = Place::new().with("pair.scn", PAIR);
    for words in ["verify /dev/zero", "sim /dev/zero", "fmt /dev/zero", "verify --merge /dev/zero"] {
        place.run(words).status(2).complains("too large");
    }
    place.run("run -n 2 --hostfile /dev/zero true").status(2).complains("too large, or has no end");
    for words in ["verify .", "sim .", "fmt .", "run -n 2 --hostfile . true", "verify --merge ."] {
        place.run(words).status(2).complains("Is a directory");
    }
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let place = Place::new().with("ssh", "#!/bin/sh\nexec sleep 300\n");
    fs::set_permissions(place.path("ssh"), fs::Permissions::from_mode(0o755)).expect("it may");
    let path = format!("{}:{}", place.path("").display(), std::env::var("PATH").expect("there is one"));
    let mut command = place.command();
    command.args(["run", "--hosts", "elsewhere", "--host-timeout", "1s", "-n", "1", "true"]);
    command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = ends_within(command.spawn().expect("it starts"), Duration::from_secs(60));
    let ran = ran.status(255).complains("host elsewhere: it has not answered within 1s");
    ran.complains("--host-timeout");
}

#[test]
fn what_a_job_records_goes_through_no_link_and_is_its_users_alone() {
    let place = Place::new().with("pair.scn", PAIR).with("precious", "precious");
    for directory in ["logs", "trace"] {
        fs::create_dir(place.path(directory)).expect("it can be made");
    }
    symlink(place.path("precious"), place.path("logs/rank.0.out")).expect("it can be made");
    symlink(place.path("precious"), place.path("trace/rank-0.trace")).expect("it can be made");
    // Twice: what was written by the same user is written anew.
    for _ in 0..2 {
        place.run("run -n 2 --output-dir logs echo hi").status(0);
        place.run("run --trace trace pair.scn").status(0);
        for (file, text) in [("logs/rank.0.out", "hi\n"), ("trace/rank-0.trace", "carrousel_trace")] {
            let found = fs::read(place.path(file)).expect("it can be read");
            let found = String::from_utf8_lossy(&found).into_owned();
            assert!(found.contains(text), "{file}: {found}");
            let found = fs::symlink_metadata(place.path(file)).expect("it is there");
            assert!(found.is_file() && found.permissions().mode() & 0o777 == 0o600, "{file}: {found:?}");
        }
    }
    assert_eq!(place.text("precious"), "precious");
}

#[test]
fn a_directory_in_which_others_may_exchange_files_is_told() {
    let place = Place::new().with("pair.scn", PAIR);
    let open = fs::Permissions::from_mode(0o777);
    for (words, directory) in
        [("run -n 1 --output-dir logs true", "logs"), ("run --trace trace pair.scn", "trace")]
    {
        fs::create_dir(place.path(directory)).expect("it can be made");
        place.run(words).status(0);
        assert_eq!(place.run(words).err, "", "{words}");
        fs::set_permissions(place.path(directory), open.clone()).expect("it may");
        let note =
            format!("note: others may exchange what is written to {directory}: every user may write to the");
        place.run(words).status(0).complains(&note);
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_named() {
    let place = Place::new().with("pair.scn", PAIR);
    // In units of 512 bytes, in the shell that the system has.
    let ran = shell(&place, "ulimit -f 16; exec $C run pair.scn");
    assert!(ran.status != Some(0) && !ran.err.contains("SIGXFSZ"), "{}", ran.err);
    let ran = ran.complains("the limit on the size of files is 8192 (RLIMIT_FSIZE, ulimit -f)");
    ran.complains("raise it to at least");
    // A rank's own files are its own matter; what became of it is said.
    let ran =
        shell(&place, "ulimit -f 1; exec $C run -n 1 --output-dir logs -- dd if=/dev/zero bs=4096 count=1");
    assert_eq!(ran.status, Some(128 + 25), "{}", ran.err);
    ran.complains("a file has reached the limit on the size of files (RLIMIT_FSIZE, ulimit -f)");
}

#[test]
fn a_trace_ends_at_the_limit_on_the_size_of_files_and_the_job_does_not() {
    let text = "ranks 2\nrank *\n  repeat 100000\n  send to 1-me tag 0 size 8\n  recv from 1-me tag 0 size 8\n  end\n";
    let place = Place::new().with("long.scn", text);
    // Far more than the segments need, and far less than the trace.
    let ran = shell(&place, "ulimit -f 8192; exec $C run --trace trace long.scn");
    let ran = ran.status(0).complains("ends here: the limit on the size of files is 4194304 bytes");
    ran.complains("ulimit -f");
}

#[test]
fn a_simulation_shows_its_bound_and_keeps_to_it() {
    let text = "ranks 512\nrank *\n  repeat 50\n  alltoall size 8\n  end\n";
    let place = Place::new().with("many.scn", text);
    let ran = place.run("sim many.scn --max-memory 16MiB").status(1);
    ran.complains("given up after").complains("--max-memory allows more");
}

#[test]
fn a_signal_that_comes_at_once_ends_a_job_as_later_ones_do() {
    let place = Place::new();
    // As soon as the command catches the signal, whatever it does then.
    let mut child = place
        .command()
        .args(["run", "-n", "2", "sleep", "60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let catches = || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        u64::from_str_radix(caught.trim(), 16).unwrap_or(0) >> 14 & 1 == 1
    };
    while !catches() {
        std::hint::spin_loop();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let mut said = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it ends");
    assert_eq!(child.wait().expect("it ends").code(), Some(143), "{said}");
}

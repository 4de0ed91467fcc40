//! `carrousel run`: what a user sees of it. How it treats its ranks is tested with the launcher.

use crate::common::{Place, Ran};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_job_of_a_program_is_its_output() {
    let ran = Place::new().run("run -n 3 --prefix -- sh -c echo");
    ran.status(0).says("[0] \n").says("[1] \n").says("[2] \n");
}

#[test]
fn the_first_failure_is_told_and_is_the_status() {
    let place = Place::new().with("fail.sh", "test $PMI_RANK = 1 && kill -9 $$; sleep 60");
    place.run("run -n 2 -- sh fail.sh").status(137).complains("error: rank 1 was killed by SIGKILL");
    let place = Place::new().with("fail.sh", "exit 5");
    place
        .run("run -n 7 -- sh fail.sh")
        .status(5)
        .complains("exited with status 5\n  and 3 more ranks failed");
}

#[test]
fn a_job_that_cannot_begin_says_why() {
    let place = Place::new();
    place.run("run -n 2 -- /no/such/program").status(127).complains("cannot start `/no/such/program`");
    place.run("run -n 0 -- true").status(2);
    place.run("run -n 2").status(2);
    place.run("run -n 2 --hosts a:x -- true").status(2).complains("`a:x` is not a host");
}

#[test]
fn rank_0_reads_what_the_command_is_given() {
    let ran = Place::new().feed("run -n 2 --prefix -- cat", "a line\n").status(0);
    assert_eq!(ran.out, "[0] a line\n");
}

#[test]
fn ranks_start_where_the_command_does() {
    let place = Place::new().with("write.sh", "echo $PMI_SIZE > $PMI_RANK.txt");
    place.run("run -n 2 -- sh write.sh").status(0);
    assert_eq!((place.text("0.txt"), place.text("1.txt")), ("2\n".to_owned(), "2\n".to_owned()));
}

/// A place that has other hosts: this one, by way of an `ssh` that takes options, a host and a command, as the real
/// one does; nothing of this environment is there.
fn with_hosts(place: Place) -> Place {
    let ssh = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nhost=$2\nshift 2\nexec env -i ON=$host sh -c \"$*\"\n";
    let place = place.with("ssh", ssh);
    std::fs::set_permissions(place.path("ssh"), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    place
}

/// The command where that `ssh` is found.
fn reaching_hosts(place: &Place, words: &str) -> Command {
    let mut command = place.command();
    let path = format!("{}:{}", place.path("").display(), std::env::var("PATH").expect("there is one"));
    command.args(words.split(' ')).env("PATH", path);
    command
}

/// A rank on this host needs no login: this `ssh` reaches no host.
#[test]
fn hosts_that_are_this_node_are_not_logged_in_to() {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("it is there");
    let place = with_hosts(Place::new().with("hosts", "localhost slots=2\n"));
    std::fs::write(place.path("ssh"), "#!/bin/sh\nexit 255\n").expect("it can be written");
    for hosts in
        ["--hostfile hosts", "--hosts localhost", "--hosts 127.0.0.1:2", &format!("--hosts {}", own.trim())]
    {
        let mut command = reaching_hosts(&place, &format!("run -n 3 {hosts} echo here"));
        let ran = Ran::from(command.output().expect("it can be started")).status(0);
        assert_eq!(ran.out, "here\nhere\nhere\n", "{hosts}");
    }
    let mut command = reaching_hosts(&place, "run -n 3 --hosts localhost,elsewhere echo here");
    assert_ne!(command.output().expect("it can be started").status.code(), Some(0));
}

#[test]
fn other_hosts_start_this_command_as_their_agent() {
    let script = "echo $PMI_RANK of $PMI_SIZE on $ON in $PWD with $CARROUSEL_RTR_LIMIT${OTHER-, no other}";
    let place = with_hosts(Place::new().with("where.sh", script));
    let here = place.path("");
    let mut command = reaching_hosts(&place, "run -n 3 --hosts a:2,b -- sh where.sh");
    command.envs([("CARROUSEL_RTR_LIMIT", "3"), ("OTHER", "other")]);
    let ran = Ran::from(command.output().expect("it can be started")).status(0);
    let directory = here.canonicalize().expect("it is there");
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    let line = |text: &str| format!("{text} in {} with 3, no other", directory.display());
    assert_eq!(lines, [line("0 of 3 on a"), line("1 of 3 on a"), line("2 of 3 on b")]);
}

#[test]
fn a_program_needs_no_dashes_and_np_is_understood() {
    let place = Place::new();
    for words in
        ["run -np 2 --tag-output echo -n", "run -np2 --prefix -- echo -n", "run -n 2 --prefix echo -n"]
    {
        let mut lines: Vec<String> = place.run(words).status(0).out.lines().map(ToOwned::to_owned).collect();
        lines.sort();
        // What follows the program is its own.
        assert_eq!(lines, Vec::<String>::new(), "{words}");
    }
    place.run("run --help").status(0).says("Usage: carrousel run [OPTIONS] FILE.scn\n").says("-np N");
    place.run("run -n 2 --tag-output echo a -np 3 -- b").status(0).says("[0] a -np 3 -- b\n").says("[1] a");
}

#[test]
fn several_programs_are_one_job() {
    let place = Place::new().with("say.sh", "echo $1 $PMI_RANK of $PMI_SIZE $K");
    let ran = place.run("run -n 1 -x K=v sh say.sh first : -np 2 -x K=w -- sh say.sh second").status(0);
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["first 0 of 3 v", "second 1 of 3 w", "second 2 of 3 w"]);
    place.run("run -n 1 true : -n 2 false").status(1).complains("exited with status 1");
    place.run("run -n 1 true : false").status(2).complains("`: false`: ").complains("--ranks <N>");
}

#[test]
fn a_file_says_where_the_ranks_are() {
    let place = Place::new().with("on.sh", "echo $PMI_RANK on $ON $K $L in $PWD");
    let place = with_hosts(place.with("nodes", "# two\na slots=2\n\nb:1\n").with("wrong", "a\nb slots=x\n"));
    let mut command = reaching_hosts(&place, "run -n 3 --hostfile nodes -x K -x L=l --wdir / sh HERE/on.sh");
    let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let words = words.join(" ").replace("HERE", &place.path("").display().to_string());
    command = reaching_hosts(&place, &words);
    let ran = Ran::from(command.env("K", "k").output().expect("it can be started")).status(0);
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 on a k l in /", "1 on a k l in /", "2 on b k l in /"]);
    place
        .run("run -n 2 --hostfile wrong true")
        .status(2)
        .complains("wrong:2: found `slots=x`, expected slots=RANKS");
    place.run("run -n 2 --hostfile nowhere true").status(2).complains("cannot read nowhere: ");
    place
        .run("run -n 2 --hostfile /dev/zero true")
        .status(2)
        .complains("cannot read /dev/zero: it is too large, or has no end");
    place.run("run -n 2 --hostfile nodes --hosts a true").status(2);
}

#[test]
fn output_goes_to_files_and_variables_to_ranks() {
    let place = Place::new().with("say.sh", "echo out $K; echo err >&2");
    let ran = place.run("run -n 2 --output-dir logs -x K=v sh say.sh").status(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    for rank in 0..2 {
        assert_eq!(place.text(&format!("logs/rank.{rank}.out")), "out v\n");
        assert_eq!(place.text(&format!("logs/rank.{rank}.err")), "err\n");
    }
    place
        .run("run -n 1 -x NOBODY_HAS_SET_THIS true")
        .status(2)
        .complains("NOBODY_HAS_SET_THIS is not set here");
    place.run("run -n 1 --wdir nowhere true").status(2).complains("cannot start ranks in nowhere: ");
}

#[test]
fn a_job_that_takes_too_long_ends_with_124() {
    let place = Place::new();
    let ran = place.run("run -n 2 --timeout 300ms sleep 60").status(124);
    ran.complains("error: timed out after 300ms, with these still running: ranks 0, 1");
    place.run("run -n 2 --timeout soon true").status(2).complains("`soon` is no time");
}

#[test]
fn where_ranks_are_bound_is_said() {
    let place = Place::new();
    place
        .run("run -n 2 --bind none --report-bindings true")
        .status(0)
        .complains("rank 1 on ")
        .complains("not bound");
    place.run("run -n 1 --bind core --report-bindings true").status(0).complains(": bound to processors ");
    place.run("run -n 1 --bind magic true").status(2);
}

/// Starts the command, waits until it has said `ready` or is to be waited for no longer, and sends it a signal.
fn signalled(place: &Place, words: &str, signal: rustix::process::Signal) -> Ran {
    let mut command = place.command();
    command.args(words.split(' ')).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it can be started");
    let pid = rustix::process::Pid::from_child(&child);
    if words.contains("ready.sh") {
        let stdout = child.stdout.as_mut().expect("it is a pipe");
        assert!(BufReader::new(stdout).lines().map_while(Result::ok).any(|line| line == "ready"));
    } else {
        // Until it catches signals.
        let status = format!("/proc/{}/status", pid.as_raw_nonzero());
        let begun = Instant::now();
        let catches = |text: &str| {
            text.lines().any(|line| {
                let mask =
                    line.strip_prefix("SigCgt:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
                mask.is_some_and(|mask| mask >> 14 & 1 == 1)
            })
        };
        while !std::fs::read_to_string(&status).is_ok_and(|text| catches(&text)) {
            assert!(begun.elapsed() < Duration::from_secs(30), "it never catches SIGTERM");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    rustix::process::kill_process(pid, signal).expect("it is there");
    child.wait_with_output().expect("it ends").into()
}

#[test]
fn a_signal_before_the_ranks_are_started_is_told_and_is_the_status() {
    // The scenario is a pipe without a writer: it is read for ever.
    let place = Place::new();
    let made = Command::new("mkfifo").arg(place.path("late.scn")).status().expect("there is mkfifo");
    assert!(made.success());
    let ran = signalled(&place, "run late.scn", rustix::process::Signal::TERM).status(143);
    assert_eq!(ran.err, "error: ended by SIGTERM before any rank was started\n");
}

#[test]
fn ranks_that_ignore_a_signal_are_killed_and_named() {
    let place = Place::new().with("ready.sh", "trap '' TERM; echo ready; while :; do sleep 0.1; done");
    let ran = signalled(&place, "run -n 1 --kill-after 200ms sh ready.sh", rustix::process::Signal::TERM);
    ran.status(143).complains("error: ended by SIGTERM; killed, because they did not end by it: rank 0");
}

#[test]
fn a_reader_who_leaves_ends_a_job_as_it_ends_a_program() {
    let place = Place::new().with("write.sh", "trap '' PIPE; while echo y 2>/dev/null; do :; done; exit 101");
    let ring = "ranks 2\nrank *\n  barrier\n";
    let place = place.with("ring.scn", ring);
    for (words, status) in [("run -n 2 sh write.sh", 141), ("run --format json ring.scn", 0)] {
        let mut command = place.command();
        command.args(words.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        drop(child.stdout.take());
        let ran = Ran::from(child.wait_with_output().expect("it ends"));
        assert_eq!(ran.err, "", "{words}");
        // A scenario may be over before its reader is missed.
        assert!(ran.status == Some(141) || ran.status == Some(status), "{words}: {:?}", ran.status);
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error_of_every_command() {
    let place = Place::new().with("two.scn", "ranks 2\nrank *\n  barrier\n");
    for words in
        ["run -n 2 echo y", "run two.scn", "verify two.scn", "sim two.scn", "info", "fmt two.scn", "man"]
    {
        let full = File::options().write(true).open("/dev/full").expect("it is there");
        let mut command = place.command();
        let child = command.args(words.split(' ')).stdout(full).stderr(Stdio::piped()).spawn();
        let ran = Ran::from(child.and_then(|child| child.wait_with_output()).expect("it ends")).status(2);
        ran.complains("cannot write the output: No space left on device");
    }
}

#[test]
fn a_run_of_a_scenario_is_drawn_as_a_simulated_one() {
    let early = "ranks 2\nrank 0\n  early: r = irecv from 1 tag 0 size 1MiB\n  compute 2ms\n  wait r\n  barrier\n  \
                 recv from 1 tag any size 8\nrank 1\n  isend to 0 tag 0 size 1MiB\n  compute 1ms\n  wait all\n  \
                 barrier\n  send to 0 tag 7 size 8\n";
    let place = Place::new().with("early.scn", early);
    std::fs::create_dir(place.path("elsewhere")).expect("it can be made");
    for words in
        ["--timeline real.svg", "--timeline real.svg --format json", "--wdir elsewhere --timeline real.svg"]
    {
        let _ = std::fs::remove_file(place.path("real.svg"));
        let ran = place.run(&format!("run {words} early.scn")).status(0).complains("drawn in ");
        assert!(ran.err.contains("real.svg"), "{}", ran.err);
        place.run("sim --timeline simulated.svg early.scn").status(0);
        let [real, simulated] = ["real.svg", "simulated.svg"].map(|name| place.text(name));
        let lanes = |text: &str| {
            let document = roxmltree::Document::parse(text).expect("it is XML");
            let count = |tag: &str, class: &str| {
                let nodes = document.descendants().filter(|node| node.has_tag_name(tag));
                nodes.filter(|node| node.attribute("class") == Some(class)).count()
            };
            // Without the legend.
            (count("rect", "c") - 1, count("rect", "t") - 1, count("line", "d") - 1)
        };
        // Each rank computes once, and has one message that moves by itself: computations, transfers, messages.
        assert_eq!(lanes(&real), (2, 2, 2), "{real}");
        assert_eq!(lanes(&simulated).0, 2);
        for mark in [
            ">early<title>line 3: irecv, ",
            "waiting in the library, ",
            "in the library, ",
            "data from 1 to 0, 1048576 bytes, ",
        ] {
            assert!(real.contains(mark), "{mark} is not in\n{real}");
        }
    }
    place.run("run --timeline real.html early.scn").status(0);
    assert!(place.text("real.html").contains("<html"));
    place.run("run --timeline t.txt early.scn").status(2).complains("neither an .svg nor an .html file");
    place.run("run --timeline no/t.svg early.scn").status(2).complains("there is no directory no");
    place.run("run --timeline t.svg -n 2 -- true").status(2);
}

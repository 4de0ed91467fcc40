//! Jobs of real processes: scenarios, ranks that hang, ranks that die, and other launchers.
//!
//! A rank that is no scenario is this program once more, in a role that an environment variable names.

use crate::common::{Place, Ran};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROLE: &str = "JOBS_TEST_ROLE";

const RING: &str = "ranks 4\nrank *\n  a = irecv from (me+size-1)%size tag 0 size 100KiB\n  send to \
                    (me+1)%size tag 0 size 100KiB\n  wait a\n  barrier\n  sendrecv to (me+1)%size tag 1 size 7 \
                    from any tag any size 64\n  rest: isend to me tag 5 size 40000\n  probe from me tag any\n  \
                    recv from me tag 5 size 40000\n  wait all\n";
const HEAD_TO_HEAD: &str =
    "ranks 2\nrank *\n  send to 1-me tag 3 size 1MiB\n  recv from 1-me tag 3 size 1MiB\n";

/// Runs `carrousel run -n RANKS` on this program in a role.
fn job(place: &Place, ranks: u32, role: &str) -> Ran {
    place.job("run -n", ranks, ("jobs::rank", ROLE, role))
}

#[test]
fn a_job_says_once_what_it_consists_of_if_it_is_asked() {
    for ranks in [2, 4] {
        let place = Place::new().with("ring.scn", &RING.replace("ranks 4", &format!("ranks {ranks}")));
        let said = |value: Option<&str>| {
            let mut command = place.command();
            command.args(["run", "ring.scn"]).envs(value.map(|value| ("CARROUSEL_REPORT", value)));
            let ran = Ran::from(command.output().expect("it runs")).status(0);
            let lines = ran.err.lines().filter(|line| line.starts_with("carrousel "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let line = format!("carrousel 0.1.0: {ranks} ranks on 1 node; shm: {ranks} ranks; verbs: 0 ranks");
        assert_eq!((said(Some("1")), said(Some("on"))), (vec![line.clone()], vec![line]));
        assert_eq!((said(None), said(Some("0"))), (Vec::new(), Vec::new()));
    }
}

#[test]
fn a_master_answers_whoever_has_asked() {
    let asks = [
        "r = recv from any tag any size 8",
        "r = irecv from any tag any size 8\n  wait r",
        "r = probe from any tag any\n  r = recv from source(r) tag tag(r) size 8",
    ];
    for ask in asks {
        let text = format!(
            "ranks 4\nrank 0\n  repeat 9\n  {ask}\n  send to source(r) tag tag(r)+source(r) size 100KiB\n  end\n\
             rank 1..3\n  repeat 3\n  send to 0 tag 10*me size 8\n  recv from 0 tag 11*me size 100KiB\n  end\n"
        );
        Place::new().with("master.scn", &text).run("run master.scn").status(0).says("master.scn: ");
    }
}

#[test]
fn a_value_that_leaves_its_range_ends_the_job() {
    let text = "ranks 2\nrank 0\n  r = recv from any tag any size 8\n  send to source(r)+1 tag 0 size 8\nrank 1\n  \
                send to 0 tag 0 size 8\n";
    let place = Place::new().with("next.scn", text);
    let expected = "rank 2 does not exist, expected 0 to 1, for `source(r)+1`, where `source(r)` is 1";
    place.run("run next.scn").status(1).complains(&format!("next.scn:4:3: rank 0: {expected}"));
    place.run("sim next.scn").status(1).complains(&format!("rank 0, line 4: {expected}"));
    place.run("verify next.scn").status(1).says("Rank 0 cannot go on at").says("where `source(r)` is 1");
}

#[test]
fn a_collective_that_the_ranks_do_not_agree_on_is_wrong_for_every_command() {
    let text = "ranks 2\nrank 0\n  bcast root 0 size 1KiB\nrank 1\n  bcast root 0 size 2KiB\n";
    let place = Place::new().with("bcast.scn", text);
    for command in ["verify", "sim", "run"] {
        let said = "bcast.scn:5:3: found `bcast root 0 size 2KiB` as collective 1 of rank 1, expected `bcast root 0 \
                    size 1KiB`, as rank 0 calls in line 3";
        place.run(&format!("{command} bcast.scn")).status(2).complains(said);
    }
}

/// Looks for a message that never comes.
fn look_for(
    world: &carrousel::Communicator,
    from: impl Into<carrousel::Source>,
) -> Result<(), carrousel::Error> {
    let from = from.into();
    loop {
        assert_eq!(world.iprobe(from, 0)?, None, "nobody sends");
    }
}

/// Not a test of its own: a rank of the jobs of the others.
#[test]
fn rank() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let job = carrousel::init().expect("it is a rank");
    let world = job.world();
    let me = world.rank();
    if role == "execs" {
        world.barrier().expect("all come");
    }
    match role.as_str() {
        "killed" if me == 1 => {
            let own = rustix::process::getpid();
            rustix::process::kill_process(own, rustix::process::Signal::KILL).expect("it may");
        }
        "panics" if me == 1 => panic!("rank 1 is not feeling well"),
        "leaves" if me == 1 => std::process::exit(0),
        "aborts" if me == 1 => job.abort(9, "rank 1 has had enough"),
        "execs" if me == 1 => {
            let error = std::os::unix::process::CommandExt::exec(Command::new("sleep").arg("60"));
            panic!("it is there: {error}");
        }
        // The others need rank 1 in a different way each.
        _ => {
            let result = match me {
                0 => world.recv(&mut [0u8; 8], 1, 0).map(|_| ()),
                2 => world.recv(&mut [0u8; 8], carrousel::Any, 0).map(|_| ()),
                3 => world.ssend(&[0u8; 8], 1, 0),
                4 => world.probe(1, 0).map(|_| ()),
                5 => world.probe(carrousel::Any, 0).map(|_| ()),
                // A program that polls is told, too.
                7 => {
                    let mut receive = world.irecv(vec![0u8; 8], 1, 0).expect("it can be posted");
                    while !receive.test() {}
                    receive.wait().map(|_| ())
                }
                8 => look_for(world, 1),
                9 => look_for(world, carrousel::Any),
                _ => world.barrier(),
            };
            let error = result.expect_err("rank 1 is gone");
            println!("told: {me}: {error}");
            std::process::exit(3);
        }
    }
}

#[test]
fn a_scenario_runs_and_its_bytes_are_right() {
    let place = Place::new().with("ring.scn", RING);
    let ran = place.run("run ring.scn").status(0).says("ring.scn: ").says("over shm").says("sendrecv");
    assert_eq!(ran.err, "");
    let ran = place.run("run -n 4 --format json ring.scn").status(0);
    let report: Value = serde_json::from_str(&ran.out).expect("it is one JSON object");
    let statements = report["statements"].as_array().expect("a list");
    assert_eq!(statements.len(), 4 * 9);
    assert_eq!(statements[5]["label"], "rest");
    for statement in statements {
        let time = |name: &str| statement[name].as_f64().expect("a number");
        assert!(time("begin_us") <= time("end_us") && time("begin_us") <= time("complete_us"), "{statement}");
    }
}

#[test]
fn the_job_has_the_size_of_its_scenario() {
    let place = Place::new().with("ring.scn", RING);
    place
        .run("run -n 3 ring.scn")
        .status(2)
        .complains("for 4 ranks")
        .complains("carrousel run -n 4 ring.scn");
    place.run("run nowhere.scn").status(2).complains("cannot read nowhere.scn");
    place.run("run ring.scn -- true").status(2);
}

#[test]
fn what_cannot_be_run_yet_is_refused_before_it_begins() {
    let place = Place::new().with("rma.scn", "ranks 2\nwindow w 64\nrank *\n  fence w\n");
    place.run("run rma.scn").status(2).complains("rma.scn:4:3: `fence` cannot be run yet");
    // The first one of the file, whichever rank's it is.
    let text = "ranks 2\nwindow w 8\nrank 1\n  barrier\n  lock w at 0 shared\n  unlock w at 0\nrank 0\n  fence w\n  \
                fence w\n  barrier\n";
    let place = Place::new().with("two.scn", text);
    place.run("run two.scn").status(2).complains("two.scn:5:3: `lock` cannot be run yet");
}

#[test]
fn a_message_that_is_too_long_ends_the_job() {
    let text = "ranks 2\nrank 0\n  send to 1 tag 0 size 64\nrank 1\n  recv from 0 tag 0 size 8\n";
    let place = Place::new().with("long.scn", text);
    let ran = place.run("run long.scn").status(1).complains("long.scn:5:3: rank 1: MPI_ERR_TRUNCATE");
    ran.complains("error: rank 1 exited with status 1");
}

/// Starts a job that never ends, and ends it when it has said something on standard error.
fn hanging(place: &Place, words: &str, patience: &str, signal: bool) -> String {
    let mut command = place.command();
    command.args(words.split(' ')).env("CARROUSEL_HANG_REPORT", patience);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let pid = rustix::process::Pid::from_child(&child);
    let (begin, send) = (Instant::now(), |signal| rustix::process::kill_process(pid, signal));
    // It is not known when the ranks wait; a signal before that finds nothing to say.
    std::thread::sleep(Duration::from_millis(500));
    while begin.elapsed() < Duration::from_secs(4) {
        if signal {
            send(rustix::process::Signal::USR1).expect("it runs");
        }
        std::thread::sleep(Duration::from_millis(if signal { 2500 } else { 500 }));
    }
    send(rustix::process::Signal::TERM).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn ranks_that_wait_for_each_other_say_so() {
    let place = Place::new().with("head.scn", HEAD_TO_HEAD);
    for (patience, signal) in [("1s", false), ("0", true)] {
        let said = hanging(&place, "run head.scn", patience, signal);
        for text in [
            "2 of 2 ranks wait, for up to ",
            "  rank 0 waits at head.scn:3 (`send to 1-me tag 3 size 1MiB`)\n",
            "    for its send to 1 tag 3, 1048576 bytes: offered to the receiver, which has not taken it\n",
            "Deadlock: they wait for each other: rank 0 -> rank 1 -> rank 0.",
        ] {
            assert!(said.contains(text), "{text:?} is not in\n{said}");
        }
    }
}

#[test]
fn a_scenario_that_has_found_its_deadlock_ends_with_status_1() {
    let waits_for_ended = "ranks 3\nrank 0\n  recv from 1 tag 1 size 8\nrank 1\n  compute 1500ms\n";
    for (text, says) in [
        (HEAD_TO_HEAD, "Deadlock: they wait for each other: rank 0 -> rank 1 -> rank 0."),
        (waits_for_ended, "  rank 1, rank 2 have ended\n"),
    ] {
        let place = Place::new().with("dead.scn", text);
        let mut command = place.command();
        command.args(["run", "--timeout", "20s", "dead.scn"]).env("CARROUSEL_HANG_REPORT", "2s");
        let ran = Ran::from(command.output().expect("it can be started")).status(1);
        ran.complains(says)
            .complains("ended, as it never ends by itself, with these still running: ranks 0, ");
    }
}

#[test]
fn a_missing_partner_is_named() {
    let text =
        "ranks 2\nrank 0\n  recv from 1 tag 0 size 8\nrank 1\n  compute 60s\n  send to 0 tag 0 size 8\n";
    let place = Place::new().with("late.scn", text);
    let said = hanging(&place, "run late.scn", "1s", false);
    assert!(said.contains("It waits for rank 1, which does not wait"), "{said}");
}

#[test]
fn a_probe_waits_for_its_message_only() {
    let text = "ranks 3\nrank 0\n  a = irecv from 1 tag 0 size 8\n  probe from 2 tag 0\n  wait a\n\
                rank 1\n  recv from 0 tag 0 size 8\nrank 2\n  compute 60s\n  send to 0 tag 0 size 8\n";
    let place = Place::new().with("probe.scn", text);
    let said = hanging(&place, "run probe.scn", "1s", false);
    assert!(said.contains("    for its probe from 2 tag 0: no such message has come\n"), "{said}");
    assert!(said.contains("They wait for rank 2, which does not wait"), "{said}");
}

#[test]
fn when_a_rank_dies_the_others_are_told_and_the_job_ends() {
    let place = Place::new();
    for (role, status, says) in [
        ("killed", 137, "rank 1 was killed by SIGKILL"),
        ("panics", 101, "rank 1 exited with status 101"),
        ("leaves", 1, "rank 1"),
        ("aborts", 9, "rank 1"),
    ] {
        let begin = Instant::now();
        let ran = job(&place, 10, role).status(status).complains(says);
        // In bounded time; how soon exactly is measured elsewhere.
        assert!(begin.elapsed() < Duration::from_secs(10), "{role}: {:?}", begin.elapsed());
        for other in [0, 2, 3, 4, 5, 6, 7, 8, 9] {
            // By then, the rank that was told first may be gone as well.
            let told = format!("told: {other}: MPI_ERR_PROC_FAILED: rank ");
            assert!(ran.out.contains(&told), "{role}: {told:?} is not in\n{}\n{}", ran.out, ran.err);
        }
    }
}

/// Its process is there, and its memory is not.
#[test]
fn a_rank_that_becomes_another_program_is_named_first_and_at_once() {
    let ran = job(&Place::new(), 4, "execs").status(1);
    let gone = "rank 1 has left without finalizing: its process goes on as `sleep`, most likely by `exec`";
    let first = ran.err.lines().find(|line| line.contains("error: ")).unwrap_or_default();
    assert!(first.ends_with(gone), "{}\n{}", ran.err, ran.out);
    // Not all come to say so before they are ended. Whichever rank they have missed: the first one is named.
    let told: Vec<&str> = ran.out.lines().filter(|line| line.contains("told: ")).collect();
    assert!(!told.is_empty(), "{}\n{}", ran.err, ran.out);
    for line in told {
        assert!(line.contains("rank 1 ") && line.contains("most likely by `exec`"), "{line}");
    }
}

/// A rank that waits for any other may miss first one that has ended because of another.
#[test]
fn the_rank_that_died_first_is_named_by_all() {
    let ran = job(&Place::new(), 10, "killed").status(137);
    for line in ran.out.lines().filter(|line| line.contains("told: ")) {
        let names_another = !line.contains("MPI_ERR_PROC_FAILED: rank 1 is gone");
        assert!(!names_another || line.contains("before, rank 1 was killed by SIGKILL"), "{line}");
    }
}

#[test]
fn a_rank_alone_is_a_job_of_one() {
    let place = Place::new()
        .with("one.scn", "ranks 1\nrank 0\n  sendrecv to me tag 0 size 9 from any tag 0 size 9\n");
    place.run("run one.scn").status(0).says("sendrecv");
}

#[test]
fn the_same_ranks_start_under_hydra() {
    let place = Place::new().with("ring.scn", RING);
    let Some(mut command) = place.under_hydra(4) else { return };
    let ran = Ran::from(command.args(["run", "ring.scn"]).output().expect("it can be started")).status(0);
    let ran = ran.says("ring.scn: ").says("over shm").says("sendrecv");
    assert_eq!(ran.out.matches("over shm").count(), 1, "one rank speaks for all");
}

#[test]
fn ranks_in_user_namespaces_of_their_own_are_told_so() {
    let may = std::process::Command::new("unshare").args(["-Ur", "true"]).output();
    if !may.is_ok_and(|ended| ended.status.success()) {
        println!("skipped: no user namespaces may be made here");
        return;
    }
    let place = Place::new().with("ring.scn", RING);
    let command = env!("CARGO_BIN_EXE_carrousel");
    let own = place.run(&format!("run -n 4 unshare -Ur {command} run ring.scn"));
    assert_ne!(own.status, Some(0), "{}", own.err);
    own.complains("this rank is in a user namespace of its own (user:[")
        .complains("unshare -Ur carrousel run");
}

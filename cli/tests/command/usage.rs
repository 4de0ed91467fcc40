//! Wrong use of the library that no rank sees alone: what a job says of it while it runs (`check_usage`), and what
//! `carrousel check` says of its trace.
//!
//! A rank is this program once more, in a role that an environment variable names. It is a debug build, so that wrong
//! use is an error unless something else is said.

use crate::common::{Place, Ran};
use carrousel::Communicator;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;

const ROLE: &str = "USAGE_TEST_ROLE";
const OPTION: &str = "CARROUSEL_CHECK_USAGE";

/// Runs `WORDS RANKS` on this program in a role, with the option `check_usage` so.
fn job_with(place: &Place, words: &str, ranks: u32, role: &str, check: Option<&str>) -> Ran {
    let mut command = place.command();
    command.args(words.split_whitespace()).arg(ranks.to_string()).arg("--");
    command.arg(std::env::current_exe().expect("a test knows its file"));
    command.args(["--exact", "usage::rank", "--nocapture"]).env(ROLE, role);
    if let Some(check) = check {
        command.env(OPTION, check);
    }
    command.output().expect("it can be started").into()
}

fn job(ranks: u32, role: &str, check: Option<&str>) -> Ran {
    job_with(&Place::new(), "run --timeout 60s -n", ranks, role, check)
}

/// The line of a call, as reports have it, and what it returns.
macro_rules! here {
    ($call:expr) => {
        (line!(), $call)
    };
}

/// What ranks call in a role that do not agree.
fn disagree(world: &Communicator, role: &str) -> (u32, Result<(), carrousel::Error>) {
    let me = world.rank();
    match role {
        "lengths" => here!(world.broadcast(&mut vec![0u8; me as usize + 1], 0)),
        "kinds" if me == 1 => here!(world.reduce(&[1u32], &mut [], 0, |a, b| a + b)),
        "kinds" => here!(world.broadcast(&mut [0u32], 0)),
        "roots" => here!(world.broadcast(&mut [0u32], me.min(1))),
        "elements" if me == 0 => here!(world.allreduce(&[0u64], &mut [0], |a, b| a + b)),
        "elements" => here!(world.allreduce(&[0u32; 2], &mut [0; 2], |a, b| a + b)),
        "waits" if me == 0 => here!(world.barrier()),
        "waits" => here!(world.ibarrier().and_then(|request| request.wait()).map(drop)),
        "halves" => {
            let half = world.split(Some(me % 2), 0).expect("it can be").expect("all are in one");
            let (own, mut all) = (vec![0u8; 1 + me as usize / 2], vec![0u8; if me < 2 { 2 } else { 0 }]);
            here!(half.gather(&own, &mut all, 0))
        }
        _ => unreachable!("there is no role {role}"),
    }
}

/// Not a test of its own: a rank of the jobs of the others.
#[test]
fn rank() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let job = carrousel::init().expect("it is a rank");
    let world = job.world().clone();
    let me = world.rank();
    match role.as_str() {
        "agree" => {
            let mut values = [me; 3];
            for _ in 0..3 {
                world.broadcast(&mut values, 1).expect("all call it");
                let pending = (world.ibarrier().expect("it begins"), world.ibarrier().expect("it begins"));
                world.allreduce(&[1u32], &mut [0], |a, b| a + b).expect("all call it");
                pending.1.wait().expect("all call it");
                pending.0.wait().expect("all call it");
                let half = world.split(Some(me % 2), 0).expect("it can be").expect("all are in one");
                half.barrier().expect("all call it");
            }
            job.finalize().expect("all is well");
        }
        "unreceived" => {
            if me == 0 {
                for tag in [10, 10, 5] {
                    world.send(&[0u8; 40], 1, tag).expect("it is gone at once");
                }
            } else if me == 1 {
                world.recv(&mut [0u8; 40], 0, 10).expect("it comes");
            }
            left(job.finalize());
        }
        // More than there is room for at a rank that is through the last barrier before it has taken half of it.
        "flood" => {
            for _ in 0..if me == 0 { 600 } else { 0 } {
                world.send(&[0u8; 1024], 3, 0).expect("it is gone at once");
            }
            std::thread::sleep(Duration::from_millis(if me == 3 { 300 } else { 0 }));
            left(job.finalize());
        }
        "early" if me == 1 => left(job.finalize()),
        "hangs" => hang(&world),
        "early" => {
            let (line, result) = here!(world.alltoall(&[0u8; 3], &mut [0; 3]));
            println!("line: {me}: {line}");
            left(result);
        }
        _ => {
            let (line, result) = disagree(&world, &role);
            println!("line: {me}: {line}");
            left(result);
        }
    }
}

fn left(result: Result<(), carrousel::Error>) {
    if let Err(error) = result {
        println!("told: {error}");
        // The others are told by themselves.
        std::thread::sleep(Duration::from_millis(500));
        std::process::exit(3);
    }
}

/// The line that a rank has said.
fn line(ran: &Ran, rank: u32) -> String {
    let begin = format!("line: {rank}: ");
    let line = ran.out.lines().find_map(|line| line.split_once(&begin).map(|(_, line)| line));
    format!("{}:{}", file!(), line.expect("it says so"))
}

#[test]
fn ranks_that_call_different_collectives_are_told_both_lines() {
    for (ranks, role, one, other) in [
        (3, "lengths", (0, "`broadcast` of 1 byte from root 0"), (1, "`broadcast` of 2 bytes from root 0")),
        (
            3,
            "kinds",
            (0, "`broadcast` of 4 bytes from root 0"),
            (1, "`reduce` of 4 bytes in elements of 4 to root 0"),
        ),
        (4, "roots", (0, "`broadcast` of 4 bytes from root 0"), (1, "`broadcast` of 4 bytes from root 1")),
        (
            2,
            "elements",
            (0, "`allreduce` of 8 bytes in elements of 8"),
            (1, "`allreduce` of 8 bytes in elements of 4"),
        ),
        (3, "waits", (0, "`barrier`"), (1, "`ibarrier`")),
        (4, "halves", (0, "`gather` of 1 byte to root 0"), (2, "`gather` of 2 bytes to root 0")),
    ] {
        let ran = job(ranks, role, None).status(3);
        let place = |rank: u32| line(&ran, rank);
        let told = format!(
            "rank {} calls {} at {}, rank {} calls {} at {}",
            one.0,
            one.1,
            place(one.0),
            other.0,
            other.1,
            place(other.0)
        );
        assert_eq!(
            ran.out.matches("told: MPI_ERR_OTHER: ranks do not agree").count() as u32,
            ranks,
            "{role}: {}",
            ran.out
        );
        assert!(ran.out.contains(&told), "{role}: {told:?} is not in\n{}\n{}", ran.out, ran.err);
    }
}

#[test]
fn a_rank_that_leaves_early_is_told_what_others_call() {
    let ran = job(3, "early", None).status(3);
    let told = format!(
        "rank 0 calls `alltoall` of 1 byte at {}, rank 1 calls `finalize` at {}:",
        line(&ran, 0),
        file!()
    );
    ran.says(&told);
}

#[test]
fn a_message_that_is_never_received_is_told_with_the_line_of_its_send() {
    let told = "rank 1 has not received a message of 40 bytes with tag 5, which rank 0 has sent at ";
    let ran = job(3, "unreceived", None).status(3);
    let ran = ran.says(&format!("told: MPI_ERR_OTHER: {told}{}:", file!()));
    assert_eq!(ran.out.matches("told: ").count(), 1, "{}", ran.out);
    job(3, "unreceived", Some("warn"))
        .status(0)
        .complains(&format!("carrousel: warning: {told}{}:", file!()));
}

#[test]
fn a_job_ends_however_many_messages_are_never_received() {
    for check in ["off", "warn"] {
        job(4, "flood", Some(check)).status(0);
    }
}

#[test]
fn what_is_not_checked_is_not_told() {
    let ran = job(3, "unreceived", Some("off")).status(0);
    assert!(!ran.out.contains("told: ") && !ran.err.contains("not received"), "{}\n{}", ran.out, ran.err);
    // One rank warns for all, and they go on.
    let ran = job(3, "lengths", Some("warn"));
    assert_eq!(
        ran.err.matches("warning: ranks do not agree in a collective: rank 0 calls").count(),
        1,
        "{}",
        ran.err
    );
    // Each gets what root 0 sends, as far as there is room.
    let ran = job(3, "lengths", Some("off"));
    assert!(!ran.out.contains("do not agree"), "{}", ran.out);
}

#[test]
fn ranks_that_agree_are_told_nothing_and_their_traces_are_allowed() {
    for check in ["off", "warn", "error"] {
        let place = Place::new();
        let ran = job_with(&place, "run --timeout 60s --trace out -n", 4, "agree", Some(check)).status(0);
        assert_eq!(ran.err, "", "{check}");
        place.run("check out").status(0).says("OK, ");
    }
}

#[test]
fn a_trace_tells_of_collectives_that_differ_and_of_messages_that_were_not_received() {
    let place = Place::new();
    let ran = job_with(&place, "run --timeout 60s --trace out -n", 3, "lengths", Some("off"));
    let checked = place.run("check out").status(1).says("MPI does not allow what the program does:\n");
    let told = format!(
        "rank 0 calls `broadcast` of 1 byte from root 0 at {}, rank 1 calls `broadcast` of 2 bytes from root 0 at {}",
        line(&ran, 0),
        line(&ran, 1)
    );
    checked.says(&told);
    job_with(&place, "run --trace out -n", 3, "unreceived", Some("off")).status(0);
    let checked = place.run("check out --format json").status(1);
    let report: Value = serde_json::from_str(&checked.out).expect("it is one JSON object");
    let misuse = &report["misuses"][0]["not_received"];
    let expected: [(&str, Value); 5] =
        [("from", 0.into()), ("to", 1.into()), ("tag", 5.into()), ("bytes", 40.into()), ("count", 1.into())];
    for (name, value) in expected {
        assert_eq!(misuse[name], value, "{name} in {report}");
    }
    assert_eq!((&report["verdict"], &misuse["place"]["file"]), (&"allowed".into(), &file!().into()));
    place
        .run("check out")
        .status(1)
        .says("rank 1 has not received a message of 40 bytes with tag 5, which rank 0 has sent at ");
}

/// Waits for what never comes: rank 0 for a request that it has started before, rank 1 for a message, rank 2 by
/// awaiting, rank 3 for one of several.
fn hang(world: &Communicator) {
    let request = world.irecv(vec![0u8; 8], 3, 1).expect("it can be posted");
    println!("started: {}: {}", world.rank(), line!() - 1);
    println!("waits: {}: {}", world.rank(), line!() + world.rank() + 2);
    let ended = match world.rank() {
        0 => request.wait().map(drop),
        1 => world.recv(&mut [0u8; 8], 0, 2).map(drop),
        2 => carrousel::block_on(async { request.await.map(drop) }),
        _ => carrousel::wait_any(&mut vec![request]).map_or(Ok(()), |(_, ended)| ended.map(drop)),
    };
    ended.expect("nobody sends");
}

#[test]
fn a_rank_that_hangs_names_the_lines_of_its_program() {
    let place = Place::new();
    let mut command = place.command();
    command.args(["run", "--timeout", "6s", "-n", "4", "--"]);
    command.arg(std::env::current_exe().expect("a test knows its file"));
    command
        .args(["--exact", "usage::rank", "--nocapture"])
        .env(ROLE, "hangs")
        .env("CARROUSEL_HANG_REPORT", "1s");
    let ran = Ran::from(command.stdin(Stdio::null()).output().expect("it can be started")).status(124);
    let said = |what: &str, rank: u32| {
        let begin = format!("{what}: {rank}: ");
        let line = ran.out.lines().find_map(|line| line.split_once(&begin).map(|(_, line)| line));
        format!("{}:{}", file!(), line.expect("it says so"))
    };
    for rank in 0..4 {
        let waits = format!("  rank {rank} waits at {}\n", said("waits", rank));
        assert!(ran.err.contains(&waits), "{waits:?} is not in\n{}", ran.err);
    }
    let started = format!("receive from 3 tag 1, 8 bytes, started at {}: posted", said("started", 0));
    assert_eq!(ran.err.matches(&started).count(), 4, "{started:?} in\n{}", ran.err);
}

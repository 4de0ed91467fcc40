//! Programs that run for real and simulated: the same source under `run` and under `sim --app`.
//!
//! The program is this one once more, in a role that an environment variable names.

use crate::common::{Place, Ran};
use carrousel_app::{Error, World, run, wait_all};
use serde_json::Value;
use std::time::Duration;

const ROLE: &str = "APP_TEST_ROLE";

/// Runs `carrousel WORDS` with this program, in a role, where the words say `PROGRAM`.
fn carrousel(place: &Place, words: &str, role: &str) -> Ran {
    let this = std::env::current_exe().expect("a test knows its file").display().to_string();
    let mut command = place.command();
    command.args(words.split(' ').map(|word| word.replace("PROGRAM", &this)));
    if words.contains("PROGRAM") {
        if !words.contains(" -- ") {
            command.arg("--");
        }
        command.args(["--exact", "app::program", "--nocapture"]);
    }
    Ran::from(command.env(ROLE, role).output().expect("it can be started"))
}

/// Everybody tells the next what it has, so that all know all; each says what it knows.
async fn gossip(world: World) -> Result<(), Error> {
    let (me, size) = (world.rank(), world.size());
    let mut known = vec![0u64; size as usize];
    known[me as usize] = u64::from(me * me + 1);
    for _ in 1..size {
        let receive = world.irecv(known.clone(), (me + size - 1) % size, 0).await?;
        let send = world.isend(known.clone(), (me + 1) % size, 0).await?;
        world.compute(Duration::from_micros(5)).await;
        let (news, _) = receive.await?;
        wait_all([send]).await?;
        known.iter_mut().zip(news).for_each(|(known, news)| *known = news.max(*known));
    }
    println!("rank {me} knows {known:?}");
    Ok(())
}

async fn stuck(world: World) -> Result<(), Error> {
    world.recv(&mut [0u8; 8], 1 - world.rank(), 3).await.map(|_| ())
}

async fn fails(world: World) -> Result<(), String> {
    if world.rank() == 1 {
        Err("no luck".to_owned())
    } else {
        world.barrier().await.map_err(|e| e.to_string())
    }
}

async fn panics(world: World) -> Result<(), Error> {
    assert_ne!(world.rank(), 1, "not this one");
    world.barrier().await
}

/// Not a test of its own: the program of the others.
#[test]
fn program() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let _status = match role.as_str() {
        "gossip" => run(gossip),
        "stuck" => run(stuck),
        "fails" => run(fails),
        "panics" => run(panics),
        "leaves" => run(async |_: World| -> Result<(), Error> { std::process::exit(0) }),
        "joins" => {
            let error = carrousel::init().map(|_| ()).expect_err("it is to simulate");
            eprintln!("{error}");
            return;
        }
        _ => return,
    };
}

/// What the ranks have said, sorted.
fn said(ran: &Ran) -> Vec<String> {
    let mut lines: Vec<String> =
        ran.out.lines().filter(|line| line.contains(" knows ")).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_program_says_the_same_for_real_and_simulated() {
    let place = Place::new();
    let real = carrousel(&place, "run -n 4 -- PROGRAM", "gossip").status(0);
    let simulated = carrousel(&place, "sim -n 4 --app PROGRAM", "gossip").status(0);
    assert_eq!(said(&real).len(), 4, "{}", real.out);
    assert_eq!(said(&real), said(&simulated));
    simulated.says(" us over qdr").says("irecv").says(" of messages; EAGER");
}

#[test]
fn a_simulated_program_is_the_same_each_time() {
    let place = Place::new();
    let words =
        "sim -n 6 --ranks-per-node 2 --jitter 300 --seed 4 --progress thread --format json --app PROGRAM";
    let (one, other) =
        (carrousel(&place, words, "gossip").status(0), carrousel(&place, words, "gossip").status(0));
    assert_eq!(one.out, other.out);
    // What the program prints is not in it.
    let report: Value = serde_json::from_str(&one.out).expect("it is one JSON object");
    let first = &report["statements"][0];
    assert_eq!((&first["op"], &first["file"]), (&"irecv".into(), &file!().into()));
    assert!(one.err.contains("rank 5 knows"), "{}", one.err);
}

#[test]
fn many_ranks_are_summed_up_by_their_place_in_the_source() {
    let ran = carrousel(&Place::new(), "sim -n 20 --app PROGRAM", "gossip").status(0);
    ran.says("times").says("irecv at cli/tests/command/app.rs:").says("wait at cli/tests/command/app.rs:");
}

#[test]
fn a_program_that_goes_wrong_ends_with_1_and_says_where() {
    let place = Place::new();
    let run = |role| carrousel(&place, "sim -n 2 --app PROGRAM", role).status(1);
    run("stuck")
        .complains("deadlock at ")
        .complains("rank 0, cli/tests/command/app.rs:")
        .complains("`recv from 1 tag 3");
    run("fails").complains("rank 1: no luck");
    run("panics").complains("rank 1 panicked: ").complains("not this one");
    run("leaves").complains("ended before its ranks had");
}

#[test]
fn a_program_that_does_not_simulate_is_refused() {
    let place = Place::new();
    carrousel(&place, "sim -n 2 --app /bin/true", "").status(2).complains("`carrousel_app::run`");
    let joins = carrousel(&place, "sim -n 2 --app PROGRAM", "joins").status(2);
    joins.complains("CARROUSEL_SIMULATION is set").complains("has not simulated anything");
    carrousel(&place, "sim -n 2 --app ./nowhere", "").status(2).complains("cannot start ./nowhere");
    carrousel(&place, "sim -n 2 --network magic --app PROGRAM", "gossip").status(2).complains("`qdr`");
    carrousel(&place, "sim --app PROGRAM", "gossip").status(2);
    carrousel(&place, "sim -n 0 --app PROGRAM", "gossip").status(2);
    carrousel(&place, "sim -n 2 x.scn", "").status(2);
}

#[test]
fn a_simulated_program_is_drawn() {
    let place = Place::new();
    carrousel(&place, "sim -n 3 --timeline t.svg --app PROGRAM", "gossip").status(0);
    assert!(place.text("t.svg").contains("<svg"));
}

//! Counterexamples as people read them: the summary, the steps, the chart.

use carrousel_rank::{
    Communicator, Kind, Mirror, Options, Protocol, Published, RankId, Source, Speculation, mpi,
};
use carrousel_rendezvous::{MirrorRules, Release};
use carrousel_scenario::{Check, Scenario, load};
use carrousel_verify::explain::explain;
use carrousel_verify::explore::{Limits, explore};
use carrousel_verify::model::Settings;
use carrousel_verify::program::{Act, Job, Program, Start};
use carrousel_verify::report::Counterexample;
use carrousel_verify::scenario;
use std::sync::Arc;

/// The counterexample to `check`, or a violation of another one that is the library's.
fn counterexample<P: Protocol>(job: Job, check: Check, source: Option<&Scenario>) -> Counterexample {
    let limits = Limits { threads: 1, ..Limits::default() };
    let outcome = explore::<P>(Arc::new([job.clone()]), Settings::default(), &limits);
    let found = outcome.violations.iter().find(|(violated, _)| *violated == check);
    let path = found.map(|(_, path)| path).expect("the check is violated");
    explain(&job, path, check, source, None)
}

fn of_scenario(text: &str, check: Check) -> Counterexample {
    let scenario = load("test.scn", text.as_bytes()).expect("a right scenario");
    let job = scenario::job(&scenario, false).expect("a scenario that can be explored");
    counterexample::<Mirror>(job, check, Some(&scenario))
}

/// A counterexample as it is printed in a terminal.
fn page(counterexample: &Counterexample, width: usize) -> String {
    let mut page = format!("{}\n\n", counterexample.summary);
    for (number, step) in counterexample.told.iter().enumerate() {
        let line = step.line.map_or_else(String::new, |line| format!(", line {line}"));
        let who = match &*step.who {
            "network" => String::new(),
            who => format!("{who}{line}: "),
        };
        page.push_str(&format!("{:3}. {who}{}\n", number + 1, step.what));
    }
    counterexample.folded.iter().for_each(|line| page.push_str(&format!("     {line}\n")));
    page.push('\n');
    page.push_str(&counterexample.chart.text(width, false));
    page
}

fn check(name: &str, check: Check, text: &str) -> Counterexample {
    let found = of_scenario(text, check);
    insta::assert_snapshot!(name, page(&found, 80), text);
    found
}

const HEAD_TO_HEAD: &str = "\
ranks 2
rank 0
  ssend to 1 tag 0 size 64KiB
  recv from 1 tag 0 size 64KiB
rank 1
  ssend to 0 tag 0 size 64KiB
  recv from 0 tag 0 size 64KiB
";

#[test]
fn head_to_head_sends() {
    let found = check("head_to_head_sends", Check::DeadlockFreedom, HEAD_TO_HEAD);
    insta::assert_snapshot!("head_to_head_sends.svg", found.chart.svg());
}

#[test]
fn a_ring_of_large_sends() {
    let text = "\
ranks 4
rank *
  send to (me+1)%size tag 0 size 1MiB
  recv from (me+size-1)%size tag 0 size 1MiB
";
    check("a_ring_of_large_sends", Check::DeadlockFreedom, text);
}

#[test]
fn a_large_ring_names_a_few_ranks() {
    let text = "\
ranks 24
rank *
  r = issend to (me+1)%size tag 0 size 1KiB
  wait r
  recv from (me+size-1)%size tag 0 size 1KiB
";
    check("a_large_ring_names_a_few_ranks", Check::DeadlockFreedom, text);
}

/// Under the weakest MPI a send that need not be buffered is what its rank waits for.
#[test]
fn small_sends_head_to_head_under_every_mpi() {
    let text = "\
ranks 2
rank *
  send to 1-me tag 0 size 8
  recv from 1-me tag 0 size 8
";
    let scenario = load("test.scn", text.as_bytes()).expect("a right scenario");
    let job = scenario::job(&scenario, true).expect("a scenario that can be explored");
    let settings = Settings { portable: true, ..Settings::default() };
    let limits = Limits { threads: 1, ..Limits::default() };
    let outcome = explore::<Mirror>(Arc::new([job.clone()]), settings, &limits);
    let found = outcome.violations.iter().find(|(violated, _)| *violated == Check::DeadlockFreedom);
    let path = found.map(|(_, path)| path).expect("the check is violated");
    let found = explain(&job, path, Check::DeadlockFreedom, Some(&scenario), None);
    insta::assert_snapshot!("small_sends_head_to_head_under_every_mpi", page(&found, 80), text);
}

#[test]
fn a_wrong_tag() {
    let text = "\
ranks 2
rank 0
  send to 1 tag 3 size 1KiB
rank 1
  r = irecv from 0 tag 4 size 1KiB
  wait r
";
    check("a_wrong_tag", Check::DeadlockFreedom, text);
}

#[test]
fn a_barrier_that_one_rank_forgets() {
    let text = "\
ranks 3
rank 0..1
  barrier
rank 2
  compute 5us
";
    check("a_barrier_that_one_rank_forgets", Check::DeadlockFreedom, text);
}

#[test]
fn ranks_that_wait_for_the_same_are_told_once() {
    let text = "\
ranks 8
rank 0..6
  barrier
rank 7
  compute 5us
";
    check("ranks_that_wait_for_the_same_are_told_once", Check::DeadlockFreedom, text);
}

#[test]
fn ranks_that_wait_in_the_same_way_are_told_by_an_example() {
    let text = "\
ranks 4
rank *
  irecv from (me+size-1)%size tag 0 size 64KiB
  isend to (me+1)%size tag 1 size 64KiB
  irecv from (me+size-1)%size tag 2 size 64KiB
  wait all
";
    check("ranks_that_wait_in_the_same_way_are_told_by_an_example", Check::DeadlockFreedom, text);
}

/// The cause of the other waits is told, however many ranks wait.
#[test]
fn a_cycle_among_many_that_wait() {
    let text = "\
ranks 10
rank 0..1
  recv from 1-me tag 0 size 8
  send to 1-me tag 0 size 8
  send to 2 tag 0 size 8
rank 2
  recv from 0 tag 0 size 8
  barrier
rank 3
  recv from 2 tag 0 size 8
rank 4
  recv from 3 tag 1 size 8
rank 5
  recv from 4 tag 1 size 8
rank 6..9
  barrier
";
    check("a_cycle_among_many_that_wait", Check::DeadlockFreedom, text);
}

/// The message was sent, and another receive has it. What the other sender does is left out.
#[test]
fn a_wildcard_that_starves_a_receive() {
    let text = "\
ranks 3
rank 0
  recv from any tag 0 size 8
  recv from 1 tag 0 size 8
rank 1..2
  send to 0 tag 0 size 8
";
    check("a_wildcard_that_starves_a_receive", Check::DeadlockFreedom, text);
}

#[test]
fn a_wildcard_that_starves_a_request() {
    let text = "\
ranks 3
rank 0
  a = irecv from any tag 0 size 64KiB
  b = irecv from 2 tag 0 size 64KiB
  wait a b
rank 1
  send to 0 tag 0 size 64KiB
rank 2
  send to 0 tag 0 size 64KiB
  recv from 1 tag 0 size 8
";
    check("a_wildcard_that_starves_a_request", Check::DeadlockFreedom, text);
}

#[test]
fn a_probe_behind_a_receive() {
    let text = "\
ranks 2
rank 0
  r = irecv from 1 tag 0 size 8
  probe from 1 tag 0
  wait r
rank 1
  send to 0 tag 0 size 8
";
    check("a_probe_behind_a_receive", Check::DeadlockFreedom, text);
}

#[test]
fn a_buffer_in_use() {
    let text = "\
ranks 2
rank 0
  r = isend to 1 tag 0 size 64KiB buf halo
  write buf halo
  wait r
rank 1
  recv from 0 tag 0 size 64KiB
";
    check("a_buffer_in_use", Check::BufferSafety, text);
}

#[test]
fn a_message_that_nobody_receives() {
    let text = "\
ranks 2
rank 0
  send to 1 tag 0 size 8
  send to 1 tag 1 size 8
rank 1
  recv from 0 tag 0 size 8
";
    check("a_message_that_nobody_receives", Check::UnmatchedMessage, text);
}

#[test]
fn a_leak() {
    let text = "\
ranks 2
rank 0
  r = isend to 1 tag 0 size 8
  r = isend to 1 tag 0 size 8
  wait r
rank 1
  recv from 0 tag 0 size 8
  recv from 0 tag 0 size 8
";
    check("a_leak", Check::RequestLeak, text);
}

#[test]
fn a_race_for_a_wildcard() {
    let text = "\
ranks 3
rank 0
  recv from any tag 0 size 64KiB
  recv from any tag 0 size 64KiB
rank 1
  send to 0 tag 0 size 8
rank 2
  send to 0 tag 0 size 64KiB
";
    check("a_race_for_a_wildcard", Check::MatchDeterminism, text);
}

#[test]
fn a_message_that_is_too_long() {
    let text = "\
ranks 2
rank 0
  repeat 2
    send to 1 tag 0 size 64KiB
  end
rank 1
  recv from 0 tag 0 size 64KiB
  recv from 0 tag 0 size 48KiB
";
    check("a_message_that_is_too_long", Check::BufferSafety, text);
}

/// Steps without effect on the deadlock of ranks 0 and 1 are left out, and counted.
#[test]
fn a_long_path() {
    let text = "\
ranks 4
rank 0..1
  ssend to 1-me tag 0 size 1KiB
  recv from 1-me tag 0 size 1KiB
rank 2
  repeat 10
    send to 3 tag 0 size 1KiB
  end
rank 3
  repeat 10
    recv from 2 tag 0 size 1KiB
  end
";
    check("a_long_path", Check::DeadlockFreedom, text);
}

/// Without rule R5 an RTR that crosses an RTS is used by the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WithoutUnseenTakes {}
impl MirrorRules for WithoutUnseenTakes {
    fn unseen_takes_announcement() -> bool {
        false
    }
}

fn two_sends_one_receive() -> Job {
    let tag = 0;
    let (mut sender, mut receiver) = (Program::default(), Program::default());
    for buffer in 0..2 {
        sender.start(
            0,
            Start::Send { to: 1, tag, communicator: Communicator::WORLD, len: 2, synchronous: false, buffer },
        );
    }
    sender.act(0, Act::Wait([0, 1].into()));
    for buffer in 0..2 {
        let from = Source::Rank(RankId(0));
        receiver.start(
            0,
            Start::Receive {
                from,
                tag: mpi::selector(Some(tag)),
                communicator: Communicator::WORLD,
                len: 2,
                buffer,
            },
        );
    }
    receiver.act(0, Act::Wait([0, 1].into()));
    let options = Options { eager_threshold: 1, speculation: Speculation::Always, ..Options::default() };
    Job { ranks: vec![Arc::new(sender), Arc::new(receiver)], options, windows: Vec::new(), nodes: Vec::new() }
}

#[test]
fn a_published_race() {
    let job = two_sends_one_receive();
    let found = counterexample::<Mirror<WithoutUnseenTakes>>(job, Check::MatchingOrder, None);
    insta::assert_snapshot!("a_published_race", page(&found, 80));
    insta::assert_snapshot!("a_published_race_narrow", found.chart.text(40, false));
    insta::assert_snapshot!("a_published_race.html", found.chart.html("R5 off: <unseen> takes line", &found));
}

#[test]
fn a_published_race_in_a_scenario() {
    let text = "\
scenario \"two large messages\"
ranks 2
option speculation always
rank 0
  repeat 2
    send to 1 tag 0 size 64KiB
  end
rank 1
  a = irecv from 0 tag 0 size 64KiB
  b = irecv from 0 tag 0 size 64KiB
  wait a b
";
    let scenario = load("test.scn", text.as_bytes()).expect("a right scenario");
    let job = scenario::job(&scenario, false).expect("a scenario that can be explored");
    let found = counterexample::<Mirror<WithoutUnseenTakes>>(job, Check::BufferSafety, Some(&scenario));
    insta::assert_snapshot!("a_published_race_in_a_scenario", page(&found, 80));
}

/// R10 off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum AtsBesideRead {}
impl MirrorRules for AtsBesideRead {
    fn release() -> Release {
        Release::AtsBesideRead
    }
}

#[test]
fn a_buffer_that_is_given_back_while_it_is_read() {
    let text = "\
ranks 2
rank 0
  a = isend to 1 tag 0 size 64KiB
  wait a
rank 1
  recv from 0 tag 0 size 64KiB
";
    let scenario = load("test.scn", text.as_bytes()).expect("a right scenario");
    let job = scenario::job(&scenario, false).expect("a scenario that can be explored");
    let found = counterexample::<Mirror<AtsBesideRead>>(job, Check::BufferSafety, Some(&scenario));
    insta::assert_snapshot!("a_buffer_that_is_given_back_while_it_is_read", page(&found, 80), text);
}

#[test]
fn colours_do_not_change_the_text() {
    let chart = of_scenario(HEAD_TO_HEAD, Check::DeadlockFreedom).chart;
    let coloured = chart.text(80, true);
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    assert_eq!(plain, chart.text(80, false));
}

#[test]
fn no_width_is_too_small() {
    let chart = of_scenario(HEAD_TO_HEAD, Check::DeadlockFreedom).chart;
    for width in 0..200 {
        assert!(chart.text(width, false).lines().all(|line| line.chars().count() <= width.max(60)));
    }
    assert_eq!(carrousel_verify::chart::Chart::default().text(80, false), "\n\n");
}

/// Random programs over sound and unsound protocols: whatever is found can be told and drawn.
#[test]
fn every_violation_can_be_explained() {
    let mut told = 0;
    for seed in 0..300 {
        let job = random_job(seed);
        told += tell_all::<Mirror>(&job) + tell_all::<Mirror<WithoutUnseenTakes>>(&job);
        told += tell_all::<Published>(&job);
    }
    assert!(told > 300, "only {told} violations");
}

/// Explains all violations, and checks what must hold of every explanation.
fn tell_all<P: Protocol>(job: &Job) -> usize {
    let limits = Limits { threads: 1, max_states: Some(2000), ..Limits::default() };
    let settings = Settings { portable: job.options.speculation == Speculation::Off, ..Settings::default() };
    let outcome = explore::<P>(Arc::new([job.clone()]), settings, &limits);
    let broken = outcome.broken.iter().map(|path| (Check::MatchingOrder, path));
    let paths: Vec<_> = outcome.violations.iter().map(|(check, path)| (*check, path)).chain(broken).collect();
    for (check, path) in &paths {
        let found = explain(job, path, *check, None, None);
        assert!(found.summary.ends_with('.'), "{}", found.summary);
        assert!(found.steps.iter().all(|step| !step.what.is_empty()));
        for width in [40, 80, 120] {
            assert!(!page(&found, width).is_empty());
        }
        let html = found.chart.html("<&>", &found);
        assert_eq!(html.matches("<text").count(), html.matches("</text>").count());
        for arrow in &found.chart.arrows {
            assert!(arrow.arrives.is_none_or(|row| row > arrow.leaves), "{arrow:?}");
        }
    }
    paths.len()
}

fn random_job(seed: u64) -> Job {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = move |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % most
    };
    let ranks = 2 + below(2) as u32;
    let kind = [Kind::Barrier, Kind::Broadcast, Kind::Reduce, Kind::AllReduce, Kind::Gather, Kind::AllToAll]
        [below(6) as usize];
    let programs = (0..ranks).map(|_| {
        let mut program = Program::default();
        let mut open = Vec::new();
        for _ in 0..1 + below(4) {
            let (peer, tag, len) = (below(u64::from(ranks)) as u32, below(2) as u32, 1 + below(3));
            let buffer = below(4) as u16;
            let start = match below(8) {
                0..3 => Start::Send {
                    to: peer,
                    tag,
                    communicator: Communicator::WORLD,
                    len,
                    synchronous: below(3) == 0,
                    buffer,
                },
                3..5 => {
                    let (from, tag) = (Source::Rank(RankId(peer)), mpi::selector(Some(tag)));
                    Start::Receive { from, tag, communicator: Communicator::WORLD, len, buffer }
                }
                5 => Start::Receive {
                    from: Source::Any,
                    tag: mpi::ANY_TAG,
                    communicator: Communicator::WORLD,
                    len,
                    buffer,
                },
                // The ranks may disagree on everything but the kind.
                6 => Start::Collective { kind, communicator: Communicator::WORLD, root: peer, len: len - 1 },
                _ => {
                    program.act(0, Act::Touch { buffer, write: below(2) == 0 });
                    continue;
                }
            };
            let ordinal = program.start(0, start);
            match below(5) {
                0..2 => program.act(0, Act::Wait([ordinal].into())),
                2 => program.act(0, Act::Test(ordinal)),
                _ => open.push(ordinal),
            }
        }
        if below(4) > 0 {
            program.act(0, Act::Wait(open.into()));
        }
        Arc::new(program)
    });
    let ranks = programs.collect();
    let speculation = if below(4) == 0 { Speculation::Off } else { Speculation::Always };
    let options = Options { eager_threshold: 1, speculation, ..Options::default() };
    Job { ranks, options, windows: Vec::new(), nodes: Vec::new() }
}
